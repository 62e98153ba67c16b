/* Single precision arithmetic: add, sub, mul, fma, mad, div, rcp, sqrt with every rounding, .ftz
 * and .sat; neg, abs, min, max, copysign, testp (manual, "Floating Point Instructions"). Bits and
 * NaN words are those of an H200 (tests/oracle/scalar); num_f32.h has the functions of one value.
 * Packed and mixed forms are in op_float_packed.c, approximations in op_approx.c. */
#include "float_lanes.h"
#include "num_compare.h"
#include "num_f32.h"
#include "num_ftz.h"
#include "num_minmax.h"

#define MODS_ROW(round)                                                                            \
    {                                                                                              \
        {round, false, false}, {round, true, false}, {round, false, true}, {                       \
            round, true, true                                                                      \
        }                                                                                          \
    }
static const struct float_mods all_mods[4][4] = {MODS_ROW(NUM_RN), MODS_ROW(NUM_RZ),
                                                 MODS_ROW(NUM_RM), MODS_ROW(NUM_RP)};

const struct float_mods *float_mods(const struct ir_insn *insn) {
    enum num_round round = ir_has(insn, QUAL_RZ)   ? NUM_RZ
                           : ir_has(insn, QUAL_RM) ? NUM_RM
                           : ir_has(insn, QUAL_RP) ? NUM_RP
                                                   : NUM_RN;
    struct float_mods mods = {round, ir_has(insn, QUAL_FTZ), ir_has(insn, QUAL_SAT)};
    return &all_mods[round][float_variant(&mods)];
}

#define F32_1(name, expr) LANE_OP1(name, uint32_t, u32, uint32_t, u32, expr)
#define F32_2(name, expr) LANE_OP2(name, uint32_t, u32, uint32_t, u32, expr)
#define F32_3(name, expr) LANE_OP3(name, uint32_t, u32, uint32_t, u32, expr)
#define SAT(value)        num_f32_saturate(value)
#define SAT_IF(value)     (mods.sat ? num_f32_saturate(value) : (value))

F32_2(add_rn, num_f32_add(a, b, NUM_RN))
F32_2(add_rn_ftz, num_f32_add_ftz(a, b, NUM_RN))
F32_2(add_rn_sat, SAT(num_f32_add(a, b, NUM_RN)))
F32_2(add_rn_ftz_sat, SAT(num_f32_add_ftz(a, b, NUM_RN)))
MODS_OP2(add_general, uint32_t, u32,
         SAT_IF(mods.ftz ? num_f32_add_ftz(a, b, mods.round) : num_f32_add(a, b, mods.round)))
static exec_fn *const add_fns[4] = {add_rn, add_rn_ftz, add_rn_sat, add_rn_ftz_sat};
ROUND_SELECT(add_f32, add_fns, add_general)

F32_2(sub_rn, num_f32_sub(a, b, NUM_RN))
F32_2(sub_rn_ftz, num_f32_sub_ftz(a, b, NUM_RN))
F32_2(sub_rn_sat, SAT(num_f32_sub(a, b, NUM_RN)))
F32_2(sub_rn_ftz_sat, SAT(num_f32_sub_ftz(a, b, NUM_RN)))
MODS_OP2(sub_general, uint32_t, u32,
         SAT_IF(mods.ftz ? num_f32_sub_ftz(a, b, mods.round) : num_f32_sub(a, b, mods.round)))
static exec_fn *const sub_fns[4] = {sub_rn, sub_rn_ftz, sub_rn_sat, sub_rn_ftz_sat};
ROUND_SELECT(sub_f32, sub_fns, sub_general)

/* Products with .ftz: flushing operands and the rounded result is right but where that is 2^-126,
 * which an exact product just below it can have been rounded to. The loop looks for such a lane and
 * then does all again the long way. */
static inline bool at_edge(uint32_t word) {
    return (word & ~NUM_F32_SIGN) == 0x00800000;
}

SIMD_CLONES static enum step mul_rn_ftz(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    uint32_t edge = 0;
    LANE_LOOP(mask,
              uint32_t r = num_f32_mul(num_f32_flush(a[lane]), num_f32_flush(b[lane]), NUM_RN);
              edge |= at_edge(r); d[lane] = num_f32_flush(r));
    if (edge)
        LANE_LOOP(mask, d[lane] = num_f32_mul_ftz(a[lane], b[lane], NUM_RN));
    return STEP_NEXT;
}

