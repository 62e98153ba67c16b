/* Messages of the command: errors with their place, colour where a terminal can show it. */
#include "message.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool message_colour(FILE *stream) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no_color && *no_color) && term && isatty(fileno(stream));
}

/* ---- bytes that a terminal may be given ---- */

/* Bytes of the character at `text`: of a well-formed one of UTF-8 that is printed, 1 otherwise with
 * *printed false. */
static size_t character(const char *text, size_t left, bool *printed) {
    const unsigned char first = (unsigned char)*text;
    const size_t bytes = first < 0x80   ? 1
                         : first < 0xc2 ? 0
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                         : first < 0xf5 ? 4
                                        : 0;
    *printed = bytes == 1 ? first >= ' ' && first != 0x7f : bytes > 0 && bytes <= left;
    if (bytes < 2 || !*printed)
        return 1;
    for (size_t i = 1; i < bytes; i++)
        *printed = *printed && ((unsigned char)text[i] & 0xc0) == 0x80;
    const unsigned char second = (unsigned char)text[1];
    /* Not the shortest form, surrogates, beyond U+10ffff, control characters U+0080 to U+009f. */
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ||
        (first == 0xc2 && second < 0xa0))
        *printed = false;
    return *printed ? bytes : 1;
}

void message_clean(const char *text, size_t size, struct strbuf *out) {
    for (size_t at = 0; at < size;) {
        bool printed;
        const size_t bytes = character(text + at, size - at, &printed);
        if (printed || text[at] == '\n' || text[at] == '\t')
            strbuf_append(out, text + at, bytes);
        else
            strbuf_puts(out, "?");
        at += bytes;
    }
}

bool message_is_text(const char *text) {
    struct strbuf clean = {0};
    message_clean(text, strlen(text), &clean);
    const bool same = !strcmp(strbuf_text(&clean), text);
    strbuf_free(&clean);
    return same;
}

json_t *message_json(const char *text) {
    struct strbuf clean = {0};
    message_clean(text, strlen(text), &clean);
    json_t *json = json_string(strbuf_text(&clean));
    strbuf_free(&clean);
    return json;
}

static void put(const char *text, size_t size) {
    struct strbuf clean = {0};
    message_clean(text, size, &clean);
    fputs(strbuf_text(&clean), stderr);
    strbuf_free(&clean);
}

void message_text(const char *text) {
    put(text, strlen(text));
}

/* ---- messages ---- */

/* What the command's document says when nothing else does: the first error, and whether there was a
 * document. */
static char first_error[1024];
static bool document_printed;

static void keep_first(const char *text) {
    if (!first_error[0])
        snprintf(first_error, sizeof first_error, "%s", text);
}

static void head(const char *kind, const char *colour) {
    if (message_colour(stderr))
        fprintf(stderr, "siltwin: \033[%sm%s:\033[0m ", colour, kind);
    else
        fprintf(stderr, "siltwin: %s: ", kind);
}

static void say(const char *kind, const char *colour, bool error, const char *format,
                va_list args) {
    struct strbuf text = {0};
    strbuf_vprintf(&text, format, args);
    if (error)
        keep_first(strbuf_text(&text));
    head(kind, colour);
    put(strbuf_text(&text), text.length);
    fputc('\n', stderr);
    strbuf_free(&text);
}

void message_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say("error", "1;31", true, format, args);
    va_end(args);
}

void message_warning(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say("warning", "1;35", false, format, args);
    va_end(args);
}

void message_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say("note", "1;36", false, format, args);
    va_end(args);
}

void message_option(int answer, char **argv) {
    const char *word = argv[optind - 1];
    if (answer == ':')
        message_error("%s: %s needs a value", argv[0], word);
    else if (word[0] != '-' || word[1] != '-')
        message_error("%s: unknown option '-%c'; 'siltwin %s --help' lists them", argv[0], optopt,
                      argv[0]);
    else if (optopt)
        message_error("%s: '%s': this option takes no value", argv[0], word);
    else
        message_error("%s: unknown option '%s'; 'siltwin %s --help' lists them", argv[0], word,
                      argv[0]);
}

void message_document(json_t *json) {
    document_printed = true;
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
    fputc('\n', stdout);
    json_decref(json);
}

void message_document_is_printed(void) {
    document_printed = true;
}

void message_missing_document(const char *command, int exit_status) {
    if (document_printed)
        return;
    json_t *json = json_pack("{s:o, s:i}", "schema", json_sprintf("siltwin.%s/1", command),
                             "exit_status", exit_status);
    if (first_error[0])
        json_object_set_new(json, "error", json_pack("{s:o}", "text", message_json(first_error)));
    message_document(json);
}

/* The caret's column counts bytes; tabs before it are repeated so that it stays below its word. */
static void caret(const char *line, unsigned column) {
    const size_t size = strlen(line);
    for (size_t at = 0; at + 1 < column && at < size;) {
        bool printed;
        fputc(line[at] == '\t' ? '\t' : ' ', stderr);
        at += character(line + at, size - at, &printed);
    }
    fputs("^\n", stderr);
}

void message_error_at(const struct message_place *place, const char *text) {
    const bool colour = message_colour(stderr);
    const size_t first = strcspn(text, "\n"); /* the place is that of the first line */
    keep_first(text);
    put(place->file, strlen(place->file));
    fprintf(stderr, ":%u:", place->line);
    if (place->column)
        fprintf(stderr, "%u:", place->column);
    fputs(colour ? " \033[1;31merror:\033[0m " : " error: ", stderr);
    put(text, first);
    fputc('\n', stderr);
    if (place->source_line) {
        put(place->source_line, strlen(place->source_line));
        fputc('\n', stderr);
        if (place->column)
            caret(place->source_line, place->column);
    }
    if (text[first]) {
        put(text + first + 1, strlen(text + first + 1));
        fputc('\n', stderr);
    }
}
