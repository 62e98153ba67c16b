#include <criterion/criterion.h>
#include <fenv.h>

#include "num_f64.h"
#include "num_words.h"

enum { ROUNDS = 200000 };

static const int host_mode[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static uint64_t host(int op, uint64_t a, uint64_t b, uint64_t c, enum num_round mode) {
    volatile double x = bits_to_f64(a), y = bits_to_f64(b), z = bits_to_f64(c), r = 0;
    fesetround(host_mode[mode]);
    switch (op) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = x / y; break;
    case 4: r = sqrt(x); break;
    default: r = fma(x, y, z); break;
    }
    fesetround(FE_TONEAREST);
    return bits_from_f64(r);
}

static uint64_t ours(int op, uint64_t a, uint64_t b, uint64_t c, enum num_round mode) {
    switch (op) {
    case 0: return num_f64_add(a, b, mode);
    case 1: return num_f64_sub(a, b, mode);
    case 2: return num_f64_mul(a, b, mode);
    case 3: return num_f64_div(a, b, mode);
    case 4: return num_f64_sqrt(a, mode);
    default: return num_f64_fma(a, b, c, mode);
    }
}

static void compare(int op, uint64_t a, uint64_t b, uint64_t c, enum num_round mode) {
    uint64_t want = host(op, a, b, c, mode), got = ours(op, a, b, c, mode);
    if (num_f64_is_nan(want))
        cr_assert(num_f64_is_nan(got));
    else
        cr_assert_eq(got, want, "op %d mode %d of %llx %llx %llx: %llx, host %llx", op, (int)mode,
                     (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                     (unsigned long long)got, (unsigned long long)want);
}

Test(num_f64, rounds_as_a_conforming_host) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t a = num_test_word(3 * i, 64, 52), b = num_test_word(3 * i + 1, 64, 52);
        uint64_t c = num_test_word(3 * i + 2, 64, 52);
        for (int op = 0; op < 6; op++)
            compare(op, a, b, c, (enum num_round)((i + (unsigned)op) % 4));
    }
}

Test(num_f64, near_operands_and_cancellation) {
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t a = num_test_word(2 * i, 64, 52), b = hash_mix64(i);
        uint64_t near = a ^ NUM_F64_SIGN ^ (hash_mix64(b) & 0x00700000000000ff);
        uint64_t product = num_f64_mul(a, b, NUM_RN) ^ NUM_F64_SIGN;
        compare(0, a, near, 0, (enum num_round)(i % 4));
        compare(5, a, b, product + i % 3 - 1, (enum num_round)(i / 4 % 4));
    }
}

Test(num_f64, nan_words) {
    const uint64_t signalling = UINT64_C(0xfff0000000000001), one = NUM_F64_ONE;
    const uint64_t quiet = UINT64_C(0x7ff8000000012345);
    cr_assert_eq(num_f64_add(NUM_F64_INF, NUM_F64_INF | NUM_F64_SIGN, NUM_RN), NUM_F64_NAN);
    for (int mode = 0; mode < 4; mode++) {
        enum num_round m = (enum num_round)mode;
        cr_assert_eq(num_f64_mul(quiet, signalling, m), num_f64_quiet(signalling));
        cr_assert_eq(num_f64_div(quiet, signalling, m), quiet);
        cr_assert_eq(num_f64_sub(one, quiet, m), quiet);
        cr_assert_eq(num_f64_fma(quiet, signalling, one, m), num_f64_quiet(signalling));
        cr_assert_eq(num_f64_sqrt(one | NUM_F64_SIGN, m), NUM_F64_NAN);
    }
    cr_assert_eq(num_f64_minmax(quiet, one, true), one);
    cr_assert_eq(num_f64_minmax(one, signalling, false), one);
    cr_assert_eq(num_f64_minmax(quiet, signalling, true), num_f64_quiet(signalling));
}
