#include <criterion/criterion.h>
#include <string.h>

#include "device.h"
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

/* The simulator's library through the same door. */
Test(driver, opens_the_built_libcuda) {
    struct driver driver;
    struct device device;
    struct host_error error = {0};
    cr_assert(driver_open(&driver, SILTWIN_BUILD "/sim/libcuda.so.1", &error), "%s", error.text);
    cr_assert_eq(driver.version, 13000);
    cr_assert_not_null(driver.cuTensorMapReplaceAddress);
    cr_assert_not_null(driver_extension(&driver, "siltwinSimVersion"));
    cr_assert_null(driver_extension(&driver, "siltwinSimNoSuchName"));
    cr_assert_not(device_open(&driver, 1, &device, &error));
    cr_assert_not_null(strstr(error.text, "there is no device 1"));
    cr_assert(device_open(&driver, 0, &device, &error), "%s", error.text);
    cr_assert_eq(device.compute_minor, 0);
    cr_assert_gt(device.sm_count, 0);
    cr_assert(device_synchronize(&device, &error));
    device_close(&device);
    driver_close(&driver);
    cr_assert_null(driver.library);
}
