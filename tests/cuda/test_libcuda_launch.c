/* Launches: both argument forms, what is refused, what happens after a fault. Codes marked H200 are
 * what its driver returned for the same calls, 2026-11-29. */
#include <stdint.h>

#include "libcuda.h"

static const char text[] = ".version 8.0\n"
                           ".target sm_90\n"
                           ".address_size 64\n"
                           ".visible .entry k(.param .u64 a, .param .u32 b)\n"
                           "{\n"
                           "    .reg .u32 %r<4>; .reg .u64 %rd<4>;\n"
                           "    ld.param.u64 %rd0, [a];\n"
                           "    ld.param.u32 %r0, [b];\n"
                           "    mov.u32 %r1, %tid.x;\n"
                           "    mul.wide.u32 %rd1, %r1, 4;\n"
                           "    add.u64 %rd2, %rd0, %rd1;\n"
                           "    add.u32 %r2, %r0, %r1;\n"
                           "    st.global.u32 [%rd2], %r2;\n"
                           "    ret;\n"
                           "}\n"
                           ".visible .entry e() { ret; }\n"
                           ".visible .entry r() .reqntid 64 { ret; }\n"
                           ".visible .entry m() .maxntid 64 { ret; }\n"
                           ".visible .entry t() { trap; }\n";

static struct libcuda cu;
static CUmodule module;
static CUfunction k, e, r, m, t;
static CUdeviceptr words;
static uint32_t b;
static void *pointers[] = {&words, &b};

static void load(void) {
    struct {
        const char *name;
        CUfunction *function;
    } all[] = {{"k", &k}, {"e", &e}, {"r", &r}, {"m", &m}, {"t", &t}};
    cu = libcuda_start("h200");
    cr_assert_eq(cu.cuModuleLoadData(&module, text), 0);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(cu.cuModuleGetFunction(all[i].function, module, all[i].name), 0);
    cr_assert_eq(cu.cuMemAlloc_v2(&words, 4096), 0);
}

static CUresult launch(CUfunction function, unsigned grid, unsigned block, unsigned dynamic,
                       void **params, void **extra) {
    return cu.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, dynamic, NULL, params, extra);
}

static void expect_words(uint32_t first, int count) {
    uint32_t got[1024];
    cr_assert_eq(cu.cuMemcpyDtoH_v2(got, words, sizeof got), 0);
    for (int i = 0; i < count; i++)
        cr_assert_eq(got[i], first + (uint32_t)i, "word %d is %u", i, got[i]);
    cr_assert_eq(got[count], 0xffffffffu);
}

Test(launch, arguments_by_pointer, .init = load) {
    cr_assert_eq(cu.cuMemsetD32_v2(words, 0xffffffff, 1024), 0);
    b = 100;
    cr_assert_eq(launch(k, 1, 50, 0, pointers, NULL), 0);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
    expect_words(100, 50);
}

Test(launch, arguments_packed, .init = load) {
    struct {
        CUdeviceptr a;
        uint32_t b;
    } block = {words, 7};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 33,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    cr_assert_eq(cu.cuMemsetD32_v2(words, 0xffffffff, 1024), 0);
    cr_assert_eq(cu.cuLaunchKernelEx(&config, k, NULL, extra), 0);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
    expect_words(7, 33);
}

/* H200, all of them. */
/* What is missing of a short block reads 0 (H200). */
Test(launch, a_short_argument_block, .init = load) {
    CUdeviceptr block[2] = {words, 0x1111};
    size_t bytes = 8;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    cr_assert_eq(cu.cuMemsetD32_v2(words, 0xffffffff, 1024), 0);
    cr_assert_eq(launch(k, 1, 2, 0, NULL, extra), 0);
    expect_words(0, 2);
}

/* One address for both sides: a kernel writes to host memory by the host's pointer. */
Test(launch, kernels_reach_host_memory, .init = load) {
    uint32_t *pinned = NULL;
    cr_assert_eq(cu.cuMemAllocHost_v2((void **)&pinned, 64), 0);
    void *params[] = {&pinned, &b};
    b = 5;
    cr_assert_eq(launch(k, 1, 16, 0, params, NULL), 0);
    for (unsigned i = 0; i < 16; i++)
        cr_assert_eq(pinned[i], 5 + i);
    cr_assert_eq(cu.cuMemFreeHost(pinned), 0);
    cr_assert_eq(launch(k, 1, 16, 0, params, NULL), 0);
    cr_assert_eq(cu.cuCtxSynchronize(), 700);
}

