/* Moves between registers and address conversion: mov with packing, prmt, cvta, isspacep, mapa,
 * getctarank (manual, "Data Movement and Conversion Instructions"). */
#include <string.h>

#include "cta.h"
#include "int_lanes.h"

SIMD_CLONES static enum step mov_32(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]);
    LANE_LOOP(mask, d[lane] = a[lane]);
    return STEP_NEXT;
}
SIMD_CLONES static enum step mov_64(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint64_t *d = xop_u64(w, &x->ops[0]);
    const uint64_t *a = xop_u64(w, &x->ops[1]);
    LANE_LOOP(mask, d[lane] = a[lane]);
    return STEP_NEXT;
}
/* The 128-bit register is 32 low words, then 32 high ones. */
static enum step mov_128(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint64_t *d = xop_u64(w, &x->ops[0]);
    const uint64_t *a = xop_u64(w, &x->ops[1]);
    LANE_LOOP(mask, d[lane] = a[lane]);
    LANE_LOOP(mask, d[WARP_LANES + lane] = a[WARP_LANES + lane]);
    return STEP_NEXT;
}
static enum step mov_pred(struct warp *w, const struct xinsn *x, uint32_t mask) {
    xop_set_pred(w, &x->ops[0], mask, xop_pred(w, &x->ops[1]));
    return STEP_NEXT;
}
/* Registers of two widths: mov.u32 of a shared symbol into a 64-bit register and the like. */
static enum step mov_mixed(struct warp *w, const struct xinsn *x, uint32_t mask) {
    LANE_LOOP(mask, xop_set_lane(w, &x->ops[0], lane, xop_lane(w, &x->ops[1], lane)));
    return STEP_NEXT;
}

static void mov_sreg_one(struct warp *w, const struct xop *d, const struct xop *a,
                         unsigned component, uint32_t mask) {
    uint64_t values[WARP_LANES];
    warp_read_sreg(w, (enum ptx_sreg)a->imm, component, values);
    if (d->bits == 1) {
        uint32_t bits = 0;
        for (unsigned lane = 0; lane < WARP_LANES; lane++)
            bits |= (uint32_t)(values[lane] != 0) << lane;
        xop_set_pred(w, d, mask, bits);
        return;
    }
    LANE_LOOP(mask, xop_set_lane(w, d, lane, values[lane]));
}
static enum step mov_sreg(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xop *d = &x->ops[0], *a = &x->ops[1];
    if (d->kind != XOP_VECTOR) {
        mov_sreg_one(w, d, a, a->component, mask);
        return STEP_NEXT;
    }
    for (unsigned i = 0; i < d->elem_count; i++)
        if (d->elems[i].kind == XOP_VALUE)
            mov_sreg_one(w, &d->elems[i], a, i, mask);
    return STEP_NEXT;
}

exec_select op_mov;
exec_fn *op_mov(struct decode *d, struct xinsn *x) {
    (void)d;
    const struct xop *to = &x->ops[0], *from = &x->ops[1];
    if (from->kind == XOP_SREG)
        return mov_sreg;
    if (to->bits == 1)
        return mov_pred;
    if (to->bits == 128)
        return mov_128;
    bool wide_to = to->bits == 64, wide_from = from->bits == 64;
    if (to->bits < 32 || wide_to != wide_from)
        return mov_mixed;
    return wide_to ? mov_64 : mov_32;
}

/* mov d, {a, b, ...}: the first element is the lowest. */
static enum step mov_pack_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xop *d = &x->ops[0], *list = &x->ops[1];
    unsigned bits = ptx_type_bits((enum ptx_type)x->ir->types[0]) / list->elem_count;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t word[2] = {0, 0};
        for (unsigned i = 0; i < list->elem_count; i++) {
            uint64_t value = xop_lane(w, &list->elems[i], lane);
            if (bits < 64)
                value &= (UINT64_C(1) << bits) - 1;
            word[i * bits / 64] |= value << (i * bits % 64);
        }
        xop_set_lane(w, d, lane, word[0]);
        if (d->bits == 128)
            xop_u64(w, d)[WARP_LANES + lane] = word[1];
    }
    return STEP_NEXT;
}
ONE_SELECT(mov_pack, mov_pack_fn)

static enum step mov_unpack_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xop *list = &x->ops[0], *a = &x->ops[1];
    unsigned bits = ptx_type_bits((enum ptx_type)x->ir->types[0]) / list->elem_count;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t word[2] = {xop_lane(w, a, lane), 0};
        if (a->bits == 128)
            word[1] = xop_u64(w, a)[WARP_LANES + lane];
        for (unsigned i = 0; i < list->elem_count; i++)
            if (list->elems[i].kind == XOP_VALUE)
                xop_set_lane(w, &list->elems[i], lane, word[i * bits / 64] >> (i * bits % 64));
    }
    return STEP_NEXT;
}
ONE_SELECT(mov_unpack, mov_unpack_fn)

