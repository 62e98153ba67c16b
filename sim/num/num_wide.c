#include "num_wide.h"

#include <assert.h>

#include "bits.h"

static const struct num_format formats[NUM_TYPE_COUNT] = {
    [NUM_U8] = {.name = "u8", .bits = 8},
    [NUM_S8] = {.name = "s8", .bits = 8, .is_signed = true},
    [NUM_U16] = {.name = "u16", .bits = 16},
    [NUM_S16] = {.name = "s16", .bits = 16, .is_signed = true},
    [NUM_U32] = {.name = "u32", .bits = 32},
    [NUM_S32] = {.name = "s32", .bits = 32, .is_signed = true},
    [NUM_U64] = {.name = "u64", .bits = 64},
    [NUM_S64] = {.name = "s64", .bits = 64, .is_signed = true},
    [NUM_F16] = {"f16", 16, true, 5, 10, 15, 0x7bff, 0x7c00, 0x7fff},
    [NUM_BF16] = {"bf16", 16, true, 8, 7, 127, 0x7f7f, 0x7f80, 0x7fff},
    [NUM_TF32] = {"tf32", 32, true, 8, 10, 127, 0x7f7fe000, 0x7f800000, 0x7fffe000},
    [NUM_F32] = {"f32", 32, true, 8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff},
    [NUM_F64] = {"f64", 64, true, 11, 52, 1023, UINT64_C(0x7fefffffffffffff),
                 UINT64_C(0x7ff0000000000000), UINT64_C(0xfff8000000000000)},
    [NUM_E4M3] = {"e4m3", 8, true, 4, 3, 7, 0x7e, 0, 0x7f},
    [NUM_E5M2] = {"e5m2", 8, true, 5, 2, 15, 0x7b, 0x7c, 0x7f},
    [NUM_E2M3] = {"e2m3", 6, true, 2, 3, 1, 0x1f, 0, 0x1f},
    [NUM_E3M2] = {"e3m2", 6, true, 3, 2, 3, 0x1f, 0, 0x1f},
    [NUM_E2M1] = {"e2m1", 4, true, 2, 1, 1, 0x7, 0, 0x7},
};

const struct num_format *num_format(enum num_type type) {
    return &formats[type];
}

/* Mantissa bits below the format's own in its word: only tf32 has any. */
static unsigned padding_bits(const struct num_format *f) {
    return f->bits - 1u - f->exponent_bits - f->mantissa_bits;
}

static struct num_wide decode_int(const struct num_format *f, uint64_t word) {
    word &= bits_mask(f->bits);
    bool negative = f->is_signed && word >> (f->bits - 1);
    uint64_t magnitude = negative ? -word & bits_mask(f->bits) : word;
    return (struct num_wide){
        .kind = word ? NUM_FINITE : NUM_ZERO, .negative = negative, .sig = magnitude};
}

struct num_wide num_wide_decode(enum num_type type, uint64_t word) {
    const struct num_format *f = &formats[type];
    if (f->exponent_bits == 0)
        return decode_int(f, word);
    unsigned pad = padding_bits(f);
    uint64_t magnitude = word & bits_mask(f->bits - 1u);
    struct num_wide x = {.negative = bits_get(word, f->bits - 1u, 1)};
    uint64_t top = f->inf ? f->inf : f->max + 1; /* the first word that is no number */
    bool all_numbers = !f->inf && f->max == f->nan;
    if (!all_numbers && magnitude >= top) {
        x.kind = f->inf && magnitude == f->inf ? NUM_INFINITE : NUM_NAN;
        return x;
    }
    magnitude >>= pad;
    uint64_t mantissa = bits_get(magnitude, 0, f->mantissa_bits);
    int biased = (int)(magnitude >> f->mantissa_bits);
    x.sig = biased ? mantissa | UINT64_C(1) << f->mantissa_bits : mantissa;
    x.exponent = (biased ? biased : 1) - f->bias - f->mantissa_bits;
    x.kind = x.sig ? NUM_FINITE : NUM_ZERO;
    return x;
}

/* Number of bits of v, which is not 0. */
static int width_of(num_uint128 v) {
    uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
    return high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(low);
}

