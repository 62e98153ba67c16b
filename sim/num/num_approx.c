#include "num_approx.h"

#include <math.h>

#include "bits.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_ftz.h"
#include "num_half.h"
#include "num_sfu.h"
#include "num_wide.h"

/* Scale factors as words. */
static uint32_t power_of_two(int exponent) {
    return (uint32_t)(127 + exponent) << 23;
}
static uint32_t scaled(uint32_t x, int exponent) {
    return num_f32_mul(x, power_of_two(exponent), NUM_RN);
}
static bool is_below_normal(uint32_t x) {
    return (x & ~NUM_F32_SIGN) < 0x00800000;
}
static bool is_above_2_126(uint32_t x) {
    uint32_t magnitude = x & ~NUM_F32_SIGN;
    return magnitude > power_of_two(126) && magnitude <= NUM_F32_INF;
}

uint32_t num_approx_rcp(uint32_t x, bool ftz) {
    if (ftz)
        return num_sfu_rcp(x);
    int scale = is_below_normal(x) ? 24 : is_above_2_126(x) ? -2 : 0;
    return scaled(num_sfu_rcp(scaled(x, scale)), scale);
}

uint32_t num_approx_sqrt(uint32_t x, bool ftz) {
    if (ftz || !is_below_normal(x))
        return num_sfu_sqrt(x);
    return scaled(num_sfu_sqrt(scaled(x, 24)), -12);
}

uint32_t num_approx_rsqrt(uint32_t x, bool ftz) {
    if (ftz || !is_below_normal(x))
        return num_sfu_rsqrt(x);
    return scaled(num_sfu_rsqrt(scaled(x, 24)), 12);
}

uint32_t num_approx_ex2(uint32_t x, bool ftz) {
    bool low = bits_to_f32(x) < -126.0f;
    if (ftz || !low)
        return num_sfu_ex2(x);
    uint32_t root = num_sfu_ex2(scaled(x, -1));
    return num_f32_mul(root, root, NUM_RN);
}

uint32_t num_approx_lg2(uint32_t x, bool ftz) {
    if (ftz || !is_below_normal(x))
        return num_sfu_lg2(x);
    return num_f32_sub(num_sfu_lg2(scaled(x, 24)), bits_from_f32(24.0f), NUM_RN);
}

/* The unit takes turns: the wrapper multiplies by 1 / 2 pi, rounding toward zero. */
static uint32_t turns_of(uint32_t x) {
    return num_f32_mul(x, 0x3e22f983, NUM_RZ);
}

uint32_t num_approx_sin(uint32_t x) {
    return num_sfu_sin(turns_of(x));
}

uint32_t num_approx_cos(uint32_t x) {
    return num_sfu_cos(turns_of(x));
}

uint32_t num_approx_tanh(uint32_t x) {
    return num_sfu_tanh(x);
}

uint32_t num_approx_div(uint32_t a, uint32_t b, bool ftz) {
    if (ftz)
        return num_f32_mul_ftz(num_sfu_rcp(b), a, NUM_RN);
    if (is_below_normal(b)) {
        a = scaled(a, 24);
        b = scaled(b, 24);
    }
    return num_f32_mul(num_sfu_rcp(b), a, NUM_RN);
}

uint32_t num_approx_div_full(uint32_t a, uint32_t b, bool ftz) {
    if (is_above_2_126(b)) {
        a = ftz ? num_f32_mul_ftz(a, power_of_two(-2), NUM_RN) : scaled(a, -2);
        b = scaled(b, -2);
    }
    return num_approx_div(a, b, ftz);
}

/* Reads and gives an upper word. */
uint64_t num_approx_rcp_f64(uint64_t x) {
    return (uint64_t)num_sfu_rcp_f64((uint32_t)(x >> 32)) << 32;
}

uint64_t num_approx_rsqrt_ftz_f64(uint64_t x) {
    return (uint64_t)num_sfu_rsqrt_f64((uint32_t)(x >> 32)) << 32;
}

/* One Newton step from the unit's root of the upper word: what ptxas 13.0 makes of the instruction,
 * as its machine code for sm_90a shows; 2^24 operands of it on an H200. */
static double rsqrt_step(double x) {
    uint64_t upper = (uint64_t)num_sfu_rsqrt_f64((uint32_t)(bits_from_f64(x) >> 32)) << 32;
    double y = bits_to_f64(upper);
    double residual = fma(x, -(y * y), 1);
    return fma(fma(residual, 0.375, 0.5), y * residual, y);
}

uint64_t num_approx_rsqrt_f64(uint64_t x) {
    if ((x & ~NUM_F64_SIGN) == 0)
        return (x & NUM_F64_SIGN) | NUM_F64_INF;
    if (num_f64_is_nan(x))
        return num_f64_quiet(x);
    if (x & NUM_F64_SIGN)
        return NUM_F64_NAN;
    if (x == NUM_F64_INF)
        return 0;
    bool subnormal = x >> 52 == 0;
    double root = rsqrt_step(bits_to_f64(x) * (subnormal ? 0x1p54 : 1));
    return bits_from_f64(root * (subnormal ? 0x1p27 : 1));
}

/* A half function is the unit's result cut to the format (all 65,536 operands of each on an H200).
 */
static uint16_t cut_to_f16(uint32_t word) {
    uint32_t magnitude = word & ~NUM_F32_SIGN;
    if (magnitude > NUM_F32_INF)
        return NUM_HALF_NAN;
    if (magnitude >= bits_from_f32(65536.0f))
        return (uint16_t)((word >> 16 & NUM_HALF_SIGN) | NUM_F16_INF);
    struct num_wide value = num_wide_decode(NUM_F32, word);
    return (uint16_t)num_wide_encode(&value, NUM_F16, NUM_RZ, false);
}

static uint16_t cut_to_bf16(uint32_t word) {
    return num_f32_is_nan(word) ? NUM_HALF_NAN : (uint16_t)(word >> 16);
}

uint16_t num_approx_ex2_f16(uint16_t x) {
    return cut_to_f16(num_sfu_ex2(num_f16_to_f32(x)));
}

uint16_t num_approx_tanh_f16(uint16_t x) {
    return cut_to_f16(num_sfu_tanh(num_f16_to_f32(x)));
}

uint16_t num_approx_ex2_bf16(uint16_t x) {
    return cut_to_bf16(num_sfu_ex2(num_bf16_to_f32(x)));
}

uint16_t num_approx_tanh_bf16(uint16_t x) {
    return cut_to_bf16(num_sfu_tanh(num_bf16_to_f32(x)));
}
