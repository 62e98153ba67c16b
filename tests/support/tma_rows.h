#ifndef SILTWIN_TMA_ROWS_H
#define SILTWIN_TMA_ROWS_H

#include "support.h"
#include "tmap.h"

/* Columns of the oracle/tma tables that describe a tensor map. */
struct tma_columns {
    size_t dtype, rank, swizzle, base_offset;
    size_t interleave, oob_fill; /* SIZE_MAX in tables without them: none and zero */
    size_t dim[TMAP_RANK_MAX], stride[TMAP_RANK_MAX], box[TMAP_RANK_MAX], estride[TMAP_RANK_MAX];
    size_t coord[TMAP_RANK_MAX]; /* SIZE_MAX in the table without them */
};

enum tma_table { TMA_TABLE_ENCODE, TMA_TABLE_LOAD, TMA_TABLE_STORE };

void tma_columns_find(struct csv *csv, enum tma_table table, struct tma_columns *columns);

/* The map of the current row, its tensor at `buffer_address` + base_offset. */
struct tmap tma_row_map(const struct csv *csv, const struct tma_columns *columns,
                        uint64_t buffer_address);
void tma_row_coords(const struct csv *csv, const struct tma_columns *columns,
                    int32_t coords[TMAP_RANK_MAX]);

#endif
