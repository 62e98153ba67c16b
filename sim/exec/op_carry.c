/* Extended-precision integers: add.cc, addc, sub.cc, subc, mad.cc, madc (manual,
 * "Extended-Precision Integer Arithmetic Instructions"). The flag is one bit a lane, written by .cc
 * forms alone. It is the carry of a + ~b + 1 for subtractions, so 1 means no borrow, and addc after
 * sub.cc adds 1 when there was none (scalar.md section 4; carry rows of tests/oracle/scalar). */
#include "int_lanes.h"

enum carry_use { CARRY_NONE, CARRY_IN = 1, CARRY_OUT = 2 };

static inline void set_carry(struct warp *w, unsigned lane, bool carry) {
    w->carry = (w->carry & ~(UINT32_C(1) << lane)) | (uint32_t)carry << lane;
}

/* d = a + b + carry_in for the lanes of the mask; `invert` takes ~b. */
static void carry_add(struct warp *w, const struct xinsn *x, uint32_t mask, bool invert,
                      enum carry_use use) {
    const struct xop *d = &x->ops[0];
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t all = d->bits == 64 ? ~UINT64_C(0) : UINT32_MAX;
        uint64_t a = xop_lane(w, &x->ops[1], lane);
        uint64_t b = xop_lane(w, &x->ops[2], lane) ^ (invert ? all : 0);
        uint64_t in = use & CARRY_IN ? w->carry >> lane & 1 : invert;
        unsigned __int128 sum = (unsigned __int128)a + b + in;
        xop_set_lane(w, d, lane, (uint64_t)sum & all);
        if (use & CARRY_OUT)
            set_carry(w, lane, (sum >> d->bits) & 1);
    }
}

/* d = lo or hi half of a * b, plus c, plus carry_in: the carry out is that of the addition alone.
 */
static void carry_mad(struct warp *w, const struct xinsn *x, uint32_t mask, bool high,
                      enum carry_use use) {
    const struct xop *d = &x->ops[0];
    bool is_signed = ptx_type_class((enum ptx_type)x->ir->types[0]) == PTX_CLASS_SINT;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t all = d->bits == 64 ? ~UINT64_C(0) : UINT32_MAX;
        uint64_t a = xop_lane(w, &x->ops[1], lane), b = xop_lane(w, &x->ops[2], lane);
        __int128 sa = d->bits == 64 ? (__int128)(int64_t)a : (int32_t)a;
        __int128 sb = d->bits == 64 ? (__int128)(int64_t)b : (int32_t)b;
        unsigned __int128 product =
            is_signed ? (unsigned __int128)(sa * sb) : (unsigned __int128)a * b;
        uint64_t half = (uint64_t)(high ? product >> d->bits : product) & all;
        uint64_t in = use & CARRY_IN ? w->carry >> lane & 1 : 0;
        unsigned __int128 sum = (unsigned __int128)half + xop_lane(w, &x->ops[3], lane) + in;
        xop_set_lane(w, d, lane, (uint64_t)sum & all);
        if (use & CARRY_OUT)
            set_carry(w, lane, (sum >> d->bits) & 1);
    }
}

#define CARRY_FN(sem, call)                                                                        \
    static enum step sem##_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {              \
        call;                                                                                      \
        return STEP_NEXT;                                                                          \
    }                                                                                              \
    ONE_SELECT(sem, sem##_fn)
CARRY_FN(add_cc, carry_add(w, x, mask, false, CARRY_OUT))
CARRY_FN(addc, carry_add(w, x, mask, false, CARRY_IN))
CARRY_FN(addc_cc, carry_add(w, x, mask, false, CARRY_IN | CARRY_OUT))
CARRY_FN(sub_cc, carry_add(w, x, mask, true, CARRY_OUT))
CARRY_FN(subc, carry_add(w, x, mask, true, CARRY_IN))
CARRY_FN(subc_cc, carry_add(w, x, mask, true, CARRY_IN | CARRY_OUT))
CARRY_FN(mad_lo_cc, carry_mad(w, x, mask, false, CARRY_OUT))
CARRY_FN(mad_hi_cc, carry_mad(w, x, mask, true, CARRY_OUT))
CARRY_FN(madc_lo, carry_mad(w, x, mask, false, CARRY_IN))
CARRY_FN(madc_hi, carry_mad(w, x, mask, true, CARRY_IN))
CARRY_FN(madc_lo_cc, carry_mad(w, x, mask, false, CARRY_IN | CARRY_OUT))
CARRY_FN(madc_hi_cc, carry_mad(w, x, mask, true, CARRY_IN | CARRY_OUT))
