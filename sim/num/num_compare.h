#ifndef SILTWIN_NUM_COMPARE_H
#define SILTWIN_NUM_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bits.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_half.h"
#include "num_round.h"

/* How two floating-point words compare, for setp, set and slct. -0 equals +0; `unordered` when
 * either is NaN, the other three are then false (manual, "Floating Point Comparisons"). */
struct num_order {
    bool less, equal, greater, unordered;
};

NUM_INLINE struct num_order num_f32_order(uint32_t a, uint32_t b) {
    float x = bits_to_f32(a), y = bits_to_f32(b);
    bool nan = num_f32_is_nan(a) || num_f32_is_nan(b);
    return (struct num_order){!nan && x < y, !nan && x == y, !nan && x > y, nan};
}

NUM_INLINE struct num_order num_f64_order(uint64_t a, uint64_t b) {
    double x = bits_to_f64(a), y = bits_to_f64(b);
    bool nan = num_f64_is_nan(a) || num_f64_is_nan(b);
    return (struct num_order){!nan && x < y, !nan && x == y, !nan && x > y, nan};
}

NUM_INLINE struct num_order num_f16_order(uint16_t a, uint16_t b) {
    return num_f32_order(num_f16_to_f32(a), num_f16_to_f32(b));
}

NUM_INLINE struct num_order num_bf16_order(uint16_t a, uint16_t b) {
    return num_f32_order(num_bf16_to_f32(a), num_bf16_to_f32(b));
}

/* testp. Zero counts as normal and not as subnormal (manual; hw-H200-scalar). */
enum num_class_test {
    NUM_TEST_FINITE,
    NUM_TEST_INFINITE,
    NUM_TEST_NUMBER,
    NUM_TEST_NOTANUMBER,
    NUM_TEST_NORMAL,
    NUM_TEST_SUBNORMAL,
};

/* `magnitude` is the word without its sign, `infinity` and `smallest_normal` words of the type. */
NUM_INLINE bool num_class_test(uint64_t magnitude, uint64_t infinity, uint64_t smallest_normal,
                               enum num_class_test test) {
    bool subnormal = magnitude != 0 && magnitude < smallest_normal;
    switch (test) {
    case NUM_TEST_FINITE: return magnitude < infinity;
    case NUM_TEST_INFINITE: return magnitude == infinity;
    case NUM_TEST_NUMBER: return magnitude <= infinity;
    case NUM_TEST_NOTANUMBER: return magnitude > infinity;
    case NUM_TEST_NORMAL: return magnitude < infinity && !subnormal;
    case NUM_TEST_SUBNORMAL: return subnormal;
    }
    return false;
}

NUM_INLINE bool num_f32_testp(uint32_t a, enum num_class_test test) {
    return num_class_test(a & ~NUM_F32_SIGN, NUM_F32_INF, 0x00800000, test);
}

NUM_INLINE bool num_f64_testp(uint64_t a, enum num_class_test test) {
    return num_class_test(a & ~NUM_F64_SIGN, NUM_F64_INF, UINT64_C(0x0010000000000000), test);
}

#endif
