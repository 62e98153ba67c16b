#ifndef SILTWIN_NUM_HALF_H
#define SILTWIN_NUM_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "bits.h"
#include "num_f32.h"
#include "num_round.h"

/* f16 and bf16 on words, nearest-even, one rounding of the exact result. Branch-free on the values
 * like num_f32.h; packed types apply these to each half. Every NaN result is 7fff
 * (tests/oracle/scalar). */

#define NUM_HALF_NAN  UINT16_C(0x7fff)
#define NUM_HALF_SIGN UINT16_C(0x8000)
#define NUM_F16_INF   UINT16_C(0x7c00)
#define NUM_F16_ONE   UINT16_C(0x3c00)
#define NUM_BF16_INF  UINT16_C(0x7f80)

NUM_INLINE bool num_f16_is_nan(uint16_t x) {
    return (x & 0x7fff) > NUM_F16_INF;
}

NUM_INLINE bool num_bf16_is_nan(uint16_t x) {
    return (x & 0x7fff) > NUM_BF16_INF;
}

NUM_INLINE uint16_t num_f16_flush(uint16_t x) {
    return (x & NUM_F16_INF) ? x : (x & NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_f16_saturate(uint16_t x) {
    uint16_t at_most_one = x > NUM_F16_ONE ? NUM_F16_ONE : x;
    return x > NUM_F16_INF ? 0 : at_most_one;
}

/* .relu: negative numbers and -0 give +0; NaN stays. Works for both types. */
NUM_INLINE uint16_t num_half_relu(uint16_t x) {
    return x & NUM_HALF_SIGN ? 0 : x;
}

/* Exact. NaN gives the f32 NaN 7fffffff. */
NUM_INLINE uint32_t num_f16_to_f32(uint16_t x) {
    uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    uint32_t finite = bits_from_f32(bits_to_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude > 0x0f800000 ? NUM_F32_NAN : NUM_F32_INF;
    uint32_t word = magnitude >= 0x0f800000 ? special : finite;
    return word == NUM_F32_NAN ? word : word | (uint32_t)(x & 0x8000) << 16;
}

/* A shift: NaN payloads survive, as `cvt.f32.bf16` keeps them. */
NUM_INLINE uint32_t num_bf16_to_f32(uint16_t x) {
    return (uint32_t)x << 16;
}

NUM_INLINE uint16_t num_f16_from_f32(uint32_t x) {
    uint32_t magnitude = x & ~NUM_F32_SIGN;
    uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    /* 0.5 has 2^-24 as last place, as f16 subnormals do: the addition rounds. */
    uint32_t small = bits_from_f32(bits_to_f32(magnitude) + 0.5f) - 0x3f000000;
    uint32_t word = magnitude < 0x38800000 ? small : normal - (112 << 10);
    word = magnitude >= 0x477ff000 ? NUM_F16_INF : word;
    word |= (x >> 16) & 0x8000;
    return (uint16_t)(magnitude > NUM_F32_INF ? NUM_HALF_NAN : word);
}

NUM_INLINE uint16_t num_bf16_from_f32(uint32_t x) {
    uint32_t word = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    return (uint16_t)(num_f32_is_nan(x) ? NUM_HALF_NAN : word);
}

/* The exact a + b in f32, rounded to odd (see num_odd_f64). */
NUM_INLINE float num_odd_sum_f32(float a, float b) {
    float sum = a + b;
    float b_part = sum - a;
    float rest = (a - (sum - b_part)) + (b - b_part);
    uint32_t word = bits_from_f32(sum), tail = bits_from_f32(rest);
    uint32_t inexact = (tail & ~NUM_F32_SIGN) - 1 < NUM_F32_INF; /* neither zero nor NaN */
    uint32_t step = 1 - 2 * ((word ^ tail) >> 31);
    return bits_to_f32(word + (step & (0 - (inexact & ~word))));
}

/* f32 has more than twice the digits of f16 and all its range: rounding a sum or product first to
 * f32 and then to f16 rounds as once. */
NUM_INLINE uint16_t num_f16_add(uint16_t a, uint16_t b) {
    float sum = bits_to_f32(num_f16_to_f32(a)) + bits_to_f32(num_f16_to_f32(b));
    return num_f16_from_f32(bits_from_f32(sum));
}

NUM_INLINE uint16_t num_f16_sub(uint16_t a, uint16_t b) {
    return num_f16_add(a, b ^ NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_f16_mul(uint16_t a, uint16_t b) {
    float product = bits_to_f32(num_f16_to_f32(a)) * bits_to_f32(num_f16_to_f32(b));
    return num_f16_from_f32(bits_from_f32(product));
}

NUM_INLINE uint16_t num_f16_fma(uint16_t a, uint16_t b, uint16_t c) {
    float product = bits_to_f32(num_f16_to_f32(a)) * bits_to_f32(num_f16_to_f32(b));
    float sum = num_odd_sum_f32(product, bits_to_f32(num_f16_to_f32(c)));
    return num_f16_from_f32(bits_from_f32(sum));
}

NUM_INLINE uint16_t num_bf16_add(uint16_t a, uint16_t b) {
    float sum = bits_to_f32(num_bf16_to_f32(a)) + bits_to_f32(num_bf16_to_f32(b));
    return num_bf16_from_f32(bits_from_f32(sum));
}

NUM_INLINE uint16_t num_bf16_sub(uint16_t a, uint16_t b) {
    return num_bf16_add(a, b ^ NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_bf16_mul(uint16_t a, uint16_t b) {
    float product = bits_to_f32(num_bf16_to_f32(a)) * bits_to_f32(num_bf16_to_f32(b));
    return num_bf16_from_f32(bits_from_f32(product));
}

/* The product can leave the range of f32, so the sum is made in double and brought to f32 by
 * another rounding to odd. */
NUM_INLINE uint16_t num_bf16_fma(uint16_t a, uint16_t b, uint16_t c) {
    double x = (double)bits_to_f32(num_bf16_to_f32(a));
    double y = (double)bits_to_f32(num_bf16_to_f32(b));
    double sum = num_odd_sum_f64(x * y, (double)bits_to_f32(num_bf16_to_f32(c)));
    float near = (float)sum;
    uint32_t word = bits_from_f32(near);
    uint32_t above = fabs((double)near) > fabs(sum), below = fabs((double)near) < fabs(sum);
    uint32_t step = below - above;
    return num_bf16_from_f32(word + (step & (0 - (~word & 1))));
}

NUM_INLINE uint16_t num_f16_neg(uint16_t a) {
    return num_f16_is_nan(a) ? NUM_HALF_NAN : (uint16_t)(a ^ NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_f16_abs(uint16_t a) {
    return num_f16_is_nan(a) ? NUM_HALF_NAN : a & 0x7fff;
}

NUM_INLINE uint16_t num_bf16_neg(uint16_t a) {
    return num_bf16_is_nan(a) ? NUM_HALF_NAN : (uint16_t)(a ^ NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_bf16_abs(uint16_t a) {
    return num_bf16_is_nan(a) ? NUM_HALF_NAN : a & 0x7fff;
}

#endif
