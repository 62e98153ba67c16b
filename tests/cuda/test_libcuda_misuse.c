/* Misuse of the driver API. Every code here is what the driver of an H200 (580.159.04, CUDA 13.0)
 * returned for the same call, 2026-11-29; the calls at which that driver crashed are marked, and
 * must be a plain error here. */
#include "libcuda.h"

#define GIVES(code, call) cr_expect_eq((int)(call), (code), #call " gives %d", (int)(call))

Test(misuse, before_cuInit) {
    struct libcuda cu = libcuda_load("h200");
    int count = 0;
    CUdeviceptr address;
    CUcontext context;
    GIVES(3, cu.cuDeviceGetCount(&count));
    GIVES(3, cu.cuCtxSynchronize());
    GIVES(3, cu.cuMemAlloc_v2(&address, 4));
    GIVES(3, cu.cuCtxGetCurrent(&context));
    GIVES(1, cu.cuInit(1));
    GIVES(3, cu.cuDeviceGetCount(&count));
}

Test(misuse, lookup_by_name) {
    static const struct {
        const char *name;
        int version, v1, v2, found;
    } rows[] = {
        {"cuNo", 13000, 500, 0, 1},
        {"cuMemAlloc", 1000, 500, 0, 2},
        {"cuMemAlloc", 2000, 0, 0, 0},
        {"cuMemAlloc", 14000, 1, 1, -1},
        {"", 0, 500, 0, 1},
        {"cuMemAlloc", 0, 500, 0, 2},
        {"cuLaunchKernelEx", 11050, 500, 0, 2},
        {"cuMemAlloc_v2", 13000, 500, 0, 1},
    };
    struct libcuda cu = libcuda_load("h200");
    int untouched;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *function = &untouched;
        GIVES(rows[i].v1, cu.cuGetProcAddress(rows[i].name, &function, rows[i].version, 0));
        cr_expect_eq(function == &untouched, rows[i].v1 != 0, "%s", rows[i].name);
        CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)-1;
        function = &untouched;
        GIVES(rows[i].v2,
              cu.cuGetProcAddress_v2(rows[i].name, &function, rows[i].version, 0, &found));
        cr_expect_eq((int)found, rows[i].found, "%s", rows[i].name);
        cr_expect_eq(function == NULL, rows[i].found > 0, "%s", rows[i].name);
    }
    void *function;
    GIVES(1, cu.cuGetProcAddress_v2("cuInit", &function, 13000, 9, NULL));
    GIVES(1, cu.cuGetProcAddress_v2(NULL, &function, 13000, 0, NULL)); /* crashes there */
    GIVES(1, cu.cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL));  /* crashes there */
    const void *table = &untouched;
    GIVES(1, cu.cuGetExportTable(&table, &(CUuuid){"0000000000000000"}));
    cr_expect_null(table);
}

Test(misuse, error_texts) {
    struct libcuda cu = libcuda_load("h200");
    const char *text = "x";
    GIVES(1, cu.cuGetErrorString((CUresult)4444, &text));
    cr_expect_null(text);
    text = "x";
    GIVES(1, cu.cuGetErrorName((CUresult)4444, &text));
    cr_expect_null(text);
    GIVES(1, cu.cuGetErrorName(CUDA_ERROR_INVALID_VALUE, NULL)); /* crashes there */
    GIVES(0, cu.cuGetErrorName(CUDA_ERROR_ILLEGAL_INSTRUCTION, &text));
    cr_expect_str_eq(text, "CUDA_ERROR_ILLEGAL_INSTRUCTION");
    GIVES(0, cu.cuGetErrorString(CUDA_ERROR_ILLEGAL_INSTRUCTION, &text));
    cr_expect_str_eq(text, "an illegal instruction was encountered");
}

