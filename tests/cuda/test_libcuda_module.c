/* Modules, libraries, the linker, and what can be asked of a kernel. Codes marked H200 are what its
 * driver returned for the same calls, 2026-11-29. */
#include <stdint.h>
#include <stdlib.h>

#include "libcuda.h"

static const char text[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".global .u32 g[3] = {1, 2, 3};\n"
    ".const .u32 c = 7;\n"
    ".visible .entry k(.param .u64 a, .param .u32 b) { ret; }\n"
    ".visible .entry e() { ret; }\n"
    ".visible .entry r() .reqntid 64 { ret; }\n"
    ".visible .entry s()\n"
    "{ .shared .align 4 .b8 buffer[100]; st.shared.u32 [buffer], 1; ret; }\n";

static struct libcuda cu;
static CUmodule module;

static void load(void) {
    cu = libcuda_start("h200");
    cr_assert_eq(cu.cuModuleLoadData(&module, text), 0);
}

static CUfunction function(const char *name) {
    CUfunction found = NULL;
    cr_assert_eq(cu.cuModuleGetFunction(&found, module, name), 0, "%s", name);
    return found;
}

static int attribute(CUfunction kernel, CUfunction_attribute number) {
    int value = -77;
    cr_assert_eq(cu.cuFuncGetAttribute(&value, number, kernel), 0);
    return value;
}

Test(module, names, .init = load) {
    CUfunction found;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    cr_assert_eq(cu.cuModuleGetFunction(&found, module, NULL), 1);              /* H200 */
    cr_assert_eq(cu.cuModuleGetFunction(&found, module, ""), 1);                /* H200 */
    cr_assert_eq(cu.cuModuleGetFunction(&found, module, "zz"), 500);            /* H200 */
    cr_assert_eq(cu.cuModuleGetGlobal_v2(&address, &bytes, module, "zz"), 500); /* H200 */
    cr_assert_eq(cu.cuModuleGetGlobal_v2(NULL, NULL, module, "g"), 1);          /* H200 */
    cr_assert_eq(function("k"), function("k"));
    cr_assert_neq(function("k"), function("e"));
    unsigned count = 0;
    CUfunction all[9] = {0};
    cr_assert_eq(cu.cuModuleGetFunctionCount(&count, module), 0);
    cr_assert_eq(count, 4);
    cr_assert_eq(cu.cuModuleEnumerateFunctions(all, 9, module), 0);
    cr_assert_eq(all[0], function("k"));
    cr_assert_eq(all[3], function("s"));
    const char *name = NULL;
    CUmodule owner = NULL;
    cr_assert_eq(cu.cuFuncGetName(&name, all[1]), 0);
    cr_assert_str_eq(name, "e");
    cr_assert_eq(cu.cuFuncGetModule(&owner, all[1]), 0);
    cr_assert_eq(owner, module);
}

Test(module, variables_are_device_memory, .init = load) {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    uint32_t values[3] = {0};
    cr_assert_eq(cu.cuModuleGetGlobal_v2(&address, &bytes, module, "g"), 0);
    cr_assert_eq(bytes, 12);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(values, address, 12), 0);
    cr_assert_eq(values[0], 1);
    cr_assert_eq(values[2], 3);
    cr_assert_eq(cu.cuMemsetD32_v2(address, 9, 3), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(values, address, 12), 0);
    cr_assert_eq(values[1], 9);
    cr_assert_eq(cu.cuModuleGetGlobal_v2(&address, NULL, module, "c"), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(values, address, 4), 0);
    cr_assert_eq(values[0], 7);
    cr_assert_eq(cu.cuMemFree_v2(address), 1);
}

Test(module, parameters, .init = load) {
    size_t offset = 9, bytes = 9;
    cr_assert_eq(cu.cuFuncGetParamInfo(function("k"), 1, &offset, &bytes), 0);
    cr_assert_eq(offset, 8);
    cr_assert_eq(bytes, 4);
    cr_assert_eq(cu.cuFuncGetParamInfo(function("k"), 2, &offset, &bytes), 1);
    struct siltwin_sim_kernel info = {.struct_bytes = sizeof info};
    cr_assert_eq(cu.kernel_info(function("k"), &info), 0);
    cr_assert_eq(info.param_count, 2);
    cr_assert_eq(info.param_bytes, 12);
    cr_assert_eq(info.line, 6);
    cr_assert_str_eq(info.name, "k");
    cr_assert_eq(cu.kernel_info(NULL, &info), 400);
}

/* H200 observation 43 (a kernel without constants); the register count is our own and only bounded
 * here. */
