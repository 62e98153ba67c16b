#ifndef SILTWIN_MESSAGE_H
#define SILTWIN_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "strbuf.h"

/* What the commands say to people: stderr for messages, colour only on a terminal and never with
 * NO_COLOR in the environment. Bytes that are no text (control characters, broken UTF-8) come out
 * as
 * `?`, so that no file can play tricks on a terminal. */

/* Whether `stream` may carry colour. */
bool message_colour(FILE *stream);

/* "siltwin: error: TEXT" on stderr. */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "siltwin: warning: TEXT" on stderr. */
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "siltwin: note: TEXT" on stderr: what explains an error. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text of several lines that is a message already, on stderr. */
void message_text(const char *text);

/* What getopt_long refused, with a `:` at the beginning of its short options and opterr 0: `answer`
 * is ':' or '?', argv[0] the command's name. */
void message_option(int answer, char **argv);

/* A message with a place: "FILE:LINE:COLUMN: error: TEXT", the line and a caret below it, then
 * further lines of TEXT. Line and column count from 1; column 0 leaves column and caret out,
 * `source_line` may be NULL. */
struct message_place {
    const char *file;
    unsigned line, column;
    const char *source_line; /* zero-terminated, without its newline */
};
void message_error_at(const struct message_place *place, const char *text);

/* ---- documents, for --json ---- */

/* Text as a JSON string; bytes that are no text as above. */
json_t *message_json(const char *text);
void message_clean(const char *text, size_t size, struct strbuf *out);
/* Whether it is text as it stands. */
bool message_is_text(const char *text);
/* Prints the command's document on stdout and takes it over. */
void message_document(json_t *json);
/* Another process has done that. */
void message_document_is_printed(void);
/* Prints one with the first error when there was none: a command that failed early. */
void message_missing_document(const char *command, int exit_status);

#endif
