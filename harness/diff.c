/* Compares two records: the events of probes, then the final buffers. */
#include "diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "commands.h"
#include "expect.h"
#include "message.h"
#include "record_buffer.h"

void diff_found(struct diff *d, const char *rule, const char *object, const char *text,
                json_t *more) {
    json_t *finding = more ? more : json_object();
    d->status = EXIT_DIFFERENT;
    if (!d->json)
        printf("%s\n", text);
    json_object_set_new(finding, "rule", json_string(rule));
    json_object_set_new(finding, "level", json_string("error"));
    json_object_set_new(finding, "object", json_string(object));
    json_object_set_new(finding, "text", json_string(text));
    json_array_append_new(d->findings, finding);
}

void diff_no_verdict(struct diff *d, const char *text) {
    message_error("no verdict: %s", text);
    if (d->status == EXIT_AS_EXPECTED)
        d->status = EXIT_NO_VERDICT;
}

static void differs(struct diff *d, const char *buffer, const char *text) {
    diff_found(d, "diff.buffer", buffer, text, NULL);
}

static const struct record_buffer *find(const struct record *record, const char *name) {
    for (size_t i = 0; i < record->buffer_count; i++)
        if (!strcmp(record->buffers[i].name, name))
            return &record->buffers[i];
    return NULL;
}

static bool same_shape(const struct record_buffer *x, const struct record_buffer *y) {
    return x->type == y->type && x->rank == y->rank &&
           !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims);
}

static json_t *coordinates(const struct trace_buffer *shape, uint64_t index) {
    uint64_t coords[TRACE_MAX_RANK];
    json_t *array = json_array();
    buffer_image_coordinates(shape, index, coords);
    for (unsigned i = 0; i < shape->rank; i++)
        json_array_append_new(array, json_integer((json_int_t)coords[i]));
    return array;
}

static void report(struct diff *d, const struct trace_buffer *shape,
                   const struct difference *difference, const uint8_t *a, const uint8_t *b,
                   const char *arrangement) {
    struct strbuf text = {0};
    char a_text[ELEM_TEXT_BYTES], b_text[ELEM_TEXT_BYTES];
    elem_text(shape->type, a, a_text);
    elem_text(shape->type, b, b_text);
    strbuf_printf(&text, "first difference at ");
    difference_place(shape, difference->first, &text);
    strbuf_printf(&text, ": %s in %s, %s in %s; ", a_text, d->a_name, b_text, d->b_name);
    difference_extent(difference, shape, &text);
    if (*arrangement) {
        strbuf_printf(&text, "\n  %s is a rearrangement: %s", shape->name, arrangement);
        diff_deciding_lines(d, false, &text);
    }
    json_t *more =
        json_pack("{s:o, s:s, s:s, s:I, s:I}", "coordinates", coordinates(shape, difference->first),
                  "a", a_text, "b", b_text, "differing", (json_int_t)difference->count, "elements",
                  (json_int_t)shape->elems);
    if (*arrangement)
        json_object_set_new(more, "arrangement", json_string(arrangement));
    diff_found(d, "diff.buffer", shape->name, strbuf_text(&text), more);
    strbuf_free(&text);
}

/* Whether runs of b's machine disagree about an element. */
static bool varies(const struct diff *d, const struct trace_buffer *shape, uint64_t index,
                   const uint8_t *b, uint8_t *const *again) {
    const size_t size = elem_info(shape->type)->size_bytes;
    const uint64_t at = buffer_image_offset(shape, index);
    for (size_t i = 0; i < d->again_count; i++)
        if (again[i] && memcmp(again[i] + at, b + at, size))
            return true;
    return false;
}

