#ifndef SILTWIN_TMA_H
#define SILTWIN_TMA_H

#include <stdbool.h>
#include <stdint.h>

#include "tma_reduce.h"
#include "tmap.h"

enum tma_kind { TMA_LOAD, TMA_STORE, TMA_REDUCE, TMA_PREFETCH };

/* One cp{.reduce}.async.bulk{.prefetch}.tensor in tile or im2col mode. */
struct tma_request {
    enum tma_kind kind;
    enum tmap_mode mode;          /* of the instruction; .im2col and .im2col_no_offs: TMAP_IM2COL */
    enum tma_reduce_op reduce_op; /* TMA_REDUCE */
    uint32_t rank;                /* dimensions that the instruction names */
    int32_t coords[TMAP_RANK_MAX];
    uint16_t offsets[TMAP_SPATIAL_MAX]; /* im2col loads and prefetches: W, H, D */
    uint32_t shared_address;            /* destination of a load, source of a store or reduction */
};

enum tma_outcome {
    TMA_OK,
    TMA_FAULT_SHARED_ALIGNMENT,    /* shared address not 128-aligned: 716, observation 7 */
    TMA_FAULT_INNER_COORDINATE,    /* start not on 16 bytes: 715, observation 6 */
    TMA_FAULT_NEGATIVE_COORDINATE, /* store or reduction: 715, observation 54 */
    TMA_FAULT_RANK,                /* the instruction's is not the map's: 715 */
    TMA_FAULT_MODE,                /* tile with an im2col map, im2col with a tiled one: 715 */
    TMA_FAULT_OUTSIDE,             /* im2col start outside the bounding box: 715 */
    TMA_FAULT_IM2COL_STORE,        /* box of the map reaches out of the tensor: 715 */
    TMA_FAULT_REDUCE_TYPE,         /* operation and element type do not go: 715, observation 56 */
    /* What no source settles: refused by name. */
    TMA_UNKNOWN_FLIP_8B,
    TMA_UNKNOWN_PACKED_STORE,
    TMA_OUTCOMES,
};

/* One sentence for a message, without a final full stop. */
const char *tma_outcome_text(enum tma_outcome outcome);

static inline bool tma_is_fault(enum tma_outcome outcome) {
    return outcome != TMA_OK && outcome < TMA_UNKNOWN_FLIP_8B;
}

/* A copy under way. Set up by tma_begin; callers read what is above `count`. */
struct tma_walk {
    struct tmap map;
    struct tma_request request;
    uint32_t row_count;
    uint32_t row_bytes;            /* of one box row in global memory */
    uint32_t box_bytes;            /* all rows: what the mbarrier counts, also out of bounds */
    uint32_t pitch_bytes;          /* from one box row to the next in shared memory */
    uint32_t first;                /* dimension along which rows follow each other */
    uint32_t count[TMAP_RANK_MAX]; /* tiled: positions along each dimension, from `first` on */
    uint32_t index[TMAP_RANK_MAX];
    int64_t pixel[TMAP_RANK_MAX]; /* im2col: where the next row's pixel is, without offsets */
    uint32_t row;
    uint32_t chunk_payload_bytes; /* of 16 bytes in shared memory: 16, or 8 and 12 (padded types) */
};

/* One box row. Its bytes [valid_offset, valid_offset + valid_bytes) are at `global_address` on in
 * global memory; the rest is out of bounds: filled by a load, left alone by a store. */
struct tma_step {
    uint64_t global_address;
    uint32_t valid_offset;
    uint32_t valid_bytes;
    uint32_t shared_address; /* of the row's first byte, before the swizzle */
    uint32_t shared_first;   /* first shared byte that the row touches */
    uint32_t shared_end;     /* behind the last */
};

/* Checks a request against a map that passes tmap_check and starts the walk. PTX manual,
 * "Tensors" and cp.async.bulk.tensor; oracle tma/hw-H200-load and -store. */
enum tma_outcome tma_begin(struct tma_walk *walk, const struct tmap *map,
                           const struct tma_request *request);
/* The next row; false at the end. */
bool tma_next(struct tma_walk *walk, struct tma_step *step);

/* Moves the bytes of one step. `shared` is the host byte of shared address 0, `global` that of
 * step->global_address (not looked at when valid_bytes is 0). The caller has checked that
 * [shared_first, shared_end) and valid_bytes of global memory exist. */
void tma_step_load(const struct tma_walk *walk, const struct tma_step *step, uint8_t *shared,
                   const uint8_t *global);
void tma_step_store(const struct tma_walk *walk, const struct tma_step *step, const uint8_t *shared,
                    uint8_t *global);
void tma_step_reduce(const struct tma_walk *walk, const struct tma_step *step,
                     const uint8_t *shared, uint8_t *global);

#endif
