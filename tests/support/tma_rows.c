/* See tma_rows.h; the columns are described in tests/oracle/tma/README.md. */
#include "tma_rows.h"

#include <stdio.h>

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