Test(module, function_attributes, .init = load) {
    static const int expected[16] = {1024, 0, 0, 0, 0, 90, 90, 0, 49152, -1, 0, 0, 0, 0, 0, 0};
    CUfunction e = function("e"), s = function("s"), r = function("r");
    for (int number = 0; number < 16; number++)
        if (number != CU_FUNC_ATTRIBUTE_NUM_REGS && number != CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
            cr_expect_eq(attribute(e, (CUfunction_attribute)number), expected[number],
                         "attribute %d", number);
    cr_assert_eq(attribute(e, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 4); /* of the module's c */
    int registers = attribute(e, CU_FUNC_ATTRIBUTE_NUM_REGS);
    cr_assert(registers >= 1 && registers <= 255, "%d", registers);
    cr_assert_eq(attribute(r, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
    cr_assert_eq(attribute(s, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 100);
    cr_assert_eq(attribute(s, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 100);
    /* H200: a kernel that declares more than 48 KiB has opted in. */
    static const char big[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry g()\n"
                              "{ .shared .align 4 .b8 b[60000]; st.shared.u32 [b], 1; ret; }\n";
    CUmodule large;
    CUfunction g;
    cr_assert_eq(cu.cuModuleLoadData(&large, big), 0);
    cr_assert_eq(cu.cuModuleGetFunction(&g, large, "g"), 0);
    cr_assert_eq(attribute(g, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 60000);
    cr_assert_eq(attribute(g, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 172448);
    cr_assert_eq(cu.cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 172448, NULL, NULL, NULL), 0);
    cr_assert_eq(cu.cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 172449, NULL, NULL, NULL), 1);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
    int value;
    cr_expect_eq(cu.cuFuncGetAttribute(&value, (CUfunction_attribute)-1, e), 1); /* H200 */
    cr_expect_eq(cu.cuFuncGetAttribute(&value, (CUfunction_attribute)16, e), 1); /* H200 */
    cr_expect_eq(cu.cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, e), 1);
    cr_expect_eq(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL), 400);
}

/* All as the H200's driver answered, but the last two, which are documented. */
Test(module, settable_attributes, .init = load) {
    CUfunction e = function("e"), s = function("s");
    cr_expect_eq(cu.cuFuncSetAttribute(e, CU_FUNC_ATTRIBUTE_NUM_REGS, 5), 1);
    cr_expect_eq(cu.cuFuncSetAttribute(e, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1), 1);
    cr_expect_eq(cu.cuFuncSetAttribute(e, 8, 232448), 0);
    cr_expect_eq(attribute(e, 8), 232448);
    cr_expect_eq(cu.cuFuncSetAttribute(e, 8, 232449), 1);
    cr_expect_eq(cu.cuFuncSetAttribute(e, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
                 1);
    cr_expect_eq(cu.cuFuncSetAttribute(e, (CUfunction_attribute)99, 1), 1);
    cr_expect_eq(cu.cuFuncSetAttribute(e, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 5),
                 0);
    cr_expect_eq(cu.cuFuncSetAttribute(e, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2), 0);
    cr_expect_eq(cu.cuFuncSetAttribute(s, 8, 232448 - 100), 0);
    cr_expect_eq(cu.cuFuncSetAttribute(s, 8, 232448 - 99), 1);
}

/* The kernel of the H200's answers used 8 registers; one that uses none has the same limits. */
Test(module, occupancy, .init = load) {
    static const struct {
        int threads, dynamic, code, blocks;
    } rows[] = {{32, 0, 0, 32},     {1024, 0, 0, 2},    {1025, 0, 0, 0},    {0, 0, 1, 0},
                {128, 49152, 0, 4}, {128, 60000, 0, 0}, {96, 20000, 0, 11}, {64, 0, 0, 32}};
    CUfunction e = function("e");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int blocks = 0;
        cr_expect_eq((int)cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                         &blocks, e, rows[i].threads, (size_t)rows[i].dynamic),
                     rows[i].code);
        cr_expect_eq(blocks, rows[i].blocks, "%d threads, %d bytes: %d", rows[i].threads,
                     rows[i].dynamic, blocks);
    }
    size_t bytes = 0;
    cr_expect_eq(cu.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, e, 2, 128), 0);
    cr_expect_eq(bytes, 49152);
    cr_expect_eq(cu.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, e, 4, 1024), 1);
    cr_expect_eq(cu.cuOccupancyAvailableDynamicSMemPerBlock(&bytes, e, 32, 32), 0);
    cr_expect_eq(bytes, 7296);
    int grid = 0, block = 0;
    cr_expect_eq(cu.cuOccupancyMaxPotentialBlockSize(&grid, &block, e, NULL, 0, 0), 0);
    cr_expect_eq(grid, 264);
    cr_expect_eq(block, 1024);
}

Test(module, errors_go_to_the_jit_log, .init = load) {
    char errors[1000] = "", info[1000] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {errors, (void *)(uintptr_t)sizeof errors, info,
                      (void *)(uintptr_t)sizeof info};
    static const char wrong[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .entry k()\n{\n    .reg .u32 %r<2>;\n"
                                "    add.u33 %r0, %r0, %r1;\n    ret;\n}\n";
    CUmodule never = NULL;
    cu.set_module_name("kernels/wrong.ptx");
    cr_assert_eq(cu.cuModuleLoadDataEx(&never, wrong, 4, options, values), 218);
    cr_assert_null(never);
    cr_assert_not_null(strstr(errors, "kernels/wrong.ptx:7:"), "%s", errors);
    cr_assert_eq((uintptr_t)values[1], strlen(errors));
    cr_assert_str_eq(info, "");
    /* The name held for that load only. */
    values[1] = (void *)(uintptr_t)sizeof errors;
    cr_assert_eq(cu.cuModuleLoadDataEx(&never, wrong, 4, options, values), 218);
    cr_assert_not_null(strstr(errors, "ptx:7:"), "%s", errors);
    cr_assert_null(strstr(errors, "kernels/"));
}

Test(module, unloading, .init = load) {
    CUfunction e = function("e"), found;
    CUdeviceptr address = 0;
    cr_assert_eq(cu.cuModuleGetGlobal_v2(&address, NULL, module, "g"), 0);
    cr_assert_eq(cu.cuModuleUnload(module), 0);
    cr_assert_eq(cu.cuModuleUnload(module), 400);
    cr_assert_eq(cu.cuModuleGetFunction(&found, module, "e"), 400);
    cr_assert_eq(cu.cuLaunchKernel(e, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 400);
    cr_assert_eq(cu.cuMemsetD8_v2(address, 0, 4), 1);
}

Test(library, kernels, .init = load) {
    CUlibrary library = NULL, owner = NULL;
    CUkernel kernel = NULL, all[4] = {0};
    CUfunction of_kernel = NULL;
    CUmodule of_library = NULL;
    unsigned count = 0;
    int value = 0;
    const char *name = NULL;
    cr_assert_eq(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), 0);
    cr_assert_eq(cu.cuLibraryGetKernelCount(&count, library), 0);
    cr_assert_eq(count, 4);
    cr_assert_eq(cu.cuLibraryGetKernel(&kernel, library, "zz"), 500);
    cr_assert_eq(cu.cuLibraryGetKernel(&kernel, library, "r"), 0);
    cr_assert_eq(cu.cuLibraryEnumerateKernels(all, 4, library), 0);
    cr_assert_eq(all[2], kernel);
    cr_assert_eq(cu.cuKernelGetName(&name, kernel), 0);
    cr_assert_str_eq(name, "r");
    cr_assert_eq(cu.cuKernelGetLibrary(&owner, kernel), 0);
    cr_assert_eq(owner, library);
    cr_assert_eq(
        cu.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0), 0);
    cr_assert_eq(value, 64);
    cr_assert_eq(cu.cuKernelGetFunction(&of_kernel, kernel), 0);
    cr_assert_eq(cu.cuLaunchKernel(of_kernel, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), 0);
    /* A kernel may be launched as a function, as the API says. */
    cr_assert_eq(cu.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), 0);
    cr_assert_eq(cu.cuLibraryGetModule(&of_library, library), 0);
    cr_assert_eq(cu.cuModuleUnload(of_library), 400);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
    cr_assert_eq(cu.cuLibraryUnload(library), 0);
    cr_assert_eq(cu.cuKernelGetFunction(&of_kernel, kernel), 400);
    cr_assert_eq(cu.cuLibraryUnload(library), 400);
}

/* What a JIT client does: link one text, load the image. */
Test(link, one_text_through, .init = load) {
    CUlinkState state = NULL;
    void *image = NULL;
    size_t bytes = 0;
    CUmodule linked = NULL;
    struct libcuda_lines lines = {0};
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(cu.cuLinkCreate_v2(0, NULL, NULL, &state), 0);
    cr_assert_eq(cu.cuLinkComplete(state, &image, &bytes), 200);
    cr_assert_eq(cu.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text,
                                     "k.ptx", 0, NULL, NULL),
                 0);
    cr_assert_eq(cu.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text,
                                     "k.ptx", 0, NULL, NULL),
                 801);
    cr_assert_eq(cu.cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t)text, 4, "k", 0,
                                     NULL, NULL),
                 801);
    cr_assert_eq(cu.cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nonexistent", 0, NULL, NULL), 301);
    cr_assert_eq(cu.cuLinkComplete(state, &image, &bytes), 0);
    cr_assert_eq(bytes, sizeof text);
    cr_assert_eq(cu.cuModuleLoadData(&linked, image), 0);
    cr_assert_eq(cu.cuLinkDestroy(state), 0);
    cr_assert_eq(cu.cuLinkDestroy(state), 400);
    cr_assert_eq(lines.count, 2);
}

Test(module, files, .init = load) {
    char path[] = "/tmp/siltwin_moduleXXXXXX";
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    FILE *file = fdopen(descriptor, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    CUmodule loaded = NULL;
    CUlibrary library = NULL;
    cr_expect_eq(cu.cuModuleLoad(&loaded, path), 0);
    cr_expect_eq(cu.cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0), 0);
    remove(path);
    cr_expect_eq(cu.cuModuleLoad(&loaded, path), 301);
    cr_expect_eq(cu.cuModuleLoad(&loaded, NULL), 1);
}
