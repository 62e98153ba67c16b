/* Bits and fields of integers: popc, clz, bfind, brev, bfe, bfi, fns, bmsk, szext, dp4a, dp2a
 * (manual, "Integer Arithmetic Instructions"; corners from scalar.md section 4 and
 * tests/oracle/scalar). */
#include "int_lanes.h"

/* Functions of a 64- or 32-bit value with a 32-bit result. */
#define COUNT_LANES(name, expr32, expr64)                                                          \
    LANE_OP1(name##_b32, uint32_t, u32, uint32_t, u32, expr32)                                     \
    LANE_OP1(name##_b64, uint32_t, u32, uint64_t, u64, expr64)                                     \
    exec_select op_##name;                                                                         \
    exec_fn *op_##name(struct decode *d, struct xinsn *x) {                                        \
        (void)d;                                                                                   \
        return ptx_type_bits((enum ptx_type)x->ir->types[0]) == 64 ? name##_b64 : name##_b32;      \
    }
COUNT_LANES(popc, (uint32_t)__builtin_popcount(a), (uint32_t)__builtin_popcountll(a))
COUNT_LANES(clz, a == 0 ? 32 : (uint32_t)__builtin_clz(a),
            a == 0 ? 64 : (uint32_t)__builtin_clzll(a))

static inline uint64_t reverse_bits(uint64_t v) {
    v = (v >> 1 & UINT64_C(0x5555555555555555)) | (v & UINT64_C(0x5555555555555555)) << 1;
    v = (v >> 2 & UINT64_C(0x3333333333333333)) | (v & UINT64_C(0x3333333333333333)) << 2;
    v = (v >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(v);
}
LANE_OP1(brev_b32, uint32_t, u32, uint32_t, u32, reverse_bits(a) >> 32)
LANE_OP1(brev_b64, uint64_t, u64, uint64_t, u64, reverse_bits(a))
exec_select op_brev;
exec_fn *op_brev(struct decode *d, struct xinsn *x) {
    (void)d;
    return x->ir->types[0] == PTX_B64 ? brev_b64 : brev_b32;
}

/* Highest bit that is 1 (that differs from the sign, for a signed type), ffffffff when there is
 * none. */
static inline uint32_t find_bit(uint64_t v, unsigned bits, bool is_signed, bool shift_amount) {
    bool negative = is_signed && (v >> (bits - 1) & 1);
    uint64_t bare = negative ? ~v : v;
    if (bits == 32)
        bare &= UINT32_MAX;
    if (bare == 0)
        return UINT32_MAX;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(bare);
    return shift_amount ? bits - 1 - at : at;
}
static enum step bfind_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_type type = (enum ptx_type)x->ir->types[0];
    bool is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    bool shift_amount = ir_has(x->ir, QUAL_SHIFTAMT);
    LANE_LOOP(mask, xop_set_lane(w, &x->ops[0], lane,
                                 find_bit(xop_lane(w, &x->ops[1], lane), ptx_type_bits(type),
                                          is_signed, shift_amount)));
    return STEP_NEXT;
}
ONE_SELECT(bfind, bfind_fn)

/* Position and length of a field: 32-bit forms read 8 bits of each, 64-bit forms all 32
 * (hw-H200-scalar; the manual names 8 bits for both). */
static inline uint32_t field_operand(uint32_t value, unsigned bits) {
    return bits == 32 ? value & 0xff : value;
}

/* bfe: `length` bits from `position`, what lies past the top or the field filled with the sign. */
static inline uint64_t extract_field(uint64_t a, uint32_t position, uint32_t length, unsigned bits,
                                     bool is_signed) {
    position = field_operand(position, bits);
    length = field_operand(length, bits);
    uint64_t sign = 0;
    if (is_signed && length != 0) {
        uint64_t at = (uint64_t)position + length - 1;
        sign = a >> (at > bits - 1 ? bits - 1 : at) & 1;
    }
    uint64_t fill = sign ? ~UINT64_C(0) : 0;
    if (position >= bits || length == 0)
        return fill;
    uint64_t value = a >> position;
    uint32_t have = bits - position < length ? bits - position : length;
    uint64_t field = have >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << have) - 1;
    return (value & field) | (fill & ~field);
}
static enum step bfe_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_type type = (enum ptx_type)x->ir->types[0];
    bool is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    const uint32_t *position = xop_u32(w, &x->ops[2]), *length = xop_u32(w, &x->ops[3]);
    LANE_LOOP(mask, xop_set_lane(w, &x->ops[0], lane,
                                 extract_field(xop_lane(w, &x->ops[1], lane), position[lane],
                                               length[lane], ptx_type_bits(type), is_signed)));
    return STEP_NEXT;
}
ONE_SELECT(bfe, bfe_fn)

