/* The reference's tensor core rule against words that an H200 and a B200 gave, and against rows
 * that other models of the B200 computed. The rule shares nothing with the simulator. */
#include "reference_tc_rule.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Fixed-width hexadecimal words without separators. */
static void words_of(const char *text, size_t digits, int count, uint32_t *words) {
    char digit[9] = "";
    cr_assert_eq(strlen(text), digits * (size_t)count, "%s", text);
    for (int i = 0; i < count; i++) {
        memcpy(digit, text + digits * (size_t)i, digits);
        words[i] = (uint32_t)strtoul(digit, NULL, 16);
    }
}

/* Rows of a table with columns a, b, c, d whose `instr` is the given one; all when it is NULL. */
static void check(const char *file, const char *instruction, enum elem_type type, bool hopper) {
    const struct tc_rule *rule = tc_rule(type, hopper);
    const size_t digits = 2 * elem_info(type)->size_bytes;
    struct csv *csv = csv_open(file);
    const size_t a_column = csv_column(csv, "a"), b_column = csv_column(csv, "b"),
                 c_column = csv_column(csv, "c"), d_column = csv_column(csv, "d"),
                 name_column = instruction ? csv_column(csv, "instr") : 0;
    size_t rows = 0;
    while (csv_next(csv)) {
        uint32_t a[TC_MAX_STEP], b[TC_MAX_STEP];
        if (instruction && strcmp(csv_text(csv, name_column), instruction) != 0)
            continue;
        words_of(csv_text(csv, a_column), digits, rule->step, a);
        words_of(csv_text(csv, b_column), digits, rule->step, b);
        const uint32_t d = tc_step(rule, a, b, (uint32_t)csv_hex(csv, c_column));
        cr_assert_eq(d, (uint32_t)csv_hex(csv, d_column), "%s row %zu: 0x%08x, expected %s", file,
                     csv_rows(csv), d, csv_text(csv, d_column));
        rows++;
    }
    csv_close(csv);
    cr_assert_geq(rows, 500u);
    report_rows(instruction ? instruction : file, rows);
}

#define MMA  "mma-arith/"
#define H200 MMA "hw-H200-all.csv.gz"

Test(reference_tc_rule, words_of_an_h200) {
    check(H200, "wgmma.m64n8k16.f32.bf16.bf16", ELEM_BF16, true);
    check(H200, "wgmma.m64n8k16.f32.f16.f16", ELEM_F16, true);
    check(H200, "wgmma.m64n8k8.f32.tf32.tf32", ELEM_TF32, true);
    check(H200, "wgmma.m64n8k32.f32.e4m3.e4m3", ELEM_E4M3, true);
    check(H200, "wgmma.m64n8k32.f32.e5m2.e5m2", ELEM_E5M2, true);
}

Test(reference_tc_rule, rows_for_a_b200) {
    check(MMA "t-tf32-tf32-acc_f32-k8-F25.csv.gz", NULL, ELEM_TF32, false);
    check(MMA "tcgen05-e4m3-e4m3-acc_f32-k32-F25.csv.gz", NULL, ELEM_E4M3, false);
    check(MMA "tcgen05-e5m2-e5m2-acc_f32-k32-F25.csv.gz", NULL, ELEM_E5M2, false);
}

/* Space-separated words. */
static void read_words(const char *text, int count, uint32_t *words) {
    char *end = (char *)(uintptr_t)text;
    for (int i = 0; i < count; i++)
        words[i] = (uint32_t)strtoul(end, &end, 16);
    cr_assert_eq(*end, '\0', "%s", text);
}

Test(reference_tc_rule, words_of_a_b200) {
    static const enum elem_type types[] = {ELEM_TF32, ELEM_BF16, ELEM_F16, ELEM_E4M3, ELEM_E5M2};
    struct csv *csv = csv_open(MMA "hw-B200-tcgen05.csv");
    size_t rows = 0;
    while (csv_next(csv)) {
        const char *type = csv_text(csv, csv_column(csv, "a_type"));
        if (strncmp(csv_text(csv, csv_column(csv, "kind")), "mx", 2) == 0 ||
            strcmp(type, csv_text(csv, csv_column(csv, "b_type"))) != 0)
            continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const struct tc_rule *rule = tc_rule(types[i], false);
            uint32_t a[TC_MAX_STEP], b[TC_MAX_STEP];
            if (strcmp(elem_info(types[i])->name, type) != 0)
                continue;
            read_words(csv_text(csv, csv_column(csv, "a_hex")), rule->step, a);
            read_words(csv_text(csv, csv_column(csv, "b_hex")), rule->step, b);
            const uint32_t c = (uint32_t)csv_hex(csv, csv_column(csv, "c_hex"));
            cr_assert_eq(tc_step(rule, a, b, c), (uint32_t)csv_hex(csv, csv_column(csv, "d_hex")),
                         "%s", csv_text(csv, csv_column(csv, "name")));
            rows++;
        }
    }
    csv_close(csv);
    cr_assert_geq(rows, 30u);
    report_rows("B200 words of tf32, bf16, f16, e4m3, e5m2", rows);
}