/* v >> shift (0 or more), rounded. */
static num_uint128 shift_rounded(num_uint128 v, int shift, bool negative, enum num_round mode) {
    if (shift == 0)
        return v;
    num_uint128 kept = shift > 127 ? 0 : v >> shift;
    num_uint128 rest = shift > 127 ? v : v & (((num_uint128)1 << shift) - 1);
    if (rest == 0)
        return kept;
    switch (mode) {
    case NUM_RZ: return kept;
    case NUM_RM: return kept + (negative ? 1 : 0);
    case NUM_RP: return kept + (negative ? 0 : 1);
    case NUM_RN: break;
    }
    if (shift > 128)
        return kept;
    num_uint128 half = (num_uint128)1 << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint64_t num_wide_encode(const struct num_wide *x, enum num_type type, enum num_round mode,
                         bool satfinite) {
    const struct num_format *f = &formats[type];
    assert(f->exponent_bits != 0);
    if (x->kind == NUM_NAN)
        return f->nan;
    uint64_t sign = x->negative ? UINT64_C(1) << (f->bits - 1) : 0;
    bool finite_only = satfinite || !f->inf;
    if (x->kind == NUM_ZERO)
        return sign;
    if (x->kind == NUM_INFINITE)
        return sign | (finite_only ? f->max : f->inf);
    int exponent = x->exponent + width_of(x->sig) - 1;
    int lowest = 1 - f->bias;
    exponent = exponent < lowest ? lowest : exponent;
    if (exponent <= f->bias + 1) {
        int shift = exponent - f->mantissa_bits - x->exponent;
        num_uint128 mantissa =
            shift < 0 ? x->sig << -shift : shift_rounded(x->sig, shift, x->negative, mode);
        /* The hidden bit adds one to the exponent field, and so does a carry out of rounding. */
        uint64_t field = (uint64_t)(exponent - lowest);
        uint64_t word = ((field << f->mantissa_bits) + (uint64_t)mantissa) << padding_bits(f);
        if (word <= f->max)
            return sign | word;
    }
    bool toward_zero = mode == NUM_RZ || mode == (x->negative ? NUM_RP : NUM_RM);
    return sign | (finite_only || toward_zero ? f->max : f->inf);
}

struct num_wide num_wide_integral(const struct num_wide *x, enum num_round mode) {
    struct num_wide result = *x;
    if (x->kind != NUM_FINITE || x->exponent >= 0)
        return result;
    result.sig = shift_rounded(x->sig, -x->exponent, x->negative, mode);
    result.exponent = 0;
    result.kind = result.sig ? NUM_FINITE : NUM_ZERO;
    return result;
}

uint64_t num_wide_to_int(const struct num_wide *x, enum num_type type) {
    const struct num_format *f = &formats[type];
    uint64_t mask = bits_mask(f->bits);
    uint64_t greatest = f->is_signed ? mask >> 1 : mask;
    uint64_t least = f->is_signed ? greatest + 1 : 0; /* magnitude */
    if (x->kind == NUM_NAN || x->kind == NUM_ZERO)
        return 0;
    uint64_t limit = x->negative ? least : greatest;
    bool big = x->kind == NUM_INFINITE || width_of(x->sig) + x->exponent > 64;
    uint64_t magnitude = big ? limit : (uint64_t)(x->sig << x->exponent);
    magnitude = magnitude > limit ? limit : magnitude;
    return (x->negative ? -magnitude : magnitude) & mask;
}

/* Moves the first one of sig to bit `top` (at or above where it is). */
static void raise_to(struct num_wide *x, int top) {
    int shift = top + 1 - width_of(x->sig);
    assert(shift >= 0);
    x->sig <<= shift;
    x->exponent -= shift;
}

/* v >> shift with what falls off kept as a sticky last bit. */
static num_uint128 shift_sticky(num_uint128 v, int shift) {
    if (shift > 127)
        return v != 0;
    num_uint128 kept = v >> shift;
    return kept | (num_uint128)((kept << shift) != v);
}

struct num_wide num_wide_add(const struct num_wide *a, const struct num_wide *b,
                             enum num_round mode) {
    if (a->kind == NUM_ZERO || b->kind == NUM_ZERO) {
        struct num_wide result = a->kind == NUM_ZERO ? *b : *a;
        if (result.kind == NUM_ZERO && a->negative != b->negative)
            result.negative = mode == NUM_RM;
        return result;
    }
    struct num_wide x = *a, y = *b;
    raise_to(&x, 125);
    raise_to(&y, 125);
    if (x.exponent < y.exponent || (x.exponent == y.exponent && x.sig < y.sig)) {
        struct num_wide swap = x;
        x = y;
        y = swap;
    }
    num_uint128 low = shift_sticky(y.sig, x.exponent - y.exponent);
    x.sig = x.negative == y.negative ? x.sig + low : x.sig - low;
    if (x.sig == 0) {
        x.kind = NUM_ZERO;
        x.negative = mode == NUM_RM;
    }
    return x;
}

struct num_wide num_wide_mul(const struct num_wide *a, const struct num_wide *b) {
    struct num_wide x = {.negative = a->negative != b->negative, .kind = NUM_ZERO};
    if (a->kind == NUM_ZERO || b->kind == NUM_ZERO)
        return x;
    x.kind = NUM_FINITE;
    x.sig = (num_uint128)(uint64_t)a->sig * (uint64_t)b->sig;
    x.exponent = a->exponent + b->exponent;
    return x;
}

struct num_wide num_wide_div(const struct num_wide *a, const struct num_wide *b) {
    struct num_wide x = *a, y = *b;
    x.negative = a->negative != b->negative;
    if (x.kind == NUM_ZERO)
        return x;
    raise_to(&x, 126);
    raise_to(&y, 62);
    num_uint128 quotient = x.sig / y.sig;
    x.sig = quotient << 1 | (num_uint128)(quotient * y.sig != x.sig);
    x.exponent -= y.exponent + 1;
    return x;
}

struct num_wide num_wide_sqrt(const struct num_wide *a) {
    struct num_wide x = *a;
    if (x.kind == NUM_ZERO)
        return x;
    raise_to(&x, 125);
    if (x.exponent % 2 != 0) {
        x.sig <<= 1;
        x.exponent -= 1;
    }
    num_uint128 root = 0, rest = x.sig;
    for (int bit = 63; bit >= 0; bit--) {
        num_uint128 step = (root << 1 | (num_uint128)1 << bit) << bit;
        if (rest >= step) {
            rest -= step;
            root |= (num_uint128)1 << bit;
        }
    }
    x.sig = root << 1 | (num_uint128)(rest != 0);
    x.exponent = x.exponent / 2 - 1;
    return x;
}
