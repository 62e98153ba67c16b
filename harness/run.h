#ifndef SILTWIN_RUN_H
#define SILTWIN_RUN_H

#include <jansson.h>
#include <stdbool.h>

#include "progress.h"
#include "run_memory.h"

/* Runs a trace on a machine: its steps in order, then what it expects of its launches. What
 * happened is said on stderr (findings), on stdout (the rest, unless quiet) and kept as JSON. */

struct run;

struct run_options {
    bool quiet, json, stats;
    const json_t *addresses; /* of the buffers (run_memory.h); NULL: the usual ones */
    double limit_s;          /* time for a launch whose trace gives it none, 0: no end */
    /* A launch ran over its time and the process is about to end: keeps what is in `run`. It is
     * called by another thread than the one that waits for the launch; the driver is not to be
     * called. May be NULL. */
    void (*timed_out)(const struct run *run, void *context);
    void *timed_out_context;
};

/* The events of a launch; stream.h has the form of both. */
struct run_stream {
    json_t *json;
    uint8_t *bytes;
    size_t size;
    uint8_t *time; /* rows of a timeline, NULL: none */
    size_t time_size;
};

struct run {
    struct machine *machine;
    const struct trace *trace;
    const struct run_options *options;
    struct progress *progress;
    struct run_memory memory;
    json_t *launches, *expectations, *findings; /* arrays */
    bool *fails_met;                            /* one a `expect launch N fails` */
    uint32_t launches_done, expectations_met;
    uint32_t lost_at; /* launch after which the context is of no use, 0: none */
    struct run_stream *streams;
    size_t stream_count;
    double launch_seconds; /* of all launches, on the host's clock */
    bool differs, no_verdict;
    bool skipped_said;  /* that [sim] probes are not for a GPU */
    bool unexplained;   /* a launch on a GPU failed, which the simulator may explain */
    int problem_status; /* of setting up, 0: none */
};

/* Runs all; false when memory is short. The results are in `run` either way. */
void run_trace(struct run *run, struct machine *machine, const struct trace *trace,
               const struct run_options *options, struct progress *progress);
/* Exit status of what happened. */
int run_exit_status(const struct run *run);
void run_free(struct run *run);

/* Reports a finding: on stderr with its place (NULL: none), and in `findings`. `rule` is a stable
 * name ("expect.differs"); `more` (may be NULL, taken over) adds fields to the JSON. */
void run_finding(struct run *run, const struct trace_place *place, const char *rule,
                 const char *text, json_t *more);

#endif
