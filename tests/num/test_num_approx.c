#include <criterion/criterion.h>
#include <math.h>

#include "hash.h"
#include "num_approx.h"
#include "num_f32.h"
#include "num_f64.h"
#include "support.h"

enum { ROUNDS = 100000 };

/* Within two units in the last place of the true value in long double. */
static bool near(uint32_t got, long double truth) {
    int32_t distance = (int32_t)(got - num_f32_word((float)truth));
    return distance <= 2 && distance >= -2;
}

static uint32_t normal_word(uint64_t i) {
    uint32_t word = (uint32_t)hash_mix64(i) & 0x7fffffff;
    return word < 0x00800000 || word >= NUM_F32_INF ? 0x3f800000 + (word & 0x7fffff) : word;
}

Test(num_approx, close_to_the_true_value) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t x = normal_word(i);
        long double v = bits_to_f32(x);
        cr_assert(near(num_approx_rcp(x, false), 1 / v), "rcp %08x", x);
        cr_assert(near(num_approx_sqrt(x, false), sqrtl(v)), "sqrt %08x", x);
        cr_assert(near(num_approx_rsqrt(x, false), 1 / sqrtl(v)), "rsqrt %08x", x);
        uint32_t log = num_approx_lg2(x, false);
        cr_assert(near(log, log2l(v)) || fabsl(bits_to_f32(log) - log2l(v)) <= 0x1p-22L, "lg2 %08x",
                  x);
        uint32_t e = (x & 0x83ffffff) | 0x40000000; /* 2 to 8 and subnormal results below */
        cr_assert(near(num_approx_ex2(e, false), exp2l(bits_to_f32(e))), "ex2 %08x", e);
        cr_assert_float_eq(bits_to_f32(num_approx_tanh(x)), tanhl(v), 0x1p-16, "tanh %08x", x);
        uint32_t angle = (x & 0x007fffff) | 0x3f000000; /* half to one */
        cr_assert_float_eq(bits_to_f32(num_approx_sin(angle)), sinl(bits_to_f32(angle)), 0x1p-20);
        cr_assert_float_eq(bits_to_f32(num_approx_cos(angle)), cosl(bits_to_f32(angle)), 0x1p-20);
    }
}

Test(num_approx, whole_circle) {
    for (int i = -4000; i <= 4000; i++) {
        float angle = (float)i * 0.0015f;
        cr_assert_float_eq(bits_to_f32(num_approx_sin(bits_from_f32(angle))), sinf(angle), 1e-6);
        cr_assert_float_eq(bits_to_f32(num_approx_cos(bits_from_f32(angle))), cosf(angle), 1e-6);
    }
}

