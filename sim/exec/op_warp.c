/* Warp collectives: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, activemask (manual,
 * "Parallel Synchronization and Communication Instructions" and "Warp Shuffle"; every row of
 * tests/oracle/warp). Each works on the lanes of its membermask, which may differ between parts of
 * the warp. */
#include <string.h>

#include "int_lanes.h"

/* Splits the running lanes by the membermask they name, and calls `part` for each set of lanes with
 * the same one, once all its live lanes are here. The mask is operand `mask_index`. */
typedef void part_fn(struct warp *w, const struct xinsn *x, uint32_t members);

static enum step each_part(struct warp *w, const struct xinsn *x, uint32_t mask,
                           unsigned mask_index, part_fn *part) {
    const uint32_t *member = xop_u32(w, &x->ops[mask_index]);
    for (uint32_t left = mask; left != 0;) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t named = member[lane], here = 0;
        for (uint32_t other = left; other != 0; other &= other - 1) {
            unsigned i = (unsigned)__builtin_ctz(other);
            here |= (uint32_t)(member[i] == named) << i;
        }
        left &= ~here;
        if (here & ~named)
            return warp_fault(
                w, x, FAULT_UNSUPPORTED, here & ~named,
                "a lane executes this with membermask 0x%08x, which does not hold the "
                "lane itself: undefined by the manual",
                named);
        if (!warp_has_lanes(w, named))
            return STEP_WAIT;
        uint32_t missing = named & w->live & ~here;
        if (missing)
            return warp_fault(w, x, FAULT_UNSUPPORTED, missing,
                              "lanes 0x%08x are in membermask 0x%08x, but do not execute this "
                              "instruction with the same mask: undefined by the manual",
                              missing, named);
    }
    for (uint32_t left = mask; left != 0;) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t members = member[lane] & mask;
        part(w, x, members);
        left &= ~members;
    }
    return STEP_NEXT;
}

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t left_ = (mask), lane = 0;                                                        \
         left_ != 0 && ((lane = (uint32_t)__builtin_ctz(left_)), true); left_ &= left_ - 1)

/* Source lane of a shuffle, and whether it is in range (scalar.md section 7). */
static unsigned shfl_source(enum ptx_qual mode, unsigned lane, uint32_t b, uint32_t c, bool *ok) {
    uint32_t offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    uint32_t first = lane & segment, last = first | (clamp & ~segment);
    int32_t source;
    if (mode == QUAL_UP) {
        source = (int32_t)lane - (int32_t)offset;
        *ok = source >= (int32_t)last;
    } else {
        source = mode == QUAL_DOWN   ? (int32_t)(lane + offset)
                 : mode == QUAL_BFLY ? (int32_t)(lane ^ offset)
                                     : (int32_t)(first | (offset & ~segment));
        *ok = source <= (int32_t)last;
    }
    return *ok ? (unsigned)source & 31 : lane;
}

static void shfl_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    const struct xop *d = &x->ops[0];
    bool pair = d->kind == XOP_PAIR;
    const struct xop *value = pair ? &d->elems[0] : d;
    enum ptx_qual mode = ir_has(x->ir, QUAL_UP)     ? QUAL_UP
                         : ir_has(x->ir, QUAL_DOWN) ? QUAL_DOWN
                         : ir_has(x->ir, QUAL_BFLY) ? QUAL_BFLY
                                                    : QUAL_IDX;
    uint32_t from[WARP_LANES], in_range = 0;
    memcpy(from, xop_u32(w, &x->ops[1]), sizeof from);
    const uint32_t *b = xop_u32(w, &x->ops[2]), *c = xop_u32(w, &x->ops[3]);
    FOR_LANES(lane, members) {
        bool ok;
        unsigned source = shfl_source(mode, lane, b[lane], c[lane], &ok);
        in_range |= (uint32_t)ok << lane;
        /* What a lane reads that is not in the mask is undefined: here its register as it is. */
        xop_set_lane(w, value, lane, from[source]);
    }
    if (pair)
        xop_set_pred(w, &d->elems[1], members, in_range);
}
static enum step shfl_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 4, shfl_part);
}
ONE_SELECT(shfl, shfl_fn)

static void vote_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    uint32_t yes = xop_pred(w, &x->ops[1]) & members;
    if (x->ir->form != ISA_vote) { /* a ballot, in either spelling */
        FOR_LANES(lane, members) {
            xop_set_lane(w, &x->ops[0], lane, yes);
        }
        return;
    }
    bool truth = ir_has(x->ir, QUAL_ALL)   ? yes == members
                 : ir_has(x->ir, QUAL_ANY) ? yes != 0
                                           : yes == members || yes == 0;
    xop_set_pred(w, &x->ops[0], members, truth ? LANES_ALL : 0);
}
static enum step vote_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 2, vote_part);
}
ONE_SELECT(vote, vote_fn)

