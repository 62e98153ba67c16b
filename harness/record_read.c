/* Reads records; the format is in record.h. Every length is checked before it is used, and every
 * byte of the file is under a hash. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "file_set.h"
#include "hash.h"
#include "record.h"

struct reader {
    const uint8_t *at, *end;
    struct record *record;
    struct strbuf *error;
    uint64_t chunks, digest;
    uint32_t version;
};

struct chunk {
    char tag[5];
    const uint8_t *raw;
    size_t size;
    uint8_t *owned; /* raw, when it was unpacked */
};

static uint64_t get_le(const uint8_t *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static enum status bad(struct reader *r, const char *what) {
    strbuf_printf(r->error, "not a whole record: %s", what);
    return STATUS_SYNTAX;
}

/* Unpacks what a zstd chunk stores; its frame must give exactly the bytes that the chunk names. */
static enum status unpack(struct reader *r, const uint8_t *stored, size_t stored_bytes,
                          uint64_t raw_bytes, struct chunk *chunk) {
    if (ZSTD_getFrameContentSize(stored, stored_bytes) != raw_bytes)
        return bad(r, "a chunk's packed size is wrong");
    chunk->owned = malloc(raw_bytes ? raw_bytes : 1);
    if (!chunk->owned)
        return bad(r, "no memory to read it");
    const size_t got = ZSTD_decompress(chunk->owned, raw_bytes, stored, stored_bytes);
    if (ZSTD_isError(got) || got != raw_bytes)
        return bad(r, "a chunk cannot be unpacked");
    chunk->raw = chunk->owned;
    return STATUS_OK;
}

static enum status next_chunk(struct reader *r, struct chunk *chunk) {
    *chunk = (struct chunk){0};
    if (r->end - r->at < 40)
        return bad(r, "it ends early");
    const uint8_t *head = r->at;
    const uint64_t flags = get_le(head + 4, 4), raw_bytes = get_le(head + 8, 8);
    const uint64_t stored_bytes = get_le(head + 16, 8);
    if (stored_bytes > (uint64_t)(r->end - r->at - 40))
        return bad(r, "it ends early");
    if (get_le(head + 24, 8) != r->chunks++)
        return bad(r, "its chunks are out of order");
    const uint8_t *stored = head + 40;
    if (hash_bytes(hash_bytes(0, head, 32), stored, stored_bytes) != get_le(head + 32, 8))
        return bad(r, "a checksum is wrong");
    if (flags > 1 || raw_bytes > RECORD_PIECE_BYTES || (!flags && raw_bytes != stored_bytes))
        return bad(r, "a chunk's size is wrong");
    memcpy(chunk->tag, head, 4);
    chunk->raw = stored;
    chunk->size = raw_bytes;
    r->at = stored + stored_bytes;
    if (flags) {
        const enum status status = unpack(r, stored, stored_bytes, raw_bytes, chunk);
        if (status != STATUS_OK) {
            free(chunk->owned);
            return status;
        }
    }
    if (strcmp(chunk->tag, "HEAD") && strcmp(chunk->tag, "FSUM") && strcmp(chunk->tag, "END "))
        r->digest = hash_bytes(hash_bytes(r->digest, chunk->tag, 4), chunk->raw, chunk->size);
    return STATUS_OK;
}

static enum status read_json(struct reader *r, const struct chunk *chunk, json_t **json) {
    if (*json)
        return bad(r, "a chunk comes twice");
    *json = json_loadb((const char *)chunk->raw, chunk->size, 0, NULL);
    return json_is_object(*json) ? STATUS_OK : bad(r, "a chunk is no JSON object");
}

/* An array with room for one more item, doubled at powers of two. */
static void *grow(void *items, size_t count, size_t item_bytes) {
    if (count & (count - 1) || (count && count < 8))
        return items;
    return realloc(items, (count ? 2 * count : 8) * item_bytes);
}

static enum status append(struct reader *r, uint8_t **bytes, size_t *size, const uint8_t *more,
                          size_t more_bytes) {
    uint8_t *grown = realloc(*bytes, *size + more_bytes + 1);
    if (!grown)
        return bad(r, "no memory to read it");
    memcpy(grown + *size, more, more_bytes);
    *bytes = grown;
    *size += more_bytes;
    grown[*size] = 0;
    return STATUS_OK;
}

static enum status read_file_piece(struct reader *r, const struct chunk *chunk,
                                   struct record_file **files, size_t *count) {
    if (chunk->size < 4)
        return bad(r, "a file has no name");
    const uint64_t name_bytes = get_le(chunk->raw, 4);
    if (name_bytes > chunk->size - 4 || name_bytes > 65536 ||
        memchr(chunk->raw + 4, 0, (size_t)name_bytes))
        return bad(r, "a file's name is wrong");
    const char *name = (const char *)chunk->raw + 4;
    struct record_file *last = *count ? &(*files)[*count - 1] : NULL;
    if (!last || strlen(last->name) != name_bytes || memcmp(last->name, name, name_bytes)) {
        struct record_file *grown = grow(*files, *count, sizeof **files);
        if (!grown)
            return bad(r, "no memory to read it");
        *files = grown;
        last = &grown[*count];
        *last = (struct record_file){
            .name = arena_strndup(&r->record->arena, name, (size_t)name_bytes)};
        if (!last->name)
            return bad(r, "no memory to read it");
        ++*count;
    }
    return append(r, &last->bytes, &last->size, chunk->raw + 4 + name_bytes,
                  chunk->size - 4 - (size_t)name_bytes);
}

static bool read_sizes(const json_t *array, uint64_t *values, unsigned rank) {
    if (!json_is_array(array) || json_array_size(array) != rank)
        return false;
    for (unsigned i = 0; i < rank; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return false;
        values[i] = (uint64_t)json_integer_value(value);
    }
    return true;
}

/* Bytes from the first element to past the last; 0 when no memory could hold them. */
static uint64_t span_of(const struct record_buffer *b) {
    uint64_t last = 0, elems = 1;
    for (unsigned i = 0; i < b->rank; i++) {
        uint64_t reach;
        if (!b->dims[i] || __builtin_mul_overflow(b->dims[i] - 1, b->strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last) ||
            __builtin_mul_overflow(elems, b->dims[i], &elems) || last >= UINT64_C(1) << 44 ||
            elems >= UINT64_C(1) << 44)
            return 0;
    }
    return (last + 1) * elem_info(b->type)->size_bytes;
}

static enum status read_buffer(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    struct record_buffer b = {0};
    struct record_buffer *grown = grow(record->buffers, record->buffer_count, sizeof b);
    if (!grown)
        return bad(r, "no memory to read it");
    record->buffers = grown;
    const enum status status = read_json(r, chunk, &b.json);
    grown[record->buffer_count++] = b;
    if (status != STATUS_OK)
        return status;
    b.name = json_string_value(json_object_get(b.json, "name"));
    b.state = json_string_value(json_object_get(b.json, "state"));
    const char *type = json_string_value(json_object_get(b.json, "type"));
    const json_t *dims = json_object_get(b.json, "dims");
    b.type = type ? elem_find(type, strlen(type)) : ELEM_COUNT;
    b.rank = (unsigned)json_array_size(dims);
    if (!b.name || !b.state || b.type == ELEM_COUNT || b.rank < 1 ||
        json_array_size(dims) > RECORD_MAX_RANK || !read_sizes(dims, b.dims, b.rank) ||
        !read_sizes(json_object_get(b.json, "strides"), b.strides, b.rank))
        return bad(r, "a buffer's description is wrong");
    b.span_bytes = span_of(&b);
    if (!b.span_bytes)
        return bad(r, "a buffer's size is wrong");
    grown[record->buffer_count - 1] = b;
    return STATUS_OK;
}

static enum status read_data(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    struct record_buffer *b =
        record->buffer_count ? &record->buffers[record->buffer_count - 1] : NULL;
    if (!b || chunk->size > b->span_bytes - b->stored)
        return bad(r, "data without its buffer");
    return append(r, &b->bytes, &b->stored, chunk->raw, chunk->size);
}

static enum status read_sums(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    if (!record->buffer_count)
        return bad(r, "sums without their buffer");
    struct record_buffer *b = &record->buffers[record->buffer_count - 1];
    return append(r, &b->sums, &b->sums_bytes, chunk->raw, chunk->size);
}

static enum status read_stream(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    struct record_stream *grown = grow(record->streams, record->stream_count, sizeof *grown);
    if (!grown)
        return bad(r, "no memory to read it");
    record->streams = grown;
    grown[record->stream_count] = (struct record_stream){0};
    return read_json(r, chunk, &grown[record->stream_count++].json);
}

static enum status read_events(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    if (!record->stream_count)
        return bad(r, "events without their stream");
    struct record_stream *stream = &record->streams[record->stream_count - 1];
    return append(r, &stream->bytes, &stream->size, chunk->raw, chunk->size);
}

static enum status read_time(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    if (!record->stream_count)
        return bad(r, "a timeline without its stream");
    struct record_stream *stream = &record->streams[record->stream_count - 1];
    return append(r, &stream->time, &stream->time_size, chunk->raw, chunk->size);
}

static enum status read_chunk(struct reader *r, const struct chunk *chunk) {
    struct record *record = r->record;
    if (r->chunks == 1)
        return !strcmp(chunk->tag, "HEAD") ? read_json(r, chunk, &record->head)
                                           : bad(r, "it has no head");
    if (!strcmp(chunk->tag, "TRCE"))
        return read_json(r, chunk, &record->trace);
    if (!strcmp(chunk->tag, "RSLT"))
        return read_json(r, chunk, &record->results);
    if (!strcmp(chunk->tag, "FILE"))
        return read_file_piece(r, chunk, &record->files, &record->file_count);
    if (!strcmp(chunk->tag, "PTXL"))
        return read_file_piece(r, chunk, &record->loaded, &record->loaded_count);
    if (!strcmp(chunk->tag, "STRM"))
        return read_stream(r, chunk);
    if (!strcmp(chunk->tag, "EVNT"))
        return read_events(r, chunk);
    if (!strcmp(chunk->tag, "TIME") && r->version >= 2)
        return read_time(r, chunk);
    if (!strcmp(chunk->tag, "BUFF"))
        return read_buffer(r, chunk);
    if (!strcmp(chunk->tag, "DATA"))
        return read_data(r, chunk);
    if (!strcmp(chunk->tag, "FSUM"))
        return read_sums(r, chunk);
    return bad(r, "it has a chunk of an unknown kind");
}

static enum status check_end(struct reader *r, const struct chunk *chunk) {
    const struct record *record = r->record;
    if (chunk->size != 8 || get_le(chunk->raw, 8) != r->digest)
        return bad(r, "its digest is wrong");
    if (r->at != r->end)
        return bad(r, "bytes follow its end");
    if (!record->head || !record->trace || !record->results)
        return bad(r, "a chunk is missing");
    for (size_t i = 0; i < record->buffer_count; i++)
        if (record->buffers[i].bytes && record->buffers[i].stored != record->buffers[i].span_bytes)
            return bad(r, "a buffer's data is incomplete");
    return STATUS_OK;
}

enum status record_parse(const uint8_t *bytes, size_t size, struct record *record,
                         struct strbuf *error) {
    *record = (struct record){0};
    struct reader r = {bytes + 16, bytes + size, record, error, 0, 0, 0};
    if (size < 16 || memcmp(bytes, "SILTWIN\x1a", 8)) {
        strbuf_puts(error, "not a record of siltwin");
        return STATUS_SYNTAX;
    }
    r.version = (uint32_t)get_le(bytes + 8, 4);
    if (r.version < 1 || r.version > RECORD_VERSION || get_le(bytes + 12, 4)) {
        strbuf_printf(error, "a record of version %u, this siltwin reads 1 to %d", r.version,
                      RECORD_VERSION);
        return STATUS_SYNTAX;
    }
    for (;;) {
        struct chunk chunk;
        enum status status = next_chunk(&r, &chunk);
        if (status != STATUS_OK)
            return status;
        const bool last = !strcmp(chunk.tag, "END ");
        status = last ? check_end(&r, &chunk) : read_chunk(&r, &chunk);
        free(chunk.owned);
        if (status != STATUS_OK || last) {
            record->digest = r.digest;
            return status;
        }
    }
}

enum status record_load(const char *path, struct record *record, struct strbuf *error) {
    uint8_t *bytes;
    size_t size;
    *record = (struct record){0};
    enum status status = file_read(path, &bytes, &size, error);
    if (status != STATUS_OK)
        return status;
    struct strbuf why = {0};
    status = record_parse(bytes, size, record, &why);
    free(bytes);
    if (status != STATUS_OK)
        strbuf_printf(error, "'%s': %s", path, strbuf_text(&why));
    strbuf_free(&why);
    return status;
}

static void free_files(struct record_file *files, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(files[i].bytes);
    free(files);
}

void record_free(struct record *record) {
    json_decref(record->head);
    json_decref(record->trace);
    json_decref(record->results);
    free_files(record->files, record->file_count);
    free_files(record->loaded, record->loaded_count);
    for (size_t i = 0; i < record->buffer_count; i++) {
        json_decref(record->buffers[i].json);
        free(record->buffers[i].bytes);
        free(record->buffers[i].sums);
    }
    free(record->buffers);
    for (size_t i = 0; i < record->stream_count; i++) {
        json_decref(record->streams[i].json);
        free(record->streams[i].bytes);
        free(record->streams[i].time);
    }
    free(record->streams);
    arena_free(&record->arena);
    *record = (struct record){0};
}
