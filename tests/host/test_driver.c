#include <criterion/criterion.h>
#include <string.h>

#include "driver.h"

Test(driver, no_library) {
    struct driver driver;
    struct host_error error = {0};
    cr_assert_not(driver_open(&driver, "/nonexistent/libcuda.so.1", &error));
    cr_assert_not_null(strstr(error.text, "/nonexistent/libcuda.so.1"));
    cr_assert_null(driver.library);
    driver_close(&driver);
}

Test(driver, a_library_that_is_no_driver) {
    struct driver driver;
    struct host_error error = {0};
    cr_assert_not(driver_open(&driver, "libm.so.6", &error));
    cr_assert_str_eq(error.text,
                     "libm.so.6 has no cuGetProcAddress: not a CUDA driver, or older than 11.3");
    cr_assert_null(driver.library);
}