Test(launch, argument_blocks_of_wrong_size, .init = load) {
    static const struct {
        size_t bytes;
        int code;
    } rows[] = {{0, 1}, {16, 701}, {64, 701}};
    char block[64] = {0};
    for (int i = 0; i < 3; i++) {
        size_t bytes = rows[i].bytes;
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                         CU_LAUNCH_PARAM_END};
        cr_expect_eq((int)launch(k, 1, 1, 0, NULL, extra), rows[i].code, "%zu bytes", bytes);
        bytes = 12;
        cr_expect_eq((int)launch(k, 1, 1, 0, pointers, extra), 1);
    }
    void *no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_END};
    void *no_mark[] = {(void *)9, block, CU_LAUNCH_PARAM_END};
    cr_expect_eq((int)launch(k, 1, 1, 0, NULL, no_size), 1);
    cr_expect_eq((int)launch(k, 1, 1, 0, NULL, no_mark), 1);
    cr_expect_eq((int)launch(k, 1, 1, 0, NULL, NULL), 1);
    void *holes[] = {&words, NULL};
    cr_expect_eq((int)launch(k, 1, 1, 0, holes, NULL), 1);
    cr_expect_eq(cu.cuCtxSynchronize(), 0);
}

/* H200, observations 39 and 40 among them. */
Test(launch, sizes_that_are_refused, .init = load) {
    cr_expect_eq((int)launch(e, 0, 1, 0, NULL, NULL), 1);
    cr_expect_eq((int)launch(e, 1, 0, 0, NULL, NULL), 1);
    cr_expect_eq((int)launch(e, 1, 1025, 0, NULL, NULL), 1);
    cr_expect_eq((int)cu.cuLaunchKernel(e, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL), 1);
    cr_expect_eq((int)cu.cuLaunchKernel(e, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL), 1);
    cr_expect_eq((int)cu.cuLaunchKernel(e, 1, 1, 1, 64, 32, 1, 0, NULL, NULL, NULL), 1);
    cr_expect_eq((int)launch(e, 1, 1, 49153, NULL, NULL), 1);
    cr_expect_eq((int)launch(r, 1, 32, 0, NULL, NULL), 1);
    cr_expect_eq((int)cu.cuLaunchKernel(r, 1, 1, 1, 8, 8, 1, 0, NULL, NULL, NULL), 1);
    cr_expect_eq((int)launch(r, 1, 64, 0, NULL, NULL), 0);
    cr_expect_eq((int)launch(r, 1, 1, 0, NULL, NULL), 0); /* runs 64 threads, below */
    cr_expect_eq((int)launch(m, 1, 96, 0, NULL, NULL), 1);
    cr_expect_eq((int)launch(m, 1, 64, 0, NULL, NULL), 0);
    cr_expect_eq((int)launch(e, 1, 1, 49152, NULL, NULL), 0);
    cr_expect_eq((int)cu.cuFuncSetAttribute(e, 8, 232448), 0);
    cr_expect_eq((int)launch(e, 1, 1, 232448, NULL, NULL), 0);
    cr_expect_eq((int)launch(e, 1, 1, 232449, NULL, NULL), 1);
    cr_expect_eq((int)cu.cuLaunchKernel(e, 1, 1, 1, 1, 1, 1, 0, (CUstream)&cu, NULL, NULL), 400);
    cr_expect_eq(cu.cuCtxSynchronize(), 0); /* nothing sticky */
}

/* H200: a block of one thread stands for the block that .reqntid demands. */
Test(launch, one_thread_stands_for_the_required_block, .init = load) {
    static const char count[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .entry c(.param .u64 a) .reqntid 64\n"
                                "{\n    .reg .u64 %p; .reg .u32 %x;\n    ld.param.u64 %p, [a];\n"
                                "    mov.u32 %x, %ntid.x;\n    st.global.u32 [%p], %x;\n"
                                "    atom.global.add.u32 %x, [%p+4], 1;\n    ret;\n}\n";
    CUmodule counting;
    CUfunction c;
    uint32_t got[2] = {0};
    cr_assert_eq(cu.cuModuleLoadData(&counting, count), 0);
    cr_assert_eq(cu.cuModuleGetFunction(&c, counting, "c"), 0);
    cr_assert_eq(cu.cuMemsetD32_v2(words, 0, 2), 0);
    cr_assert_eq(launch(c, 2, 1, 0, pointers, NULL), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(got, words, 8), 0);
    cr_assert_eq(got[0], 64);
    cr_assert_eq(got[1], 128);
    cr_assert_eq(launch(c, 2, 2, 0, pointers, NULL), 1);
}

static CUresult launch_cluster(unsigned grid, unsigned x, unsigned y, unsigned z) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {x, y, z}};
    CUlaunchConfig config = {.gridDimX = grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    return cu.cuLaunchKernelEx(&config, e, NULL, NULL);
}

