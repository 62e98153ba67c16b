/* Messages of the command: errors with their place, colour where a terminal can show it. */
#include "message.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool message_colour(FILE *stream) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no_color && *no_color) && term && isatty(fileno(stream));
}

static void head(const char *kind, const char *colour) {
    if (message_colour(stderr))
        fprintf(stderr, "siltwin: \033[%sm%s:\033[0m ", colour, kind);
    else
        fprintf(stderr, "siltwin: %s: ", kind);
}

void message_error(const char *format, ...) {
    va_list args;
    head("error", "1;31");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void message_warning(const char *format, ...) {
    va_list args;
    head("warning", "1;35");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void message_note(const char *format, ...) {
    va_list args;
    head("note", "1;36");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* The caret's column counts bytes; tabs before it are repeated so that it stays below its word. */
static void caret(const char *line, unsigned column) {
    for (unsigned i = 1; i < column && line[i - 1]; i++)
        fputc(line[i - 1] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

void message_error_at(const struct message_place *place, const char *text) {
    const bool colour = message_colour(stderr);
    const int first = (int)strcspn(text, "\n"); /* the place is that of the first line */
    fprintf(stderr, "%s:%u:", place->file, place->line);
    if (place->column)
        fprintf(stderr, "%u:", place->column);
    fprintf(stderr, colour ? " \033[1;31merror:\033[0m %.*s\n" : " error: %.*s\n", first, text);
    if (place->source_line) {
        fprintf(stderr, "%s\n", place->source_line);
        if (place->column)
            caret(place->source_line, place->column);
    }
    if (text[first])
        fprintf(stderr, "%s\n", text + first + 1);
}
