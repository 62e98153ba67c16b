/* Tensor core arithmetic, scalar rule.
 *
 * Every floating-point kind multiplies exactly, aligns all products and c to the largest exponent,
 * cuts each aligned term toward zero F bits below it, adds exactly and converts once:
 *
 *     exponent     E   E-1  ...              E-F |
 *     a0*b0    1x.xxxxxxxxxxxxxx                 |        a product lies in [0,4): E is ea+eb, the
 *     a1*b1          x.xxxxxxxxxxxxxx            |        product is not normalised
 *     a2*b2                         x.xxxxxxxxxxx|xxx     bits right of the line are dropped,
 *     c            1.xxxxxxxxxxxxxxxxxxxxxxxx    |        toward zero, before anything is added
 *     T = exact sum of what is left, in units of 2^(E-F); d = convert(T)
 *
 * There is no other rounding, no sticky bit, no order. F, the number of fused terms, the exponent
 * of a zero term and the conversion are one table row per kind. Facts: PTX ISA 9.0 "tcgen05.mma",
 * "wgmma.mma_async", "mma"; oracle mma-arith (hw-H200-all and the other hw files decide where
 * sources differ). What a sparse A drops is no term at all (mma_sparse.c).
 * Not modelled: block scaling; not here: f64, s4 and b1, m8n8k4. */
#include "mma.h"

#include <stddef.h>

#include "bits.h"
#include "mma_engine.h"
#include "small_float.h"

#define BIT(type) (1u << (type))
enum {
    F16_OR_BF16 = BIT(MMA_TYPE_F16) | BIT(MMA_TYPE_BF16),
    ONLY_F16 = BIT(MMA_TYPE_F16),
    ONLY_TF32 = BIT(MMA_TYPE_TF32),
    F8 = BIT(MMA_TYPE_E4M3) | BIT(MMA_TYPE_E5M2),
    F8F6F4 = F8 | BIT(MMA_TYPE_E2M3) | BIT(MMA_TYPE_E3M2) | BIT(MMA_TYPE_E2M1),
    I8 = BIT(MMA_TYPE_S8) | BIT(MMA_TYPE_U8),
};

/* kind, acc, types, same, K, L, F, e_zero, result, lowering. The f16 accumulator of tcgen05
 * kind::f16 takes the -21 that an H200 showed for wgmma and mma.sync: unverified on a B200. */
static const struct mma_arith table[] = {
    {MMA_TCGEN05_F16, MMA_ACC_F32, F16_OR_BF16, true, 16, 16, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_TCGEN05_F16, MMA_ACC_F16, ONLY_F16, true, 16, 16, 25, -21, MMA_RESULT_F16_RN, 0},
    {MMA_TCGEN05_TF32, MMA_ACC_F32, ONLY_TF32, true, 8, 8, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_TCGEN05_F8F6F4, MMA_ACC_F32, F8F6F4, false, 32, 32, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_TCGEN05_F8F6F4, MMA_ACC_F16, F8F6F4, false, 32, 32, 25, -133, MMA_RESULT_F16_RN, 0},
    {MMA_TCGEN05_I8, MMA_ACC_S32, I8, false, 32, 32, 0, 0, MMA_RESULT_S32, 0},
    {MMA_WGMMA_F16, MMA_ACC_F32, F16_OR_BF16, true, 16, 16, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_WGMMA_F16, MMA_ACC_F16, ONLY_F16, true, 16, 16, 25, -21, MMA_RESULT_F16_RN, 0},
    {MMA_WGMMA_TF32, MMA_ACC_F32, ONLY_TF32, true, 8, 8, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_WGMMA_F8, MMA_ACC_F32, F8, false, 32, 32, 13, -133, MMA_RESULT_E8M13_RZ, 0},
    {MMA_WGMMA_F8, MMA_ACC_F16, F8, false, 32, 32, 13, -133, MMA_RESULT_F16_RN, 0},
    {MMA_WGMMA_I8, MMA_ACC_S32, I8, false, 32, 32, 0, 0, MMA_RESULT_S32, 0},
    {MMA_SYNC_F16, MMA_ACC_F32, F16_OR_BF16, true, 8 + 16, 16, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_SYNC_F16, MMA_ACC_F16, ONLY_F16, true, 8 + 16, 16, 25, -21, MMA_RESULT_F16_RN, 0},
    {MMA_SYNC_TF32, MMA_ACC_F32, ONLY_TF32, true, 4 + 8, 8, 25, -133, MMA_RESULT_F32_RZ, 0},
    {MMA_SYNC_F8, MMA_ACC_F32, F8, false, 16 + 32, 16, 25, -133, MMA_RESULT_F32_RZ,
     MMA_LOWERING_F16_HALVES},
    {MMA_SYNC_F8, MMA_ACC_F16, F8, false, 16 + 32, 16, 25, -21, MMA_RESULT_F16_RN,
     MMA_LOWERING_F16_HALVES},
    {MMA_SYNC_I8, MMA_ACC_S32, I8, false, 16 + 32, 32, 0, 0, MMA_RESULT_S32, 0},
    {MMA_SM80_F16, MMA_ACC_F32, F16_OR_BF16, true, 8 + 16, 8, 24, -132, MMA_RESULT_F32_RZ, 0},
    {MMA_SM80_F16, MMA_ACC_F16, ONLY_F16, true, 8 + 16, 8, 24, -21, MMA_RESULT_F16_RN, 0},
    {MMA_SM80_TF32, MMA_ACC_F32, ONLY_TF32, true, 4 + 8, 4, 24, -132, MMA_RESULT_F32_RZ, 0},
};

