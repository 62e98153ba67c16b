/* Every row of the H200 for integers, carry chains, comparisons and selection, through PTX text,
 * parser and executor. */
#include <criterion/criterion.h>
#include <string.h>

#include "scalar_run.h"
#include "support.h"

static bool is_integer(const struct scalar_form *form) {
    return strcmp(form->family, "int") == 0 || strcmp(form->family, "carry") == 0;
}

static bool is_comparison(const struct scalar_form *form) {
    return strcmp(form->family, "cmp") == 0;
}

static void check(bool (*wanted)(const struct scalar_form *form), const char *name,
                  size_t least_rows) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct scalar_exact exact = {0};
    struct scalar_run run = {wanted, scalar_judge_exact, &exact};
    size_t rows = scalar_run(&oracle, &run);
    report_rows(name, rows);
    scalar_oracle_close(&oracle);
    cr_assert_eq(exact.wrong, 0, "%zu rows differ", exact.wrong);
    cr_assert_gt(rows, least_rows);
}

Test(op_int, every_integer_row_of_the_h200) {
    check(is_integer, "scalar/hw-H200-scalar.csv.gz: int, carry", 45000);
}

Test(op_int, every_comparison_row_of_the_h200) {
    check(is_comparison, "scalar/hw-H200-scalar.csv.gz: cmp", 50000);
}
