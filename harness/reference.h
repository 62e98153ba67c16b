#ifndef SILTWIN_REFERENCE_H
#define SILTWIN_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "elem.h"

/* Reference answers, written without the simulator: C = A * B^T with A [M][K] and B [N][K]. They
 * run on all processors. */

struct reference_matrix {
    const uint8_t *bytes; /* the first element */
    enum elem_type type;
    uint64_t rows, cols, row_stride, col_stride; /* strides in elements */
};

enum reference_status {
    REFERENCE_OK,
    REFERENCE_NO_MEMORY,
    REFERENCE_INEXACT, /* the exact product of these inputs needs more than double's 53 bits */
};

/* Sums in double, increasing k, products rounded to double (exact for inputs of at most 24 bits).
 * `out` has A.rows * B.rows elements. */
enum reference_status reference_matmul_f64(const struct reference_matrix *a,
                                           const struct reference_matrix *b, double *out);

/* The mathematically exact product: the same when it is known that no sum rounds, that is when
 * K * max|A| * max|B| stays below 2^53 times the product of the two matrices' smallest units. */
enum reference_status reference_matmul_exact(const struct reference_matrix *a,
                                             const struct reference_matrix *b, double *out);

/* Terms that a tensor core sums at once for that type of A and B; 0 when it has no rule here. */
unsigned reference_tc_terms(enum elem_type type);

/* The documented tensor core arithmetic chained over K in steps of that many terms, f32 accumulator
 * starting at +0: A and B of one type (bf16, f16, tf32, e4m3, e5m2), K whole steps. `hopper`: as
 * wgmma, whose 8-bit types keep fewer bits. `out` is the accumulator's f32 words. */
enum reference_status reference_matmul_tc(const struct reference_matrix *a,
                                          const struct reference_matrix *b, bool hopper,
                                          uint32_t *out);

/* One f32 fused multiply-add after the other along K, from +0: what a naive kernel computes. `out`
 * is the sums' f32 words. Inputs wider than f32 are rounded to it first. */
enum reference_status reference_matmul_fma(const struct reference_matrix *a,
                                           const struct reference_matrix *b, uint32_t *out);

/* One step of reference_matmul_tc: sixteen raw words of A and B, a raw f32 accumulator. */
uint32_t reference_tc_step(enum elem_type type, const uint16_t *a, const uint16_t *b, uint32_t c);

#endif
