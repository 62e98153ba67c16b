/* Runs the steps of a trace and judges what came out. */
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer_image.h"
#include "commands.h"
#include "expect.h"
#include "launch.h"
#include "message.h"
#include "npy.h"
#include "out_file.h"
#include "run_launch.h"

static void source_line(const struct trace_place *place, struct strbuf *out) {
    const char *text = (const char *)place->file->bytes, *end = text + place->file->size;
    for (unsigned line = 1; line < place->line && text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    strbuf_append(out, text, (size_t)((newline ? newline : end) - text));
}

static void say(const struct trace_place *place, const char *text) {
    if (!place) {
        message_error("%s", text);
        return;
    }
    struct strbuf line = {0};
    source_line(place, &line);
    message_error_at(
        &(struct message_place){place->file->shown, place->line, place->column, strbuf_text(&line)},
        text);
    strbuf_free(&line);
}

void run_finding(struct run *run, const struct trace_place *place, const char *rule,
                 const char *text, json_t *more) {
    json_t *finding = more ? more : json_object();
    progress_clear(run->progress);
    say(place, text);
    json_object_set_new(finding, "rule", json_string(rule));
    json_object_set_new(finding, "level", json_string("error"));
    json_object_set_new(finding, "text", message_json(text));
    if (place)
        json_object_set_new(
            finding, "trace",
            json_sprintf("%s:%u:%u", place->file->name, place->line, place->column));
    json_array_append_new(run->findings, finding);
}

/* A step that could not be taken because of the host or the driver. */
static void step_failed(struct run *run, const struct trace_place *place,
                        const struct host_error *error) {
    if (error->code == CUDA_ERROR_NOT_SUPPORTED)
        run->no_verdict = true;
    else
        run->differs = true;
    run_finding(run, place, "run.failed", error->text, NULL);
}

static bool copy_to_file(struct run *run, const struct trace_copy *copy, struct host_error *error) {
    const struct trace_buffer *b = &run->trace->buffers.items[copy->from.index];
    if (!*copy->output_path) {
        progress_clear(run->progress);
        message_warning("%s:%u: not written: the run of a record writes no files",
                        copy->place.file->shown, copy->place.line);
        return true;
    }
    uint8_t *span = run_memory_download(&run->memory, copy->from.index, error);
    if (!span)
        return false;
    const size_t size = elem_info(b->type)->size_bytes;
    struct strbuf head = {0};
    npy_write_header(&head, b->type, b->rank, b->dims);
    struct out_file out;
    struct strbuf why = {0};
    bool ok = out_file_begin(&out, copy->output_path, &why);
    if (ok)
        out_file_write(&out, head.text, head.length);
    for (uint64_t i = 0; ok && i < b->elems; i++)
        out_file_write(&out, span + buffer_image_offset(b, i), size);
    ok = ok && out_file_end(&out, true, &why);
    if (!ok)
        result_message(error, "%s", strbuf_text(&why));
    strbuf_free(&why);
    strbuf_free(&head);
    free(span);
    return ok;
}

static void step_copy(struct run *run, const struct trace_copy *copy) {
    struct host_error error = {0};
    const bool ok =
        copy->output_path
            ? copy_to_file(run, copy, &error)
            : RESULT_CHECK(&error, &run->machine->driver, cuMemcpyDtoD,
                           (run_memory_address(&run->memory, &copy->to),
                            run_memory_address(&run->memory, &copy->from), copy->size)) &&
                  device_synchronize(&run->machine->device, &error);
    if (!ok)
        step_failed(run, &copy->place, &error);
}

static void step_fill(struct run *run, const struct trace_fill *fill) {
    const struct run_buffer *b = &run->memory.buffers[fill->buffer];
    const uint64_t bytes = run->trace->buffers.items[fill->buffer].span_bytes;
    struct host_error error = {0};
    if (!buffer_fill(&b->memory, b->span_at, bytes, (unsigned)fill->word, fill->word_bytes,
                     &error) ||
        !device_synchronize(&run->machine->device, &error))
        step_failed(run, &fill->place, &error);
}

/* The fields of a finding that say which elements are wrong. */
static json_t *where(const struct run *run, const struct trace_expect *expect,
                     const struct difference *difference) {
    const struct trace_buffer *b = &run->trace->buffers.items[expect->buffer];
    json_t *json =
        json_pack("{s:s, s:I}", "object", b->name, "differing", (json_int_t)difference->count);
    uint64_t coords[TRACE_MAX_RANK];
    if (!difference->count)
        return json;
    json_t *first = json_array();
    buffer_image_coordinates(b, difference->first, coords);
    for (unsigned i = 0; i < b->rank; i++)
        json_array_append_new(first, json_integer((json_int_t)coords[i]));
    json_object_set_new(json, "first", first);
    return json;
}

static void judge(struct run *run, const struct trace_expect *expect, enum status status,
                  const struct difference *difference, const char *text) {
    struct strbuf what = {0};
    expect_print(run->trace, expect, &what);
    const bool holds = status == STATUS_OK && !difference->count;
    json_array_append_new(run->expectations,
                          json_pack("{s:s, s:s, s:b, s:I}", "expect", strbuf_text(&what), "trace",
                                    expect->place.file->name, "holds", holds, "differing",
                                    (json_int_t)difference->count));
    if (holds) {
        run->expectations_met++;
        if (!run->options->quiet && !run->options->json)
            printf("expect %s: holds\n", strbuf_text(&what));
    } else {
        struct strbuf message = {0};
        strbuf_printf(&message, "expect %s %s: %s", strbuf_text(&what),
                      status == STATUS_OK ? "failed" : "has no answer", text);
        if (status == STATUS_OK)
            run->differs = true;
        else
            run->no_verdict = true;
        run_finding(run, &expect->place,
                    status == STATUS_OK ? "expect.differs" : "expect.unanswered",
                    strbuf_text(&message), where(run, expect, difference));
        strbuf_free(&message);
    }
    strbuf_free(&what);
}

static void step_expect(struct run *run, const struct trace_expect *expect) {
    struct host_error error = {0};
    struct difference difference = {0};
    struct strbuf text = {0};
    progress_start(run->progress, "checking %s", run->trace->buffers.items[expect->buffer].name);
    const bool matmul = expect->reference == REF_MATMUL_NT ||
                        expect->reference == REF_MATMUL_NT_TC ||
                        expect->reference == REF_MATMUL_NT_FMA;
    uint8_t *c = run_memory_download(&run->memory, expect->buffer, &error), *a = NULL, *b = NULL;
    bool ok = c;
    if (ok && (matmul || expect->reference == REF_BUFFER))
        ok = (a = run_memory_download(&run->memory, expect->a, &error));
    if (ok && matmul)
        ok = (b = run_memory_download(&run->memory, expect->b, &error));
    if (ok) {
        const struct expect_spans spans = {c, a, b};
        const enum status status = expect_check(run->trace, expect, &spans, &difference, &text);
        progress_clear(run->progress);
        judge(run, expect, status, &difference, strbuf_text(&text));
    } else {
        step_failed(run, &expect->place, &error);
    }
    strbuf_free(&text);
    free(a);
    free(b);
    free(c);
}

static void step_sync(struct run *run) {
    struct host_error error = {0};
    if (!device_synchronize(&run->machine->device, &error))
        step_failed(run, NULL, &error);
}

/* A step behind the launch that took the context with it. */
static void step_lost(struct run *run, const struct trace_step *step) {
    const struct trace_place *place = NULL;
    if (step->kind == STEP_EXPECT)
        place = &run->trace->expects.items[step->index].place;
    else if (step->kind == STEP_LAUNCH)
        place = &run->trace->launches.items[step->index].place;
    else if (step->kind == STEP_COPY)
        place = &run->trace->copies.items[step->index].place;
    else if (step->kind == STEP_FILL)
        place = &run->trace->fills.items[step->index].place;
    if (!place)
        return;
    struct strbuf text = {0};
    strbuf_printf(&text, "not done: launch %u ended the context", run->lost_at);
    run_finding(run, place, "run.not_done", strbuf_text(&text), NULL);
    strbuf_free(&text);
    if (!run->no_verdict)
        run->differs = true;
}

static void run_steps(struct run *run) {
    const struct trace *trace = run->trace;
    for (uint32_t i = 0; i < trace->steps.count; i++) {
        const struct trace_step *step = &trace->steps.items[i];
        if (run->lost_at) {
            step_lost(run, step);
            return; /* one message for all that follows */
        }
        switch (step->kind) {
        case STEP_LAUNCH: run_launch(run, &trace->launches.items[step->index]); break;
        case STEP_COPY: step_copy(run, &trace->copies.items[step->index]); break;
        case STEP_FILL: step_fill(run, &trace->fills.items[step->index]); break;
        case STEP_SYNC: step_sync(run); break;
        case STEP_EXPECT: step_expect(run, &trace->expects.items[step->index]); break;
        }
    }
}

static void check_guards(struct run *run) {
    for (uint32_t i = 0; i < run->trace->buffers.count; i++) {
        const struct trace_buffer *b = &run->trace->buffers.items[i];
        int64_t at;
        if (run_memory_guard_intact(&run->memory, i, &at))
            continue;
        struct strbuf text = {0};
        strbuf_printf(&text, "the guard of %s was written at byte %" PRId64 " (it has %" PRIu64 ")",
                      b->name, at, b->span_bytes);
        run->differs = true;
        run_finding(run, &b->place, "guard.written", strbuf_text(&text), NULL);
        strbuf_free(&text);
    }
}

static void check_fails(struct run *run) {
    for (uint32_t i = 0; i < run->trace->fails.count; i++) {
        const struct trace_fails *fails = &run->trace->fails.items[i];
        if (run->fails_met[i]) {
            run->expectations_met++;
            continue;
        }
        struct strbuf text = {0};
        const char *name = result_name((CUresult)fails->code);
        strbuf_printf(&text, "expect launch %u fails %d (%s): it did not", fails->launch,
                      fails->code, name ? name : "unknown");
        run->differs = true;
        run_finding(run, &fails->place, "launch.did_not_fail", strbuf_text(&text), NULL);
        strbuf_free(&text);
    }
}

void run_trace(struct run *run, struct machine *machine, const struct trace *trace,
               const struct run_options *options, struct progress *progress) {
    struct run_problem problem = {0};
    *run = (struct run){.machine = machine,
                        .trace = trace,
                        .options = options,
                        .progress = progress,
                        .launches = json_array(),
                        .expectations = json_array(),
                        .findings = json_array()};
    run->fails_met = calloc(trace->fails.count + 1, sizeof *run->fails_met);
    if (run->fails_met &&
        run_memory_setup(&run->memory, machine, trace, options->addresses, &problem)) {
        run_steps(run);
        if (!run->lost_at)
            check_guards(run);
        check_fails(run);
    } else {
        run->problem_status = problem.exit_status ? problem.exit_status : EXIT_MACHINE;
        run_finding(run, problem.place, "run.setup", strbuf_text(&problem.text), NULL);
    }
    strbuf_free(&problem.text);
    progress_clear(progress);
}

int run_exit_status(const struct run *run) {
    if (run->problem_status)
        return run->problem_status;
    if (run->differs)
        return EXIT_DIFFERENT;
    return run->no_verdict ? EXIT_NO_VERDICT : EXIT_AS_EXPECTED;
}

void run_free(struct run *run) {
    if (run->memory.trace)
        run_memory_free(&run->memory);
    json_decref(run->launches);
    json_decref(run->expectations);
    json_decref(run->findings);
    free(run->fails_met);
    for (size_t i = 0; i < run->stream_count; i++) {
        json_decref(run->streams[i].json);
        free(run->streams[i].bytes);
        free(run->streams[i].time);
    }
    free(run->streams);
}
