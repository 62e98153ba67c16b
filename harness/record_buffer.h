#ifndef SILTWIN_RECORD_BUFFER_H
#define SILTWIN_RECORD_BUFFER_H

#include "record.h"
#include "trace.h"

/* The shape of a recorded buffer; valid as long as the record. */
struct trace_buffer record_buffer_shape(const struct record_buffer *buffer);
/* The final span of a recorded buffer, malloc'd: stored, or made again by its generator. NULL with
 * `error` when the record has none (state "lost") or memory is short. */
uint8_t *record_buffer_span(const struct record_buffer *buffer, struct strbuf *error);

/* A generator as the BUFF chunk has it (a new reference); NULL for contents that a few numbers
 * cannot make again. */
json_t *record_generator_json(const struct trace_generator *generator);

#endif
