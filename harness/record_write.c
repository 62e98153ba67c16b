/* Writes records; the format is in record.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "hash.h"
#include "record.h"

struct record_writer {
    FILE *file;
    char *path, *partial; /* its name until all is written */
    uint64_t chunks, digest;
    bool no_memory;
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
    fwrite(head, 1, sizeof head, w->file);
    fwrite(stored, 1, stored_bytes, w->file);
}

static void put_chunk(struct record_writer *w, const char *tag, const void *raw, size_t size) {
    if (memcmp(tag, "HEAD", 4) && memcmp(tag, "END ", 4))
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

struct record_writer *record_begin(const char *path, struct strbuf *error) {
    struct record_writer *w = calloc(1, sizeof *w);
    struct strbuf partial = {0};
    strbuf_printf(&partial, "%s.partial", path);
    if (w) {
        w->path = strdup(path);
        w->partial = strdup(strbuf_text(&partial));
    }
    strbuf_free(&partial);
    if (w && w->path && w->partial)
        w->file = fopen(w->partial, "wb");
    if (w && w->file) {
        uint8_t head[16] = {'S', 'I', 'L', 'T', 'W', 'I', 'N', 0x1a};
        put_le(head + 8, RECORD_VERSION, 4);
        fwrite(head, 1, sizeof head, w->file);
        return w;
    }
    strbuf_printf(error, "cannot write '%s': %s", path, w ? strerror(errno) : "no memory");
    if (w) {
        free(w->path);
        free(w->partial);
    }
    free(w);
    return NULL;
}

void record_put_json(struct record_writer *w, const char *tag, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (!text)
        w->no_memory = true;
    else if (strlen(text) > RECORD_PIECE_BYTES)
        w->no_memory = true; /* a chunk has a limit, and readers hold to it */
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
    errno = 0;
    const bool write_failed = ferror(w->file) != 0;
    if (fclose(w->file) || write_failed) {
        strbuf_printf(error, "cannot write '%s': %s", w->path, strerror(errno ? errno : EIO));
        status = STATUS_IO;
    } else if (w->no_memory) {
        strbuf_printf(error, "no memory to write '%s'", w->path);
        status = STATUS_NO_MEMORY;
    } else if (rename(w->partial, w->path)) {
        strbuf_printf(error, "cannot write '%s': %s", w->path, strerror(errno));
        status = STATUS_IO;
    }
    if (status != STATUS_OK)
        remove(w->partial);
    free(w->path);
    free(w->partial);
    free(w);
    return status;
}
