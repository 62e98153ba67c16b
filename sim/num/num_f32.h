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

static inline bool num_f32_is_nan(uint32_t x) {
    return (x & ~NUM_F32_SIGN) > NUM_F32_INF;
}

/* .ftz: a subnormal becomes the zero of its sign. */
static inline uint32_t num_f32_flush(uint32_t x) {
    return (x & NUM_F32_INF) ? x : (x & NUM_F32_SIGN);
}

/* .sat: clamps to [+0, 1]; NaN, -0 and negative numbers give +0. */
static inline uint32_t num_f32_saturate(uint32_t x) {
    uint32_t at_most_one = x > NUM_F32_ONE ? NUM_F32_ONE : x;
    return x > NUM_F32_INF ? 0 : at_most_one;
}

/* The word of a host result. */
static inline uint32_t num_f32_word(float value) {
    uint32_t word = bits_from_f32(value);
    return num_f32_is_nan(word) ? NUM_F32_NAN : word;
}

/* The double that `sum` plus the far smaller `rest` rounds to under round-to-odd: the truncated
 * value, its last bit set when anything was cut off. Rounding that to 51 bits or fewer gives the
 * correctly rounded exact value, in every mode. */
static inline double num_odd_f64(double sum, double rest) {
    uint64_t word = bits_from_f64(sum);
    bool inexact = rest < 0 || rest > 0;
    bool rounded_up = (rest < 0) == (sum > 0);
    uint64_t odd = rounded_up ? word - 1 : word + 1;
    return bits_to_f64(inexact && !(word & 1) ? odd : word);
}

/* The exact a + b, rounded to odd. */
static inline double num_odd_sum_f64(double a, double b) {
    double sum = a + b;
    double b_part = sum - a;
    double rest = (a - (sum - b_part)) + (b - b_part);
    return num_odd_f64(sum, rest);
}

/* `value` in single precision. */
static inline uint32_t num_f32_narrow(double value, enum num_round mode) {
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
static inline uint32_t num_f32_zero_sum(uint32_t result, bool a_negative, bool b_negative,
                                        enum num_round mode) {
    bool negative = mode == NUM_RM ? a_negative || b_negative : a_negative && b_negative;
    return (result & ~NUM_F32_SIGN) == 0 ? (negative ? NUM_F32_SIGN : 0) : result;
}

static inline uint32_t num_f32_add(uint32_t a, uint32_t b, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(bits_to_f32(a) + bits_to_f32(b));
    double sum = num_odd_sum_f64((double)bits_to_f32(a), (double)bits_to_f32(b));
    uint32_t word = num_f32_narrow(sum, mode);
    return sum == 0 ? num_f32_zero_sum(word, a >> 31, b >> 31, mode) : word;
}

static inline uint32_t num_f32_sub(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_add(a, b ^ NUM_F32_SIGN, mode);
}

static inline uint32_t num_f32_mul(uint32_t a, uint32_t b, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(bits_to_f32(a) * bits_to_f32(b));
    return num_f32_narrow((double)bits_to_f32(a) * (double)bits_to_f32(b), mode);
}

static inline uint32_t num_f32_fma(uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(fmaf(bits_to_f32(a), bits_to_f32(b), bits_to_f32(c)));
    double product = (double)bits_to_f32(a) * (double)bits_to_f32(b); /* 48 bits: exact */
    double sum = num_odd_sum_f64(product, (double)bits_to_f32(c));
    uint32_t word = num_f32_narrow(sum, mode);
    return sum == 0 ? num_f32_zero_sum(word, (a ^ b) >> 31, c >> 31, mode) : word;
}

static inline uint32_t num_f32_div(uint32_t a, uint32_t b, enum num_round mode) {
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
static inline bool num_f32_is_tiny(double exact, enum num_round mode) {
    double magnitude = fabs(exact);
    bool away = mode == (exact < 0 ? NUM_RM : NUM_RP);
    double nearest_limit = 0x1.ffffffp-127; /* a tie here goes to 2^-126 */
    double limit = mode == NUM_RN ? nearest_limit : 0x1p-126;
    return away ? magnitude <= 0x1.fffffep-127 : magnitude < limit;
}

/* The forms with .ftz: operands and result flushed. Sums of normal numbers are exact where they are
 * tiny; products are not. */
static inline uint32_t num_f32_add_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_flush(num_f32_add(num_f32_flush(a), num_f32_flush(b), mode));
}

static inline uint32_t num_f32_sub_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    return num_f32_add_ftz(a, b ^ NUM_F32_SIGN, mode);
}

