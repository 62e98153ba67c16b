/* Functions that are exported but not modelled. */
#include "cu_absent.h"
#include "libcuda.h"
#include "support.h"

static const char *const symbols[] = {
#define CU_ABSENT(symbol) #symbol,
#include "cu_absent.def"
#undef CU_ABSENT
};

Test(absent, each_returns_801_and_says_its_name_once) {
    struct libcuda cu = libcuda_load("b200");
    enum { COUNT = sizeof symbols / sizeof symbols[0] };
    for (int i = 0; i < COUNT; i++) {
        struct libcuda_lines lines = {0};
        char expected[256];
        cu_absent_fn *function;
        cu.set_log(libcuda_keep_line, &lines);
        libcuda_symbol(&cu, symbols[i], &function);
        for (int again = 0; again < 3; again++)
            cr_assert_eq(function(), CUDA_ERROR_NOT_SUPPORTED);
        snprintf(expected, sizeof expected, "%s is not modelled: CUDA_ERROR_NOT_SUPPORTED\n",
                 symbols[i]);
        cr_assert_str_eq(lines.text, expected);
    }
    report_rows("absent driver functions", COUNT);
}

/* A name that the real driver knows is found, whether modelled or not. */
Test(absent, is_found_by_name) {
    struct libcuda cu = libcuda_load("b200");
    void *function = NULL;
    CUdriverProcAddressQueryResult found;
    cr_assert_eq(cu.cuGetProcAddress_v2("cuGraphCreate", &function, 12000, 0, &found), 0);
    cr_assert_eq(found, CU_GET_PROC_ADDRESS_SUCCESS);
    cr_assert_eq(function, dlsym(cu.library, "cuGraphCreate"));
}
