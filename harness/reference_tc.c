/* The documented arithmetic of the tensor cores with an f32 accumulator (sm_90 mma.sync and wgmma,
 * sm_100 tcgen05), for bf16 and f16 inputs 16 terms a step:
 *
 *   term k   magnitude S = Sa*Sb exact, exponent e = ea+eb of the operands (not of the product)
 *   c        one more term, exponent ec; c = 0 counts with exponent -133
 *   E        the largest exponent of the nonzero terms and of c
 *   T        sum of sign * (S * 2^(25 - m - (E - e)) cut toward zero)
 *   result   T * 2^(E - 25), cut toward zero to f32; overflow is Inf, any zero is +0
 *
 * NaN, Inf * 0 and Inf - Inf give 0x7fffffff, else an Inf wins. tf32 sums 8 terms and does not see
 * the low 13 bits of a word; e4m3 and e5m2 sum 32, and on Hopper keep 13 bits and give 13. Two
 * evaluations: one output at a time as the rule reads, and sixteen columns at a time in 32-bit
 * integers, which hands every special value, overflow and subnormal result to the first. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "reference.h"
#include "reference_tc_rule.h"

enum {
    STEP = 16,
    COLUMNS = 16,
    KEPT_BITS = TC_KEPT_BITS,
    ZERO_EXPONENT = TC_ZERO_EXPONENT,
    ABSENT = -4096
};

uint32_t reference_tc_step(enum elem_type type, const uint16_t *a_words, const uint16_t *b_words,
                           uint32_t c_word) {
    uint32_t a[STEP], b[STEP];
    for (int k = 0; k < STEP; k++) {
        a[k] = a_words[k];
        b[k] = b_words[k];
    }
    return tc_step(tc_rule(type, false), a, b, c_word);
}

/* One matrix, taken apart: rows of A one by one, rows of B in panels of 16 ([k][16]). */
struct parts {
    const struct reference_matrix *matrix;
    uint64_t group;
    int32_t *exponents, *significands; /* signed significands */
    uint16_t *raw;
    uint8_t *special; /* one a group: it holds a NaN or an Inf */
};

struct tc_product {
    struct parts a, b;
    uint32_t *out;
    enum elem_type type;
};

static uint64_t group_count(const struct parts *p) {
    return (p->matrix->rows + p->group - 1) / p->group;
}

static void take_apart(void *context, uint64_t index) {
    struct parts *p = context;
    const struct reference_matrix *m = p->matrix;
    const uint64_t base = index * p->group * m->cols;
    for (uint64_t i = 0; i < p->group; i++)
        for (uint64_t k = 0; k < m->cols; k++) {
            const uint64_t row = index * p->group + i, at = base + k * p->group + i;
            uint16_t word = 0;
            if (row < m->rows)
                memcpy(&word, m->bytes + 2 * (row * m->row_stride + k * m->col_stride), 2);
            const struct tc_number n = tc_split(tc_rule(m->type, false), word);
            p->raw[at] = word;
            p->exponents[at] = n.significand ? n.exponent : ABSENT;
            p->significands[at] = n.negative ? -(int32_t)n.significand : (int32_t)n.significand;
            if (n.special)
                p->special[index] = 1;
        }
}

static void parts_free(struct parts *p) {
    free(p->exponents);
    free(p->significands);
    free(p->raw);
    free(p->special);
}

static bool parts_make(struct parts *p, const struct reference_matrix *m, uint64_t group) {
    *p = (struct parts){.matrix = m, .group = group};
    const uint64_t count = group_count(p) * group * m->cols;
    p->exponents = malloc(count * sizeof *p->exponents);
    p->significands = malloc(count * sizeof *p->significands);
    p->raw = malloc(count * sizeof *p->raw);
    p->special = calloc(group_count(p), 1);
    if (!p->exponents || !p->significands || !p->raw || !p->special)
        return false;
    parallel_for(group_count(p), take_apart, p);
    return true;
}

/* The accumulators of one row and sixteen columns. */
struct accumulators {
    uint32_t f32[COLUMNS];
    int32_t exponents[COLUMNS], significands[COLUMNS]; /* of f32; signed; zero: ZERO_EXPONENT */
};

