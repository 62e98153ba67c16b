/* The generator of traces/README.md: fixed words (computed with another program from the rule
 * written there), ranges and independence of order and strides. */
#include "random_input.h"

#include <criterion/criterion.h>
#include <string.h>

#include "buffer_image.h"

Test(random_input, known_words) {
    static const struct {
        uint64_t seed, index, bits;
    } cases[] = {
        {0, 0, UINT64_C(0xa706dd2f4d197e6f)},
        {1, 0, UINT64_C(0x5e41ab087439611e)},
        {1, 1, UINT64_C(0x86d6fd953217ae03)},
        {2, 12345, UINT64_C(0xa1757b713dae7cf6)},
        {UINT64_MAX, UINT64_C(1) << 40, UINT64_C(0x7b4330ad875ae93f)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(random_bits(cases[i].seed, cases[i].index), cases[i].bits);
}

Test(random_input, ranges) {
    unsigned seen = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        const int64_t value = random_int(random_bits(3, i), -4, 4);
        cr_assert(value >= -4 && value <= 4);
        seen |= 1u << (value + 4);
        const double number = random_uniform(random_bits(3, i), -2, 3);
        cr_assert(number >= -2 && number < 3);
    }
    cr_assert_eq(seen, 0x1ff);
    cr_assert_eq(random_int(UINT64_MAX, -4, 4), 4);
    cr_assert_eq(random_int(0, -4, 4), -4);
    cr_assert_eq(random_uniform(0, -2, 3), -2);
}

/* First words of `bf16 uniform(-1,1) seed 7` and `ints(-4,4) seed 9`, as numpy gives them. */
Test(random_input, first_elements) {
    static const uint16_t words[] = {16099, 48944, 16192};
    static const int8_t numbers[] = {4, -1, -1};
    struct trace_buffer b = {
        .type = ELEM_BF16, .rank = 1, .dims = {3}, .strides = {1}, .elems = 3, .span_bytes = 6};
    struct trace_generator g = {.kind = INIT_UNIFORM, .low = -1, .high = 1, .seed = 7};
    uint8_t span[6];
    buffer_image_fill(&b, &g, span);
    cr_assert(!memcmp(span, words, sizeof words));
    b.type = ELEM_S8;
    b.span_bytes = 3;
    g = (struct trace_generator){.kind = INIT_INTS, .int_low = -4, .int_high = 4, .seed = 9};
    buffer_image_fill(&b, &g, span);
    cr_assert(!memcmp(span, numbers, sizeof numbers));
}

/* A large strided buffer, filled in pieces, holds the elements of the dense one; its gaps are 0xff.
 */
Test(random_input, strides_do_not_matter) {
    enum { ROWS = 300, COLUMNS = 257, PITCH = 300 };
    static uint32_t dense[ROWS * COLUMNS], strided[ROWS * PITCH];
    struct trace_buffer b = {.type = ELEM_U32,
                             .rank = 2,
                             .dims = {ROWS, COLUMNS},
                             .strides = {COLUMNS, 1},
                             .elems = ROWS * COLUMNS,
                             .span_bytes = sizeof dense};
    const struct trace_generator g = {.kind = INIT_INTS, .int_high = 1000000, .seed = 4};
    buffer_image_fill(&b, &g, (uint8_t *)dense);
    b.strides[0] = PITCH;
    b.span_bytes = ((ROWS - 1) * PITCH + COLUMNS) * 4;
    buffer_image_fill(&b, &g, (uint8_t *)strided);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            cr_assert_eq(strided[i * PITCH + j], dense[i * COLUMNS + j]);
            cr_assert_eq(buffer_image_offset(&b, i * COLUMNS + j), (i * PITCH + j) * 4);
        }
    cr_assert_eq(strided[COLUMNS], UINT32_MAX);
    cr_assert_eq(dense[5], (uint32_t)random_int(random_bits(4, 5), 0, 1000000));
}
