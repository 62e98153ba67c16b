#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "cu_module.h"

Test(cu_jit, logs_are_cut_to_their_buffers) {
    char errors[8], info[32];
    memset(errors, '#', sizeof errors);
    memset(info, '#', sizeof info);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,           CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_OPTIMIZATION_LEVEL,         CU_JIT_WALL_TIME};
    void *values[] = {
        errors, (void *)(uintptr_t)sizeof errors, (void *)(uintptr_t)sizeof info, info, (void *)4,
        NULL};
    struct cu_jit jit;
    cr_assert_eq(cu_jit_read(&jit, 6, options, values), CUDA_SUCCESS);
    cu_jit_write(&jit, true, "0123456789", 1.5);
    cr_assert_str_eq(errors, "0123456");
    cr_assert_eq((uintptr_t)values[1], 7);
    cr_assert_str_eq(info, "");
    cr_assert_eq((uintptr_t)values[2], 0);
    float milliseconds;
    memcpy(&milliseconds, &values[5], sizeof milliseconds);
    cr_assert_eq(milliseconds, 1.5f);
    cu_jit_write(&jit, false, "fine", 0);
    cr_assert_str_eq(errors, "");
    cr_assert_str_eq(info, "fine");
}

Test(cu_jit, refuses_what_is_no_option) {
    struct cu_jit jit;
    CUjit_option wrong = (CUjit_option)999;
    void *value = NULL;
    cr_assert_eq(cu_jit_read(&jit, 1, &wrong, &value), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cu_jit_read(&jit, 1, NULL, &value), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cu_jit_read(&jit, 0, NULL, NULL), CUDA_SUCCESS);
    cu_jit_write(&jit, true, "nobody reads this", 0);
}
