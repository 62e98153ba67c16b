#ifndef SILTWIN_LANE_H
#define SILTWIN_LANE_H

#include "simd.h"
#include "warp.h"

/* Loops over the lanes for pure functions of register values: one vector loop when all lanes run,
 * else a loop over the lanes of the mask. The registers of two operands are the same or do not
 * overlap, so the loop may be vectorised (liveness gives a destination no storage that a source of
 * the same instruction uses).
 *
 *   LANE_OP2(add_s32, uint32_t, u32, uint32_t, u32, a + b)
 *
 * defines exec_fn add_s32 for operands d, a, b: destination type and accessor, source type and
 * accessor, expression of a and b. 16-bit operations must leave the upper half of the uint32_t
 * zero. */
#if defined(__clang__)
#define LANE_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANE_IVDEP _Pragma("GCC ivdep")
#endif

#define LANE_LOOP(mask, body)                                                                      \
    do {                                                                                           \
        if ((mask) == LANES_ALL) {                                                                 \
            LANE_IVDEP for (unsigned lane = 0; lane < WARP_LANES; lane++) {                        \
                body;                                                                              \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t left = (mask); left != 0; left &= left - 1) {                            \
                unsigned lane = (unsigned)__builtin_ctz(left);                                     \
                body;                                                                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define LANE_OP1(name, td, ad, ta, aa, expr)                                                       \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        td *d_ = (td *)(void *)xop_##ad(w, &x->ops[0]);                                            \
        const ta *a_ = (const ta *)(const void *)xop_##aa(w, &x->ops[1]);                          \
        LANE_LOOP(mask, ta a = a_[lane]; d_[lane] = (td)(expr));                                   \
        return STEP_NEXT;                                                                          \
    }
#define LANE_OP2(name, td, ad, ta, aa, expr)                                                       \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        td *d_ = (td *)(void *)xop_##ad(w, &x->ops[0]);                                            \
        const ta *a_ = (const ta *)(const void *)xop_##aa(w, &x->ops[1]);                          \
        const ta *b_ = (const ta *)(const void *)xop_##aa(w, &x->ops[2]);                          \
        LANE_LOOP(mask, ta a = a_[lane]; ta b = b_[lane]; d_[lane] = (td)(expr));                  \
        return STEP_NEXT;                                                                          \
    }
#define LANE_OP3(name, td, ad, ta, aa, expr)                                                       \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        td *d_ = (td *)(void *)xop_##ad(w, &x->ops[0]);                                            \
        const ta *a_ = (const ta *)(const void *)xop_##aa(w, &x->ops[1]);                          \
        const ta *b_ = (const ta *)(const void *)xop_##aa(w, &x->ops[2]);                          \
        const ta *c_ = (const ta *)(const void *)xop_##aa(w, &x->ops[3]);                          \
        LANE_LOOP(mask, ta a = a_[lane]; ta b = b_[lane]; ta c = c_[lane]; d_[lane] = (td)(expr)); \
        return STEP_NEXT;                                                                          \
    }

#endif
