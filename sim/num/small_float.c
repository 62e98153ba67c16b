/* See small_float.h. One table, one decoder for all formats. */
#include "small_float.h"

#include "bits.h"

static const struct small_float_format formats[SMALL_FLOAT_COUNT] = {
    [SMALL_FLOAT_E2M1] = {.exponent_bits = 2, .fraction_bits = 1, .bias = 1},
    [SMALL_FLOAT_E2M3] = {.exponent_bits = 2, .fraction_bits = 3, .bias = 1},
    [SMALL_FLOAT_E3M2] = {.exponent_bits = 3, .fraction_bits = 2, .bias = 3},
    [SMALL_FLOAT_E4M3] = {.exponent_bits = 4, .fraction_bits = 3, .bias = 7, .top_word_nan = true},
    [SMALL_FLOAT_E5M2] = {.exponent_bits = 5, .fraction_bits = 2, .bias = 15, .has_inf = true},
    [SMALL_FLOAT_F16] = {.exponent_bits = 5, .fraction_bits = 10, .bias = 15, .has_inf = true},
    [SMALL_FLOAT_BF16] = {.exponent_bits = 8, .fraction_bits = 7, .bias = 127, .has_inf = true},
    [SMALL_FLOAT_TF32] =
        {.exponent_bits = 8, .fraction_bits = 10, .dropped_bits = 13, .bias = 127, .has_inf = true},
    [SMALL_FLOAT_F32] = {.exponent_bits = 8, .fraction_bits = 23, .bias = 127, .has_inf = true},
};

const struct small_float_format *small_float_format(enum small_float format) {
    return &formats[format];
}

struct small_float_value small_float_decode(enum small_float format, uint32_t word) {
    const struct small_float_format *f = &formats[format];
    unsigned m = f->fraction_bits;
    word >>= f->dropped_bits;
    uint32_t fraction = (uint32_t)bits_get(word, 0, m);
    uint32_t field = (uint32_t)bits_get(word, m, f->exponent_bits);
    uint32_t top_field = (uint32_t)bits_mask(f->exponent_bits);
    struct small_float_value v = {
        .class = SMALL_FLOAT_FINITE,
        .negative = bits_get(word, m + f->exponent_bits, 1) != 0,
        .fraction_bits = f->fraction_bits,
        .exponent = (int16_t)((field == 0 ? 1 : (int)field) - f->bias),
        .significand = fraction + (field == 0 ? 0 : UINT32_C(1) << m),
    };
    if (f->has_inf && field == top_field)
        v.class = fraction == 0 ? SMALL_FLOAT_INF : SMALL_FLOAT_NAN;
    else if (f->top_word_nan && field == top_field && fraction == bits_mask(m))
        v.class = SMALL_FLOAT_NAN;
    else if (v.significand == 0)
        v.class = SMALL_FLOAT_ZERO;
    return v;
}
