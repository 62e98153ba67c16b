#ifndef SILTWIN_NUM_F32_H
#define SILTWIN_NUM_F32_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "bits.h"
#include "num_round.h"

/* Single precision on register words. Everything here is inline and without branches on the values,
 * so that a loop over lanes becomes vector code. Nearest-even results come from the host's
 * operations; the other roundings from an exact double result (rounded to odd where double is too
 * short) that is narrowed once. Every NaN result is the word 7fffffff, whatever the host's own NaN
 * is (tests/oracle/scalar). */

#define NUM_F32_NAN  UINT32_C(0x7fffffff)
#define NUM_F32_INF  UINT32_C(0x7f800000)
#define NUM_F32_SIGN UINT32_C(0x80000000)
#define NUM_F32_ONE  UINT32_C(0x3f800000)

NUM_INLINE bool num_f32_is_nan(uint32_t x) {
    return (x & ~NUM_F32_SIGN) > NUM_F32_INF;
}

/* .ftz: a subnormal becomes the zero of its sign. */
NUM_INLINE uint32_t num_f32_flush(uint32_t x) {
    return (x & NUM_F32_INF) ? x : (x & NUM_F32_SIGN);
}

/* .sat: clamps to [+0, 1]; NaN, -0 and negative numbers give +0. */
NUM_INLINE uint32_t num_f32_saturate(uint32_t x) {
    uint32_t at_most_one = x > NUM_F32_ONE ? NUM_F32_ONE : x;
    return x > NUM_F32_INF ? 0 : at_most_one;
}

/* The word of a host result. */
NUM_INLINE uint32_t num_f32_word(float value) {
    uint32_t word = bits_from_f32(value);
    return num_f32_is_nan(word) ? NUM_F32_NAN : word;
}

/* The double that `sum` plus the far smaller `rest` rounds to under round-to-odd: the truncated
 * value, its last bit set when anything was cut off. Rounding that to 51 bits or fewer gives the
 * correctly rounded exact value, in every mode. */
NUM_INLINE double num_odd_f64(double sum, double rest) {
    const uint64_t sign = UINT64_C(1) << 63, infinity = UINT64_C(0x7ff0000000000000);
    uint64_t word = bits_from_f64(sum), tail = bits_from_f64(rest);
    uint64_t inexact = (tail & ~sign) - 1 < infinity; /* neither zero nor NaN */
    uint64_t step = 1 - 2 * ((word ^ tail) >> 63);    /* back to zero when it was rounded up */
    return bits_to_f64(word + (step & (0 - (inexact & ~word))));
}

/* The exact a + b, rounded to odd. */
NUM_INLINE double num_odd_sum_f64(double a, double b) {
    double sum = a + b;
    double b_part = sum - a;
    double rest = (a - (sum - b_part)) + (b - b_part);
    return num_odd_f64(sum, rest);
}

/* `value` in single precision. */
NUM_INLINE uint32_t num_f32_narrow(double value, enum num_round mode) {
    float nearest = (float)value;
    double back = (double)nearest;
    uint32_t word = bits_from_f32(nearest);
    bool negative = word >> 31;
    bool up = mode == NUM_RP || (mode == NUM_RZ && negative);
    bool down = mode == NUM_RM || (mode == NUM_RZ && !negative);
    uint32_t greater = negative ? word - 1 : word + 1;
    uint32_t smaller = negative ? word + 1 : word - 1;
    word = up && back < value ? greater : word;
    word = down && back > value ? smaller : word;
    return num_f32_is_nan(word) ? NUM_F32_NAN : word;
}

/* Sign of a sum that is exactly zero: -0 when both terms are -0, and under .rm when either has a
 * sign (IEEE 754). */
NUM_INLINE uint32_t num_f32_zero_sum(uint32_t result, bool a_negative, bool b_negative,
                                     enum num_round mode) {
    bool negative = mode == NUM_RM ? a_negative || b_negative : a_negative && b_negative;
    return (result & ~NUM_F32_SIGN) == 0 ? (negative ? NUM_F32_SIGN : 0) : result;
}

NUM_INLINE uint32_t num_f32_add(uint32_t a, uint32_t b, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(bits_to_f32(a) + bits_to_f32(b));
    double sum = num_odd_sum_f64((double)bits_to_f32(a), (double)bits_to_f32(b));
    uint32_t word = num_f32_narrow(sum, mode);
    return sum == 0 ? num_f32_zero_sum(word, a >> 31, b >> 31, mode) : word;
}

NUM_INLINE uint32_t num_f32_sub(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_add(a, b ^ NUM_F32_SIGN, mode);
}

NUM_INLINE uint32_t num_f32_mul(uint32_t a, uint32_t b, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(bits_to_f32(a) * bits_to_f32(b));
    return num_f32_narrow((double)bits_to_f32(a) * (double)bits_to_f32(b), mode);
}

NUM_INLINE uint32_t num_f32_fma(uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(fmaf(bits_to_f32(a), bits_to_f32(b), bits_to_f32(c)));
    double product = (double)bits_to_f32(a) * (double)bits_to_f32(b); /* 48 bits: exact */
    double sum = num_odd_sum_f64(product, (double)bits_to_f32(c));
    uint32_t word = num_f32_narrow(sum, mode);
    return sum == 0 ? num_f32_zero_sum(word, (a ^ b) >> 31, c >> 31, mode) : word;
}

NUM_INLINE uint32_t num_f32_div(uint32_t a, uint32_t b, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(bits_to_f32(a) / bits_to_f32(b));
    double x = (double)bits_to_f32(a), y = (double)bits_to_f32(b);
    double quotient = x / y;
    double rest = fma(-quotient, y, x); /* exact: the remainder of a division */
    return num_f32_narrow(num_odd_f64(quotient, y < 0 ? -rest : rest), mode);
}

NUM_INLINE uint32_t num_f32_rcp(uint32_t a, enum num_round mode) {
    return num_f32_div(NUM_F32_ONE, a, mode);
}

NUM_INLINE uint32_t num_f32_sqrt(uint32_t a, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(sqrtf(bits_to_f32(a)));
    double x = (double)bits_to_f32(a), root = sqrt(x);
    return num_f32_narrow(num_odd_f64(root, fma(-root, root, x)), mode);
}

/* neg and abs are additions on silicon: a NaN becomes the canonical word (hw-H200-scalar). */
NUM_INLINE uint32_t num_f32_neg(uint32_t a) {
    return num_f32_is_nan(a) ? NUM_F32_NAN : a ^ NUM_F32_SIGN;
}

NUM_INLINE uint32_t num_f32_abs(uint32_t a) {
    return num_f32_is_nan(a) ? NUM_F32_NAN : a & ~NUM_F32_SIGN;
}

/* Sign of a, magnitude of b: bits, no arithmetic. */
NUM_INLINE uint32_t num_f32_copysign(uint32_t a, uint32_t b) {
    return (a & NUM_F32_SIGN) | (b & ~NUM_F32_SIGN);
}

#endif
