#ifndef SILTWIN_MMA_H
#define SILTWIN_MMA_H

#include <stdbool.h>
#include <stdint.h>

/* Tensor core arithmetic of one output element: d = c + sum of a[k]*b[k], bit for bit. Whole
 * matrices are mma_tile.h. No element depends on another, on M or N, or on where A and B lie. */

enum mma_type {
    MMA_TYPE_F16,
    MMA_TYPE_BF16,
    MMA_TYPE_TF32, /* 32-bit words; the low 13 bits are dropped */
    MMA_TYPE_E4M3,
    MMA_TYPE_E5M2,
    MMA_TYPE_E2M3, /* 6 and 4 bit elements: one byte each, in its low bits */
    MMA_TYPE_E3M2,
    MMA_TYPE_E2M1,
    MMA_TYPE_S8,
    MMA_TYPE_U8,
    MMA_TYPE_COUNT
};

/* Type of c and d. In a 32-bit word; f16 in its low half, the high half of d is zero. */
enum mma_acc { MMA_ACC_F16, MMA_ACC_F32, MMA_ACC_S32 };

enum mma_kind {
    MMA_TCGEN05_F16, /* f16 or bf16 */
    MMA_TCGEN05_TF32,
    MMA_TCGEN05_F8F6F4,
    MMA_TCGEN05_I8,
    MMA_WGMMA_F16,
    MMA_WGMMA_TF32,
    MMA_WGMMA_F8,
    MMA_WGMMA_I8,
    MMA_SYNC_F16, /* mma.sync and wmma on sm_90 and sm_100 */
    MMA_SYNC_TF32,
    MMA_SYNC_F8,
    MMA_SYNC_I8,
    MMA_SM80_F16, /* mma.sync and wmma on sm_80 and sm_86 */
    MMA_SM80_TF32,
    MMA_KIND_COUNT
};

enum mma_result {
    MMA_RESULT_F32_RZ,   /* toward zero to f32 */
    MMA_RESULT_E8M13_RZ, /* toward zero to 13 fraction bits, then stored as f32 */
    MMA_RESULT_F16_RN,   /* once, to nearest even, to f16 */
    MMA_RESULT_S32,      /* exact integer, wrapped or clamped once */
};

/* What ptxas makes of instructions that the chip does not have. */
enum mma_lowering {
    MMA_LOWERING_NONE,
    MMA_LOWERING_F16_HALVES, /* fp8 mma.sync: two f16 steps from zero, then an IEEE add of c */
};

/* One row of the table of the arithmetic; a measurement that says otherwise changes data only. */
struct mma_arith {
    enum mma_kind kind;
    enum mma_acc acc;
    uint16_t type_set; /* bit 1 << mma_type */
    bool same_type;    /* A and B have one type */
    uint8_t k_set;     /* sum of the K (elements an instruction multiplies) that exist */
    uint8_t fused_terms;
    uint8_t fraction_bits;
    int16_t zero_exponent; /* of a product or accumulator that is zero */
    enum mma_result result;
    enum mma_lowering lowering;
};

/* The row for these types; NULL when the kind has no such form. */
const struct mma_arith *mma_arith_find(enum mma_kind kind, enum mma_type a, enum mma_type b,
                                       enum mma_acc acc);
/* Row `index` of the table; NULL behind the last. */
const struct mma_arith *mma_arith_at(unsigned index);

/* Bytes of an element's container (1, 2 or 4), and the K of tcgen05 and wgmma: 32 bytes of them. */
unsigned mma_type_bytes(enum mma_type type);
unsigned mma_type_k(enum mma_type type);

enum { MMA_K_MAX = 32 };

struct mma_dot {
    enum mma_type a_type;
    enum mma_type b_type;
    const uint32_t *a; /* k element words each, bits above the type ignored */
    const uint32_t *b;
    unsigned k; /* one of the row's k_set */
    uint32_t c;
    bool saturate;        /* integers only: clamp to s32 instead of wrapping */
    uint8_t scale_c_log2; /* tcgen05 scale-input-d: c * 2^-this enters. Taken as an exact change of
                           * c's exponent; what a subnormal c does on silicon is unknown */
};

/* The element d, under the default floating-point mode. Source: MMA-Sim and the Khattak & Mikaitis
 * models, corrected by H200 and B200 silicon (H200 observation 30; oracle mma-arith). */
uint32_t mma_dot(const struct mma_arith *arith, const struct mma_dot *in);

#endif
