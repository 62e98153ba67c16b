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

/* A sequence of instructions on silicon whose 120 answers are the correctly rounded root: one
 * Newton step with an exact residual, on the number without its exponent. */
uint64_t num_approx_rsqrt_f64(uint64_t x) {
    bool special = num_f64_is_nan(x) || x >> 63 || x == 0 || x == NUM_F64_INF;
    if (special)
        return num_f64_word(1 / sqrt(bits_to_f64(x)), x, x);
    int exponent;
    double m = frexp(bits_to_f64(x), &exponent);
    if (exponent % 2 != 0) {
        m *= 2;
        exponent--;
    }
    double y = 1 / sqrt(m);
    double product = m * y, product_rest = fma(m, y, -product);
    double square = product * y, square_rest = fma(product, y, -square);
    double residual = ((1 - square) - square_rest) - product_rest * y;
    return bits_from_f64(ldexp(y + y * residual * (0.5 + 0.375 * residual), -exponent / 2));
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
