/* The instruction descriptor of tcgen05.mma, 32 bits.
 *
 *   bits    f16 tf32 f8f6f4 i8        mxf8f6f4                 mxf4 mxf4nvf4
 *   1:0     sparsity selector         0                        0
 *   2       sparse A                  same                     same
 *   3       saturate (i8)             0                        0
 *   5:4     D: 0 F16 1 F32 2 S32      scale-factor id of B     id of B, 0 or 2
 *   9:7     A type                    same codes as f8f6f4     E2M1 = 1
 *   12:10   B type                    same                     11:10 E2M1 = 1, 12 is 0
 *   13, 14  negate A, B               same                     same
 *   15, 16  transpose A, B            same                     0
 *   22:17   N / 8                     same                     same
 *   23      0                         scale type 1 = UE8M0     1 UE8M0, 0 UE4M3 (mxf4nvf4)
 *   28:24   M / 16                    28:27 M / 128            28:27 M / 128
 *   29      0                         30:29 id of A            30:29 id of A, 0 or 2
 *   31:30   max shift in .ws          31 is 0                  31: K = 96 (sm_103a)
 *   6       0                         0                        0
 *
 * Manual: tcgen05 "Instruction descriptor", "Matrix shape" (PTX ISA 9.0); oracle idesc.csv,
 * idesc_block_scaled.csv. Not modelled: the shapes of block-scaled kinds; what silicon does with an
 * illegal descriptor is not known case by case. */
#include "instr_desc.h"

#include <assert.h>
#include <stddef.h>

#include "bits.h"

#define T(name) INSTR_DESC_TYPE_##name
static const uint8_t input_types[INSTR_DESC_KIND_COUNT][8] = {
    [INSTR_DESC_F16] = {T(F16), T(BF16), T(INVALID), T(INVALID), T(INVALID), T(INVALID), T(INVALID),
                        T(INVALID)},
    [INSTR_DESC_TF32] = {T(INVALID), T(INVALID), T(TF32), T(INVALID), T(INVALID), T(INVALID),
                         T(INVALID), T(INVALID)},
    [INSTR_DESC_F8F6F4] = {T(E4M3), T(E5M2), T(INVALID), T(E2M3), T(E3M2), T(E2M1), T(INVALID),
                           T(INVALID)},
    [INSTR_DESC_I8] = {T(U8), T(S8), T(INVALID), T(INVALID), T(INVALID), T(INVALID), T(INVALID),
                       T(INVALID)},
    [INSTR_DESC_MXF8F6F4] = {T(E4M3), T(E5M2), T(INVALID), T(E2M3), T(E3M2), T(E2M1), T(INVALID),
                             T(INVALID)},
    [INSTR_DESC_MXF4] = {T(INVALID), T(E2M1), T(INVALID), T(INVALID), T(INVALID), T(INVALID),
                         T(INVALID), T(INVALID)},
    [INSTR_DESC_MXF4NVF4] = {T(INVALID), T(E2M1), T(INVALID), T(INVALID), T(INVALID), T(INVALID),
                             T(INVALID), T(INVALID)},
};
static const uint8_t d_types[INSTR_DESC_KIND_COUNT][4] = {
    [INSTR_DESC_F16] = {T(F16), T(F32), T(INVALID), T(INVALID)},
    [INSTR_DESC_TF32] = {T(INVALID), T(F32), T(INVALID), T(INVALID)},
    [INSTR_DESC_F8F6F4] = {T(F16), T(F32), T(INVALID), T(INVALID)},
    [INSTR_DESC_I8] = {T(INVALID), T(INVALID), T(S32), T(INVALID)},
};
#undef T

static const char *const kind_names[INSTR_DESC_KIND_COUNT] = {
    "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4",
};
static const struct {
    const char *name;
    uint8_t bits;
} types[INSTR_DESC_TYPE_INVALID + 1] = {
    {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8},  {"e5m2", 8},
    {"e2m3", 6}, {"e3m2", 6},  {"e2m1", 4},  {"u8", 8},    {"s8", 8},
    {"f32", 32}, {"s32", 32},  {"ue8m0", 8}, {"ue4m3", 8}, {"invalid", 0},
};

