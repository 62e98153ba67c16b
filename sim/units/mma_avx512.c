/* The AVX-512 engine: blocks of 64 columns, rounding embedded in the instructions. Method and
 * planes are in mma_planes.h. Four rows at a time go through two passes:
 *
 *     examine    64 byte lanes:    E = max over k of e(a) + e(b), and of c
 *     sums       8 double lanes:   S = M + trunc(c), then fma toward zero, corrected, rounded to d;
 *                32 byte lanes:    how many negative products the floor cuts one too low */
#include "mma_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX512        __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,f16c")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) static inline

enum {
    LANES = 8, /* doubles in a vector */
    WORDS = 16,
    DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC,
    UP = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC,
    TO_ZERO = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC,
};

static bool usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma");
}

/* ---- preparing ---- */

/* Sixteen elements of `type` as f32 words; `lanes` says which of them exist. */
AVX512_INLINE __m512i load_f32(enum mma_type type, const char *at, __mmask16 lanes) {
    if (type == MMA_TYPE_TF32)
        return _mm512_and_si512(_mm512_maskz_loadu_epi32(lanes, at), _mm512_set1_epi32(-0x2000));
    if (type == MMA_TYPE_F16)
        return _mm512_castps_si512(_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, at)));
    if (type == MMA_TYPE_BF16)
        return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, at)), 16);
    const struct mma_byte_format *f = &mma_byte_formats[type];
    __m256i word = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(lanes, at));
    __m256i magnitude = _mm256_and_si256(word, _mm256_set1_epi16((short)f->magnitude_mask));
    __m256i sign = _mm256_and_si256(word, _mm256_set1_epi16((short)f->sign_mask));
    __m256i half =
        _mm256_or_si256(_mm256_sll_epi16(magnitude, _mm_cvtsi32_si128(f->magnitude_shift)),
                        _mm256_sll_epi16(sign, _mm_cvtsi32_si128(f->sign_shift)));
    __m512i value =
        _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(f->scale)));
    __mmask16 nan = _mm256_cmpeq_epi16_mask(magnitude, _mm256_set1_epi16((short)f->magnitude_mask));
    return _mm512_mask_mov_epi32(value, f->top_nan ? nan : 0, _mm512_set1_epi32(0x7fffffff));
}

/* exponent and low of a zero or special element are such that its bytes become those of a zero. */
struct parts {
    __m512i exponent, low;
    __mmask16 special;
};

AVX512_INLINE struct parts take_apart(__m512i word, int min_exponent) {
    struct parts p;
    __m512i twice = _mm512_slli_epi32(word, 1);
    __mmask16 zero = _mm512_testn_epi32_mask(twice, twice);
    p.special = _mm512_cmpge_epu32_mask(twice, _mm512_set1_epi32((int)0xff000000));
    __m512i exponent =
        _mm512_max_epi32(_mm512_sub_epi32(_mm512_srli_epi32(twice, 24), _mm512_set1_epi32(127)),
                         _mm512_set1_epi32(-126));
    /* the bit above the fraction ends the search for its lowest one */
    __m512i significand = _mm512_or_si512(word, _mm512_set1_epi32(0x800000));
    __m512i lowest_bit =
        _mm512_and_si512(significand, _mm512_sub_epi32(_mm512_setzero_si512(), significand));
    __m512i low = _mm512_sub_epi32(_mm512_add_epi32(exponent, _mm512_set1_epi32(31 - 23)),
                                   _mm512_lzcnt_epi32(lowest_bit));
    exponent = _mm512_max_epi32(exponent, _mm512_set1_epi32(min_exponent));
    p.exponent =
        _mm512_mask_mov_epi32(exponent, zero | p.special, _mm512_set1_epi32(MMA_NO_EXPONENT));
    p.low = _mm512_mask_mov_epi32(low, zero | p.special, _mm512_set1_epi32(-MMA_NO_EXPONENT));
    return p;
}