const enum small_float mma_format_of[MMA_TYPE_COUNT] = {
    [MMA_TYPE_F16] = SMALL_FLOAT_F16,   [MMA_TYPE_BF16] = SMALL_FLOAT_BF16,
    [MMA_TYPE_TF32] = SMALL_FLOAT_TF32, [MMA_TYPE_E4M3] = SMALL_FLOAT_E4M3,
    [MMA_TYPE_E5M2] = SMALL_FLOAT_E5M2, [MMA_TYPE_E2M3] = SMALL_FLOAT_E2M3,
    [MMA_TYPE_E3M2] = SMALL_FLOAT_E3M2, [MMA_TYPE_E2M1] = SMALL_FLOAT_E2M1,
};

const struct mma_arith *mma_arith_at(unsigned index) {
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

const struct mma_arith *mma_arith_find(enum mma_kind kind, enum mma_type a, enum mma_type b,
                                       enum mma_acc acc) {
    const struct mma_arith *row;
    for (unsigned i = 0; (row = mma_arith_at(i)) != NULL; i++)
        if (row->kind == kind && row->acc == acc && (row->type_set & BIT(a)) != 0 &&
            (row->type_set & BIT(b)) != 0 && (!row->same_type || a == b))
            return row;
    return NULL;
}

unsigned mma_type_bytes(enum mma_type type) {
    return type == MMA_TYPE_TF32 ? 4 : type == MMA_TYPE_F16 || type == MMA_TYPE_BF16 ? 2 : 1;
}

unsigned mma_type_k(enum mma_type type) {
    return 32 / mma_type_bytes(type);
}

/* A binary format as a target of rounding. */
struct target {
    unsigned precision_bits; /* significant bits, the leading one included */
    unsigned unused_bits;    /* low zero bits of the word: e8m13 in an f32 */
    int min_exponent;
    bool nearest; /* to nearest even, else toward zero */
    uint32_t inf;
    uint32_t nan; /* always this one, whatever came in */
    uint32_t sign;
};

static const struct target targets[] = {
    [MMA_RESULT_F32_RZ] = {24, 0, -126, false, 0x7f800000, 0x7fffffff, 0x80000000},
    [MMA_RESULT_E8M13_RZ] = {14, 10, -126, false, 0x7f800000, 0x7fffffff, 0x80000000},
    [MMA_RESULT_F16_RN] = {11, 0, -14, true, 0x7c00, 0x7fff, 0x8000},
};

/* sum * 2^unit_exponent rounded once. A sum that is zero, or becomes zero, gives +0: no Hopper
 * matrix instruction returns -0 (hw-H200-all, probes P11). */
uint32_t mma_round(enum mma_result result, int64_t sum, int unit_exponent) {
    const struct target *t = &targets[result];
    if (sum == 0)
        return 0;
    uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    int exponent = 63 - __builtin_clzll(magnitude) + unit_exponent;
    if (exponent < t->min_exponent)
        exponent = t->min_exponent;
    int last_kept = exponent - (int)t->precision_bits + 1;
    int cut = last_kept - unit_exponent;
    uint64_t kept = magnitude;
    if (cut > 63) {
        kept = 0; /* |sum| < 2^62: less than half a unit */
    } else if (cut > 0) {
        uint64_t rest = bits_get(magnitude, 0, (unsigned)cut);
        uint64_t half = UINT64_C(1) << (cut - 1);
        kept = magnitude >> cut;
        if (t->nearest && (rest > half || (rest == half && (kept & 1) != 0)))
            kept++;
    } else {
        kept = magnitude << -cut; /* fewer bits than the format has */
    }
    /* The leading bit of `kept` adds one to the exponent field; so does a carry out of rounding. */
    uint64_t word = ((uint64_t)(exponent - t->min_exponent) << (t->precision_bits - 1)) + kept;
    word <<= t->unused_bits;
    if (word >= t->inf)
        word = t->inf;
    if (word == 0)
        return 0;
    return (uint32_t)word | (sum < 0 ? t->sign : 0);
}

struct term {
    bool negative;
    int fraction_bits;
    int exponent;
    uint64_t significand;
};

/* Infinity and NaN decide before any arithmetic. */
struct specials {
    bool nan, plus_inf, minus_inf;
};

static void note_value(struct specials *s, struct small_float_value v) {
    if (v.class == SMALL_FLOAT_NAN)
        s->nan = true;
    else if (v.class == SMALL_FLOAT_INF)
        *(v.negative ? &s->minus_inf : &s->plus_inf) = true;
}

static void note_product(struct specials *s, struct small_float_value a,
                         struct small_float_value b) {
    bool inf = a.class == SMALL_FLOAT_INF || b.class == SMALL_FLOAT_INF;
    bool zero = a.class == SMALL_FLOAT_ZERO || b.class == SMALL_FLOAT_ZERO;
    if (a.class == SMALL_FLOAT_NAN || b.class == SMALL_FLOAT_NAN || (inf && zero))
        s->nan = true;
    else if (inf)
        *(a.negative != b.negative ? &s->minus_inf : &s->plus_inf) = true;
}

static int64_t aligned_sum(const struct mma_arith *arith, const struct term *terms, unsigned count,
                           int top) {
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        if (terms[i].significand == 0)
            continue; /* its exponent means nothing */
        int cut = top - terms[i].exponent + terms[i].fraction_bits - arith->fraction_bits;
        uint64_t kept = 0;
        if (cut <= 0)
            kept = terms[i].significand << -cut;
        else if (cut < 64)
            kept = terms[i].significand >> cut;
        sum += terms[i].negative ? -(int64_t)kept : (int64_t)kept;
    }
    return sum;
}

