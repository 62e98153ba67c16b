/* Tensor core arithmetic, whole matrices of one instruction.
 *
 *     elements --mma_operand_prepare--> words + the engine's planes --mma_tile--> D
 *
 * Integers are done here, exactly, for all engines. Floating point goes to the engine when the
 * arithmetic is one fused step (all kinds of tcgen05 and wgmma, mma.sync of f16, bf16, tf32), and
 * element by element through mma_dot else: fp8 mma.sync, sm_80, scale-input-d.
 * The plain engine is portable C on decoded integers. */
#include "mma_tile.h"

#include <string.h>

#include "bits.h"
#include "mma_engine.h"
#include "simd.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const struct mma_engine *const engines[] = {
    &mma_engine_plain,
#if defined(__x86_64__)
    &mma_engine_avx2,
    &mma_engine_avx512,
#endif
};

const struct mma_engine *mma_engine_at(unsigned index) {
    return index < sizeof engines / sizeof engines[0] ? engines[index] : NULL;
}

const char *mma_engine_name(const struct mma_engine *engine) {
    return engine->name;
}

bool mma_engine_usable(const struct mma_engine *engine) {
    return engine->usable();
}

const struct mma_engine *mma_engine_best(void) {
    const struct mma_engine *best = &mma_engine_plain, *engine;
    for (unsigned i = 0; (engine = mma_engine_at(i)) != NULL; i++)
        if (engine->usable())
            best = engine;
    return best;
}

enum {
    PADDING = 64,         /* rows of an operand are padded to a multiple of this */
    ELEMENT_BYTES = 28,   /* per element, all planes of the hungriest engine */
    ROW_INFO_BYTES = 128, /* per row */
};

size_t mma_operand_bytes(uint32_t rows, uint32_t k) {
    return bits_align_up(rows, PADDING) * ((size_t)k * ELEMENT_BYTES + ROW_INFO_BYTES);
}

/* A program that uses this library may have its threads round otherwise, or flush subnormals. What
 * computes is called through pointers or in other files, so the compiler moves none of it out from
 * between these two. */
static unsigned enter_default_mode(void) {
#if defined(__x86_64__)
    enum { ALL_MASKED_TO_NEAREST = 0x1f80 };
    unsigned mode = _mm_getcsr();
    _mm_setcsr(ALL_MASKED_TO_NEAREST);
    return mode;
#else
    return 0; /* integers, but for the last addition of fp8 mma.sync */
#endif
}

