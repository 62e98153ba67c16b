#ifndef SILTWIN_RECORD_H
#define SILTWIN_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "elem.h"
#include "status.h"
#include "strbuf.h"

/* A record: what ran and what came out, in one file. All numbers are little endian.
 *
 *   file    "SILTWIN\x1a" | version u32 | 0 u32 | chunk ... | END chunk, nothing after it
 *   chunk   tag 4 bytes | flags u32 (1: stored with zstd) | raw bytes u64 | stored bytes u64 |
 *           number u64 (0, 1, ...) | hash u64 of the 32 bytes before it and the stored bytes |
 * stored
 *
 *   HEAD    JSON: how it was run: device, driver, date, policy, jobs, version. First; not digested
 *   TRCE    JSON: main file, overrides, device, as_written, constants
 *   FILE    name length u32, name, bytes: a file that the trace reads (trace, includes, PTX as
 *           written, data); the pieces of a large one follow each other
 *   PTXL    the same for the text of a module as it was loaded
 *   RSLT    JSON: the result of each launch and expectation
 *   STRM    JSON: the probed instructions of a launch; EVNT: what their probes saw, in pieces
 *           (stream.h). Only of launches with probes; a record without them is read as ever
 *   TIME    rows of the timeline of the STRM before it, in pieces (timeline.h): of [sim] probes. A
 *           record with such a chunk has version 2, one without version 1
 *   BUFF    JSON: name, type, dims, strides, span_bytes, state, initial_hash, and for state
 *           "initial" the generator. state: "initial" (as it began), "changed", "lost" (the context
 *           was gone)
 *   DATA    bytes of the BUFF before it, in pieces: its span. Only for "changed", and for "initial"
 *           contents that no generator makes
 *   FSUM    elements of the BUFF before it that are sums of atomics (float_sum.h), in pieces. Only
 *           the simulator writes it, and only where there are some; not digested
 *   END     digest u64
 *
 * The digest is the chained hash of tag and raw bytes of every chunk but HEAD, FSUM and END: two
 * runs gave the same record when their digests are equal. A chunk holds at most RECORD_PIECE_BYTES
 * raw bytes. */

enum { RECORD_VERSION = 2, RECORD_PIECE_BYTES = 16 << 20, RECORD_MAX_RANK = 8 };

struct record_file {
    const char *name;
    uint8_t *bytes;
    size_t size;
};

struct record_buffer {
    const char *name;
    enum elem_type type;
    unsigned rank;
    uint64_t dims[RECORD_MAX_RANK], strides[RECORD_MAX_RANK], span_bytes;
    const char *state;
    json_t *json;    /* the whole BUFF chunk */
    uint8_t *bytes;  /* span_bytes of it, NULL when the record holds none */
    uint64_t stored; /* bytes read so far */
    uint8_t *sums;   /* float_sum.h; NULL: none */
    uint64_t sums_bytes;
};

struct record_stream {
    json_t *json;   /* STRM */
    uint8_t *bytes; /* the EVNT pieces, NULL when there is none */
    size_t size;
    uint8_t *time; /* the TIME pieces, NULL when there is none */
    size_t time_size;
};

struct record {
    struct arena arena;
    json_t *head, *trace, *results;
    struct record_file *files, *loaded;
    size_t file_count, loaded_count;
    struct record_stream *streams;
    size_t stream_count;
    struct record_buffer *buffers;
    size_t buffer_count;
    uint64_t digest;
};

/* Reads a record from memory. Anything wrong with it is STATUS_SYNTAX with a text in `error`;
 * `record` is to be freed either way. */
enum status record_parse(const uint8_t *bytes, size_t size, struct record *record,
                         struct strbuf *error);
enum status record_load(const char *path, struct record *record, struct strbuf *error);
void record_free(struct record *record);

/* Writing: chunks in the order of the list above. The file appears under its name when all is
 * written. */
struct record_writer;
struct record_writer *record_begin(const char *path, uint32_t version, struct strbuf *error);
/* A JSON chunk; takes the reference to `json`. */
void record_put_json(struct record_writer *writer, const char *tag, json_t *json);
/* A named text or data file (FILE, PTXL). */
void record_put_file(struct record_writer *writer, const char *tag, const char *name,
                     const void *bytes, size_t size);
/* Pieces of bytes that belong to the chunk before: DATA of a BUFF, EVNT and TIME of a STRM. */
void record_put_bytes(struct record_writer *writer, const char *tag, const void *bytes,
                      size_t size);
/* Ends the file and frees the writer. STATUS_IO or STATUS_NO_MEMORY when anything before failed;
 * *digest is set on success. */
enum status record_end(struct record_writer *writer, uint64_t *digest, struct strbuf *error);

#endif