/* One fused step of `count` products and c. */
static uint32_t fused_step(const struct mma_arith *arith, const struct small_float_value *a,
                           const struct small_float_value *b, unsigned count,
                           struct small_float_value c) {
    struct term terms[MMA_K_MAX + 1];
    struct specials special = {0};
    note_value(&special, c);
    terms[count] = (struct term){c.negative, c.fraction_bits, c.exponent, c.significand};
    for (unsigned i = 0; i < count; i++) {
        note_product(&special, a[i], b[i]);
        terms[i] = (struct term){
            a[i].negative != b[i].negative, a[i].fraction_bits + b[i].fraction_bits,
            a[i].exponent + b[i].exponent, (uint64_t)a[i].significand * b[i].significand};
    }
    const struct target *t = &targets[arith->result];
    if (special.nan || (special.plus_inf && special.minus_inf))
        return t->nan;
    if (special.plus_inf || special.minus_inf)
        return t->inf | (special.minus_inf ? t->sign : 0);
    int top = INT16_MIN;
    for (unsigned i = 0; i <= count; i++) {
        int exponent = terms[i].significand == 0 ? arith->zero_exponent : terms[i].exponent;
        if (exponent > top)
            top = exponent;
    }
    return mma_round(arith->result, aligned_sum(arith, terms, count + 1, top),
                     top - arith->fraction_bits);
}

static enum small_float acc_format(const struct mma_arith *arith) {
    return arith->acc == MMA_ACC_F16 ? SMALL_FLOAT_F16 : SMALL_FLOAT_F32;
}

/* An fp8 element as an f16 would hold it: same value, normalised where f16 can. */
static struct small_float_value as_f16(struct small_float_value v) {
    const struct small_float_format *f16 = small_float_format(SMALL_FLOAT_F16);
    v.significand <<= f16->fraction_bits - v.fraction_bits;
    v.fraction_bits = f16->fraction_bits;
    while (v.class == SMALL_FLOAT_FINITE && v.significand >> v.fraction_bits == 0 &&
           v.exponent > 1 - f16->bias) {
        v.significand <<= 1;
        v.exponent--;
    }
    return v;
}

