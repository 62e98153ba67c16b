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

/* Relative exponents of 32 accumulators. A subnormal one counts as zero (f32) or as less than it is
 * (f16): lanes in the vector range have E at or above the true exponent. */
MMA_AVX512_INLINE __m256i half_c_exponents(const struct mma_work *w, const uint32_t *c, int row_top,
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

MMA_AVX512_INLINE __m512i c_exponents(const struct mma_work *w, const uint32_t *c, int row_top) {
    __m512i low = _mm512_castsi256_si512(half_c_exponents(w, c, row_top, 0));
    return _mm512_inserti64x4(low, half_c_exponents(w, c, row_top, 2 * WORDS), 1);
}

MMA_AVX512_INLINE void largest_exponents(const struct mma_work *w, const uint32_t *a, int rows,
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

MMA_AVX512_INLINE __m256 to_f32(__m512d sum, bool sticky, uint32_t keep) {
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
MMA_AVX512_INLINE __m512i start_words(const struct mma_work *w, const struct mma_lanes *lanes,
                                      int r, int from) {
    int field = 1023 + 52 - w->fraction_bits + w->a_info[r].top;
    __m512i word = _mm512_cvtepi8_epi16(_mm256_load_si256((const __m256i *)(lanes->top[r] + from)));
    word = _mm512_add_epi16(word, _mm512_loadu_si512(w->info->top + from));
    word = _mm512_add_epi16(word, _mm512_set1_epi16((short)field));
    return _mm512_or_si512(_mm512_slli_epi16(word, 4), _mm512_set1_epi16(8));
}

/* For doubles 8*v .. 8*v+7: word 3 of each from the first source, word 0 from the second, 0
 * between. Word 0 stands in the last bits of M: the sums start at M + COUNT_MAX and what is taken
 * off in the end is M + COUNT_MAX - count. */
MMA_AVX512_INLINE __m512d place_words(__m512i upper, __m512i lower, int v) {
    const __m512i first =
        _mm512_setr_epi64(0x20, 0x1000000000021, 0x2000000000022, 0x3000000000023, 0x4000000000024,
                          0x5000000000025, 0x6000000000026, 0x7000000000027);
    __m512i places = _mm512_add_epi16(first, _mm512_set1_epi16((short)(v * LANES)));
    return _mm512_castsi512_pd(_mm512_maskz_permutex2var_epi16(0x99999999, upper, places, lower));
}

enum { COUNT_MAX = 64 };
_Static_assert((int)COUNT_MAX >= (int)MMA_K_MAX, "as many corrections as terms");

/* M + trunc(c) + COUNT_MAX */
MMA_AVX512_INLINE __m512d start_sum(__m512i words, const uint32_t *c, int v) {
    __m512d m = place_words(words, _mm512_set1_epi16(COUNT_MAX), v);
    __m512d addend = _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(c + v * LANES)));
    __mmask8 negative = _mm512_movepi64_mask(_mm512_castpd_si512(addend));
    __m512d sum = _mm512_add_round_pd(m, addend, DOWN);
    return _mm512_mask_add_round_pd(sum, negative, m, addend, UP);
}

/* Counts the negative products of 32 columns that the floor cuts one too low. Bytes are compared in
 * 256 bits, whose answer is a vector; they fill the slots that the multiplications leave. */
MMA_AVX512_INLINE __m256i count_cut(const struct mma_work *w, uint32_t k, const struct mma_depth *a,
                                    const int8_t *limit, int from, __m256i count) {
    const int8_t *b = w->b_depths + 2 * k * MMA_BLOCK + a->half_bytes + from;
    __m256i depth =
        _mm256_adds_epi8(_mm256_load_si256((const __m256i *)b), _mm256_set1_epi32((int)a->bytes));
    return _mm256_sub_epi8(
        count, _mm256_cmpgt_epi8(depth, _mm256_load_si256((const __m256i *)(limit + from))));
}

MMA_AVX512_INLINE void products(const struct mma_work *w, const struct mma_lanes *lanes, int rows,
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
MMA_AVX512_INLINE void sums(const struct mma_work *w, const struct mma_lanes *lanes, int rows,
                            int from, bool sticky) {
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

MMA_AVX512_INLINE void examine(const struct mma_work *w, struct mma_lanes *lanes, int rows) {
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

MMA_AVX512 static void examine_group(const struct mma_work *w, struct mma_lanes *lanes) {
    if (w->rows == MMA_GROUP)
        examine(w, lanes, MMA_GROUP);
    else
        examine(w, lanes, 1);
}

MMA_AVX512 static void sums_group(const struct mma_work *w, const struct mma_lanes *lanes) {
    for (int from = 0; from < (int)w->columns; from += VECTORS * LANES)
        if (w->rows == MMA_GROUP && !w->sticky)
            sums(w, lanes, MMA_GROUP, from, false);
        else if (w->rows == MMA_GROUP)
            sums(w, lanes, MMA_GROUP, from, true);
        else
            sums(w, lanes, 1, from, w->sticky);
}

MMA_AVX512 static void widen(const uint32_t *half, uint32_t *single) {
    for (int v = 0; v < MMA_BLOCK; v += WORDS) {
        __m256i word = _mm512_cvtepi32_epi16(_mm512_loadu_si512(half + v));
        _mm512_storeu_ps(single + v, _mm512_cvtph_ps(word));
    }
}

MMA_AVX512 static void narrow(const uint32_t *single, uint32_t *half) {
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
    .name = "avx512", .usable = usable, .prepare = mma_avx512_prepare, .tile = tile_avx512};
#endif
