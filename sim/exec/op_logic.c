/* Logic and shift: and, or, xor, not, cnot, lop3, shl, shr, shf (manual, "Logic and Shift
 * Instructions"). A shift count is 32 bits and counts of the width or more act as the width. */
#include "int_lanes.h"

INT_ALL(INT_LANES_2, and, (S)a &(S)b)
INT_ALL(INT_LANES_2, or, (S)a | (S)b)
INT_ALL(INT_LANES_2, xor, (S)a ^ (S)b)
INT_ALL(INT_LANES_1, not, ~(S)a)
INT_ALL(INT_LANES_1, cnot, (S)(a == 0))
INT_ALL(INT_LANES_SHIFT, shl, b >= BITS ? (S)0 : (S)a << b)
INT_ALL(INT_LANES_SHIFT, shr,
        b >= BITS ? (IS_SIGNED && ((U)a >> (BITS - 1)) ? (S)~0 : (S)0) : (S)(a >> b))
INT_SELECT(shl, shl)
INT_SELECT(shr, shr)
INT_SELECT(cnot, cnot)

/* Predicates are masks of all lanes. */
#define PRED_FN(name, expr)                                                                        \
    static enum step name##_pred(struct warp *w, const struct xinsn *x, uint32_t mask) {           \
        uint32_t a = xop_pred(w, &x->ops[1]);                                                      \
        uint32_t b = x->ir->operand_count > 2 ? xop_pred(w, &x->ops[2]) : 0;                       \
        (void)b;                                                                                   \
        xop_set_pred(w, &x->ops[0], mask, expr);                                                   \
        return STEP_NEXT;                                                                          \
    }
PRED_FN(and, a &b)
PRED_FN(or, a | b)
PRED_FN(xor, a ^ b)
PRED_FN(not, ~a)
#define LOGIC_SELECT(sem)                                                                          \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        enum ptx_type type = (enum ptx_type)x->ir->types[0];                                       \
        return type == PTX_PRED ? sem##_pred : sem##_fns[int_type_index(type)];                    \
    }
LOGIC_SELECT(and)
LOGIC_SELECT(or)
LOGIC_SELECT(xor)
LOGIC_SELECT(not )

/* lop3: the result bit is bit 4a + 2b + c of the table. */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t d = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint32_t minterm = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        d |= table >> i & 1 ? minterm : 0;
    }
    return d;
}
SIMD_CLONES static enum step lop3_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    uint32_t table = (uint32_t)x->ops[4].imm;
    LANE_LOOP(mask, d[lane] = lop3(a[lane], b[lane], c[lane], table));
    return STEP_NEXT;
}
ONE_SELECT(lop3, lop3_fn)

/* lop3.BoolOp d|p, a, b, c, immLut, q: p = (d != 0) op q. */
static enum step lop3_pred_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xop *pair = x->ops[0].elems;
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    uint32_t q = xop_pred(w, &x->ops[5]), nonzero = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t value = lop3(a[lane], b[lane], c[lane], (uint32_t)x->ops[4].imm);
        if (pair[0].kind == XOP_VALUE)
            xop_set_lane(w, &pair[0], lane, value);
        nonzero |= (uint32_t)(value != 0) << lane;
    }
    bool is_and = ir_has(x->ir, QUAL_AND);
    xop_set_pred(w, &pair[1], mask,
                 is_and                   ? nonzero & q
                 : ir_has(x->ir, QUAL_OR) ? nonzero | q
                                          : nonzero ^ q);
    return STEP_NEXT;
}
ONE_SELECT(lop3_pred, lop3_pred_fn)

/* shf: 32 bits out of {b:a}, b the high word. */
static inline uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t n) {
    uint64_t both = (uint64_t)b << 32 | a;
    return (uint32_t)((both << n) >> 32);
}
static inline uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t n) {
    uint64_t both = (uint64_t)b << 32 | a;
    return (uint32_t)(both >> n);
}
LANE_OP3(shf_l_clamp, uint32_t, u32, uint32_t, u32, funnel_left(a, b, c > 32 ? 32 : c))
LANE_OP3(shf_r_clamp, uint32_t, u32, uint32_t, u32, funnel_right(a, b, c > 32 ? 32 : c))
LANE_OP3(shf_l_wrap, uint32_t, u32, uint32_t, u32, funnel_left(a, b, c & 31))
LANE_OP3(shf_r_wrap, uint32_t, u32, uint32_t, u32, funnel_right(a, b, c & 31))
exec_select op_shf;
exec_fn *op_shf(struct decode *d, struct xinsn *x) {
    (void)d;
    bool left = ir_has(x->ir, QUAL_SHF_LEFT);
    if (ir_has(x->ir, QUAL_CLAMP))
        return left ? shf_l_clamp : shf_r_clamp;
    return left ? shf_l_wrap : shf_r_wrap;
}
