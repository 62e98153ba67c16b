/* Double precision arithmetic (manual, "Floating Point Instructions"): NaN payloads go through, as
 * an H200 shows (tests/oracle/scalar); num_f64.h has the functions of one value. */
#include "float_lanes.h"
#include "num_f64.h"

#define F64_1(name, expr) LANE_OP1(name, uint64_t, u64, uint64_t, u64, expr)
#define F64_2(name, expr) LANE_OP2(name, uint64_t, u64, uint64_t, u64, expr)
#define F64_3(name, expr) LANE_OP3(name, uint64_t, u64, uint64_t, u64, expr)

/* Selector op_<sem>: `nearest`, or `general` for the other roundings. */
#define F64_SELECT(sem, nearest, general)                                                          \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        const struct float_mods *mods = float_mods(x->ir);                                         \
        x->data = mods;                                                                            \
        return mods->round == NUM_RN ? (nearest) : (general);                                      \
    }

F64_2(add_rn, num_f64_add(a, b, NUM_RN))
MODS_OP2(add_general, uint64_t, u64, num_f64_add(a, b, mods.round))
F64_SELECT(add_f64, add_rn, add_general)
F64_2(sub_rn, num_f64_sub(a, b, NUM_RN))
MODS_OP2(sub_general, uint64_t, u64, num_f64_sub(a, b, mods.round))
F64_SELECT(sub_f64, sub_rn, sub_general)
F64_2(mul_rn, num_f64_mul(a, b, NUM_RN))
MODS_OP2(mul_general, uint64_t, u64, num_f64_mul(a, b, mods.round))
F64_SELECT(mul_f64, mul_rn, mul_general)
F64_3(fma_rn, num_f64_fma(a, b, c, NUM_RN))
MODS_OP3(fma_general, uint64_t, u64, num_f64_fma(a, b, c, mods.round))
F64_SELECT(fma_f64, fma_rn, fma_general)
F64_2(div_rn, num_f64_div(a, b, NUM_RN))
MODS_OP2(div_general, uint64_t, u64, num_f64_div(a, b, mods.round))
F64_SELECT(div_f64, div_rn, div_general)
F64_1(rcp_rn, num_f64_rcp(a, NUM_RN))
MODS_OP1(rcp_general, uint64_t, u64, num_f64_rcp(a, mods.round))
F64_SELECT(rcp_f64, rcp_rn, rcp_general)
F64_1(sqrt_rn, num_f64_sqrt(a, NUM_RN))
MODS_OP1(sqrt_general, uint64_t, u64, num_f64_sqrt(a, mods.round))
F64_SELECT(sqrt_f64, sqrt_rn, sqrt_general)

/* Forms without modifiers. */
#define F64_ONE_SELECT(sem, fn)                                                                    \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        (void)x;                                                                                   \
        return fn;                                                                                 \
    }
F64_1(neg_any, num_f64_neg(a))
F64_1(abs_any, num_f64_abs(a))
F64_2(min_any, num_f64_minmax(a, b, false))
F64_2(max_any, num_f64_minmax(a, b, true))
F64_2(copysign_any, num_f64_copysign(a, b))
F64_ONE_SELECT(neg_f64, neg_any)
F64_ONE_SELECT(abs_f64, abs_any)
F64_ONE_SELECT(min_f64, min_any)
F64_ONE_SELECT(max_f64, max_any)
F64_ONE_SELECT(copysign_f64, copysign_any)
