/* Fuzz target: bytes as a record. A record's hashes stop nearly every change at once, so an input
 * that does not begin as a record is read as a list of chunks, and a record with right hashes is
 * made of it:
 *
 *   chunk   tag number 1 byte | zstd frame? 1 byte | raw bytes u16 | stored bytes u16 | stored
 * bytes
 */
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "fuzz_replay.h"
#include "hash.h"
#include "perfetto.h"
#include "record_buffer.h"
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char tags[][5] = {"HEAD", "TRCE", "FILE", "PTXL", "RSLT", "BUFF", "DATA",
                               "END ", "????", "STRM", "EVNT", "TIME", "FSUM"};
enum { TAG_COUNT = sizeof tags / sizeof tags[0], SPAN_LIMIT = 1 << 20 };

static void put_le(uint8_t *out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static void put_chunk(struct strbuf *out, const char *tag, uint64_t number, uint32_t flags,
                      uint64_t raw_bytes, const uint8_t *stored, size_t stored_bytes) {
    uint8_t head[40];
    memcpy(head, tag, 4);
    put_le(head + 4, flags, 4);
    put_le(head + 8, raw_bytes, 8);
    put_le(head + 16, stored_bytes, 8);
    put_le(head + 24, number, 8);
    put_le(head + 32, hash_bytes(hash_bytes(0, head, 32), stored, stored_bytes), 8);
    strbuf_append(out, (const char *)head, sizeof head);
    strbuf_append(out, (const char *)stored, stored_bytes);
}

static void make_record(const uint8_t *data, size_t size, struct strbuf *out) {
    static const uint8_t start[16] = {'S', 'I', 'L', 'T', 'W', 'I', 'N', 0x1a, RECORD_VERSION};
    uint64_t number = 0, digest = 0;
    uint8_t end[8];
    strbuf_append(out, (const char *)start, sizeof start);
    while (size >= 6) {
        const char *tag = tags[data[0] % TAG_COUNT];
        const uint32_t flags = data[1] & 1;
        const uint64_t raw_bytes = data[2] | (uint64_t)data[3] << 8;
        size_t stored_bytes = data[4] | (size_t)data[5] << 8;
        data += 6;
        size -= 6;
        if (stored_bytes > size)
            stored_bytes = size;
        put_chunk(out, tag, number++, flags, flags ? raw_bytes : stored_bytes, data, stored_bytes);
        if (!flags && strcmp(tag, "HEAD") && strcmp(tag, "END "))
            digest = hash_bytes(hash_bytes(digest, tag, 4), data, stored_bytes);
        data += stored_bytes;
        size -= stored_bytes;
    }
    put_le(end, digest, 8);
    put_chunk(out, "END ", number, 0, 8, end, 8);
}

static void read_events(const struct record_stream *stored) {
    struct stream stream;
    struct strbuf text = {0};
    const char *why = NULL;
    const bool ok = stream_read(stored->json, stored->bytes, stored->size, &stream, &why);
    for (size_t i = 0; ok && i < stream.event_count; i++)
        stream_event_text(&stream, &stream.events[i], (uint32_t)i, &text);
    if (!ok && !why)
        abort(); /* a refusal says why */
    strbuf_free(&text);
    stream_free(&stream);
}

/* The record's streams with each other, where they are of one launch. */
static void compare_events(const struct record *record) {
    struct diff d = {.a = record,
                     .b = record,
                     .a_name = "a",
                     .b_name = "b",
                     .quiet = true,
                     .json = true,
                     .findings = json_array()};
    diff_streams(&d);
    diff_free(&d);
    json_decref(d.findings);
}

static void draw_events(const struct record *record) {
    struct strbuf text = {0}, error = {0};
    if (!perfetto_write(record, &text, &error) && !error.length)
        abort(); /* a refusal says why */
    strbuf_free(&text);
    strbuf_free(&error);
}

static void read_record(const uint8_t *bytes, size_t size) {
    struct record record;
    struct strbuf error = {0};
    if (record_parse(bytes, size, &record, &error) == STATUS_OK) {
        for (size_t i = 0; i < record.buffer_count; i++)
            if (record.buffers[i].span_bytes <= SPAN_LIMIT)
                free(record_buffer_span(&record.buffers[i], &error));
        for (size_t i = 0; i < record.stream_count; i++)
            read_events(&record.streams[i]);
        compare_events(&record);
        draw_events(&record);
    } else if (!error.length) {
        abort(); /* a refusal says why */
    }
    record_free(&record);
    strbuf_free(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 8 && !memcmp(data, "SILTWIN\x1a", 8)) {
        read_record(data, size);
        return 0;
    }
    struct strbuf made = {0};
    make_record(data, size, &made);
    uint8_t *exact = malloc(made.length);
    if (exact) {
        memcpy(exact, made.text, made.length);
        read_record(exact, made.length);
    }
    free(exact);
    strbuf_free(&made);
    return 0;
}

#ifndef SILTWIN_LIBFUZZER
int main(int argc, char **argv) {
    return fuzz_replay(argc, argv, LLVMFuzzerTestOneInput);
}
#endif