/* H200, all of them. */
Test(launch, clusters_that_are_refused, .init = load) {
    cr_expect_eq((int)launch_cluster(4, 3, 1, 1), 912);
    cr_expect_eq((int)launch_cluster(4, 0, 1, 1), 912);
    cr_expect_eq((int)launch_cluster(4, 2, 2, 1), 912);
    cr_expect_eq((int)launch_cluster(9, 9, 1, 1), 912);
    cr_expect_eq((int)launch_cluster(16, 16, 1, 1), 912);
    cr_expect_eq((int)launch_cluster(64, 32, 1, 1), 912);
    cr_expect_eq((int)launch_cluster(4, 1, 1, 1), 0);
    cr_expect_eq((int)cu.cuFuncSetAttribute(m, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2), 0);
    cr_expect_eq((int)launch(m, 4, 32, 0, NULL, NULL), 912); /* height and depth are not set */
    CUlaunchAttribute unknown = {.id = (CUlaunchAttributeID)77};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &unknown,
                             .numAttrs = 1};
    cr_expect_eq((int)cu.cuLaunchKernelEx(&config, e, NULL, NULL), 1);
    config.attrs = NULL;
    cr_expect_eq((int)cu.cuLaunchKernelEx(&config, e, NULL, NULL), 1);
    cr_expect_eq(cu.cuCtxSynchronize(), 0);
}

Test(launch, cooperative_grids_must_be_resident, .init = load) {
    cr_expect_eq((int)cu.cuLaunchCooperativeKernel(e, 264, 1, 1, 1024, 1, 1, 0, NULL, NULL), 0);
    cr_expect_eq((int)cu.cuLaunchCooperativeKernel(e, 265, 1, 1, 1024, 1, 1, 0, NULL, NULL), 720);
}

/* H200 observations 34 to 36: the launch succeeds, then every call returns the fault, and the rest
 * of the process goes on. */
Test(launch, a_fault_is_sticky, .init = load) {
    CUdeviceptr nowhere = 0;
    CUfunction found;
    CUcontext context = NULL;
    char bytes[4];
    void *params[] = {&nowhere, &b};
    cr_assert_eq(launch(k, 1, 1, 0, params, NULL), 0);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 700);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 700);
    cr_expect_eq((int)cu.cuMemAlloc_v2(&nowhere, 4), 700);
    cr_expect_eq((int)cu.cuMemcpyDtoH_v2(bytes, words, 4), 700);
    cr_expect_eq((int)cu.cuMemFree_v2(words), 700);
    cr_expect_eq((int)cu.cuModuleGetFunction(&found, module, "k"), 700);
    cr_expect_eq((int)launch(e, 1, 1, 0, NULL, NULL), 700);
    cr_expect_eq((int)cu.cuStreamSynchronize(NULL), 700);
    struct siltwin_sim_fault fault = {.struct_bytes = sizeof fault};
    cr_assert_eq(cu.last_fault(&fault), 0);
    cr_expect_eq(fault.end, SILTWIN_SIM_FAULT);
    cr_expect_eq(fault.result, 700);
    cr_expect_eq(fault.line, 13, "line %u", fault.line);
    cr_expect_str_eq(fault.kernel, "k");
    cr_expect_eq(fault.lanes, 1);
    cr_expect_not_null(strstr(cu.last_report(), ":13:"), "%s", cu.last_report());
    /* Another context is not touched. */
    cr_assert_eq(cu.cuCtxCreate_v2(&context, 0, 0), 0);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 0);
    cr_expect_eq((int)cu.cuMemAlloc_v2(&nowhere, 4), 0);
}

Test(launch, reset_clears_the_error, .init = load) {
    cr_assert_eq(launch(t, 1, 1, 0, NULL, NULL), 0);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 719);
    cr_assert_eq(cu.cuDevicePrimaryCtxReset_v2(0), 0);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 0);
    cr_expect_eq((int)cu.cuModuleUnload(module), 400);
}

