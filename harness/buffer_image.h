#ifndef SILTWIN_BUFFER_IMAGE_H
#define SILTWIN_BUFFER_IMAGE_H

#include <stdint.h>

#include "trace.h"

/* The memory image of a trace buffer: its span, from the first element to past the last. Elements
 * are numbered in the order of the dimensions (the last one fastest), whatever the strides. */

/* Byte offset in the span of element `index`. */
uint64_t buffer_image_offset(const struct trace_buffer *buffer, uint64_t index);
/* Coordinates of element `index`, outermost first. */
void buffer_image_coordinates(const struct trace_buffer *buffer, uint64_t index, uint64_t *coords);

/* Fills `span` (buffer->span_bytes) as `generator` says; bytes between strided elements are 0xff.
 * An INIT_IMAGE's holes must have been filled. */
void buffer_image_fill(const struct trace_buffer *buffer, const struct trace_generator *generator,
                       uint8_t *span);

/* The pattern of guard bytes, a function of the position alone. */
void buffer_image_guard(uint8_t *bytes, uint64_t count);

#endif
