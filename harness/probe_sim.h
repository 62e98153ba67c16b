#ifndef SILTWIN_PROBE_SIM_H
#define SILTWIN_PROBE_SIM_H

#include "probe_events.h"
#include "siltwin_watch.h"
#include "timeline.h"

/* [sim] probes of one launch: the simulator tells what happens at their places, and here it is
 * written into the same kind of buffer that a rewritten kernel writes. */

struct probe_sim {
    struct probe_part part;
    const struct run *run;
    uint64_t globals[PROBE_MAX_PROBES]; /* what global probes read */
    struct siltwin_watch_point *points; /* probed instructions */
    uint32_t *first_site;               /* by point, and the end: in the plan */
    uint32_t point_count;
    const char **registers; /* of all points */
    uint8_t *pending; /* by probe, thread and site: what is known before an instruction has run */
    uint64_t pending_at[PROBE_MAX_PROBES], pending_bytes[PROBE_MAX_PROBES] /* of a thread */;
    uint64_t *site_at; /* in a thread's */
    struct timeline timeline;
    uint64_t last_step;
    uint64_t unreadable; /* values that were not there to read */
    const struct trace_probe *unreadable_by;
};

/* Makes the buffer and watches the launches that follow. Nothing when the module has no [sim]
 * probes. False with `error`. */
bool probe_sim_begin(struct probe_sim *sim, const struct run *run,
                     const struct trace_launch *launch, struct host_error *error);
/* Watches no more; adds to the timeline what still waits. */
void probe_sim_stop(struct probe_sim *sim);
void probe_sim_free(struct probe_sim *sim);

#endif