Test(launch, settings_reach_the_launch, .init = load) {
    static const char spin[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry f()\n{\nAGAIN: bra AGAIN;\n}\n";
    struct siltwin_sim_run run = {.struct_bytes = sizeof run, .idle_budget = 10000, .jobs = 1};
    struct siltwin_sim_fault fault = {.struct_bytes = sizeof fault};
    CUmodule spinning;
    CUfunction f;
    cr_assert_eq(cu.set_run(&run), 0);
    cr_assert_eq(cu.cuModuleLoadData(&spinning, spin), 0);
    cr_assert_eq(cu.cuModuleGetFunction(&f, spinning, "f"), 0);
    cr_assert_eq(launch(f, 1, 1, 0, NULL, NULL), 0);
    cr_expect_eq((int)cu.cuCtxSynchronize(), 702);
    cr_assert_eq(cu.last_fault(&fault), 0);
    cr_expect_eq(fault.end, SILTWIN_SIM_BUDGET);
}

Test(launch, statistics, .init = load) {
    struct siltwin_sim_stats stats = {.struct_bytes = sizeof stats};
    cr_assert_eq(cu.set_stats(1), 0);
    cr_assert_eq(launch(k, 2, 64, 0, pointers, NULL), 0);
    cr_assert_eq(cu.stats(&stats), 0);
    cr_expect_eq(stats.warp_instructions, 4 * 8, "%lu", (unsigned long)stats.warp_instructions);
    cr_expect_eq(stats.thread_instructions, 128 * 8);
    cr_expect_eq(stats.store_requests, 4);
    cr_expect_eq(stats.store_sectors, 16);
    cr_expect_eq(stats.store_used_bytes, 512);
    cr_expect_eq(stats.load_requests, 0);
    uint64_t classes = 0;
    for (const uint64_t *c = &stats.integer; c <= &stats.other; c++)
        classes += *c;
    cr_expect_eq(classes, stats.warp_instructions);
    cr_expect_eq(stats.integer, 4 * 3);
    cr_expect_eq(stats.global_memory, 4);
    cr_expect_eq(stats.other_memory, 4 * 2);
    cr_expect_gt(stats.host_seconds, 0);
}

/* One line per side effect, every field on every line; the same lines in every run. */
Test(launch, events_as_text, .init = load) {
    struct libcuda_lines lines = {0}, again = {0};
    struct siltwin_sim_stats stats = {.struct_bytes = sizeof stats};
    char expected[512];
    cr_assert_eq(cu.set_stats(1), 0);
    cr_assert_eq(cu.set_events(libcuda_keep_line, &lines,
                               1u << SILTWIN_SIM_GLOBAL | 1u << SILTWIN_SIM_CTA_END),
                 0);
    cr_assert_eq(launch(k, 2, 2, 0, pointers, NULL), 0);
    snprintf(expected, sizeof expected,
             "1 0 0 00000003 ptx:13 st global write 4 %llx,%llx\n"
             "1 0 unit 00000000 - - cta.end\n"
             "1 1 0 00000003 ptx:13 st global write 4 %llx,%llx\n"
             "1 1 unit 00000000 - - cta.end\n",
             words, words + 4, words, words + 4);
    cr_expect_str_eq(lines.text, expected, "%s", lines.text);
    cr_assert_eq(cu.stats(&stats), 0);
    cr_expect_eq(stats.store_requests, 2); /* counted all the same */
    cr_assert_eq(cu.set_events(libcuda_keep_line, &again, ~0u), 0);
    cr_assert_eq(launch(e, 1, 1, 0, NULL, NULL), 0);
    cr_expect_not_null(strstr(again.text, "2 0 0 00000001 ptx:16 ret insn\n"), "%s", again.text);
    cr_assert_eq(cu.set_events(NULL, NULL, ~0u), 0);
    int count = again.count;
    cr_assert_eq(launch(e, 1, 1, 0, NULL, NULL), 0);
    cr_expect_eq(again.count, count);
}

/* A grid barrier finds its words through %envreg1 and 2 of a cooperative launch (H200). */
Test(launch, cooperative_grids_have_a_workspace, .init = load) {
    static const char env[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry env(.param .u64 out)\n{\n"
                              "    .reg .b32 %r<4>; .reg .b64 %out, %at; .reg .pred %none;\n"
                              "    ld.param.u64 %out, [out];\n"
                              "    mov.b32 %r0, %envreg1; mov.b32 %r1, %envreg2;\n"
                              "    mov.b64 %at, {%r1, %r0};\n"
                              "    setp.eq.u64 %none, %at, 0;\n"
                              "    @%none st.global.u32 [%out], 77;\n"
                              "    @%none ret;\n"
                              "    ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%at];\n"
                              "    st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};\n"
                              "    st.global.u32 [%at+4], 5;\n"
                              "    ret;\n}\n";
    static const uint32_t wanted[4] = {16, 0, 1, 0};
    CUmodule other;
    CUfunction function;
    uint32_t seen[4] = {0};
    cr_assert_eq(cu.cuModuleLoadData(&other, env), 0);
    cr_assert_eq(cu.cuModuleGetFunction(&function, other, "env"), 0);
    for (int i = 0; i < 2; i++) { /* each launch finds it fresh */
        cr_assert_eq(cu.cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers),
                     0);
        cr_assert_eq(cu.cuMemcpyDtoH_v2(seen, words, sizeof seen), 0);
        cr_assert_eq(memcmp(seen, wanted, sizeof seen), 0);
    }
    cr_assert_eq(launch(function, 1, 1, 0, pointers, NULL), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(seen, words, sizeof seen), 0);
    cr_assert_eq(seen[0], 77);
}
