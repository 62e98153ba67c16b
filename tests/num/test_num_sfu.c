#include <criterion/criterion.h>
#include <math.h>

#include "bits.h"
#include "hash.h"
#include "num_f32.h"
#include "num_sfu.h"
#include "support.h"

/* Digests of what an H200 gave (2026-11-29, driver 580): the low bytes of the results of the
 * operands first + 8 i + i % 8. */
static const struct {
    const char *name;
    uint32_t (*function)(uint32_t);
    uint32_t first;
    uint64_t digest;
} octaves[] = {
    {"rcp, 1 to 2", num_sfu_rcp, 0x3f800000, UINT64_C(0x1e20ec7c2bfe8635)},
    {"rsqrt, 1 to 2", num_sfu_rsqrt, 0x3f800000, UINT64_C(0x8c12c7982575cb76)},
    {"rsqrt, 2 to 4", num_sfu_rsqrt, 0x40000000, UINT64_C(0x53f4e01f882a3452)},
    {"sqrt, 1 to 2", num_sfu_sqrt, 0x3f800000, UINT64_C(0x1ff86604dde8f12e)},
    {"sqrt, 2 to 4", num_sfu_sqrt, 0x40000000, UINT64_C(0xbc3189d9043b948)},
    {"lg2, 2 to 4", num_sfu_lg2, 0x40000000, UINT64_C(0xe6aa269a3854998e)},
    {"ex2, 1 to 2", num_sfu_ex2, 0x3f800000, UINT64_C(0x8c5d836c7c5169cd)},
};

enum { OPERANDS = 1 << 20 };

Test(num_sfu, octaves_of_an_h200) {
    static uint8_t bytes[OPERANDS];
    for (size_t k = 0; k < sizeof octaves / sizeof *octaves; k++) {
        for (uint32_t i = 0; i < OPERANDS; i++)
            bytes[i] = (uint8_t)octaves[k].function(octaves[k].first + 8 * i + i % 8);
        cr_assert_eq(hash_bytes(0, bytes, sizeof bytes), octaves[k].digest, "%s", octaves[k].name);
    }
    report_rows("special function unit, by digest", sizeof octaves / sizeof *octaves * OPERANDS);
}

static bool within(uint32_t got, long double truth, int32_t units) {
    int32_t distance = (int32_t)(got - num_f32_word((float)truth));
    return distance <= units && distance >= -units;
}

/* The manual's bounds, over all exponents. */
Test(num_sfu, near_the_true_value_everywhere) {
    for (uint64_t i = 0; i < 200000; i++) {
        uint32_t x = (uint32_t)hash_mix64(i) & 0x7fffffff;
        if (x < 0x00800000 || x >= 0x7e000000)
            continue;
        long double v = bits_to_f32(x);
        cr_assert(within(num_sfu_rcp(x), 1 / v, 1), "rcp %08x", x);
        cr_assert(within(num_sfu_rsqrt(x), 1 / sqrtl(v), 2), "rsqrt %08x", x);
        cr_assert(within(num_sfu_sqrt(x), sqrtl(v), 1), "sqrt %08x", x);
        long double log = log2l(v);
        cr_assert(within(num_sfu_lg2(x), log, 2) ||
                      fabsl(bits_to_f32(num_sfu_lg2(x)) - log) <= 0x1p-22L,
                  "lg2 %08x", x);
        uint32_t e = (x & 0x027fffff) | (i % 2 ? 0xc0000000 : 0x40000000); /* 2 to 64 */
        cr_assert(within(num_sfu_ex2(e), exp2l(bits_to_f32(e)), 2), "ex2 %08x", e);
    }
}

Test(num_sfu, exact_points) {
    for (int e = -126; e < 127; e++) {
        uint32_t power = (uint32_t)(e + 127) << 23;
        cr_assert_eq(num_sfu_ex2(bits_from_f32((float)e)), power);
        if (e > -126)
            cr_assert_eq(num_sfu_rcp(power), (uint32_t)(127 - e) << 23);
        if (e % 2 == 0) {
            cr_assert_eq(num_sfu_sqrt(power), (uint32_t)(127 + e / 2) << 23);
            cr_assert_eq(num_sfu_rsqrt(power), (uint32_t)(127 - e / 2) << 23);
        }
    }
    cr_assert_eq(num_sfu_lg2(NUM_F32_ONE), 0);
    cr_assert_eq(num_sfu_lg2(0x00800000), 0xc2fbffff); /* oracle: above -126 */
    cr_assert_eq(num_sfu_rcp_f64(0x3ff00000), 0x3ff00000);
    cr_assert_eq(num_sfu_rsqrt_f64(0x40100000), 0x3fe00000);
    cr_assert_eq(num_sfu_rcp_f64(0xc23adf35), 0xbda30da9); /* oracle */
}
