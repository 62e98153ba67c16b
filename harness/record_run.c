/* From a run to its record, and back to the buffers. */
#include "record_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "hash.h"

/* Generators that make the same elements again from a few numbers. */
static const char *const generator_names[] = {
    [INIT_POISON] = "poison",   [INIT_ZEROS] = "zeros", [INIT_IOTA] = "iota",
    [INIT_UNIFORM] = "uniform", [INIT_INTS] = "ints",
};
enum { GENERATOR_COUNT = sizeof generator_names / sizeof *generator_names };

static json_t *generator_json(const struct trace_generator *g) {
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

static json_t *sizes_json(const uint64_t *values, unsigned count) {
    json_t *array = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

static void put_buffer(struct record_writer *w, const struct run *run, uint32_t index) {
    const struct trace_buffer *b = &run->trace->buffers.items[index];
    const uint64_t initial_hash = run->memory.buffers[index].initial_hash;
    struct host_error error = {0};
    uint8_t *span = run->lost_at ? NULL : run_memory_download(&run->memory, index, &error);
    const bool unchanged = span && hash_bytes(0, span, b->span_bytes) == initial_hash;
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:o, s:I, s:s}", "name", b->name, "type",
                  elem_info(b->type)->name, "dims", sizes_json(b->dims, b->rank), "strides",
                  sizes_json(b->strides, b->rank), "span_bytes", (json_int_t)b->span_bytes, "state",
                  !span       ? "lost"
                  : unchanged ? "initial"
                              : "changed");
    json_object_set_new(json, "initial_hash", json_sprintf("0x%016" PRIx64, initial_hash));
    const bool generated = (int)b->init.kind < (int)GENERATOR_COUNT;
    if (generated)
        json_object_set_new(json, "generator", generator_json(&b->init));
    record_put_json(w, "BUFF", json);
    if (span && !(unchanged && generated))
        record_put_data(w, span, b->span_bytes);
    free(span);
}

static json_t *trace_json(const struct input *input) {
    const struct trace *trace = &input->trace;
    json_t *overrides = json_object(), *consts = json_object();
    for (size_t i = 0; i < input->override_count; i++)
        json_object_set_new(overrides, input->overrides[i].name,
                            json_integer(input->overrides[i].value));
    for (uint32_t i = 0; i < trace->consts.count; i++)
        json_object_set_new(consts, trace->consts.items[i].name,
                            json_integer(trace->consts.items[i].value));
    return json_pack("{s:s, s:o, s:o, s:s, s:s, s:b}", "main", input->main->name, "overrides",
                     overrides, "consts", consts, "device", trace->device, "target", trace->target,
                     "as_written", input->options.as_written);
}

/* Launches without what differs from run to run. */
static json_t *results_json(const struct run *run) {
    json_t *launches = json_deep_copy(run->launches), *launch;
    size_t i;
    json_array_foreach(launches, i, launch) {
        json_object_del(launch, "stats");
    }
    return json_pack("{s:o, s:O, s:i}", "launches", launches, "expectations", run->expectations,
                     "exit_status", run_exit_status(run));
}

enum status record_run(const char *path, const struct input *input, const struct run *run,
                       json_t *head, uint64_t *digest, struct strbuf *error) {
    struct record_writer *w = record_begin(path, error);
    if (!w) {
        json_decref(head);
        return STATUS_IO;
    }
    record_put_json(w, "HEAD", head);
    record_put_json(w, "TRCE", trace_json(input));
    for (const struct file_entry *file = input->files.first; file; file = file->next)
        record_put_file(w, "FILE", file->name, file->bytes, file->size);
    for (uint32_t i = 0; i < run->trace->modules.count; i++) {
        const struct trace_module *module = &run->trace->modules.items[i];
        record_put_file(w, "PTXL", module->name, module->loaded, module->loaded_bytes);
    }
    record_put_json(w, "RSLT", results_json(run));
    for (uint32_t i = 0; i < run->trace->buffers.count; i++)
        put_buffer(w, run, i);
    return record_end(w, digest, error);
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