/* (sum + c) * 2^(largest - 25) to f32, taken apart again; false when one of the sixteen is neither
 * zero nor a normal number. */
static inline __attribute__((always_inline)) bool finish_step(const int32_t *sum,
                                                              const int32_t *cut_c,
                                                              const int32_t *largest,
                                                              struct accumulators *c) {
    int32_t bad = 0;
    for (int j = 0; j < COLUMNS; j++) {
        const uint64_t scale_bits = (uint64_t)(int64_t)(largest[j] - KEPT_BITS + 1023) << 52;
        double scale;
        memcpy(&scale, &scale_bits, sizeof scale);
        const double value = ((double)sum[j] + (double)cut_c[j]) * scale;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint32_t high = (uint32_t)(bits >> 32), sign = high & 0x80000000u;
        const int32_t exponent = (int32_t)(high >> 20 & 0x7ff) - 1023;
        const uint32_t significand = (uint32_t)(bits >> 29 & 0x7fffffu) | 0x800000u;
        const int32_t zero = -(int32_t)(exponent == -1023);
        bad |= (int32_t)(exponent > 127) | ((int32_t)(exponent < -126) & ~zero);
        c->f32[j] =
            (sign | (uint32_t)(exponent + 127) << 23 | (significand & 0x7fffffu)) & ~(uint32_t)zero;
        c->exponents[j] = (exponent & ~zero) | (ZERO_EXPONENT & zero);
        c->significands[j] = (sign ? -(int32_t)significand : (int32_t)significand) & ~zero;
    }
    return !bad;
}

/* |value| << left, then right by `below` (31 and more give 0), with value's sign. */
static inline __attribute__((always_inline)) int32_t cut_term(int32_t value, int left,
                                                              int32_t below) {
    const int32_t sign = -(int32_t)(value < 0);
    const uint32_t magnitude = (uint32_t)((value ^ sign) - sign) << left;
    return ((int32_t)(magnitude >> (below > 31 ? 31 : below)) ^ sign) - sign;
}

/* 16 products into each of the accumulators; false: this step needs the plain evaluation. The sum
 * of 16 products fits 32 bits: each is below 4 * 2^25 by more than the formats' last bit. */
REFERENCE_CLONES static bool fast_step(const struct tc_product *t, uint64_t a_at, uint64_t b_at,
                                       struct accumulators *c) {
    const int32_t *ea = t->a.exponents + a_at, *sa = t->a.significands + a_at;
    const int32_t *eb = t->b.exponents + b_at, *sb = t->b.significands + b_at;
    const int left = KEPT_BITS - (t->type == ELEM_BF16 ? 14 : 20);
    int32_t largest[COLUMNS], sum[COLUMNS], cut_c[COLUMNS];
    for (int j = 0; j < COLUMNS; j++)
        largest[j] = c->exponents[j];
    for (int k = 0; k < STEP; k++)
        for (int j = 0; j < COLUMNS; j++) {
            const int32_t e = eb[k * COLUMNS + j] + ea[k];
            largest[j] = e > largest[j] ? e : largest[j];
        }
    for (int j = 0; j < COLUMNS; j++) {
        cut_c[j] = cut_term(c->significands[j], KEPT_BITS - 23, largest[j] - c->exponents[j]);
        sum[j] = 0;
    }
    for (int k = 0; k < STEP; k++)
        for (int j = 0; j < COLUMNS; j++)
            sum[j] += cut_term(sb[k * COLUMNS + j] * sa[k], left,
                               largest[j] - eb[k * COLUMNS + j] - ea[k]);
    return finish_step(sum, cut_c, largest, c);
}

/* Takes the accumulators' words apart. */
static void set_accumulators(struct accumulators *c) {
    for (int j = 0; j < COLUMNS; j++) {
        const uint32_t word = c->f32[j], field = (word >> 23) & 0xff;
        const uint32_t significand = (word & 0x7fffffu) | (field ? 0x800000u : 0);
        c->exponents[j] = !significand ? ZERO_EXPONENT : field ? (int32_t)field - 127 : -126;
        c->significands[j] = word >> 31 ? -(int32_t)significand : (int32_t)significand;
    }
}

