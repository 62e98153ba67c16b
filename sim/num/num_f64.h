#ifndef SILTWIN_NUM_F64_H
#define SILTWIN_NUM_F64_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "bits.h"
#include "num_f32.h"
#include "num_round.h"

/* Double precision on register words. An invalid operation gives fff8000000000000; a NaN operand
 * goes through with its payload, quieted: the last one for add, sub, mul and fma, the first for div
 * (measured, tests/oracle/scalar). */

#define NUM_F64_NAN  UINT64_C(0xfff8000000000000)
#define NUM_F64_INF  UINT64_C(0x7ff0000000000000)
#define NUM_F64_SIGN UINT64_C(0x8000000000000000)
#define NUM_F64_ONE  UINT64_C(0x3ff0000000000000)

NUM_INLINE bool num_f64_is_nan(uint64_t x) {
    return (x & ~NUM_F64_SIGN) > NUM_F64_INF;
}

NUM_INLINE uint64_t num_f64_quiet(uint64_t nan) {
    return nan | UINT64_C(0x0008000000000000);
}

/* The result of an operation: `value` unless NaN came in or out; `first` goes before `second`. */
NUM_INLINE uint64_t num_f64_word(double value, uint64_t first, uint64_t second) {
    uint64_t word = bits_from_f64(value);
    word = num_f64_is_nan(word) ? NUM_F64_NAN : word;
    word = num_f64_is_nan(second) ? num_f64_quiet(second) : word;
    return num_f64_is_nan(first) ? num_f64_quiet(first) : word;
}

/* The roundings that the host's operations do not give. */
uint64_t num_f64_fma_directed(uint64_t a, uint64_t b, uint64_t c, enum num_round mode);
uint64_t num_f64_add_directed(uint64_t a, uint64_t b, enum num_round mode);
uint64_t num_f64_mul_directed(uint64_t a, uint64_t b, enum num_round mode);
uint64_t num_f64_div_directed(uint64_t a, uint64_t b, enum num_round mode);
uint64_t num_f64_sqrt_directed(uint64_t a, enum num_round mode);

NUM_INLINE uint64_t num_f64_add(uint64_t a, uint64_t b, enum num_round mode) {
    if (mode != NUM_RN)
        return num_f64_add_directed(a, b, mode);
    return num_f64_word(bits_to_f64(a) + bits_to_f64(b), b, a);
}

NUM_INLINE uint64_t num_f64_sub(uint64_t a, uint64_t b, enum num_round mode) {
    if (num_f64_is_nan(b))
        return num_f64_quiet(b);
    return num_f64_add(a, b ^ NUM_F64_SIGN, mode);
}

NUM_INLINE uint64_t num_f64_mul(uint64_t a, uint64_t b, enum num_round mode) {
    if (mode != NUM_RN)
        return num_f64_mul_directed(a, b, mode);
    return num_f64_word(bits_to_f64(a) * bits_to_f64(b), b, a);
}

NUM_INLINE uint64_t num_f64_fma(uint64_t a, uint64_t b, uint64_t c, enum num_round mode) {
    if (mode != NUM_RN)
        return num_f64_fma_directed(a, b, c, mode);
    uint64_t word = num_f64_word(fma(bits_to_f64(a), bits_to_f64(b), bits_to_f64(c)), b, a);
    return num_f64_is_nan(c) ? num_f64_quiet(c) : word;
}

NUM_INLINE uint64_t num_f64_div(uint64_t a, uint64_t b, enum num_round mode) {
    if (mode != NUM_RN)
        return num_f64_div_directed(a, b, mode);
    return num_f64_word(bits_to_f64(a) / bits_to_f64(b), a, b);
}

NUM_INLINE uint64_t num_f64_rcp(uint64_t a, enum num_round mode) {
    return num_f64_div(NUM_F64_ONE, a, mode);
}

NUM_INLINE uint64_t num_f64_sqrt(uint64_t a, enum num_round mode) {
    if (mode != NUM_RN)
        return num_f64_sqrt_directed(a, mode);
    return num_f64_word(sqrt(bits_to_f64(a)), a, a);
}

/* A NaN keeps its sign and payload, quieted. */
NUM_INLINE uint64_t num_f64_neg(uint64_t a) {
    return num_f64_is_nan(a) ? num_f64_quiet(a) : a ^ NUM_F64_SIGN;
}

NUM_INLINE uint64_t num_f64_abs(uint64_t a) {
    return num_f64_is_nan(a) ? num_f64_quiet(a) : a & ~NUM_F64_SIGN;
}

NUM_INLINE uint64_t num_f64_copysign(uint64_t a, uint64_t b) {
    return (a & NUM_F64_SIGN) | (b & ~NUM_F64_SIGN);
}

/* The word as an integer in numeric order, -0 below +0; a NaN goes where `nan_key` says. */
NUM_INLINE int64_t num_f64_key(uint64_t x, int64_t nan_key) {
    int64_t key = (int64_t)x ^ (int64_t)((uint64_t)((int64_t)x >> 63) >> 1);
    int64_t is_nan = (int64_t)(NUM_F64_INF - (x & ~NUM_F64_SIGN)) >> 63; /* all ones or none */
    return (key & ~is_nan) | (nan_key & is_nan);
}

/* The number wins over a NaN; of two NaNs the result is b, quieted. */
NUM_INLINE uint64_t num_f64_minmax(uint64_t a, uint64_t b, bool max) {
    const int64_t end = INT64_C(0x7ffc000000000000);
    int64_t a_key = num_f64_key(a, max ? -end : end), b_key = num_f64_key(b, max ? -end : end);
    uint64_t greater = a_key >= b_key ? a : b, smaller = a_key >= b_key ? b : a;
    uint64_t number = max ? greater : smaller;
    return num_f64_is_nan(number) ? num_f64_quiet(b) : number;
}

#endif