static const char *const error_texts[INSTR_DESC_ERROR_COUNT] = {
    [INSTR_DESC_OK] = "the instruction descriptor is legal",
    [INSTR_DESC_RESERVED_BITS] = "bits that must be zero are set",
    [INSTR_DESC_A_TYPE] = "the code in bits 9:7 is no A type of this kind",
    [INSTR_DESC_B_TYPE] = "the code in bits 12:10 is no B type of this kind",
    [INSTR_DESC_D_TYPE] = "the code in bits 5:4 is no D type of this kind",
    [INSTR_DESC_D_F16_INPUT] = "a D of f16 goes with f16 inputs only, not with bf16",
    [INSTR_DESC_MIXED_F16_TYPES] = "f16 with bf16 in one instruction is in no table of the manual",
    [INSTR_DESC_NEGATE_I8] = "negate (bits 13, 14) does not exist for kind::i8",
    [INSTR_DESC_SATURATE_NOT_I8] = "saturate (bit 3) exists for kind::i8 only",
    [INSTR_DESC_SPARSE_MISMATCH] = "the sparse bit (2) and the instruction's .sp must agree",
    [INSTR_DESC_SELECTOR] =
        "the sparsity selector (bits 1:0) must be 0 for a dense instruction and "
        "for kinds f8f6f4 and i8",
    [INSTR_DESC_MAX_SHIFT] = "max shift (bits 31:30) is for tcgen05.mma.ws only",
    [INSTR_DESC_M_CTA1] = "M must be 64 or 128 with cta_group::1",
    [INSTR_DESC_M_CTA2] = "M must be 128 or 256 with cta_group::2",
    [INSTR_DESC_M_WS] = "M must be 32, 64 or 128 with .ws",
    [INSTR_DESC_N_CTA1] = "N must be a multiple of 8 from 8 to 256 with cta_group::1",
    [INSTR_DESC_N_CTA2] = "N must be a multiple of 16 from 16 to 256 with cta_group::2",
    [INSTR_DESC_N_I8_CTA1] =
        "N must be 8, 16, 24, 32 or a multiple of 16 from 48 to 256 for kind::i8 "
        "with cta_group::1",
    [INSTR_DESC_N_I8_CTA2] =
        "N must be a multiple of 32 from 32 to 256 for kind::i8 with cta_group::2",
    [INSTR_DESC_N_WS] = "N must be 64, 128 or 256 with .ws",
    [INSTR_DESC_N_WS_SPARSE] = "N must be 64 or 128 with .ws.sp",
    [INSTR_DESC_N_TRANSPOSED_CTA1] =
        "N must be a multiple of 16 for an MN-major B of 8-bit elements with cta_group::1",
    [INSTR_DESC_N_TRANSPOSED_CTA2] =
        "N must be a multiple of 32 for an MN-major B of 8-bit elements with cta_group::2",
    [INSTR_DESC_TRANSPOSE_A_TMEM] = "A in Tensor Memory is K-major: transpose A (bit 15) must be 0",
    [INSTR_DESC_WS_CTA2] = ".ws exists with cta_group::1 only",
    [INSTR_DESC_SF_TYPE] = "scale type UE4M3 (bit 23 = 0) exists for kind::mxf4nvf4 only",
    [INSTR_DESC_SF_ID] = "scale-factor ids must be 0 or 2 for kinds mxf4 and mxf4nvf4",
    [INSTR_DESC_BLOCK_SCALED] = "block-scaled kinds are not modelled",
};

static bool block_scaled(enum instr_desc_kind kind) {
    return kind >= INSTR_DESC_MXF8F6F4;
}

