#ifndef SILTWIN_REFERENCE_TC_RULE_H
#define SILTWIN_REFERENCE_TC_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "elem.h"

/* One step of a tensor core for one output element, as the documented rule reads: see
 * reference_tc.c. What differs between types and chips stands in a rule. */

enum { TC_MAX_STEP = 32, TC_KEPT_BITS = 25, TC_ZERO_EXPONENT = -133 };

struct tc_rule {
    int step;                         /* terms that are summed at once */
    int exponent_bits, fraction_bits; /* of A and B */
    int dropped_bits;                 /* low bits of a word that the unit does not look at */
    int kept_bits;                    /* of each term below the largest exponent */
    int result_bits;                  /* fraction bits of the f32 result, cut toward zero */
    bool has_inf;                     /* e4m3 has none, and one NaN */
};

/* The rule of that type of A and B; `hopper`: for wgmma, whose 8-bit types keep less. NULL when
 * there is none. */
const struct tc_rule *tc_rule(enum elem_type type, bool hopper);

/* sum of a[k] * b[k] over the rule's step, plus c; raw words, c and the result f32. */
uint32_t tc_step(const struct tc_rule *rule, const uint32_t *a, const uint32_t *b, uint32_t c);

/* value = significand * 2^(exponent - fraction bits), a subnormal not normalised. */
struct tc_number {
    bool negative, special, nan;
    int exponent;
    uint32_t significand;
};
struct tc_number tc_split(const struct tc_rule *rule, uint32_t word);

#endif
