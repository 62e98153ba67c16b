/* Every row of the H200 for the approximate functions, through PTX text, parser and executor. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "scalar_run.h"
#include "support.h"

static bool is_approximate(const struct scalar_form *form) {
    return strstr(form->ptx, ".approx") != NULL || strstr(form->ptx, ".full") != NULL;
}

/* One function after the other: what the simulator owes the H200 is its very bits. */
struct functions {
    struct scalar_exact exact;
    const struct scalar_form *form;
    size_t wrong_before;
};

static void print_function(struct functions *f) {
    if (f->form != NULL)
        printf("  %zu rows, %zu differ, bound 0 ulp: %s\n", f->form->row_count,
               f->exact.wrong - f->wrong_before, f->form->ptx);
    f->wrong_before = f->exact.wrong;
}

static void judge(void *ctx, const struct scalar_form *form, const struct scalar_row *row,
                  uint64_t got) {
    struct functions *f = ctx;
    if (form != f->form)
        print_function(f);
    f->form = form;
    scalar_judge_exact(&f->exact, form, row, got);
}

Test(op_approx, every_row_of_the_h200) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct functions functions = {0};
    struct scalar_run run = {is_approximate, judge, &functions};
    size_t rows = scalar_run(&oracle, &run);
    print_function(&functions);
    report_rows("scalar/hw-H200-scalar.csv.gz: approximate functions", rows);
    scalar_oracle_close(&oracle);
    cr_assert_eq(functions.exact.wrong, 0, "%zu rows differ", functions.exact.wrong);
    cr_assert_gt(rows, 4000);
}
