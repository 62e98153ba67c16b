/* Comparison and selection: setp, set, selp, slct (manual, "Comparison and Selection
 * Instructions"). A comparison sorts two values into less, equal, greater or unordered (one of them
 * NaN); the operator says which of the four make it true. */
#include "int_lanes.h"
#include "num_compare.h"

enum order { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4, ORDER_UNORDERED = 8 };

/* Sets truth[lane] to 0 or 1 for all 32 lanes: values of lanes that do not run are compared too and
 * not used. Packed types compare the low halves, or the high ones with `high`. */
typedef void compare_fn(const struct warp *w, const struct xinsn *x, uint8_t truth[WARP_LANES]);

struct compare {
    compare_fn *low, *high; /* high: second half of a packed type, NULL for others */
    uint8_t wanted;         /* ORDER_ bits that make the comparison true */
    bool ftz;
    enum ptx_qual combine; /* QUAL_AND, QUAL_OR, QUAL_XOR or none */
    unsigned a, b, c;      /* operand indices */
};

#define COMPARE_DATA const struct compare *how = x->data
#define COMPARE_INT(name, T, S, acc)                                                               \
    SIMD_CLONES static void name(const struct warp *w, const struct xinsn *x,                      \
                                 uint8_t truth[WARP_LANES]) {                                      \
        COMPARE_DATA;                                                                              \
        const S *a_ = xop_##acc(w, &x->ops[how->a]), *b_ = xop_##acc(w, &x->ops[how->b]);          \
        unsigned less = how->wanted & ORDER_LESS, equal = how->wanted >> 1 & 1;                    \
        unsigned greater = how->wanted >> 2 & 1;                                                   \
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {                                       \
            T a = (T)a_[lane], b = (T)b_[lane];                                                    \
            truth[lane] = (uint8_t)((less & (a < b)) | (equal & (a == b)) | (greater & (a > b)));  \
        }                                                                                          \
    }
COMPARE_INT(compare_u16, uint16_t, uint32_t, u32)
COMPARE_INT(compare_s16, int16_t, uint32_t, u32)
COMPARE_INT(compare_u32, uint32_t, uint32_t, u32)
COMPARE_INT(compare_s32, int32_t, uint32_t, u32)
COMPARE_INT(compare_u64, uint64_t, uint64_t, u64)
COMPARE_INT(compare_s64, int64_t, uint64_t, u64)
static compare_fn *const compare_int[6] = {compare_u16, compare_s16, compare_u32,
                                           compare_s32, compare_u64, compare_s64};

static inline uint8_t order_is(struct num_order order, unsigned wanted) {
    return (wanted & ORDER_LESS && order.less) || (wanted & ORDER_EQUAL && order.equal) ||
           (wanted & ORDER_GREATER && order.greater) ||
           (wanted & ORDER_UNORDERED && order.unordered);
}
/* .ftz on f16: a subnormal counts as zero of its sign. */
static inline uint16_t flush_f16(uint16_t a) {
    return a & 0x7c00 ? a : a & 0x8000;
}

#define COMPARE_FLOAT(name, S, acc, expr)                                                          \
    SIMD_CLONES static void name(const struct warp *w, const struct xinsn *x,                      \
                                 uint8_t truth[WARP_LANES]) {                                      \
        COMPARE_DATA;                                                                              \
        const S *a_ = xop_##acc(w, &x->ops[how->a]), *b_ = xop_##acc(w, &x->ops[how->b]);          \
        for (unsigned lane = 0; lane < WARP_LANES; lane++) {                                       \
            S a = a_[lane], b = b_[lane];                                                          \
            truth[lane] = order_is(expr, how->wanted);                                             \
        }                                                                                          \
    }
COMPARE_FLOAT(compare_f32, uint32_t, u32, num_f32_order(a, b))
COMPARE_FLOAT(compare_f32_ftz, uint32_t, u32, num_f32_order(num_f32_flush(a), num_f32_flush(b)))
COMPARE_FLOAT(compare_f64, uint64_t, u64, num_f64_order(a, b))
COMPARE_FLOAT(compare_f16, uint32_t, u32, num_f16_order((uint16_t)a, (uint16_t)b))
COMPARE_FLOAT(compare_f16_ftz, uint32_t, u32,
              num_f16_order(flush_f16((uint16_t)a), flush_f16((uint16_t)b)))
COMPARE_FLOAT(compare_f16_high, uint32_t, u32,
              num_f16_order((uint16_t)(a >> 16), (uint16_t)(b >> 16)))
