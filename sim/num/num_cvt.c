#include "num_cvt.h"
#include "num_ftz.h"

#include "bits.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_half.h"

static bool is_int(enum num_type type) {
    return num_format(type)->exponent_bits == 0;
}

/* `value` of `type` as 64 bits. */
static uint64_t extend(enum num_type type, uint64_t value) {
    const struct num_format *f = num_format(type);
    if (is_int(type) && f->is_signed)
        return (uint64_t)bits_sign_extend(value, f->bits);
    return value & bits_mask(f->bits);
}

/* The bits of a NaN in another format: sign and leading payload bits stay, quieted. */
static uint64_t nan_moved(enum num_type to, enum num_type from, uint64_t word) {
    const struct num_format *f = num_format(from), *t = num_format(to);
    uint64_t sign = bits_get(word, f->bits - 1u, 1) << (t->bits - 1);
    uint64_t payload = bits_get(word, 0, f->mantissa_bits);
    int wider = t->mantissa_bits - f->mantissa_bits;
    payload = wider >= 0 ? payload << wider : payload >> -wider;
    return sign | t->inf | payload | UINT64_C(1) << (t->mantissa_bits - 1);
}

/* The double unit keeps a NaN's bits where it takes part; the others make the canonical word. */
static uint64_t nan_result(const struct num_cvt *how, uint64_t word) {
    if (how->sat)
        return 0;
    bool f64_unit = how->to == NUM_F64 || how->from == NUM_F64;
    bool has_payload = num_format(how->to)->inf != 0 && num_format(how->from)->inf != 0;
    if (!f64_unit || !has_payload || how->relu)
        return num_format(how->to)->nan;
    /* cvt.ftz.f64.f32 is a flushing f32 move first, which makes the f32 NaN. */
    return nan_moved(how->to, how->from, how->ftz && how->from == NUM_F32 ? NUM_F32_NAN : word);
}

static struct num_wide saturated(struct num_wide x) {
    struct num_wide zero = {.kind = NUM_ZERO};
    if (x.negative || x.kind == NUM_ZERO || x.kind == NUM_NAN)
        return zero;
    struct num_wide one = num_wide_decode(NUM_F32, NUM_F32_ONE);
    if (x.kind == NUM_INFINITE)
        return one;
    uint64_t word = num_wide_encode(&x, NUM_F64, NUM_RZ, true);
    return word >= NUM_F64_ONE ? one : x;
}

static uint64_t float_to_float(const struct num_cvt *how, uint64_t word) {
    struct num_wide x = num_wide_decode(how->from, word);
    if (x.kind == NUM_NAN)
        return nan_result(how, word);
    if (how->integral)
        x = num_wide_integral(&x, how->round);
    if (how->sat)
        x = saturated(x);
    if (how->relu && x.negative)
        x = (struct num_wide){.kind = NUM_ZERO};
    uint64_t result = num_wide_encode(&x, how->to, how->round, how->satfinite);
    if (!how->ftz || how->to != NUM_F32)
        return result;
    double exact = bits_to_f64(num_wide_encode(&x, NUM_F64, NUM_RZ, false));
    return num_f32_is_tiny(exact, how->round) ? result & NUM_F32_SIGN : result;
}

/* NaN: 0 in 8 to 32 bits, 80..0 in 64 bits and, from f64, in every width. */
static uint64_t float_to_int(const struct num_cvt *how, uint64_t word) {
    struct num_wide x = num_wide_decode(how->from, word);
    unsigned bits = num_format(how->to)->bits;
    if (x.kind == NUM_NAN)
        return how->from == NUM_F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    x = num_wide_integral(&x, how->round);
    return num_wide_to_int(&x, how->to);
}

/* Plain cvt.f32.f32, cvt.f64.f64 and cvt.f32.bf16 (with any rounding word) are moves: NaN payloads
 * survive, signalling ones too. */
static bool is_move(const struct num_cvt *how) {
    if (how->integral || how->ftz || how->sat || how->relu)
        return false;
    return (how->to == NUM_F32 && (how->from == NUM_F32 || how->from == NUM_BF16)) ||
           (how->to == NUM_F64 && how->from == NUM_F64);
}

uint64_t num_cvt(const struct num_cvt *how, uint64_t word) {
    word &= bits_mask(num_format(how->from)->bits);
    bool from_int = is_int(how->from), to_int = is_int(how->to);
    if (from_int && to_int) {
        if (!how->sat)
            return extend(how->to, extend(how->from, word));
        struct num_wide x = num_wide_decode(how->from, word);
        return extend(how->to, num_wide_to_int(&x, how->to));
    }
    if (from_int) {
        struct num_wide x = num_wide_decode(how->from, word);
        if (how->sat)
            x = saturated(x);
        return num_wide_encode(&x, how->to, how->round, how->satfinite);
    }
    if (is_move(how))
        return how->from == NUM_BF16 ? num_bf16_to_f32((uint16_t)word) : word;
    if (how->ftz && how->from == NUM_F32)
        word = num_f32_flush((uint32_t)word);
    return to_int ? extend(how->to, float_to_int(how, word)) : float_to_float(how, word);
}

uint32_t num_cvt_rna_tf32(uint32_t word, bool satfinite) {
    uint32_t magnitude = word & ~NUM_F32_SIGN;
    uint32_t result = (magnitude < NUM_F32_INF ? word + 0x1000 : word) & 0xffffe000;
    bool too_big = (result & NUM_F32_INF) == NUM_F32_INF;
    return satfinite && too_big ? result - 0x2000 : result;
}

uint8_t num_ue8m0_from_f32(uint32_t word, bool up, bool satfinite) {
    uint32_t magnitude = word & ~NUM_F32_SIGN;
    if (magnitude > NUM_F32_INF)
        return 0xff;
    uint32_t exponent = magnitude >> 23;
    /* 00 stands for 2^-127, the f32 subnormal 00400000. */
    bool above = exponent ? (magnitude & 0x7fffff) != 0 : magnitude > 0x00400000;
    if (up && above && magnitude < NUM_F32_INF)
        exponent++;
    return (uint8_t)(satfinite && exponent == 0xff ? 0xfe : exponent);
}

uint8_t num_ue8m0_from_bf16(uint16_t word, bool up, bool satfinite) {
    return num_ue8m0_from_f32(num_bf16_to_f32(word), up, satfinite);
}

uint16_t num_ue8m0_to_bf16(uint8_t word) {
    if (word == 0xff)
        return NUM_HALF_NAN;
    return (uint16_t)(word ? word << 7 : 0x0040);
}

uint16_t num_cvt_small_to_f16(enum num_type from, uint8_t word) {
    struct num_cvt how = {.to = NUM_F16, .from = from};
    return (uint16_t)num_cvt(&how, word);
}
