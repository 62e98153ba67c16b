#ifndef SILTWIN_RUN_LAUNCH_H
#define SILTWIN_RUN_LAUNCH_H

#include "run.h"

/* One launch of a trace: packs its arguments, waits for its end, compares how it ended with what
 * the trace expects, reports a fault with its place in the PTX, prints its statistics. */
void run_launch(struct run *run, const struct trace_launch *launch);

#endif