AVX512_INLINE void store_values(double *out, __m512i word) {
    __m512 value = _mm512_castsi512_ps(word);
    _mm512_storeu_pd(out, _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
    _mm512_storeu_pd(out + LANES, _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
}

/* Sixteen saturated bytes, each four times. */
AVX512_INLINE __m512i replicate(__m512i lanes) {
    __m512i bytes = _mm512_cvtepu8_epi32(_mm512_cvtsepi32_epi8(lanes));
    const __m512i index = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    return _mm512_shuffle_epi8(bytes, index);
}

AVX512_INLINE void prepare_a_row(struct mma_operand *operand, enum mma_type type, uint32_t row) {
    uint32_t k_count = operand->k, width = mma_type_bytes(type);
    const char *words = (const char *)operand->words + (size_t)row * k_count * width;
    double *values = (double *)operand->values + row * k_count;
    uint32_t *exponents = (uint32_t *)operand->exponents + row * k_count;
    struct mma_depth *depths = (struct mma_depth *)operand->depths + row * k_count;
    int min_exponent = mma_min_exponent(type), vectors = k_count > WORDS ? 2 : 1;
    __mmask16 lanes = (__mmask16)(k_count >= WORDS ? 0xffff : (1u << k_count) - 1);
    struct mma_row info = {.top = MMA_NO_EXPONENT, .deepest = MMA_ZERO_BYTE};
    __m512i word[2];
    struct parts parts[2];
    for (int v = 0; v < vectors; v++) {
        word[v] = load_f32(type, words + (size_t)v * WORDS * width, lanes);
        parts[v] = take_apart(word[v], min_exponent);
        int top = _mm512_reduce_max_epi32(parts[v].exponent);
        info.top = top > info.top ? top : info.top;
        info.special |= parts[v].special != 0;
        __m512 value = _mm512_castsi512_ps(word[v]);
        _mm512_mask_storeu_pd(values + v * WORDS, (__mmask8)lanes,
                              _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
        _mm512_mask_storeu_pd(values + v * WORDS + LANES, (__mmask8)(lanes >> LANES),
                              _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
    }
    if (info.top == MMA_NO_EXPONENT)
        info.top = 0;
    __m512i top = _mm512_set1_epi32(info.top);
    for (int v = 0; v < vectors; v++) {
        __m512i depth = _mm512_sub_epi32(top, parts[v].low);
        int deepest = _mm512_reduce_max_epi32(depth);
        info.deepest = deepest > info.deepest ? deepest : info.deepest;
        _mm512_mask_storeu_epi32(exponents + v * WORDS, lanes,
                                 replicate(_mm512_sub_epi32(parts[v].exponent, top)));
        __m512i half =
            _mm512_maskz_mov_epi32(_mm512_movepi32_mask(word[v]), _mm512_set1_epi32(MMA_BLOCK));
        depth = replicate(depth);
        const __m512i first =
            _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(LANES));
        _mm512_mask_storeu_epi64(depths + v * WORDS, (__mmask8)lanes,
                                 _mm512_permutex2var_epi32(depth, first, half));
        _mm512_mask_storeu_epi64(depths + v * WORDS + LANES, (__mmask8)(lanes >> LANES),
                                 _mm512_permutex2var_epi32(depth, second, half));
    }
    ((struct mma_row *)operand->row_info)[row] = info;
}

/* rows[i] holds 16 words of row i; afterwards rows[i] holds word i of every row. */
AVX512_INLINE void transpose(__m512i rows[WORDS]) {
    __m512i t[WORDS];
#pragma GCC unroll 16
    for (int i = 0; i < WORDS; i += 2) {
        t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < WORDS; i += 4) {
        rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    /* rows[4*g + c], 128-bit part p: words 4*p + c of rows 4*g .. 4*g + 3 */
#pragma GCC unroll 16
    for (int c = 0; c < 4; c++) {
        __m512i low = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0x88);
        __m512i high = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0xdd);
        __m512i low2 = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0x88);
        __m512i high2 = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0xdd);
        t[c] = _mm512_shuffle_i32x4(low, low2, 0x88);
        t[8 + c] = _mm512_shuffle_i32x4(low, low2, 0xdd);
        t[4 + c] = _mm512_shuffle_i32x4(high, high2, 0x88);
        t[12 + c] = _mm512_shuffle_i32x4(high, high2, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < WORDS; i++)
        rows[i] = t[i];
}

/* Columns column .. column+15 as f32 words, k outermost. */
AVX512_INLINE void load_columns(const struct mma_operand *operand, enum mma_type type,
                                uint32_t column, __m512i *words) {
    uint32_t k_count = operand->k, width = mma_type_bytes(type);
    __mmask16 lanes = (__mmask16)(k_count >= WORDS ? 0xffff : (1u << k_count) - 1);
    for (uint32_t k = 0; k < k_count; k += WORDS) {
#pragma GCC unroll 16
        for (uint32_t i = 0; i < WORDS; i++) {
            const char *at =
                (const char *)operand->words + ((size_t)(column + i) * k_count + k) * width;
            words[k + i] =
                column + i < operand->rows ? load_f32(type, at, lanes) : _mm512_setzero_si512();
        }
        transpose(words + k);
    }
}

/* Sixteen columns of a block, from column `at` of it. */
AVX512_INLINE void prepare_b_columns(struct mma_operand *operand, enum mma_type type,
                                     uint32_t block, uint32_t at, __m512i *deepest) {
    uint32_t k_count = operand->k;
    size_t base = (size_t)block * k_count * MMA_BLOCK + at;
    double *values = (double *)operand->values + base;
    int8_t *exponents = (int8_t *)operand->exponents + base;
    int8_t *depths = (int8_t *)operand->depths + (size_t)block * k_count * 2 * MMA_BLOCK + at;
    struct mma_block *info = (struct mma_block *)operand->row_info + block;
    int min_exponent = mma_min_exponent(type);
    __m512i words[MMA_K_MAX], top = _mm512_set1_epi32(MMA_NO_EXPONENT);
    struct parts parts[MMA_K_MAX];
    __mmask16 special = 0;
    load_columns(operand, type, block * MMA_BLOCK + at, words);
    for (uint32_t k = 0; k < k_count; k++) {
        parts[k] = take_apart(words[k], min_exponent);
        store_values(values + k * MMA_BLOCK, words[k]);
        top = _mm512_max_epi32(top, parts[k].exponent);
        special |= parts[k].special;
    }
    top = _mm512_maskz_mov_epi32(_mm512_cmpneq_epi32_mask(top, _mm512_set1_epi32(MMA_NO_EXPONENT)),
                                 top);
    _mm256_storeu_si256((__m256i *)(info->top + at), _mm512_cvtepi32_epi16(top));
    info->special |= (uint64_t)special << at;
    const __m128i none = _mm_set1_epi8(MMA_ZERO_BYTE);
    for (uint32_t k = 0; k < k_count; k++) {
        __m512i depth = _mm512_sub_epi32(top, parts[k].low);
        *deepest = _mm512_max_epi32(*deepest, depth);
        __m128i exponent_bytes = _mm512_cvtsepi32_epi8(_mm512_sub_epi32(parts[k].exponent, top));
        __m128i depth_bytes = _mm512_cvtsepi32_epi8(depth);
        __mmask16 negative = _mm512_movepi32_mask(words[k]);
        _mm_storeu_si128((__m128i *)(exponents + k * MMA_BLOCK), exponent_bytes);
        _mm_storeu_si128((__m128i *)(depths + 2 * k * MMA_BLOCK),
                         _mm_mask_mov_epi8(none, negative, depth_bytes));
        _mm_storeu_si128((__m128i *)(depths + (2 * k + 1) * MMA_BLOCK),
                         _mm_mask_mov_epi8(depth_bytes, negative, none));
    }
}

AVX512_INLINE __m512i load_tops(const struct mma_block *info, int at) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(info->top + at)));
}