SIMD_CLONES static enum step fma_rn_ftz(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    uint32_t edge = 0;
    LANE_LOOP(mask, uint32_t r = num_f32_fma(num_f32_flush(a[lane]), num_f32_flush(b[lane]),
                                             num_f32_flush(c[lane]), NUM_RN);
              edge |= at_edge(r); d[lane] = num_f32_flush(r));
    if (edge)
        LANE_LOOP(mask, d[lane] = num_f32_fma_ftz(a[lane], b[lane], c[lane], NUM_RN));
    return STEP_NEXT;
}

F32_2(mul_rn, num_f32_mul(a, b, NUM_RN))
F32_2(mul_rn_sat, SAT(num_f32_mul(a, b, NUM_RN)))
F32_2(mul_rn_ftz_sat, SAT(num_f32_mul_ftz(a, b, NUM_RN)))
MODS_OP2(mul_general, uint32_t, u32,
         SAT_IF(mods.ftz ? num_f32_mul_ftz(a, b, mods.round) : num_f32_mul(a, b, mods.round)))
static exec_fn *const mul_fns[4] = {mul_rn, mul_rn_ftz, mul_rn_sat, mul_rn_ftz_sat};
ROUND_SELECT(mul_f32, mul_fns, mul_general)

F32_3(fma_rn, num_f32_fma(a, b, c, NUM_RN))
F32_3(fma_rn_sat, SAT(num_f32_fma(a, b, c, NUM_RN)))
F32_3(fma_rn_ftz_sat, SAT(num_f32_fma_ftz(a, b, c, NUM_RN)))
MODS_OP3(fma_general, uint32_t, u32,
         SAT_IF(mods.ftz ? num_f32_fma_ftz(a, b, c, mods.round) : num_f32_fma(a, b, c, mods.round)))
static exec_fn *const fma_fns[4] = {fma_rn, fma_rn_ftz, fma_rn_sat, fma_rn_ftz_sat};
ROUND_SELECT(fma_f32, fma_fns, fma_general)

/* Division, reciprocal and root are correctly rounded; .ftz flushes operands and result. */
static inline uint32_t flush_if(uint32_t word, bool ftz) {
    uint32_t subnormal_keep = ftz ? NUM_F32_SIGN : ~UINT32_C(0);
    return word & ((word & NUM_F32_INF) ? ~UINT32_C(0) : subnormal_keep);
}
#define FLUSH_IF(value) flush_if(value, mods.ftz)
F32_2(div_rn, num_f32_div(a, b, NUM_RN))
MODS_OP2(div_general, uint32_t, u32, FLUSH_IF(num_f32_div(FLUSH_IF(a), FLUSH_IF(b), mods.round)))
static exec_fn *const div_fns[4] = {div_rn, div_general, div_general, div_general};
ROUND_SELECT(div_f32, div_fns, div_general)

F32_1(rcp_rn, num_f32_rcp(a, NUM_RN))
MODS_OP1(rcp_general, uint32_t, u32, FLUSH_IF(num_f32_rcp(FLUSH_IF(a), mods.round)))
static exec_fn *const rcp_fns[4] = {rcp_rn, rcp_general, rcp_general, rcp_general};
ROUND_SELECT(rcp_f32, rcp_fns, rcp_general)

F32_1(sqrt_rn, num_f32_sqrt(a, NUM_RN))
MODS_OP1(sqrt_general, uint32_t, u32, num_f32_sqrt(FLUSH_IF(a), mods.round))
static exec_fn *const sqrt_fns[4] = {sqrt_rn, sqrt_general, sqrt_general, sqrt_general};
ROUND_SELECT(sqrt_f32, sqrt_fns, sqrt_general)

MODS_OP1(neg_any, uint32_t, u32, num_f32_neg(FLUSH_IF(a)))
MODS_SELECT(neg_f32, neg_any)
MODS_OP1(abs_any, uint32_t, u32, num_f32_abs(FLUSH_IF(a)))
MODS_SELECT(abs_f32, abs_any)

