/* The approximate functions: rcp, div, sqrt, rsqrt, sin, cos, lg2, ex2, tanh with .approx and
 * div.full (manual, "Floating Point Instructions" and "Half Precision Floating Point
 * Instructions"), with silicon's bits (num_approx.h). */
#include "lane.h"
#include "num_approx.h"

#define APPROX_1(name, T, acc, expr)                                                               \
    static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {                  \
        T *d_ = xop_##acc(w, &x->ops[0]);                                                          \
        const T *a_ = xop_##acc(w, &x->ops[1]);                                                    \
        LANE_LOOP(mask, T a = a_[lane]; d_[lane] = (expr));                                        \
        return STEP_NEXT;                                                                          \
    }
#define APPROX_2(name, expr)                                                                       \
    static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {                  \
        uint32_t *d_ = xop_u32(w, &x->ops[0]);                                                     \
        const uint32_t *a_ = xop_u32(w, &x->ops[1]), *b_ = xop_u32(w, &x->ops[2]);                 \
        LANE_LOOP(mask, uint32_t a = a_[lane]; uint32_t b = b_[lane]; d_[lane] = (expr));          \
        return STEP_NEXT;                                                                          \
    }
/* Selector op_<sem>: `plain`, or `ftz` where the instruction says so. */
#define FTZ_SELECT(sem, plain, ftz)                                                                \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        return ir_has(x->ir, QUAL_FTZ) ? (ftz) : (plain);                                          \
    }

#define F32_BOTH(sem)                                                                              \
    APPROX_1(sem##_plain, uint32_t, u32, num_approx_##sem(a, false))                               \
    APPROX_1(sem##_ftz, uint32_t, u32, num_approx_##sem(a, true))                                  \
    FTZ_SELECT(sem##_approx, sem##_plain, sem##_ftz)
F32_BOTH(rcp)
F32_BOTH(sqrt)
F32_BOTH(rsqrt)
F32_BOTH(ex2)
F32_BOTH(lg2)

#define F32_ALIKE(sem)                                                                             \
    APPROX_1(sem##_any, uint32_t, u32, num_approx_##sem(a))                                        \
    FTZ_SELECT(sem##_approx, sem##_any, sem##_any)
F32_ALIKE(sin)
F32_ALIKE(cos)
F32_ALIKE(tanh)

APPROX_2(div_plain, num_approx_div(a, b, false))
APPROX_2(div_ftz, num_approx_div(a, b, true))
FTZ_SELECT(div_approx, div_plain, div_ftz)
APPROX_2(full_plain, num_approx_div_full(a, b, false))
APPROX_2(full_ftz, num_approx_div_full(a, b, true))
FTZ_SELECT(div_full, full_plain, full_ftz)

APPROX_1(rcp_f64, uint64_t, u64, num_approx_rcp_f64(a))
FTZ_SELECT(rcp_approx_f64, rcp_f64, rcp_f64)
APPROX_1(rsqrt_f64, uint64_t, u64, num_approx_rsqrt_f64(a))
APPROX_1(rsqrt_ftz_f64, uint64_t, u64, num_approx_rsqrt_ftz_f64(a))
FTZ_SELECT(rsqrt_approx_f64, rsqrt_f64, rsqrt_ftz_f64)

#define HALVES(fn)                                                                                 \
    APPROX_1(fn##_one, uint32_t, u32, num_approx_##fn((uint16_t)a))                                \
    APPROX_1(fn##_two, uint32_t, u32,                                                              \
             num_approx_##fn((uint16_t)a) | (uint32_t)num_approx_##fn((uint16_t)(a >> 16)) << 16)
HALVES(ex2_f16)
HALVES(ex2_bf16)
HALVES(tanh_f16)
HALVES(tanh_bf16)

static exec_fn *by_type(const struct xinsn *x, exec_fn *const fns[4]) {
    switch (x->ir->types[0]) {
    case PTX_F16: return fns[0];
    case PTX_F16X2: return fns[1];
    case PTX_BF16: return fns[2];
    default: return fns[3];
    }
}
exec_select op_ex2_half, op_tanh_half;
exec_fn *op_ex2_half(struct decode *d, struct xinsn *x) {
    static exec_fn *const fns[4] = {ex2_f16_one, ex2_f16_two, ex2_bf16_one, ex2_bf16_two};
    (void)d;
    return by_type(x, fns);
}
exec_fn *op_tanh_half(struct decode *d, struct xinsn *x) {
    static exec_fn *const fns[4] = {tanh_f16_one, tanh_f16_two, tanh_bf16_one, tanh_bf16_two};
    (void)d;
    return by_type(x, fns);
}