/* IEEE add, to nearest even, of the accumulator's type; NaN is the tensor core's. */
static uint32_t ieee_add(enum mma_acc acc, uint32_t x, uint32_t y) {
    if (acc == MMA_ACC_F32) {
        float sum = bits_to_f32(x) + bits_to_f32(y);
        return sum != sum ? targets[MMA_RESULT_F32_RZ].nan : bits_from_f32(sum);
    }
    const struct target *t = &targets[MMA_RESULT_F16_RN];
    struct small_float_value v[2] = {small_float_decode(SMALL_FLOAT_F16, x),
                                     small_float_decode(SMALL_FLOAT_F16, y)};
    struct specials special = {0};
    int64_t sum = 0; /* in units of 2^-24, the smallest f16 subnormal */
    for (unsigned i = 0; i < 2; i++) {
        note_value(&special, v[i]);
        int64_t units = (int64_t)((uint64_t)v[i].significand << ((v[i].exponent + 14) & 31));
        sum += v[i].negative ? -units : units;
    }
    if (special.nan || (special.plus_inf && special.minus_inf))
        return t->nan;
    if (special.plus_inf || special.minus_inf)
        return t->inf | (special.minus_inf ? t->sign : 0);
    if (sum == 0)
        return v[0].negative && v[1].negative ? t->sign : 0;
    return mma_round(MMA_RESULT_F16_RN, sum, -24);
}

/* fp8 mma.sync on sm_90 and sm_100 is no matrix instruction of its own: ptxas 13.0 converts to f16,
 * multiplies first the k with k mod 4 in {0,1}, then those in {2,3}, from zero, and adds c last. */
static uint32_t f16_halves(const struct mma_arith *arith, const struct small_float_value *a,
                           const struct small_float_value *b, const struct mma_dot *in) {
    uint32_t sum = 0;
    for (unsigned half = 0; half < 2; half++) {
        struct small_float_value part_a[MMA_K_MAX / 2], part_b[MMA_K_MAX / 2];
        unsigned count = 0;
        for (unsigned k = 0; k < in->k; k++)
            if ((k & 2) == 2 * half) {
                part_a[count] = as_f16(a[k]);
                part_b[count++] = as_f16(b[k]);
            }
        sum = fused_step(arith, part_a, part_b, count, small_float_decode(acc_format(arith), sum));
    }
    return ieee_add(arith->acc, in->c, sum);
}

static int64_t integer_element(enum mma_type type, uint32_t word) {
    return type == MMA_TYPE_S8 ? (int8_t)word : (uint8_t)word;
}

static uint32_t integer_dot(const struct mma_dot *in) {
    int64_t sum = (int32_t)in->c;
    for (unsigned k = 0; k < in->k; k++)
        sum += integer_element(in->a_type, in->a[k]) * integer_element(in->b_type, in->b[k]);
    if (in->saturate && sum > INT32_MAX)
        sum = INT32_MAX;
    if (in->saturate && sum < INT32_MIN)
        sum = INT32_MIN;
    return (uint32_t)sum;
}

uint32_t mma_dot(const struct mma_arith *arith, const struct mma_dot *in) {
    if (arith->result == MMA_RESULT_S32)
        return integer_dot(in);
    struct small_float_value a[MMA_K_MAX], b[MMA_K_MAX];
    for (unsigned k = 0; k < in->k; k++) {
        a[k] = small_float_decode(mma_format_of[in->a_type], in->a[k]);
        b[k] = small_float_decode(mma_format_of[in->b_type], in->b[k]);
    }
    if (arith->lowering == MMA_LOWERING_F16_HALVES)
        return f16_halves(arith, a, b, in);
    struct small_float_value c = small_float_decode(acc_format(arith), in->c);
    c.exponent = (int16_t)(c.exponent - in->scale_c_log2);
    uint32_t d = 0;
    for (unsigned k = 0; k < in->k; k += arith->fused_terms) {
        unsigned count = in->k - k < arith->fused_terms ? in->k - k : arith->fused_terms;
        d = fused_step(arith, a + k, b + k, count, c);
        c = small_float_decode(acc_format(arith), d);
    }
    return d;
}
