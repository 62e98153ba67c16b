/* What came out of a comparison, and the lines of text that decide how memory lies. */
#include <inttypes.h>
#include <string.h>

#include "commands.h"
#include "diff.h"
#include "message.h"

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

/* ---- the summary ---- */

/* "clock 12, atomic 3" */
static void legal_kinds(const struct diff *d, struct strbuf *out) {
    for (int i = 1; i < PROBE_WHY_COUNT; i++)
        if (d->counts.legal_by[i])
            strbuf_printf(out, "%s%s %" PRIu64, out->length ? ", " : "",
                          probe_why_word((enum probe_why)i), d->counts.legal_by[i]);
}

static json_t *first_json(const struct diff *d) {
    json_t *json = json_object();
    for (int i = 0; i < DIFF_CLASS_COUNT; i++)
        if (d->first[i].length)
            json_object_set_new(json, diff_class_word((enum diff_class)i),
                                json_string(strbuf_text(&d->first[i])));
    return json;
}

static void print_json(const struct diff *d) {
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:O, s:I, s:I, s:o, s:o, s:o, s:i}", "schema", "siltwin.diff/1",
                  "a", d->a_name, "b", d->b_name, "findings", d->findings, "events",
                  (json_int_t)d->events, "not_compared", (json_int_t)d->not_compared, "classes",
                  diff_counts_json(&d->counts), "legal_by", diff_counts_legal_json(&d->counts),
                  "first", first_json(d), "exit_status", d->status);
    message_document(json);
}

void diff_print_summary(const struct diff *d) {
    if (d->json) {
        print_json(d);
        return;
    }
    if (d->quiet)
        return;
    bool any = false;
    for (int i = 0; i < DIFF_CLASS_COUNT; i++)
        any = any || d->counts.of_class[i];
    if (d->status == EXIT_AS_EXPECTED)
        printf("%s: %zu buffer%s", any ? "equal, but for what may differ" : "equal",
               d->a->buffer_count, d->a->buffer_count == 1 ? "" : "s");
    if (d->status == EXIT_AS_EXPECTED && d->events)
        printf(", %" PRIu64 " events", d->events);
    if (d->status == EXIT_AS_EXPECTED)
        fputc('\n', stdout);
    for (int i = DIFF_DOWNSTREAM; i < DIFF_CLASS_COUNT; i++) {
        struct strbuf kinds = {0};
        if (!d->counts.of_class[i])
            continue;
        if (i == DIFF_LEGAL)
            legal_kinds(d, &kinds);
        printf("%s: %" PRIu64 " value%s %s%s%s%s\n", diff_class_word((enum diff_class)i),
               d->counts.of_class[i], d->counts.of_class[i] == 1 ? "" : "s",
               diff_class_text((enum diff_class)i), kinds.length ? " (" : "", strbuf_text(&kinds),
               kinds.length ? ")" : "");
        if (d->first[i].length)
            printf("  first: %s\n", strbuf_text(&d->first[i]));
        strbuf_free(&kinds);
    }
    if (d->not_compared)
        printf("not compared: %" PRIu64 " event%s of [sim] probes, which only one record has\n",
               d->not_compared, d->not_compared == 1 ? "" : "s");
}
