/* From a run to its record. */
#include "record_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "float_sum.h"
#include "hash.h"
#include "message.h"
#include "record_buffer.h"

static json_t *sizes_json(const uint64_t *values, unsigned count) {
    json_t *array = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

/* Which elements are sums of atomics, where the machine knows. */
static bool put_sums(struct record_writer *w, const struct run *run, uint32_t index) {
    const struct run_buffer *b = &run->memory.buffers[index];
    const uint64_t at = b->memory.address + b->span_at;
    struct strbuf bytes = {0};
    struct float_sum_sink sink = {&bytes, at};
    siltwin_sim_float_sums *sums = run->machine->float_sums;
    const bool ok = !sums || sums(at, run->trace->buffers.items[index].span_bytes, float_sum_put,
                                  &sink) == CUDA_SUCCESS;
    if (bytes.length)
        record_put_bytes(w, "FSUM", bytes.text, bytes.length);
    strbuf_free(&bytes);
    return ok;
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
    json_t *generator = record_generator_json(&b->init);
    const bool generated = generator;
    if (generated)
        json_object_set_new(json, "generator", generator);
    record_put_json(w, "BUFF", json);
    if (span && !(unchanged && generated))
        record_put_bytes(w, "DATA", span, b->span_bytes);
    if (span && !put_sums(w, run, index))
        message_warning("no memory to keep which elements of %s are sums of atomics: diff will not "
                        "know that their order is free",
                        b->name);
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

/* The oldest version that has what the record holds. */
static uint32_t version_of(const struct run *run) {
    for (size_t i = 0; i < run->stream_count; i++)
        if (run->streams[i].time_size)
            return 2;
    return 1;
}

enum status record_run(const char *path, const struct input *input, const struct run *run,
                       json_t *head, uint64_t *digest, struct strbuf *error) {
    struct record_writer *w = record_begin(path, version_of(run), error);
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
    for (size_t i = 0; i < run->stream_count; i++) {
        record_put_json(w, "STRM", json_incref(run->streams[i].json));
        record_put_bytes(w, "EVNT", run->streams[i].bytes, run->streams[i].size);
        record_put_bytes(w, "TIME", run->streams[i].time, run->streams[i].time_size);
    }
    for (uint32_t i = 0; i < run->trace->buffers.count; i++)
        put_buffer(w, run, i);
    return record_end(w, digest, error);
}
