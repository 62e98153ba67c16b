/* The cursor of the trace reader: blanks, words, signs, errors. A statement ends with its line
 * unless a backslash stands before the newline; # begins a comment. */
#include "trace_scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

struct trace_place scan_place(struct trace_reader *r) {
    return (struct trace_place){r->file, r->line, (unsigned)(r->at - r->line_start) + 1};
}

static void copy_source_line(const struct trace_place *place, char *out, size_t size) {
    const char *text = (const char *)place->file->bytes, *end = text + place->file->size;
    for (unsigned line = 1; line < place->line && text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    size_t length = 0;
    while (text + length < end && text[length] != '\n' && length + 1 < size)
        length++;
    memcpy(out, text, length);
    out[length] = '\0';
}

static bool fail(struct trace_reader *r, const struct trace_place *place, int exit_status,
                 const char *format, va_list args) {
    struct trace_error *error = r->error;
    if (error->exit_status)
        return false; /* the first error stays */
    error->exit_status = exit_status;
    error->place = *place;
    if (vsnprintf(error->text, sizeof error->text, format, args) >= (int)sizeof error->text) {
        static const char more[] = "\n(more follows)";
        char *newline = strrchr(error->text, '\n');
        char *end = error->text + sizeof error->text - sizeof more;
        memcpy(newline && newline < end ? newline : end, more, sizeof more);
    }
    copy_source_line(place, error->source_line, sizeof error->source_line);
    return false;
}

bool scan_fail(struct trace_reader *r, const char *format, ...) {
    va_list args;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    va_start(args, format);
    fail(r, &place, EXIT_USAGE, format, args);
    va_end(args);
    return false;
}

bool scan_fail_at(struct trace_reader *r, const struct trace_place *place, int exit_status,
                  const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(r, place, exit_status, format, args);
    va_end(args);
    return false;
}

bool scan_expected(struct trace_reader *r, const char *what) {
    if (scan_at_end(r))
        return scan_fail(r, "expected %s, found the end of the statement", what);
    const char *text = r->text + r->at;
    const int length = (int)strcspn(text, " \t\r\n");
    return scan_fail(r, "expected %s, found '%.*s'", what, length > 40 ? 40 : length, text);
}

static void newline(struct trace_reader *r) {
    r->at++;
    r->line++;
    r->line_start = r->at;
}

void scan_blanks(struct trace_reader *r) {
    for (;;) {
        const char c = r->text[r->at];
        if (c == ' ' || c == '\t' || c == '\r') {
            r->at++;
            continue;
        }
        if (c != '\\')
            return;
        size_t after = r->at + 1;
        while (r->text[after] == ' ' || r->text[after] == '\t' || r->text[after] == '\r')
            after++;
        if (r->text[after] != '\n')
            return;
        r->at = after;
        newline(r);
    }
}

bool scan_at_end(struct trace_reader *r) {
    scan_blanks(r);
    const char c = r->text[r->at];
    return c == '\0' || c == '\n' || c == '#' || c == '}';
}

bool scan_end(struct trace_reader *r) {
    return scan_at_end(r) || scan_expected(r, "the end of the statement");
}

bool scan_next_line(struct trace_reader *r) {
    for (;;) {
        scan_blanks(r);
        const char c = r->text[r->at];
        if (c == '#')
            r->at += strcspn(r->text + r->at, "\n");
        else if (c == '\n')
            newline(r);
        else
            return c != '\0' || r->at < r->file->size;
    }
}

bool scan_take(struct trace_reader *r, const char *sign) {
    scan_blanks(r);
    const size_t length = strlen(sign);
    if (strncmp(r->text + r->at, sign, length))
        return false;
    r->at += length;
    return true;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

bool scan_peek_word(struct trace_reader *r, const char *word) {
    scan_blanks(r);
    const size_t length = strlen(word);
    return !strncmp(r->text + r->at, word, length) && !is_word(r->text[r->at + length]);
}

bool scan_take_word(struct trace_reader *r, const char *word) {
    if (!scan_peek_word(r, word))
        return false;
    r->at += strlen(word);
    return true;
}

bool scan_need(struct trace_reader *r, const char *sign) {
    char what[16];
    if (scan_take(r, sign))
        return true;
    snprintf(what, sizeof what, "'%s'", sign);
    return scan_expected(r, what);
}

static bool copy(struct trace_reader *r, size_t length, const char **out) {
    *out = arena_strndup(&r->trace->arena, r->text + r->at, length);
    r->at += length;
    return *out || scan_fail(r, "no memory left");
}

bool scan_name(struct trace_reader *r, const char *what, const char **name) {
    scan_blanks(r);
    size_t length = 0;
    while (is_word(r->text[r->at + length]))
        length++;
    if (!length || isdigit((unsigned char)r->text[r->at]))
        return scan_expected(r, what);
    return copy(r, length, name);
}

bool scan_word(struct trace_reader *r, const char *what, const char **word) {
    if (scan_at_end(r))
        return scan_expected(r, what);
    return copy(r, strcspn(r->text + r->at, " \t\r\n#"), word);
}

bool scan_float(struct trace_reader *r, double *value) {
    scan_blanks(r);
    const char *start = r->text + r->at;
    const size_t length = strspn(start, "+-.0123456789abcdefABCDEFxXpPinINtyTY");
    char copy_of[64], *end;
    if (length >= sizeof copy_of)
        return scan_expected(r, "a number");
    memcpy(copy_of, start, length);
    copy_of[length] = '\0';
    *value = strtod(copy_of, &end);
    if (end == copy_of)
        return scan_expected(r, "a number");
    r->at += (size_t)(end - copy_of);
    return true;
}
