/* The portable engine: decoded integers, one output at a time.
 *
 *     values     int32 [rows][k]   significand with the sign of the element
 *     exponents  int16 [rows][k]   NO_EXPONENT for zero
 *     row_info   uint8 [rows]      1: the row holds an Inf or NaN, and its outputs take mma_dot
 *
 * Same rule as mma.c. The exponent of a zero term is a floor of E here: only a zero c lets E sink
 * below the smallest exponent of c's format, which no e_zero exceeds. */
#include "mma_engine.h"

enum { NO_EXPONENT = -8000 };

static bool always(void) {
    return true;
}

static void prepare(struct mma_operand *operand) {
    enum small_float format = mma_format_of[operand->type];
    int32_t *values = operand->values;
    int16_t *exponents = operand->exponents;
    uint8_t *special = operand->row_info;
    for (uint32_t row = 0; row < operand->rows; row++) {
        special[row] = 0;
        for (uint32_t k = 0; k < operand->k; k++) {
            struct small_float_value v =
                small_float_decode(format, mma_operand_word(operand, row, k));
            uint32_t at = row * operand->k + k;
            values[at] = v.negative ? -(int32_t)v.significand : (int32_t)v.significand;
            exponents[at] = v.class == SMALL_FLOAT_ZERO ? NO_EXPONENT : v.exponent;
            special[row] |= v.class == SMALL_FLOAT_INF || v.class == SMALL_FLOAT_NAN;
        }
    }
}

/* `value` units of 2^(exponent - fraction_bits), in units of 2^unit_exponent, cut toward zero. */
static int64_t aligned(int64_t value, int unit, int unit_exponent) {
    int cut = unit_exponent - unit;
    if (value == 0)
        return 0; /* its exponent means nothing */
    if (cut <= 0)
        return value * (INT64_C(1) << -cut);
    if (cut > 62)
        return 0;
    return value < 0 ? -(-value >> cut) : value >> cut;
}

/* A row of A and a column of B, both without Inf and NaN. */
struct line {
    const int32_t *values;
    const int16_t *exponents;
};

static struct line line_of(const struct mma_operand *operand, uint32_t row) {
    return (struct line){(const int32_t *)operand->values + row * operand->k,
                         (const int16_t *)operand->exponents + row * operand->k};
}

static uint32_t element(const struct mma_arith *arith, struct line a, struct line b,
                        uint32_t k_count, int product_fraction_bits, struct small_float_value c) {
    int top = c.class == SMALL_FLOAT_ZERO ? arith->zero_exponent : c.exponent;
    for (uint32_t k = 0; k < k_count; k++) {
        int exponent = a.exponents[k] + b.exponents[k];
        top = exponent > top ? exponent : top;
    }
    int unit = top - arith->fraction_bits;
    int64_t c_value = c.negative ? -(int64_t)c.significand : (int64_t)c.significand;
    int64_t sum = aligned(c_value, c.exponent - c.fraction_bits, unit);
    for (uint32_t k = 0; k < k_count; k++)
        sum += aligned((int64_t)a.values[k] * b.values[k],
                       a.exponents[k] + b.exponents[k] - product_fraction_bits, unit);
    return mma_round(arith->result, sum, unit);
}

static void tile_plain(const struct mma_tile *tile) {
    const struct mma_arith *arith = tile->arith;
    const struct mma_operand *a = tile->a, *b = tile->b;
    const uint8_t *a_special = a->row_info, *b_special = b->row_info;
    enum small_float c_format = arith->acc == MMA_ACC_F16 ? SMALL_FLOAT_F16 : SMALL_FLOAT_F32;
    int fraction_bits = small_float_format(mma_format_of[a->type])->fraction_bits +
                        small_float_format(mma_format_of[b->type])->fraction_bits;
    for (uint32_t i = 0; i < tile->row_count; i++) {
        struct line a_line = line_of(a, tile->row_begin + i);
        for (uint32_t j = 0; j < b->rows; j++) {
            uint32_t word = tile->c_rows == NULL ? 0 : tile->c_rows[i][j];
            struct small_float_value c = small_float_decode(c_format, word);
            if (a_special[tile->row_begin + i] || b_special[j] || c.class >= SMALL_FLOAT_INF)
                tile->d_rows[i][j] = mma_tile_element(tile, i, j, word);
            else
                tile->d_rows[i][j] = element(arith, a_line, line_of(b, j), a->k, fraction_bits, c);
        }
    }
}

const struct mma_engine mma_engine_plain = {
    .name = "plain", .usable = always, .prepare = prepare, .tile = tile_plain};
