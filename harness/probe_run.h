#ifndef SILTWIN_PROBE_RUN_H
#define SILTWIN_PROBE_RUN_H

#include "probe_layout.h"
#include "probe_race.h"
#include "run.h"

/* The probes of one launch: their buffer before it, their events after it. The buffer lies in
 * mapped host memory, so that it can be read when the kernel hangs or has faulted. */

struct probe_run {
    struct probe_layout layout;
    uint8_t *bytes;          /* NULL: nothing is probed */
    struct probe_race *race; /* NULL: nothing is watched */
};

/* Makes the buffer and tells the module where it is; says its size. False with `error`. */
bool probe_run_begin(struct probe_run *probes, struct run *run, const struct trace_launch *launch,
                     struct host_error *error);
/* Takes the events into run->streams, reports overflows, gives the buffer back. */
void probe_run_end(struct probe_run *probes, struct run *run, bool failed);
/* The same for a launch that does not end, whose kernel may still write: says the last event of
 * threads on stderr, and calls no driver. */
void probe_run_rescue(struct probe_run *probes, struct run *run);

#endif
