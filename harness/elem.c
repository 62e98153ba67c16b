/* Element types: sizes, conversion to and from double, text.
 *
 *   float word:  sign | exponent field | fraction        value = S * 2^(e - fraction_bits)
 *   field 0: S = fraction, e = emin; else S = fraction + 2^fraction_bits, e = field - bias
 *
 * One decode and one encode serve every floating-point format of at most 32 bits. */
#include "elem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct elem_info infos[ELEM_COUNT] = {
    [ELEM_U8] = {"u8", 1, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_S8] = {"s8", 1, ELEM_KIND_SIGNED, 0, 0, false},
    [ELEM_B8] = {"b8", 1, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_U16] = {"u16", 2, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_S16] = {"s16", 2, ELEM_KIND_SIGNED, 0, 0, false},
    [ELEM_B16] = {"b16", 2, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_U32] = {"u32", 4, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_S32] = {"s32", 4, ELEM_KIND_SIGNED, 0, 0, false},
    [ELEM_B32] = {"b32", 4, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_U64] = {"u64", 8, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_S64] = {"s64", 8, ELEM_KIND_SIGNED, 0, 0, false},
    [ELEM_B64] = {"b64", 8, ELEM_KIND_UNSIGNED, 0, 0, false},
    [ELEM_F16] = {"f16", 2, ELEM_KIND_FLOAT, 5, 10, true},
    [ELEM_BF16] = {"bf16", 2, ELEM_KIND_FLOAT, 8, 7, true},
    [ELEM_TF32] = {"tf32", 4, ELEM_KIND_FLOAT, 8, 10, true},
    [ELEM_F32] = {"f32", 4, ELEM_KIND_FLOAT, 8, 23, true},
    [ELEM_F64] = {"f64", 8, ELEM_KIND_FLOAT, 11, 52, true},
    [ELEM_E4M3] = {"e4m3", 1, ELEM_KIND_FLOAT, 4, 3, false},
    [ELEM_E5M2] = {"e5m2", 1, ELEM_KIND_FLOAT, 5, 2, true},
    [ELEM_PTR] = {"ptr", 8, ELEM_KIND_OBJECT, 0, 0, false},
    [ELEM_TENSORMAP] = {"tensormap", 128, ELEM_KIND_OBJECT, 0, 0, false},
};

const struct elem_info *elem_info(enum elem_type type) {
    return &infos[type];
}

enum elem_type elem_find(const char *name, size_t length) {
    char signed_name[8];
    if (length >= 2 && length < sizeof signed_name && name[0] == 'i') {
        memcpy(signed_name, name, length);
        signed_name[0] = 's';
        name = signed_name;
    }
    for (int i = 0; i < ELEM_COUNT; i++)
        if (strlen(infos[i].name) == length && !memcmp(infos[i].name, name, length))
            return (enum elem_type)i;
    return ELEM_COUNT;
}

uint64_t elem_bits(enum elem_type type, const void *bytes) {
    uint64_t word = 0;
    memcpy(&word, bytes, infos[type].size_bytes <= 8 ? infos[type].size_bytes : 8);
    return word;
}

static int64_t sign_extend(uint64_t word, size_t size_bytes) {
    const unsigned shift = (unsigned)(64 - 8 * size_bytes);
    return (int64_t)(word << shift) >> shift;
}

