/* cvt from and to registers that hold several numbers, and cvt.pack (manual, "Data Movement and
 * Conversion Instructions: cvt, cvt.pack"). The first of two sources goes to the upper half.
 *
 *   e4m3x2 e5m2x2 e2m3x2 e3m2x2 ue8m0x2   bits 15..8 and 7..0 (6-bit formats: two zero bits on top)
 *   e2m1x2                                bits 7..4 and 3..0
 *   f16x2 bf16x2                          bits 31..16 and 15..0
 *
 * Not modelled: .rs to four numbers, where the place of the random bits under the discarded ones is
 * not known; .rs to an f16 subnormal. */
#include "cvt_types.h"
#include "lane.h"
#include "num_cvt.h"
#include "num_half.h"

/* Distance of the two elements of a packed type. */
static unsigned element_step(enum num_type type) {
    unsigned bits = num_format(type)->bits;
    return bits == 6 ? 8 : bits;
}

/* Two sources a, b. */
static enum step pair_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct num_cvt *how = x->data;
    unsigned step = element_step(how->to);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t high = num_cvt(how, xop_lane(w, &x->ops[1], lane));
        uint64_t low = num_cvt(how, xop_lane(w, &x->ops[2], lane));
        xop_set_lane(w, &x->ops[0], lane, high << step | low);
    }
    return STEP_NEXT;
}

/* One packed source. */
static enum step packed_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct num_cvt *how = x->data;
    unsigned to_step = element_step(how->to), from_step = element_step(how->from);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t word = xop_lane(w, &x->ops[1], lane);
        uint64_t high = num_cvt(how, word >> from_step), low = num_cvt(how, word);
        xop_set_lane(w, &x->ops[0], lane, high << to_step | low);
    }
    return STEP_NEXT;
}

/* The two that epilogues are made of. */
LANE_OP2(f16x2_f32, uint32_t, u32, uint32_t, u32,
         (uint32_t)num_f16_from_f32(a) << 16 | num_f16_from_f32(b))
LANE_OP2(bf16x2_f32, uint32_t, u32, uint32_t, u32,
         (uint32_t)num_bf16_from_f32(a) << 16 | num_bf16_from_f32(b))

static exec_fn *with_how(struct decode *d, struct xinsn *x, exec_fn *fn) {
    struct num_cvt how = cvt_how(x->ir);
    x->data = cvt_keep(d, &how);
    return x->data != NULL ? fn : decode_unsupported(d, x, "the host has no memory left");
}

exec_select op_cvt_pair, op_cvt_packed;
exec_fn *op_cvt_pair(struct decode *d, struct xinsn *x) {
    struct num_cvt how = cvt_how(x->ir);
    bool plain = how.round == NUM_RN && !how.relu && !how.satfinite;
    if (plain && how.to == NUM_F16)
        return f16x2_f32;
    if (plain && how.to == NUM_BF16)
        return bf16x2_f32;
    return with_how(d, x, pair_any);
}
exec_fn *op_cvt_packed(struct decode *d, struct xinsn *x) {
    return with_how(d, x, packed_any);
}

/* ue8m0: .rp goes up to the next power of two, .rz down. */
#define UE8M0_LOOP(high_expr, low_expr)                                                            \
    bool up = ir_has(x->ir, QUAL_RP), finite = ir_has(x->ir, QUAL_SATFINITE);                      \
    uint32_t *d = xop_u32(w, &x->ops[0]);                                                          \
    const uint32_t *a = xop_u32(w, &x->ops[1]);                                                    \
    LANE_LOOP(mask, d[lane] = (uint32_t)(high_expr) << 8 | (low_expr));                            \
    return STEP_NEXT

static enum step ue8m0_f32(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const uint32_t *b = xop_u32(w, &x->ops[2]);
    UE8M0_LOOP(num_ue8m0_from_f32(a[lane], up, finite), num_ue8m0_from_f32(b[lane], up, finite));
}
static enum step ue8m0_bf16x2(struct warp *w, const struct xinsn *x, uint32_t mask) {
    UE8M0_LOOP(num_ue8m0_from_bf16((uint16_t)(a[lane] >> 16), up, finite),
               num_ue8m0_from_bf16((uint16_t)a[lane], up, finite));
}
LANE_OP1(bf16x2_ue8m0, uint32_t, u32, uint32_t, u32,
         (uint32_t)num_ue8m0_to_bf16((uint8_t)(a >> 8)) << 16 | num_ue8m0_to_bf16((uint8_t)a))

