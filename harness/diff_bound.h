#ifndef SILTWIN_DIFF_BOUND_H
#define SILTWIN_DIFF_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "strbuf.h"

/* The documented bounds of approximate instructions (diff_bound.def). */

struct diff_bound;

enum { DIFF_BOUND_OPERANDS = 2 };

/* A result, and the operands that it was made of where they are known. */
struct diff_result {
    uint64_t word, operands[DIFF_BOUND_OPERANDS];
    bool known[DIFF_BOUND_OPERANDS];
};

/* The row of "ex2.approx.ftz.f32", NULL when there is none. `ftz` is whether it flushes. */
const struct diff_bound *diff_bound_find(const char *instruction, bool *ftz);
/* Whether the simulator gives that machine's very bits: target is 90 for sm_90a. */
bool diff_bound_is_exact(const struct diff_bound *bound, unsigned target);
/* Whether two results are within the bound: each of the exact value where its operands are known,
 * else of each other by twice the bound. Where the bound holds for some arguments alone and these
 * are not known, they are not. */
bool diff_bound_holds(const struct diff_bound *bound, bool ftz, const struct diff_result *a,
                      const struct diff_result *b);
/* "2 ulp", "relative 2^-22.9". */
void diff_bound_text(const struct diff_bound *bound, struct strbuf *out);

#endif