F32_2(copysign_any, num_f32_copysign(a, b))
exec_select op_copysign_f32;
exec_fn *op_copysign_f32(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return copysign_any;
}

/* min and max: [.NaN][.xorsign.abs] as constants of eight functions, each with .ftz at run time. */
#define MINMAX(name, max_, nan_, xorsign_)                                                         \
    MODS_OP2(name, uint32_t, u32,                                                                  \
             num_f32_minmax(FLUSH_IF(a), FLUSH_IF(b), (struct num_minmax){max_, nan_, xorsign_}))
MINMAX(min_plain, false, false, false)
MINMAX(min_nan, false, true, false)
MINMAX(min_xorsign, false, false, true)
MINMAX(min_nan_xorsign, false, true, true)
MINMAX(max_plain, true, false, false)
MINMAX(max_nan, true, true, false)
MINMAX(max_xorsign, true, false, true)
MINMAX(max_nan_xorsign, true, true, true)

static exec_fn *minmax_select(struct xinsn *x, exec_fn *const fns[4]) {
    x->data = float_mods(x->ir);
    bool nan = ir_has(x->ir, QUAL_NAN_PROPAGATE), xorsign = ir_has(x->ir, QUAL_XORSIGN);
    return fns[(nan ? 1 : 0) + (xorsign ? 2 : 0)];
}

exec_select op_min_f32, op_max_f32;
exec_fn *op_min_f32(struct decode *d, struct xinsn *x) {
    static exec_fn *const fns[4] = {min_plain, min_nan, min_xorsign, min_nan_xorsign};
    (void)d;
    return minmax_select(x, fns);
}
exec_fn *op_max_f32(struct decode *d, struct xinsn *x) {
    static exec_fn *const fns[4] = {max_plain, max_nan, max_xorsign, max_nan_xorsign};
    (void)d;
    return minmax_select(x, fns);
}

/* Three operands (sm_100): folded from the left, .abs compares and gives magnitudes. */
static enum step minmax3(struct warp *w, const struct xinsn *x, uint32_t mask, bool max) {
    const struct float_mods mods = *(const struct float_mods *)x->data;
    struct num_minmax how = {.max = max, .nan = ir_has(x->ir, QUAL_NAN_PROPAGATE)};
    uint32_t keep = ir_has(x->ir, QUAL_ABS) ? ~NUM_F32_SIGN : ~UINT32_C(0);
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    LANE_LOOP(mask, uint32_t two =
                        num_f32_minmax(FLUSH_IF(a[lane]) & keep, FLUSH_IF(b[lane]) & keep, how);
              d[lane] = num_f32_minmax(two, FLUSH_IF(c[lane]) & keep, how));
    return STEP_NEXT;
}
static enum step min3_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return minmax3(w, x, mask, false);
}
static enum step max3_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return minmax3(w, x, mask, true);
}
MODS_SELECT(min3_f32, min3_any)
MODS_SELECT(max3_f32, max3_any)

/* testp, f32 and f64. */
static enum num_class_test class_test(const struct ir_insn *insn) {
    static const struct {
        enum ptx_qual qual;
        enum num_class_test test;
    } tests[] = {
        {QUAL_FINITE, NUM_TEST_FINITE}, {QUAL_INFINITE, NUM_TEST_INFINITE},
        {QUAL_NUMBER, NUM_TEST_NUMBER}, {QUAL_NOTANUMBER, NUM_TEST_NOTANUMBER},
        {QUAL_NORMAL, NUM_TEST_NORMAL},
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (ir_has(insn, tests[i].qual))
            return tests[i].test;
    return NUM_TEST_SUBNORMAL;
}

static enum step testp_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum num_class_test test = class_test(x->ir);
    bool wide = x->ir->types[0] == PTX_F64;
    uint32_t result = 0;
    for (unsigned lane = 0; lane < WARP_LANES; lane++) {
        uint64_t word = xop_lane(w, &x->ops[1], lane);
        bool is = wide ? num_f64_testp(word, test) : num_f32_testp((uint32_t)word, test);
        result |= (uint32_t)is << lane;
    }
    xop_set_pred(w, &x->ops[0], mask, result);
    return STEP_NEXT;
}

exec_select op_testp;
exec_fn *op_testp(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return testp_any;
}
