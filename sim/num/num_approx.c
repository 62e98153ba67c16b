#include "num_approx.h"
#include "num_ftz.h"

#include <math.h>

#include "bits.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_half.h"
#include "num_sfu.h"
#include "num_wide.h"

/* Elementary functions in double, far closer to the true value than any result here needs: Taylor
 * polynomials after exact reductions. libm is not used for them: its last bits differ from one
 * version to the next. */

static double polynomial(double x, const double *coefficients, int count) {
    double sum = 0;
    for (int i = count - 1; i >= 0; i--)
        sum = sum * x + coefficients[i];
    return sum;
}

static double exp2_exact(double x) {
    if (x > 2000)
        return INFINITY;
    if (x < -2000)
        return 0;
    static const double inverse_factorials[] = {1,
                                                1.0 / 1,
                                                1.0 / 2,
                                                1.0 / 6,
                                                1.0 / 24,
                                                1.0 / 120,
                                                1.0 / 720,
                                                1.0 / 5040,
                                                1.0 / 40320,
                                                1.0 / 362880,
                                                1.0 / 3628800,
                                                1.0 / 39916800,
                                                1.0 / 479001600,
                                                1.0 / 6227020800.0};
    double whole = rint(x);
    double y = (x - whole) * 0x1.62e42fefa39efp-1; /* ln 2 */
    return ldexp(polynomial(y, inverse_factorials, 14), (int)whole);
}

static double tanh_exact(double x) {
    if (fabs(x) < 0x1p-10)
        return x * (1 - x * x / 3); /* keeps the sign of a zero */
    if (fabs(x) > 100)
        return x > 0 ? 1 : -1;
    double e = exp2_exact(2 * x * 0x1.71547652b82fep+0);
    return (e - 1) / (e + 1);
}

static double operand(uint32_t x) {
    return (double)bits_to_f32(num_f32_flush(x));
}

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
    if (num_f32_is_nan(x))
        return NUM_F32_NAN;
    return is_below_normal(x) ? x : num_f32_word((float)tanh_exact((double)bits_to_f32(x)));
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

/* ex2 of a half: the operand is cut to 23 places behind the point, the result is cut to the format,
 * not rounded. All 65,536 results of an H200 in both types. */
static uint32_t ex2_cut(double x) {
    double cut = fabs(x) < 0x1p20 ? trunc(x * 0x1p23) * 0x1p-23 : x;
    double value = exp2_exact(cut);
    return value >= 0x1p128 ? NUM_F32_INF : num_f32_narrow(value, NUM_RZ);
}

uint16_t num_approx_ex2_f16(uint16_t x) {
    if (num_f16_is_nan(x))
        return NUM_HALF_NAN;
    uint32_t word = ex2_cut((double)bits_to_f32(num_f16_to_f32(x)));
    if (word >= bits_from_f32(65536.0f))
        return NUM_F16_INF;
    struct num_wide value = num_wide_decode(NUM_F32, word);
    return (uint16_t)num_wide_encode(&value, NUM_F16, NUM_RZ, false);
}

uint16_t num_approx_ex2_bf16(uint16_t x) {
    if (num_bf16_is_nan(x))
        return NUM_HALF_NAN;
    uint32_t word = ex2_cut(operand(num_bf16_to_f32(x)));
    return (uint16_t)(num_f32_flush(word) >> 16);
}

/* tanh of a half: below about 2^-8 the operand itself, from 8 on one, between them the unit's value
 * cut to the format. The unit is close enough to the true value that only these operands, positive
 * or negative, cut to another word than the true value does (all 65,536 results of an H200). */
struct tanh_step {
    uint16_t operand;
    int8_t step; /* of the magnitude */
};
static const struct tanh_step tanh_f16_steps[] = {
    {0x29c6, 1}, {0x2c95, 1},  {0x2c96, 1},  {0x2d3f, -1}, {0x2e39, 1}, {0x2e9d, 1},
    {0x3064, 1}, {0x323f, 1},  {0x32ff, 1},  {0x355b, 1},  {0x372d, 1}, {0x3824, 1},
    {0x399a, 1}, {0x39f8, -1}, {0x3c8e, -1}, {0x3c9d, -1}, {0x3cc9, 1}, {0x3db8, -1},
    {0x3de3, 1}, {0x3e23, -1}, {0x3eab, -1}, {0x3ed6, 1},  {0x4080, 1}, {0x4429, -1},
};
static const struct tanh_step tanh_bf16_steps[] = {{0x3f3f, -1}};

static int step_of(const struct tanh_step *steps, size_t count, uint16_t operand) {
    for (size_t i = 0; i < count; i++)
        if (steps[i].operand == operand)
            return steps[i].step;
    return 0;
}

uint16_t num_approx_tanh_f16(uint16_t x) {
    uint16_t magnitude = x & 0x7fff, sign = x & NUM_HALF_SIGN;
    if (num_f16_is_nan(x))
        return NUM_HALF_NAN;
    if (magnitude < 0x1c08)
        return x;
    if (magnitude >= 0x4800) /* 8 */
        return sign | NUM_F16_ONE;
    double value = tanh_exact((double)bits_to_f32(num_f16_to_f32(magnitude)));
    struct num_wide cut = num_wide_decode(NUM_F64, bits_from_f64(value));
    int word = (int)num_wide_encode(&cut, NUM_F16, NUM_RZ, false);
    word += step_of(tanh_f16_steps, sizeof tanh_f16_steps / sizeof *tanh_f16_steps, magnitude);
    return (uint16_t)(sign | word);
}

uint16_t num_approx_tanh_bf16(uint16_t x) {
    uint16_t magnitude = x & 0x7fff, sign = x & NUM_HALF_SIGN;
    if (num_bf16_is_nan(x))
        return NUM_HALF_NAN;
    if (magnitude < 0x3b81)
        return x;
    if (magnitude >= 0x4100) /* 8 */
        return sign | 0x3f80;
    double value = tanh_exact((double)bits_to_f32(num_bf16_to_f32(magnitude)));
    int word = (int)(num_f32_narrow(value, NUM_RZ) >> 16);
    word += step_of(tanh_bf16_steps, sizeof tanh_bf16_steps / sizeof *tanh_bf16_steps, magnitude);
    return (uint16_t)(sign | word);
}