static uint32_t reserved_bits(enum instr_desc_kind kind) {
    switch (kind) {
    case INSTR_DESC_MXF8F6F4: return 0x8700004bu; /* 31 26:24 6 3 1:0 */
    case INSTR_DESC_MXF4:
    case INSTR_DESC_MXF4NVF4: return 0x0701904bu; /* 26:24 16 15 12 6 3 1:0 */
    default: return 0x20800040u;                  /* 29 23 6 */
    }
}

static enum instr_desc_error check_fields(const struct instr_desc *desc, uint32_t word) {
    enum instr_desc_kind kind = desc->kind;
    if ((word & reserved_bits(kind)) != 0)
        return INSTR_DESC_RESERVED_BITS;
    if (desc->a_type == INSTR_DESC_TYPE_INVALID)
        return INSTR_DESC_A_TYPE;
    if (desc->b_type == INSTR_DESC_TYPE_INVALID)
        return INSTR_DESC_B_TYPE;
    if (desc->d_type == INSTR_DESC_TYPE_INVALID)
        return INSTR_DESC_D_TYPE;
    if (desc->saturate && kind != INSTR_DESC_I8)
        return INSTR_DESC_SATURATE_NOT_I8;
    if ((desc->negate_a || desc->negate_b) && kind == INSTR_DESC_I8)
        return INSTR_DESC_NEGATE_I8;
    if (block_scaled(kind) && kind != INSTR_DESC_MXF4NVF4 && desc->sf_type != INSTR_DESC_TYPE_UE8M0)
        return INSTR_DESC_SF_TYPE;
    if (block_scaled(kind) && kind != INSTR_DESC_MXF8F6F4 &&
        ((desc->sfa_id | desc->sfb_id) & 1) != 0)
        return INSTR_DESC_SF_ID;
    return INSTR_DESC_OK;
}

enum instr_desc_error instr_desc_decode(enum instr_desc_kind kind, uint32_t word,
                                        struct instr_desc *desc) {
    bool scaled = block_scaled(kind), fp4 = scaled && kind != INSTR_DESC_MXF8F6F4;
    *desc = (struct instr_desc){
        .kind = kind,
        .a_type = (enum instr_desc_type)input_types[kind][bits_get(word, 7, 3)],
        .b_type = (enum instr_desc_type)input_types[kind][bits_get(word, 10, fp4 ? 2 : 3)],
        .d_type = scaled ? INSTR_DESC_TYPE_F32
                         : (enum instr_desc_type)d_types[kind][bits_get(word, 4, 2)],
        .m = (uint32_t)bits_get(word, 24, 5) * 16,
        .n = (uint32_t)bits_get(word, 17, 6) * 8,
        .transpose_a = bits_get(word, 15, 1) != 0,
        .transpose_b = bits_get(word, 16, 1) != 0,
        .negate_a = bits_get(word, 13, 1) != 0,
        .negate_b = bits_get(word, 14, 1) != 0,
        .saturate = !scaled && bits_get(word, 3, 1) != 0,
        .sparse = bits_get(word, 2, 1) != 0,
        .sparsity_selector = scaled ? 0 : (uint8_t)bits_get(word, 0, 2),
        .max_shift = scaled ? 0 : (uint8_t)bits_get(word, 30, 2),
        .sfa_id = scaled ? (uint8_t)bits_get(word, 29, 2) : 0,
        .sfb_id = scaled ? (uint8_t)bits_get(word, 4, 2) : 0,
        .sf_type = !scaled                      ? INSTR_DESC_TYPE_INVALID
                   : bits_get(word, 23, 1) != 0 ? INSTR_DESC_TYPE_UE8M0
                                                : INSTR_DESC_TYPE_UE4M3,
        .k96 = fp4 && bits_get(word, 31, 1) != 0,
    };
    return check_fields(desc, word);
}

static int code_of_type(const uint8_t *codes, int count, enum instr_desc_type type) {
    for (int i = 0; i < count; i++)
        if (codes[i] == type && type != INSTR_DESC_TYPE_INVALID)
            return i;
    return -1;
}

