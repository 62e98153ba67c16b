#include <criterion/criterion.h>

#include "num_ftz.h"
#include "num_half.h"
#include "num_wide.h"
#include "num_words.h"
#include "support.h"

enum { ROUNDS = 400000 };

/* Exact sum of products, rounded once: the meaning of every operation here. NaN and infinities by
 * doubles, which hold them all. */
static uint16_t exact_fma(enum num_type type, uint16_t a, uint16_t b, uint16_t c) {
    struct num_wide x = num_wide_decode(type, a), y = num_wide_decode(type, b);
    struct num_wide z = num_wide_decode(type, c);
    bool finite = x.kind <= NUM_FINITE && y.kind <= NUM_FINITE && z.kind <= NUM_FINITE;
    if (!finite) {
        double value = bits_to_f64(num_wide_encode(&x, NUM_F64, NUM_RN, false)) *
                           bits_to_f64(num_wide_encode(&y, NUM_F64, NUM_RN, false)) +
                       bits_to_f64(num_wide_encode(&z, NUM_F64, NUM_RN, false));
        struct num_wide r = num_wide_decode(NUM_F64, bits_from_f64(value));
        return (uint16_t)num_wide_encode(&r, type, NUM_RN, false);
    }
    struct num_wide product = num_wide_mul(&x, &y);
    struct num_wide sum = num_wide_add(&product, &z, NUM_RN);
    return (uint16_t)num_wide_encode(&sum, type, NUM_RN, false);
}

static void check_three(uint16_t a, uint16_t b, uint16_t c) {
    const uint16_t one = NUM_F16_ONE, bf16_one = 0x3f80, minus_zero = NUM_HALF_SIGN;
    cr_assert_eq(num_f16_fma(a, b, c), exact_fma(NUM_F16, a, b, c), "%04x %04x %04x", a, b, c);
    cr_assert_eq(num_f16_add(a, c), exact_fma(NUM_F16, a, one, c), "%04x %04x", a, c);
    cr_assert_eq(num_f16_mul(a, b),
                 exact_fma(NUM_F16, a, b, minus_zero ^ ((a ^ b) & 0x8000) ^ 0x8000), "%04x %04x", a,
                 b);
    cr_assert_eq(num_bf16_fma(a, b, c), exact_fma(NUM_BF16, a, b, c), "%04x %04x %04x", a, b, c);
    cr_assert_eq(num_bf16_add(a, c), exact_fma(NUM_BF16, a, bf16_one, c), "%04x %04x", a, c);
    cr_assert_eq(num_bf16_sub(a, c), exact_fma(NUM_BF16, a, bf16_one, c ^ NUM_HALF_SIGN));
    cr_assert_eq(num_bf16_mul(a, b), exact_fma(NUM_BF16, a, b, (a ^ b) & 0x8000), "%04x %04x", a,
                 b);
}

Test(num_half, arithmetic_is_exact_and_rounded_once) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        unsigned mantissa = i % 2 ? 10 : 7;
        uint16_t a = (uint16_t)num_test_word(3 * i, 16, mantissa);
        uint16_t b = (uint16_t)num_test_word(3 * i + 1, 16, mantissa);
        uint16_t c = (uint16_t)num_test_word(3 * i + 2, 16, mantissa);
        check_three(a, b, c);
        /* c at about half a unit of the product, where double rounding would show */
        uint16_t product = num_bf16_mul(a, b);
        check_three(a, b, (uint16_t)((product ^ (i & 0x8000)) - (8u << 7) - (i % 16 << 7)));
    }
}

/* Every f16 and bf16 word to f32 and back, and f32 words around every tie between two of them. */
static void check_conversions(enum num_type type, uint16_t (*from)(uint32_t), unsigned shift) {
    size_t checked = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        struct num_wide x = num_wide_decode(type, i);
        uint32_t word = (uint32_t)num_wide_encode(&x, NUM_F32, NUM_RN, false);
        uint16_t back = x.kind == NUM_NAN ? NUM_HALF_NAN : (uint16_t)i;
        cr_assert_eq(from(word), back, "%04x", i);
        for (int32_t d = -2; d <= 2; d++) {
            uint32_t near = word + (UINT32_C(1) << (shift - 1)) + (uint32_t)d;
            struct num_wide y = num_wide_decode(NUM_F32, near);
            cr_assert_eq(from(near), num_wide_encode(&y, type, NUM_RN, false), "%08x", near);
            checked++;
        }
    }
    report_rows(num_format(type)->name, checked);
}

Test(num_half, conversions_of_every_word) {
    check_conversions(NUM_F16, num_f16_from_f32, 13);
    check_conversions(NUM_BF16, num_bf16_from_f32, 16);
    for (uint32_t i = 0; i < 65536; i++) {
        struct num_wide x = num_wide_decode(NUM_F16, i);
        cr_assert_eq(num_f16_to_f32((uint16_t)i), num_wide_encode(&x, NUM_F32, NUM_RN, false));
    }
    /* f16 subnormals: f32 words of every exponent around them */
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t word = (uint32_t)(95 + i % 24) << 23 | ((uint32_t)hash_mix64(i) & 0x807fffff);
        struct num_wide x = num_wide_decode(NUM_F32, word);
        cr_assert_eq(num_f16_from_f32(word), num_wide_encode(&x, NUM_F16, NUM_RN, false));
    }
}

/* .ftz: flushed when rounding with an unbounded exponent leaves less than 2^-14. */
Test(num_half, f16_flushes_what_is_tiny_after_rounding) {
    size_t at_the_edge = 0;
    for (uint32_t a = 0x0400; a < 0x3c00; a++) {
        for (uint32_t d = 0; d < 64; d++) {
            uint16_t b = (uint16_t)(0x3c00u - (a & 0x7c00) + (hash_mix64(a * 64 + d) & 0x3ff));
            if ((b & 0x7c00) == 0 || b >= 0x7c00)
                continue;
            struct num_wide x = num_wide_decode(NUM_F16, a), y = num_wide_decode(NUM_F16, b);
            struct num_wide product = num_wide_mul(&x, &y), scaled = product;
            scaled.exponent += 10;
            uint64_t big = num_wide_encode(&scaled, NUM_F16, NUM_RN, false);
            uint64_t want = num_wide_encode(&product, NUM_F16, NUM_RN, false);
            if (big < 11 << 10)
                want = 0;
            at_the_edge += want == 0x0400;
            cr_assert_eq(num_f16_mul_ftz((uint16_t)a, b), want, "%04x %04x", a, b);
            cr_assert_eq(num_f16_fma_ftz((uint16_t)a, b, 0), want, "%04x %04x", a, b);
        }
    }
    cr_assert_gt(at_the_edge, 10);
}
