#ifndef SILTWIN_FILE_SET_H
#define SILTWIN_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "status.h"
#include "strbuf.h"

/* The files that a trace reads: from disk, or from a record that carries them. A file's name is its
 * path relative to the trace's folder ("../device/k.ptx"), so that a record is free of the place
 * where it was made. */

struct file_entry {
    const char *name;  /* relative to the trace's folder, or absolute */
    const char *shown; /* as messages name it */
    const uint8_t *bytes;
    size_t size; /* a zero byte follows the last one */
    struct file_entry *next;
};

struct file_set {
    struct arena arena;
    struct file_entry *first, **tail; /* in the order they were read */
    const char *folder;               /* of the trace; "" is the working directory */
    const char *allowed[32];          /* real paths of the folder trees that may be read */
    unsigned allowed_count;
    bool sealed; /* nothing is read from disk */
};

/* For the trace at `trace_path`: its folder tree and the tree of the project around it (the nearest
 * folder above it that holds .git) may be read. */
void file_set_init(struct file_set *set, const char *trace_path);
/* Also allows the tree of `folder`; STATUS_NOT_FOUND when there is no such folder. */
enum status file_set_allow(struct file_set *set, const char *folder);
/* Without disk: only what file_set_add gave it. */
void file_set_init_sealed(struct file_set *set);
/* Adds a file from memory (copied). NULL without memory. */
struct file_entry *file_set_add(struct file_set *set, const char *name, const void *bytes,
                                size_t size);

/* The file `path`, relative to the folder of `from` (NULL: of the trace). NULL with the reason in
 * `error`. Reading it twice gives the same entry. */
const struct file_entry *file_set_open(struct file_set *set, const struct file_entry *from,
                                       const char *path, struct strbuf *error);
/* Where a file may be written: its path for fopen, NULL with the reason in `error`. */
const char *file_set_output_path(struct file_set *set, const struct file_entry *from,
                                 const char *path, struct strbuf *error);
void file_set_free(struct file_set *set);

/* The whole of one regular file, malloc'd with a zero byte behind it. */
enum status file_read(const char *path, uint8_t **bytes, size_t *size, struct strbuf *error);

#endif
