#ifndef SILTWIN_PROBE_RUN_H
#define SILTWIN_PROBE_RUN_H

#include "probe_sim.h"
#include "run.h"

/* The probes of one launch: their buffers before it, their events after it. The buffer of a
 * rewritten kernel lies in mapped host memory, so that it can be read when the kernel hangs or has
 * faulted. */

struct probe_run {
    struct probe_part rewritten;
    struct probe_sim sim;
};

/* Makes the buffers, tells the module where its own is, watches [sim] probes; says the sizes. On a
 * GPU [sim] probes are said to be skipped. False with `error`. */
bool probe_run_begin(struct probe_run *probes, struct run *run, const struct trace_launch *launch,
                     struct host_error *error);
/* Takes the events into run->streams, reports overflows, gives the buffers back. */
void probe_run_end(struct probe_run *probes, struct run *run, bool failed);
/* The same for a launch that does not end, whose kernel may still write: says the last event of
 * threads on stderr, and calls no driver. */
void probe_run_rescue(struct probe_run *probes, struct run *run);

#endif