/* prmt: bytes 0-3 are a, 4-7 are b; a selector nibble names one, its bit 3 asks for the sign. */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t d = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t nibble = selector >> (4 * i);
        uint32_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
        uint32_t sign = byte & 0x80 ? 0xff : 0;
        d |= (nibble & 8 ? sign : byte) << (8 * i);
    }
    return d;
}
LANE_OP3(prmt_default, uint32_t, u32, uint32_t, u32, permute(a, b, c))
ONE_SELECT(prmt, prmt_default)

/* Selectors of the modes for c[1:0] = 0..3 (scalar.md section 4, the manual's table). */
static const struct {
    enum ptx_qual mode;
    uint32_t selector[4];
} prmt_modes[] = {
    {QUAL_F4E, {0x3210, 0x4321, 0x5432, 0x6543}}, {QUAL_B4E, {0x5670, 0x6701, 0x7012, 0x0123}},
    {QUAL_RC8, {0x0000, 0x1111, 0x2222, 0x3333}}, {QUAL_ECL, {0x3210, 0x3211, 0x3222, 0x3333}},
    {QUAL_ECR, {0x0000, 0x1110, 0x2210, 0x3210}}, {QUAL_RC16, {0x1010, 0x3232, 0x1010, 0x3232}},
};
static enum step prmt_mode_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const uint32_t *selector = x->data;
    uint32_t *d = xop_u32(w, &x->ops[0]);
    const uint32_t *a = xop_u32(w, &x->ops[1]), *b = xop_u32(w, &x->ops[2]);
    const uint32_t *c = xop_u32(w, &x->ops[3]);
    LANE_LOOP(mask, d[lane] = permute(a[lane], b[lane], selector[c[lane] & 3]));
    return STEP_NEXT;
}
exec_select op_prmt_mode;
exec_fn *op_prmt_mode(struct decode *d, struct xinsn *x) {
    (void)d;
    for (size_t i = 0; i < sizeof prmt_modes / sizeof prmt_modes[0]; i++)
        if (ir_has(x->ir, prmt_modes[i].mode))
            x->data = prmt_modes[i].selector;
    return prmt_mode_fn;
}

/* cvta is plain arithmetic, without a null test: cvta.shared(0) is the window's base and
 * cvta.to.shared keeps the low 32 bits (scalar.md section 10), cvta.to.local all of them. */
static enum step cvta_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    bool to = ir_has(x->ir, QUAL_TO);
    uint64_t kept = ir_space(x->ir, 0) == SPACE_LOCAL ? UINT64_MAX : UINT32_MAX;
    uint64_t window = warp_window(w, ir_space(x->ir, 0));
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t a = xop_lane(w, &x->ops[1], lane);
        if (window != 0)
            a = to ? (a - window) & kept : window + (a & UINT32_MAX);
        xop_set_lane(w, &x->ops[0], lane, a);
    }
    return STEP_NEXT;
}
ONE_SELECT(cvta, cvta_fn)

/* isspacep: an address in no window is global, and so are kernel parameters in generic form; the
 * CTA's own shared memory is 16 MiB of the window of 4 GiB (tests/isa/address_windows.ptx). */
static enum step isspacep_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_space asked = ir_space(x->ir, 0);
    uint32_t yes = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t inside;
        enum ptx_space found = warp_generic(w, xop_lane(w, &x->ops[1], lane), &inside);
        bool shared = found == SPACE_SHARED;
        if (asked == SPACE_SHARED && inside >> SHARED_RANK_BIT != 0)
            found = SPACE_SHARED_CLUSTER;
        bool truth = found == asked || (asked == SPACE_SHARED_CLUSTER && shared) ||
                     (asked == SPACE_GLOBAL && found == SPACE_PARAM);
        yes |= (uint32_t)truth << lane;
    }
    xop_set_pred(w, &x->ops[0], mask, yes);
    return STEP_NEXT;
}
ONE_SELECT(isspacep, isspacep_fn)

/* mapa replaces bits 31..24 of the address by the rank, getctarank reads them; neither checks the
 * range (scalar.md section 10, H200 observation 32). */
static enum step mapa_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const uint32_t *rank = xop_u32(w, &x->ops[2]);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t a = xop_lane(w, &x->ops[1], lane);
        a = (a & ~UINT64_C(0xff000000)) | (uint64_t)(rank[lane] & 0xff) << 24;
        xop_set_lane(w, &x->ops[0], lane, a);
    }
    return STEP_NEXT;
}
ONE_SELECT(mapa, mapa_fn)
static enum step getctarank_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    LANE_LOOP(mask, xop_set_lane(w, &x->ops[0], lane, xop_lane(w, &x->ops[1], lane) >> 24 & 0xff));
    return STEP_NEXT;
}
ONE_SELECT(getctarank, getctarank_fn)
