/* The host library over the simulator: module, tensor map, launch, waiting and timing. */
#include <criterion/criterion.h>
#include <string.h>

#include "buffer.h"
#include "device.h"
#include "module.h"
#include "tensormap.h"
#include "timing.h"
#include "windows.h"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry fill(.param .u64 to, .param .u32 value)\n"
                           "{\n    .reg .u32 %r<3>; .reg .u64 %rd<4>;\n"
                           "    ld.param.u64 %rd0, [to];\n    ld.param.u32 %r0, [value];\n"
                           "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd1, %r1, 4;\n"
                           "    add.u64 %rd2, %rd0, %rd1;\n    st.global.u32 [%rd2], %r0;\n"
                           "    ret;\n}\n";

static struct driver driver;
static struct device device;
static struct host_error error;

static void start(void) {
    cr_assert(driver_open(&driver, SILTWIN_BUILD "/sim/libcuda.so.1", &error), "%s", error.text);
    cr_assert(device_open(&driver, 0, &device, &error), "%s", error.text);
}

static void stop(void) {
    device_close(&device);
    driver_close(&driver);
}

Test(host_sim, module_buffer_launch, .init = start, .fini = stop) {
    struct module module;
    struct buffer buffer;
    struct {
        CUdeviceptr to;
        unsigned value;
    } params = {.value = 42};
    cr_assert(module_load(&driver, text, &module, &error), "%s\n%s", error.text, module.log);
    cr_assert_null(module_function(&module, "nothing", &error));
    cr_assert_not_null(strstr(error.text, "CUDA_ERROR_NOT_FOUND (500)"));
    CUfunction fill = module_function(&module, "fill", &error);
    cr_assert_not_null(fill);
    cr_assert(buffer_alloc(&driver, 256, &buffer, &error));
    params.to = buffer.address;
    struct launch_desc launch = {.function = fill,
                                 .grid = {1, 1, 1},
                                 .block = {64, 1, 1},
                                 .params = &params,
                                 .params_bytes = 12};
    cr_assert_eq(launch_kernel(&driver, &launch, &error), CUDA_SUCCESS, "%s", error.text);
    cr_assert_eq(launch_wait(&driver, NULL, 10, &error), LAUNCH_DONE);
    unsigned words[64];
    cr_assert(buffer_download(&buffer, 0, words, sizeof words, &error));
    for (int i = 0; i < 64; i++)
        cr_assert_eq(words[i], 42);

    struct timing timing;
    cr_assert(timing_measure(&driver,
                             &(struct timing_desc){.launch = &launch, .warmups = 1, .repeats = 3},
                             &timing, &error));
    cr_assert_eq(timing.repeats, 3);
    cr_assert(timing.min_ms > 0 && timing.min_ms <= timing.median_ms);

    launch.block[0] = 2000;
    cr_assert_eq(launch_kernel(&driver, &launch, &error), CUDA_ERROR_INVALID_VALUE);
    cr_assert_not_null(strstr(error.text, "cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1)"));
    launch.block[0] = 1;
    launch.dynamic_smem_bytes = 232449;
    cr_assert_eq(launch_kernel(&driver, &launch, &error), CUDA_ERROR_INVALID_VALUE);
    cr_assert_str_eq(error.call, "cuFuncSetAttribute");
    buffer_free(&buffer);
    module_unload(&module);
}

Test(host_sim, a_kernel_that_faults, .init = start, .fini = stop) {
    struct module module;
    struct {
        CUdeviceptr to;
        unsigned value;
    } params = {0};
    cr_assert(module_load(&driver, text, &module, &error));
    struct launch_desc launch = {.function = module_function(&module, "fill", &error),
                                 .grid = {1, 1, 1},
                                 .block = {1, 1, 1},
                                 .params = &params,
                                 .params_bytes = 12};
    cr_assert_eq(launch_kernel(&driver, &launch, &error), CUDA_SUCCESS);
    cr_assert_eq(launch_wait(&driver, NULL, 0, &error), LAUNCH_FAILED);
    cr_assert_eq(error.code, CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_not(device_synchronize(&device, &error));
    module_unload(&module); /* the driver refuses, the log is given back all the same */
}

Test(host_sim, text_with_an_error, .init = start, .fini = stop) {
    struct module module;
    cr_assert_not(module_load(&driver, ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n",
                              &module, &error));
    cr_assert_eq(error.code, CUDA_ERROR_INVALID_PTX);
    cr_assert_not_null(strstr(module.log, ":4:1: error:"), "%s", module.log);
    module_unload(&module);
    cr_assert_null(module.log);
}

Test(host_sim, tensor_maps, .init = start, .fini = stop) {
    CUtensorMap map;
    struct tensormap_desc desc = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                  .rank = 2,
                                  .address = 0x10000,
                                  .dim = {64, 64},
                                  .stride_bytes = {256},
                                  .box = {32, 8},
                                  .element_stride = {1, 1},
                                  .swizzle = CU_TENSOR_MAP_SWIZZLE_128B};
    cr_assert_eq(tensormap_encode(&driver, &desc, &map), CUDA_SUCCESS);
    cr_assert_eq(tensormap_set_address(&driver, &map, 0x20000), CUDA_SUCCESS);
    desc.box[0] = 64; /* 256 bytes: wider than the swizzle's span */
    cr_assert_eq(tensormap_encode(&driver, &desc, &map), CUDA_ERROR_INVALID_VALUE);
}

Test(host_sim, windows, .init = start, .fini = stop) {
    struct windows windows;
    int (*simulated)(uint64_t *, uint64_t *);
    uint64_t shared, local;
    cr_assert(windows_read(&driver, &windows, &error), "%s", error.text);
    void *found = driver_extension(&driver, "siltwinSimWindows");
    memcpy(&simulated, &found, sizeof found);
    cr_assert_eq(simulated(&shared, &local), CUDA_SUCCESS);
    cr_assert_eq(windows.shared, shared);
    cr_assert_eq(windows.local, local);
    cr_assert_eq(shared % (1ull << 32), 0, "as on an H200 (observation 31)");
}
