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

/* A driver with virtual memory: 4096 bytes of granularity, everything below 1 << 40 is taken. */
static struct {
    size_t reserved_bytes, created_bytes, mapped_bytes, access_bytes;
    int handles, fail_access;
} virtual;

static CUresult fake_reserve(CUdeviceptr *address, size_t bytes, size_t align, CUdeviceptr wanted,
                             unsigned long long flags) {
    *address = wanted >= 1ull << 40 ? wanted : 0x7f0000000000;
    virtual.reserved_bytes = bytes;
    return align == 0 && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_unreserve(CUdeviceptr address, size_t bytes) {
    virtual.reserved_bytes -= bytes;
    return address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_granularity(size_t *bytes, const CUmemAllocationProp *prop,
                                 CUmemAllocationGranularity_flags option) {
    *bytes = 4096;
    return prop->location.id == 3 && option == CU_MEM_ALLOC_GRANULARITY_MINIMUM
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                            const CUmemAllocationProp *prop, unsigned long long flags) {
    (void)prop, (void)flags;
    virtual.created_bytes = bytes;
    virtual.handles++;
    *handle = 77;
    return bytes > 1 << 20 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult fake_release(CUmemGenericAllocationHandle handle) {
    virtual.handles--;
    return handle == 77 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_map(CUdeviceptr address, size_t bytes, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags) {
    virtual.mapped_bytes += bytes;
    return address && offset == 0 && handle == 77 && flags == 0 ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_unmap(CUdeviceptr address, size_t bytes) {
    virtual.mapped_bytes -= bytes;
    return address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc,
                            size_t count) {
    (void)address;
    virtual.access_bytes = bytes;
    return virtual.fail_access || count != 1 || desc->location.id != 3 ||
                   desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static struct driver virtual_driver(void) {
    struct driver driver = fake;
    driver.cuMemAddressReserve = fake_reserve;
    driver.cuMemAddressFree = fake_unreserve;
    driver.cuMemGetAllocationGranularity = fake_granularity;
    driver.cuMemCreate = fake_create;
    driver.cuMemRelease = fake_release;
    driver.cuMemMap = fake_map;
    driver.cuMemUnmap = fake_unmap;
    driver.cuMemSetAccess = fake_access;
    return driver;
}

Test(buffer, is_mapped_where_it_is_wanted) {
    const struct driver driver = virtual_driver();
    struct buffer buffer;
    struct host_error error = {0};
    cr_assert(buffer_map(&driver, 3, 0x7e8000000000, 5000, &buffer, &error), "%s", error.text);
    cr_assert_eq(buffer.address, 0x7e8000000000);
    cr_assert_eq(buffer.bytes, 5000);
    cr_assert_eq(virtual.reserved_bytes, BUFFER_RESERVE_BYTES);
    cr_assert_eq(virtual.created_bytes, 8192);
    cr_assert_eq(virtual.mapped_bytes, 8192);
    cr_assert_eq(virtual.access_bytes, 8192);
    buffer_free(&buffer);
    cr_assert_eq(virtual.mapped_bytes + virtual.reserved_bytes, 0);
    cr_assert_eq(virtual.handles, 0);
    cr_assert(buffer_map(&driver, 3, 0x1000, 1, &buffer, &error));
    cr_assert_eq(buffer.address, 0x7f0000000000, "another place is fine");
    buffer_free(&buffer);
}

Test(buffer, mapping_that_fails_leaves_nothing) {
    const struct driver driver = virtual_driver();
    struct buffer buffer;
    struct host_error error = {0};
    cr_assert_not(buffer_map(&driver, 3, 0, 2 << 20, &buffer, &error));
    cr_assert_str_eq(error.call, "cuMemCreate");
    cr_assert_eq(virtual.reserved_bytes, 0);
    virtual.handles = 0;
    virtual.fail_access = 1;
    cr_assert_not(buffer_map(&driver, 3, 0, 5000, &buffer, &error));
    cr_assert_str_eq(error.call, "cuMemSetAccess");
    cr_assert_eq(virtual.mapped_bytes + virtual.reserved_bytes, 0);
    cr_assert_eq(virtual.handles, 0);
    cr_assert_eq(buffer.address, 0);
}

Test(buffer, a_driver_without_virtual_memory_allocates) {
    struct buffer buffer;
    struct host_error error = {0};
    cr_assert(buffer_map(&fake, 3, 0x7e8000000000, 64, &buffer, &error));
    cr_assert_eq(buffer.mapped_bytes, 0);
    buffer_free(&buffer);
}
