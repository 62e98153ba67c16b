/* The arithmetic of a naive kernel: one f32 fused multiply-add after the other along K, from +0. A
 * row of C at a time; B is kept transposed, so that a vector runs along the columns. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "reference.h"

struct fma_product {
    const struct reference_matrix *a, *b;
    float *a_rows; /* [M][K] */
    float *b_cols; /* [K][N] */
    uint32_t *out;
};

static float element_f32(const struct reference_matrix *m, uint64_t row, uint64_t col) {
    const uint64_t index = row * m->row_stride + col * m->col_stride;
    return (float)elem_to_double(m->type, m->bytes + index * elem_info(m->type)->size_bytes);
}

static void pack_row(void *context, uint64_t row) {
    const struct fma_product *p = context;
    for (uint64_t k = 0; k < p->a->cols; k++)
        p->a_rows[row * p->a->cols + k] = element_f32(p->a, row, k);
}

static void pack_k(void *context, uint64_t k) {
    const struct fma_product *p = context;
    for (uint64_t n = 0; n < p->b->rows; n++)
        p->b_cols[k * p->b->rows + n] = element_f32(p->b, n, k);
}

REFERENCE_CLONES static void fma_row(float *sums, const float *b, float a, uint64_t count) {
    for (uint64_t n = 0; n < count; n++)
        sums[n] = __builtin_fmaf(a, b[n], sums[n]);
}

static void multiply_row(void *context, uint64_t row) {
    const struct fma_product *p = context;
    const uint64_t columns = p->b->rows;
    float *sums = (float *)(void *)(p->out + row * columns);
    memset(sums, 0, columns * sizeof *sums);
    for (uint64_t k = 0; k < p->a->cols; k++)
        fma_row(sums, p->b_cols + k * columns, p->a_rows[row * p->a->cols + k], columns);
}

enum reference_status reference_matmul_fma(const struct reference_matrix *a,
                                           const struct reference_matrix *b, uint32_t *out) {
    struct fma_product p = {.a = a, .b = b, .out = out};
    p.a_rows = malloc(a->rows * a->cols * sizeof *p.a_rows);
    p.b_cols = malloc(b->rows * b->cols * sizeof *p.b_cols);
    const bool ok = p.a_rows && p.b_cols;
    if (ok) {
        parallel_for(a->rows, pack_row, &p);
        parallel_for(b->cols, pack_k, &p);
        parallel_for(a->rows, multiply_row, &p);
    }
    free(p.a_rows);
    free(p.b_cols);
    return ok ? REFERENCE_OK : REFERENCE_NO_MEMORY;
}
