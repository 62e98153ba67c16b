/* Writes records; the format is in record.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "hash.h"
#include "out_file.h"
#include "record.h"

struct record_writer {
    struct out_file out;
    uint64_t chunks, digest;
    bool no_memory, too_large;
};

static void put_le(uint8_t *out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static void put_stored(struct record_writer *w, const char *tag, uint32_t flags, uint64_t raw_bytes,
                       const void *stored, size_t stored_bytes) {
    uint8_t head[40];
    memcpy(head, tag, 4);
    put_le(head + 4, flags, 4);
    put_le(head + 8, raw_bytes, 8);
    put_le(head + 16, stored_bytes, 8);
    put_le(head + 24, w->chunks++, 8);
    put_le(head + 32, hash_bytes(hash_bytes(0, head, 32), stored, stored_bytes), 8);
    out_file_write(&w->out, head, sizeof head);
    out_file_write(&w->out, stored, stored_bytes);
}

static void put_chunk(struct record_writer *w, const char *tag, const void *raw, size_t size) {
    if (memcmp(tag, "HEAD", 4) && memcmp(tag, "FSUM", 4) && memcmp(tag, "END ", 4))
        w->digest = hash_bytes(hash_bytes(w->digest, tag, 4), raw, size);
    const size_t bound = ZSTD_compressBound(size);
    void *packed = malloc(bound);
    if (!packed) {
        w->no_memory = true;
        return;
    }
    const size_t packed_bytes = ZSTD_compress(packed, bound, raw, size, 3);
    if (!ZSTD_isError(packed_bytes) && packed_bytes < size)
        put_stored(w, tag, 1, size, packed, packed_bytes);
    else
        put_stored(w, tag, 0, size, raw, size);
    free(packed);
}

struct record_writer *record_begin(const char *path, uint32_t version, struct strbuf *error) {
    struct record_writer *w = calloc(1, sizeof *w);
    if (!w)
        strbuf_printf(error, "no memory to write '%s'", path);
    if (w && out_file_begin(&w->out, path, error)) {
        uint8_t head[16] = {'S', 'I', 'L', 'T', 'W', 'I', 'N', 0x1a};
        put_le(head + 8, version, 4);
        out_file_write(&w->out, head, sizeof head);
        return w;
    }
    free(w);
    return NULL;
}

void record_put_json(struct record_writer *w, const char *tag, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (!text)
        w->no_memory = true;
    else if (strlen(text) > RECORD_PIECE_BYTES)
        w->too_large = true; /* a chunk has a limit, and readers hold to it */
    else
        put_chunk(w, tag, text, strlen(text));
    free(text);
    json_decref(json);
}

void record_put_file(struct record_writer *w, const char *tag, const char *name, const void *bytes,
                     size_t size) {
    const size_t name_bytes = strlen(name), room = RECORD_PIECE_BYTES - 4 - name_bytes;
    size_t done = 0;
    uint8_t *piece = malloc(4 + name_bytes + (size < room ? size : room));
    if (!piece || name_bytes > 65536) {
        w->no_memory = true;
        free(piece);
        return;
    }
    put_le(piece, name_bytes, 4);
    memcpy(piece + 4, name, name_bytes);
    do {
        const size_t part = size - done < room ? size - done : room;
        memcpy(piece + 4 + name_bytes, (const uint8_t *)bytes + done, part);
        put_chunk(w, tag, piece, 4 + name_bytes + part);
        done += part;
    } while (done < size);
    free(piece);
}

void record_put_bytes(struct record_writer *w, const char *tag, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < RECORD_PIECE_BYTES ? size - done : RECORD_PIECE_BYTES;
        put_chunk(w, tag, (const uint8_t *)bytes + done, part);
        done += part;
    }
}

enum status record_end(struct record_writer *w, uint64_t *digest, struct strbuf *error) {
    uint8_t bytes[8];
    enum status status = STATUS_OK;
    put_le(bytes, w->digest, 8);
    put_chunk(w, "END ", bytes, sizeof bytes);
    *digest = w->digest;
    if (w->too_large) {
        strbuf_printf(error, "'%s' is not written: a description in it would be over %d MiB",
                      w->out.shown, RECORD_PIECE_BYTES >> 20);
        status = STATUS_IO;
    } else if (w->no_memory) {
        strbuf_printf(error, "no memory to write '%s'", w->out.shown);
        status = STATUS_NO_MEMORY;
    }
    if (!out_file_end(&w->out, status == STATUS_OK, error))
        status = STATUS_IO;
    free(w);
    return status;
}