enum instr_desc_error instr_desc_encode(const struct instr_desc *desc, uint32_t *word) {
    bool scaled = block_scaled(desc->kind);
    int a = code_of_type(input_types[desc->kind], 8, desc->a_type);
    int b = code_of_type(input_types[desc->kind], 8, desc->b_type);
    int d = scaled ? desc->sfb_id : code_of_type(d_types[desc->kind], 4, desc->d_type);
    if (a < 0 || b < 0 || d < 0)
        return a < 0 ? INSTR_DESC_A_TYPE : b < 0 ? INSTR_DESC_B_TYPE : INSTR_DESC_D_TYPE;
    uint64_t out = 0;
    out = bits_set(out, 2, 1, desc->sparse);
    out = bits_set(out, 4, 2, (uint64_t)d);
    out = bits_set(out, 7, 3, (uint64_t)a);
    out = bits_set(out, 10, 3, (uint64_t)b);
    out = bits_set(out, 13, 1, desc->negate_a);
    out = bits_set(out, 14, 1, desc->negate_b);
    out = bits_set(out, 15, 1, desc->transpose_a);
    out = bits_set(out, 16, 1, desc->transpose_b);
    out = bits_set(out, 17, 6, desc->n / 8);
    out = bits_set(out, 24, 5, desc->m / 16);
    if (scaled) {
        out = bits_set(out, 23, 1, desc->sf_type == INSTR_DESC_TYPE_UE8M0);
        out = bits_set(out, 29, 2, desc->sfa_id);
        out = bits_set(out, 31, 1, desc->k96);
    } else {
        out = bits_set(out, 0, 2, desc->sparsity_selector);
        out = bits_set(out, 3, 1, desc->saturate);
        out = bits_set(out, 30, 2, desc->max_shift);
    }
    *word = (uint32_t)out;
    return check_fields(desc, *word);
}

static bool is_multiple(uint32_t n, uint32_t from, uint32_t to, uint32_t step) {
    return n >= from && n <= to && n % step == 0;
}

static enum instr_desc_error check_ws_shape(const struct instr_desc *desc) {
    if (desc->m != 32 && desc->m != 64 && desc->m != 128)
        return INSTR_DESC_M_WS;
    if (desc->n != 64 && desc->n != 128 && desc->n != 256)
        return INSTR_DESC_N_WS;
    return desc->sparse && desc->n == 256 ? INSTR_DESC_N_WS_SPARSE : INSTR_DESC_OK;
}

static enum instr_desc_error check_cta1_shape(const struct instr_desc *desc) {
    if (desc->m != 64 && desc->m != 128)
        return INSTR_DESC_M_CTA1;
    if (!is_multiple(desc->n, 8, 256, 8))
        return INSTR_DESC_N_CTA1;
    if (desc->kind == INSTR_DESC_I8 && desc->n > 32 && desc->n % 16 != 0)
        return INSTR_DESC_N_I8_CTA1;
    if (desc->transpose_b && instr_desc_type_bits(desc->b_type) == 8 && desc->n % 16 != 0)
        return INSTR_DESC_N_TRANSPOSED_CTA1;
    return INSTR_DESC_OK;
}

static enum instr_desc_error check_cta2_shape(const struct instr_desc *desc) {
    if (desc->m != 128 && desc->m != 256)
        return INSTR_DESC_M_CTA2;
    if (!is_multiple(desc->n, 16, 256, 16))
        return INSTR_DESC_N_CTA2;
    if (desc->kind == INSTR_DESC_I8 && desc->n % 32 != 0)
        return INSTR_DESC_N_I8_CTA2;
    if (desc->transpose_b && instr_desc_type_bits(desc->b_type) == 8 && desc->n % 32 != 0)
        return INSTR_DESC_N_TRANSPOSED_CTA2;
    return INSTR_DESC_OK;
}

