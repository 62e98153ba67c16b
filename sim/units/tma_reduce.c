/* Element arithmetic of bulk reductions; see tma_reduce.h. Values of 16-bit float formats are added
 * in f32, which is exact enough that rounding once more to the format is the rounding of the exact
 * sum (24 bits of precision are more than twice 11 plus 2). */
#include "tma_reduce.h"

#include <math.h>
#include <string.h>

#include "bits.h"

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

bool tma_reduce_is_known(enum tma_reduce_op op, enum tmap_type type) {
    return op != TMA_REDUCE_ADD ||
           (type != TMAP_FLOAT32_FTZ && type != TMAP_TFLOAT32 && type != TMAP_TFLOAT32_FTZ);
}

/* A 16-bit float format: bf16 is the upper half of f32, f16 is not. */
static float f16_value(uint32_t word) {
    uint32_t exponent = word >> 10 & 31, fraction = word & 0x3ff;
    if (exponent == 31)
        return bits_to_f32((word & 0x8000) << 16 | 0x7f800000 | fraction << 13);
    float value = exponent == 0 ? ldexpf((float)fraction, -24)
                                : ldexpf((float)(fraction | 0x400), (int)exponent - 25);
    return (word & 0x8000) != 0 ? -value : value;
}

static uint32_t f16_word(float value) {
    uint32_t bits = bits_from_f32(value), sign = bits >> 16 & 0x8000;
    float size = fabsf(value);
    if (isnan(value))
        return 0x7fff;
    if (size >= 65520.0f) /* half way between the largest number and the next */
        return sign | 0x7c00;
    if (size < 0x1p-14f) /* rintf rounds to nearest even; 0x400 is the least normal number */
        return sign | (uint32_t)rintf(size * 0x1p24f);
    uint32_t magnitude = bits & 0x7fffffff;
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return sign | ((magnitude - (112u << 23)) >> 13);
}

static float bf16_value(uint32_t word) {
    return bits_to_f32(word << 16);
}

static uint32_t bf16_word(float value) {
    uint32_t bits = bits_from_f32(value);
    return isnan(value) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* min or max where a NaN loses and -0 is below +0. */
static bool takes_source(bool want_max, float old, float source) {
    if (isnan(source))
        return false;
    if (isnan(old))
        return true;
    if (old == source)
        return want_max ? signbit(old) && !signbit(source) : signbit(source) && !signbit(old);
    return want_max ? source > old : source < old;
}

static uint32_t reduce_half(enum tma_reduce_op op, bool bf16, uint32_t old, uint32_t source) {
    float a = bf16 ? bf16_value(old) : f16_value(old);
    float b = bf16 ? bf16_value(source) : f16_value(source);
    if (op == TMA_REDUCE_ADD)
        return bf16 ? bf16_word(a + b) : f16_word(a + b);
    if (isnan(a) && isnan(b))
        return 0x7fff;
    return takes_source(op == TMA_REDUCE_MAX, a, b) ? source : old;
}

static float flush(float value) {
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0.0f, value) : value;
}

static uint32_t add_f32(uint32_t old, uint32_t source) {
    float sum = flush(flush(bits_to_f32(old)) + flush(bits_to_f32(source)));
    return isnan(sum) ? 0x7fffffff : bits_from_f32(sum);
}

static uint64_t add_f64(uint64_t old, uint64_t source) {
    double sum = bits_to_f64(old) + bits_to_f64(source);
    return isnan(sum) ? UINT64_C(0x7fffffffffffffff) : bits_from_f64(sum);
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
    if (type == TMAP_FLOAT32)
        return add_f32(old, source);
    if (type == TMAP_INT32)
        return (uint32_t)reduce_integer(op, true, (uint64_t)(int32_t)old,
                                        (uint64_t)(int32_t)source);
    return (uint32_t)reduce_integer(op, false, old, source);
}

static uint64_t reduce_64(enum tma_reduce_op op, enum tmap_type type, uint64_t old,
                          uint64_t source) {
    return type == TMAP_FLOAT64 ? add_f64(old, source)
                                : reduce_integer(op, type == TMAP_INT64, old, source);
}

void tma_reduce(enum tma_reduce_op op, enum tmap_type type, uint8_t *dst, const uint8_t *src,
                size_t size_bytes) {
    size_t element_bytes = tmap_element_bits(type) / 8;
    for (size_t i = 0; i < size_bytes; i += element_bytes) {
        uint64_t old = 0, source = 0, result;
        memcpy(&old, dst + i, element_bytes);
        memcpy(&source, src + i, element_bytes);
        if (element_bytes == 2)
            result = reduce_half(op, type == TMAP_BFLOAT16, (uint32_t)old, (uint32_t)source);
        else if (element_bytes == 4)
            result = reduce_32(op, type, (uint32_t)old, (uint32_t)source);
        else
            result = reduce_64(op, type, old, source);
        memcpy(dst + i, &result, element_bytes);
    }
}
