#ifndef SILTWIN_MESSAGE_H
#define SILTWIN_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the commands say to people: stderr for messages, colour only on a terminal and never with
 * NO_COLOR in the environment. */

/* Whether `stream` may carry colour. */
bool message_colour(FILE *stream);

/* "siltwin: error: TEXT" on stderr. */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "siltwin: warning: TEXT" on stderr. */
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "siltwin: note: TEXT" on stderr: what explains an error. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A message with a place: "FILE:LINE:COLUMN: error: TEXT", the line and a caret below it, then
 * further lines of TEXT. Line and column count from 1; column 0 leaves column and caret out,
 * `source_line` may be NULL. */
struct message_place {
    const char *file;
    unsigned line, column;
    const char *source_line; /* zero-terminated, without its newline */
};
void message_error_at(const struct message_place *place, const char *text);

#endif