COMPARE_FLOAT(compare_f16_high_ftz, uint32_t, u32,
              num_f16_order(flush_f16((uint16_t)(a >> 16)), flush_f16((uint16_t)(b >> 16))))
COMPARE_FLOAT(compare_bf16, uint32_t, u32, num_bf16_order((uint16_t)a, (uint16_t)b))
COMPARE_FLOAT(compare_bf16_high, uint32_t, u32,
              num_bf16_order((uint16_t)(a >> 16), (uint16_t)(b >> 16)))

static void pick_compare(struct compare *how, enum ptx_type type) {
    switch (type) {
    case PTX_F32: how->low = how->ftz ? compare_f32_ftz : compare_f32; break;
    case PTX_F64: how->low = compare_f64; break;
    case PTX_F16X2:
        how->high = how->ftz ? compare_f16_high_ftz : compare_f16_high; /* and low */
    /* fall through */
    case PTX_F16: how->low = how->ftz ? compare_f16_ftz : compare_f16; break;
    case PTX_BF16X2:
        how->high = compare_bf16_high; /* and low */
    /* fall through */
    case PTX_BF16: how->low = compare_bf16; break;
    default: how->low = compare_int[int_type_index(type)]; break;
    }
}

static const struct {
    enum ptx_qual qual;
    uint8_t wanted;
} operators[] = {
    {QUAL_EQ, ORDER_EQUAL},
    {QUAL_NE, ORDER_LESS | ORDER_GREATER},
    {QUAL_LT, ORDER_LESS},
    {QUAL_LE, ORDER_LESS | ORDER_EQUAL},
    {QUAL_GT, ORDER_GREATER},
    {QUAL_GE, ORDER_GREATER | ORDER_EQUAL},
    {QUAL_LO, ORDER_LESS},
    {QUAL_LS, ORDER_LESS | ORDER_EQUAL},
    {QUAL_HI, ORDER_GREATER},
    {QUAL_HS, ORDER_GREATER | ORDER_EQUAL},
    {QUAL_EQU, ORDER_EQUAL | ORDER_UNORDERED},
    {QUAL_NEU, ORDER_LESS | ORDER_GREATER | ORDER_UNORDERED},
    {QUAL_LTU, ORDER_LESS | ORDER_UNORDERED},
    {QUAL_LEU, ORDER_LESS | ORDER_EQUAL | ORDER_UNORDERED},
    {QUAL_GTU, ORDER_GREATER | ORDER_UNORDERED},
    {QUAL_GEU, ORDER_GREATER | ORDER_EQUAL | ORDER_UNORDERED},
    {QUAL_NUM, ORDER_LESS | ORDER_EQUAL | ORDER_GREATER},
    {QUAL_NAN_TEST, ORDER_UNORDERED},
};

/* NULL after a log line when the host has no memory. `type` is that of the operands compared. */
static struct compare *prepare(struct decode *d, struct xinsn *x, enum ptx_type type) {
    struct compare *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct compare));
    if (how == NULL) {
        decode_unsupported(d, x, "the host has no memory left");
        return NULL;
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (ir_has(x->ir, operators[i].qual))
            how->wanted = operators[i].wanted;
    how->ftz = ir_has(x->ir, QUAL_FTZ);
    how->combine = ir_has(x->ir, QUAL_AND)   ? QUAL_AND
                   : ir_has(x->ir, QUAL_OR)  ? QUAL_OR
                   : ir_has(x->ir, QUAL_XOR) ? QUAL_XOR
                                             : PTX_QUAL_NONE;
    how->a = 1;
    how->b = 2;
    how->c = 3;
    pick_compare(how, type);
    x->data = how;
    return how;
}

/* Eight truth bytes at a time become eight bits. */
static uint32_t pack_truth(const uint8_t truth[WARP_LANES]) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t eight = 0;
        for (unsigned j = 0; j < 8; j++)
            eight |= (uint64_t)truth[8 * i + j] << (8 * j);
        bits |= (uint32_t)(eight * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
    }
    return bits;
}

static uint32_t combine(enum ptx_qual op, uint32_t t, uint32_t c) {
    return op == QUAL_AND ? t & c : op == QUAL_OR ? t | c : op == QUAL_XOR ? t ^ c : t;
}

static uint32_t compare_lanes(struct warp *w, const struct xinsn *x, compare_fn *fn) {
    uint8_t truth[WARP_LANES];
    fn(w, x, truth);
    return pack_truth(truth);
}

