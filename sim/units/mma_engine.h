#ifndef SILTWIN_MMA_ENGINE_H
#define SILTWIN_MMA_ENGINE_H

#include "mma_tile.h"
#include "small_float.h"

/* Between mma_tile.c and the engines; callers of the unit do not include this. */

struct mma_engine {
    const char *name;
    bool (*usable)(void);
    /* Fills the engine's planes; `words` is filled already. Not called for integers. */
    void (*prepare)(struct mma_operand *operand);
    /* Computes a tile whose arithmetic is one fused step without scaling (mma_tile_is_plain). */
    void (*tile)(const struct mma_tile *tile);
};

extern const struct mma_engine mma_engine_plain;
#if defined(__x86_64__)
extern const struct mma_engine mma_engine_avx2;
extern const struct mma_engine mma_engine_avx512;
#endif

/* Format of each floating-point type. */
extern const enum small_float mma_format_of[MMA_TYPE_COUNT];

/* sum * 2^unit_exponent rounded once to a floating-point result; |sum| < 2^62. */
uint32_t mma_round(enum mma_result result, int64_t sum, int unit_exponent);

/* Element word of a prepared operand. */
uint32_t mma_operand_word(const struct mma_operand *operand, uint32_t row, uint32_t k);

/* Element (row, column) of a tile by the scalar rule; row counts from row_begin. `c` is its
 * accumulator word. */
uint32_t mma_tile_element(const struct mma_tile *tile, uint32_t row, uint32_t column, uint32_t c);

#endif