AVX512_INLINE void prepare_type(struct mma_operand *operand, enum mma_type type) {
    if (operand->role == MMA_ROLE_A) {
        for (uint32_t row = 0; row < operand->rows; row++)
            prepare_a_row(operand, type, row);
        return;
    }
    for (uint32_t block = 0; block * MMA_BLOCK < operand->rows; block++) {
        struct mma_block *info = (struct mma_block *)operand->row_info + block;
        __m512i deepest = _mm512_set1_epi32(MMA_ZERO_BYTE);
        info->special = 0;
        for (uint32_t at = 0; at < MMA_BLOCK; at += WORDS)
            prepare_b_columns(operand, type, block, at, &deepest);
        info->deepest = _mm512_reduce_max_epi32(deepest);
        __m512i low = load_tops(info, 0), high = low;
        for (int at = WORDS; at < MMA_BLOCK; at += WORDS) {
            low = _mm512_min_epi32(low, load_tops(info, at));
            high = _mm512_max_epi32(high, load_tops(info, at));
        }
        info->top_min = _mm512_reduce_min_epi32(low);
        info->top_max = _mm512_reduce_max_epi32(high);
    }
}

AVX512 static void prepare(struct mma_operand *operand) {
    switch (operand->type) {
    case MMA_TYPE_BF16: prepare_type(operand, MMA_TYPE_BF16); break;
    case MMA_TYPE_F16: prepare_type(operand, MMA_TYPE_F16); break;
    case MMA_TYPE_TF32: prepare_type(operand, MMA_TYPE_TF32); break;
    default: prepare_type(operand, operand->type); break;
    }
}

