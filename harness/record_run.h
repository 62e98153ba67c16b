#ifndef SILTWIN_RECORD_RUN_H
#define SILTWIN_RECORD_RUN_H

#include "input.h"
#include "run.h"

/* Writes the record of a run to `path`. `head` (taken over) says how it was run. */
enum status record_run(const char *path, const struct input *input, const struct run *run,
                       json_t *head, uint64_t *digest, struct strbuf *error);

/* The shape of a recorded buffer; valid as long as the record. */
struct trace_buffer record_buffer_shape(const struct record_buffer *buffer);
/* The final span of a recorded buffer, malloc'd: stored, or made again by its generator. NULL with
 * `error` when the record has none (state "lost") or memory is short. */
uint8_t *record_buffer_span(const struct record_buffer *buffer, struct strbuf *error);

#endif
