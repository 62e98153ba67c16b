/* Watch points: what a callback sees at them, that it may look only when it may, and that the
 * kernel does not notice. */
#include <stdint.h>
#include <stdlib.h>

#include "libcuda.h"
#include "siltwin_watch.h"

/* A copy of 16 bytes lands in `tile`; each thread adds a word of it to its number. */
static const char text[] =
    ".version 8.0\n"
    ".target sm_90a\n"
    ".address_size 64\n"
    ".shared .align 16 .b32 tile[4]; .shared .align 8 .b64 full;\n"                      /* 4 */
    ".visible .entry k(.param .u64 x)\n"                                                 /* 5 */
    "{\n"                                                                                /* 6 */
    "  .reg .pred %p, %done; .reg .b32 %t, %at, %bar, %dead, %v; .reg .b64 %x, %to;\n"   /* 7 */
    "  mov.u32 %t, %tid.x; ld.param.u64 %x, [x]; mov.u32 %at, tile; mov.u32 %bar, full;" /* 8 */
    " mul.lo.u32 %dead, %t, 7; setp.eq.u32 %p, %t, 0;\n"
    "  @%p mbarrier.init.shared.b64 [%bar], 1;\n"                 /* 9 */
    "  @%p mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;\n" /* 10 */
    "  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%x+16], "
    "16, [%bar];\n"                                                 /* 11 */
    "  bar.sync 0;\n"                                               /* 12 */
    "WAIT: mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;\n" /* 13 */
    "  @!%done bra WAIT;\n"                                         /* 14 */
    "  and.b32 %v, %t, 3; shl.b32 %v, %v, 2; add.u32 %at, %at, %v;" /* 15 */
    " ld.shared.u32 %v, [%at];\n"
    "  add.u32 %v, %v, %t;\n"                            /* 16 */
    "  mul.wide.u32 %to, %t, 4; add.u64 %to, %to, %x;\n" /* 17 */
    "  st.global.u32 [%to+128], %v;\n"                   /* 18 */
    "  ret;\n}\n";                                       /* 19 */

static struct libcuda cu;
static siltwin_sim_set_watch *set_watch;
static siltwin_sim_watch_register *read_register;
static siltwin_sim_watch_operand *read_operand;
static siltwin_sim_watch_param *read_param;
static siltwin_sim_watch_global *read_global;
static siltwin_sim_watch_shared *read_shared;
static siltwin_sim_watch_shared_first *first_shared;
static siltwin_sim_watch_tmem *read_tmem;
static CUfunction k;
static CUdeviceptr x;

static void load_text(const char *device, const char *kernel_text) {
    CUmodule module;
    cu = libcuda_start(device);
    libcuda_symbol(&cu, "siltwinSimSetWatch", &set_watch);
    libcuda_symbol(&cu, "siltwinSimWatchRegister", &read_register);
    libcuda_symbol(&cu, "siltwinSimWatchOperand", &read_operand);
    libcuda_symbol(&cu, "siltwinSimWatchParam", &read_param);
    libcuda_symbol(&cu, "siltwinSimWatchGlobal", &read_global);
    libcuda_symbol(&cu, "siltwinSimWatchShared", &read_shared);
    libcuda_symbol(&cu, "siltwinSimWatchSharedFirst", &first_shared);
    libcuda_symbol(&cu, "siltwinSimWatchTmem", &read_tmem);
    cu.set_module_name("k.ptx");
    cr_assert_eq(cu.cuModuleLoadData(&module, kernel_text), 0);
    cr_assert_eq(cu.cuModuleGetFunction(&k, module, "k"), 0);
    cr_assert_eq(cu.cuMemAlloc_v2(&x, 4096), 0);
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(cu.cuMemsetD32_v2(x + 4 * i, 1000 * i, 1), 0);
}

static void load(void) {
    load_text("h200", text);
}

