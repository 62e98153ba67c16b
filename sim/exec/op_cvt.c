/* cvt between scalar types (manual, "Data Movement and Conversion Instructions: cvt"). Every form
 * is right by num_cvt, one value after another; the conversions that real kernels spend time in
 * have vector loops beside it. A register may be wider than its type: the low bits are read, and
 * the result is extended by the destination type's own signedness (scalar.md section 3). */
#include "cvt_types.h"
#include "lane.h"
#include "num_cvt.h"
#include "num_half.h"

enum num_type cvt_num_type(enum ptx_type type) {
    switch (type) {
    case PTX_U8: return NUM_U8;
    case PTX_S8: return NUM_S8;
    case PTX_U16: return NUM_U16;
    case PTX_S16: return NUM_S16;
    case PTX_U32: return NUM_U32;
    case PTX_S32: return NUM_S32;
    case PTX_U64: return NUM_U64;
    case PTX_S64: return NUM_S64;
    case PTX_F16:
    case PTX_F16X2: return NUM_F16;
    case PTX_BF16:
    case PTX_BF16X2: return NUM_BF16;
    case PTX_TF32: return NUM_TF32;
    case PTX_F32: return NUM_F32;
    case PTX_F64: return NUM_F64;
    case PTX_E4M3X2: return NUM_E4M3;
    case PTX_E5M2X2: return NUM_E5M2;
    case PTX_E2M3X2: return NUM_E2M3;
    case PTX_E3M2X2: return NUM_E3M2;
    case PTX_E2M1X2: return NUM_E2M1;
    default: return NUM_TYPE_COUNT;
    }
}

struct num_cvt cvt_how(const struct ir_insn *insn) {
    static const struct {
        enum ptx_qual qual;
        enum num_round round;
        bool integral;
    } words[] = {
        {QUAL_RN, NUM_RN, false}, {QUAL_RZ, NUM_RZ, false}, {QUAL_RM, NUM_RM, false},
        {QUAL_RP, NUM_RP, false}, {QUAL_RNI, NUM_RN, true}, {QUAL_RZI, NUM_RZ, true},
        {QUAL_RMI, NUM_RM, true}, {QUAL_RPI, NUM_RP, true},
    };
    struct num_cvt how = {.to = cvt_num_type((enum ptx_type)insn->types[0]),
                          .from = cvt_num_type((enum ptx_type)insn->types[1]),
                          .ftz = ir_has(insn, QUAL_FTZ),
                          .sat = ir_has(insn, QUAL_SAT),
                          .relu = ir_has(insn, QUAL_RELU),
                          .satfinite = ir_has(insn, QUAL_SATFINITE)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ir_has(insn, words[i].qual)) {
            how.round = words[i].round;
            how.integral = words[i].integral;
        }
    return how;
}

static enum step cvt_any(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct num_cvt *how = x->data;
    const struct xop *d = &x->ops[0], *a = &x->ops[1];
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        xop_set_lane(w, d, lane, num_cvt(how, xop_lane(w, a, lane)));
    }
    return STEP_NEXT;
}

/* Integer to integer without .sat: cut or extended by the source type, then by the destination
 * type, then cut to the register. Extending a value of which `mask` bits are meant: its top bit is
 * `sign`, 0 when it is unsigned. */
struct int_cvt {
    uint64_t from_mask, from_sign, to_mask, to_sign, register_mask;
};
#define INT_CVT(name, td, ad, ta, aa)                                                              \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        const struct int_cvt *c = x->data;                                                         \
        const td from_mask = (td)c->from_mask, from_sign = (td)c->from_sign;                       \
        const td to_mask = (td)c->to_mask, to_sign = (td)c->to_sign;                               \
        const td register_mask = (td)c->register_mask;                                             \
        td *d = xop_##ad(w, &x->ops[0]);                                                           \
        const ta *a = xop_##aa(w, &x->ops[1]);                                                     \
        LANE_LOOP(mask, td v = ((td)a[lane] & from_mask) ^ from_sign; v -= from_sign;              \
                  v = (v & to_mask) ^ to_sign; d[lane] = (v - to_sign) & register_mask);           \
        return STEP_NEXT;                                                                          \
    }
INT_CVT(int_32_32, uint32_t, u32, uint32_t, u32)
INT_CVT(int_64_32, uint64_t, u64, uint32_t, u32)
INT_CVT(int_64_64, uint64_t, u64, uint64_t, u64)
INT_CVT(int_32_64, uint32_t, u32, uint64_t, u64)