static inline uint32_t num_f32_mul_ftz(uint32_t a, uint32_t b, enum num_round mode) {
    double x = (double)bits_to_f32(num_f32_flush(a)), y = (double)bits_to_f32(num_f32_flush(b));
    double product = x * y; /* 48 bits: exact */
    uint32_t word = num_f32_narrow(product, mode);
    return num_f32_is_tiny(product, mode) ? word & NUM_F32_SIGN : word;
}

static inline uint32_t num_f32_fma_ftz(uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    a = num_f32_flush(a), b = num_f32_flush(b), c = num_f32_flush(c);
    double product = (double)bits_to_f32(a) * (double)bits_to_f32(b);
    double sum = num_odd_sum_f64(product, (double)bits_to_f32(c));
    uint32_t word = num_f32_narrow(sum, mode);
    uint32_t zero = num_f32_zero_sum(0, (a ^ b) >> 31, c >> 31, mode);
    word = sum == 0 ? zero : word;
    return num_f32_is_tiny(sum, mode) ? word & NUM_F32_SIGN : word;
}

static inline uint32_t num_f32_rcp(uint32_t a, enum num_round mode) {
    return num_f32_div(NUM_F32_ONE, a, mode);
}

static inline uint32_t num_f32_sqrt(uint32_t a, enum num_round mode) {
    if (mode == NUM_RN)
        return num_f32_word(sqrtf(bits_to_f32(a)));
    double x = (double)bits_to_f32(a), root = sqrt(x);
    return num_f32_narrow(num_odd_f64(root, fma(-root, root, x)), mode);
}

/* neg and abs are additions on silicon: a NaN becomes the canonical word (hw-H200-scalar). */
static inline uint32_t num_f32_neg(uint32_t a) {
    return num_f32_is_nan(a) ? NUM_F32_NAN : a ^ NUM_F32_SIGN;
}

static inline uint32_t num_f32_abs(uint32_t a) {
    return num_f32_is_nan(a) ? NUM_F32_NAN : a & ~NUM_F32_SIGN;
}

/* Sign of a, magnitude of b: bits, no arithmetic. */
static inline uint32_t num_f32_copysign(uint32_t a, uint32_t b) {
    return (a & NUM_F32_SIGN) | (b & ~NUM_F32_SIGN);
}

/* Modifiers of min and max. */
struct num_minmax {
    bool max;     /* the greater, else the smaller */
    bool nan;     /* .NaN: a NaN operand gives NaN; else the number wins over a NaN */
    bool xorsign; /* .xorsign.abs: magnitudes are compared, the sign is that of the product */
};

/* -0 is less than +0; a winning number is copied bit for bit. `nan_word` is the NaN of the type,
 * keys are the operands as integers in numeric order. */
static inline uint32_t num_f32_minmax(uint32_t a, uint32_t b, struct num_minmax how) {
    bool a_nan = num_f32_is_nan(a), b_nan = num_f32_is_nan(b);
    uint32_t sign = (a ^ b) & NUM_F32_SIGN;
    a = how.xorsign ? a & ~NUM_F32_SIGN : a;
    b = how.xorsign ? b & ~NUM_F32_SIGN : b;
    int32_t a_key = (int32_t)(a ^ (a >> 31 ? ~NUM_F32_SIGN : 0));
    int32_t b_key = (int32_t)(b ^ (b >> 31 ? ~NUM_F32_SIGN : 0));
    bool take_a = how.max ? a_key >= b_key : a_key <= b_key;
    uint32_t number = (take_a && !a_nan) || b_nan ? a : b;
    number = how.xorsign ? number | sign : number;
    bool is_nan = how.nan ? a_nan || b_nan : a_nan && b_nan;
    return is_nan ? NUM_F32_NAN : number;
}

#endif