static void run(unsigned grid, unsigned block) {
    void *params[] = {&x};
    cr_assert_eq(cu.cuLaunchKernel(k, grid, 1, 1, block, 1, 1, 0, NULL, params, NULL), 0);
    cr_assert_eq(cu.cuCtxSynchronize(), 0, "%s", cu.last_report());
}

/* Column of the nth `word` in a line of the text. */
static uint32_t column_of(const char *from, uint32_t line, const char *word) {
    while (--line)
        from = strchr(from, '\n') + 1;
    const char *at = strstr(from, word);
    cr_assert(at && at < strchr(from, '\n'), "%s", word);
    return (uint32_t)(at - from) + 1;
}

static struct siltwin_watch_point point(const char *from, uint32_t line, const char *word) {
    return (struct siltwin_watch_point){"k.ptx", line, column_of(from, line, word), NULL, 0};
}

static void watch(struct siltwin_watch_point *points, uint32_t count, siltwin_watch_hit_fn *hit,
                  void *ctx) {
    const struct siltwin_sim_watch w = {sizeof w, count, points, hit, ctx};
    cr_assert_eq(set_watch(&w), 0);
}

static unsigned calls;

static void see_values(void *ctx, const struct siltwin_watch_hit *hit) {
    uint64_t value[2], address;
    uint32_t words[4];
    (void)ctx;
    if (hit->point != 0 || hit->moment == SILTWIN_WATCH_MBARRIER)
        return;
    calls++;
    cr_assert_eq(hit->cta, 0);
    cr_assert_eq(hit->lanes, UINT32_MAX);
    for (uint32_t lane = 0; lane < 32; lane++) {
        /* No instruction reads %dead; its value is there all the same. */
        cr_assert_eq(read_register(hit, lane, "%dead", value), 0);
        cr_expect_eq(value[0], 7 * (lane + 32 * hit->warp));
        cr_assert_eq(read_register(hit, lane, "%p", value), 0);
        cr_expect_eq(value[0], lane + 32 * hit->warp == 0);
        cr_assert_eq(read_operand(hit, lane, 2, -1, value), 0);
        cr_expect_eq(value[0], lane + 32 * hit->warp);
        cr_assert_eq(read_operand(hit, lane, 0, -1, value), 0);
        cr_expect_eq(value[0], 1000 * (4 + lane % 4) +
                                   (hit->moment == SILTWIN_WATCH_DONE ? lane + 32 * hit->warp : 0));
    }
    uint32_t first;
    cr_expect_eq(first_shared(hit, &first), 0);
    cr_expect_eq(first, 0x400);
    cr_expect_eq(read_shared(hit, 0, 16, words), 0);
    cr_expect_eq(words[3], 7000);
    cr_expect_eq(read_shared(hit, 1 << 20, 16, words), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_global(hit, x + 4, 8, words), 0);
    cr_expect_eq(words[1], 2000);
    cr_expect_eq(read_global(hit, 4, 8, words), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_param(hit, "x", &address), 0);
    cr_expect_eq(read_param(hit, "y", &address), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_register(hit, 0, "%nothing", value), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_register(hit, 0, "%v", value), CUDA_ERROR_INVALID_VALUE, "not asked for");
    cr_expect_eq(read_register(hit, 32, "%p", value), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_operand(hit, 0, 3, -1, value), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_operand(hit, 0, 0, 0, value), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_tmem(hit, 0, 0, 1, words), CUDA_ERROR_INVALID_VALUE, "an H200 has none");
}

Test(watch, values_before_and_behind_an_instruction, .init = load) {
    static const char *const names[] = {"%dead", "%p"};
    struct siltwin_watch_point points[] = {point(text, 16, "add.u32")};
    points[0].registers = names;
    points[0].register_count = 2;
    watch(points, 1, see_values, NULL);
    run(1, 64);
    cr_expect_eq(calls, 4, "two warps, before and behind: %u", calls);
    cr_assert_eq(set_watch(NULL), 0);
    run(1, 64);
    cr_expect_eq(calls, 4);
}

struct log {
    char lines[1 << 16];
    size_t length;
    uint64_t step;
    uint64_t issued, completed, arrived;
    uint32_t phase_address;
};

