/* Copies, fills and host memory of the simulated driver. */
#include <stdint.h>

#include "libcuda.h"

enum { BYTES = 4096 };

static struct libcuda cu;
static CUdeviceptr a, b;
static uint8_t host[BYTES], back[BYTES];

static void start(void) {
    cu = libcuda_start("b200");
    cr_assert_eq(cu.cuMemAlloc_v2(&a, BYTES), 0);
    cr_assert_eq(cu.cuMemAlloc_v2(&b, BYTES), 0);
    for (int i = 0; i < BYTES; i++)
        host[i] = (uint8_t)(i * 7 + i / 256);
}

Test(memory, there_and_back, .init = start) {
    cr_assert_eq(cu.cuMemcpyHtoD_v2(a, host, BYTES), 0);
    cr_assert_eq(cu.cuMemcpyDtoD_v2(b + 16, a, BYTES - 16), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, b + 16, BYTES - 16), 0);
    cr_assert_eq(memcmp(host, back, BYTES - 16), 0);
    memset(back, 0, BYTES);
    cr_assert_eq(cu.cuMemcpyHtoDAsync_v2(b, host, BYTES, NULL), 0);
    cr_assert_eq(cu.cuMemcpyDtoDAsync_v2(a, b, BYTES, CU_STREAM_PER_THREAD), 0);
    cr_assert_eq(cu.cuMemcpyDtoHAsync_v2(back, a, BYTES, CU_STREAM_LEGACY), 0);
    cr_assert_eq(memcmp(host, back, BYTES), 0);
    cr_assert_eq(cu.cuMemcpyHtoDAsync_v2(b, host, BYTES, (CUstream)host), 400);
}

/* cuMemcpy finds out by itself which side an address is on. */
Test(memory, unified_copies, .init = start) {
    CUdeviceptr from = (CUdeviceptr)(uintptr_t)host, to = (CUdeviceptr)(uintptr_t)back;
    cr_assert_eq(cu.cuMemcpy(a, from, BYTES), 0);
    cr_assert_eq(cu.cuMemcpy(b, a, BYTES), 0);
    cr_assert_eq(cu.cuMemcpyAsync(to, b, BYTES, NULL), 0);
    cr_assert_eq(memcmp(host, back, BYTES), 0);
    cr_assert_eq(cu.cuMemcpy(a, b + 1, BYTES), 1);
    cr_assert_eq(cu.cuMemcpy(a + BYTES, from, 1), 1);
}

Test(memory, ranges_do_not_leak_into_neighbours, .init = start) {
    cr_assert_eq(cu.cuMemcpyHtoD_v2(a, host, BYTES + 1), 1);
    cr_assert_eq(cu.cuMemcpyHtoD_v2(a + BYTES, host, 1), 1);
    cr_assert_eq(cu.cuMemsetD8_v2(a + 1, 0, BYTES), 1);
    cr_assert_eq(cu.cuMemsetD32_v2(a, 0, SIZE_MAX / 2), 1);
    cr_assert_eq(cu.cuMemsetD8_v2(a, 0, SIZE_MAX), 1);
}

Test(memory, fills, .init = start) {
    cr_assert_eq(cu.cuMemsetD8_v2(a, 0x5a, BYTES), 0);
    cr_assert_eq(cu.cuMemsetD16Async(a + 2, 0x1234, 3, NULL), 0);
    cr_assert_eq(cu.cuMemsetD32_v2(a + 16, 0xdeadbeef, 2), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, a, BYTES), 0);
    static const uint8_t expected[] = {0x5a, 0x5a, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x5a,
                                       0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0xef, 0xbe,
                                       0xad, 0xde, 0xef, 0xbe, 0xad, 0xde, 0x5a};
    cr_assert_eq(memcmp(back, expected, sizeof expected), 0);
    cr_assert_eq(back[BYTES - 1], 0x5a);
}

