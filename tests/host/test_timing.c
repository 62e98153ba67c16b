#include <criterion/criterion.h>

#include "timing.h"

Test(timing, summary) {
    double odd[] = {5, 1, 3};
    struct timing t = timing_summarize(odd, 3);
    cr_assert_eq(t.median_ms, 3);
    cr_assert_eq(t.min_ms, 1);
    cr_assert_eq(t.max_ms, 5);
    double even[] = {4, 1, 2, 3};
    t = timing_summarize(even, 4);
    cr_assert_eq(t.median_ms, 2.5);
    double one[] = {7};
    t = timing_summarize(one, 1);
    cr_assert_eq(t.median_ms, 7);
    cr_assert_eq(t.spread, 0);
    cr_assert_eq(t.repeats, 1);
}

Test(timing, refuses_no_repeats) {
    struct driver driver = {0};
    struct timing timing;
    struct host_error error = {0};
    cr_assert_not(timing_measure(&driver, &(struct timing_desc){.repeats = 0}, &timing, &error));
    cr_assert_str_eq(error.text, "0 repeats: 1 to 10000 are possible");
}
