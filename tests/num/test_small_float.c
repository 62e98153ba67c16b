#include <criterion/criterion.h>
#include <math.h>

#include "bits.h"
#include "small_float.h"

static double value_of(struct small_float_value v) {
    double magnitude = ldexp((double)v.significand, v.exponent - v.fraction_bits);
    return v.negative ? -magnitude : magnitude;
}

/* Every finite word of every format of at most 16 bits is the next representable number above its
 * predecessor by one unit of the last place, from zero upwards. */
Test(small_float, magnitudes_rise_by_one_unit) {
    for (int f = 0; f < SMALL_FLOAT_TF32; f++) {
        const struct small_float_format *format = small_float_format((enum small_float)f);
        unsigned width = 1u + format->exponent_bits + format->fraction_bits;
        double previous = 0;
        for (uint32_t word = 0; word >> (width - 1) == 0; word++) {
            struct small_float_value v = small_float_decode((enum small_float)f, word);
            struct small_float_value n =
                small_float_decode((enum small_float)f, word | UINT32_C(1) << (width - 1));
            cr_assert(n.negative && !v.negative && n.class == v.class);
            cr_assert_eq(value_of(n), -value_of(v));
            cr_assert_eq(v.class == SMALL_FLOAT_ZERO, word == 0);
            if (v.class == SMALL_FLOAT_INF || v.class == SMALL_FLOAT_NAN)
                continue;
            double unit = ldexp(1, v.exponent - v.fraction_bits);
            if (word != 0)
                cr_assert(value_of(v) - previous == unit || value_of(v) - previous == unit / 2);
            previous = value_of(v);
        }
    }
}

Test(small_float, largest_values_and_specials) {
    static const struct {
        enum small_float format;
        uint32_t word;
        double value;
    } largest[] = {
        {SMALL_FLOAT_E2M1, 0x7, 6},      {SMALL_FLOAT_E2M3, 0x1f, 7.5},
        {SMALL_FLOAT_E3M2, 0x1f, 28},    {SMALL_FLOAT_E4M3, 0x7e, 448},
        {SMALL_FLOAT_E5M2, 0x7b, 57344}, {SMALL_FLOAT_F16, 0x7bff, 65504},
    };
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) {
        struct small_float_value v = small_float_decode(largest[i].format, largest[i].word);
        cr_expect_eq(v.class, SMALL_FLOAT_FINITE);
        cr_expect_eq(value_of(v), largest[i].value);
    }
    cr_expect_eq(small_float_decode(SMALL_FLOAT_E4M3, 0xff).class, SMALL_FLOAT_NAN);
    cr_expect_eq(small_float_decode(SMALL_FLOAT_E5M2, 0x7c).class, SMALL_FLOAT_INF);
    cr_expect_eq(small_float_decode(SMALL_FLOAT_E5M2, 0x7d).class, SMALL_FLOAT_NAN);
    cr_expect_eq(small_float_decode(SMALL_FLOAT_TF32, 0x7f800001).class, SMALL_FLOAT_INF);
    cr_expect_eq(small_float_decode(SMALL_FLOAT_TF32, 0x7f802000).class, SMALL_FLOAT_NAN);
    cr_expect_eq(small_float_decode(SMALL_FLOAT_TF32, 0x1fff).class, SMALL_FLOAT_ZERO);
}

Test(small_float, f32_and_bf16_agree_with_the_host) {
    uint32_t word = 1;
    for (int i = 0; i < 100000; i++, word = word * 1664525 + 1013904223) {
        struct small_float_value v = small_float_decode(SMALL_FLOAT_F32, word);
        struct small_float_value b = small_float_decode(SMALL_FLOAT_BF16, word >> 16);
        if (v.class == SMALL_FLOAT_ZERO || v.class == SMALL_FLOAT_FINITE)
            cr_assert_eq(value_of(v), (double)bits_to_f32(word));
        if (b.class == SMALL_FLOAT_ZERO || b.class == SMALL_FLOAT_FINITE)
            cr_assert_eq(value_of(b), (double)bits_to_f32(word & 0xffff0000));
        cr_assert_eq(v.class == SMALL_FLOAT_INF, isinf(bits_to_f32(word)));
        cr_assert_eq(b.class == SMALL_FLOAT_NAN, isnan(bits_to_f32(word & 0xffff0000)));
    }
}
