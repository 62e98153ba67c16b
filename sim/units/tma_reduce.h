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

/* Whether its arithmetic is known: not for the add of the tf32 and ftz types, of which there is no
 * result to go by. */
bool tma_reduce_is_known(enum tma_reduce_op op, enum tmap_type type);

/* dst[i] = dst[i] op src[i] over `size_bytes` of whole little-endian elements, any alignment. The
 * pair is known. Source: oracle tma/hw-H200-store, 460 reductions: integers wrap, floats round to
 * nearest even, whole elements.
 * TMAP_FLOAT32 add flushes subnormal operands and results, FLOAT16 and BFLOAT16 keep them (PTX
 * manual, cp.reduce.async.bulk: .add.f32, .add.noftz); no silicon row has one. NaN is handled as by
 * the scalar instructions, which for min and max of the half types is what an H200 does
 * (traces/silicon/observations.md 8). */
void tma_reduce(enum tma_reduce_op op, enum tmap_type type, uint8_t *dst, const uint8_t *src,
                size_t size_bytes);

#endif
