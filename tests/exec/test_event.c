#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* What an observer sees of a launch. */

struct seen {
    uint64_t count[EVENT_KIND_COUNT];
    uint64_t insn_lanes, shared_lanes, global_bytes, async_bytes;
    uint64_t address[32];
};

static struct seen total;
static uint32_t workers;

static void *begin(void *ctx, uint32_t index) {
    (void)ctx;
    static struct seen contexts[8];
    workers++;
    memset(&contexts[index], 0, sizeof contexts[index]);
    return &contexts[index];
}

static void on_event(void *ctx, const struct event *event) {
    struct seen *seen = ctx;
    seen->count[event->kind]++;
    unsigned lanes = (unsigned)__builtin_popcount(event->lanes);
    if (event->kind == EVENT_INSN)
        seen->insn_lanes += lanes;
    if (event->kind == EVENT_SHARED_ACCESS)
        seen->shared_lanes += lanes;
    if (event->kind == EVENT_ASYNC_ISSUE)
        seen->async_bytes += event->async.writes_bytes;
    if (event->kind == EVENT_GLOBAL_ACCESS) {
        seen->global_bytes += (uint64_t)lanes * event->access.size_bytes;
        memcpy(seen->address, event->access.address, sizeof seen->address);
    }
}

static void end(void *ctx, void *worker) {
    (void)ctx;
    const struct seen *seen = worker;
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        total.count[i] += seen->count[i];
    total.insn_lanes += seen->insn_lanes;
    total.shared_lanes += seen->shared_lanes;
    total.global_bytes += seen->global_bytes;
    total.async_bytes += seen->async_bytes;
    if (seen->global_bytes > 0)
        memcpy(total.address, seen->address, sizeof total.address);
}

Test(event, every_kind_is_told_once) {
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct sim *sim = sim_load_simple(
            "  .shared .align 16 .b8 s[128]; .shared .align 8 .b64 full;\n"
            "  mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;\n"
            "  st.shared.u32 [%r4], %r1;\n"
            "  bar.sync 0;\n"
            "  setp.eq.u32 %p1, %r1, 0;\n"
            "  @%p1 mbarrier.init.shared.b64 [full], 1;\n"
            "  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;\n"
            "  @%p1 mov.u32 %r5, full;\n"
            "  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], "
            "[%rd1], 16, [%r5];\n"
            "  mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2;\n"
            "  st.global.v2.u32 [%rd2], {%r1, %r1};\n");
        memset(&total, 0, sizeof total);
        workers = 0;
        struct observer observer = {
            .kinds = UINT32_MAX, .worker_begin = begin, .event = on_event, .worker_end = end};
        sim->launch.observer = &observer;
        sim->launch.jobs = jobs;
        uint64_t out = sim_buffer(sim, 64);
        sim_arg64(sim, out);
        cr_assert_eq(sim_run(sim, 4, 32), STATUS_OK, "%s", strbuf_text(&sim->report));
        cr_expect_eq(workers, jobs);
        cr_expect_eq(total.count[EVENT_CTA_BEGIN], 4);
        cr_expect_eq(total.count[EVENT_CTA_END], 4);
        /* 3 of the head, 4 before the barrier, the barrier, setp, 4 guarded ones, 3, the end. */
        cr_expect_eq(total.count[EVENT_INSN], 4 * 17);
        cr_expect_eq(total.insn_lanes, 4 * (13 * 32 + 4));
        cr_expect_eq(total.count[EVENT_REACH], 4 * 17);
        cr_expect_eq(total.count[EVENT_DONE], 4 * 17);
        cr_expect_eq(total.count[EVENT_SHARED_ACCESS], 4);
        cr_expect_eq(total.shared_lanes, 4 * 32);
        cr_expect_eq(total.global_bytes, 4 * 32 * 8);
        cr_expect_eq(total.async_bytes, 4 * 16);
        cr_expect_eq(total.address[5], out + 40);
        cr_expect_eq(total.count[EVENT_ASYNC_ISSUE], 4);
        cr_expect_eq(total.count[EVENT_ASYNC_COMPLETE], 4);
        cr_expect_eq(total.count[EVENT_MBARRIER], 4 * 3);
        cr_expect_eq(total.count[EVENT_BARRIER], 4);
        cr_expect_eq(total.count[EVENT_TENSOR_COPY], 4);
        sim_free(sim);
    }
}
