/* siltwin diff A.rec B.rec: compares the final buffers of two records. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "commands.h"
#include "expect.h"
#include "message.h"
#include "record_buffer.h"

enum { OPT_QUIET = 256, OPT_JSON, OPT_HELP };

static const char help[] =
    "usage: siltwin diff A.rec B.rec [--quiet] [--json]\n\n"
    "Compares the final buffers of two records, bit by bit, and names the first element that\n"
    "differs. Exit status 0 when they are equal, 1 when not.\n";

struct diff {
    const struct record *a, *b;
    const char *a_name, *b_name;
    bool quiet, json;
    json_t *findings;
    int status;
};

static void differs(struct diff *d, const char *buffer, const char *text, json_t *more) {
    json_t *finding = more ? more : json_object();
    d->status = EXIT_DIFFERENT;
    if (!d->json)
        printf("%s\n", text);
    json_object_set_new(finding, "rule", json_string("diff.buffer"));
    json_object_set_new(finding, "level", json_string("error"));
    json_object_set_new(finding, "object", json_string(buffer));
    json_object_set_new(finding, "text", json_string(text));
    json_array_append_new(d->findings, finding);
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
                   const struct difference *difference, const uint8_t *a, const uint8_t *b) {
    struct strbuf text = {0};
    char a_text[ELEM_TEXT_BYTES], b_text[ELEM_TEXT_BYTES];
    elem_text(shape->type, a, a_text);
    elem_text(shape->type, b, b_text);
    strbuf_printf(&text, "first difference at ");
    difference_place(shape, difference->first, &text);
    strbuf_printf(&text, ": %s in %s, %s in %s; ", a_text, d->a_name, b_text, d->b_name);
    difference_extent(difference, shape, &text);
    json_t *more =
        json_pack("{s:o, s:s, s:s, s:I, s:I}", "coordinates", coordinates(shape, difference->first),
                  "a", a_text, "b", b_text, "differing", (json_int_t)difference->count, "elements",
                  (json_int_t)shape->elems);
    differs(d, shape->name, strbuf_text(&text), more);
    strbuf_free(&text);
}

static void compare_spans(struct diff *d, const struct record_buffer *x,
                          const struct record_buffer *y, const uint8_t *a, const uint8_t *b) {
    const struct trace_buffer shape_a = record_buffer_shape(x), shape_b = record_buffer_shape(y);
    const size_t size = elem_info(shape_a.type)->size_bytes;
    struct difference difference = {0};
    for (uint64_t i = 0; i < shape_a.elems; i++)
        if (memcmp(a + buffer_image_offset(&shape_a, i), b + buffer_image_offset(&shape_b, i),
                   size))
            difference_add(&difference, &shape_a, i);
    if (difference.count)
        report(d, &shape_a, &difference, a + buffer_image_offset(&shape_a, difference.first),
               b + buffer_image_offset(&shape_b, difference.first));
}

static void compare_buffer(struct diff *d, const struct record_buffer *x) {
    const struct record_buffer *y = find(d->b, x->name);
    struct strbuf text = {0};
    if (!y) {
        strbuf_printf(&text, "%s has no buffer %s", d->b_name, x->name);
        differs(d, x->name, strbuf_text(&text), NULL);
    } else if (!same_shape(x, y)) {
        strbuf_printf(&text, "%s has another type or other dimensions in the two records", x->name);
        differs(d, x->name, strbuf_text(&text), NULL);
    } else if (strcmp(x->state, "lost") || strcmp(y->state, "lost")) {
        uint8_t *a = record_buffer_span(x, &text);
        uint8_t *b = a ? record_buffer_span(y, &text) : NULL;
        if (a && b)
            compare_spans(d, x, y, a, b);
        else
            differs(d, x->name, strbuf_text(&text), NULL);
        free(a);
        free(b);
    } else if (d->status == EXIT_AS_EXPECTED) {
        message_error("neither record has contents of %s: their launches failed", x->name);
        d->status = EXIT_NO_VERDICT;
    }
    strbuf_free(&text);
}

static int compare(struct diff *d) {
    for (size_t i = 0; i < d->a->buffer_count; i++)
        compare_buffer(d, &d->a->buffers[i]);
    for (size_t i = 0; i < d->b->buffer_count; i++)
        if (!find(d->a, d->b->buffers[i].name)) {
            struct strbuf text = {0};
            strbuf_printf(&text, "%s has no buffer %s", d->a_name, d->b->buffers[i].name);
            differs(d, d->b->buffers[i].name, strbuf_text(&text), NULL);
            strbuf_free(&text);
        }
    if (d->json) {
        json_t *json =
            json_pack("{s:s, s:s, s:s, s:O, s:i}", "schema", "siltwin.diff/1", "a", d->a_name, "b",
                      d->b_name, "findings", d->findings, "exit_status", d->status);
        json_dumpf(json, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
        fputc('\n', stdout);
        json_decref(json);
    } else if (d->status == EXIT_AS_EXPECTED && !d->quiet) {
        printf("equal: %zu buffer%s\n", d->a->buffer_count, d->a->buffer_count == 1 ? "" : "s");
    }
    return d->status;
}

int cmd_diff(int argc, char **argv) {
    static const struct option options[] = {{"quiet", no_argument, NULL, OPT_QUIET},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    struct record a = {0}, b = {0};
    struct diff d = {.a = &a, .b = &b};
    struct strbuf error = {0};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (option) {
        case OPT_QUIET: d.quiet = true; break;
        case OPT_JSON: d.json = true; break;
        case OPT_HELP:
        case 'h': fputs(help, stdout); return EXIT_AS_EXPECTED;
        default: return EXIT_USAGE;
        }
    if (argc - optind != 2) {
        message_error("diff expects two records");
        return EXIT_USAGE;
    }
    d.a_name = argv[optind];
    d.b_name = argv[optind + 1];
    int status = EXIT_USAGE;
    if (record_load(d.a_name, &a, &error) == STATUS_OK &&
        record_load(d.b_name, &b, &error) == STATUS_OK) {
        d.findings = json_array();
        status = compare(&d);
        json_decref(d.findings);
    } else {
        message_error("%s", strbuf_text(&error));
    }
    strbuf_free(&error);
    record_free(&a);
    record_free(&b);
    return status;
}
