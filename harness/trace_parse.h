#ifndef SILTWIN_TRACE_PARSE_H
#define SILTWIN_TRACE_PARSE_H

#include <stdbool.h>

#include "trace.h"

struct trace_override {
    char *name;
    int64_t value;
};

struct trace_options {
    const char *device; /* overrides the trace's; NULL: the trace's, else b200 */
    const struct trace_override *overrides;
    size_t override_count;
    bool as_written; /* do not put .rn on unrounded float add, sub, mul */
    bool no_probes;  /* read probe statements, but load the modules without them */
};

/* The first wrong statement. `exit_status` is EXIT_USAGE, EXIT_MACHINE (nothing for this device) or
 * EXIT_NO_VERDICT (a statement that is not there yet). */
struct trace_error {
    int exit_status;
    struct trace_place place; /* line 0: no place */
    char text[4000];
    char source_line[256];
};

/* Reads the trace `main` and everything it names through `files`. False with `error` set; `trace`
 * is to be freed either way. */
bool trace_parse(struct trace *trace, struct file_set *files, const struct file_entry *main,
                 const struct trace_options *options, struct trace_error *error);

#endif
