/* Double precision products: the order of the chain, and which NaN comes out of it. Words of an
 * H200 for every shape are in traces/silicon/h200/mma.conf (tests/exec/test_conformance.c). */
#include <criterion/criterion.h>

#include "bits.h"
#include "mma_f64.h"

enum { K = 4 };
#define QUIET UINT64_C(0x0008000000000000)
static const uint64_t one = UINT64_C(0x3ff0000000000000), inf = UINT64_C(0x7ff0000000000000);

/* A signalling NaN of its own for every operand. */
static uint64_t nan_of(unsigned which) {
    return UINT64_C(0xfff0000000000000) | (which + 1);
}

/* Ranks as silicon has them: b[3] first, then b[2], b[1], b[0], c, a[0], a[1], a[2], a[3]. */
Test(mma_f64, which_nan_comes_out) {
    size_t pairs = 0;
    for (unsigned first = 0; first < 2 * K + 1; first++)
        for (unsigned second = first; second < 2 * K + 1; second++, pairs++) {
            uint64_t a[K] = {one, one, one, one}, b[K] = {one, one, one, one}, c = one;
            uint64_t *const ranks[2 * K + 1] = {&b[3], &b[2], &b[1], &b[0], &c,
                                                &a[0], &a[1], &a[2], &a[3]};
            *ranks[first] = nan_of(first);
            *ranks[second] = nan_of(second);
            cr_assert_eq(mma_f64_dot(a, b, K, c, NUM_RN), nan_of(first) | QUIET);
        }
    cr_assert_eq(pairs, 45);
}

/* The NaN of an invalid step is the sum so far of the next. */
Test(mma_f64, invalid_steps) {
    const uint64_t a[K] = {one, inf, nan_of(0), one}, zero[K] = {one, 0, one, one};
    const uint64_t late[K] = {one, 0, one, nan_of(1)};
    cr_assert_eq(mma_f64_dot(a, zero, 2, one, NUM_RN), UINT64_C(0xfff8000000000000));
    cr_assert_eq(mma_f64_dot(a, zero, K, one, NUM_RN), UINT64_C(0xfff8000000000000));
    cr_assert_eq(mma_f64_dot(a, late, K, one, NUM_RN), nan_of(1) | QUIET);
}

/* 2^60 + 1 - 2^60 is 0 when the 1 is added second, and 1 when it is last. */
Test(mma_f64, order_of_the_sum) {
    const uint64_t big = bits_from_f64(0x1p60), ones[3] = {one, one, one};
    const uint64_t second[3] = {big, one, big | UINT64_C(1) << 63};
    const uint64_t last[3] = {big, big | UINT64_C(1) << 63, one};
    cr_assert_eq(mma_f64_dot(second, ones, 3, 0, NUM_RN), 0);
    cr_assert_eq(mma_f64_dot(last, ones, 3, 0, NUM_RN), one);
    cr_assert_eq(mma_f64_dot(second, ones, 3, 0, NUM_RP), bits_from_f64(256.0));
}
