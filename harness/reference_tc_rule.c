/* The documented arithmetic of the tensor cores, one output element at a time. */
#include "reference_tc_rule.h"

#include <stddef.h>

static const struct tc_rule f32_rule = {.exponent_bits = 8, .fraction_bits = 23, .has_inf = true};

static const struct tc_rule bf16_rule = {16, 8, 7, 0, TC_KEPT_BITS, 23, true};
static const struct tc_rule f16_rule = {16, 5, 10, 0, TC_KEPT_BITS, 23, true};
static const struct tc_rule tf32_rule = {8, 8, 10, 13, TC_KEPT_BITS, 23, true};
static const struct tc_rule e5m2_rule = {32, 5, 2, 0, TC_KEPT_BITS, 23, true};
static const struct tc_rule e4m3_rule = {32, 4, 3, 0, TC_KEPT_BITS, 23, false};
static const struct tc_rule e5m2_hopper = {32, 5, 2, 0, 13, 13, true};
static const struct tc_rule e4m3_hopper = {32, 4, 3, 0, 13, 13, false};

const struct tc_rule *tc_rule(enum elem_type type, bool hopper) {
    switch (type) {
    case ELEM_BF16: return &bf16_rule;
    case ELEM_F16: return &f16_rule;
    case ELEM_TF32: return &tf32_rule;
    case ELEM_E5M2: return hopper ? &e5m2_hopper : &e5m2_rule;
    case ELEM_E4M3: return hopper ? &e4m3_hopper : &e4m3_rule;
    default: return NULL;
    }
}

struct tc_number tc_split(const struct tc_rule *rule, uint32_t word) {
    word >>= rule->dropped_bits;
    const int fraction_bits = rule->fraction_bits;
    const uint32_t field_mask = (1u << rule->exponent_bits) - 1;
    const uint32_t field = (word >> fraction_bits) & field_mask;
    const uint32_t fraction = word & ((1u << fraction_bits) - 1);
    const int bias = (int)(field_mask >> 1);
    const bool top = field == field_mask;
    const bool nan = rule->has_inf ? top && fraction : top && fraction == (1u << fraction_bits) - 1;
    return (struct tc_number){
        .negative = (word >> (rule->exponent_bits + fraction_bits)) & 1,
        .special = nan || (rule->has_inf && top),
        .nan = nan,
        .exponent = field ? (int)field - bias : 1 - bias,
        .significand = field ? fraction | 1u << fraction_bits : fraction,
    };
}

/* NaN or Inf among the terms decides alone; *word is then the result. */
static bool special_result(int step, const struct tc_number *a, const struct tc_number *b,
                           const struct tc_number *c, uint32_t *word) {
    bool nan = c->nan, plus = c->special && !c->negative, minus = c->special && c->negative;
    for (int k = 0; k < step; k++) {
        if (!a[k].special && !b[k].special)
            continue;
        nan = nan || a[k].nan || b[k].nan || (!a[k].special && !a[k].significand) ||
              (!b[k].special && !b[k].significand);
        if (a[k].negative != b[k].negative)
            minus = true;
        else
            plus = true;
    }
    *word = nan || (plus && minus) ? 0x7fffffffu : plus ? 0x7f800000u : 0xff800000u;
    return nan || plus || minus;
}

/* significand * 2^(exponent - fraction_bits) in units of 2^(largest - kept_bits), cut. */
static int64_t aligned(uint64_t significand, int fraction_bits, int kept_bits, int below,
                       bool negative) {
    const int right = below + fraction_bits - kept_bits;
    const uint64_t magnitude = right <= 0   ? significand << -right
                               : right < 63 ? significand >> right
                                            : 0;
    return negative ? -(int64_t)magnitude : (int64_t)magnitude;
}

/* total * 2^unit_exponent cut toward zero to f32 with so many fraction bits. */
static uint32_t cut_to_f32(int64_t total, int unit_exponent, int fraction_bits) {
    if (!total)
        return 0;
    uint64_t magnitude = total < 0 ? -(uint64_t)total : (uint64_t)total;
    const uint32_t sign = total < 0 ? 0x80000000u : 0;
    const int top = 63 - __builtin_clzll(magnitude);
    const int exponent = top + unit_exponent; /* of the leading bit */
    if (exponent > 127)
        return sign | 0x7f800000u;
    const int lowest = (exponent < -126 ? -126 : exponent) - fraction_bits;
    const int right = lowest - unit_exponent;
    magnitude = right > 63 ? 0 : right > 0 ? magnitude >> right : magnitude << -right;
    magnitude <<= 23 - fraction_bits;
    if (!magnitude)
        return 0;
    if (exponent < -126)
        return sign | (uint32_t)magnitude;
    return sign | (uint32_t)((exponent + 127) << 23) | ((uint32_t)magnitude & 0x7fffffu);
}

uint32_t tc_step(const struct tc_rule *rule, const uint32_t *a_words, const uint32_t *b_words,
                 uint32_t c_word) {
    struct tc_number a[TC_MAX_STEP], b[TC_MAX_STEP];
    const struct tc_number c = tc_split(&f32_rule, c_word);
    for (int k = 0; k < rule->step; k++) {
        a[k] = tc_split(rule, a_words[k]);
        b[k] = tc_split(rule, b_words[k]);
    }
    uint32_t word;
    if (special_result(rule->step, a, b, &c, &word))
        return word;
    int largest = c.significand ? c.exponent : TC_ZERO_EXPONENT;
    for (int k = 0; k < rule->step; k++)
        if (a[k].significand && b[k].significand && a[k].exponent + b[k].exponent > largest)
            largest = a[k].exponent + b[k].exponent;
    int64_t total = c.significand ? aligned(c.significand, 23, rule->kept_bits,
                                            largest - c.exponent, c.negative)
                                  : 0;
    for (int k = 0; k < rule->step; k++)
        if (a[k].significand && b[k].significand)
            total += aligned((uint64_t)a[k].significand * b[k].significand, 2 * rule->fraction_bits,
                             rule->kept_bits, largest - a[k].exponent - b[k].exponent,
                             a[k].negative != b[k].negative);
    return cut_to_f32(total, largest - rule->kept_bits, rule->result_bits);
}