Test(misuse, devices) {
    struct libcuda cu = libcuda_load("h200");
    int value = 0;
    char name[4] = "###";
    GIVES(0, cu.cuInit(0));
    GIVES(101, cu.cuDeviceGet(&value, 5));
    GIVES(1, cu.cuDeviceGet(NULL, 0));
    GIVES(1, cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)148, 0));
    GIVES(101, cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 7));
    GIVES(1, cu.cuDeviceGetName(name, 0, 0)); /* crashes there */
    GIVES(0, cu.cuDeviceGetName(name, 4, 0)); /* cut to three letters and a zero there too */
    cr_expect_eq(strlen(name), 3);
    GIVES(0, cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0));
    cr_expect_eq(value, 1980000);
}

Test(misuse, without_a_context) {
    struct libcuda cu = libcuda_load("h200");
    CUcontext context = NULL;
    CUdeviceptr address;
    CUmodule module;
    int device = 0;
    unsigned flags = 0;
    GIVES(0, cu.cuInit(0));
    GIVES(201, cu.cuCtxSynchronize());
    GIVES(201, cu.cuMemAlloc_v2(&address, 4));
    GIVES(201, cu.cuCtxPopCurrent_v2(&context));
    GIVES(1, cu.cuCtxDestroy_v2(NULL));
    GIVES(201, cu.cuDevicePrimaryCtxRelease_v2(0));
    GIVES(201, cu.cuCtxGetDevice(&device));
    GIVES(201, cu.cuCtxGetFlags(&flags));
    GIVES(201, cu.cuModuleLoadData(&module, ".version 8.0"));
    GIVES(0, cu.cuDevicePrimaryCtxRetain(&context, 0));
    GIVES(201, cu.cuMemAlloc_v2(&address, 4)); /* retained, not current */
    GIVES(0, cu.cuCtxSetCurrent(context));
    GIVES(0, cu.cuCtxSetCurrent(NULL));
    GIVES(1, cu.cuCtxPushCurrent_v2(NULL));
    GIVES(0, cu.cuCtxSetCurrent(context));
    GIVES(201, cu.cuCtxDestroy_v2(context)); /* a primary context */
}

Test(misuse, contexts) {
    struct libcuda cu = libcuda_load("h200");
    CUcontext context = NULL, current = NULL;
    GIVES(0, cu.cuInit(0));
    GIVES(0, cu.cuCtxCreate_v2(&context, 0, 0));
    GIVES(0, cu.cuCtxDestroy_v2(context));
    GIVES(201, cu.cuCtxSynchronize());
    GIVES(0, cu.cuCtxGetCurrent(&current));
    cr_expect_null(current);
    GIVES(1, cu.cuCtxCreate_v2(NULL, 0, 0));
    GIVES(1, cu.cuCtxCreate_v2(&context, 0x777, 0));
    GIVES(101, cu.cuCtxCreate_v2(&context, 0, 3));
}