/* A 2 x 3 rectangle of words in rows of 64 bytes: only its bytes change. */
Test(memory, fills_in_two_dimensions, .init = start) {
    cr_assert_eq(cu.cuMemsetD8_v2(a, 0, BYTES), 0);
    cr_assert_eq(cu.cuMemsetD2D32_v2(a + 8, 64, 1, 2, 3), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, a, BYTES), 0);
    for (int i = 0; i < BYTES; i++) {
        int row = i / 64, x = i % 64;
        cr_expect_eq(back[i], row < 3 && (x == 8 || x == 12), "byte %d", i);
    }
    cr_assert_eq(cu.cuMemsetD2D32_v2(a, 4, 1, 2, 3), 1);
    cr_assert_eq(cu.cuMemsetD2D16_v2(a, 63, 1, 2, 3), 1);
    cr_assert_eq(cu.cuMemsetD2D8_v2(a, 1024, 1, 1024, 5), 1);
    cr_assert_eq(cu.cuMemsetD2D8Async(a, 1024, 1, 1024, 4, NULL), 0);
}

Test(memory, copies_in_two_dimensions, .init = start) {
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 100,
                          .srcXInBytes = 3,
                          .srcY = 2,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = a,
                          .dstPitch = 32,
                          .dstXInBytes = 4,
                          .dstY = 1,
                          .WidthInBytes = 20,
                          .Height = 5};
    cr_assert_eq(cu.cuMemsetD8_v2(a, 0xee, BYTES), 0);
    cr_assert_eq(cu.cuMemcpy2D_v2(&copy), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, a, BYTES), 0);
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 32; x++) {
            int inside = y >= 1 && y < 6 && x >= 4 && x < 24;
            uint8_t expected = inside ? host[(2 + y - 1) * 100 + 3 + x - 4] : 0xee;
            cr_expect_eq(back[y * 32 + x], expected, "row %d byte %d", y, x);
        }
    }
    copy.dstPitch = 19;
    cr_assert_eq(cu.cuMemcpy2D_v2(&copy), 1);
    copy.dstPitch = SIZE_MAX / 2;
    cr_assert_eq(cu.cuMemcpy2DAsync_v2(&copy, NULL), 1);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    cr_assert_eq(cu.cuMemcpy2DUnaligned_v2(&copy), 801);
    copy.dstMemoryType = (CUmemorytype)9;
    cr_assert_eq(cu.cuMemcpy2D_v2(&copy), 1);
    cr_assert_eq(cu.cuMemcpy2D_v2(NULL), 1);
}

/* All as on an H200: one address for both sides, mapped without being asked. */
Test(memory, host_memory, .init = start) {
    uint8_t *pinned = NULL;
    CUdeviceptr device = 0;
    unsigned flags = 0, type = 0;
    cr_assert_eq(cu.cuMemHostAlloc((void **)&pinned, 1000, 0), 0);
    cr_assert_eq(cu.cuMemHostGetDevicePointer_v2(&device, pinned + 10, 0), 0);
    cr_assert_eq(device, (CUdeviceptr)(uintptr_t)pinned + 10);
    cr_assert_eq(cu.cuMemHostGetFlags(&flags, pinned), 0);
    cr_assert_eq(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    cr_assert_eq(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device), 0);
    cr_assert_eq(type, CU_MEMORYTYPE_HOST);
    memcpy(pinned, "0123456789abc", 13);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, device, 3), 0);
    cr_assert_eq(memcmp(back, "abc", 3), 0);
    cr_assert_eq(cu.cuMemcpy(a, device, 990), 0);
    cr_assert_eq(cu.cuMemcpy(a, device, 991), 1);
    cr_assert_eq(cu.cuMemFree_v2(device - 10), 1);
    cr_assert_eq(cu.cuMemFreeHost(pinned + 1), 1);
    cr_assert_eq(cu.cuMemFreeHost(pinned), 0);
    cr_assert_eq(cu.cuMemFreeHost(pinned), 1);
}

Test(memory, registered_memory, .init = start) {
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, (CUdeviceptr)(uintptr_t)host, 4), 1);
    cr_assert_eq(cu.cuMemHostRegister_v2(host, BYTES, 0), 0);
    cr_assert_eq(cu.cuMemHostRegister_v2(host + 100, 4, 0), 712);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, (CUdeviceptr)(uintptr_t)host, BYTES), 0);
    cr_assert_eq(memcmp(host, back, BYTES), 0);
    cr_assert_eq(cu.cuMemFreeHost(host), 1);
    cr_assert_eq(cu.cuMemHostUnregister(host + 1), 713);
    cr_assert_eq(cu.cuMemHostUnregister(host), 0);
    cr_assert_eq(cu.cuMemHostUnregister(host), 713);
    cr_assert_eq(cu.cuMemHostUnregister(NULL), 1);
    cr_assert_eq(cu.cuMemHostRegister_v2(host, BYTES, CU_MEMHOSTREGISTER_IOMEMORY), 801);
}