/* 2^e for e within double's normal range. */
static double power_of_two(int e) {
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double decode(const struct elem_info *info, uint32_t word) {
    const int fraction_bits = info->fraction_bits, exponent_bits = info->exponent_bits;
    const uint32_t fraction_mask = (1u << fraction_bits) - 1,
                   field_mask = (1u << exponent_bits) - 1;
    const uint32_t fraction = word & fraction_mask, field = (word >> fraction_bits) & field_mask;
    const int emin = 2 - (1 << (exponent_bits - 1));
    const bool negative = (word >> (fraction_bits + exponent_bits)) & 1;
    double value;
    if (info->has_inf && field == field_mask)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (!info->has_inf && field == field_mask && fraction == fraction_mask)
        value = (double)NAN;
    else if (field == 0)
        value = (double)fraction * power_of_two(emin - fraction_bits);
    else
        value = (double)(fraction | 1u << fraction_bits) *
                power_of_two(emin + (int)field - 1 - fraction_bits);
    return negative ? -value : value;
}

double elem_to_double(enum elem_type type, const void *bytes) {
    const struct elem_info *info = &infos[type];
    const uint64_t word = elem_bits(type, bytes);
    if (type == ELEM_F64) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    if (type == ELEM_F32 || type == ELEM_TF32) {
        float value;
        memcpy(&value, bytes, sizeof value);
        return (double)value;
    }
    if (info->kind == ELEM_KIND_FLOAT)
        return decode(info, (uint32_t)word);
    if (info->kind == ELEM_KIND_SIGNED)
        return (double)sign_extend(word, info->size_bytes);
    return (double)word;
}

/* Magnitude of `value` in the format, rounded once to nearest even from double's 53 bits. */
static uint32_t encode_magnitude(const struct elem_info *info, uint64_t magnitude_bits) {
    const int fraction_bits = info->fraction_bits, emin = 2 - (1 << (info->exponent_bits - 1));
    const uint32_t infinity = ((1u << info->exponent_bits) - 1) << fraction_bits;
    const uint32_t largest =
        info->has_inf ? infinity - 1 : (infinity | ((1u << fraction_bits) - 2));
    const int exponent = (int)(magnitude_bits >> 52) - 1023;
    if (exponent == -1023)
        return 0; /* zero, or a double subnormal: below half of any format's smallest value */
    const uint64_t significand = (magnitude_bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const int e = exponent > emin ? exponent : emin;
    const int shift = 52 - fraction_bits + (e - exponent);
    if (shift > 54)
        return 0;
    const uint64_t half = (UINT64_C(1) << (shift - 1)) - 1, odd = (significand >> shift) & 1;
    const uint64_t rounded = (significand + half + odd) >> shift;
    const uint64_t word = ((uint64_t)(e - emin) << fraction_bits) + rounded;
    if (word > largest)
        return info->has_inf && info->size_bytes > 1 ? infinity : largest;
    return (uint32_t)word;
}

static uint32_t encode(const struct elem_info *info, double value) {
    const unsigned sign_shift = (unsigned)(info->fraction_bits + info->exponent_bits);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << sign_shift;
    if (isnan(value))
        return (1u << sign_shift) - 1;
    return sign | encode_magnitude(info, bits & ~(UINT64_C(1) << 63));
}

static bool integer_in_range(const struct elem_info *info, bool negative, uint64_t magnitude) {
    const unsigned bits = (unsigned)(8 * info->size_bytes);
    if (info->kind == ELEM_KIND_SIGNED)
        return magnitude <= (UINT64_C(1) << (bits - 1)) - (negative ? 0 : 1);
    if (negative)
        return magnitude == 0;
    return bits == 64 || magnitude < UINT64_C(1) << bits;
}

bool elem_from_int(enum elem_type type, int64_t value, void *bytes) {
    const struct elem_info *info = &infos[type];
    if (info->kind == ELEM_KIND_FLOAT)
        return elem_from_double(type, (double)value, bytes);
    const uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (!integer_in_range(info, value < 0, magnitude))
        return false;
    memcpy(bytes, &value, info->size_bytes);
    return true;
}

bool elem_from_double(enum elem_type type, double value, void *bytes) {
    const struct elem_info *info = &infos[type];
    if (type == ELEM_F64) {
        memcpy(bytes, &value, sizeof value);
        return true;
    }
    if (info->kind == ELEM_KIND_FLOAT) {
        uint32_t word = encode(info, value);
        if (type == ELEM_TF32)
            word <<= 13;
        memcpy(bytes, &word, info->size_bytes);
        return true;
    }
    if (!(fabs(value) < 9223372036854775808.0) || value != trunc(value))
        return false;
    return elem_from_int(type, (int64_t)value, bytes);
}

void elem_text(enum elem_type type, const void *bytes, char *text) {
    const struct elem_info *info = &infos[type];
    const uint64_t word = elem_bits(type, bytes);
    const int digits = (int)(2 * info->size_bytes);
    if (type == ELEM_TENSORMAP)
        snprintf(text, ELEM_TEXT_BYTES, "tensor map 0x%016" PRIx64 "...", word);
    else if (info->kind == ELEM_KIND_FLOAT)
        snprintf(text, ELEM_TEXT_BYTES, "0x%0*" PRIx64 " (%.*g)", digits, word,
                 type == ELEM_F64 ? 17 : 9, elem_to_double(type, bytes));
    else if (info->kind == ELEM_KIND_SIGNED)
        snprintf(text, ELEM_TEXT_BYTES, "0x%0*" PRIx64 " (%" PRId64 ")", digits, word,
                 sign_extend(word, info->size_bytes));
    else
        snprintf(text, ELEM_TEXT_BYTES, "0x%0*" PRIx64 " (%" PRIu64 ")", digits, word, word);
}

double elem_ulp(enum elem_type type, double x) {
    const struct elem_info *info = &infos[type];
    const int emin = 2 - (1 << (info->exponent_bits - 1));
    int e = emin;
    if (x != 0 && isfinite(x) && ilogb(x) > emin)
        e = ilogb(x);
    return ldexp(1.0, e - info->fraction_bits);
}
