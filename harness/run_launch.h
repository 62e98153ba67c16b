#ifndef SILTWIN_RUN_LAUNCH_H
#define SILTWIN_RUN_LAUNCH_H

#include "run.h"

/* Exit status between the process that talks to a GPU and the one that started it: a launch ran
 * over its time. */
enum { RUN_LAUNCH_TIMED_OUT = 124 };

/* One launch of a trace: packs its arguments, waits for its end, compares how it ended with what
 * the trace expects, reports a fault with its place in the PTX, prints its statistics. */
void run_launch(struct run *run, const struct trace_launch *launch);

#endif
