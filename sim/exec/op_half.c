/* f16 and bf16 arithmetic, one value in a 16-bit register or two in a 32-bit one (manual, "Half
 * Precision Floating Point Instructions"). Bits as an H200 gives them (tests/oracle/scalar);
 * num_half.h has the functions of one value. .oob: the filler of out-of-bounds tensor copies, 7ff7
 * (H200 observation 28), as an operand gives +0. */
#include "lane.h"
#include "num_ftz.h"
#include "num_half.h"
#include "num_minmax.h"

enum { OOB_NAN = 0x7ff7 };

/* One function for a register with one value and one for a register with two; the expression is of
 * uint16_t x, y, z. */
#define HALF(expr_of, ...) ((uint32_t)(uint16_t)expr_of(__VA_ARGS__))
#define HALF_1(name, F)                                                                            \
    LANE_OP1(name##_one, uint32_t, u32, uint32_t, u32, HALF(F, (uint16_t)a))                       \
    LANE_OP1(name##_two, uint32_t, u32, uint32_t, u32,                                             \
             HALF(F, (uint16_t)a) | HALF(F, (uint16_t)(a >> 16)) << 16)
#define HALF_2(name, F)                                                                            \
    LANE_OP2(name##_one, uint32_t, u32, uint32_t, u32, HALF(F, (uint16_t)a, (uint16_t)b))          \
    LANE_OP2(name##_two, uint32_t, u32, uint32_t, u32,                                             \
             HALF(F, (uint16_t)a, (uint16_t)b) | HALF(F, (uint16_t)(a >> 16), (uint16_t)(b >> 16)) \
                                                     << 16)
#define HALF_3(name, F)                                                                            \
    LANE_OP3(name##_one, uint32_t, u32, uint32_t, u32,                                             \
             HALF(F, (uint16_t)a, (uint16_t)b, (uint16_t)c))                                       \
    LANE_OP3(name##_two, uint32_t, u32, uint32_t, u32,                                             \
             HALF(F, (uint16_t)a, (uint16_t)b, (uint16_t)c) |                                      \
                 HALF(F, (uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16)) << 16)

/* [0] of f16, bf16 and [1] of f16x2, bf16x2. */
#define BOTH(name)                                                                                 \
    { name##_one, name##_two }
static unsigned is_packed(const struct ir_insn *insn) {
    return insn->types[0] == PTX_F16X2 || insn->types[0] == PTX_BF16X2;
}
static unsigned variant(const struct ir_insn *insn) {
    return (ir_has(insn, QUAL_FTZ) ? 1u : 0u) + (ir_has(insn, QUAL_SAT) ? 2u : 0u) +
           (ir_has(insn, QUAL_RELU) ? 4u : 0u);
}
/* Selector op_<sem> over a table [variant][packed]. */
#define HALF_SELECT(sem, fns)                                                                      \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        return (fns)[variant(x->ir)][is_packed(x->ir)];                                            \
    }

#define SAT_OF(F, ...)         num_f16_saturate(F(__VA_ARGS__))
#define ADD_SAT(x, y)          SAT_OF(num_f16_add, x, y)
#define ADD_FTZ_SAT(x, y)      SAT_OF(num_f16_add_ftz, x, y)
#define SUB_SAT(x, y)          SAT_OF(num_f16_sub, x, y)
#define SUB_FTZ_SAT(x, y)      SAT_OF(num_f16_sub_ftz, x, y)
#define MUL_SAT(x, y)          SAT_OF(num_f16_mul, x, y)
#define MUL_FTZ_SAT(x, y)      SAT_OF(num_f16_mul_ftz, x, y)
#define FMA_SAT(x, y, z)       SAT_OF(num_f16_fma, x, y, z)
#define FMA_FTZ_SAT(x, y, z)   SAT_OF(num_f16_fma_ftz, x, y, z)
#define FMA_RELU(x, y, z)      num_half_relu(num_f16_fma(x, y, z))
#define FMA_FTZ_RELU(x, y, z)  num_half_relu(num_f16_fma_ftz(x, y, z))
#define BF16_FMA_RELU(x, y, z) num_half_relu(num_bf16_fma(x, y, z))

HALF_2(add, num_f16_add)
HALF_2(add_ftz, num_f16_add_ftz)
HALF_2(add_sat, ADD_SAT)
HALF_2(add_ftz_sat, ADD_FTZ_SAT)
static exec_fn *const add_fns[][2] = {BOTH(add), BOTH(add_ftz), BOTH(add_sat), BOTH(add_ftz_sat)};
HALF_SELECT(add_f16, add_fns)

HALF_2(sub, num_f16_sub)
HALF_2(sub_ftz, num_f16_sub_ftz)
HALF_2(sub_sat, SUB_SAT)
HALF_2(sub_ftz_sat, SUB_FTZ_SAT)
static exec_fn *const sub_fns[][2] = {BOTH(sub), BOTH(sub_ftz), BOTH(sub_sat), BOTH(sub_ftz_sat)};
HALF_SELECT(sub_f16, sub_fns)

HALF_2(mul, num_f16_mul)
HALF_2(mul_ftz, num_f16_mul_ftz)
HALF_2(mul_sat, MUL_SAT)
HALF_2(mul_ftz_sat, MUL_FTZ_SAT)
static exec_fn *const mul_fns[][2] = {BOTH(mul), BOTH(mul_ftz), BOTH(mul_sat), BOTH(mul_ftz_sat)};
HALF_SELECT(mul_f16, mul_fns)

HALF_3(fma, num_f16_fma)
HALF_3(fma_ftz, num_f16_fma_ftz)
HALF_3(fma_sat, FMA_SAT)
HALF_3(fma_ftz_sat, FMA_FTZ_SAT)
HALF_3(fma_relu, FMA_RELU)
HALF_3(fma_ftz_relu, FMA_FTZ_RELU)
static exec_fn *const fma_fns[][2] = {BOTH(fma),         BOTH(fma_ftz),  BOTH(fma_sat),
                                      BOTH(fma_ftz_sat), BOTH(fma_relu), BOTH(fma_ftz_relu)};
HALF_SELECT(fma_f16, fma_fns)

HALF_2(bf16_add, num_bf16_add)
HALF_2(bf16_sub, num_bf16_sub)
HALF_2(bf16_mul, num_bf16_mul)
HALF_3(bf16_fma, num_bf16_fma)
HALF_3(bf16_fma_relu, BF16_FMA_RELU)
static exec_fn *const bf16_add_fns[][2] = {BOTH(bf16_add)};
static exec_fn *const bf16_sub_fns[][2] = {BOTH(bf16_sub)};
static exec_fn *const bf16_mul_fns[][2] = {BOTH(bf16_mul)};
static exec_fn *const bf16_fma_fns[][2] = {[0] = BOTH(bf16_fma), [4] = BOTH(bf16_fma_relu)};
HALF_SELECT(add_bf16, bf16_add_fns)
HALF_SELECT(sub_bf16, bf16_sub_fns)
HALF_SELECT(mul_bf16, bf16_mul_fns)
HALF_SELECT(fma_bf16, bf16_fma_fns)

/* fma.oob, both types, with and without .relu. */
static inline bool any_oob(uint16_t x, uint16_t y, uint16_t z) {
    return (x == OOB_NAN) | (y == OOB_NAN) | (z == OOB_NAN);
}
#define OOB_F16(x, y, z)       (any_oob(x, y, z) ? 0 : num_f16_fma(x, y, z))
#define OOB_F16_RELU(x, y, z)  (any_oob(x, y, z) ? 0 : FMA_RELU(x, y, z))
#define OOB_BF16(x, y, z)      (any_oob(x, y, z) ? 0 : num_bf16_fma(x, y, z))
#define OOB_BF16_RELU(x, y, z) (any_oob(x, y, z) ? 0 : BF16_FMA_RELU(x, y, z))
HALF_3(oob_f16, OOB_F16)
HALF_3(oob_f16_relu, OOB_F16_RELU)
HALF_3(oob_bf16, OOB_BF16)
HALF_3(oob_bf16_relu, OOB_BF16_RELU)
static exec_fn *const oob_f16_fns[][2] = {[0] = BOTH(oob_f16), [4] = BOTH(oob_f16_relu)};
static exec_fn *const oob_bf16_fns[][2] = {[0] = BOTH(oob_bf16), [4] = BOTH(oob_bf16_relu)};
HALF_SELECT(fma_oob_f16, oob_f16_fns)
HALF_SELECT(fma_oob_bf16, oob_bf16_fns)

#define NEG_FTZ(x) num_f16_neg(num_f16_flush(x))
#define ABS_FTZ(x) num_f16_abs(num_f16_flush(x))
HALF_1(neg_f16, num_f16_neg)
HALF_1(neg_f16_ftz, NEG_FTZ)
HALF_1(abs_f16, num_f16_abs)
HALF_1(abs_f16_ftz, ABS_FTZ)
HALF_1(neg_bf16, num_bf16_neg)
HALF_1(abs_bf16, num_bf16_abs)
static exec_fn *const neg_f16_fns[][2] = {BOTH(neg_f16), BOTH(neg_f16_ftz)};
static exec_fn *const abs_f16_fns[][2] = {BOTH(abs_f16), BOTH(abs_f16_ftz)};
static exec_fn *const neg_bf16_fns[][2] = {BOTH(neg_bf16)};
static exec_fn *const abs_bf16_fns[][2] = {BOTH(abs_bf16)};
HALF_SELECT(neg_f16, neg_f16_fns)
HALF_SELECT(abs_f16, abs_f16_fns)
HALF_SELECT(neg_bf16, neg_bf16_fns)
HALF_SELECT(abs_bf16, abs_bf16_fns)

/* min and max: one function a type and direction reads the modifiers from the instruction. */
struct half_minmax {
    struct num_minmax how;
    uint16_t infinity;
    bool ftz; /* f16 alone */
};

static inline uint32_t minmax_one(uint32_t a, uint32_t b, struct half_minmax m) {
    uint32_t subnormal_keep = m.ftz ? NUM_HALF_SIGN : 0xffff;
    a &= a & NUM_F16_INF ? 0xffff : subnormal_keep;
    b &= b & NUM_F16_INF ? 0xffff : subnormal_keep;
    return num_half_minmax(a, b, m.how, m.infinity);
}

SIMD_CLONES static enum step minmax(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct half_minmax m = *(const struct half_minmax *)x->data;
    uint32_t high = is_packed(x->ir) ? 0xffff0000 : 0;
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    LANE_LOOP(mask, d[lane] = minmax_one(a[lane], b[lane], m) |
                              (minmax_one(a[lane] >> 16, b[lane] >> 16, m) << 16 & high));
    return STEP_NEXT;
}

static exec_fn *minmax_select(struct decode *d, struct xinsn *x, bool max) {
    struct half_minmax *m = arena_alloc(d->arena, sizeof *m, _Alignof(struct half_minmax));
    if (m == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    bool bf16 = x->ir->types[0] == PTX_BF16 || x->ir->types[0] == PTX_BF16X2;
    *m = (struct half_minmax){
        .how = {max, ir_has(x->ir, QUAL_NAN_PROPAGATE), ir_has(x->ir, QUAL_XORSIGN)},
        .infinity = bf16 ? NUM_BF16_INF : NUM_F16_INF,
        .ftz = ir_has(x->ir, QUAL_FTZ)};
    x->data = m;
    return minmax;
}

exec_select op_min_half, op_max_half;
exec_fn *op_min_half(struct decode *d, struct xinsn *x) {
    return minmax_select(d, x, false);
}
exec_fn *op_max_half(struct decode *d, struct xinsn *x) {
    return minmax_select(d, x, true);
}
