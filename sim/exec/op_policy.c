/* createpolicy: the word of a cache policy, as an H200 makes it (tests/isa/createpolicy.ptx;
 * manual, "Data Movement and Conversion Instructions: createpolicy").
 *
 *   63..60  59     58..57    56         55..52           51..44       43..37     36..0
 *   1       range  primary   secondary  fraction, block  first block  blocks     0
 *
 * primary: 0 evict_unchanged, 1 evict_first, 2 evict_last, 3 evict_normal; secondary: 1 for
 * evict_first. A fraction is counted in 16ths, rounded up, less 1. A range is cut into blocks of
 * 4096 << n bytes, n the smallest with which the whole, as an f32, has at most 128: `first block`
 * is where the range begins (modulo 128), `blocks` what its primary part touches, at most 127.
 *
 * Caches are not modelled, so a policy has no effect. */
#include <string.h>

#include "lane.h"
#include "mem_access.h"

enum { FRACTION_UNITS = 16, BLOCK_BITS_LEAST = 12, BLOCKS_MOST = 128, BLOCK_CODE_MOST = 15 };

static uint64_t policy_head(const struct ir_insn *insn) {
    static const struct {
        enum ptx_qual qual;
        uint64_t code;
    } primary[] = {{QUAL_L2_EVICT_UNCHANGED, 0},
                   {QUAL_L2_EVICT_FIRST, 1},
                   {QUAL_L2_EVICT_LAST, 2},
                   {QUAL_L2_EVICT_NORMAL, 3}};
    bool seen = false;
    uint64_t word = UINT64_C(1) << 60;
    for (unsigned q = 0; q < insn->qual_count; q++) {
        for (unsigned i = 0; i < sizeof primary / sizeof primary[0]; i++) {
            if (insn->quals[q] != primary[i].qual)
                continue;
            if (!seen)
                word |= primary[i].code << 57;
            else if (primary[i].qual == QUAL_L2_EVICT_FIRST)
                word |= UINT64_C(1) << 56;
            seen = true;
        }
    }
    return word;
}

/* 16ths of a fraction, rounded up, less 1; f32 bits of 0 to 1. */
static uint64_t fraction_code(uint32_t bits) {
    float fraction;
    memcpy(&fraction, &bits, sizeof fraction);
    uint64_t units = 0;
    while (units < FRACTION_UNITS && (float)units < fraction * FRACTION_UNITS)
        units++;
    return units == 0 ? 0 : units - 1;
}

static enum step fractional(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xop *fraction = &x->ops[1];
    uint64_t head = policy_head(x->ir);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t code = FRACTION_UNITS - 1;
        if (fraction->kind != XOP_NONE)
            code = fraction_code((uint32_t)xop_lane(w, fraction, lane));
        xop_set_lane(w, &x->ops[0], lane, head | code << 52);
    }
    return STEP_NEXT;
}

static uint64_t ceil_shift(uint64_t value, unsigned bits) {
    return (value + (UINT64_C(1) << bits) - 1) >> bits;
}

static uint64_t range_code(uint64_t base, uint64_t primary, uint64_t total) {
    unsigned code = 0;
    total = (uint64_t)(float)total; /* 0x80000001 bytes are 128 blocks of 16 MiB */
    while (code < BLOCK_CODE_MOST && ceil_shift(total, BLOCK_BITS_LEAST + code) > BLOCKS_MOST)
        code++;
    const unsigned bits = BLOCK_BITS_LEAST + code;
    uint64_t blocks = ceil_shift((base & ((UINT64_C(1) << bits) - 1)) + primary, bits);
    uint64_t first = (base >> bits) % BLOCKS_MOST;
    if (blocks > BLOCKS_MOST - 1)
        blocks = BLOCKS_MOST - 1;
    return UINT64_C(1) << 59 | (uint64_t)code << 52 | first << 44 | blocks << 37;
}

static enum step range(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint64_t head = policy_head(x->ir);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t base = warp_address(w, &x->ops[1], SPACE_GLOBAL, lane);
        xop_set_lane(
            w, &x->ops[0], lane,
            head | range_code(base, xop_lane(w, &x->ops[2], lane), xop_lane(w, &x->ops[3], lane)));
    }
    return STEP_NEXT;
}

exec_select op_createpolicy;
exec_fn *op_createpolicy(struct decode *d, struct xinsn *x) {
    (void)d;
    return x->ir->form == ISA_createpolicy_range ? range : fractional;
}

/* A policy that was made on the host is taken as it is. */
static enum step convert(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        xop_set_lane(w, &x->ops[0], lane, xop_lane(w, &x->ops[1], lane));
    }
    return STEP_NEXT;
}

exec_select op_createpolicy_cvt;
exec_fn *op_createpolicy_cvt(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return convert;
}
