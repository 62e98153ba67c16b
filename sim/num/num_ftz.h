#ifndef SILTWIN_NUM_FTZ_H
#define SILTWIN_NUM_FTZ_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "num_f32.h"
#include "num_half.h"

/* Arithmetic with .ftz: operands and result flushed. */

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

/* The forms with .ftz: operands flushed, and a result below 2^-14 even after rounding to 11 digits
 * without a lower end of the exponent (as num_f32_is_tiny; a sum is exact there). */
NUM_INLINE uint16_t num_f16_flush_result(float exact) {
    uint16_t word = num_f16_from_f32(bits_from_f32(exact));
    return fabsf(exact) < 0x1.ffep-15f ? word & NUM_HALF_SIGN : word;
}

NUM_INLINE uint16_t num_f16_add_ftz(uint16_t a, uint16_t b) {
    return num_f16_flush(num_f16_add(num_f16_flush(a), num_f16_flush(b)));
}

NUM_INLINE uint16_t num_f16_sub_ftz(uint16_t a, uint16_t b) {
    return num_f16_add_ftz(a, b ^ NUM_HALF_SIGN);
}

NUM_INLINE uint16_t num_f16_mul_ftz(uint16_t a, uint16_t b) {
    float x = bits_to_f32(num_f16_to_f32(num_f16_flush(a)));
    float y = bits_to_f32(num_f16_to_f32(num_f16_flush(b)));
    return num_f16_flush_result(x * y);
}

NUM_INLINE uint16_t num_f16_fma_ftz(uint16_t a, uint16_t b, uint16_t c) {
    float x = bits_to_f32(num_f16_to_f32(num_f16_flush(a)));
    float y = bits_to_f32(num_f16_to_f32(num_f16_flush(b)));
    float z = bits_to_f32(num_f16_to_f32(num_f16_flush(c)));
    return num_f16_flush_result(num_odd_sum_f32(x * y, z));
}

#endif
