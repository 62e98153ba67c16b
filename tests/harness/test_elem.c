/* Element types: all values of the small formats survive decode and encode, rounding is to nearest
 * even, text shows the word and the value. */
#include "elem.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const enum elem_type small_floats[] = {ELEM_F16, ELEM_BF16, ELEM_E4M3, ELEM_E5M2};

Test(elem, every_small_float_round_trips) {
    for (size_t t = 0; t < sizeof small_floats / sizeof *small_floats; t++) {
        const enum elem_type type = small_floats[t];
        const uint32_t count = 1u << (8 * elem_info(type)->size_bytes);
        for (uint32_t word = 0; word < count; word++) {
            uint32_t back = 0;
            const double value = elem_to_double(type, &word);
            if (isnan(value) || (isinf(value) && type == ELEM_E5M2))
                continue;
            cr_assert(elem_from_double(type, value, &back));
            cr_assert_eq(back, word, "%s 0x%x came back as 0x%x", elem_info(type)->name, word,
                         back);
        }
    }
}

/* Halfway between neighbours goes to the even word, a little beside it to the nearer one. */
Test(elem, rounds_to_nearest_even) {
    for (size_t t = 0; t < sizeof small_floats / sizeof *small_floats; t++) {
        const enum elem_type type = small_floats[t];
        const uint32_t last = type == ELEM_F16    ? 0x7bff
                              : type == ELEM_BF16 ? 0x7f7f
                              : type == ELEM_E4M3 ? 0x7e
                                                  : 0x7b;
        for (uint32_t word = 0; word < last; word++) {
            const uint32_t next = word + 1;
            const double low = elem_to_double(type, &word), high = elem_to_double(type, &next);
            const double middle = (low + high) / 2;
            uint32_t got = 0;
            elem_from_double(type, middle, &got);
            cr_assert_eq(got, word + (word & 1), "%s 0x%x", elem_info(type)->name, word);
            elem_from_double(type, nextafter(middle, 0), &got);
            cr_assert_eq(got, word);
            elem_from_double(type, nextafter(middle, INFINITY), &got);
            cr_assert_eq(got, next);
        }
    }
}

Test(elem, limits_of_floats) {
    uint16_t half = 0;
    uint8_t byte = 0;
    elem_from_double(ELEM_F16, 65519, &half);
    cr_assert_eq(half, 0x7bff);
    elem_from_double(ELEM_F16, -65520, &half);
    cr_assert_eq(half, 0xfc00);
    elem_from_double(ELEM_BF16, NAN, &half);
    cr_assert_eq(half, 0x7fff);
    elem_from_double(ELEM_E4M3, 1e9, &byte);
    cr_assert_eq(byte, 0x7e);
    elem_from_double(ELEM_E5M2, -1e9, &byte);
    cr_assert_eq(byte, 0xfb);
    uint32_t word = 0;
    elem_from_double(ELEM_F32, 0x1.000001p0, &word); /* a tie */
    cr_assert_eq(word, 0x3f800000);
    elem_from_double(ELEM_TF32, 1.0 + 0x1.8p-11, &word);
    cr_assert_eq(word, 0x3f802000);
}

Test(elem, integers_keep_their_range) {
    uint64_t word = 0;
    cr_assert(elem_from_int(ELEM_S8, -128, &word));
    cr_assert_eq(word, 0x80);
    cr_assert_not(elem_from_int(ELEM_S8, 128, &word));
    cr_assert_not(elem_from_int(ELEM_U8, -1, &word));
    cr_assert(elem_from_int(ELEM_U8, 255, &word));
    cr_assert(elem_from_int(ELEM_S64, INT64_MIN, &word));
    cr_assert_eq(word, UINT64_C(1) << 63);
    cr_assert_not(elem_from_double(ELEM_S32, 0.5, &word));
    cr_assert_not(elem_from_double(ELEM_S32, 4294967296.0, &word));
    cr_assert(elem_from_double(ELEM_S32, -7, &word));
}

Test(elem, names_and_text) {
    cr_assert_eq(elem_find("i32", 3), ELEM_S32);
    cr_assert_eq(elem_find("bf16", 4), ELEM_BF16);
    cr_assert_eq(elem_find("bf17", 4), ELEM_COUNT);
    cr_assert_eq(elem_find("", 0), ELEM_COUNT);
    char text[ELEM_TEXT_BYTES];
    elem_text(ELEM_BF16, &(uint16_t){0x3f80}, text);
    cr_assert_str_eq(text, "0x3f80 (1)");
    elem_text(ELEM_S8, &(uint8_t){0xff}, text);
    cr_assert_str_eq(text, "0xff (-1)");
}

Test(elem, ulp_is_the_spacing) {
    cr_assert_eq(elem_ulp(ELEM_BF16, 1.5), 0x1p-7);
    cr_assert_eq(elem_ulp(ELEM_BF16, 0.25), 0x1p-9);
    cr_assert_eq(elem_ulp(ELEM_F16, 0), 0x1p-24);
    cr_assert_eq(elem_ulp(ELEM_F32, 1), 0x1p-23);
}
