/* Matrix products in double: A in blocks of four rows, B in panels of eight columns,
 *
 *   block i:  [k][4]  rows 4i .. 4i+3 of A          panel p:  [k][8]  rows 8p .. 8p+7 of B
 *
 * zero past the edges; one multiply and one add an element in increasing k, whatever the vector
 * width, so that the result does not depend on the processor. */
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

enum { PANEL = 8, BLOCK = 4 };
typedef double lanes __attribute__((vector_size(8 * PANEL)));

struct packed {
    const struct reference_matrix *matrix;
    uint64_t group; /* rows that stand together */
    double *values;
};

struct product {
    struct packed a, b;
    double *out;
};

static double element(const struct reference_matrix *m, uint64_t row, uint64_t col) {
    const uint64_t index = row * m->row_stride + col * m->col_stride;
    return elem_to_double(m->type, m->bytes + index * elem_info(m->type)->size_bytes);
}

static uint64_t groups(const struct reference_matrix *m, uint64_t group) {
    return (m->rows + group - 1) / group;
}

static void pack_group(void *context, uint64_t index) {
    const struct packed *packed = context;
    const struct reference_matrix *m = packed->matrix;
    double *out = packed->values + index * packed->group * m->cols;
    for (uint64_t i = 0; i < packed->group; i++)
        for (uint64_t k = 0; k < m->cols; k++)
            out[k * packed->group + i] =
                index * packed->group + i < m->rows ? element(m, index * packed->group + i, k) : 0;
}

static bool pack(struct packed *packed, const struct reference_matrix *m, uint64_t group) {
    *packed = (struct packed){.matrix = m, .group = group};
    packed->values = malloc(groups(m, group) * group * m->cols * sizeof *packed->values);
    if (packed->values)
        parallel_for(groups(m, group), pack_group, packed);
    return packed->values;
}

REFERENCE_CLONES static void block_times_panel(const double *a, const double *panel,
                                               uint64_t k_count, double *out) {
    lanes c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};
    for (uint64_t k = 0; k < k_count; k++) {
        lanes b;
        memcpy(&b, panel + k * PANEL, sizeof b);
        c0 += a[k * BLOCK] * b;
        c1 += a[k * BLOCK + 1] * b;
        c2 += a[k * BLOCK + 2] * b;
        c3 += a[k * BLOCK + 3] * b;
    }
    memcpy(out, &c0, sizeof c0);
    memcpy(out + PANEL, &c1, sizeof c1);
    memcpy(out + 2 * PANEL, &c2, sizeof c2);
    memcpy(out + 3 * PANEL, &c3, sizeof c3);
}

/* Four rows of the result. */
static void multiply_block(void *context, uint64_t block) {
    const struct product *product = context;
    const struct reference_matrix *a = product->a.matrix, *b = product->b.matrix;
    const double *rows = product->a.values + block * BLOCK * a->cols;
    double tile[BLOCK * PANEL];
    for (uint64_t p = 0; p * PANEL < b->rows; p++) {
        block_times_panel(rows, product->b.values + p * PANEL * b->cols, a->cols, tile);
        for (uint64_t i = 0; i < BLOCK && block * BLOCK + i < a->rows; i++)
            for (uint64_t j = 0; j < PANEL && p * PANEL + j < b->rows; j++)
                product->out[(block * BLOCK + i) * b->rows + p * PANEL + j] = tile[i * PANEL + j];
    }
}

enum reference_status reference_matmul_f64(const struct reference_matrix *a,
                                           const struct reference_matrix *b, double *out) {
    struct product product = {.out = out};
    const bool ok = pack(&product.a, a, BLOCK) && pack(&product.b, b, PANEL);
    if (ok)
        parallel_for(groups(a, BLOCK), multiply_block, &product);
    free(product.a.values);
    free(product.b.values);
    return ok ? REFERENCE_OK : REFERENCE_NO_MEMORY;
}

/* Exponent of the lowest bit of a nonzero finite x. */
static int lowest_bit(double x) {
    int exponent;
    const double fraction = frexp(fabs(x), &exponent);
    const uint64_t significand = (uint64_t)ldexp(fraction, 53);
    return exponent - 53 + __builtin_ctzll(significand);
}

/* Largest magnitude, and the exponent of the unit that all elements are multiples of. */
static bool measure(const struct reference_matrix *m, double *largest, int *unit) {
    *largest = 0;
    *unit = 1100;
    for (uint64_t row = 0; row < m->rows; row++)
        for (uint64_t col = 0; col < m->cols; col++) {
            const double x = element(m, row, col);
            if (!isfinite(x))
                return false;
            if (x == 0)
                continue;
            if (fabs(x) > *largest)
                *largest = fabs(x);
            if (lowest_bit(x) < *unit)
                *unit = lowest_bit(x);
        }
    return true;
}

enum reference_status reference_matmul_exact(const struct reference_matrix *a,
                                             const struct reference_matrix *b, double *out) {
    double largest_a, largest_b;
    int unit_a, unit_b;
    if (!measure(a, &largest_a, &unit_a) || !measure(b, &largest_b, &unit_b))
        return REFERENCE_INEXACT;
    const double terms = (double)a->cols * ldexp(largest_a, -unit_a) * ldexp(largest_b, -unit_b);
    if (!(terms < 0x1p53))
        return REFERENCE_INEXACT;
    return reference_matmul_f64(a, b, out);
}
