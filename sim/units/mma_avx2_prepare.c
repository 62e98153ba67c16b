/* The planes of the AVX2 engine (mma_planes.h) out of raw elements. Every type becomes f32 first,
 * exactly; columns of B are transposed eight at a time. */
#include "mma_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    LANES = 4, /* doubles in a vector */
    WORDS = 8,
};

MMA_AVX2_INLINE __m256i first_lanes(uint32_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Eight elements as f32 words; lanes that `exist` does not have are zero. The bytes read beyond
 * them lie within the operand's storage. */
MMA_AVX2_INLINE __m256i load_f32(enum mma_type type, const char *at, __m256i exist) {
    if (type == MMA_TYPE_TF32)
        return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)at),
                                _mm256_and_si256(exist, _mm256_set1_epi32(-0x2000)));
    if (type == MMA_TYPE_F16)
        return _mm256_and_si256(
            _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)at))), exist);
    if (type == MMA_TYPE_BF16)
        return _mm256_and_si256(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at)), 16),
            exist);
    const struct mma_byte_format *f = &mma_byte_formats[type];
    __m128i word = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)at));
    __m128i all = _mm_set1_epi16((short)f->magnitude_mask);
    __m128i magnitude = _mm_and_si128(word, all);
    __m128i sign = _mm_and_si128(word, _mm_set1_epi16((short)f->sign_mask));
    __m128i half = _mm_or_si128(_mm_sll_epi16(magnitude, _mm_cvtsi32_si128(f->magnitude_shift)),
                                _mm_sll_epi16(sign, _mm_cvtsi32_si128(f->sign_shift)));
    __m256 value = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(f->scale));
    __m256i nan = _mm256_cvtepi16_epi32(_mm_cmpeq_epi16(magnitude, all));
    nan = _mm256_srli_epi32(f->top_nan ? nan : _mm256_setzero_si256(), 1);
    return _mm256_and_si256(_mm256_or_si256(_mm256_castps_si256(value), nan), exist);
}

/* exponent and low of a zero or special element are such that its bytes become those of a zero. */
struct parts {
    __m256i exponent, low, special;
};

MMA_AVX2_INLINE __m256i blend(__m256i mask, __m256i where_set, __m256i where_clear) {
    return _mm256_blendv_epi8(where_clear, where_set, mask);
}

MMA_AVX2_INLINE struct parts take_apart(__m256i word, int min_exponent) {
    struct parts p;
    __m256i magnitude = _mm256_and_si256(word, _mm256_set1_epi32(0x7fffffff));
    __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
    p.special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7fffff));
    __m256i exponent =
        _mm256_max_epi32(_mm256_sub_epi32(_mm256_srli_epi32(magnitude, 23), _mm256_set1_epi32(127)),
                         _mm256_set1_epi32(-126));
    /* the bit above the fraction ends the search for its lowest one; as a float, that bit shows its
     * place in the exponent field */
    __m256i significand = _mm256_or_si256(word, _mm256_set1_epi32(0x800000));
    __m256i lowest_bit =
        _mm256_and_si256(significand, _mm256_sub_epi32(_mm256_setzero_si256(), significand));
    __m256i place = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(lowest_bit)), 23);
    __m256i low = _mm256_add_epi32(_mm256_sub_epi32(place, _mm256_set1_epi32(127 + 23)), exponent);
    exponent = _mm256_max_epi32(exponent, _mm256_set1_epi32(min_exponent));
    __m256i none = _mm256_or_si256(zero, p.special);
    p.exponent = blend(none, _mm256_set1_epi32(MMA_NO_EXPONENT), exponent);
    p.low = blend(none, _mm256_set1_epi32(-MMA_NO_EXPONENT), low);
    return p;
}

MMA_AVX2_INLINE int32_t reduce_max(__m256i v) {
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

MMA_AVX2_INLINE int32_t reduce_min(__m256i v) {
    return -reduce_max(_mm256_sub_epi32(_mm256_setzero_si256(), v));
}

/* Lanes saturated to bytes, each four times. */
MMA_AVX2_INLINE __m256i replicate(__m256i lanes) {
    __m256i bytes = _mm256_max_epi32(_mm256_min_epi32(lanes, _mm256_set1_epi32(INT8_MAX)),
                                     _mm256_set1_epi32(INT8_MIN));
    return _mm256_shuffle_epi8(
        bytes, _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c)));
}

