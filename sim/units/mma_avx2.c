/* The MMA_AVX2 engine: the passes of mma_avx512.c in vectors of half the width. Method and planes
 * are in mma_planes.h. Rounding toward zero is set in the processor's mode for the length of a
 * tile; what rounds runs in functions of their own, so that nothing moves across the change of
 * mode. */
#include "mma_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum {
    LANES = 4, /* doubles in a vector */
    WORDS = 8,
    BYTES = 32,
    BYTE_VECTORS = MMA_BLOCK / BYTES,
};

/* every processor with MMA_AVX2 converts f16 */
static bool usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

MMA_AVX2_INLINE __m256i load_bytes(const void *at) {
    return _mm256_loadu_si256(at);
}

/* Relative exponents of 32 accumulators, as in mma_avx512.c. */
MMA_AVX2_INLINE __m256i c_exponents(const struct mma_work *w, const uint32_t *c, int row_top,
                                    int from) {
    const __m256i bias = _mm256_set1_epi32(127 + row_top);
    const __m256i none = _mm256_set1_epi32(MMA_ZERO_BYTE);
    __m256i exponent[BYTES / WORDS];
#pragma GCC unroll 4
    for (int v = 0; v < BYTES / WORDS; v++) {
        __m256i word = load_bytes(c + from + v * WORDS);
        __m256i field = _mm256_srli_epi32(_mm256_slli_epi32(word, 1), 24);
        __m256i zero = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
        __m256i top = _mm256_cvtepi16_epi32(
            _mm_loadu_si128((const __m128i *)(w->info->top + from + v * WORDS)));
        exponent[v] =
            _mm256_blendv_epi8(_mm256_sub_epi32(_mm256_sub_epi32(field, bias), top), none, zero);
    }
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(exponent[0], exponent[1]),
                                       _mm256_packs_epi32(exponent[2], exponent[3]));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

MMA_AVX2_INLINE __m256i largest_exponent(const struct mma_work *w, const uint32_t *a, int from) {
    __m256i top = _mm256_set1_epi8(MMA_ZERO_BYTE);
    for (uint32_t k = 0; k < w->k_count; k++)
        top =
            _mm256_max_epi8(top, _mm256_adds_epi8(load_bytes(w->b_exponents + k * MMA_BLOCK + from),
                                                  _mm256_set1_epi32((int)a[k])));
    return top;
}

MMA_AVX2_INLINE uint64_t examine_half(const struct mma_work *w, struct mma_lanes *lanes, uint32_t r,
                                      int from) {
    const struct mma_row *info = &w->a_info[r];
    struct mma_range range = mma_vector_range(w->tile->arith, info, w->info);
    __m256i top = _mm256_max_epi8(largest_exponent(w, w->a_exponents + r * w->k_count, from),
                                  c_exponents(w, w->c[r], info->top, from));
    __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8((char)range.low), top),
                                      _mm256_cmpgt_epi8(top, _mm256_set1_epi8((char)range.high)));
    __m256i limit = _mm256_max_epi8(_mm256_subs_epi8(_mm256_set1_epi8((char)w->fraction_bits), top),
                                    _mm256_set1_epi8(-1));
    __m256i deepest = _mm256_set1_epi8((char)mma_deepest_product(info, w->info));
    lanes->counting |= _mm256_movemask_epi8(_mm256_cmpgt_epi8(deepest, limit)) != 0;
    _mm256_store_si256((__m256i *)(lanes->top[r] + from), top);
    _mm256_store_si256((__m256i *)(lanes->limit[r] + from), limit);
    return (uint32_t)_mm256_movemask_epi8(outside);
}

MMA_AVX2 static void examine(const struct mma_work *w, struct mma_lanes *lanes) {
    lanes->counting = false;
    for (uint32_t r = 0; r < w->rows; r++)
        lanes->outside[r] = examine_half(w, lanes, r, 0) | examine_half(w, lanes, r, BYTES)
                                                               << BYTES;
}

struct counts {
    _Alignas(32) int8_t lanes[MMA_GROUP][MMA_BLOCK];
};

/* How many negative products the floor cuts one too low. */
MMA_AVX2_INLINE void count_cut_negatives(const struct mma_work *w, const struct mma_lanes *lanes,
                                         uint32_t r, int from, struct counts *counts) {
    const struct mma_depth *a = w->a_depths + r * w->k_count;
    __m256i limit = load_bytes(lanes->limit[r] + from), count = _mm256_setzero_si256();
    for (uint32_t k = 0; k < w->k_count; k++) {
        __m256i depth =
            _mm256_adds_epi8(load_bytes(w->b_depths + 2 * k * MMA_BLOCK + a[k].half_bytes + from),
                             _mm256_set1_epi32((int)a[k].bytes));
        count = _mm256_sub_epi8(count, _mm256_cmpgt_epi8(depth, limit));
    }
    _mm256_store_si256((__m256i *)(counts->lanes[r] + from), count);
}

MMA_AVX2 static void count(const struct mma_work *w, const struct mma_lanes *lanes,
                           struct counts *counts) {
    if (!lanes->counting) {
        memset(counts, 0, sizeof *counts);
        return;
    }
    for (uint32_t r = 0; r < w->rows; r++)
        for (int from = 0; from < MMA_BLOCK; from += BYTES)
            count_cut_negatives(w, lanes, r, from, counts);
}

MMA_AVX2_INLINE __m256i widen_bytes(const int8_t *bytes) {
    int32_t four;
    memcpy(&four, bytes, sizeof four);
    return _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four));
}

