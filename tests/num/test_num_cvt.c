#include <criterion/criterion.h>
#include <math.h>

#include "num_cvt.h"
#include "num_f32.h"
#include "num_words.h"
#include "support.h"

/* The value of a small word by the definition of its format. */
static double value_of(const struct num_format *f, uint64_t word) {
    unsigned mantissa_bits = f->mantissa_bits;
    uint64_t mantissa = bits_get(word, 0, mantissa_bits);
    int biased = (int)bits_get(word, mantissa_bits, f->exponent_bits);
    double significand = (double)mantissa / (double)(1u << mantissa_bits) + (biased ? 1 : 0);
    double value = ldexp(significand, (biased ? biased : 1) - f->bias);
    return bits_get(word, f->bits - 1u, 1) ? -value : value;
}

/* The word of the greatest finite number is named by the manual: 448, 57344, 7.5, 28, 6. */
Test(num_cvt, small_formats_end_where_the_manual_says) {
    static const struct {
        enum num_type type;
        double max;
    } formats[] = {
        {NUM_E4M3, 448}, {NUM_E5M2, 57344}, {NUM_E2M3, 7.5}, {NUM_E3M2, 28}, {NUM_E2M1, 6}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct num_format *f = num_format(formats[i].type);
        cr_assert_float_eq(value_of(f, f->max), formats[i].max, 0);
        struct num_cvt to = {.to = formats[i].type, .from = NUM_F32, .satfinite = true};
        cr_assert_eq(num_cvt(&to, NUM_F32_INF), f->max);
        cr_assert_eq(num_cvt(&to, 0xffc00000), f->nan, "NaN is positive");
    }
}

/* Nearest of all words of the format, ties to the even word: by search. */
static uint64_t nearest(const struct num_format *f, double x) {
    uint64_t best = 0;
    for (uint64_t word = 1; word <= f->max; word++) {
        double here = fabs(fabs(x) - value_of(f, word)), there = fabs(fabs(x) - value_of(f, best));
        if (here < there || (!(here > there) && word % 2 == 0))
            best = word;
    }
    return best | (uint64_t)signbit(x) << (f->bits - 1);
}

Test(num_cvt, small_formats_both_ways) {
    static const enum num_type types[] = {NUM_E4M3, NUM_E5M2, NUM_E2M3, NUM_E3M2, NUM_E2M1};
    size_t checked = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct num_format *f = num_format(types[t]);
        for (uint32_t word = 0; word < 1u << f->bits; word++) {
            uint32_t magnitude = word & (uint32_t)bits_mask(f->bits - 1u);
            uint16_t half = num_cvt_small_to_f16(types[t], (uint8_t)word);
            struct num_wide x = num_wide_decode(NUM_F16, half);
            if (magnitude <= f->max)
                cr_assert_eq(num_wide_encode(&x, NUM_F64, NUM_RN, false),
                             bits_from_f64(value_of(f, word)), "%s %02x", f->name, word);
            else if (magnitude == f->inf)
                cr_assert_eq(half & 0x7fff, 0x7c00);
            else
                cr_assert_eq(half, 0x7fff);
        }
        struct num_cvt down = {.to = types[t], .from = NUM_F16, .satfinite = true};
        for (uint32_t half = 0; half < 65536; half += 1) {
            struct num_wide x = num_wide_decode(NUM_F16, half);
            if (x.kind > NUM_FINITE || (half % 7 != 0 && half % 256 > 3))
                continue;
            double value = bits_to_f64(num_wide_encode(&x, NUM_F64, NUM_RN, false));
            cr_assert_eq(num_cvt(&down, half), nearest(f, value), "%s of f16 %04x", f->name, half);
            checked++;
        }
    }
    report_rows("f16 words to fp8, fp6, fp4", checked);
}

Test(num_cvt, ue8m0) {
    static const struct {
        uint32_t f32;
        uint8_t down, up;
    } cases[] = {
        {0, 0, 0},
        {0x00000001, 0, 0},
        {0x00400000, 0, 0},
        {0x00400001, 0, 1},
        {0x00800000, 1, 1},
        {0x00800001, 1, 2},
        {0x3f800000, 127, 127},
        {0xbf800001, 127, 128},
        {0x7f000000, 254, 254},
        {0x7f000001, 254, 255},
        {0x7f800000, 255, 255},
        {0x7fc00000, 255, 255},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(num_ue8m0_from_f32(cases[i].f32, false, false), cases[i].down, "%08x",
                     cases[i].f32);
        cr_assert_eq(num_ue8m0_from_f32(cases[i].f32, true, false), cases[i].up, "%08x",
                     cases[i].f32);
    }
    cr_assert_eq(num_ue8m0_from_f32(0x7f000001, true, true), 254);
    cr_assert_eq(num_ue8m0_from_f32(NUM_F32_INF, false, true), 254);
    cr_assert_eq(num_ue8m0_from_f32(0x7fc00000, false, true), 255);
    for (unsigned word = 0; word < 255; word++) {
        uint16_t bf16 = num_ue8m0_to_bf16((uint8_t)word);
        cr_assert_float_eq(bits_to_f32((uint32_t)bf16 << 16), ldexpf(1, (int)word - 127), 0);
        cr_assert_eq(num_ue8m0_from_bf16(bf16, true, false), word);
    }
    cr_assert_eq(num_ue8m0_to_bf16(255), 0x7fff);
}

/* Integers through the widest float and back, every rounding, against the host's casts. */
Test(num_cvt, integers) {
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t word = num_test_word(i, 64, 40);
        struct num_cvt down = {.to = NUM_F32, .from = NUM_S64};
        cr_assert_eq(num_cvt(&down, word), bits_from_f32((float)(int64_t)word));
        struct num_cvt up = {.to = NUM_F64, .from = NUM_U64};
        cr_assert_eq(num_cvt(&up, word), bits_from_f64((double)word));
        struct num_cvt back = {.to = NUM_S32, .from = NUM_F64, .round = NUM_RZ, .integral = true};
        double value = bits_to_f64(word);
        if (fabs(value) < 2147483648.0)
            cr_assert_eq(num_cvt(&back, word), (uint64_t)(int64_t)(int32_t)value);
    }
}