static exec_fn *select_int(struct decode *d, struct xinsn *x, const struct num_cvt *how) {
    struct int_cvt *c = arena_alloc(d->arena, sizeof *c, _Alignof(struct int_cvt));
    if (c == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    const struct num_format *to = num_format(how->to), *from = num_format(how->from);
    c->from_mask = bits_mask(from->bits);
    c->from_sign = from->is_signed ? UINT64_C(1) << (from->bits - 1) : 0;
    c->to_mask = bits_mask(to->bits);
    c->to_sign = to->is_signed ? UINT64_C(1) << (to->bits - 1) : 0;
    c->register_mask = bits_mask(x->ops[0].bits);
    x->data = c;
    bool wide_d = x->ops[0].bits > 32, wide_a = x->ops[1].bits > 32;
    if (wide_d)
        return wide_a ? int_64_64 : int_64_32;
    return wide_a ? int_32_64 : int_32_32;
}

/* The common float conversions, registers as wide as their types. */
LANE_OP1(f32_s32, uint32_t, u32, uint32_t, u32, bits_from_f32((float)(int32_t)a))
LANE_OP1(f32_u32, uint32_t, u32, uint32_t, u32, bits_from_f32((float)a))
LANE_OP1(f16_f32, uint32_t, u32, uint32_t, u32, num_f16_from_f32(a))
LANE_OP1(bf16_f32, uint32_t, u32, uint32_t, u32, num_bf16_from_f32(a))
LANE_OP1(f32_f16, uint32_t, u32, uint32_t, u32, num_f16_to_f32((uint16_t)a))
LANE_OP1(f32_bf16, uint32_t, u32, uint32_t, u32, num_bf16_to_f32((uint16_t)a))

/* Clamps, NaN gives 0; the value is an integer of float type or is truncated here. */
static inline uint32_t s32_of(float value) {
    const float end = 0x1p31f;
    float inside = value < end ? value : 0;
    inside = inside >= -end ? inside : 0;
    int32_t whole = (int32_t)inside;
    whole = value >= end ? INT32_MAX : whole;
    return (uint32_t)(value < -end ? INT32_MIN : whole);
}
static inline uint32_t u32_of(float value) {
    const float end = 0x1p32f;
    float inside = value < end ? value : 0;
    inside = inside > 0 ? inside : 0;
    uint32_t whole = (uint32_t)(int64_t)inside;
    return value >= end ? UINT32_MAX : whole;
}
LANE_OP1(s32_f32_rz, uint32_t, u32, uint32_t, u32, s32_of(bits_to_f32(a)))
LANE_OP1(u32_f32_rz, uint32_t, u32, uint32_t, u32, u32_of(bits_to_f32(a)))
LANE_OP1(s32_f32_rn, uint32_t, u32, uint32_t, u32, s32_of(rintf(bits_to_f32(a))))
LANE_OP1(u32_f32_rn, uint32_t, u32, uint32_t, u32, u32_of(rintf(bits_to_f32(a))))

static exec_fn *fast_float(const struct num_cvt *how) {
    static const struct {
        struct num_cvt how;
        exec_fn *fn;
    } table[] = {
        {{.to = NUM_F32, .from = NUM_S32}, f32_s32},
        {{.to = NUM_F32, .from = NUM_U32}, f32_u32},
        {{.to = NUM_F16, .from = NUM_F32}, f16_f32},
        {{.to = NUM_BF16, .from = NUM_F32}, bf16_f32},
        {{.to = NUM_F32, .from = NUM_F16}, f32_f16},
        {{.to = NUM_F32, .from = NUM_BF16}, f32_bf16},
        {{.to = NUM_S32, .from = NUM_F32, .integral = true, .round = NUM_RZ}, s32_f32_rz},
        {{.to = NUM_U32, .from = NUM_F32, .integral = true, .round = NUM_RZ}, u32_f32_rz},
        {{.to = NUM_S32, .from = NUM_F32, .integral = true}, s32_f32_rn},
        {{.to = NUM_U32, .from = NUM_F32, .integral = true}, u32_f32_rn},
    };
    if (how->ftz || how->sat || how->relu || how->satfinite)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct num_cvt *t = &table[i].how;
        if (t->to == how->to && t->from == how->from && t->round == how->round &&
            t->integral == how->integral)
            return table[i].fn;
    }
    return NULL;
}

/* Special registers as sources are read one by one. */
static enum step cvt_sreg(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct num_cvt *how = x->data;
    uint64_t values[WARP_LANES];
    warp_read_sreg(w, (enum ptx_sreg)x->ops[1].imm, x->ops[1].component, values);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        xop_set_lane(w, &x->ops[0], lane, num_cvt(how, values[lane]));
    }
    return STEP_NEXT;
}

static bool widths_match(const struct xinsn *x, const struct num_cvt *how) {
    return x->ops[0].bits == num_format(how->to)->bits &&
           x->ops[1].bits == num_format(how->from)->bits;
}

exec_select op_cvt;
exec_fn *op_cvt(struct decode *d, struct xinsn *x) {
    struct num_cvt how = cvt_how(x->ir);
    bool from_sreg = x->ops[1].kind == XOP_SREG;
    bool ints = num_format(how.to)->exponent_bits == 0 && num_format(how.from)->exponent_bits == 0;
    if (!from_sreg && ints && !how.sat)
        return select_int(d, x, &how);
    exec_fn *fast = !from_sreg && widths_match(x, &how) ? fast_float(&how) : NULL;
    if (fast != NULL)
        return fast;
    x->data = cvt_keep(d, &how);
    if (x->data == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    return from_sreg ? cvt_sreg : cvt_any;
}

const struct num_cvt *cvt_keep(struct decode *d, const struct num_cvt *how) {
    struct num_cvt *kept = arena_alloc(d->arena, sizeof *kept, _Alignof(struct num_cvt));
    if (kept != NULL)
        *kept = *how;
    return kept;
}

LANE_OP1(rna_tf32, uint32_t, u32, uint32_t, u32, num_cvt_rna_tf32(a, false))
LANE_OP1(rna_tf32_satfinite, uint32_t, u32, uint32_t, u32, num_cvt_rna_tf32(a, true))
exec_select op_cvt_rna_tf32;
exec_fn *op_cvt_rna_tf32(struct decode *d, struct xinsn *x) {
    (void)d;
    return ir_has(x->ir, QUAL_SATFINITE) ? rna_tf32_satfinite : rna_tf32;
}
