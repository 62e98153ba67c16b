#include <criterion/criterion.h>

#include "support.h"
#include "swizzle.h"

static const struct {
    const char *column;
    enum swizzle_mode mode;
} columns[] = {
    {"none_0_4_3", SWIZZLE_NONE},
    {"sw32_1_4_3", SWIZZLE_32B},
    {"sw64_2_4_3", SWIZZLE_64B},
    {"sw128_3_4_3", SWIZZLE_128B},
    {"sw128_atom32_2_5_2", SWIZZLE_128B_ATOM_32B},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

Test(swizzle, oracle) {
    struct csv *csv = csv_open("swizzle.csv");
    size_t in = csv_column(csv, "in"), out[COLUMN_COUNT];
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        out[i] = csv_column(csv, columns[i].column);
    while (csv_next(csv))
        for (size_t i = 0; i < COLUMN_COUNT; i++)
            cr_assert_eq(swizzle_address(columns[i].mode, (uint32_t)csv_int(csv, in)),
                         csv_int(csv, out[i]), "%s, byte %s", columns[i].column, csv_text(csv, in));
    report_rows("swizzle.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 2048);
    csv_close(csv);
}

/* All bytes of eight patterns: bijective, own inverse, units whole, periodic. */
Test(swizzle, properties) {
    for (enum swizzle_mode mode = 0; mode < SWIZZLE_MODE_COUNT; mode++) {
        if (!swizzle_is_known(mode))
            continue;
        const struct swizzle_rule *rule = swizzle_rule(mode);
        unsigned char seen[8192] = {0};
        for (uint32_t a = 0; a < sizeof seen; a++) {
            uint32_t b = swizzle_address(mode, a);
            cr_assert_lt(b, sizeof seen);
            cr_assert_eq(seen[b]++, 0, "%s: byte %u is hit twice", swizzle_name(mode), b);
            cr_assert_eq(swizzle_address(mode, b), a);
            cr_assert_eq(b % rule->unit_bytes, a % rule->unit_bytes);
            cr_assert_eq(b / rule->span_bytes, a / rule->span_bytes,
                         "%s moves a byte to another line", swizzle_name(mode));
            cr_assert_eq(swizzle_address(mode, a + rule->pattern_bytes), b + rule->pattern_bytes);
        }
    }
}

/* The manual's picture of 128B: chunk c of line r is stored at c ^ r; the 64B-atom mode exchanges
 * the halves of every second line. */
Test(swizzle, manual_pictures) {
    for (uint32_t line = 0; line < 8; line++)
        for (uint32_t chunk = 0; chunk < 8; chunk++)
            cr_assert_eq(swizzle_address(SWIZZLE_128B, line * 128 + chunk * 16),
                         line * 128 + (chunk ^ line) * 16);
    for (uint32_t line = 0; line < 4; line++)
        for (uint32_t half = 0; half < 2; half++)
            cr_assert_eq(swizzle_address(SWIZZLE_128B_ATOM_64B, line * 128 + half * 64),
                         line * 128 + (half ^ (line & 1)) * 64);
}

Test(swizzle, flip_8b_is_unknown) {
    cr_assert(!swizzle_is_known(SWIZZLE_128B_ATOM_32B_FLIP_8B));
    cr_assert(!swizzle_is_known(SWIZZLE_MODE_COUNT));
    cr_assert_str_eq(swizzle_name(SWIZZLE_128B_ATOM_32B_FLIP_8B), "128B_ATOM_32B_FLIP_8B");
}
