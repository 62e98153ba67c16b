#ifndef SILTWIN_INSTR_DESC_H
#define SILTWIN_INSTR_DESC_H

#include <stdbool.h>
#include <stdint.h>

/* The 32-bit instruction descriptor of tcgen05.mma, and the table of legal shapes. */
enum instr_desc_kind {
    INSTR_DESC_F16,
    INSTR_DESC_TF32,
    INSTR_DESC_F8F6F4,
    INSTR_DESC_I8,
    INSTR_DESC_MXF8F6F4, /* the block-scaled kinds can be decoded, not executed */
    INSTR_DESC_MXF4,
    INSTR_DESC_MXF4NVF4,
    INSTR_DESC_KIND_COUNT,
};

enum instr_desc_type {
    INSTR_DESC_TYPE_F16,
    INSTR_DESC_TYPE_BF16,
    INSTR_DESC_TYPE_TF32,
    INSTR_DESC_TYPE_E4M3,
    INSTR_DESC_TYPE_E5M2,
    INSTR_DESC_TYPE_E2M3,
    INSTR_DESC_TYPE_E3M2,
    INSTR_DESC_TYPE_E2M1,
    INSTR_DESC_TYPE_U8,
    INSTR_DESC_TYPE_S8,
    INSTR_DESC_TYPE_F32,
    INSTR_DESC_TYPE_S32,
    INSTR_DESC_TYPE_UE8M0,
    INSTR_DESC_TYPE_UE4M3,
    INSTR_DESC_TYPE_INVALID, /* a code that no type of the kind has */
};

struct instr_desc {
    enum instr_desc_kind kind;
    enum instr_desc_type a_type, b_type, d_type;
    uint32_t m, n;                 /* of D; for cta_group::2 of the pair together */
    bool transpose_a, transpose_b; /* MN-major */
    bool negate_a, negate_b;
    bool saturate; /* i8 */
    bool sparse;
    uint8_t sparsity_selector;    /* 0..3 */
    uint8_t max_shift;            /* of B in .ws: 0 none, 1: 8, 2: 16, 3: 32 columns */
    uint8_t sfa_id, sfb_id;       /* block-scaled: byte of the scale-factor column */
    enum instr_desc_type sf_type; /* block-scaled */
    bool k96;                     /* mxf4, mxf4nvf4 of sm_103a */
};

/* Why an instruction is refused. Each has its own sentence (instr_desc_error_text). */
enum instr_desc_error {
    INSTR_DESC_OK,
    INSTR_DESC_RESERVED_BITS,
    INSTR_DESC_A_TYPE,
    INSTR_DESC_B_TYPE,
    INSTR_DESC_D_TYPE,
    INSTR_DESC_D_F16_INPUT,     /* kind f16: an f16 D goes with f16 inputs only */
    INSTR_DESC_MIXED_F16_TYPES, /* kind f16: f16 with bf16 is in no table */
    INSTR_DESC_NEGATE_I8,
    INSTR_DESC_SATURATE_NOT_I8,
    INSTR_DESC_SPARSE_MISMATCH, /* sparse bit and .sp disagree */
    INSTR_DESC_SELECTOR,        /* sparsity selector of a dense instruction or of f8f6f4, i8 */
    INSTR_DESC_MAX_SHIFT,       /* max shift outside .ws */
    INSTR_DESC_M_CTA1,
    INSTR_DESC_M_CTA2,
    INSTR_DESC_M_WS,
    INSTR_DESC_N_CTA1,
    INSTR_DESC_N_CTA2,
    INSTR_DESC_N_I8_CTA1,
    INSTR_DESC_N_I8_CTA2,
    INSTR_DESC_N_WS,
    INSTR_DESC_N_WS_SPARSE,
    INSTR_DESC_N_TRANSPOSED_CTA1, /* 8-bit types with transposed B: multiple of 16 */
    INSTR_DESC_N_TRANSPOSED_CTA2, /* ... of 32 */
    INSTR_DESC_TRANSPOSE_A_TMEM,  /* A in Tensor Memory is K-major */
    INSTR_DESC_WS_CTA2,
    INSTR_DESC_SF_TYPE,      /* block-scaled: UE4M3 scales are mxf4nvf4's alone */
    INSTR_DESC_SF_ID,        /* mxf4, mxf4nvf4: scale-factor ids are 0 or 2 */
    INSTR_DESC_BLOCK_SCALED, /* the shape check has no rule for block-scaled kinds */
    INSTR_DESC_ERROR_COUNT,
};

/* Splits a descriptor word by the tables of its kind. All fields are filled even when an error
 * comes back (types INVALID where the code is none). Manual: tcgen05 "Instruction descriptor". */
enum instr_desc_error instr_desc_decode(enum instr_desc_kind kind, uint32_t word,
                                        struct instr_desc *desc);

/* The inverse, for all kinds; m and n are taken modulo their fields' range. The same errors as
 * decode; `*word` is written unless a type has no code in the kind. */
enum instr_desc_error instr_desc_encode(const struct instr_desc *desc, uint32_t *word);

/* The instruction around the descriptor. */
struct instr_desc_use {
    unsigned cta_group; /* 1 or 2 */
    bool ws;
    bool sp;        /* the instruction has .sp */
    bool a_in_tmem; /* A is in Tensor Memory */
};

/* The first rule of the manual's shape table that the instruction breaks. */
enum instr_desc_error instr_desc_check(const struct instr_desc *desc,
                                       const struct instr_desc_use *use);

/* Elements of K that one instruction multiplies (sparse: logical K). */
uint32_t instr_desc_k(const struct instr_desc *desc);

const char *instr_desc_error_text(enum instr_desc_error error);
const char *instr_desc_kind_name(enum instr_desc_kind kind); /* "f16", "mxf4nvf4" */
const char *instr_desc_type_name(enum instr_desc_type type); /* "bf16", "e4m3" */
/* Bits that an element of the type has: 4, 6, 8, 16 or 32. TF32: 32. INVALID: 0. */
unsigned instr_desc_type_bits(enum instr_desc_type type);

/* The zero-column mask descriptor, last operand of tcgen05.mma.ws: which columns of B are taken as
 * zeros, and by how many columns B is shifted. */
struct instr_desc_zero_mask {
    bool enabled; /* false: no column is zero */
    uint8_t start_count[4];
    uint8_t first_span[4];        /* 0: the endless pattern begins with a run of used columns */
    uint32_t skip_span, use_span; /* columns, 1..256: the field + 1 */
    uint32_t column_shift;        /* B columns s..s+N-1 take the place of 0..N-1 */
};

/* False when reserved bits are set or the shift is above 32 (16 for M = 32, which `m` says). */
bool instr_desc_zero_mask_decode(uint64_t word, uint32_t m, struct instr_desc_zero_mask *mask);

/* True when column n (0..n_columns-1) of B counts as zero. The N columns fall into one (M 128), two
 * (M 64) or four (M 32) sub-masks. The manual's field table and its four examples disagree about
 * which span is the zeros'; the examples decide. */
bool instr_desc_zero_column(const struct instr_desc_zero_mask *mask, uint32_t m, uint32_t n_columns,
                            uint32_t n);

#endif
