/* Integer arithmetic of 16, 32 and 64 bits: add, sub, mul, mad, sad, div, rem, abs, neg, min, max,
 * and their saturating and two-in-a-register forms (manual, "Integer Arithmetic Instructions").
 * Sums and products wrap. Division by zero gives all ones for quotient and remainder, MIN / -1
 * gives MIN and remainder 0 (H200 observation 44, tests/oracle/scalar). */
#include "int_lanes.h"

INT_ALL(INT_LANES_2, add, (S)a + (S)b)
INT_ALL(INT_LANES_2, sub, (S)a - (S)b)
INT_ALL(INT_LANES_2, mul_lo, (S)a *(S)b)
INT_ALL(INT_LANES_2, mul_hi, ((W)a * (W)b) >> BITS)
INT_ALL(INT_LANES_3, mad_lo, (S)a *(S)b + (S)c)
INT_ALL(INT_LANES_3, mad_hi, (S)(((W)a * (W)b) >> BITS) + (S)c)
INT_ALL(INT_LANES_3, sad, (a > b ? (S)a - (S)b : (S)b - (S)a) + (S)c)
INT_ALL(INT_LANES_2, min, a < b ? a : b)
INT_ALL(INT_LANES_2, max, a > b ? a : b)
INT_ALL(INT_LANES_1, neg, (S)0 - (S)a)
INT_ALL(INT_LANES_1, abs, (IS_SIGNED && ((U)a >> (BITS - 1))) ? (S)0 - (S)a : (S)a)
INT_ALL(INT_LANES_2, div,
        b == 0                         ? (S) ~(S)0
        : (IS_SIGNED && (U)b == (U)~0) ? (S)0 - (S)a
                                       : (S)(a / b))
INT_ALL(INT_LANES_2, rem, b == 0 ? (S) ~(S)0 : (IS_SIGNED && (U)b == (U)~0) ? (S)0 : (S)(a % b))

INT_SELECT(add_int, add)
INT_SELECT(sub_int, sub)
INT_SELECT(mul_lo, mul_lo)
INT_SELECT(mul_hi, mul_hi)
INT_SELECT(mad_lo, mad_lo)
INT_SELECT(mad_hi, mad_hi)
INT_SELECT(sad, sad)
INT_SELECT(min_int, min)
INT_SELECT(max_int, max)
INT_SELECT(neg_int, neg)
INT_SELECT(abs_int, abs)
INT_SELECT(div_int, div)
INT_SELECT(rem_int, rem)

/* mul.wide and mad.wide: the destination, and c, have twice the width. */
#define WIDE_LANES(name, T, td, ad)                                                                \
    LANE_OP2(mul_wide_##name, td, ad, uint32_t, u32, (td)(T)a *(td)(T)b)                           \
    SIMD_CLONES static enum step mad_wide_##name(struct warp *w, const struct xinsn *x,            \
                                                 uint32_t mask) {                                  \
        td *d_ = xop_##ad(w, &x->ops[0]);                                                          \
        const uint32_t *a_ = xop_u32(w, &x->ops[1]);                                               \
        const uint32_t *b_ = xop_u32(w, &x->ops[2]);                                               \
        const td *c_ = xop_##ad(w, &x->ops[3]);                                                    \
        LANE_LOOP(mask, d_[lane] = (td)(T)a_[lane] * (td)(T)b_[lane] + c_[lane]);                  \
        return STEP_NEXT;                                                                          \
    }
WIDE_LANES(u16, uint16_t, uint32_t, u32)
WIDE_LANES(s16, int16_t, uint32_t, u32)
WIDE_LANES(u32, uint32_t, uint64_t, u64)
WIDE_LANES(s32, int32_t, uint64_t, u64)
static exec_fn *const mul_wide_fns[] = {mul_wide_u16, mul_wide_s16, mul_wide_u32, mul_wide_s32};
static exec_fn *const mad_wide_fns[] = {mad_wide_u16, mad_wide_s16, mad_wide_u32, mad_wide_s32};
INT_SELECT(mul_wide, mul_wide)
INT_SELECT(mad_wide, mad_wide)

/* .sat exists for s32 alone. */
static inline int32_t saturate_s32(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}
#define S64(v) ((int64_t)(int32_t)(v))
LANE_OP2(add_sat_s32, uint32_t, u32, uint32_t, u32, saturate_s32(S64(a) + S64(b)))
LANE_OP2(sub_sat_s32, uint32_t, u32, uint32_t, u32, saturate_s32(S64(a) - S64(b)))
LANE_OP3(mad_hi_sat_s32, uint32_t, u32, uint32_t, u32,
         saturate_s32(((S64(a) * S64(b)) >> 32) + S64(c)))