/* The manual's tables of special operands. */
Test(num_approx, special_operands) {
    const uint32_t inf = NUM_F32_INF, minus = NUM_F32_SIGN, nan = NUM_F32_NAN, sub = 1;
    cr_assert_eq(num_approx_rcp(minus, false), inf | minus);
    cr_assert_eq(num_approx_rcp(sub, true), inf);
    cr_assert_eq(num_approx_rcp(inf | minus, false), minus);
    cr_assert_eq(num_approx_sqrt(minus, false), minus);
    cr_assert_eq(num_approx_sqrt(sub | minus, true), minus);
    cr_assert_eq(num_approx_sqrt(sub | minus, false), nan);
    cr_assert_eq(num_approx_rsqrt(minus, false), inf | minus);
    cr_assert_eq(num_approx_rsqrt(inf, false), 0);
    cr_assert_eq(num_approx_lg2(minus, false), inf | minus);
    cr_assert_eq(num_approx_lg2(sub, true), inf | minus);
    cr_assert_eq(num_approx_lg2(sub, false), bits_from_f32(-149.0f));
    cr_assert_eq(num_approx_ex2(inf | minus, false), 0);
    cr_assert_eq(num_approx_ex2(inf, false), inf);
    cr_assert_eq(num_approx_ex2(minus, false), NUM_F32_ONE);
    cr_assert_eq(num_approx_sin(inf), nan);
    cr_assert_eq(num_approx_cos(inf | minus), nan);
    cr_assert_eq(num_approx_sin(minus), minus);
    cr_assert_eq(num_approx_cos(minus), NUM_F32_ONE);
    cr_assert_eq(num_approx_tanh(sub), sub);
    cr_assert_eq(num_approx_tanh(inf | minus), NUM_F32_ONE | minus);
    cr_assert_eq(num_approx_tanh_f16(0x8000), 0x8000);
    cr_assert_eq(num_approx_tanh_bf16(0x8000), 0x8000);
    cr_assert_eq(num_approx_div(NUM_F32_ONE, 0x7f000000, false), 0);
    cr_assert_eq(num_approx_div(inf, 0x7f7fffff, false), nan);
    cr_assert_eq(num_approx_div_full(NUM_F32_ONE, 0x7f000000, false), 0x00400000);
    cr_assert_eq(num_approx_rcp_f64(0), NUM_F64_INF);
    cr_assert_eq(num_approx_rcp_f64(UINT64_C(0x7ff8000000000001)), UINT64_C(0x7fffffff00000000));
    cr_assert_eq(num_approx_rsqrt_f64(UINT64_C(0x3fefffffffffffff)), NUM_F64_ONE);
    cr_assert_eq(num_approx_rsqrt_f64(UINT64_C(0x4010000000000000)), UINT64_C(0x3fe0000000000000));
    cr_assert_eq(num_approx_rsqrt_f64(1), UINT64_C(0x6180000000000000)); /* 2^-1074: 2^537 */
    cr_assert_eq(num_approx_rsqrt_f64(NUM_F64_SIGN), NUM_F64_SIGN | NUM_F64_INF);
    cr_assert_eq(num_approx_rsqrt_f64(NUM_F64_SIGN | 1), NUM_F64_NAN);
    cr_assert_eq(num_approx_rsqrt_f64(NUM_F64_INF), 0);
    cr_assert_eq(num_approx_rsqrt_f64(NUM_F64_SIGN | (NUM_F64_INF + 1)),
                 NUM_F64_SIGN | UINT64_C(0x7ff8000000000001));
}

/* All 65,536 results of the half functions, as one digest each; an H200 gave the same (2026-11-29,
 * driver 580). */
Test(num_approx, half_functions_of_every_operand) {
    static const struct {
        const char *name;
        uint16_t (*function)(uint16_t);
        uint64_t digest;
    } cases[] = {
        {"ex2.approx.f16", num_approx_ex2_f16, UINT64_C(0x377a6e30fa57a13e)},
        {"tanh.approx.f16", num_approx_tanh_f16, UINT64_C(0x6674f3e81188252a)},
        {"ex2.approx.ftz.bf16", num_approx_ex2_bf16, UINT64_C(0x8805be6999a9d1f7)},
        {"tanh.approx.bf16", num_approx_tanh_bf16, UINT64_C(0xfe26d52dbbbb0465)},
    };
    static uint8_t bytes[65536][2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t x = 0; x < 65536; x++) {
            uint16_t word = cases[i].function((uint16_t)x);
            bytes[x][0] = (uint8_t)word;
            bytes[x][1] = (uint8_t)(word >> 8);
        }
        cr_assert_eq(hash_bytes(0, bytes, sizeof bytes), cases[i].digest, "%s", cases[i].name);
    }
    report_rows("half functions, by digest", 4 * 65536);
}

/* sin and cos of 2^21 operands from 2^-7 to 2, chained; an H200 gave the same. */
Test(num_approx, sin_and_cos_of_an_h200) {
    uint64_t sine = 0, cosine = 0;
    for (uint32_t i = 0; i < 1u << 21; i++) {
        sine = hash_mix64(sine ^ num_approx_sin(0x3c000000 + 32 * i));
        cosine = hash_mix64(cosine ^ num_approx_cos(0x3c000000 + 32 * i));
    }
    cr_assert_eq(sine, UINT64_C(0x7e2801c8bf158aa3));
    cr_assert_eq(cosine, UINT64_C(0x2ae6c709047a9812));
    report_rows("sin and cos, by digest", 2u << 21);
}

/* tanh of 15 octaves from 2^-10, chained; an H200 gave the same. */
Test(num_approx, tanh_of_an_h200) {
    uint64_t digest = 0;
    for (uint32_t i = 0; i < 15u << 18; i++)
        digest = hash_mix64(digest ^ num_approx_tanh(0x3a800000 + 32 * i));
    cr_assert_eq(digest, UINT64_C(0x73a6f71d146ffb18));
    report_rows("tanh, by digest", 15u << 18);
}
