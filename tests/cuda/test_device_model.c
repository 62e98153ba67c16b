#include <criterion/criterion.h>
#include <string.h>

#include "cuda_abi.h"
#include "device_model.h"
#include "support.h"

Test(device_model, names) {
    cr_assert_eq(device_model_find("b200")->exec.sm, 100);
    cr_assert_eq(device_model_find("h200")->exec.sm, 90);
    cr_assert_eq(device_model_find("h100")->exec.sm, 90);
    cr_assert_null(device_model_find("B200"));
    cr_assert_null(device_model_find(""));
}

/* The numbers of the launches in H200 observations 39 to 41, and the ends of the list. */
Test(device_model, h200_answers_every_attribute) {
    const struct device_model *h200 = device_model_find("h200");
    static const int some[][2] = {{1, 1024},      {8, 49152},    {16, 132},     {75, 9},
                                  {97, 232448},   {13, 1980000}, {36, 3201000}, {131, -1},
                                  {38, 62914560}, {111, 1024},   {127, 1},      {147, 0}};
    int value = 0;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        cr_assert(device_model_value(h200, some[i][0], &value));
        cr_assert_eq(value, some[i][1], "attribute %d is %d", some[i][0], value);
    }
    for (int number = 1; number <= 147; number++)
        cr_assert(device_model_value(h200, number, &value), "attribute %d", number);
    cr_assert_not(device_model_value(h200, 0, &value));
    cr_assert_not(device_model_value(h200, 148, &value));
    cr_assert_eq(h200->memory_bytes, 150109880320u);
    report_rows("attributes of the h200 model", 147);
}

/* Of the other models only the documented limits; where they are the H200's too, they agree. */
Test(device_model, documented_models_know_no_more) {
    const struct device_model *h200 = device_model_find("h200"), *h100 = device_model_find("h100"),
                              *b200 = device_model_find("b200");
    int known = 0;
    for (int number = 1; number <= 147; number++) {
        int of_h200 = 0, of_h100 = 0, of_b200 = 0;
        bool in_h100 = device_model_value(h100, number, &of_h100);
        cr_assert_eq(in_h100, device_model_value(b200, number, &of_b200));
        if (!in_h100)
            continue;
        known++;
        cr_assert(device_model_value(h200, number, &of_h200));
        cr_assert_eq(of_h100, of_h200, "attribute %d", number);
    }
    cr_assert_eq(known, 22);
    cr_assert_eq(device_model_limit(b200, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 148);
    cr_assert_eq(device_model_limit(b200, CU_DEVICE_ATTRIBUTE_CLOCK_RATE), 0);
    cr_assert_eq(b200->memory_bytes, 0);
}

/* What the launch checks and the occupancy rules look up with device_model_limit. */
Test(device_model, limits_that_are_needed_are_there) {
    static const int needed[] = {1, 2, 3, 4, 5, 6, 7, 39, 81, 82, 97, 106, 111};
    static const char *const names[] = {"b200", "h200", "h100"};
    for (int m = 0; m < 3; m++)
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
            cr_assert_gt(device_model_limit(device_model_find(names[m]), needed[i]), 0);
}

Test(device_model, attribute_names) {
    cr_assert_str_eq(device_attribute_name(16), "MULTIPROCESSOR_COUNT");
    cr_assert_null(device_attribute_name(0));
    cr_assert_null(device_attribute_name(148));
}
