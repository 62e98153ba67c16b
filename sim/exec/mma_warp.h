#ifndef SILTWIN_MMA_WARP_H
#define SILTWIN_MMA_WARP_H

#include "mma.h"
#include "mma_fragment.h"
#include "mma_sparse.h"
#include "num_round.h"
#include "warp.h"

/* What mma.sync and wmma.mma share: one warp's D = A * B + C out of registers. */

enum mma_warp_unit {
    MMA_WARP_TILE,     /* f16, bf16, tf32, s8, u8: units/mma_tile */
    MMA_WARP_F8,       /* as ptxas makes it of two f16 tiles and an add */
    MMA_WARP_SUB_BYTE, /* s4, u4 */
    MMA_WARP_BITS,     /* b1 */
    MMA_WARP_F64,
};

/* Fixed by the instruction's words; prepared by mma_warp_prepare. */
struct mma_warp {
    enum mma_warp_unit unit;
    enum ptx_type a_type, b_type, c_type, d_type;
    uint32_t m, n, k;
    uint32_t k_step; /* elements that one tensor core instruction takes */
    bool saturate, bits_and;
    bool is_sparse; /* k is that of B: A has half of it */
    struct mma_sparse sparse;
    bool bad_selector;    /* ptxas takes it, silicon does not */
    enum num_round round; /* f64 */
    const struct mma_arith *arith;
    struct mma_fragment a, b, c, d;
};

enum mma_warp_opcode { MMA_WARP_SYNC, MMA_WARP_SPARSE, MMA_WARP_WMMA };

/* Reads shape, types and modifiers; the types are given because wmma leaves those of A and B out
 * for f16. Sets x->data. Operands are D, A, B, C, and metadata and selector if sparse. */
exec_fn *mma_warp_prepare(struct decode *d, struct xinsn *x, enum mma_warp_opcode opcode,
                          const uint8_t types[4]);

/* True when the warp's 32 lanes execute the instruction together; else *step is what to return. */
bool mma_warp_full(struct warp *w, const struct xinsn *x, uint32_t mask, enum step *step);
/* Tells observers of the multiplication. */
void mma_warp_event(struct warp *w, const struct xinsn *x, uint32_t m, uint32_t n, uint32_t k);
/* "mMnNkK" among the words. False without one. */
bool mma_warp_shape(const struct ir_insn *ir, uint32_t *m, uint32_t *n, uint32_t *k);

#endif