enum instr_desc_error instr_desc_check(const struct instr_desc *desc,
                                       const struct instr_desc_use *use) {
    enum instr_desc_kind kind = desc->kind;
    if (block_scaled(kind))
        return INSTR_DESC_BLOCK_SCALED;
    if (kind == INSTR_DESC_F16 && desc->a_type != desc->b_type)
        return INSTR_DESC_MIXED_F16_TYPES;
    if (kind == INSTR_DESC_F16 && desc->d_type == INSTR_DESC_TYPE_F16 &&
        desc->a_type != INSTR_DESC_TYPE_F16)
        return INSTR_DESC_D_F16_INPUT;
    if (desc->sparse != use->sp)
        return INSTR_DESC_SPARSE_MISMATCH;
    if (desc->sparsity_selector != 0 &&
        (!desc->sparse || kind == INSTR_DESC_F8F6F4 || kind == INSTR_DESC_I8))
        return INSTR_DESC_SELECTOR;
    if (desc->max_shift != 0 && !use->ws)
        return INSTR_DESC_MAX_SHIFT;
    if (use->a_in_tmem && desc->transpose_a)
        return INSTR_DESC_TRANSPOSE_A_TMEM;
    if (use->ws)
        return use->cta_group != 1 ? INSTR_DESC_WS_CTA2 : check_ws_shape(desc);
    return use->cta_group == 1 ? check_cta1_shape(desc) : check_cta2_shape(desc);
}

uint32_t instr_desc_k(const struct instr_desc *desc) {
    uint32_t k;
    switch (desc->kind) {
    case INSTR_DESC_F16: k = 16; break;
    case INSTR_DESC_TF32: k = 8; break;
    case INSTR_DESC_MXF4:
    case INSTR_DESC_MXF4NVF4: k = desc->k96 ? 96 : 64; break;
    default: k = 32; break;
    }
    return desc->sparse && !desc->k96 ? k * 2 : k;
}

const char *instr_desc_error_text(enum instr_desc_error error) {
    assert((unsigned)error < INSTR_DESC_ERROR_COUNT);
    return error_texts[error];
}

const char *instr_desc_kind_name(enum instr_desc_kind kind) {
    assert((unsigned)kind < INSTR_DESC_KIND_COUNT);
    return kind_names[kind];
}

const char *instr_desc_type_name(enum instr_desc_type type) {
    assert((unsigned)type <= INSTR_DESC_TYPE_INVALID);
    return types[type].name;
}

unsigned instr_desc_type_bits(enum instr_desc_type type) {
    assert((unsigned)type <= INSTR_DESC_TYPE_INVALID);
    return types[type].bits;
}

bool instr_desc_zero_mask_decode(uint64_t word, uint32_t m, struct instr_desc_zero_mask *mask) {
    *mask = (struct instr_desc_zero_mask){
        .enabled = bits_get(word, 39, 1) != 0,
        .skip_span = (uint32_t)bits_get(word, 40, 8) + 1,
        .use_span = (uint32_t)bits_get(word, 48, 8) + 1,
        .column_shift = (uint32_t)bits_get(word, 56, 6),
    };
    for (unsigned i = 0; i < 4; i++) {
        mask->start_count[i] = (uint8_t)bits_get(word, 8 * i, 8);
        mask->first_span[i] = (uint8_t)bits_get(word, 32 + i, 1);
    }
    return bits_get(word, 36, 3) == 0 && bits_get(word, 62, 2) == 0 &&
           mask->column_shift <= (m == 32 ? 16u : 32u);
}

bool instr_desc_zero_column(const struct instr_desc_zero_mask *mask, uint32_t m, uint32_t n_columns,
                            uint32_t n) {
    assert((m == 32 || m == 64 || m == 128) && n < n_columns);
    if (!mask->enabled)
        return false;
    uint32_t columns_per_mask = n_columns / (128 / m);
    uint32_t i = n / columns_per_mask;
    uint32_t position = mask->start_count[i] + n % columns_per_mask;
    if (mask->first_span[i] != 0)
        position += mask->use_span; /* the pattern begins with the run of ones */
    return position % (mask->use_span + mask->skip_span) >= mask->use_span;
}