/* S before the products: M + trunc(c) + count. Adding |c| to M cuts it toward zero. */
MMA_AVX2_INLINE __m256d start_sum(__m256d m, __m128 accumulators, __m256i count) {
    __m256d c = _mm256_cvtps_pd(accumulators);
    __m256d signed_m = _mm256_or_pd(m, _mm256_and_pd(c, _mm256_set1_pd(-0.0)));
    __m256d cut = _mm256_sub_pd(_mm256_add_pd(c, signed_m), signed_m);
    __m256i bits = _mm256_castpd_si256(_mm256_add_pd(m, cut));
    return _mm256_castsi256_pd(_mm256_add_epi64(bits, count));
}

MMA_AVX2_INLINE __m128 to_f32(const struct mma_work *w, __m256d sum) {
    __m128 result = _mm256_cvtpd_ps(sum);
    __m128i word = _mm_castps_si128(result);
    if (!w->sticky)
        return _mm_castsi128_ps(_mm_and_si128(word, _mm_set1_epi32((int)w->keep)));
    __m256 cut = _mm256_castpd_ps(_mm256_cmp_pd(sum, _mm256_cvtps_pd(result), _CMP_NEQ_UQ));
    __m128 narrow =
        _mm_shuffle_ps(_mm256_castps256_ps128(cut), _mm256_extractf128_ps(cut, 1), 0x88);
    return _mm_castsi128_ps(
        _mm_or_si128(word, _mm_and_si128(_mm_castps_si128(narrow), _mm_set1_epi32(1))));
}

enum { VECTORS = 2 }; /* of doubles, whose loads of A are shared */

/* `rows` is a constant where this is inlined. */
MMA_AVX2_INLINE void sums(const struct mma_work *w, const struct mma_lanes *lanes,
                          const struct counts *counts, int rows, int from) {
    __m256d sum[MMA_GROUP][VECTORS];
    _Alignas(32) double start[MMA_GROUP][VECTORS][LANES];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        /* 1.5 * 2^(52 + E - F), E without the part that is lane by lane */
        int64_t field = 1023 + 52 - w->fraction_bits + w->a_info[r].top;
        __m256i base = _mm256_set1_epi64x(field);
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            int at = from + v * LANES;
            __m128i tops = _mm_loadl_epi64((const __m128i *)(w->info->top + at));
            __m256i bits = _mm256_add_epi64(widen_bytes(lanes->top[r] + at),
                                            _mm256_add_epi64(_mm256_cvtepi16_epi64(tops), base));
            __m256d m = _mm256_or_pd(_mm256_castsi256_pd(_mm256_slli_epi64(bits, 52)),
                                     _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_C(1) << 51)));
            _mm256_store_pd(start[r][v], m);
            sum[r][v] = start_sum(m, _mm_loadu_ps((const float *)(w->c[r] + at)),
                                  widen_bytes(counts->lanes[r] + at));
        }
    }
    for (uint32_t k = 0; k < w->k_count; k++) {
        __m256d column[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            column[v] = _mm256_loadu_pd(w->b_values + k * MMA_BLOCK + from + v * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256d element = _mm256_set1_pd(w->a_values[(uint32_t)r * w->k_count + k]);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = _mm256_fmadd_pd(element, column[v], sum[r][v]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            _mm_storeu_ps((float *)(w->d[r] + from + v * LANES),
                          to_f32(w, _mm256_sub_pd(sum[r][v], _mm256_load_pd(start[r][v]))));
}

MMA_AVX2 static void sums_group(const struct mma_work *w, const struct mma_lanes *lanes) {
    struct counts counts;
    count(w, lanes, &counts);
    for (int from = 0; from < (int)w->columns; from += VECTORS * LANES)
        if (w->rows == MMA_GROUP)
            sums(w, lanes, &counts, MMA_GROUP, from);
        else
            sums(w, lanes, &counts, 1, from);
}

MMA_AVX2 static void widen(const uint32_t *half, uint32_t *single) {
    for (int v = 0; v < MMA_BLOCK; v += WORDS) {
        __m256i words = _mm256_and_si256(load_bytes(half + v), _mm256_set1_epi32(0xffff));
        __m128i packed =
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm256_storeu_ps((float *)(single + v), _mm256_cvtph_ps(packed));
    }
}

MMA_AVX2 static void narrow(const uint32_t *single, uint32_t *half) {
    for (int v = 0; v < MMA_BLOCK; v += WORDS) {
        __m256i word = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(
            _mm256_loadu_ps((const float *)(single + v)), _MM_FROUND_TO_NEAREST_INT));
        __m256i zero = _mm256_cmpeq_epi32(word, _mm256_set1_epi32(0x8000));
        _mm256_storeu_si256((__m256i *)(half + v), _mm256_andnot_si256(zero, word));
    }
}

static void tile_avx2(const struct mma_tile *tile) {
    static const struct mma_vector vector = {
        .examine = examine, .sums = sums_group, .widen = widen, .narrow = narrow};
    unsigned mode = _mm_getcsr();
    _mm_setcsr((mode & ~(unsigned)_MM_ROUND_MASK) | _MM_ROUND_TOWARD_ZERO);
    mma_vector_tile(tile, &vector);
    _mm_setcsr(mode);
}

const struct mma_engine mma_engine_avx2 = {
    .name = "avx2", .usable = usable, .prepare = mma_avx2_prepare, .tile = tile_avx2};
#endif
