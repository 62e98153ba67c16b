/* Compares two records: the events of probes (diff_stream.c), then the final buffers. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "commands.h"
#include "diff_store.h"
#include "expect.h"
#include "float_sum.h"
#include "message.h"
#include "record_buffer.h"

/* The gravest of what was found: a difference, then no verdict. */
static void end_with(struct diff *d, int status) {
    if (status == EXIT_DIFFERENT || d->status == EXIT_AS_EXPECTED)
        d->status = status;
}

void diff_found(struct diff *d, enum diff_class class, const char *rule, const char *object,
                const char *text, json_t *more) {
    json_t *finding = more ? more : json_object();
    end_with(d, diff_class_status(class));
    if (!d->json)
        printf("%s\n", text);
    json_object_set_new(finding, "rule", json_string(rule));
    json_object_set_new(finding, "class", json_string(diff_class_word(class)));
    json_object_set_new(finding, "level",
                        json_string(diff_class_status(class) == EXIT_DIFFERENT ? "error" : "note"));
    json_object_set_new(finding, "object", json_string(object));
    json_object_set_new(finding, "text", json_string(text));
    json_array_append_new(d->findings, finding);
}

void diff_noted(struct diff *d, enum diff_class class, const char *text) {
    d->counts.of_class[class]++;
    if (text && !d->first[class].length)
        strbuf_puts(&d->first[class], text);
}

void diff_no_verdict(struct diff *d, const char *text) {
    message_error("no verdict: %s", text);
    end_with(d, EXIT_NO_VERDICT);
}

static void differs(struct diff *d, const char *buffer, const char *text) {
    d->counts.of_class[DIFF_DIFFERS]++;
    diff_found(d, DIFF_DIFFERS, "diff.buffer", buffer, text, NULL);
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

static bool as_written(const struct record *record) {
    return json_is_true(json_object_get(record->trace, "as_written"));
}

static void report(struct diff *d, enum diff_class class, const struct trace_buffer *shape,
                   const struct difference *difference, const uint8_t *a, const uint8_t *b,
                   const char *arrangement) {
    static const char *const names[] = {[DIFF_DIFFERS] = "first difference",
                                        [DIFF_UNORDERED] = "first element that CTAs race for",
                                        [DIFF_DOWNSTREAM] = "first that may follow from others"};
    struct strbuf text = {0};
    char a_text[ELEM_TEXT_BYTES], b_text[ELEM_TEXT_BYTES];
    elem_text(shape->type, a, a_text);
    elem_text(shape->type, b, b_text);
    strbuf_printf(&text, "%s at ", names[class]);
    difference_place(shape, difference->first, &text);
    strbuf_printf(&text, ": %s in %s, %s in %s; ", a_text, d->a_name, b_text, d->b_name);
    difference_extent(difference, shape, &text);
    if (class == DIFF_DIFFERS && !d->events && (as_written(d->a) || as_written(d->b)))
        strbuf_puts(&text,
                    "\n  the kernel was loaded as written: this may be a multiplication and an "
                    "addition that are fused, which a probe can tell");
    if (class == DIFF_UNORDERED)
        strbuf_puts(&text, "\n  two CTAs store it, and none can wait for the other");
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
    diff_found(d, class, "diff.buffer", shape->name, strbuf_text(&text), more);
    strbuf_free(&text);
}

/* An element of a class that is no finding. */
static void note(struct diff *d, enum diff_class class, const struct trace_buffer *shape,
                 uint64_t index, const uint8_t *a, const uint8_t *b) {
    struct strbuf text = {0};
    char a_text[ELEM_TEXT_BYTES], b_text[ELEM_TEXT_BYTES];
    if (d->first[class].length) {
        diff_noted(d, class, NULL);
        return;
    }
    elem_text(shape->type, a, a_text);
    elem_text(shape->type, b, b_text);
    difference_place(shape, index, &text);
    strbuf_printf(&text, ": %s in %s, %s in %s", a_text, d->a_name, b_text, d->b_name);
    diff_noted(d, class, strbuf_text(&text));
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

/* What an element that differs is: what the probes saw being stored there says it, else whether
 * anything that may differ reaches memory at all. */
static enum diff_class classify(struct diff *d, const struct trace_buffer *shape, uint64_t index,
                                const uint8_t *b, uint8_t *const *again) {
    const enum diff_class stored =
        diff_stores_class(d->stores, shape->name, buffer_image_offset(shape, index),
                          elem_info(shape->type)->size_bytes);
    if (stored != DIFF_UNORDERED && varies(d, shape, index, b, again))
        return DIFF_UNSTABLE;
    if (stored != DIFF_EQUAL && stored != DIFF_DIFFERS)
        return stored;
    return d->spread && d->counts.of_class[DIFF_DIFFERS] == 0 ? DIFF_DOWNSTREAM : DIFF_DIFFERS;
}

static void compare_spans(struct diff *d, const struct record_buffer *x,
                          const struct record_buffer *y, const uint8_t *a, const uint8_t *b,
                          uint8_t *const *again) {
    const struct trace_buffer shape_a = record_buffer_shape(x), shape_b = record_buffer_shape(y);
    const size_t size = elem_info(shape_a.type)->size_bytes;
    struct difference found[DIFF_DOWNSTREAM + 1] = {0};
    for (uint64_t i = 0; i < shape_a.elems; i++) {
        const uint8_t *p = a + buffer_image_offset(&shape_a, i);
        const uint8_t *q = b + buffer_image_offset(&shape_b, i);
        if (!memcmp(p, q, size))
            continue;
        enum diff_class class = classify(d, &shape_b, i, b, again);
        if ((class == DIFF_DIFFERS || class == DIFF_DOWNSTREAM) &&
            float_sum_allows(x, y, (uint64_t)(p - a), (uint64_t)(q - b), (uint32_t)size, p, q))
            class = DIFF_BOUNDED;
        if (class > DIFF_DOWNSTREAM)
            note(d, class, &shape_a, i, p, q);
        else
            difference_add(&found[class], &shape_a, i);
    }
    for (int class = 0; class <= DIFF_DOWNSTREAM; class ++) {
        struct strbuf arrangement = {0};
        const struct difference *difference = &found[class];
        d->counts.of_class[class] += difference->count;
        if (!difference->count)
            continue;
        if (class == DIFF_DIFFERS)
            diff_arrangement(&shape_a, a, &shape_b, b, &arrangement);
        report(d, (enum diff_class) class, &shape_a, difference,
               a + buffer_image_offset(&shape_a, difference->first),
               b + buffer_image_offset(&shape_b, difference->first), strbuf_text(&arrangement));
        strbuf_free(&arrangement);
    }
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
        strbuf_printf(&text, "neither record has contents of %s: their launches failed", x->name);
        diff_no_verdict(d, strbuf_text(&text));
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

/* ---- all of it ---- */

void diff_free(struct diff *d) {
    diff_stores_free(d->stores);
    d->stores = NULL;
    for (int i = 0; i < DIFF_CLASS_COUNT; i++)
        strbuf_free(&d->first[i]);
}

void diff_records(struct diff *d) {
    diff_streams(d);
    compare_buffers(d);
    diff_print_summary(d);
    diff_free(d);
}