static void compare_spans(struct diff *d, const struct record_buffer *x,
                          const struct record_buffer *y, const uint8_t *a, const uint8_t *b,
                          uint8_t *const *again) {
    const struct trace_buffer shape_a = record_buffer_shape(x), shape_b = record_buffer_shape(y);
    const size_t size = elem_info(shape_a.type)->size_bytes;
    struct difference difference = {0};
    struct strbuf arrangement = {0};
    for (uint64_t i = 0; i < shape_a.elems; i++) {
        if (!memcmp(a + buffer_image_offset(&shape_a, i), b + buffer_image_offset(&shape_b, i),
                    size))
            continue;
        if (varies(d, &shape_b, i, b, again))
            d->unstable++;
        else
            difference_add(&difference, &shape_a, i);
    }
    if (difference.count) {
        diff_arrangement(&shape_a, a, &shape_b, b, &arrangement);
        report(d, &shape_a, &difference, a + buffer_image_offset(&shape_a, difference.first),
               b + buffer_image_offset(&shape_b, difference.first), strbuf_text(&arrangement));
    }
    strbuf_free(&arrangement);
}

/* The same buffer of the other runs; NULL where a run has none. */
static uint8_t **other_runs(const struct diff *d, const struct record_buffer *x) {
    uint8_t **again = calloc(d->again_count + 1, sizeof *again);
    struct strbuf ignored = {0};
    for (size_t i = 0; again && i < d->again_count; i++) {
        const struct record_buffer *y = find(&d->again[i], x->name);
        again[i] = y && same_shape(x, y) ? record_buffer_span(y, &ignored) : NULL;
    }
    strbuf_free(&ignored);
    return again;
}

static void compare_buffer(struct diff *d, const struct record_buffer *x) {
    const struct record_buffer *y = find(d->b, x->name);
    struct strbuf text = {0};
    if (!y) {
        strbuf_printf(&text, "%s has no buffer %s", d->b_name, x->name);
        differs(d, x->name, strbuf_text(&text));
    } else if (!same_shape(x, y)) {
        strbuf_printf(&text, "%s has another type or other dimensions in the two records", x->name);
        differs(d, x->name, strbuf_text(&text));
    } else if (strcmp(x->state, "lost") || strcmp(y->state, "lost")) {
        uint8_t *a = record_buffer_span(x, &text);
        uint8_t *b = a ? record_buffer_span(y, &text) : NULL;
        uint8_t **again = other_runs(d, y);
        if (a && b && again)
            compare_spans(d, x, y, a, b, again);
        else
            differs(d, x->name, strbuf_text(&text));
        for (size_t i = 0; again && i < d->again_count; i++)
            free(again[i]);
        free(again);
        free(a);
        free(b);
    } else if (d->status == EXIT_AS_EXPECTED) {
        message_error("neither record has contents of %s: their launches failed", x->name);
        d->status = EXIT_NO_VERDICT;
    }
    strbuf_free(&text);
}

static void compare_buffers(struct diff *d) {
    for (size_t i = 0; i < d->a->buffer_count; i++)
        compare_buffer(d, &d->a->buffers[i]);
    for (size_t i = 0; i < d->b->buffer_count; i++)
        if (!find(d->a, d->b->buffers[i].name)) {
            struct strbuf text = {0};
            strbuf_printf(&text, "%s has no buffer %s", d->a_name, d->b->buffers[i].name);
            differs(d, d->b->buffers[i].name, strbuf_text(&text));
            strbuf_free(&text);
        }
}

/* ---- what decides ---- */

