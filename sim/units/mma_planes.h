#ifndef SILTWIN_MMA_PLANES_H
#define SILTWIN_MMA_PLANES_H

#include "mma_engine.h"

/* What the vector engines (mma_avx512.c, mma_avx2.c) prepare, and why their bits are the rule's.
 *
 * For one output let E be the common exponent, q = 2^(E-F) the unit, trunc() the cut toward zero at
 * multiples of q. The rule wants T = trunc(c) + sum of trunc(p[k]).
 *  1. A double in [2^52 q, 2^53 q) has its last bit at q. Start S near M = 1.5 * 2^52 q; with
 *     rounding toward zero, fma(a, b, S) = S + floor(p), exactly: S is a multiple of q and
 * positive. 33 terms below 2^(F+2) q stay below 2^33 q, so S cannot leave that range.
 *  2. floor(p) = trunc(p), but one less when p is negative and no multiple of q. So
 *     T = S - M + (how many k have p[k] < 0 and p[k] not a multiple of q).
 *  3. The lowest set bit of a product of integers is the product of their lowest set bits, so p is
 *     no multiple of q exactly when low(a) + low(b) < E - F, where low() is the exponent of the
 *     lowest set bit. That is a byte compare, 32 or 64 outputs at a time; so is E, a maximum of
 * sums. c is cut toward zero by rounding its own addition down or up by its sign.
 *
 * Bytes are relative to the largest exponent of their row of A or column of B, the "top"; E is
 * relative to the sum of both tops. They and their sums saturate at -128 and 127.
 *     exponent  e - top, at most 0; zero: -128    a sum above -128 has two true addends and is
 * exact depth     top - low, at least 0; zero: -128 a product is cut when its depth exceeds the
 * limit max(F - E, -1), which no sum with a zero does
 *                                                 (-128 + 127); at most 25 + 100, below saturation
 * Outputs whose E lies outside what this holds for take the scalar rule, one by one: relative E
 * outside -100..126, results that may overflow, E below the floor e_zero or near f32's subnormals,
 * and every row or column with an Inf or NaN.
 *
 * Planes of A: values double [row][k]; exponents uint32 [row][k], the byte four times; depths
 * struct mma_depth [row][k]; row_info struct mma_row [row]. Planes of B, by block of 64 columns:
 * values double [block][k][64]; exponents int8 [block][k][64]; depths int8 [block][k][2][64],
 * negative elements in half 0 and positive ones in half 1, the others as zero; row_info struct
 * mma_block [block]. */
enum {
    MMA_BLOCK = 64,
    MMA_ZERO_BYTE = -128,
    MMA_NO_EXPONENT = -100000, /* of a zero, before it becomes a byte */
    MMA_E_LOWEST = -100,       /* relative E of a lane that the vectors may do */
    MMA_E_HIGHEST = 126,
    /* above e_zero, and the unit stays a multiple of the smallest f32; an f16 accumulator below
     * 2^-14 is subnormal, so there E is no less */
    MMA_E_ABSOLUTE_LOWEST = -124,
    MMA_E_ABSOLUTE_LOWEST_F16 = -14,
    MMA_E_ABSOLUTE_HIGHEST = 120,
};

struct mma_depth {
    uint32_t bytes;      /* the byte four times */
    uint32_t half_bytes; /* where the half of B starts whose products with this are negative */
};

struct mma_row {
    int32_t top;
    int32_t deepest; /* largest depth byte of the row */
    bool special;    /* holds an Inf or NaN */
};

struct mma_block {
    int16_t top[MMA_BLOCK];
    uint64_t special; /* bit per column that holds an Inf or NaN */
    int32_t top_min, top_max;
    int32_t deepest;
};

/* How the bytes of an element make an f16 of the same value but for a power of two. */
struct mma_byte_format {
    uint16_t magnitude_mask, sign_mask;
    uint8_t magnitude_shift, sign_shift;
    bool top_nan; /* all ones of the magnitude is NaN */
    float scale;
};

/* Indexed by mma_type; 8-bit containers only. */
extern const struct mma_byte_format mma_byte_formats[MMA_TYPE_COUNT];

/* Smallest exponent of a type. */
int mma_min_exponent(enum mma_type type);

/* Range of relative E in which every lane of a row and a block may be done by vectors; empty (low
 * above high) when none may. */
struct mma_range {
    int low, high;
};

static inline struct mma_range mma_vector_range(const struct mma_arith *arith,
                                                const struct mma_row *row,
                                                const struct mma_block *block) {
    int lowest = arith->acc == MMA_ACC_F16 ? MMA_E_ABSOLUTE_LOWEST_F16 : MMA_E_ABSOLUTE_LOWEST;
    int low = lowest - row->top - block->top_min;
    int high = MMA_E_ABSOLUTE_HIGHEST - row->top - block->top_max;
    low = low < MMA_E_LOWEST ? MMA_E_LOWEST : low;
    high = high > MMA_E_HIGHEST ? MMA_E_HIGHEST : high;
    if (row->special || low > high)
        return (struct mma_range){INT8_MAX, INT8_MIN};
    return (struct mma_range){low, high};
}

/* No product of the row and the block is deeper than this byte. */
static inline int mma_deepest_product(const struct mma_row *row, const struct mma_block *block) {
    int deepest = row->deepest + block->deepest;
    return deepest < INT8_MIN ? INT8_MIN : deepest > INT8_MAX ? INT8_MAX : deepest;
}

#endif
