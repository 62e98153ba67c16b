/* Element arithmetic of bulk reductions; see tma_reduce.h. */
#include "tma_reduce.h"

#include <string.h>

#include "num_f32.h"
#include "num_f64.h"
#include "num_ftz.h"
#include "num_half.h"
#include "num_minmax.h"

#define BIT(x) (1u << (x))

/* H200 observation 56. */
bool tma_reduce_runs(enum tma_reduce_op op, enum tmap_type type) {
    const unsigned add = BIT(TMAP_UINT32) | BIT(TMAP_INT32) | BIT(TMAP_UINT64) | BIT(TMAP_FLOAT16) |
                         BIT(TMAP_FLOAT32) | BIT(TMAP_FLOAT64) | BIT(TMAP_BFLOAT16) |
                         BIT(TMAP_FLOAT32_FTZ) | BIT(TMAP_TFLOAT32) | BIT(TMAP_TFLOAT32_FTZ);
    const unsigned min_max = BIT(TMAP_UINT32) | BIT(TMAP_INT32) | BIT(TMAP_UINT64) |
                             BIT(TMAP_INT64) | BIT(TMAP_FLOAT16) | BIT(TMAP_BFLOAT16);
    const unsigned logic = BIT(TMAP_UINT32) | BIT(TMAP_INT32) | BIT(TMAP_UINT64);
    switch (op) {
    case TMA_REDUCE_ADD: return (add & BIT(type)) != 0;
    case TMA_REDUCE_MIN:
    case TMA_REDUCE_MAX: return (min_max & BIT(type)) != 0;
    case TMA_REDUCE_INC:
    case TMA_REDUCE_DEC: return type == TMAP_UINT32;
    case TMA_REDUCE_AND:
    case TMA_REDUCE_OR:
    case TMA_REDUCE_XOR: return (logic & BIT(type)) != 0;
    }
    return false;
}

static uint16_t reduce_16(enum tma_reduce_op op, enum tmap_type type, uint16_t old,
                          uint16_t source) {
    struct num_minmax how = {.max = op == TMA_REDUCE_MAX};
    if (type == TMAP_BFLOAT16)
        return op == TMA_REDUCE_ADD ? num_bf16_add(old, source) : num_bf16_minmax(old, source, how);
    return op == TMA_REDUCE_ADD ? num_f16_add(old, source) : num_f16_minmax(old, source, how);
}

/* Integers of 32 and 64 bits, sign-extended to 64 where the type is signed: wrap-around and order
 * come out right, the caller cuts the result. */
static uint64_t reduce_integer(enum tma_reduce_op op, bool is_signed, uint64_t old,
                               uint64_t source) {
    bool less = is_signed ? (int64_t)source < (int64_t)old : source < old;
    switch (op) {
    case TMA_REDUCE_ADD: return old + source;
    case TMA_REDUCE_MIN: return less ? source : old;
    case TMA_REDUCE_MAX: return less ? old : source;
    case TMA_REDUCE_INC: return old >= source ? 0 : old + 1;
    case TMA_REDUCE_DEC: return old == 0 || old > source ? source : old - 1;
    case TMA_REDUCE_AND: return old & source;
    case TMA_REDUCE_OR: return old | source;
    case TMA_REDUCE_XOR: return old ^ source;
    }
    return old;
}

static uint32_t reduce_32(enum tma_reduce_op op, enum tmap_type type, uint32_t old,
                          uint32_t source) {
    if (type == TMAP_FLOAT32 || type == TMAP_TFLOAT32)
        return num_f32_add(old, source, NUM_RN);
    if (type == TMAP_FLOAT32_FTZ || type == TMAP_TFLOAT32_FTZ)
        return num_f32_add_ftz(old, source, NUM_RN);
    if (type == TMAP_INT32)
        return (uint32_t)reduce_integer(op, true, (uint64_t)(int32_t)old,
                                        (uint64_t)(int32_t)source);
    return (uint32_t)reduce_integer(op, false, old, source);
}

static uint64_t reduce_64(enum tma_reduce_op op, enum tmap_type type, uint64_t old,
                          uint64_t source) {
    if (type != TMAP_FLOAT64)
        return reduce_integer(op, type == TMAP_INT64, old, source);
    /* A NaN stays as it is, a signalling one too. Of two that of the source. */
    if (num_f64_is_nan(source))
        return source;
    return num_f64_is_nan(old) ? old : num_f64_add(old, source, NUM_RN);
}

void tma_reduce(enum tma_reduce_op op, enum tmap_type type, uint8_t *dst, const uint8_t *src,
                size_t size_bytes) {
    size_t element_bytes = tmap_element_bits(type) / 8;
    for (size_t i = 0; i < size_bytes; i += element_bytes) {
        uint64_t old = 0, source = 0, result;
        memcpy(&old, dst + i, element_bytes);
        memcpy(&source, src + i, element_bytes);
        if (element_bytes == 2)
            result = reduce_16(op, type, (uint16_t)old, (uint16_t)source);
        else if (element_bytes == 4)
            result = reduce_32(op, type, (uint32_t)old, (uint32_t)source);
        else
            result = reduce_64(op, type, old, source);
        memcpy(dst + i, &result, element_bytes);
    }
}
