#ifndef SILTWIN_STATS_PRINT_H
#define SILTWIN_STATS_PRINT_H

#include <jansson.h>

#include "siltwin_sim.h"
#include "strbuf.h"

/* The counters of a launch for people: only what happened in it. `ctas` and `warps` (of all CTAs)
 * are the launch's. */
void stats_print(const struct siltwin_sim_stats *stats, uint64_t ctas, uint64_t warps,
                 struct strbuf *out);
/* The same as an object with every counter (a new reference). */
json_t *stats_json(const struct siltwin_sim_stats *stats);

#endif
