/* Every row of the H200 for the approximate functions, through PTX text, parser and executor. */
#include <criterion/criterion.h>
#include <string.h>

#include "scalar_run.h"
#include "support.h"

static bool is_approximate(const struct scalar_form *form) {
    return strstr(form->ptx, ".approx") != NULL || strstr(form->ptx, ".full") != NULL;
}

Test(op_approx, every_row_of_the_h200) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct scalar_exact exact = {0};
    struct scalar_run run = {is_approximate, scalar_judge_exact, &exact};
    size_t rows = scalar_run(&oracle, &run);
    report_rows("scalar/hw-H200-scalar.csv.gz: approximate functions", rows);
    scalar_oracle_close(&oracle);
    cr_assert_eq(exact.wrong, 0, "%zu rows differ", exact.wrong);
    cr_assert_gt(rows, 4000);
}