#define CVT_SELECT(sem, fn)                                                                        \
    exec_select op_##sem;                                                                          \
    exec_fn *op_##sem(struct decode *d, struct xinsn *x) {                                         \
        (void)d;                                                                                   \
        (void)x;                                                                                   \
        return fn;                                                                                 \
    }
CVT_SELECT(cvt_ue8m0_f32, ue8m0_f32)
CVT_SELECT(cvt_ue8m0_bf16x2, ue8m0_bf16x2)
CVT_SELECT(cvt_bf16x2_ue8m0, bf16x2_ue8m0)

/* .rs: random bits are added to the mantissa bits that the format has no room for, a carry out of
 * them rounds the magnitude up. f16 drops 13 bits of an f32 that is no f16 subnormal, bf16 16. */
/* False when the place of the random bits is not known. */
static bool stochastic(uint32_t word, uint32_t random, const struct num_cvt *how,
                       uint16_t *result) {
    bool f16 = how->to == NUM_F16;
    uint32_t magnitude = word & ~NUM_F32_SIGN;
    uint32_t dropped = f16 ? 0x1fff : 0xffff;
    if (magnitude > NUM_F32_INF) {
        *result = NUM_HALF_NAN;
        return true;
    }
    if (how->relu && word >> 31) {
        *result = 0;
        return true;
    }
    if (f16 && magnitude != 0 && magnitude < 0x38800000)
        return false;
    struct num_cvt cut = *how;
    cut.round = NUM_RZ;
    if (magnitude < NUM_F32_INF)
        magnitude = (magnitude + (random & dropped)) & ~dropped;
    bool overflow = f16 && magnitude >= 0x47800000;
    if (overflow)
        magnitude = NUM_F32_INF;
    *result = (uint16_t)num_cvt(&cut, (word & NUM_F32_SIGN) | magnitude);
    return true;
}

static enum step rs_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct num_cvt *how = x->data;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t a = xop_u32(w, &x->ops[1])[lane], b = xop_u32(w, &x->ops[2])[lane];
        uint32_t random = xop_u32(w, &x->ops[3])[lane];
        uint16_t high, low;
        if (!stochastic(a, random >> 16, how, &high) || !stochastic(b, random, how, &low))
            return warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
                              "cvt.rs to an f16 subnormal: where the random bits stand against the "
                              "discarded ones is not known");
        xop_u32(w, &x->ops[0])[lane] = (uint32_t)high << 16 | low;
    }
    return STEP_NEXT;
}

exec_select op_cvt_rs, op_cvt_rs_x4;
exec_fn *op_cvt_rs(struct decode *d, struct xinsn *x) {
    return with_how(d, x, rs_any);
}
exec_fn *op_cvt_rs_x4(struct decode *d, struct xinsn *x) {
    return decode_unsupported(d, x,
                              "cvt.rs to four numbers: where the random bits stand against the "
                              "discarded ones is not known");
}

/* cvt.pack.sat: b in the low field, a above it, the low bits of c above both. */
static uint32_t clamped(uint32_t value, unsigned bits, bool is_signed) {
    int64_t v = (int32_t)value;
    int64_t greatest = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    int64_t least = is_signed ? -greatest - 1 : 0;
    v = v > greatest ? greatest : v < least ? least : v;
    return (uint32_t)((uint64_t)v & bits_mask(bits));
}

static enum step pack_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_type type = (enum ptx_type)x->ir->types[0];
    unsigned bits = ptx_type_bits(type);
    bool is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    bool merges = x->ir->type_count == 3;
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t rest = merges ? xop_u32(w, &x->ops[3])[lane] << 2 * bits : 0;
        d[lane] =
            rest | clamped(a[lane], bits, is_signed) << bits | clamped(b[lane], bits, is_signed);
    }
    return STEP_NEXT;
}
CVT_SELECT(cvt_pack, pack_any)