ONE_SELECT(add_sat, add_sat_s32)
ONE_SELECT(sub_sat, sub_sat_s32)
ONE_SELECT(mad_hi_sat, mad_hi_sat_s32)
LANE_OP2(min_relu_s32, uint32_t, u32, uint32_t, u32,
         (int32_t)a < (int32_t)b ? ((int32_t)a < 0 ? 0 : a) : ((int32_t)b < 0 ? 0 : b))
LANE_OP2(max_relu_s32, uint32_t, u32, uint32_t, u32,
         (int32_t)a > (int32_t)b ? ((int32_t)a < 0 ? 0 : a) : ((int32_t)b < 0 ? 0 : b))
ONE_SELECT(min_relu, min_relu_s32)
ONE_SELECT(max_relu, max_relu_s32)

/* Two 16-bit values in a register, the low half first. */
static inline uint32_t halves(uint32_t low, uint32_t high) {
    return (low & 0xffff) | high << 16;
}
static inline uint32_t pick_u16(uint32_t a, uint32_t b, bool greater) {
    return ((a & 0xffff) > (b & 0xffff)) == greater ? a & 0xffff : b & 0xffff;
}
static inline uint32_t pick_s16(uint32_t a, uint32_t b, bool greater, bool relu) {
    int16_t x = (int16_t)a, y = (int16_t)b;
    int16_t won = (x > y) == greater ? x : y;
    return relu && won < 0 ? 0 : (uint16_t)won;
}
LANE_OP2(add_x2, uint32_t, u32, uint32_t, u32, halves(a + b, (a >> 16) + (b >> 16)))
#define PICK_X2(name, op, ...)                                                                     \
    LANE_OP2(name, uint32_t, u32, uint32_t, u32,                                                   \
             halves(op(a, b, __VA_ARGS__), op(a >> 16, b >> 16, __VA_ARGS__)))
PICK_X2(min_u16x2, pick_u16, false)
PICK_X2(max_u16x2, pick_u16, true)
PICK_X2(min_s16x2, pick_s16, false, false)
PICK_X2(max_s16x2, pick_s16, true, false)
PICK_X2(min_relu_s16x2, pick_s16, false, true)
PICK_X2(max_relu_s16x2, pick_s16, true, true)
ONE_SELECT(add_x2, add_x2)
ONE_SELECT(min_relu_x2, min_relu_s16x2)
ONE_SELECT(max_relu_x2, max_relu_s16x2)

exec_select op_min_x2, op_max_x2;
exec_fn *op_min_x2(struct decode *d, struct xinsn *x) {
    (void)d;
    return x->ir->types[0] == PTX_U16X2 ? min_u16x2 : min_s16x2;
}
exec_fn *op_max_x2(struct decode *d, struct xinsn *x) {
    (void)d;
    return x->ir->types[0] == PTX_U16X2 ? max_u16x2 : max_s16x2;
}

/* mul24, mad24: operands cut to 24 bits, sign-extended from bit 23 for s32 (scalar.md section 4);
 * .lo takes bits 31..0 and .hi bits 47..16 of the 48-bit product. */
static inline int64_t low24(uint32_t v, bool is_signed) {
    return is_signed ? (int32_t)(v << 8) >> 8 : (int64_t)(v & 0xffffff);
}
#define PRODUCT24(s) (low24(a, s) * low24(b, s))
LANE_OP2(mul24_lo_u32, uint32_t, u32, uint32_t, u32, PRODUCT24(false))
LANE_OP2(mul24_hi_u32, uint32_t, u32, uint32_t, u32, PRODUCT24(false) >> 16)
LANE_OP2(mul24_lo_s32, uint32_t, u32, uint32_t, u32, PRODUCT24(true))
LANE_OP2(mul24_hi_s32, uint32_t, u32, uint32_t, u32, PRODUCT24(true) >> 16)
LANE_OP3(mad24_lo_u32, uint32_t, u32, uint32_t, u32, (uint32_t)PRODUCT24(false) + c)
LANE_OP3(mad24_hi_u32, uint32_t, u32, uint32_t, u32, (uint32_t)(PRODUCT24(false) >> 16) + c)
LANE_OP3(mad24_lo_s32, uint32_t, u32, uint32_t, u32, (uint32_t)PRODUCT24(true) + c)
LANE_OP3(mad24_hi_s32, uint32_t, u32, uint32_t, u32, (uint32_t)(PRODUCT24(true) >> 16) + c)
LANE_OP3(mad24_hi_sat_s32, uint32_t, u32, uint32_t, u32,
         saturate_s32((int32_t)(PRODUCT24(true) >> 16) + S64(c)))
ONE_SELECT(mad24_hi_sat, mad24_hi_sat_s32)

#define SIGN_SELECT(sem)                                                                           \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        return x->ir->types[0] == PTX_S32 ? sem##_s32 : sem##_u32;                                 \
    }
SIGN_SELECT(mul24_lo)
SIGN_SELECT(mul24_hi)
SIGN_SELECT(mad24_lo)
SIGN_SELECT(mad24_hi)
