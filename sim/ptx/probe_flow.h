#ifndef SILTWIN_PROBE_FLOW_H
#define SILTWIN_PROBE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "ir.h"
#include "probe_rewrite.h"

/* Where the values of a function come from: through its registers, along every path, not through
 * memory, branches, other threads or calls. Of each instruction it is known which sources its
 * results may depend on (probe_why.def). */

enum probe_why {
    PROBE_WHY_NONE,
#define PROBE_WHY(name, word, text, when) PROBE_WHY_##name,
#include "probe_why.def"
#undef PROBE_WHY
    PROBE_WHY_COUNT
};

enum probe_why_when { PROBE_WHY_ALWAYS, PROBE_WHY_SEEN, PROBE_WHY_NEVER };

/* The word for it, a text about it, and when what depends on it may differ. */
const char *probe_why_word(enum probe_why why);
const char *probe_why_text(enum probe_why why);
enum probe_why_when probe_why_when(enum probe_why why);

struct probe_flow;

/* The flow of function `func` of a plan whose sites have their values. Nothing flows through the
 * registers of keys: they are known to agree. NULL when the host has no memory. */
struct probe_flow *probe_flow_make(struct arena *arena, const struct probe_plan *plan,
                                   uint32_t func);

/* Sets why, from, from_line and approx (a text in `arena`) of every value of the site; false
 * without memory. */
bool probe_flow_site(struct probe_flow *flow, struct arena *arena, struct probe_site *site);

/* What the function gives away. */
struct probe_given probe_flow_given(const struct probe_flow *flow);

#endif
