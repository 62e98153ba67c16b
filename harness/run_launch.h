#ifndef SILTWIN_RUN_LAUNCH_H
#define SILTWIN_RUN_LAUNCH_H

#include "launch.h"
#include "run.h"

/* Exit statuses between the process that talks to a GPU and the one that started it: a launch ran
 * over its time, or failed against the trace's expectation. */
enum { RUN_LAUNCH_TIMED_OUT = 124, RUN_LAUNCH_FAULTED = 125 };

/* A launch of a trace with its arguments packed for the objects of `memory`; free it in any case.
 */
struct run_launch_args {
    struct launch_desc desc;
    uint8_t *params;
    uint32_t *offsets;
};
CUresult run_launch_args(const struct run_memory *memory, const struct trace_launch *launch,
                         struct run_launch_args *args, struct host_error *error);
void run_launch_args_free(struct run_launch_args *args);

/* Whether the failure of a launch is no verdict about its kernel: something is not modelled, or a
 * budget ran out. */
bool run_launch_unanswered(const struct machine *machine, const struct host_error *error);

/* One launch of a trace: packs its arguments, waits for its end, compares how it ended with what
 * the trace expects, reports a fault with its place in the PTX, prints its statistics. */
void run_launch(struct run *run, const struct trace_launch *launch);

#endif
