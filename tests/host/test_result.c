#include <criterion/criterion.h>
#include <string.h>

#include "result.h"

enum {
#define CU_RESULT(name, value, text) ROW_OF_##name,
#include "cuda_results.def"
#undef CU_RESULT
    ROW_COUNT
};

Test(result, names_and_numbers_are_inverse) {
    int named = 0;
    for (int number = 0; number < 1100; number++) {
        const char *name = result_name((CUresult)number);
        if (!name)
            continue;
        CUresult back = CUDA_ERROR_UNKNOWN;
        cr_assert(result_from_name(name, &back));
        cr_assert_eq((int)back, number);
        named++;
    }
    cr_assert_eq(named, ROW_COUNT);
}

Test(result, short_names) {
    CUresult code = CUDA_SUCCESS;
    cr_assert(result_from_name("INVALID_VALUE", &code));
    cr_assert_eq(code, CUDA_ERROR_INVALID_VALUE);
    cr_assert(result_from_name("SUCCESS", &code));
    cr_assert_eq(code, CUDA_SUCCESS);
    cr_assert(result_from_name("ERROR_ILLEGAL_ADDRESS", &code));
    cr_assert_eq(code, CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_not(result_from_name("", &code));
    cr_assert_not(result_from_name("ILLEGAL", &code));
    cr_assert_null(result_name((CUresult)12345));
}

Test(result, sentence_has_call_name_and_number) {
    struct host_error error = {0};
    result_describe(&error, "cuModuleGetFunction", CUDA_ERROR_NOT_FOUND, "mykernel");
    cr_assert_eq(error.code, CUDA_ERROR_NOT_FOUND);
    cr_assert_str_eq(error.text, "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500): named "
                                 "symbol not found: mykernel");
    result_describe(&error, "cuInit", (CUresult)12345, NULL);
    cr_assert_not_null(strstr(error.text, "12345"));
}
