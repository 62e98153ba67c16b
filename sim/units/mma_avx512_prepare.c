/* The planes of the AVX-512 engine (mma_planes.h) out of raw elements. Every type becomes f32
 * first, exactly; columns of B are transposed sixteen at a time. */
#include "mma_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    LANES = 8, /* doubles in a vector */
    WORDS = 16,
};

/* Sixteen elements of `type` as f32 words; `lanes` says which of them exist. */
MMA_AVX512_INLINE __m512i load_f32(enum mma_type type, const char *at, __mmask16 lanes) {
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

MMA_AVX512_INLINE struct parts take_apart(__m512i word, int min_exponent) {
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

MMA_AVX512_INLINE void store_values(double *out, __m512i word) {
    __m512 value = _mm512_castsi512_ps(word);
    _mm512_storeu_pd(out, _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
    _mm512_storeu_pd(out + LANES, _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
}

/* Sixteen saturated bytes, each four times. */
MMA_AVX512_INLINE __m512i replicate(__m512i lanes) {
    __m512i bytes = _mm512_cvtepu8_epi32(_mm512_cvtsepi32_epi8(lanes));
    const __m512i index = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    return _mm512_shuffle_epi8(bytes, index);
}

MMA_AVX512_INLINE void prepare_a_row(struct mma_operand *operand, enum mma_type type,
                                     uint32_t row) {
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
MMA_AVX512_INLINE void transpose(__m512i rows[WORDS]) {
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
MMA_AVX512_INLINE void load_columns(const struct mma_operand *operand, enum mma_type type,
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
MMA_AVX512_INLINE void prepare_b_columns(struct mma_operand *operand, enum mma_type type,
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

MMA_AVX512_INLINE __m512i load_tops(const struct mma_block *info, int at) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(info->top + at)));
}

MMA_AVX512_INLINE void prepare_type(struct mma_operand *operand, enum mma_type type) {
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

MMA_AVX512 void mma_avx512_prepare(struct mma_operand *operand) {
    switch (operand->type) {
    case MMA_TYPE_BF16: prepare_type(operand, MMA_TYPE_BF16); break;
    case MMA_TYPE_F16: prepare_type(operand, MMA_TYPE_F16); break;
    case MMA_TYPE_TF32: prepare_type(operand, MMA_TYPE_TF32); break;
    default: prepare_type(operand, operand->type); break;
    }
}
#endif
