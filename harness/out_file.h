#ifndef SILTWIN_OUT_FILE_H
#define SILTWIN_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "strbuf.h"

/* A file that is written as a whole or not at all: its name shows the old contents, or nothing,
 * until the new ones are complete, and a process that is ended meanwhile leaves nothing behind.
 * Devices, pipes and open descriptors (/dev/fd/3) are written directly, a symbolic link's file is
 * the one that is replaced. */

struct out_file {
    FILE *file;
    int number;        /* errno of the first write that failed */
    const char *shown; /* the path as it was given, for messages */
    char *path, *partial;
    bool unnamed, direct;
};

/* False with a text in `error`: `path` cannot be written. */
bool out_file_begin(struct out_file *out, const char *path, struct strbuf *error);
/* Errors are kept until the end. */
void out_file_write(struct out_file *out, const void *bytes, size_t size);
/* Gives the file its name, or (keep false) drops it. False with a text: not all was written, the
 * old file is as it was. */
bool out_file_end(struct out_file *out, bool keep, struct strbuf *error);
/* Whether out_file_begin would succeed now: to be asked before a long run. */
bool out_file_possible(const char *path, struct strbuf *error);

#endif