static void see_order(void *ctx, const struct siltwin_watch_hit *hit) {
    static const char *const names[] = {"reach", "done", "issue", "complete", "mbarrier"};
    struct log *log = ctx;
    uint64_t value[2];
    cr_assert_geq(hit->step, log->step, "steps never go back");
    log->step = hit->step;
    log->length += (size_t)snprintf(
        log->lines + log->length, sizeof log->lines - log->length,
        "%s point %d cta %u warp %d lanes %x running %x id %d completed %u step %d\n",
        names[hit->moment], (int)hit->point, hit->cta, (int)hit->warp, hit->lanes, hit->running,
        (int)hit->id, hit->completed, (int)hit->step);
    if (hit->moment == SILTWIN_WATCH_ISSUE || hit->moment == SILTWIN_WATCH_COMPLETE)
        cr_expect_eq(read_operand(hit, 0, 0, -1, value), CUDA_ERROR_ILLEGAL_STATE);
    if (hit->moment == SILTWIN_WATCH_ISSUE)
        log->issued = hit->step;
    if (hit->moment == SILTWIN_WATCH_COMPLETE)
        log->completed = hit->step;
    if (hit->moment == SILTWIN_WATCH_MBARRIER && hit->completed) {
        log->arrived = hit->step;
        log->phase_address = hit->address;
        cr_expect_eq(hit->id, 1);
        cr_expect_eq(hit->phase, 1);
        cr_expect_eq(hit->warp, UINT32_MAX);
    }
    if (hit->moment == SILTWIN_WATCH_REACH && hit->point == 0) {
        cr_expect_eq(hit->lanes, UINT32_MAX);
        cr_expect_eq(hit->running, hit->warp == 0);
        cr_expect_eq(read_operand(hit, 0, 1, -1, value), 0);
        cr_expect_eq(value[0], x + 16, "base and offset");
    }
}

static struct log *follow(uint32_t policy, uint32_t jobs, unsigned grid) {
    struct siltwin_watch_point points[] = {point(text, 11, "cp.async"), point(text, 13, "mbarrier"),
                                           point(text, 12, "bar"), point(text, 19, "ret")};
    struct siltwin_sim_run how = {.struct_bytes = sizeof how, .policy = policy, .jobs = jobs};
    struct log *log = calloc(1, sizeof *log);
    cr_assert(log);
    cr_assert_eq(cu.set_run(&how), 0);
    watch(points, 4, see_order, log);
    run(grid, 64);
    return log;
}

Test(watch, asynchronous_operations_in_their_order, .init = load) {
    struct log *eager = follow(SILTWIN_SIM_EAGER, 1, 1), *lazy = follow(SILTWIN_SIM_LAZY, 1, 1);
    cr_expect_gt(eager->issued, 0);
    cr_expect_gt(eager->completed, eager->issued);
    cr_expect_geq(lazy->completed, lazy->issued + 4, "a lazy copy waits for its waiters: %s",
                  lazy->lines);
    cr_expect_eq(lazy->phase_address, 0x410, "the mbarrier behind 16 bytes of tile");
    cr_expect(strstr(lazy->lines, "done point 1 cta 0 warp 1 lanes ffffffff"), "%s", lazy->lines);
    cr_expect(strstr(lazy->lines, "done point 3 cta 0 warp 0 lanes ffffffff"), "%s", lazy->lines);
    free(eager);
    free(lazy);
}

Test(watch, the_order_does_not_depend_on_jobs, .init = load) {
    struct log *one = follow(SILTWIN_SIM_LAZY, 1, 5), *four = follow(SILTWIN_SIM_LAZY, 4, 5);
    cr_expect_str_eq(one->lines, four->lines);
    cr_expect(strstr(one->lines, "cta 4"), "%s", one->lines);
    free(one);
    free(four);
}

static void see_nothing(void *ctx, const struct siltwin_watch_hit *hit) {
    (void)ctx;
    calls += hit->moment == SILTWIN_WATCH_REACH;
}

