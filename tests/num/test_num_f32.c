#include <criterion/criterion.h>
#include <fenv.h>

#include "num_f32.h"
#include "num_ftz.h"
#include "num_minmax.h"
#include "num_wide.h"
#include "num_words.h"

enum { ROUNDS = 200000 };

static const int host_mode[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* The host's own operation in that rounding mode. */
static uint32_t host(int op, uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    volatile float x = bits_to_f32(a), y = bits_to_f32(b), z = bits_to_f32(c), r = 0;
    fesetround(host_mode[mode]);
    switch (op) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = x / y; break;
    case 4: r = sqrtf(x); break;
    default: r = fmaf(x, y, z); break;
    }
    fesetround(FE_TONEAREST);
    uint32_t word = bits_from_f32(r);
    return num_f32_is_nan(word) ? NUM_F32_NAN : word;
}

static uint32_t ours(int op, uint32_t a, uint32_t b, uint32_t c, enum num_round mode) {
    switch (op) {
    case 0: return num_f32_add(a, b, mode);
    case 1: return num_f32_sub(a, b, mode);
    case 2: return num_f32_mul(a, b, mode);
    case 3: return num_f32_div(a, b, mode);
    case 4: return num_f32_sqrt(a, mode);
    default: return num_f32_fma(a, b, c, mode);
    }
}

Test(num_f32, rounds_as_a_conforming_host) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t a = (uint32_t)num_test_word(3 * i, 32, 23);
        uint32_t b = (uint32_t)num_test_word(3 * i + 1, 32, 23);
        uint32_t c = (uint32_t)num_test_word(3 * i + 2, 32, 23);
        for (int op = 0; op < 6; op++) {
            enum num_round mode = (enum num_round)((i + (unsigned)op) % 4);
            uint32_t want = host(op, a, b, c, mode), got = ours(op, a, b, c, mode);
            cr_assert_eq(got, want, "op %d mode %d of %08x %08x %08x: %08x, host %08x", op,
                         (int)mode, a, b, c, got, want);
        }
    }
}

/* Sums that cancel: c is near -a*b. */
Test(num_f32, fused_cancellation) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t a = (uint32_t)num_test_word(2 * i, 32, 23), b = (uint32_t)hash_mix64(i);
        uint32_t c = num_f32_mul(a, b, NUM_RN) ^ NUM_F32_SIGN;
        c += (uint32_t)(i % 3) - 1;
        enum num_round mode = (enum num_round)(i % 4);
        cr_assert_eq(ours(5, a, b, c, mode), host(5, a, b, c, mode), "%08x %08x %08x mode %d", a, b,
                     c, (int)mode);
    }
}

/* .ftz by exact numbers: flushed when rounding with an unbounded exponent leaves less than 2^-126.
 */
static uint32_t flushed(const struct num_wide *exact, enum num_round mode) {
    struct num_wide scaled = *exact;
    scaled.exponent += 100;
    uint32_t big = (uint32_t)num_wide_encode(&scaled, NUM_F32, mode, false);
    uint32_t word = (uint32_t)num_wide_encode(exact, NUM_F32, mode, false);
    bool tiny = (big & ~NUM_F32_SIGN) < UINT32_C(101) << 23;
    return tiny ? word & NUM_F32_SIGN : word;
}

Test(num_f32, flushes_what_is_tiny_after_rounding) {
    size_t at_the_edge = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t a = (uint32_t)hash_mix64(2 * i);
        /* b makes the product about 2^-126. */
        uint32_t exponent = 127 + 128 - ((a >> 23) & 0xff);
        uint32_t b = (exponent & 0xff) << 23 | ((uint32_t)hash_mix64(2 * i + 1) & 0x7fffff);
        b = i % 2 ? num_f32_div(0x00800000 - (uint32_t)(i % 5), a, NUM_RN) : b;
        if ((a & NUM_F32_INF) == NUM_F32_INF || (b & NUM_F32_INF) == NUM_F32_INF)
            continue;
        struct num_wide x = num_wide_decode(NUM_F32, num_f32_flush(a));
        struct num_wide y = num_wide_decode(NUM_F32, num_f32_flush(b));
        struct num_wide product = num_wide_mul(&x, &y);
        enum num_round mode = (enum num_round)(i % 4);
        uint32_t want = flushed(&product, mode);
        at_the_edge += (want & ~NUM_F32_SIGN) == 0x00800000;
        cr_assert_eq(num_f32_mul_ftz(a, b, mode), want, "%08x * %08x mode %d", a, b, (int)mode);
        struct num_wide zero = {.kind = NUM_ZERO};
        struct num_wide sum = num_wide_add(&product, &zero, mode);
        cr_assert_eq(num_f32_fma_ftz(a, b, 0, mode), flushed(&sum, mode));
    }
    cr_assert_gt(at_the_edge, 100);
}

Test(num_f32, minmax_orders_zeros_and_numbers) {
    const struct num_minmax max = {.max = true}, min = {0}, max_nan = {.max = true, .nan = true};
    cr_assert_eq(num_f32_minmax(0, NUM_F32_SIGN, max), 0);
    cr_assert_eq(num_f32_minmax(NUM_F32_SIGN, 0, max), 0);
    cr_assert_eq(num_f32_minmax(0, NUM_F32_SIGN, min), NUM_F32_SIGN);
    cr_assert_eq(num_f32_minmax(0x7fa00001, 0xc0000000, max), 0xc0000000);
    cr_assert_eq(num_f32_minmax(0x7fa00001, 0xc0000000, max_nan), NUM_F32_NAN);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint32_t a = (uint32_t)num_test_word(2 * i, 32, 23);
        uint32_t b = (uint32_t)num_test_word(2 * i + 1, 32, 23);
        if (num_f32_is_nan(a) || num_f32_is_nan(b) || ((a | b) & ~NUM_F32_SIGN) == 0)
            continue;
        float greater = fmaxf(bits_to_f32(a), bits_to_f32(b));
        cr_assert(bits_to_f32(num_f32_minmax(a, b, max)) == greater, "%08x %08x", a, b);
        uint32_t other = num_f32_minmax(a, b, min) ^ num_f32_minmax(a, b, max);
        cr_assert_eq(other, a ^ b);
    }
}
