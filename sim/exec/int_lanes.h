#ifndef SILTWIN_INT_LANES_H
#define SILTWIN_INT_LANES_H

#include "lane.h"

/* Lane loops of one integer expression for all six integer types. In the expression a, b, c are
 * values of type T (the type named by the instruction); U is its unsigned type, S the type of the
 * register's storage (sums and products in S wrap without overflow and are cut to U at the end), W
 * the type of twice the width, IS_SIGNED 0 or 1, BITS the width. */
#define INT_TYPEDEFS(T_, U_, S_, W_)                                                               \
    typedef T_ T __attribute__((unused));                                                          \
    typedef U_ U __attribute__((unused));                                                          \
    typedef S_ S __attribute__((unused));                                                          \
    typedef W_ W __attribute__((unused))

#define INT_ENUM(signed_, bits_)                                                                   \
    enum { IS_SIGNED = (signed_), BITS = (bits_) };                                                \
    (void)IS_SIGNED;                                                                               \
    (void)BITS

#define INT_LANES_1(name, T_, U_, S_, W_, acc, signed_, bits_, expr)                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        INT_TYPEDEFS(T_, U_, S_, W_);                                                              \
        INT_ENUM(signed_, bits_);                                                                  \
        S *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const S *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        LANE_LOOP(mask, T a = (T)a_[lane]; d_[lane] = (S)(U)(expr));                               \
        return STEP_NEXT;                                                                          \
    }
#define INT_LANES_2(name, T_, U_, S_, W_, acc, signed_, bits_, expr)                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        INT_TYPEDEFS(T_, U_, S_, W_);                                                              \
        INT_ENUM(signed_, bits_);                                                                  \
        S *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const S *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        const S *b_ = xop_##acc(w, &x->ops[2]);                                                    \
        LANE_LOOP(mask, T a = (T)a_[lane]; T b = (T)b_[lane]; d_[lane] = (S)(U)(expr));            \
        return STEP_NEXT;                                                                          \
    }
#define INT_LANES_3(name, T_, U_, S_, W_, acc, signed_, bits_, expr)                               \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        INT_TYPEDEFS(T_, U_, S_, W_);                                                              \
        INT_ENUM(signed_, bits_);                                                                  \
        S *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const S *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        const S *b_ = xop_##acc(w, &x->ops[2]);                                                    \
        const S *c_ = xop_##acc(w, &x->ops[3]);                                                    \
        LANE_LOOP(mask, T a = (T)a_[lane]; T b = (T)b_[lane]; T c = (T)c_[lane];                   \
                  d_[lane] = (S)(U)(expr));                                                        \
        return STEP_NEXT;                                                                          \
    }
/* b is a 32-bit count whatever the type. */
#define INT_LANES_SHIFT(name, T_, U_, S_, W_, acc, signed_, bits_, expr)                           \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        INT_TYPEDEFS(T_, U_, S_, W_);                                                              \
        INT_ENUM(signed_, bits_);                                                                  \
        S *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const S *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        const uint32_t *b_ = xop_u32(w, &x->ops[2]);                                               \
        LANE_LOOP(mask, T a = (T)a_[lane]; uint32_t b = b_[lane]; d_[lane] = (S)(U)(expr));        \
        return STEP_NEXT;                                                                          \
    }

/* One instance of MACRO per type, and a table of the six by int_type_index. */
#define INT_ALL(MACRO, name, expr)                                                                 \
    MACRO(name##_u16, uint16_t, uint16_t, uint32_t, uint32_t, u32, 0, 16, expr)                    \
    MACRO(name##_s16, int16_t, uint16_t, uint32_t, int32_t, u32, 1, 16, expr)                      \
    MACRO(name##_u32, uint32_t, uint32_t, uint32_t, uint64_t, u32, 0, 32, expr)                    \
    MACRO(name##_s32, int32_t, uint32_t, uint32_t, int64_t, u32, 1, 32, expr)                      \
    MACRO(name##_u64, uint64_t, uint64_t, uint64_t, unsigned __int128, u64, 0, 64, expr)           \
    MACRO(name##_s64, int64_t, uint64_t, uint64_t, __int128, u64, 1, 64, expr)                     \
    static exec_fn *const name##_fns[6] = {name##_u16, name##_s16, name##_u32,                     \
                                           name##_s32, name##_u64, name##_s64};

/* Place of a 16-, 32- or 64-bit integer or untyped type in those tables; .bN counts as .uN. */
static inline unsigned int_type_index(enum ptx_type type) {
    unsigned bits = ptx_type_bits(type);
    unsigned is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    return (bits == 16 ? 0 : bits == 32 ? 2 : 4) + is_signed;
}

/* Defines selector op_<sem> over a table made by INT_ALL, by the instruction's first type. */
#define INT_SELECT(sem, name)                                                                      \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        return name##_fns[int_type_index((enum ptx_type)x->ir->types[0])];                         \
    }
/* Defines selector op_<sem> that always picks `fn`. */
#define ONE_SELECT(sem, fn)                                                                        \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        (void)x;                                                                                   \
        return fn;                                                                                 \
    }

#endif