Test(misuse, memory) {
    struct libcuda cu = libcuda_start("h200");
    CUdeviceptr address = 0, base = 0;
    char host[2000];
    size_t bytes = 0;
    GIVES(1, cu.cuMemAlloc_v2(NULL, 4));
    GIVES(1, cu.cuMemAlloc_v2(&address, 0));
    GIVES(2, cu.cuMemAlloc_v2(&address, (size_t)1 << 50));
    GIVES(0, cu.cuMemAlloc_v2(&address, 1000));
    cr_expect_eq(address % 512, 0);
    GIVES(0, cu.cuMemFree_v2(0));
    GIVES(1, cu.cuMemFree_v2(4096));
    GIVES(1, cu.cuMemFree_v2(address + 256));
    GIVES(1, cu.cuMemcpyHtoD_v2(0, host, 4));
    GIVES(0, cu.cuMemcpyHtoD_v2(0, host, 0));
    GIVES(1, cu.cuMemcpyHtoD_v2((CUdeviceptr)1 << 46, host, 4));
    GIVES(1, cu.cuMemcpyDtoH_v2(host, address + ((CUdeviceptr)1 << 40), 4));
    GIVES(1, cu.cuMemcpyHtoD_v2(address, NULL, 4));
    GIVES(1, cu.cuMemcpyDtoH_v2(host, address + 900, 200));
    GIVES(1, cu.cuMemsetD32_v2(address + 2, 7, 1));
    GIVES(1, cu.cuMemsetD16_v2(address + 1, 7, 1));
    GIVES(1, cu.cuMemsetD8_v2((CUdeviceptr)1 << 46, 7, 1));
    GIVES(0, cu.cuMemsetD8_v2(0, 7, 0));
    GIVES(500, cu.cuMemGetAddressRange_v2(&base, &bytes, 4096));
    GIVES(0, cu.cuMemGetAddressRange_v2(&base, &bytes, address + 9));
    cr_expect_eq(base, address);
    cr_expect_eq(bytes, 1000);
    GIVES(1, cu.cuPointerGetAttribute(host, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4096));
    GIVES(1, cu.cuPointerGetAttribute(host, (CUpointer_attribute)99, address));
    GIVES(1, cu.cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    GIVES(0, cu.cuMemFreeHost(NULL));
    GIVES(1, cu.cuMemFreeHost(host));
    GIVES(0, cu.cuMemFree_v2(address));
    GIVES(1, cu.cuMemFree_v2(address));
}

Test(misuse, streams_and_events) {
    struct libcuda cu = libcuda_start("h200");
    CUevent timed = NULL, untimed = NULL;
    CUstream stream = NULL;
    float milliseconds;
    GIVES(1, cu.cuEventCreate(NULL, 0));
    GIVES(1, cu.cuEventCreate(&timed, 99));
    GIVES(0, cu.cuEventCreate(&timed, CU_EVENT_DEFAULT));
    GIVES(0, cu.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    GIVES(400, cu.cuEventElapsedTime(&milliseconds, timed, timed)); /* never recorded */
    GIVES(0, cu.cuEventQuery(timed));
    GIVES(400, cu.cuEventQuery(NULL));
    GIVES(400, cu.cuEventDestroy_v2(NULL));
    GIVES(0, cu.cuEventRecord(timed, NULL));
    GIVES(0, cu.cuEventRecord(untimed, NULL));
    GIVES(400, cu.cuEventElapsedTime(&milliseconds, timed, untimed));
    GIVES(0, cu.cuEventSynchronize(timed));
    GIVES(1, cu.cuStreamCreate(NULL, 0));
    GIVES(1, cu.cuStreamCreate(&stream, 9));
    GIVES(400, cu.cuStreamDestroy_v2(NULL));
    GIVES(400, cu.cuStreamDestroy_v2(CU_STREAM_LEGACY));
    GIVES(0, cu.cuStreamQuery(NULL));
    int least = 7, greatest = 7;
    GIVES(0, cu.cuCtxGetStreamPriorityRange(&least, &greatest));
    cr_expect_eq(least, 0);
    cr_expect_eq(greatest, -5);
}

Test(misuse, limits) {
    static const size_t limits[] = {1024, 8650752, 8388608, 0, 2048, 64, 11796480, 232448};
    struct libcuda cu = libcuda_start("h200");
    for (int i = 0; i < 8; i++) {
        size_t value = 0;
        GIVES(limits[i] ? 0 : 215, cu.cuCtxGetLimit(&value, (CUlimit)i));
        cr_expect_eq(value, limits[i]);
    }
    unsigned version = 0;
    GIVES(0, cu.cuCtxGetApiVersion(NULL, &version));
    cr_expect_eq(version, 3020);
}

Test(misuse, texts) {
    struct libcuda cu = libcuda_start("h200");
    struct libcuda_lines lines = {0};
    CUmodule module;
    cu.set_log(libcuda_keep_line, &lines);
    GIVES(1, cu.cuModuleLoadData(&module, NULL));
    GIVES(200, cu.cuModuleLoadData(&module, ""));
    GIVES(200, cu.cuModuleLoadData(&module, "hello"));
    GIVES(222, cu.cuModuleLoadData(&module, ".version 99.0\n.target sm_90\n"));
    GIVES(218, cu.cuModuleLoadData(&module, ".version 8.6\n.target sm_100a\n"));
    GIVES(400, cu.cuModuleUnload(NULL));
    CUfunction function;
    GIVES(400, cu.cuModuleGetFunction(&function, NULL, "k"));
    GIVES(400, cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    GIVES(1, cu.cuLaunchKernelEx(NULL, NULL, NULL, NULL));
}
