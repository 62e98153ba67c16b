#ifndef SILTWIN_ELEM_H
#define SILTWIN_ELEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element types of trace buffers. The conversions here are the harness's own: reference answers
 * rest on them, so they share nothing with the simulator's number formats. */

enum elem_type {
    ELEM_U8,
    ELEM_S8,
    ELEM_B8,
    ELEM_U16,
    ELEM_S16,
    ELEM_B16,
    ELEM_U32,
    ELEM_S32,
    ELEM_B32,
    ELEM_U64,
    ELEM_S64,
    ELEM_B64,
    ELEM_F16,
    ELEM_BF16,
    ELEM_TF32,
    ELEM_F32,
    ELEM_F64,
    ELEM_E4M3,
    ELEM_E5M2,
    ELEM_PTR,
    ELEM_TENSORMAP,
    ELEM_COUNT
};

enum elem_kind { ELEM_KIND_UNSIGNED, ELEM_KIND_SIGNED, ELEM_KIND_FLOAT, ELEM_KIND_OBJECT };

struct elem_info {
    const char *name;
    size_t size_bytes;
    enum elem_kind kind;
    int exponent_bits, fraction_bits; /* of floating-point types */
    bool has_inf;
};

const struct elem_info *elem_info(enum elem_type type);
/* The type of that name, ELEM_COUNT when there is none. iN means sN, as in arguments. */
enum elem_type elem_find(const char *name, size_t length);

/* Value of the element at `bytes`; 64-bit integers round to double, a pointer is its address. */
double elem_to_double(enum elem_type type, const void *bytes);
/* The raw word, zero-extended. Not for tensor maps. */
uint64_t elem_bits(enum elem_type type, const void *bytes);
/* Stores `value` rounded once, to nearest even; floats beyond the largest become Inf, or the
 * largest where the format has no Inf (and every e5m2, as PTX's cvt does); NaN is the format's
 * all-ones NaN. Integers: `value` must be whole and in range, else false and nothing is stored. */
bool elem_from_double(enum elem_type type, double value, void *bytes);
/* Stores an integer: exactly for integer types (false when out of range), rounded for floats. */
bool elem_from_int(enum elem_type type, int64_t value, void *bytes);

enum { ELEM_TEXT_BYTES = 64 };
/* "0x3f80 (1)": raw word in hex and value in decimal, into ELEM_TEXT_BYTES. */
void elem_text(enum elem_type type, const void *bytes, char *text);

/* Distance of neighbouring values of the float type at magnitude |x| (normal range; the subnormal
 * spacing below it). */
double elem_ulp(enum elem_type type, double x);

#endif
