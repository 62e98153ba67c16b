/* The first look at an image, against what an H200's driver returned for the same text. */
#include <criterion/criterion.h>
#include <string.h>

#include "cu_image.h"

static CUresult check(const char *text, const char *model, const char *expected_log) {
    struct strbuf log = {0};
    CUresult code = cu_image_check(text, device_model_find(model), &log);
    cr_expect_not_null(strstr(strbuf_text(&log), expected_log), "%s", strbuf_text(&log));
    strbuf_free(&log);
    return code;
}

Test(cu_image, text_that_is_no_ptx) {
    cr_expect_eq(check("", "h200", "does not begin with .version"), CUDA_ERROR_INVALID_IMAGE);
    cr_expect_eq(check("hello", "h200", "does not begin"), CUDA_ERROR_INVALID_IMAGE);
    cr_expect_eq(check(".versionx", "h200", "does not begin"), CUDA_ERROR_INVALID_IMAGE);
    cr_expect_eq(check("/* never closed .version 8.0", "h200", ""), CUDA_ERROR_INVALID_IMAGE);
}

Test(cu_image, machine_code) {
    cr_expect_eq(check("\x7f"
                       "ELF\2",
                       "h200", "machine code"),
                 CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_expect_eq(check("\xb1\x43\x62\x46\1", "h200", "only PTX"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_expect_eq(check("\x50\xed\x55\xba\1", "h200", "only PTX"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_expect_eq(check("\xb1\x43", "h200", "not PTX"), CUDA_ERROR_INVALID_IMAGE);
}

Test(cu_image, versions) {
    cr_expect_eq(check(".version 9.0\n.target sm_90\n", "h200", ""), CUDA_SUCCESS);
    cr_expect_eq(check("// a\n/* b */ .version 8.0 .target sm_52", "h200", ""), CUDA_SUCCESS);
    cr_expect_eq(check(".version 99.0\n.target sm_90\n", "h200", "99.0 is newer"),
                 CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    /* A driver of 13.0 stops at 9.0; a program made for a later one is simulated all the same. */
    cr_expect_eq(check(".version 9.4\n.target sm_90\n", "h200", ""), CUDA_SUCCESS);
    cr_expect_eq(check(".version 99999999999999999999\n", "h200", "newer"),
                 CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

/* H200 observation 10 for the first. */
Test(cu_image, targets) {
    cr_expect_eq(check(".version 8.6\n.target sm_100a\n", "h200", "sm_100a is higher"),
                 CUDA_ERROR_INVALID_PTX);
    cr_expect_eq(check(".version 8.6\n.target sm_100a\n", "b200", ""), CUDA_SUCCESS);
    cr_expect_eq(check(".version 8.6\n.target sm_90a\n", "b200", "that architecture only"),
                 CUDA_ERROR_INVALID_PTX);
    cr_expect_eq(check(".version 8.6\n.target sm_90\n", "b200", ""), CUDA_SUCCESS);
    cr_expect_eq(check(".version 9.0\n.target sm_120\n", "b200", "higher"), CUDA_ERROR_INVALID_PTX);
}
