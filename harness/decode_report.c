/* Collecting and printing what a decoded value means. See decode_report.h. */
#include "decode_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "strbuf.h"

static const char *format_list(struct decode_report *report, const char *format, va_list args) {
    struct strbuf text = {0};
    strbuf_vprintf(&text, format, args);
    const char *copy = arena_strdup(&report->arena, strbuf_text(&text));
    strbuf_free(&text);
    return copy == NULL ? "" : copy;
}

void decode_field(struct decode_report *report, unsigned high_bit, unsigned low_bit,
                  const char *name, uint64_t raw, const char *format, ...) {
    if (report->field_count == DECODE_FIELDS_MAX)
        return;
    va_list args;
    va_start(args, format);
    report->fields[report->field_count++] = (struct decode_field){
        .high_bit = high_bit,
        .low_bit = low_bit,
        .name = name,
        .raw = raw,
        .meaning = format_list(report, format, args),
    };
    va_end(args);
}

void decode_line(struct decode_report *report, const char *format, ...) {
    if (report->line_count == DECODE_LINES_MAX)
        return;
    va_list args;
    va_start(args, format);
    report->lines[report->line_count++] = format_list(report, format, args);
    va_end(args);
}

void decode_problem(struct decode_report *report, const char *format, ...) {
    if (report->problem_count == DECODE_LINES_MAX)
        return;
    va_list args;
    va_start(args, format);
    report->problems[report->problem_count++] = format_list(report, format, args);
    va_end(args);
}

const char *decode_format(struct decode_report *report, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = format_list(report, format, args);
    va_end(args);
    return text;
}

void decode_free(struct decode_report *report) {
    arena_free(&report->arena);
}

static void bits_text(const struct decode_field *field, char *text, size_t size) {
    if (field->high_bit == field->low_bit)
        snprintf(text, size, "%u", field->low_bit);
    else
        snprintf(text, size, "%u:%u", field->high_bit, field->low_bit);
}

static bool has_bits(const struct decode_report *report) {
    for (size_t i = 0; i < report->field_count; i++)
        if (report->fields[i].high_bit != 0)
            return true;
    return false;
}

void decode_print_text(const struct decode_report *report, FILE *out) {
    size_t name_width = 0;
    bool bits = has_bits(report);
    for (size_t i = 0; i < report->field_count; i++) {
        size_t length = strlen(report->fields[i].name);
        name_width = length > name_width ? length : name_width;
    }
    fprintf(out, "%s\n%s\n\n", report->title, report->value);
    if (bits)
        fprintf(out, "  %-6s %-*s %10s  %s\n", "bits", (int)name_width, "field", "raw", "meaning");
    for (size_t i = 0; i < report->field_count; i++) {
        const struct decode_field *field = &report->fields[i];
        char place[24];
        bits_text(field, place, sizeof place);
        if (bits)
            fprintf(out, "  %-6s %-*s %#10" PRIx64 "  %s\n", place, (int)name_width, field->name,
                    field->raw, field->meaning);
        else
            fprintf(out, "  %-*s  %s\n", (int)name_width, field->name, field->meaning);
    }
    if (report->line_count > 0)
        fputc('\n', out);
    for (size_t i = 0; i < report->line_count; i++)
        fprintf(out, "%s\n", report->lines[i]);
    if (report->problem_count > 0)
        fputc('\n', out);
    for (size_t i = 0; i < report->problem_count; i++)
        fprintf(out, "PROBLEM: %s\n", report->problems[i]);
}

static json_t *json_lines(const char *const *lines, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(lines[i]));
    return array;
}

static json_t *json_field(const struct decode_field *field) {
    char place[24], raw[24];
    bits_text(field, place, sizeof place);
    snprintf(raw, sizeof raw, "0x%" PRIx64, field->raw);
    json_t *object = json_object();
    if (field->high_bit != 0)
        json_object_set_new(object, "bits", json_string(place));
    json_object_set_new(object, "name", json_string(field->name));
    json_object_set_new(object, "raw", json_string(raw));
    json_object_set_new(object, "meaning", json_string(field->meaning));
    return object;
}

bool decode_print_json(const struct decode_report *report, FILE *out) {
    json_t *root = json_object(), *fields = json_array();
    for (size_t i = 0; i < report->field_count; i++)
        json_array_append_new(fields, json_field(&report->fields[i]));
    json_object_set_new(root, "schema", json_string("siltwin.decode/1"));
    json_object_set_new(root, "kind", json_string(report->kind));
    json_object_set_new(root, "title", json_string(report->title));
    json_object_set_new(root, "value", json_string(report->value));
    json_object_set_new(root, "legal", json_boolean(report->problem_count == 0));
    json_object_set_new(root, "fields", fields);
    json_object_set_new(root, "layout", json_lines(report->lines, report->line_count));
    json_object_set_new(root, "problems", json_lines(report->problems, report->problem_count));
    bool written = json_dumpf(root, out, JSON_INDENT(2)) == 0;
    fputc('\n', out);
    json_decref(root);
    return written;
}
