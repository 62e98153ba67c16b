#ifndef SILTWIN_PROBE_LAYOUT_H
#define SILTWIN_PROBE_LAYOUT_H

#include <stdint.h>

#include "trace.h"

/* The buffer that the probes of one launch write, as probe_rewrite.h describes it. */

enum { PROBE_LAYOUT_MAX_BYTES = 256 << 20 };

/* Whom a probe observes in this launch. */
struct probe_region {
    uint64_t offset_bytes;
    uint32_t thread_bytes; /* 0: the probe has no place in this entry */
    uint32_t box[3], x_pitch, xy_pitch, first_cta, ctas;
    uint32_t first_warp, warps, first_lane, lanes;
};

struct probe_layout {
    const struct trace *trace;
    const struct trace_launch *launch;
    const struct probe_plan *plan; /* NULL: nothing of the module is probed */
    uint32_t func;                 /* in plan->ir */
    uint64_t bytes;                /* 0: this launch writes nothing */
    uint64_t sequence_at;
    uint32_t first_cta, ctas, threads; /* linear range with sequence numbers; threads of a CTA */
    uint32_t largest;                  /* probe that needs most */
    struct probe_region regions[PROBE_MAX_PROBES];
};

/* `plan` is the module's plan or its sim_plan; NULL: nothing of it is probed. */
void probe_layout_make(struct probe_layout *layout, const struct trace *trace,
                       const struct trace_launch *launch, const struct probe_plan *plan);
/* The heads: PROBE_HEAD_AT + PROBE_HEAD_BYTES * probes bytes. `addresses` are those of the buffers
 * that global probes read, one a probe. */
void probe_layout_head(const struct probe_layout *layout, const uint64_t *addresses,
                       uint8_t *bytes);
/* Linear CTA and linear thread of slot `index` of a region. */
void probe_layout_thread(const struct probe_layout *layout, const struct probe_region *region,
                         uint64_t index, uint32_t *cta, uint32_t *thread);
/* The other way round; false when the region does not hold that thread. */
bool probe_layout_find(const struct probe_layout *layout, const struct probe_region *region,
                       uint32_t cta, uint32_t thread, uint64_t *index);

#endif
