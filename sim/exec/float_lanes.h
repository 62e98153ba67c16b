#ifndef SILTWIN_FLOAT_LANES_H
#define SILTWIN_FLOAT_LANES_H

#include "lane.h"
#include "num_round.h"

/* Lane loops of floating-point instructions. Nearest-even forms have a function of their own per
 * set of modifiers; the other roundings share one that reads them. */

/* Modifiers of an instruction as its general function reads them from x->data. */
struct float_mods {
    enum num_round round; /* NUM_RN without a rounding word */
    bool ftz, sat;
};

/* Of an instruction; lives forever. */
const struct float_mods *float_mods(const struct ir_insn *insn);
/* Place of ftz and sat in a table of four: plain, ftz, sat, both. */
static inline unsigned float_variant(const struct float_mods *mods) {
    return (mods->ftz ? 1u : 0u) + (mods->sat ? 2u : 0u);
}

/* Loops whose expression uses mods, of one type throughout: T is the storage type. */
#define MODS_OP1(name, T, acc, expr)                                                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct float_mods mods = *(const struct float_mods *)x->data;                        \
        T *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const T *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        LANE_LOOP(mask, T a = a_[lane]; d_[lane] = (expr));                                        \
        return STEP_NEXT;                                                                          \
    }
#define MODS_OP2(name, T, acc, expr)                                                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct float_mods mods = *(const struct float_mods *)x->data;                        \
        T *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const T *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        const T *b_ = xop_##acc(w, &x->ops[2]);                                                    \
        LANE_LOOP(mask, T a = a_[lane]; T b = b_[lane]; d_[lane] = (expr));                        \
        return STEP_NEXT;                                                                          \
    }
#define MODS_OP3(name, T, acc, expr)                                                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct float_mods mods = *(const struct float_mods *)x->data;                        \
        T *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const T *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        const T *b_ = xop_##acc(w, &x->ops[2]);                                                    \
        const T *c_ = xop_##acc(w, &x->ops[3]);                                                    \
        LANE_LOOP(mask, T a = a_[lane]; T b = b_[lane]; T c = c_[lane]; d_[lane] = (expr));        \
        return STEP_NEXT;                                                                          \
    }

/* Defines selector op_<sem>: fns is a table by float_variant for nearest-even, `general` does the
 * other roundings. */
#define ROUND_SELECT(sem, fns, general)                                                            \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        const struct float_mods *mods = float_mods(x->ir);                                         \
        x->data = mods;                                                                            \
        return mods->round == NUM_RN ? (fns)[float_variant(mods)] : (general);                     \
    }
/* Defines selector op_<sem> of one function that reads its modifiers. */
#define MODS_SELECT(sem, fn)                                                                       \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        x->data = float_mods(x->ir);                                                               \
        return fn;                                                                                 \
    }

#endif