Test(watch, the_kernel_does_not_notice, .init = load) {
    static const char *const names[] = {"%dead", "%v", "%to", "%done"};
    struct siltwin_watch_point points[] = {point(text, 13, "mbarrier"), point(text, 16, "add")};
    struct siltwin_sim_stats plain = {.struct_bytes = sizeof plain},
                             watched = {.struct_bytes = sizeof watched};
    uint32_t before[96], after[96];
    cr_assert_eq(cu.set_stats(1), 0);
    run(3, 64);
    cr_assert_eq(cu.stats(&plain), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(before, x, sizeof before), 0);
    points[1].registers = names;
    points[1].register_count = 4;
    watch(points, 2, see_nothing, NULL);
    run(3, 64);
    cr_assert_eq(cu.stats(&watched), 0);
    cr_assert_eq(cu.cuMemcpyDtoH_v2(after, x, sizeof after), 0);
    cr_expect_geq(calls, 2u * 3 * 2);
    plain.host_seconds = watched.host_seconds = 0;
    cr_expect_gt(plain.warp_instructions, 0);
    cr_expect_eq(memcmp(&plain, &watched, sizeof plain), 0, "the counters are the same");
    cr_expect_eq(memcmp(before, after, sizeof before), 0);
}

Test(watch, what_cannot_be_watched, .init = load) {
    struct siltwin_watch_point points[] = {point(text, 16, "add"), point(text, 16, "add")};
    struct siltwin_sim_watch w = {sizeof w, 1, points, NULL, NULL};
    cr_expect_eq(set_watch(&w), CUDA_ERROR_INVALID_VALUE, "no callback");
    w = (struct siltwin_sim_watch){sizeof w, 1, NULL, see_nothing, NULL};
    cr_expect_eq(set_watch(&w), CUDA_ERROR_INVALID_VALUE, "no points");
    w = (struct siltwin_sim_watch){2, 0, NULL, NULL, NULL};
    cr_expect_eq(set_watch(&w), CUDA_ERROR_INVALID_VALUE, "a size that cannot be");
    /* Another file, and a place where nothing stands. */
    points[0].file = "other.ptx";
    points[1].column++;
    watch(points, 2, see_nothing, NULL);
    run(1, 32);
    cr_expect_eq(calls, 0);
}

static void see_tmem(void *ctx, const struct siltwin_watch_hit *hit) {
    uint32_t words[4];
    (void)ctx;
    if (hit->moment != SILTWIN_WATCH_REACH)
        return;
    calls++;
    /* Each lane put its number there; the fourth quarter's too, whatever warp looks. */
    for (uint32_t lane = 0; lane < 128; lane++) {
        cr_assert_eq(read_tmem(hit, lane, 30, 2, words), 0);
        cr_expect_eq(words[1], 500 + lane);
    }
    cr_expect_eq(read_tmem(hit, 127, 511, 1, words), 0);
    cr_expect_eq(read_tmem(hit, 128, 0, 1, words), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(read_tmem(hit, 0, 511, 2, words), CUDA_ERROR_INVALID_VALUE);
}

Test(watch, tensor_memory_of_all_lanes) {
    static const char tensor[] =
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".shared .align 4 .b32 place;\n.visible .entry k(.param .u64 x) {\n"
        ".reg .b32 %t, %a, %d; .reg .pred %p;\n"
        "mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n"
        "@%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;\n"
        "bar.sync 0; ld.shared.b32 %a, [place]; add.u32 %d, %t, 500; add.u32 %t, %a, 31;\n"
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%d}; tcgen05.wait::st.sync.aligned;\n"
        "bar.sync 0;\nadd.u32 %d, %d, 1;\nbar.sync 0;\n"
        "@%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 32;\nret; }\n";
    load_text("b200", tensor);
    struct siltwin_watch_point points[] = {point(tensor, 12, "add.u32")};
    watch(points, 1, see_tmem, NULL);
    run(1, 128);
    cr_expect_eq(calls, 4);
}
