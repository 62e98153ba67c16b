#ifndef SILTWIN_TMA_REDUCE_H
#define SILTWIN_TMA_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmap.h"

/* Operations of cp.reduce.async.bulk and cp.reduce.async.bulk.tensor. */
enum tma_reduce_op {
    TMA_REDUCE_ADD,
    TMA_REDUCE_MIN,
    TMA_REDUCE_MAX,
    TMA_REDUCE_INC,
    TMA_REDUCE_DEC,
    TMA_REDUCE_AND,
    TMA_REDUCE_OR,
    TMA_REDUCE_XOR,
};

/* Whether an H200 runs this pair in a tensor reduction (observation 56); every other ends with
 * 715. */
bool tma_reduce_runs(enum tma_reduce_op op, enum tmap_type type);

/* dst[i] = dst[i] op src[i] over `size_bytes` of whole little-endian elements, any alignment. The
 * pair is one that runs. Source: oracle tma/hw-H200-store and the families tma_store and bulk of
 * traces/silicon/observations.md: integers wrap, floats round to nearest even.
 * Adds of FLOAT32 and TFLOAT32 are the same: whole f32 words, subnormals kept, nothing rounded to
 * tf32; FLOAT32_FTZ and TFLOAT32_FTZ flush operands and results; FLOAT16 and BFLOAT16 keep
 * subnormals. NaN: min and max of the half types keep the number, f64 keeps a NaN as it is, of two
 * that of `src`; else as the scalar instructions. */
void tma_reduce(enum tma_reduce_op op, enum tmap_type type, uint8_t *dst, const uint8_t *src,
                size_t size_bytes);

#endif