static void leave_default_mode(unsigned mode) {
#if defined(__x86_64__)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

static uint32_t sign_bit(enum mma_type type) {
    switch (type) {
    case MMA_TYPE_F16:
    case MMA_TYPE_BF16: return 0x8000;
    case MMA_TYPE_TF32: return 0x80000000;
    case MMA_TYPE_E2M3:
    case MMA_TYPE_E3M2: return 0x20;
    case MMA_TYPE_E2M1: return 0x8;
    default: return 0x80;
    }
}

static void flip_signs(void *words, size_t bytes, enum mma_type type) {
    uint32_t sign = sign_bit(type);
    unsigned width = mma_type_bytes(type);
    for (size_t at = 0; at < bytes; at += width) {
        uint32_t word = 0;
        memcpy(&word, (char *)words + at, width);
        word ^= sign;
        memcpy((char *)words + at, &word, width);
    }
}

void mma_operand_prepare(const struct mma_engine *engine, struct mma_operand *operand,
                         const struct mma_operand_desc *desc, void *storage) {
    uint32_t padded = (uint32_t)bits_align_up(desc->rows, PADDING);
    size_t elements = (size_t)padded * desc->k;
    size_t row_bytes = (size_t)desc->k * mma_type_bytes(desc->type);
    char *at = storage;
    *operand = (struct mma_operand){.engine = engine,
                                    .role = desc->role,
                                    .type = desc->type,
                                    .rows = desc->rows,
                                    .k = desc->k,
                                    .values = at,
                                    .exponents = at + elements * 8,
                                    .depths = at + elements * 12,
                                    .words = at + elements * 24,
                                    .row_info = at + elements * ELEMENT_BYTES};
    if (desc->row_stride_bytes == row_bytes)
        memcpy(operand->words, desc->elements, desc->rows * row_bytes);
    for (uint32_t row = 0; desc->row_stride_bytes != row_bytes && row < desc->rows; row++)
        memcpy((char *)operand->words + row * row_bytes,
               (const char *)desc->elements + row * desc->row_stride_bytes, row_bytes);
    if (desc->negate)
        flip_signs(operand->words, desc->rows * row_bytes, desc->type);
    if (desc->type == MMA_TYPE_S8 || desc->type == MMA_TYPE_U8)
        return;
    unsigned mode = enter_default_mode();
    engine->prepare(operand);
    leave_default_mode(mode);
}

uint32_t mma_operand_word(const struct mma_operand *operand, uint32_t row, uint32_t k) {
    unsigned width = mma_type_bytes(operand->type);
    uint32_t word = 0;
    memcpy(&word, (char *)operand->words + ((size_t)row * operand->k + k) * width, width);
    return word;
}

uint32_t mma_tile_element(const struct mma_tile *tile, uint32_t row, uint32_t column, uint32_t c) {
    uint32_t a[MMA_K_MAX], b[MMA_K_MAX], k_count = tile->a->k;
    for (uint32_t k = 0; k < k_count; k++) {
        a[k] = mma_operand_word(tile->a, tile->row_begin + row, k);
        b[k] = mma_operand_word(tile->b, column, k);
    }
    return mma_dot(tile->arith, &(struct mma_dot){.a_type = tile->a->type,
                                                  .b_type = tile->b->type,
                                                  .a = a,
                                                  .b = b,
                                                  .k = k_count,
                                                  .c = c,
                                                  .saturate = tile->saturate,
                                                  .scale_c_log2 = tile->scale_c_log2});
}

static uint32_t c_word(const struct mma_tile *tile, uint32_t row, uint32_t column) {
    return tile->c_rows == NULL ? 0 : tile->c_rows[row][column];
}

static void tile_by_element(const struct mma_tile *tile) {
    for (uint32_t i = 0; i < tile->row_count; i++)
        for (uint32_t j = 0; j < tile->b->rows; j++)
            tile->d_rows[i][j] = mma_tile_element(tile, i, j, c_word(tile, i, j));
}

/* Elements of an integer operand, k outermost so that a vector runs along its rows. */
static void widen_integers(const struct mma_operand *operand,
                           int32_t out[MMA_K_MAX][MMA_ROWS_MAX]) {
    const uint8_t *words = operand->words;
    for (uint32_t row = 0; row < operand->rows; row++)
        for (uint32_t k = 0; k < operand->k; k++) {
            uint8_t word = words[row * operand->k + k];
            out[k][row] = operand->type == MMA_TYPE_S8 ? (int8_t)word : word;
        }
}

/* |sum| stays below 32*255*255 < 2^21, so 32 bits hold it until c joins. */
SIMD_CLONES
static void integer_row(const int32_t *a, const int32_t b[MMA_K_MAX][MMA_ROWS_MAX],
                        uint32_t k_count, uint32_t columns, int32_t *sum) {
    memset(sum, 0, columns * sizeof *sum);
    for (uint32_t k = 0; k < k_count; k++)
        for (uint32_t j = 0; j < columns; j++)
            sum[j] += a[k] * b[k][j];
}

static void integer_tile(const struct mma_tile *tile) {
    int32_t b[MMA_K_MAX][MMA_ROWS_MAX], sum[MMA_ROWS_MAX], a[MMA_K_MAX];
    widen_integers(tile->b, b);
    for (uint32_t i = 0; i < tile->row_count; i++) {
        for (uint32_t k = 0; k < tile->a->k; k++) {
            uint32_t word = mma_operand_word(tile->a, tile->row_begin + i, k);
            a[k] = tile->a->type == MMA_TYPE_S8 ? (int8_t)word : (uint8_t)word;
        }
        integer_row(a, (const int32_t(*)[MMA_ROWS_MAX])b, tile->a->k, tile->b->rows, sum);
        for (uint32_t j = 0; j < tile->b->rows; j++) {
            int64_t d = (int64_t)(int32_t)c_word(tile, i, j) + sum[j];
            if (tile->saturate)
                d = d > INT32_MAX ? INT32_MAX : d < INT32_MIN ? INT32_MIN : d;
            tile->d_rows[i][j] = (uint32_t)d;
        }
    }
}

void mma_tile(const struct mma_tile *tile) {
    const struct mma_arith *arith = tile->arith;
    if (arith->result == MMA_RESULT_S32) {
        integer_tile(tile);
        return;
    }
    unsigned mode = enter_default_mode();
    if (arith->lowering == MMA_LOWERING_NONE && arith->fused_terms >= tile->a->k &&
        tile->scale_c_log2 == 0)
        tile->a->engine->tile(tile);
    else
        tile_by_element(tile);
    leave_default_mode(mode);
}
