/* Fills buffers with their initial elements, pieces of them on all processors. */
#include "buffer_image.h"

#include <stdbool.h>
#include <string.h>

#include "parallel.h"
#include "random_input.h"

enum { PIECE_ELEMS = 16384 };

uint64_t buffer_image_offset(const struct trace_buffer *buffer, uint64_t index) {
    uint64_t offset = 0;
    for (unsigned i = buffer->rank; i-- > 0;) {
        offset += index % buffer->dims[i] * buffer->strides[i];
        index /= buffer->dims[i];
    }
    return offset * elem_info(buffer->type)->size_bytes;
}

void buffer_image_coordinates(const struct trace_buffer *buffer, uint64_t index, uint64_t *coords) {
    for (unsigned i = buffer->rank; i-- > 0;) {
        coords[i] = index % buffer->dims[i];
        index /= buffer->dims[i];
    }
}

static void make_element(const struct trace_buffer *buffer, const struct trace_generator *g,
                         uint64_t seed, uint64_t index, uint8_t *bytes) {
    const size_t size = elem_info(buffer->type)->size_bytes;
    const uint64_t random = random_mix(seed + index);
    switch (g->kind) {
    case INIT_POISON: memset(bytes, 0xff, size); return;
    case INIT_ZEROS: memset(bytes, 0, size); return;
    case INIT_IOTA: elem_from_int(buffer->type, (int64_t)index, bytes); return;
    case INIT_UNIFORM:
        elem_from_double(buffer->type, random_uniform(random, g->low, g->high), bytes);
        return;
    case INIT_INTS:
        elem_from_int(buffer->type, random_int(random, g->int_low, g->int_high), bytes);
        return;
    case INIT_FILE: memcpy(bytes, g->elems + index * size, size); return;
    case INIT_IMAGE: memcpy(bytes, g->image.bytes + index * size, size); return;
    }
}

struct filling {
    const struct trace_buffer *buffer;
    const struct trace_generator *generator;
    uint64_t seed; /* mixed */
    uint8_t *span;
};

static void fill_piece(void *context, uint64_t piece) {
    const struct filling *f = context;
    const struct trace_buffer *b = f->buffer;
    const uint64_t inner = b->dims[b->rank - 1], step = b->strides[b->rank - 1];
    const uint64_t size = elem_info(b->type)->size_bytes;
    uint64_t end = (piece + 1) * PIECE_ELEMS;
    if (end > b->elems)
        end = b->elems;
    for (uint64_t index = piece * PIECE_ELEMS; index < end;) {
        uint8_t *bytes = f->span + buffer_image_offset(b, index);
        uint64_t run = inner - index % inner;
        if (run > end - index)
            run = end - index;
        for (uint64_t i = 0; i < run; i++)
            make_element(b, f->generator, f->seed, index + i, bytes + i * step * size);
        index += run;
    }
}

/* No two elements share a byte. */
static bool is_disjoint(const struct trace_buffer *b) {
    for (unsigned i = 0; i + 1 < b->rank; i++)
        if (b->dims[i] > 1 && b->strides[i] < b->strides[i + 1] * b->dims[i + 1])
            return false;
    return b->strides[b->rank - 1] > 0 || b->dims[b->rank - 1] == 1;
}

void buffer_image_fill(const struct trace_buffer *buffer, const struct trace_generator *generator,
                       uint8_t *span) {
    struct filling f = {buffer, generator, random_mix(generator->seed), span};
    const uint64_t pieces = (buffer->elems + PIECE_ELEMS - 1) / PIECE_ELEMS;
    memset(span, 0xff, buffer->span_bytes);
    if (is_disjoint(buffer))
        parallel_for(pieces, fill_piece, &f);
    else
        for (uint64_t piece = 0; piece < pieces; piece++)
            fill_piece(&f, piece);
}

void buffer_image_guard(uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(random_mix(i / 8) >> (i % 8 * 8));
}