static uint32_t lanes_equal(const struct warp *w, const struct xop *value, uint32_t members,
                            unsigned to) {
    uint32_t equal = 0;
    uint64_t wanted = xop_lane(w, value, to);
    FOR_LANES(lane, members) {
        equal |= (uint32_t)(xop_lane(w, value, lane) == wanted) << lane;
    }
    return equal;
}
static void match_any_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    uint32_t answer[WARP_LANES];
    FOR_LANES(lane, members) {
        answer[lane] = lanes_equal(w, &x->ops[1], members, lane);
    }
    FOR_LANES(lane, members) {
        xop_set_lane(w, &x->ops[0], lane, answer[lane]);
    }
}
static void match_all_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    const struct xop *d = &x->ops[0];
    bool pair = d->kind == XOP_PAIR;
    unsigned first = (unsigned)__builtin_ctz(members);
    bool all = lanes_equal(w, &x->ops[1], members, first) == members;
    const struct xop *value = pair ? &d->elems[0] : d;
    if (value->kind == XOP_VALUE)
        FOR_LANES(lane, members) {
            xop_set_lane(w, value, lane, all ? members : 0);
        }
    if (pair)
        xop_set_pred(w, &d->elems[1], members, all ? LANES_ALL : 0);
}
static enum step match_any_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 2, match_any_part);
}
static enum step match_all_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 2, match_all_part);
}
ONE_SELECT(match_any, match_any_fn)
ONE_SELECT(match_all, match_all_fn)

static uint32_t reduce(const struct ir_insn *ir, uint32_t a, uint32_t b) {
    bool is_signed = ir->types[0] == PTX_S32;
    bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    if (ir_has(ir, QUAL_ADD))
        return a + b;
    if (ir_has(ir, QUAL_MIN))
        return less ? a : b;
    if (ir_has(ir, QUAL_MAX))
        return less ? b : a;
    return ir_has(ir, QUAL_AND) ? a & b : ir_has(ir, QUAL_OR) ? a | b : a ^ b;
}
static void redux_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    const uint32_t *a = xop_u32(w, &x->ops[1]);
    unsigned first = (unsigned)__builtin_ctz(members);
    uint32_t sum = a[first];
    FOR_LANES(lane, members & (members - 1)) {
        sum = reduce(x->ir, sum, a[lane]);
    }
    FOR_LANES(lane, members) {
        xop_set_lane(w, &x->ops[0], lane, sum);
    }
}
static enum step redux_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 2, redux_part);
}
ONE_SELECT(redux, redux_fn)

/* redux.sync.{min,max}{.abs}{.NaN}.f32 of sm_100a: NaN is left out unless .NaN, all NaN gives the
 * canonical one, -0 < +0 (scalar.md section 7; not run on silicon). */
static bool f32_is_nan(uint32_t v) {
    return (v & 0x7fffffff) > 0x7f800000;
}
static uint32_t f32_order_key(uint32_t v) {
    return v >> 31 ? ~v : v | 0x80000000;
}
static void redux_f32_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    const uint32_t *a = xop_u32(w, &x->ops[1]);
    uint32_t best = 0, drop = ir_has(x->ir, QUAL_ABS) ? 0x7fffffff : UINT32_MAX;
    bool have = false, nan = false, max = ir_has(x->ir, QUAL_MAX);
    FOR_LANES(lane, members) {
        uint32_t v = a[lane] & drop;
        nan |= f32_is_nan(v);
        if (!f32_is_nan(v) && (!have || (f32_order_key(v) > f32_order_key(best)) == max)) {
            best = v;
            have = true;
        }
    }
    if (!have || (nan && ir_has(x->ir, QUAL_NAN_PROPAGATE)))
        best = 0x7fffffff;
    FOR_LANES(lane, members) {
        xop_set_lane(w, &x->ops[0], lane, best);
    }
}
static enum step redux_f32_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 2, redux_f32_part);
}
ONE_SELECT(redux_f32, redux_f32_fn)

/* The lowest lane of the membermask is the leader (H200 observation 53). */
static void elect_part(struct warp *w, const struct xinsn *x, uint32_t members) {
    const struct xop *pair = x->ops[0].elems;
    unsigned leader = (unsigned)__builtin_ctz(members);
    if (pair[0].kind == XOP_VALUE)
        FOR_LANES(lane, members) {
            xop_set_lane(w, &pair[0], lane, leader);
        }
    xop_set_pred(w, &pair[1], members, UINT32_C(1) << leader);
}
static enum step elect_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return each_part(w, x, mask, 1, elect_part);
}
ONE_SELECT(elect, elect_fn)

/* The lanes that execute this instruction together right now; no promise of convergence. */
static enum step activemask_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    FOR_LANES(lane, mask) {
        xop_set_lane(w, &x->ops[0], lane, mask);
    }
    return STEP_NEXT;
}
ONE_SELECT(activemask, activemask_fn)