/* ---- computing ---- */

/* Relative exponents of 32 accumulators. A subnormal one counts as zero (f32) or as less than it is
 * (f16): lanes in the vector range have E at or above the true exponent. */
AVX512_INLINE __m256i half_c_exponents(const struct mma_work *w, const uint32_t *c, int row_top,
                                       int from) {
    /* the upper word of each accumulator has sign and exponent */
    const __m512i upper =
        _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                         25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    __m512i word = _mm512_permutex2var_epi16(_mm512_loadu_si512(c + from), upper,
                                             _mm512_loadu_si512(c + from + WORDS));
    __m512i field = _mm512_srli_epi16(_mm512_slli_epi16(word, 1), 8);
    __m512i bias = _mm512_add_epi16(_mm512_loadu_si512(w->info->top + from),
                                    _mm512_set1_epi16((short)(127 + row_top)));
    return _mm512_mask_cvtsepi16_epi8(_mm256_set1_epi8(MMA_ZERO_BYTE),
                                      _mm512_test_epi16_mask(field, field),
                                      _mm512_sub_epi16(field, bias));
}

AVX512_INLINE __m512i c_exponents(const struct mma_work *w, const uint32_t *c, int row_top) {
    __m512i low = _mm512_castsi256_si512(half_c_exponents(w, c, row_top, 0));
    return _mm512_inserti64x4(low, half_c_exponents(w, c, row_top, 2 * WORDS), 1);
}

AVX512_INLINE void largest_exponents(const struct mma_work *w, const uint32_t *a, int rows,
                                     __m512i *top) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        top[r] = _mm512_set1_epi8(MMA_ZERO_BYTE);
    for (uint32_t k = 0; k < w->k_count; k++) {
        __m512i b = _mm512_loadu_si512(w->b_exponents + k * MMA_BLOCK);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m512i sum =
                _mm512_adds_epi8(b, _mm512_set1_epi32((int)a[(uint32_t)r * w->k_count + k]));
            top[r] = _mm512_max_epi8(top[r], sum);
        }
    }
}

enum { VECTORS = 4 }; /* of doubles, whose loads of A are shared */

AVX512_INLINE __m256 to_f32(__m512d sum, bool sticky, uint32_t keep) {
    __m256 result = _mm512_cvt_roundpd_ps(sum, TO_ZERO);
    if (sticky) {
        __mmask8 cut = _mm512_cmp_pd_mask(sum, _mm512_cvtps_pd(result), _CMP_NEQ_UQ);
        __m256i word = _mm256_castps_si256(result);
        return _mm256_castsi256_ps(_mm256_mask_or_epi32(word, cut, word, _mm256_set1_epi32(1)));
    }
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_castps_si256(result), _mm256_set1_epi32((int)keep)));
}