/* bfi: the low `length` bits of a put into b at `position`. */
static inline uint64_t insert_field(uint64_t a, uint64_t b, uint32_t position, uint32_t length,
                                    unsigned bits) {
    position = field_operand(position, bits);
    length = field_operand(length, bits);
    if (position >= bits || length == 0)
        return b;
    uint64_t field = length >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << length) - 1;
    field <<= position;
    return (b & ~field) | (a << position & field);
}
static enum step bfi_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    unsigned bits = ptx_type_bits((enum ptx_type)x->ir->types[0]);
    const uint32_t *position = xop_u32(w, &x->ops[3]), *length = xop_u32(w, &x->ops[4]);
    LANE_LOOP(mask, xop_set_lane(w, &x->ops[0], lane,
                                 insert_field(xop_lane(w, &x->ops[1], lane),
                                              xop_lane(w, &x->ops[2], lane), position[lane],
                                              length[lane], bits)));
    return STEP_NEXT;
}
ONE_SELECT(bfi, bfi_fn)

/* fns: the n-th set bit of `bits` from `base` on, upwards for n > 0, downwards for n < 0; n = 0
 * asks for the bit at base itself. The least n, whose magnitude is no number, gives 0
 * (hw-H200-scalar). */
static uint32_t find_nth_set(uint32_t bits, uint32_t base, int32_t n) {
    if (n == INT32_MIN)
        return 0;
    if (base > 31)
        return UINT32_MAX;
    if (n == 0)
        return bits >> base & 1 ? base : UINT32_MAX;
    int32_t step = n > 0 ? 1 : -1;
    int32_t left = n > 0 ? n : -n;
    for (int32_t at = (int32_t)base; at >= 0 && at <= 31; at += step)
        if ((bits >> at & 1) && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}
LANE_OP3(fns_b32, uint32_t, u32, uint32_t, u32, find_nth_set(a, b, (int32_t)c))
ONE_SELECT(fns, fns_b32)

/* bmsk: ones from bit `a`, `b` of them. */
static inline uint32_t bit_mask(uint32_t a, uint32_t b, bool clamp) {
    if (clamp && a >= 32)
        return 0;
    a &= 31;
    uint32_t ones = clamp && b >= 32 ? UINT32_MAX : (UINT32_C(1) << (b & 31)) - 1;
    return ones << a;
}
LANE_OP2(bmsk_clamp_b32, uint32_t, u32, uint32_t, u32, bit_mask(a, b, true))
LANE_OP2(bmsk_wrap_b32, uint32_t, u32, uint32_t, u32, bit_mask(a, b, false))
exec_select op_bmsk;
exec_fn *op_bmsk(struct decode *d, struct xinsn *x) {
    (void)d;
    return ir_has(x->ir, QUAL_CLAMP) ? bmsk_clamp_b32 : bmsk_wrap_b32;
}

/* szext: the low `b` bits of a, extended. */
static inline uint32_t extend_low(uint32_t a, uint32_t b, bool clamp, bool is_signed) {
    if (clamp && b >= 32)
        return a;
    b &= 31;
    if (b == 0)
        return 0;
    uint32_t up = a << (32 - b);
    return is_signed ? (uint32_t)((int32_t)up >> (32 - b)) : up >> (32 - b);
}
LANE_OP2(szext_clamp_u32, uint32_t, u32, uint32_t, u32, extend_low(a, b, true, false))
LANE_OP2(szext_clamp_s32, uint32_t, u32, uint32_t, u32, extend_low(a, b, true, true))
LANE_OP2(szext_wrap_u32, uint32_t, u32, uint32_t, u32, extend_low(a, b, false, false))
LANE_OP2(szext_wrap_s32, uint32_t, u32, uint32_t, u32, extend_low(a, b, false, true))
exec_select op_szext;
exec_fn *op_szext(struct decode *d, struct xinsn *x) {
    (void)d;
    bool is_signed = x->ir->types[0] == PTX_S32;
    if (ir_has(x->ir, QUAL_CLAMP))
        return is_signed ? szext_clamp_s32 : szext_clamp_u32;
    return is_signed ? szext_wrap_s32 : szext_wrap_u32;
}

/* Element `index` of `bits` bits, widened by its own signedness. */
static inline int64_t element(uint32_t word, unsigned index, unsigned bits, bool is_signed) {
    uint32_t value = word >> (index * bits);
    if (bits == 8)
        return is_signed ? (int8_t)value : (int64_t)(uint8_t)value;
    return is_signed ? (int16_t)value : (int64_t)(uint16_t)value;
}
/* dp4a: four byte products; dp2a: two halves of a times two bytes of b, from byte `first`. */
static enum step dp_fn(struct warp *w, const struct xinsn *x, uint32_t mask, unsigned count,
                       unsigned first) {
    bool signed_a = x->ir->types[0] == PTX_S32, signed_b = x->ir->types[1] == PTX_S32;
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    uint32_t *d = xop_u32(w, &x->ops[0]);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        int64_t sum = (int32_t)c[lane];
        for (unsigned i = 0; i < count; i++)
            sum += element(a[lane], i, 32 / count, signed_a) *
                   element(b[lane], first + i, 8, signed_b);
        d[lane] = (uint32_t)sum;
    }
    return STEP_NEXT;
}
static enum step dp4a_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return dp_fn(w, x, mask, 4, 0);
}
static enum step dp2a_lo_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return dp_fn(w, x, mask, 2, 0);
}
static enum step dp2a_hi_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return dp_fn(w, x, mask, 2, 2);
}
ONE_SELECT(dp4a, dp4a_fn)
ONE_SELECT(dp2a_lo, dp2a_lo_fn)
ONE_SELECT(dp2a_hi, dp2a_hi_fn)