MMA_AVX2_INLINE __m256i wide_mask(__m256i exist, int half) {
    return _mm256_cvtepi32_epi64(half ? _mm256_extracti128_si256(exist, 1)
                                      : _mm256_castsi256_si128(exist));
}

MMA_AVX2_INLINE void store_row_values(double *out, __m256i word, __m256i exist) {
    __m256 value = _mm256_castsi256_ps(word);
    _mm256_maskstore_pd(out, wide_mask(exist, 0), _mm256_cvtps_pd(_mm256_castps256_ps128(value)));
    _mm256_maskstore_pd(out + LANES, wide_mask(exist, 1),
                        _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)));
}

MMA_AVX2_INLINE void store_row_depths(struct mma_depth *out, __m256i depth, __m256i half,
                                      __m256i exist) {
    __m256i even = _mm256_unpacklo_epi32(depth, half), odd = _mm256_unpackhi_epi32(depth, half);
    _mm256_maskstore_epi64((long long *)(void *)out, wide_mask(exist, 0),
                           _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_maskstore_epi64((long long *)(void *)(out + LANES), wide_mask(exist, 1),
                           _mm256_permute2x128_si256(even, odd, 0x31));
}

MMA_AVX2_INLINE void prepare_a_row(struct mma_operand *operand, enum mma_type type, uint32_t row) {
    uint32_t k_count = operand->k, width = mma_type_bytes(type);
    const char *words = (const char *)operand->words + (size_t)row * k_count * width;
    double *values = (double *)operand->values + row * k_count;
    int *exponents = (int *)operand->exponents + row * k_count;
    struct mma_depth *depths = (struct mma_depth *)operand->depths + row * k_count;
    int min_exponent = mma_min_exponent(type);
    struct mma_row info = {.top = MMA_NO_EXPONENT};
    struct parts parts[MMA_K_MAX / WORDS];
    __m256i half[MMA_K_MAX / WORDS];
    for (uint32_t k = 0; k < k_count; k += WORDS) {
        __m256i exist = first_lanes(k_count - k);
        __m256i word = load_f32(type, words + k * width, exist);
        struct parts p = take_apart(word, min_exponent);
        int32_t top = reduce_max(p.exponent);
        info.top = top > info.top ? top : info.top;
        info.special |= _mm256_movemask_epi8(p.special) != 0;
        store_row_values(values + k, word, exist);
        parts[k / WORDS] = p;
        half[k / WORDS] =
            _mm256_and_si256(_mm256_srai_epi32(word, 31), _mm256_set1_epi32(MMA_BLOCK));
    }
    if (info.top == MMA_NO_EXPONENT)
        info.top = 0;
    __m256i deepest = _mm256_set1_epi32(MMA_ZERO_BYTE), top = _mm256_set1_epi32(info.top);
    for (uint32_t k = 0; k < k_count; k += WORDS) {
        const struct parts *p = &parts[k / WORDS];
        __m256i exist = first_lanes(k_count - k), depth = _mm256_sub_epi32(top, p->low);
        deepest = _mm256_max_epi32(deepest, depth);
        _mm256_maskstore_epi32(exponents + k, exist, replicate(_mm256_sub_epi32(p->exponent, top)));
        store_row_depths(depths + k, replicate(depth), half[k / WORDS], exist);
    }
    info.deepest = reduce_max(deepest);
    ((struct mma_row *)operand->row_info)[row] = info;
}

/* rows[i] holds 8 words of row i; afterwards rows[i] holds word i of every row. */
MMA_AVX2_INLINE void transpose(__m256i rows[WORDS]) {
    __m256i t[WORDS], u[WORDS];
#pragma GCC unroll 4
    for (int i = 0; i < WORDS; i += 2) {
        t[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < WORDS; i += 4) {
        u[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        rows[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
    }
}

/* Columns column .. column+7 as f32 words, k outermost. */
MMA_AVX2_INLINE void load_columns(const struct mma_operand *operand, enum mma_type type,
                                  uint32_t column, __m256i *words) {
    uint32_t k_count = operand->k, width = mma_type_bytes(type);
    for (uint32_t k = 0; k < k_count; k += WORDS) {
        __m256i exist = first_lanes(k_count - k);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < WORDS; i++) {
            const char *at =
                (const char *)operand->words + ((size_t)(column + i) * k_count + k) * width;
            words[k + i] =
                column + i < operand->rows ? load_f32(type, at, exist) : _mm256_setzero_si256();
        }
        transpose(words + k);
    }
}

MMA_AVX2_INLINE void store_eight_bytes(int8_t *out, __m256i lanes) {
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    _mm_storel_epi64((__m128i *)(void *)out, _mm_packs_epi16(words, words));
}

/* Eight columns of a block, from column `at` of it. */
MMA_AVX2_INLINE void prepare_b_columns(struct mma_operand *operand, enum mma_type type,
                                       uint32_t block, uint32_t at, __m256i *deepest) {
    uint32_t k_count = operand->k;
    size_t base = (size_t)block * k_count * MMA_BLOCK + at;
    double *values = (double *)operand->values + base;
    int8_t *exponents = (int8_t *)operand->exponents + base;
    int8_t *depths = (int8_t *)operand->depths + (size_t)block * k_count * 2 * MMA_BLOCK + at;
    struct mma_block *info = (struct mma_block *)operand->row_info + block;
    int min_exponent = mma_min_exponent(type);
    const __m256i none = _mm256_set1_epi32(MMA_ZERO_BYTE);
    __m256i words[MMA_K_MAX], top = _mm256_set1_epi32(MMA_NO_EXPONENT);
    __m256i special = _mm256_setzero_si256();
    struct parts parts[MMA_K_MAX];
    load_columns(operand, type, block * MMA_BLOCK + at, words);
    for (uint32_t k = 0; k < k_count; k++) {
        parts[k] = take_apart(words[k], min_exponent);
        top = _mm256_max_epi32(top, parts[k].exponent);
        special = _mm256_or_si256(special, parts[k].special);
        __m256 value = _mm256_castsi256_ps(words[k]);
        double *out = values + k * MMA_BLOCK;
        _mm256_storeu_pd(out, _mm256_cvtps_pd(_mm256_castps256_ps128(value)));
        _mm256_storeu_pd(out + LANES, _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)));
    }
    top = _mm256_andnot_si256(_mm256_cmpeq_epi32(top, _mm256_set1_epi32(MMA_NO_EXPONENT)), top);
    _mm_storeu_si128(
        (__m128i *)(info->top + at),
        _mm_packs_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1)));
    info->special |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(special)) << at;
    for (uint32_t k = 0; k < k_count; k++) {
        __m256i depth = _mm256_sub_epi32(top, parts[k].low);
        __m256i negative = _mm256_srai_epi32(words[k], 31);
        *deepest = _mm256_max_epi32(*deepest, depth);
        store_eight_bytes(exponents + k * MMA_BLOCK, _mm256_sub_epi32(parts[k].exponent, top));
        store_eight_bytes(depths + 2 * k * MMA_BLOCK, blend(negative, depth, none));
        store_eight_bytes(depths + (2 * k + 1) * MMA_BLOCK, blend(negative, none, depth));
    }
}