static const char *line_of(const char *text, const char *end, uint32_t line) {
    while (--line && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    return text;
}

static void print_line(const char *text, const char *end, uint32_t line, struct strbuf *out) {
    enum { MOST = 160 };
    const char *at = line_of(text, end, line), *stop = memchr(at, '\n', (size_t)(end - at));
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const size_t length = (size_t)((stop ? stop : end) - at);
    strbuf_append(out, at, length > MOST ? MOST : length);
}

/* The first line in which two texts differ, 0 when they do not. */
static uint32_t first_line(const struct record_file *x, const struct record_file *y) {
    uint32_t line = 1;
    const size_t size = x->size < y->size ? x->size : y->size;
    for (size_t i = 0; i < size; i++) {
        if (x->bytes[i] != y->bytes[i])
            return line;
        line += x->bytes[i] == '\n';
    }
    return x->size == y->size ? 0 : line;
}

/* Names up to three lines of a PTX file that write shared memory, or global memory. */
static void writing_lines(const struct record_file *file, bool shared, struct strbuf *out) {
    static const char *const words[2][3] = {
        {"st.global", ".global.shared", "red.global"},
        {"st.shared", ".shared::cluster.global", ".shared::cta.global"}};
    const char *text = (const char *)file->bytes, *end = text + file->size;
    unsigned said = 0;
    uint32_t line = 1;
    for (const char *at = text; at < end && said < 3; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        const char *comment = memmem(at, length, "//", 2);
        const size_t code = comment ? (size_t)(comment - at) : length;
        bool writes = false;
        for (int i = 0; i < 3; i++)
            writes = writes || memmem(at, code, words[shared][i], strlen(words[shared][i]));
        if (writes)
            strbuf_printf(out, "%s%s:%u", said++ ? ", " : "\n  written at ", file->name, line);
        at = stop ? stop + 1 : end;
    }
}

static bool is_ptx(const struct record_file *file) {
    const size_t length = strlen(file->name);
    return file->bytes && length > 4 && !strcmp(file->name + length - 4, ".ptx");
}

static bool same_role(const struct diff *d, const struct record_file *x,
                      const struct record_file *y) {
    const char *main_a = json_string_value(json_object_get(d->a->trace, "main"));
    const char *main_b = json_string_value(json_object_get(d->b->trace, "main"));
    return !strcmp(x->name, y->name) ||
           (main_a && main_b && !strcmp(x->name, main_a) && !strcmp(y->name, main_b));
}

void diff_deciding_lines(const struct diff *d, bool shared, struct strbuf *out) {
    bool differ = false;
    for (size_t i = 0; i < d->a->file_count; i++)
        for (size_t k = 0; k < d->b->file_count; k++) {
            const struct record_file *x = &d->a->files[i], *y = &d->b->files[k];
            const uint32_t line = same_role(d, x, y) && x->bytes && y->bytes ? first_line(x, y) : 0;
            if (!line)
                continue;
            differ = true;
            strbuf_printf(out, "\n  decided at %s:%u: ", x->name, line);
            print_line((const char *)x->bytes, (const char *)x->bytes + x->size, line, out);
            strbuf_printf(out, "\n  which in %s is: ", d->b_name);
            print_line((const char *)y->bytes, (const char *)y->bytes + y->size, line, out);
        }
    for (size_t i = 0; !differ && i < d->a->file_count; i++)
        if (is_ptx(&d->a->files[i]))
            writing_lines(&d->a->files[i], shared, out);
}

/* ---- all of it ---- */

static void print_summary(const struct diff *d) {
    if (d->json) {
        json_t *json = json_pack(
            "{s:s, s:s, s:s, s:O, s:I, s:I, s:I, s:i}", "schema", "siltwin.diff/1", "a", d->a_name,
            "b", d->b_name, "findings", d->findings, "events", (json_int_t)d->events, "legal",
            (json_int_t)d->legal, "unstable", (json_int_t)d->unstable, "exit_status", d->status);
        json_dumpf(json, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
        fputc('\n', stdout);
        json_decref(json);
        return;
    }
    if (d->quiet || d->status != EXIT_AS_EXPECTED)
        return;
    printf("equal: %zu buffer%s", d->a->buffer_count, d->a->buffer_count == 1 ? "" : "s");
    if (d->events)
        printf(", %" PRIu64 " events", d->events);
    if (d->legal)
        printf("; %" PRIu64 " values differ as they may (clocks, ids, order of atomics)", d->legal);
    fputc('\n', stdout);
}

void diff_records(struct diff *d) {
    diff_streams(d);
    compare_buffers(d);
    if (d->unstable) {
        struct strbuf text = {0};
        strbuf_printf(&text, "%" PRIu64 " values are unstable: %s disagrees with itself",
                      d->unstable, d->b_name);
        diff_no_verdict(d, strbuf_text(&text));
        strbuf_free(&text);
    }
    print_summary(d);
}