Test(memory, pointer_attributes, .init = start) {
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    CUdeviceptr start_address = 7;
    size_t bytes = 7;
    void *pointer = host, *data[] = {&start_address, &bytes, &pointer};
    cr_assert_eq(cu.cuPointerGetAttributes(3, attributes, data, a + 5), 0);
    cr_assert_eq(start_address, a);
    cr_assert_eq(bytes, BYTES);
    cr_assert_null(pointer);
    cr_assert_eq(cu.cuPointerGetAttributes(3, attributes, data, 4096), 0); /* H200 */
    cr_assert_eq(start_address, 0);
    cr_assert_eq(bytes, 0);
    cr_assert_eq((uintptr_t)pointer, 4096);
    pointer = host;
    cr_assert_eq(cu.cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, a), 1);
    cr_assert_null(pointer);
}

Test(memory, h200_counts_what_is_used) {
    struct libcuda h200 = libcuda_start("h200");
    size_t before = 0, after = 0, total = 0;
    CUdeviceptr address;
    cr_assert_eq(h200.cuMemGetInfo_v2(&before, &total), 0);
    cr_assert_eq(total, 150109880320u);
    cr_assert_eq(h200.cuMemAlloc_v2(&address, 1 << 20), 0);
    cr_assert_eq(h200.cuMemGetInfo_v2(&after, &total), 0);
    cr_assert_eq(before - after, 1 << 20);
}

Test(memory, pitch) {
    struct libcuda h200 = libcuda_start("h200");
    CUdeviceptr address;
    size_t pitch = 0;
    cr_assert_eq(h200.cuMemAllocPitch_v2(&address, &pitch, 1000, 3, 4), 0);
    cr_assert_eq(pitch, 1024);
    cr_assert_eq(h200.cuMemsetD2D8_v2(address, pitch, 1, 1000, 3), 0);
    cr_assert_eq(h200.cuMemAllocPitch_v2(&address, &pitch, 1000, 3, 5), 1);
    cr_assert_eq(h200.cuMemAllocPitch_v2(&address, &pitch, 1000, SIZE_MAX / 8, 4), 2);
    cr_assert_eq(h200.cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 1, 4), 1);
}

Test(memory, what_is_not_modelled_is_named, .init = start) {
    struct libcuda_lines lines = {0};
    CUdeviceptr address;
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(cu.cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL), 801);
    cr_assert_str_eq(lines.text, "cuMemAllocManaged: managed memory is not modelled\n");
}

/* The b200 model does not know its size; the host's bounds it before the host is used up. */
Test(memory, more_than_the_host_has_is_refused, .init = start) {
    struct libcuda_lines lines = {0};
    CUdeviceptr address;
    void *pinned;
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(cu.cuMemAlloc_v2(&address, (size_t)900 << 30), 2);
    cr_assert_eq(cu.cuMemHostAlloc(&pinned, (size_t)900 << 30, 0), 2);
    cr_assert_eq(lines.count, 2);
    cr_assert_not_null(strstr(lines.text, "an allocation of 966367641600 bytes"));
}

/* Another machine's addresses: exactly that many bytes, only where nothing is. */
Test(memory, at_an_address_of_choice, .init = start) {
    int (*alloc_at)(uint64_t, uint64_t);
    const CUdeviceptr at = 0x7e8000000000;
    libcuda_symbol(&cu, "siltwinSimMemAllocAt", &alloc_at);
    cr_assert_eq(alloc_at(at, 100), 0);
    cr_assert_eq(cu.cuMemcpyHtoD_v2(at, host, 100), 0);
    cr_assert_neq(cu.cuMemcpyHtoD_v2(at + 1, host, 100), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(back, at, 100), 0);
    cr_assert_eq(memcmp(host, back, 100), 0);
    cr_assert_eq(alloc_at(at, 100), 2);
    cr_assert_eq(alloc_at(at + 8, 100), 2, "not a multiple of 512");
    cr_assert_eq(alloc_at(a, 100), 2);
    cr_assert_eq(alloc_at(0, 100), 1);
    cr_assert_eq(alloc_at(at + 4096, 0), 1);
    cr_assert_eq(cu.cuMemFree_v2(at), 0);
    cr_assert_eq(alloc_at(at, 512), 0);
    cr_assert_eq(cu.cuMemFree_v2(at), 0);
}
