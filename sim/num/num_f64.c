#include "num_f64.h"

#include "num_wide.h"

/* Directed rounding of doubles. Special operands take the way of nearest-even, where they give the
 * same; finite ones go through exact numbers. */

static bool is_finite(uint64_t x) {
    return (x & NUM_F64_INF) != NUM_F64_INF;
}

static uint64_t encode(const struct num_wide *x, enum num_round mode) {
    return num_wide_encode(x, NUM_F64, mode, false);
}

uint64_t num_f64_add_directed(uint64_t a, uint64_t b, enum num_round mode) {
    if (!is_finite(a) || !is_finite(b))
        return num_f64_add(a, b, NUM_RN);
    struct num_wide x = num_wide_decode(NUM_F64, a), y = num_wide_decode(NUM_F64, b);
    struct num_wide sum = num_wide_add(&x, &y, mode);
    return encode(&sum, mode);
}

uint64_t num_f64_mul_directed(uint64_t a, uint64_t b, enum num_round mode) {
    if (!is_finite(a) || !is_finite(b))
        return num_f64_mul(a, b, NUM_RN);
    struct num_wide x = num_wide_decode(NUM_F64, a), y = num_wide_decode(NUM_F64, b);
    struct num_wide product = num_wide_mul(&x, &y);
    return encode(&product, mode);
}

uint64_t num_f64_fma_directed(uint64_t a, uint64_t b, uint64_t c, enum num_round mode) {
    if (!is_finite(a) || !is_finite(b) || !is_finite(c))
        return num_f64_fma(a, b, c, NUM_RN);
    struct num_wide x = num_wide_decode(NUM_F64, a), y = num_wide_decode(NUM_F64, b);
    struct num_wide z = num_wide_decode(NUM_F64, c);
    struct num_wide product = num_wide_mul(&x, &y);
    struct num_wide sum = num_wide_add(&product, &z, mode);
    return encode(&sum, mode);
}

uint64_t num_f64_div_directed(uint64_t a, uint64_t b, enum num_round mode) {
    if (!is_finite(a) || !is_finite(b) || (b & ~NUM_F64_SIGN) == 0)
        return num_f64_div(a, b, NUM_RN);
    struct num_wide x = num_wide_decode(NUM_F64, a), y = num_wide_decode(NUM_F64, b);
    struct num_wide quotient = num_wide_div(&x, &y);
    return encode(&quotient, mode);
}

uint64_t num_f64_sqrt_directed(uint64_t a, enum num_round mode) {
    bool zero = (a & ~NUM_F64_SIGN) == 0;
    if (!is_finite(a) || (a >> 63 && !zero))
        return num_f64_sqrt(a, NUM_RN);
    struct num_wide x = num_wide_decode(NUM_F64, a);
    struct num_wide root = num_wide_sqrt(&x);
    return encode(&root, mode);
}