MMA_AVX2_INLINE __m256i load_tops(const struct mma_block *info, int at) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(info->top + at)));
}

MMA_AVX2_INLINE void prepare_type(struct mma_operand *operand, enum mma_type type) {
    if (operand->role == MMA_ROLE_A) {
        for (uint32_t row = 0; row < operand->rows; row++)
            prepare_a_row(operand, type, row);
        return;
    }
    for (uint32_t block = 0; block * MMA_BLOCK < operand->rows; block++) {
        struct mma_block *info = (struct mma_block *)operand->row_info + block;
        __m256i deepest = _mm256_set1_epi32(MMA_ZERO_BYTE);
        info->special = 0;
        for (uint32_t at = 0; at < MMA_BLOCK; at += WORDS)
            prepare_b_columns(operand, type, block, at, &deepest);
        info->deepest = reduce_max(deepest);
        __m256i low = load_tops(info, 0), high = low;
        for (int at = WORDS; at < MMA_BLOCK; at += WORDS) {
            low = _mm256_min_epi32(low, load_tops(info, at));
            high = _mm256_max_epi32(high, load_tops(info, at));
        }
        info->top_min = reduce_min(low);
        info->top_max = reduce_max(high);
    }
}

MMA_AVX2 void mma_avx2_prepare(struct mma_operand *operand) {
    switch (operand->type) {
    case MMA_TYPE_BF16: prepare_type(operand, MMA_TYPE_BF16); break;
    case MMA_TYPE_F16: prepare_type(operand, MMA_TYPE_F16); break;
    case MMA_TYPE_TF32: prepare_type(operand, MMA_TYPE_TF32); break;
    default: prepare_type(operand, operand->type); break;
    }
}
#endif
