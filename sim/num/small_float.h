#ifndef SILTWIN_SMALL_FLOAT_H
#define SILTWIN_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

/* Floating-point formats of 4 to 32 bits, taken apart into integers: what the tensor core
 * multiplies (PTX ISA 9.0, Alternate Floating-Point Data Formats; e4m3, e3m2, e2m3, e2m1 are
 * "finite" formats without infinity). A word of a format lies in the low bits, higher bits are
 * ignored. */
enum small_float {
    SMALL_FLOAT_E2M1,
    SMALL_FLOAT_E2M3,
    SMALL_FLOAT_E3M2,
    SMALL_FLOAT_E4M3,
    SMALL_FLOAT_E5M2,
    SMALL_FLOAT_F16,
    SMALL_FLOAT_BF16,
    SMALL_FLOAT_TF32, /* in a 32-bit word whose low 13 bits are dropped before anything else */
    SMALL_FLOAT_F32,
    SMALL_FLOAT_COUNT
};

struct small_float_format {
    uint8_t exponent_bits;
    uint8_t fraction_bits;
    uint8_t dropped_bits; /* low bits of the word that are no part of the number: 13 for tf32 */
    int16_t bias;
    bool has_inf;      /* exponent field all ones is Inf or NaN */
    bool top_word_nan; /* only the word with all bits but the sign set is NaN: e4m3 */
};

const struct small_float_format *small_float_format(enum small_float format);

enum small_float_class { SMALL_FLOAT_ZERO, SMALL_FLOAT_FINITE, SMALL_FLOAT_INF, SMALL_FLOAT_NAN };

/* value = (-1)^negative * significand * 2^(exponent - fraction_bits). A subnormal is not
 * normalised: it keeps the format's smallest exponent. */
struct small_float_value {
    enum small_float_class class;
    bool negative;
    uint8_t fraction_bits;
    int16_t exponent;
    uint32_t significand;
};

struct small_float_value small_float_decode(enum small_float format, uint32_t word);

#endif
