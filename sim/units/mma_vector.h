#ifndef SILTWIN_MMA_VECTOR_H
#define SILTWIN_MMA_VECTOR_H

#include "mma_planes.h"

/* How the vector engines walk a tile: blocks of 64 columns, groups of up to four rows. The walk,
 * the rows that need a copy and the lanes of the scalar rule are mma_vector.c; the arithmetic is
 * the engine's. */

enum { MMA_GROUP = 4 };

/* A group in a block. c and d are rows of 64 words, f32 whatever the accumulator's type. */
struct mma_work {
    const struct mma_tile *tile;
    const struct mma_block *info;
    const double *b_values;
    const int8_t *b_exponents, *b_depths;
    uint32_t k_count;
    uint32_t row, rows;       /* of the group; row counts from the tile's row_begin */
    uint32_t column, columns; /* of the block; columns is how many exist */
    int fraction_bits;
    uint32_t keep; /* bits of an f32 result that the result type has */
    bool sticky;   /* an f32 result is on its way to f16: the last bit marks what the cut lost */
    const double *a_values; /* planes of A from the group's first row */
    const uint32_t *a_exponents;
    const struct mma_depth *a_depths;
    const struct mma_row *a_info;
    const uint32_t *c[MMA_GROUP];
    uint32_t *d[MMA_GROUP];
};

/* What the pass over exponents finds. */
struct mma_lanes {
    _Alignas(64) int8_t top[MMA_GROUP][MMA_BLOCK];   /* relative E */
    _Alignas(64) int8_t limit[MMA_GROUP][MMA_BLOCK]; /* max(F - E, -1) */
    uint64_t outside[MMA_GROUP]; /* lanes whose E is outside the row's mma_vector_range */
    bool counting;               /* some negative product may be no multiple of its unit */
};

struct mma_vector {
    void (*examine)(const struct mma_work *work, struct mma_lanes *lanes);
    void (*sums)(const struct mma_work *work, const struct mma_lanes *lanes);
    /* MMA_BLOCK words: f16 to f32, and f32 with its sticky bit to f16 (nearest even, zero is +0).
     */
    void (*widen)(const uint32_t *half, uint32_t *single);
    void (*narrow)(const uint32_t *single, uint32_t *half);
};

void mma_vector_tile(const struct mma_tile *tile, const struct mma_vector *vector);

#if defined(__x86_64__)
/* What the functions of an engine are compiled for, whatever the rest of the program is. */
#define MMA_AVX512        __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,f16c")))
#define MMA_AVX512_INLINE MMA_AVX512 __attribute__((always_inline)) static inline
#define MMA_AVX2          __attribute__((target("avx2,fma,f16c")))
#define MMA_AVX2_INLINE   MMA_AVX2 __attribute__((always_inline)) static inline

void mma_avx512_prepare(struct mma_operand *operand);
void mma_avx2_prepare(struct mma_operand *operand);
#endif

#endif