/* The upper words of 1.5 * 2^(52 + E - F), of 32 columns: exponent field, then the half. */
AVX512_INLINE __m512i start_words(const struct mma_work *w, const struct mma_lanes *lanes, int r,
                                  int from) {
    int field = 1023 + 52 - w->fraction_bits + w->a_info[r].top;
    __m512i word = _mm512_cvtepi8_epi16(_mm256_load_si256((const __m256i *)(lanes->top[r] + from)));
    word = _mm512_add_epi16(word, _mm512_loadu_si512(w->info->top + from));
    word = _mm512_add_epi16(word, _mm512_set1_epi16((short)field));
    return _mm512_or_si512(_mm512_slli_epi16(word, 4), _mm512_set1_epi16(8));
}

/* For doubles 8*v .. 8*v+7: word 3 of each from the first source, word 0 from the second, 0
 * between. Word 0 stands in the last bits of M: the sums start at M + COUNT_MAX and what is taken
 * off in the end is M + COUNT_MAX - count. */
AVX512_INLINE __m512d place_words(__m512i upper, __m512i lower, int v) {
    const __m512i first =
        _mm512_setr_epi64(0x20, 0x1000000000021, 0x2000000000022, 0x3000000000023, 0x4000000000024,
                          0x5000000000025, 0x6000000000026, 0x7000000000027);
    __m512i places = _mm512_add_epi16(first, _mm512_set1_epi16((short)(v * LANES)));
    return _mm512_castsi512_pd(_mm512_maskz_permutex2var_epi16(0x99999999, upper, places, lower));
}

enum { COUNT_MAX = 64 };
_Static_assert((int)COUNT_MAX >= (int)MMA_K_MAX, "as many corrections as terms");

/* M + trunc(c) + COUNT_MAX */
AVX512_INLINE __m512d start_sum(__m512i words, const uint32_t *c, int v) {
    __m512d m = place_words(words, _mm512_set1_epi16(COUNT_MAX), v);
    __m512d addend = _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(c + v * LANES)));
    __mmask8 negative = _mm512_movepi64_mask(_mm512_castpd_si512(addend));
    __m512d sum = _mm512_add_round_pd(m, addend, DOWN);
    return _mm512_mask_add_round_pd(sum, negative, m, addend, UP);
}

/* Counts the negative products of 32 columns that the floor cuts one too low. Bytes are compared in
 * 256 bits, whose answer is a vector; they fill the slots that the multiplications leave. */
AVX512_INLINE __m256i count_cut(const struct mma_work *w, uint32_t k, const struct mma_depth *a,
                                const int8_t *limit, int from, __m256i count) {
    const int8_t *b = w->b_depths + 2 * k * MMA_BLOCK + a->half_bytes + from;
    __m256i depth =
        _mm256_adds_epi8(_mm256_load_si256((const __m256i *)b), _mm256_set1_epi32((int)a->bytes));
    return _mm256_sub_epi8(
        count, _mm256_cmpgt_epi8(depth, _mm256_load_si256((const __m256i *)(limit + from))));
}

AVX512_INLINE void products(const struct mma_work *w, const struct mma_lanes *lanes, int rows,
                            int from, bool counting, __m256i *count,
                            __m512d sum[MMA_GROUP][VECTORS]) {
    for (uint32_t k = 0; k < w->k_count; k++) {
        const double *b = w->b_values + k * MMA_BLOCK + from;
        __m512d column[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            column[v] = _mm512_loadu_pd(b + v * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            uint32_t at = (uint32_t)r * w->k_count + k;
            __m512d element = _mm512_set1_pd(w->a_values[at]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = _mm512_fmadd_round_pd(element, column[v], sum[r][v], TO_ZERO);
            if (counting)
                count[r] = count_cut(w, k, w->a_depths + at, lanes->limit[r], from, count[r]);
        }
    }
}

/* Columns from .. from+31. `rows` and `sticky` are constants where this is inlined. */
AVX512_INLINE void sums(const struct mma_work *w, const struct mma_lanes *lanes, int rows, int from,
                        bool sticky) {
    __m512d sum[MMA_GROUP][VECTORS];
    __m256i count[MMA_GROUP];
    _Alignas(64) uint16_t start[MMA_GROUP][VECTORS * LANES];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        __m512i words = start_words(w, lanes, r, from);
        _mm512_store_si512(start[r], words);
        count[r] = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = start_sum(words, w->c[r] + from, v);
    }
    if (lanes->counting)
        products(w, lanes, rows, from, true, count, sum);
    else
        products(w, lanes, rows, from, false, count, sum);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        __m512i words = _mm512_load_si512(start[r]);
        __m512i rest =
            _mm512_sub_epi16(_mm512_set1_epi16(COUNT_MAX), _mm512_cvtepi8_epi16(count[r]));
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            _mm256_storeu_ps(
                (float *)(w->d[r] + from + v * LANES),
                to_f32(_mm512_sub_round_pd(sum[r][v], place_words(words, rest, v), TO_ZERO), sticky,
                       w->keep));
    }
}

