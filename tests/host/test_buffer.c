/* Buffers over a driver whose device memory is the host's. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

static CUresult fake_alloc(CUdeviceptr *address, size_t bytes) {
    *address = (CUdeviceptr)(uintptr_t)malloc(bytes);
    return bytes > 1 << 20 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult fake_free(CUdeviceptr address) {
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

static CUresult fake_upload(CUdeviceptr to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_download(void *to, CUdeviceptr from, size_t bytes) {
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_fill(CUdeviceptr to, unsigned short value, size_t count) {
    for (size_t i = 0; i < count; i++)
        ((unsigned short *)(uintptr_t)to)[i] = value;
    return CUDA_SUCCESS;
}

static const struct driver fake = {.cuMemAlloc = fake_alloc,
                                   .cuMemFree = fake_free,
                                   .cuMemcpyHtoD = fake_upload,
                                   .cuMemcpyDtoH = fake_download,
                                   .cuMemsetD16 = fake_fill};

Test(buffer, moves_data) {
    struct buffer buffer;
    struct host_error error = {0};
    cr_assert(buffer_alloc(&fake, 64, &buffer, &error));
    cr_assert(buffer_fill(&buffer, 0, 64, 0x1234, 2, &error));
    cr_assert(buffer_upload(&buffer, 4, "abcd", 4, &error));
    unsigned char back[64];
    cr_assert(buffer_download(&buffer, 0, back, 64, &error));
    cr_assert_eq(memcmp(back,
                        "\x34\x12\x34\x12"
                        "abcd"
                        "\x34\x12",
                        10),
                 0);
    buffer_free(&buffer);
    cr_assert_eq(buffer.address, 0);
}

Test(buffer, refuses_ranges_that_leave_it) {
    struct buffer buffer;
    struct host_error error = {0};
    char bytes[65] = {0};
    cr_assert(buffer_alloc(&fake, 64, &buffer, &error));
    cr_assert_not(buffer_upload(&buffer, 0, bytes, 65, &error));
    cr_assert_str_eq(error.text, "65 bytes at offset 0 are not inside a buffer of 64 bytes");
    cr_assert_not(buffer_download(&buffer, 64, bytes, 1, &error));
    cr_assert_not(buffer_download(&buffer, SIZE_MAX, bytes, 2, &error));
    cr_assert(buffer_download(&buffer, 64, bytes, 0, &error));
    cr_assert_not(buffer_fill(&buffer, 0, 63, 0, 2, &error));
    cr_assert_not(buffer_fill(&buffer, 0, 63, 0, 3, &error));
    buffer_free(&buffer);
}

Test(buffer, says_which_call_failed) {
    struct buffer buffer;
    struct host_error error = {0};
    cr_assert_not(buffer_alloc(&fake, 2 << 20, &buffer, &error));
    cr_assert_str_eq(error.call, "cuMemAlloc");
    cr_assert_eq(error.code, CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(buffer.driver, NULL);
}