static void plain_step(const struct tc_product *t, uint64_t a_at, uint64_t b_at, uint32_t *f32) {
    uint16_t b[STEP];
    for (int j = 0; j < COLUMNS; j++) {
        for (int k = 0; k < STEP; k++)
            b[k] = t->b.raw[b_at + (uint64_t)(k * COLUMNS + j)];
        f32[j] = reference_tc_step(t->type, t->a.raw + a_at, b, f32[j]);
    }
}

static bool all_finite(const uint32_t *f32) {
    for (int j = 0; j < COLUMNS; j++)
        if ((f32[j] & 0x7f800000u) == 0x7f800000u)
            return false;
    return true;
}

static void row_times_panel(const struct tc_product *t, uint64_t row, uint64_t panel,
                            uint32_t *f32) {
    const uint64_t k_count = t->a.matrix->cols;
    bool plain = t->a.special[row] || t->b.special[panel];
    struct accumulators c = {.f32 = {0}};
    set_accumulators(&c);
    for (uint64_t k = 0; k < k_count; k += STEP) {
        const uint64_t a_at = row * k_count + k, b_at = (panel * k_count + k) * COLUMNS;
        const struct accumulators before = c;
        if (!plain && fast_step(t, a_at, b_at, &c))
            continue;
        c = before;
        plain_step(t, a_at, b_at, c.f32);
        set_accumulators(&c);
        plain = plain || !all_finite(c.f32);
    }
    memcpy(f32, c.f32, sizeof c.f32);
}

static void multiply_panel(void *context, uint64_t panel) {
    const struct tc_product *t = context;
    const uint64_t columns = t->b.matrix->rows;
    uint32_t f32[COLUMNS];
    for (uint64_t row = 0; row < t->a.matrix->rows; row++) {
        row_times_panel(t, row, panel, f32);
        for (uint64_t j = 0; j < COLUMNS && panel * COLUMNS + j < columns; j++)
            t->out[row * columns + panel * COLUMNS + j] = f32[j];
    }
}

/* Types whose steps have another length: one element at a time. */
struct plain_product {
    const struct reference_matrix *a, *b;
    const struct tc_rule *rule;
    uint32_t *out;
};

static uint32_t raw_word(const struct reference_matrix *m, uint64_t row, uint64_t k) {
    const size_t bytes = elem_info(m->type)->size_bytes;
    uint32_t word = 0;
    memcpy(&word, m->bytes + bytes * (row * m->row_stride + k * m->col_stride), bytes);
    return word;
}

static void multiply_row(void *context, uint64_t row) {
    const struct plain_product *p = context;
    const uint64_t step = (uint64_t)p->rule->step;
    uint32_t a[TC_MAX_STEP], b[TC_MAX_STEP];
    for (uint64_t column = 0; column < p->b->rows; column++) {
        uint32_t c = 0;
        for (uint64_t k = 0; k < p->a->cols; k += step) {
            for (uint64_t i = 0; i < step; i++) {
                a[i] = raw_word(p->a, row, k + i);
                b[i] = raw_word(p->b, column, k + i);
            }
            c = tc_step(p->rule, a, b, c);
        }
        p->out[row * p->b->rows + column] = c;
    }
}

unsigned reference_tc_terms(enum elem_type type) {
    const struct tc_rule *rule = tc_rule(type, false);
    return rule ? (unsigned)rule->step : 0;
}

enum reference_status reference_matmul_tc(const struct reference_matrix *a,
                                          const struct reference_matrix *b, bool hopper,
                                          uint32_t *out) {
    if (a->type != ELEM_BF16 && a->type != ELEM_F16) {
        struct plain_product p = {a, b, tc_rule(a->type, hopper), out};
        parallel_for(a->rows, multiply_row, &p);
        return REFERENCE_OK;
    }
    struct tc_product t = {.out = out, .type = a->type};
    const bool a_ok = parts_make(&t.a, a, 1);
    const bool ok = a_ok && parts_make(&t.b, b, COLUMNS);
    if (ok)
        parallel_for(group_count(&t.b), multiply_panel, &t);
    parts_free(&t.a);
    parts_free(&t.b);
    return ok ? REFERENCE_OK : REFERENCE_NO_MEMORY;
}