AVX512_INLINE void examine(const struct mma_work *w, struct mma_lanes *lanes, int rows) {
    __m512i top[MMA_GROUP];
    largest_exponents(w, w->a_exponents, rows, top);
    lanes->counting = false;
    for (int r = 0; r < rows; r++) {
        const struct mma_row *info = &w->a_info[r];
        top[r] = _mm512_max_epi8(top[r], c_exponents(w, w->c[r], info->top));
        struct mma_range range = mma_vector_range(w->tile->arith, info, w->info);
        lanes->outside[r] = _mm512_cmplt_epi8_mask(top[r], _mm512_set1_epi8((char)range.low)) |
                            _mm512_cmpgt_epi8_mask(top[r], _mm512_set1_epi8((char)range.high));
        __m512i limit =
            _mm512_max_epi8(_mm512_subs_epi8(_mm512_set1_epi8((char)w->fraction_bits), top[r]),
                            _mm512_set1_epi8(-1));
        __m512i deepest = _mm512_set1_epi8((char)mma_deepest_product(info, w->info));
        lanes->counting |= _mm512_cmpgt_epi8_mask(deepest, limit) != 0;
        _mm512_store_si512(lanes->top[r], top[r]);
        _mm512_store_si512(lanes->limit[r], limit);
    }
}

AVX512 static void examine_group(const struct mma_work *w, struct mma_lanes *lanes) {
    if (w->rows == MMA_GROUP)
        examine(w, lanes, MMA_GROUP);
    else
        examine(w, lanes, 1);
}

AVX512 static void sums_group(const struct mma_work *w, const struct mma_lanes *lanes) {
    for (int from = 0; from < (int)w->columns; from += VECTORS * LANES)
        if (w->rows == MMA_GROUP && !w->sticky)
            sums(w, lanes, MMA_GROUP, from, false);
        else if (w->rows == MMA_GROUP)
            sums(w, lanes, MMA_GROUP, from, true);
        else
            sums(w, lanes, 1, from, w->sticky);
}

AVX512 static void widen(const uint32_t *half, uint32_t *single) {
    for (int v = 0; v < MMA_BLOCK; v += WORDS) {
        __m256i word = _mm512_cvtepi32_epi16(_mm512_loadu_si512(half + v));
        _mm512_storeu_ps(single + v, _mm512_cvtph_ps(word));
    }
}

AVX512 static void narrow(const uint32_t *single, uint32_t *half) {
    for (int v = 0; v < MMA_BLOCK; v += WORDS) {
        __m512i word = _mm512_cvtepu16_epi32(
            _mm512_cvtps_ph(_mm512_loadu_ps(single + v), _MM_FROUND_TO_NEAREST_INT));
        __mmask16 zero = _mm512_cmpeq_epi32_mask(word, _mm512_set1_epi32(0x8000));
        _mm512_storeu_si512(half + v, _mm512_mask_mov_epi32(word, zero, _mm512_setzero_si512()));
    }
}

static void tile_avx512(const struct mma_tile *tile) {
    static const struct mma_vector vector = {
        .examine = examine_group, .sums = sums_group, .widen = widen, .narrow = narrow};
    mma_vector_tile(tile, &vector);
}

const struct mma_engine mma_engine_avx512 = {
    .name = "avx512", .usable = usable, .prepare = prepare, .tile = tile_avx512};
#endif
