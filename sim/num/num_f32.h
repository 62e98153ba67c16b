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

/* Whether .ftz flushes the exact result `exact` (rounded to odd): it is below 2^-126 even after
 * rounding to 24 digits without a lower end of the exponent. A value that only the coarser grid of
 * subnormals brings up to 2^-126 is flushed (fma.rn.ftz.sat.f32 and mul.rn.ftz.f16x2 in
 * hw-H200-scalar). */
NUM_INLINE bool num_f32_is_tiny(double exact, enum num_round mode) {
    double magnitude = fabs(exact);
    bool away = mode == (exact < 0 ? NUM_RM : NUM_RP);
    double nearest_limit = 0x1.ffffffp-127; /* a tie here goes to 2^-126 */
    double limit = mode == NUM_RN ? nearest_limit : 0x1p-126;
    return away ? magnitude <= 0x1.fffffep-127 : magnitude < limit;
}

/* The forms with .ftz: operands and result flushed. Sums of normal numbers are exact where they are
 * tiny; products are not. */
NUM_INLINE uint32_t num_f32_add_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_flush(num_f32_add(num_f32_flush(a), num_f32_flush(b), mode));
}

NUM_INLINE uint32_t num_f32_sub_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_add_ftz(a, b ^ NUM_F32_SIGN, mode);
}

NUM_INLINE uint32_t num_f32_mul_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    double x = (double)bits_to_f32(num_f32_flush(a)), y = (double)bits_to_f32(num_f32_flush(b));
    double product = x * y; /* 48 bits: exact */
    uint32_t word = num_f32_narrow(product, mode);
    return num_f32_is_tiny(product, mode) ? word & NUM_F32_SIGN : word;
}

NUM_INLINE uint32_t num_f32_fma_ftz(uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    a = num_f32_flush(a), b = num_f32_flush(b), c = num_f32_flush(c);
    double product = (double)bits_to_f32(a) * (double)bits_to_f32(b);
    double sum = num_odd_sum_f64(product, (double)bits_to_f32(c));
    uint32_t word = num_f32_narrow(sum, mode);
    uint32_t zero = num_f32_zero_sum(0, (a ^ b) >> 31, c >> 31, mode);
    word = sum == 0 ? zero : word;
    return num_f32_is_tiny(sum, mode) ? word & NUM_F32_SIGN : word;
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

/* Modifiers of min and max. */
struct num_minmax {
    bool max;     /* the greater, else the smaller */
    bool nan;     /* .NaN: a NaN operand gives NaN; else the number wins over a NaN */
    bool xorsign; /* .xorsign.abs: magnitudes are compared, the sign is that of the product */
};

/* The word as an integer in numeric order, -0 below +0; a NaN goes where `nan_key` says. */
NUM_INLINE int32_t num_f32_key(uint32_t x, int32_t nan_key) {
    int32_t key = (int32_t)x ^ (int32_t)((uint32_t)((int32_t)x >> 31) >> 1);
    int32_t is_nan = (int32_t)(NUM_F32_INF - (x & ~NUM_F32_SIGN)) >> 31; /* all ones or none */
    return (key & ~is_nan) | (nan_key & is_nan);
}

/* A winning number is copied bit for bit. A NaN stands at the losing end of the order, under .NaN
 * at the winning one. */
NUM_INLINE uint32_t num_f32_minmax(uint32_t a, uint32_t b, struct num_minmax how) {
    uint32_t sign = how.xorsign ? (a ^ b) & NUM_F32_SIGN : 0;
    a = how.xorsign ? a & ~NUM_F32_SIGN : a;
    b = how.xorsign ? b & ~NUM_F32_SIGN : b;
    int32_t nan_key = how.max == how.nan ? 0x7fc00000 : -0x7fc00000;
    int32_t a_key = num_f32_key(a, nan_key), b_key = num_f32_key(b, nan_key);
    uint32_t greater = a_key >= b_key ? a : b, smaller = a_key >= b_key ? b : a;
    uint32_t number = how.max ? greater : smaller;
    return num_f32_is_nan(number) ? NUM_F32_NAN : number | sign;
}

#endif
