/* Recorded buffers: their shape and contents, stored or made again by a generator. */
#include "record_buffer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"

/* Generators that make the same elements again from a few numbers. */
static const char *const generator_names[] = {
    [INIT_POISON] = "poison",   [INIT_ZEROS] = "zeros", [INIT_IOTA] = "iota",
    [INIT_UNIFORM] = "uniform", [INIT_INTS] = "ints",
};
enum { GENERATOR_COUNT = sizeof generator_names / sizeof *generator_names };

json_t *record_generator_json(const struct trace_generator *g) {
    if ((int)g->kind >= (int)GENERATOR_COUNT)
        return NULL;
    json_t *json = json_pack("{s:s}", "kind", generator_names[g->kind]);
    if (g->kind == INIT_UNIFORM) {
        json_object_set_new(json, "low", json_sprintf("%a", g->low));
        json_object_set_new(json, "high", json_sprintf("%a", g->high));
    }
    if (g->kind == INIT_INTS) {
        json_object_set_new(json, "low", json_integer(g->int_low));
        json_object_set_new(json, "high", json_integer(g->int_high));
    }
    if (g->kind >= INIT_UNIFORM)
        json_object_set_new(json, "seed", json_sprintf("0x%016" PRIx64, g->seed));
    return json;
}

static bool generator_from_json(const json_t *json, struct trace_generator *g) {
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    const char *seed = json_string_value(json_object_get(json, "seed"));
    *g = (struct trace_generator){0};
    int index = 0;
    while (index < GENERATOR_COUNT && (!kind || strcmp(generator_names[index], kind)))
        index++;
    if (index == GENERATOR_COUNT)
        return false;
    g->kind = (enum trace_init)index;
    g->seed = seed ? strtoull(seed, NULL, 16) : 0;
    if (g->kind == INIT_UNIFORM) {
        if (!json_is_string(low) || !json_is_string(high))
            return false;
        g->low = strtod(json_string_value(low), NULL);
        g->high = strtod(json_string_value(high), NULL);
    }
    g->int_low = json_integer_value(low);
    g->int_high = json_integer_value(high);
    return g->kind != INIT_INTS ||
           (g->int_low <= g->int_high && (uint64_t)g->int_high - (uint64_t)g->int_low < UINT32_MAX);
}

struct trace_buffer record_buffer_shape(const struct record_buffer *buffer) {
    struct trace_buffer shape = {.name = buffer->name,
                                 .type = buffer->type,
                                 .rank = buffer->rank,
                                 .elems = 1,
                                 .span_bytes = buffer->span_bytes};
    for (unsigned i = 0; i < buffer->rank; i++) {
        shape.dims[i] = buffer->dims[i];
        shape.strides[i] = buffer->strides[i];
        shape.elems *= buffer->dims[i];
    }
    return shape;
}

uint8_t *record_buffer_span(const struct record_buffer *buffer, struct strbuf *error) {
    const struct trace_buffer shape = record_buffer_shape(buffer);
    struct trace_generator generator;
    const bool made = !buffer->bytes && !strcmp(buffer->state, "initial") &&
                      generator_from_json(json_object_get(buffer->json, "generator"), &generator);
    if (!buffer->bytes && !made) {
        strbuf_printf(error, "the record has no contents of %s (%s)", buffer->name, buffer->state);
        return NULL;
    }
    uint8_t *span = malloc(buffer->span_bytes);
    if (!span)
        strbuf_printf(error, "no memory for buffer %s", buffer->name);
    else if (made)
        buffer_image_fill(&shape, &generator, span);
    else
        memcpy(span, buffer->bytes, buffer->span_bytes);
    return span;
}
