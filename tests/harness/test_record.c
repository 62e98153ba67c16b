/* Records: what is written is read back, the digest leaves the head out, and every damage (each
 * byte changed, each length cut) is an error. */
#include "record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_set.h"
#include "record_buffer.h"

static char path[64];

static void make_path(void) {
    snprintf(path, sizeof path, "/tmp/siltwin-test-%d.rec", getpid());
}
static void remove_path(void) {
    remove(path);
}

static json_t *buffer_json(const char *name, const char *state, uint64_t size) {
    return json_pack("{s:s, s:s, s:[I], s:[i], s:I, s:s, s:s}", "name", name, "type", "u8", "dims",
                     (json_int_t)size, "strides", 1, "span_bytes", (json_int_t)size, "state", state,
                     "initial_hash", "0x0000000000000000");
}

static uint64_t write_record(const char *date, const uint8_t *data, size_t size) {
    struct strbuf error = {0};
    struct record_writer *w = record_begin(path, 1, &error);
    uint64_t digest;
    cr_assert(w, "%s", strbuf_text(&error));
    record_put_json(w, "HEAD", json_pack("{s:s}", "date", date));
    record_put_json(w, "TRCE", json_pack("{s:s}", "main", "a.trace"));
    record_put_file(w, "FILE", "a.trace", "siltwin 1\n", 10);
    record_put_file(w, "FILE", "empty", "", 0);
    record_put_file(w, "PTXL", "m", ".version 8.7", 12);
    record_put_json(w, "RSLT", json_pack("{s:[]}", "launches"));
    record_put_json(w, "BUFF", buffer_json("C", "changed", size));
    record_put_bytes(w, "DATA", data, size);
    json_t *made = buffer_json("A", "initial", 16);
    json_object_set_new(made, "generator",
                        json_pack("{s:s, s:i, s:i, s:s}", "kind", "ints", "low", 1, "high", 9,
                                  "seed", "0x0000000000000005"));
    record_put_json(w, "BUFF", made);
    record_put_json(w, "BUFF", buffer_json("L", "lost", 3));
    cr_assert_eq(record_end(w, &digest, &error), STATUS_OK, "%s", strbuf_text(&error));
    return digest;
}

TestSuite(record, .init = make_path, .fini = remove_path);

Test(record, round_trip) {
    uint8_t data[100];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    const uint64_t digest = write_record("today", data, sizeof data);
    struct record record;
    struct strbuf error = {0};
    cr_assert_eq(record_load(path, &record, &error), STATUS_OK, "%s", strbuf_text(&error));
    cr_assert_eq(record.digest, digest);
    cr_assert_eq(record.file_count, 2);
    cr_assert_str_eq(record.files[0].name, "a.trace");
    cr_assert_str_eq((const char *)record.files[0].bytes, "siltwin 1\n");
    cr_assert_eq(record.files[1].size, 0);
    cr_assert_eq(record.loaded_count, 1);
    cr_assert_eq(record.buffer_count, 3);
    uint8_t *span = record_buffer_span(&record.buffers[0], &error);
    cr_assert(span);
    cr_assert_arr_eq(span, data, sizeof data);
    free(span);
    span = record_buffer_span(&record.buffers[1], &error);
    cr_assert(span, "%s", strbuf_text(&error));
    for (int i = 0; i < 16; i++)
        cr_assert(span[i] >= 1 && span[i] <= 9);
    free(span);
    cr_assert_not(record_buffer_span(&record.buffers[2], &error));
    cr_assert(strstr(strbuf_text(&error), "no contents of L (lost)"));
    record_free(&record);
}

Test(record, digest_leaves_the_head_out) {
    const uint8_t data[4] = {1, 2, 3, 4}, other[4] = {1, 2, 3, 5};
    const uint64_t one = write_record("today", data, 4), two = write_record("tomorrow", data, 4);
    cr_assert_eq(one, two);
    cr_assert_neq(one, write_record("today", other, 4));
}

/* More than one piece. */
Test(record, large_buffer) {
    const size_t size = RECORD_PIECE_BYTES + 1000;
    uint8_t *data = malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i >> 8);
    write_record("today", data, size);
    struct record record;
    struct strbuf error = {0};
    cr_assert_eq(record_load(path, &record, &error), STATUS_OK, "%s", strbuf_text(&error));
    cr_assert(!memcmp(record.buffers[0].bytes, data, size));
    record_free(&record);
    free(data);
}

static enum status parse(const uint8_t *bytes, size_t size) {
    struct record record;
    struct strbuf error = {0};
    const enum status status = record_parse(bytes, size, &record, &error);
    cr_assert((status == STATUS_OK) == (error.length == 0));
    record_free(&record);
    strbuf_free(&error);
    return status;
}

Test(record, every_damage_is_an_error) {
    uint8_t data[300], *bytes;
    size_t size;
    struct strbuf error = {0};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i * 31); /* hardly compressible: stored as it is */
    write_record("today", data, sizeof data);
    cr_assert_eq(file_read(path, &bytes, &size, &error), STATUS_OK);
    cr_assert_eq(parse(bytes, size), STATUS_OK);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            cr_assert_neq(parse(bytes, size), STATUS_OK, "byte %zu bit %d", at, bit);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    for (size_t length = 0; length < size; length++) {
        uint8_t *cut = malloc(length ? length : 1);
        memcpy(cut, bytes, length);
        cr_assert_neq(parse(cut, length), STATUS_OK, "%zu bytes", length);
        free(cut);
    }
    uint8_t *longer = malloc(size + 1);
    memcpy(longer, bytes, size);
    longer[size] = 0;
    cr_assert_neq(parse(longer, size + 1), STATUS_OK);
    free(longer);
    free(bytes);
}

Test(record, foreign_files) {
    static const char text[] = "this is some other file, long enough to hold a header and more";
    cr_assert_neq(parse((const uint8_t *)text, sizeof text), STATUS_OK);
    cr_assert_neq(parse((const uint8_t *)"", 0), STATUS_OK);
    struct record record;
    struct strbuf error = {0};
    cr_assert_neq(record_load("/nonexistent/x.rec", &record, &error), STATUS_OK);
    cr_assert(strstr(strbuf_text(&error), "cannot open '/nonexistent/x.rec'"));
    cr_assert_neq(record_load("/tmp", &record, &error), STATUS_OK);
}
