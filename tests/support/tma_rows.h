#ifndef SILTWIN_TMA_ROWS_H
#define SILTWIN_TMA_ROWS_H

#include "support.h"
#include "tma.h"

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

/* Loads: the 16 MiB of global memory, which the caller frees; where the tile is in shared memory
 * and how far the dump can reach. */
enum {
    TMA_LOAD_BUFFER_BYTES = 16 << 20,
    TMA_LOAD_TILE = 0x800,
    TMA_LOAD_WINDOW_END = TMA_LOAD_TILE + 12288,
};
uint8_t *tma_load_buffer(void);
/* How many bytes of shared memory from `first` to the end of the window are not those of the dump
 * `hex` (EE behind its end); `shared` is shared address 0. *missing: how many of them silicon left
 * as they were. */
size_t tma_compare_dump(const uint8_t *shared, uint32_t first, const char *hex, size_t *missing);

/* Stores and reductions. */
enum {
    TMA_STORE_SHARED_FIRST = 0x400,
    TMA_STORE_SHARED_BYTES = 4 * 3072,
    TMA_STORE_BYTES = 4 * 16384
};
/* Contents of shared memory from TMA_STORE_SHARED_FIRST and of global memory before row `row_case`
 * of that element type. */
void tma_store_contents(uint32_t row_case, uint32_t type, uint8_t shared[TMA_STORE_SHARED_BYTES],
                        uint8_t global[TMA_STORE_BYTES]);
/* Applies the runs "offset:bytes offset:bytes ..." (hex) of column `changed`. */
void tma_apply_runs(const char *runs, uint8_t global[TMA_STORE_BYTES]);
/* Whether the row is a reduction (else a store), and which. */
bool tma_row_reduces(const char *op_text, enum tma_reduce_op *op);

#endif
