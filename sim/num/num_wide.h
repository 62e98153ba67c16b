#ifndef SILTWIN_NUM_WIDE_H
#define SILTWIN_NUM_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "num_round.h"

/* Exact numbers: what a word of any format stands for, and what an operation on such numbers gives
 * before it is rounded. The slow and certain way; num_f32.h, num_half.h and num_f64.h have the fast
 * ones for the common cases. */

/* Formats of PTX. A word of a narrow format sits in the low bits; tf32 is an f32 whose low 13 bits
 * are zero. */
enum num_type {
    NUM_U8,
    NUM_S8,
    NUM_U16,
    NUM_S16,
    NUM_U32,
    NUM_S32,
    NUM_U64,
    NUM_S64,
    NUM_F16,
    NUM_BF16,
    NUM_TF32,
    NUM_F32,
    NUM_F64,
    NUM_E4M3,
    NUM_E5M2,
    NUM_E2M3,
    NUM_E3M2,
    NUM_E2M1,
    NUM_TYPE_COUNT,
};

struct num_format {
    const char *name;
    uint8_t bits;          /* of the word */
    bool is_signed;        /* integers */
    uint8_t exponent_bits; /* 0: an integer */
    uint8_t mantissa_bits;
    int16_t bias;
    uint64_t max; /* word of the greatest finite number */
    uint64_t inf; /* word of infinity, 0: has none */
    uint64_t nan; /* the NaN that arithmetic makes; in e2m3, e3m2 and e2m1 the greatest number */
};

const struct num_format *num_format(enum num_type type);

__extension__ typedef unsigned __int128 num_uint128;

enum num_kind { NUM_ZERO, NUM_FINITE, NUM_INFINITE, NUM_NAN };

/* sig * 2^exponent with that sign. The last bit of sig may be a sticky bit: sig is then longer than
 * any format, and the true number lies strictly between the two neighbours of that bit. */
struct num_wide {
    enum num_kind kind;
    bool negative;
    int exponent;
    num_uint128 sig; /* not 0 when finite */
};

/* What a word stands for. NaN payloads are not kept. */
struct num_wide num_wide_decode(enum num_type type, uint64_t word);

/* The word of a floating-point format nearest to x in the sense of `mode`. Overflow gives infinity
 * or, where the direction asks for it, where the format has no infinity and under `satfinite`, the
 * greatest finite number. */
uint64_t num_wide_encode(const struct num_wide *x, enum num_type type, enum num_round mode,
                         bool satfinite);

/* The nearest integer, of the same sign when it is zero. */
struct num_wide num_wide_integral(const struct num_wide *x, enum num_round mode);

/* x, an integer, clamped to the range of an integer type and cut to its width. NaN gives 0. */
uint64_t num_wide_to_int(const struct num_wide *x, enum num_type type);

/* Exact up to a sticky last bit of the 128-bit significand. Operands are finite or zero, those of
 * sums have at most 107 significant bits; an exact zero sum of unlike signs is negative under
 * NUM_RM. The divisor is not zero, the radicand is not negative. */
struct num_wide num_wide_add(const struct num_wide *a, const struct num_wide *b,
                             enum num_round mode);
struct num_wide num_wide_mul(const struct num_wide *a, const struct num_wide *b);
struct num_wide num_wide_div(const struct num_wide *a, const struct num_wide *b);
struct num_wide num_wide_sqrt(const struct num_wide *a);

#endif
