#ifndef SILTWIN_INPUT_H
#define SILTWIN_INPUT_H

#include <stdbool.h>

#include "record.h"
#include "trace_parse.h"

/* What a command is asked to run: a trace, or a record, which holds its trace and every file that
 * the trace reads. */
struct input {
    struct file_set files;
    const struct file_entry *main;
    struct record record; /* of a record, else empty */
    bool is_record;
    struct trace_override *overrides; /* the record's, then the command line's (they win) */
    size_t override_count;
    struct trace_options options; /* as the record ran; the command line may change them */
    struct trace trace;
};

/* Opens `path`; whether it is a record is seen from its first bytes. False: said on stderr. */
bool input_open(struct input *input, const char *path);
/* NAME=VALUE of the command line; false when it has another form (said on stderr). */
bool input_override(struct input *input, const char *text);
/* Reads the trace; false: said on stderr, *exit_status and *error set. */
bool input_parse(struct input *input, struct trace_error *error);
void input_free(struct input *input);

#endif
