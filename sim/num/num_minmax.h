#ifndef SILTWIN_NUM_MINMAX_H
#define SILTWIN_NUM_MINMAX_H

#include <stdbool.h>
#include <stdint.h>

#include "num_f32.h"
#include "num_half.h"

/* min and max of f32, f16 and bf16; -0 is less than +0. f64 has its own in num_f64.h. */

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

NUM_INLINE int32_t num_half_key(uint32_t x, uint32_t infinity, int32_t nan_key) {
    int32_t negative = (int32_t)(x << 16) >> 31; /* all ones or none */
    int32_t key = (int32_t)(x & 0x7fff) ^ negative;
    int32_t is_nan = (int32_t)(infinity - (x & 0x7fff)) >> 31;
    return (key & ~is_nan) | (nan_key & is_nan);
}

/* As num_f32_minmax; `infinity` is the word of the type's infinity. */
NUM_INLINE uint16_t num_half_minmax(uint32_t a, uint32_t b, struct num_minmax how,
                                    uint32_t infinity) {
    uint32_t sign = how.xorsign ? (a ^ b) & NUM_HALF_SIGN : 0;
    a = how.xorsign ? a & 0x7fff : a;
    b = how.xorsign ? b & 0x7fff : b;
    int32_t nan_key = how.max == how.nan ? 0x7fc00000 : -0x7fc00000;
    int32_t a_key = num_half_key(a, infinity, nan_key), b_key = num_half_key(b, infinity, nan_key);
    uint32_t greater = a_key >= b_key ? a : b, smaller = a_key >= b_key ? b : a;
    uint32_t number = how.max ? greater : smaller;
    return (uint16_t)((number & 0x7fff) > infinity ? NUM_HALF_NAN : number | sign);
}

NUM_INLINE uint16_t num_f16_minmax(uint16_t a, uint16_t b, struct num_minmax how) {
    return num_half_minmax(a, b, how, NUM_F16_INF);
}

NUM_INLINE uint16_t num_bf16_minmax(uint16_t a, uint16_t b, struct num_minmax how) {
    return num_half_minmax(a, b, how, NUM_BF16_INF);
}

#endif
