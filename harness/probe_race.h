#ifndef SILTWIN_PROBE_RACE_H
#define SILTWIN_PROBE_RACE_H

#include "probe_layout.h"
#include "run.h"

/* Whether what smem and global probes read races with what the kernel writes: found out while the
 * simulator runs the launch. A race that is found is one: no synchronisation that was executed
 * orders the write and the read. What is not found may be one all the same (in another
 * interleaving; where warps synchronise about something else; where lanes of one warp do). */

struct probe_race;

/* Begins to watch a launch; NULL when nothing is to be watched: no such probe, a GPU, no memory.
 * `told`: the layout is that of [sim] probes, whose reads probe_race_read tells. `other` (may be
 * NULL) watches the same launch for other probes. */
struct probe_race *probe_race_begin(const struct run *run, const struct probe_layout *layout,
                                    bool told, struct probe_race *other);
/* A warp's read for a site: bytes at a shared or global address. */
void probe_race_read(struct probe_race *race, uint32_t cta, uint32_t warp, uint32_t site,
                     uint64_t address, uint32_t bytes);
/* The launch is over. */
void probe_race_end(struct probe_race *race, const struct run *run);
/* Whether the reads of that site race in that CTA. */
bool probe_race_found(const struct probe_race *race, uint32_t site, uint32_t cta);
/* A finding for each site that races, and a sentence for each that cannot be watched. */
void probe_race_report(const struct probe_race *race, struct run *run);
void probe_race_free(struct probe_race *race);

#endif