/* p = t op c, q = not t op c; for packed types p is the low half's answer and q the high half's. */
static enum step setp_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct compare *how = x->data;
    const struct xop *d = &x->ops[0];
    const struct xop *p = d->kind == XOP_PAIR ? &d->elems[0] : d;
    uint32_t c = how->combine ? xop_pred(w, &x->ops[how->c]) : 0;
    uint32_t t = compare_lanes(w, x, how->low);
    if (d->kind == XOP_PAIR) {
        uint32_t second = how->high ? compare_lanes(w, x, how->high) : ~t;
        xop_set_pred(w, &d->elems[1], mask, combine(how->combine, second, c));
    }
    xop_set_pred(w, p, mask, combine(how->combine, t, c));
    return STEP_NEXT;
}
exec_select op_setp;
exec_fn *op_setp(struct decode *d, struct xinsn *x) {
    return prepare(d, x, (enum ptx_type)x->ir->types[0]) ? setp_fn : NULL;
}

/* What set writes for true: all ones for integers, 1.0 for floats, for each half of packed ones. */
static uint64_t set_word(enum ptx_type type, bool low, bool high) {
    switch (type) {
    case PTX_F32: return low ? 0x3f800000 : 0;
    case PTX_F16: return low ? 0x3c00 : 0;
    case PTX_BF16: return low ? 0x3f80 : 0;
    case PTX_F16X2: return (low ? 0x3c00u : 0) | (high ? 0x3c000000u : 0);
    case PTX_BF16X2: return (low ? 0x3f80u : 0) | (high ? 0x3f800000u : 0);
    case PTX_U16:
    case PTX_S16: return low ? 0xffff : 0;
    default: return low ? 0xffffffff : 0;
    }
}
static enum step set_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct compare *how = x->data;
    enum ptx_type to = (enum ptx_type)x->ir->types[0];
    uint32_t c = how->combine ? xop_pred(w, &x->ops[how->c]) : 0;
    uint32_t low = combine(how->combine, compare_lanes(w, x, how->low), c);
    uint32_t high = how->high ? combine(how->combine, compare_lanes(w, x, how->high), c) : low;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        bool l = low >> lane & 1, h = high >> lane & 1;
        uint64_t word = set_word(to, l, h);
        if (how->high && ptx_type_class(to) != PTX_CLASS_PACKED)
            word = (l ? 0xffffu : 0) | (h ? 0xffff0000u : 0);
        xop_set_lane(w, &x->ops[0], lane, word);
    }
    return STEP_NEXT;
}
exec_select op_set;
exec_fn *op_set(struct decode *d, struct xinsn *x) {
    return prepare(d, x, (enum ptx_type)x->ir->types[1]) ? set_fn : NULL;
}

#define SELECT_LANES(name, S, acc)                                                                 \
    SIMD_CLONES static enum step name(struct warp *w, const struct xinsn *x, uint32_t mask) {      \
        S *d = xop_##acc(w, &x->ops[0]);                                                           \
        const S *a = xop_##acc(w, &x->ops[1]), *b = xop_##acc(w, &x->ops[2]);                      \
        uint32_t p = xop_pred(w, &x->ops[3]);                                                      \
        LANE_LOOP(mask, S x_ = a[lane]; S y_ = b[lane]; d[lane] = p >> lane & 1 ? x_ : y_);        \
        return STEP_NEXT;                                                                          \
    }
SELECT_LANES(selp_32, uint32_t, u32)
SELECT_LANES(selp_64, uint64_t, u64)
exec_select op_selp;
exec_fn *op_selp(struct decode *d, struct xinsn *x) {
    (void)d;
    return ptx_type_bits((enum ptx_type)x->ir->types[0]) == 64 ? selp_64 : selp_32;
}

/* slct: a when c >= 0, else b; -0 counts as >= 0, NaN picks b. A subnormal keeps its sign, unless
 * .ftz makes it a zero. */
static inline bool slct_first(uint32_t c, bool is_float, bool ftz) {
    if (!is_float)
        return (int32_t)c >= 0;
    if (ftz)
        c = num_f32_flush(c);
    uint32_t magnitude = c & 0x7fffffff;
    return magnitude <= 0x7f800000 && (c == magnitude || magnitude == 0);
}
static enum step slct_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    bool is_float = x->ir->types[1] == PTX_F32, ftz = ir_has(x->ir, QUAL_FTZ);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const struct xop *from = &x->ops[slct_first(c[lane], is_float, ftz) ? 1 : 2];
        xop_set_lane(w, &x->ops[0], lane, xop_lane(w, from, lane));
    }
    return STEP_NEXT;
}
ONE_SELECT(slct, slct_fn)
