/* See tma_rows.h; the columns are described in tests/oracle/tma/README.md. */
#include "tma_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static size_t numbered(struct csv *csv, const char *stem, size_t i) {
    char name[16];
    snprintf(name, sizeof name, "%s%zu", stem, i);
    return csv_column(csv, name);
}

void tma_columns_find(struct csv *csv, enum tma_table table, struct tma_columns *columns) {
    *columns = (struct tma_columns){
        .dtype = csv_column(csv, "dtype"),
        .rank = csv_column(csv, "rank"),
        .swizzle = csv_column(csv, "swizzle"),
        .base_offset = csv_column(csv, "base_offset"),
        .interleave = table == TMA_TABLE_STORE ? SIZE_MAX : csv_column(csv, "interleave"),
        .oob_fill = table == TMA_TABLE_STORE ? SIZE_MAX : csv_column(csv, "oob_fill"),
    };
    for (size_t i = 0; i < TMAP_RANK_MAX; i++) {
        columns->dim[i] = numbered(csv, "dim", i);
        columns->box[i] = numbered(csv, "box", i);
        columns->estride[i] = numbered(csv, "estride", i);
        columns->stride[i] = i == 0 ? SIZE_MAX : numbered(csv, "stride", i);
        columns->coord[i] = table == TMA_TABLE_ENCODE ? SIZE_MAX : numbered(csv, "coord", i);
    }
}

struct tmap tma_row_map(const struct csv *csv, const struct tma_columns *columns,
                        uint64_t buffer_address) {
    struct tmap map = {
        .global_address = buffer_address + (uint64_t)csv_int(csv, columns->base_offset),
        .type = (uint32_t)csv_int(csv, columns->dtype),
        .rank = (uint32_t)csv_int(csv, columns->rank),
        .swizzle = (uint32_t)csv_int(csv, columns->swizzle),
    };
    if (columns->interleave != SIZE_MAX) {
        map.interleave = (uint32_t)csv_int(csv, columns->interleave);
        map.fill = (uint32_t)csv_int(csv, columns->oob_fill);
    }
    for (size_t i = 0; i < TMAP_RANK_MAX; i++) {
        map.dim_elems[i] = (uint64_t)csv_int(csv, columns->dim[i]);
        map.box_elems[i] = (uint32_t)csv_int(csv, columns->box[i]);
        map.element_stride[i] = (uint32_t)csv_int(csv, columns->estride[i]);
        if (i > 0)
            map.stride_bytes[i] = (uint64_t)csv_int(csv, columns->stride[i]);
    }
    return map;
}

void tma_row_coords(const struct csv *csv, const struct tma_columns *columns,
                    int32_t coords[TMAP_RANK_MAX]) {
    for (size_t i = 0; i < TMAP_RANK_MAX; i++)
        coords[i] = (int32_t)csv_int(csv, columns->coord[i]);
}

uint8_t *tma_load_buffer(void) {
    uint8_t *buffer = malloc(TMA_LOAD_BUFFER_BYTES);
    cr_assert_not_null(buffer);
    for (uint32_t i = 0; i < TMA_LOAD_BUFFER_BYTES / 4; i++) {
        uint32_t word = i * 0x9E3779B1u;
        memcpy(buffer + 4 * (size_t)i, &word, 4);
    }
    return buffer;
}

static unsigned hex_byte(const char *text) {
    char digits[3] = {text[0], text[1], '\0'};
    return (unsigned)strtoul(digits, NULL, 16);
}

size_t tma_compare_dump(const uint8_t *shared, uint32_t first, const char *hex, size_t *missing) {
    size_t different = 0, length = strlen(hex) / 2;
    *missing = 0;
    for (uint32_t i = first; i < TMA_LOAD_WINDOW_END; i++) {
        unsigned want = i - first < length ? hex_byte(hex + 2 * (size_t)(i - first)) : 0xee;
        different += shared[i] != want;
        *missing += shared[i] != want && want == 0xee;
    }
    return different;
}

static uint32_t tame(uint32_t x, uint32_t type, uint32_t word_index) {
    switch (type) {
    case TMAP_FLOAT32:
    case TMAP_FLOAT32_FTZ:
    case TMAP_TFLOAT32:
    case TMAP_TFLOAT32_FTZ: return (x & 0x807fffff) | (120 + (x >> 24) % 16) << 23;
    case TMAP_BFLOAT16: return (x & 0x807f807f) | 0x3f803f80;
    case TMAP_FLOAT16: return (x & 0x83ff83ff) | 0x3c003c00;
    case TMAP_FLOAT64: return word_index % 2 == 1 ? (x & 0x800fffff) | 0x3ff00000 : x;
    default: return x;
    }
}

void tma_store_contents(uint32_t row_case, uint32_t type, uint8_t shared[TMA_STORE_SHARED_BYTES],
                        uint8_t global[TMA_STORE_BYTES]) {
    uint32_t x = row_case * 2654435761u + 12345, shared_words = TMA_STORE_SHARED_BYTES / 4;
    for (uint32_t i = 0; i < shared_words + TMA_STORE_BYTES / 4; i++) {
        x = x * 1664525 + 1013904223;
        uint32_t index = i < shared_words ? i : i - shared_words;
        uint32_t word = tame(x, type, index);
        memcpy((i < shared_words ? shared : global) + 4 * (size_t)index, &word, 4);
    }
}

void tma_apply_runs(const char *runs, uint8_t global[TMA_STORE_BYTES]) {
    while (*runs != '\0') {
        char *end;
        size_t offset = strtoul(runs, &end, 16);
        cr_assert_eq(*end, ':');
        for (runs = end + 1; *runs != '\0' && *runs != ' '; runs += 2) {
            cr_assert(offset < TMA_STORE_BYTES);
            global[offset++] = (uint8_t)hex_byte(runs);
        }
        runs += strspn(runs, " ");
    }
}

bool tma_row_reduces(const char *op_text, enum tma_reduce_op *op) {
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    *op = TMA_REDUCE_ADD;
    if (strcmp(op_text, "store") == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], op_text) == 0) {
            *op = (enum tma_reduce_op)i;
            return true;
        }
    }
    cr_assert_fail("no reduction %s", op_text);
    return false;
}
