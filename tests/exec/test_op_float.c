/* Every row of the H200 for floating point and conversions, through PTX text, parser and executor.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "scalar_run.h"
#include "support.h"

static bool is_approximate(const struct scalar_form *form) {
    return strcmp(form->family, "approx") == 0 || strncmp(form->ptx, "div.approx", 10) == 0 ||
           strncmp(form->ptx, "div.full", 8) == 0;
}

static bool is_exact_float(const struct scalar_form *form) {
    static const char *const families[] = {"f32", "f64", "half", "cvt", "cvt8"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(form->family, families[i]) == 0)
            return !is_approximate(form);
    return false;
}

Test(op_float, every_row_of_the_h200) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct scalar_exact exact = {0};
    struct scalar_run run = {is_exact_float, scalar_judge_exact, &exact};
    size_t rows = scalar_run(&oracle, &run);
    report_rows("scalar/hw-H200-scalar.csv.gz: f32, f64, half, cvt, cvt8", rows);
    scalar_oracle_close(&oracle);
    cr_assert_eq(exact.wrong, 0, "%zu rows differ", exact.wrong);
    cr_assert_gt(rows, 110000);
}
