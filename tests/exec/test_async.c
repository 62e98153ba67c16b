#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* When asynchronous operations take effect, and what happens when nothing can go on. */

/* A copy of 64 bytes from the buffer to shared memory, and the word read back at once (out word
 * 32) and after the wait (out word 33). */
#define COPY                                                                                       \
    "  .shared .align 16 .b8 tile[64]; .shared .align 8 .b64 full;\n"                              \
    "  st.shared.u32 [tile], 5;\n"                                                                 \
    "  mbarrier.init.shared.b64 [full], 1;\n"                                                      \
    "  st.global.u32 [%rd1], 77;\n"                                                                \
    "  fence.proxy.async;\n"                                                                       \
    "  mov.u32 %r3, tile; mov.u32 %r4, full;\n"                                                    \
    "  mbarrier.arrive.expect_tx.shared.b64 _, [%r4], BYTES;\n"                                    \
    "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 64, "      \
    "[%r4];\n"                                                                                     \
    "  ld.shared.u32 %r5, [tile]; st.global.u32 [%rd1+128], %r5;\n"                                \
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;\n"                                   \
    "  @!%p1 bra WAIT;\n"                                                                          \
    "  ld.shared.u32 %r5, [tile]; st.global.u32 [%rd1+132], %r5;\n"                                \
    "  ret;\n"

static struct sim *load_copy(const char *bytes) {
    struct strbuf text = {0};
    const char *at = strstr(COPY, "BYTES");
    strbuf_append(&text, COPY, (size_t)(at - COPY));
    strbuf_puts(&text, bytes);
    strbuf_puts(&text, at + 5);
    struct sim *sim = sim_load_simple(strbuf_text(&text));
    strbuf_free(&text);
    return sim;
}

Test(async, eager_lands_at_once_lazy_not_before_the_wait) {
    struct sim *sim = load_copy("64");
    const uint32_t *words = sim_run_simple(sim, 64, 1, 1);
    cr_assert_eq(words[32], 77);
    cr_assert_eq(words[33], 77);
    sim->launch.policy = POLICY_LAZY;
    words = sim_run_simple(sim, 64, 1, 1);
    cr_assert_eq(words[32], 5);
    cr_assert_eq(words[33], 77);
    sim_free(sim);
}

Test(async, random_lies_between_and_follows_its_seed) {
    struct sim *sim = load_copy("64");
    sim->launch.policy = POLICY_RANDOM;
    int early = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint32_t first = 0;
        for (int again = 0; again < 2; again++) {
            sim->launch.policy_seed = seed;
            const uint32_t *words = sim_run_simple(sim, 64, 1, 1);
            cr_assert_eq(words[33], 77);
            cr_assert(again == 0 || words[32] == first);
            first = words[32];
        }
        early += first == 77;
    }
    cr_assert_gt(early, 2);
    cr_assert_lt(early, 38);
    sim_free(sim);
}

Test(async, lazy_completes_for_a_thread_that_polls_with_test_wait) {
    struct sim *sim = sim_load_simple(
        "  .shared .align 16 .b8 tile[64]; .shared .align 8 .b64 full;\n"
        "  mbarrier.init.shared.b64 [full], 1;\n"
        "  st.global.u32 [%rd1], 77;\n"
        "  mov.u32 %r3, tile; mov.u32 %r4, full;\n"
        "  mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 64;\n"
        "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 64, "
        "[%r4];\n"
        "WAIT: mbarrier.test_wait.parity.shared.b64 %p1, [%r4], 0;\n"
        "  @!%p1 bra WAIT;\n"
        "  ld.shared.u32 %r5, [tile]; st.global.u32 [%rd1+4], %r5;\n");
    sim->launch.policy = POLICY_LAZY;
    cr_assert_eq(sim_run_simple(sim, 64, 1, 1)[1], 77);
    sim_free(sim);
}

Test(async, stores_in_flight_land_when_the_cta_ends) {
    struct sim *sim =
        sim_load_simple("  .shared .align 16 .b8 tile[64];\n"
                        "  st.shared.u32 [tile], 123; fence.proxy.async; mov.u32 %r3, tile;\n"
                        "  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 64;\n"
                        "  cp.async.bulk.commit_group; ret;\n");
    sim->launch.policy = POLICY_LAZY;
    cr_assert_eq(sim_run_simple(sim, 64, 1, 1)[0], 123);
    sim_free(sim);
}

static const char *hang_report(struct sim *sim, uint32_t threads, enum fault_kind kind) {
    sim->param_bytes = 0;
    sim_arg64(sim, sim_buffer(sim, 64));
    cr_assert_eq(sim_run(sim, 1, threads), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, kind, "%s", strbuf_text(&sim->report));
    return strbuf_text(&sim->report);
}

#define EXPECT_TEXT(report, text) cr_expect_not_null(strstr(report, text), "%s\n%s", text, report)

Test(async, too_many_bytes_expected_is_a_hang_with_a_report) {
    static const enum completion_policy policies[] = {POLICY_EAGER, POLICY_LAZY, POLICY_RANDOM};
    for (size_t i = 0; i < 3; i++) {
        struct sim *sim = load_copy("80");
        sim->launch.policy = policies[i];
        const char *report = hang_report(sim, 1, FAULT_HANG);
        EXPECT_TEXT(report,
                    "mbarrier full+0 (0x440) of cta (0,0,0): phase 0, pending arrivals 0 of "
                    "1, pending bytes 16 (announced 80, delivered 64)");
        EXPECT_TEXT(report, "warp 0 lane 0 at line 16: mbarrier.arrive.expect_tx");
        EXPECT_TEXT(report, "completion of line 17: cp.async.bulk");
        EXPECT_TEXT(report, "test.ptx:19:7: cta (0,0,0) warp 0 lanes 0x00000001 waits for mbarrier "
                            "full+0 (0x440), parity 0");
        EXPECT_TEXT(report, "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;");
        sim_free(sim);
    }
}

Test(async, missing_arrival_is_a_hang_of_barrier_and_mbarrier) {
    struct sim *sim = sim_load_simple("  .shared .align 8 .b64 full;\n"
                                      "  setp.ne.u32 %p1, %r1, 0;\n"
                                      "  @!%p1 mbarrier.init.shared.b64 [full], 2;\n"
                                      "  bar.sync 0;\n"
                                      "  setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER;\n"
                                      "  setp.eq.u32 %p1, %r1, 3;\n"
                                      "  @%p1 mbarrier.arrive.shared.b64 _, [full];\n"
                                      "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n"
                                      "  @!%p1 bra WAIT;\n"
                                      "OTHER: bar.sync 1;\n");
    const char *report = hang_report(sim, 64, FAULT_HANG);
    EXPECT_TEXT(report, "pending arrivals 1 of 2, pending bytes 0");
    EXPECT_TEXT(report, "warp 0 lane 3 at line 16: mbarrier.arrive");
    EXPECT_TEXT(report, "warp 1 lanes 0xffffffff waits at barrier 1: 32 of 64 threads arrived");
    sim_free(sim);
}

Test(async, lanes_that_never_come_are_a_hang) {
    struct sim *sim = sim_load_simple("  setp.lt.u32 %p1, %r1, 4; @%p1 bra AWAY;\n"
                                      "  shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; ret;\n"
                                      "AWAY: bar.sync 3, 64;\n");
    const char *report = hang_report(sim, 32, FAULT_HANG);
    EXPECT_TEXT(report, "lanes 0xfffffff0 waits for lanes 0x0000000f of its warp");
    sim_free(sim);
}

Test(async, a_poll_that_nothing_ends_is_a_hang) {
    static const char *const bodies[] = {
        "  .shared .align 4 .b32 flag; st.shared.u32 [flag], 0;\n"
        "SPIN: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p1, %r3, 0; @%p1 bra SPIN;\n",
        "  .shared .align 8 .b64 full; mbarrier.init.shared.b64 [full], 1;\n"
        "SPIN: mbarrier.test_wait.parity.shared.b64 %p1, [full], 0; @!%p1 bra SPIN;\n",
        "SPIN: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0;\n"
        "  nanosleep.u32 20; @%p1 bra SPIN;\n",
    };
    for (size_t i = 0; i < 3; i++) {
        struct sim *sim = sim_load_simple(bodies[i]);
        EXPECT_TEXT(hang_report(sim, 1, FAULT_HANG), "nothing can progress any more");
        if (i == 1)
            EXPECT_TEXT(strbuf_text(&sim->report), "mbarrier full+0 (0x400) of cta (0,0,0)");
        sim_free(sim);
    }
}

Test(async, a_wait_with_a_counter_uses_up_the_budget) {
    /* The registers differ each time, so it could end; it does not within the budget. */
    struct sim *sim =
        sim_load_simple("  .shared .align 8 .b64 full; mbarrier.init.shared.b64 [full], 1;\n"
                        "  mov.u64 %rd3, 0;\n"
                        "SPIN: add.u64 %rd3, %rd3, 1;\n"
                        "  mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n"
                        "  setp.gt.u64 %p2, %rd3, 1000000000000; @%p2 trap;\n"
                        "  @!%p1 bra SPIN;\n");
    sim->launch.idle_budget = 100000;
    EXPECT_TEXT(hang_report(sim, 1, FAULT_BUDGET), "no verdict");
    sim_free(sim);
}

Test(async, a_wait_with_a_time_limit_ends) {
    struct sim *sim =
        sim_load_simple("  .shared .align 8 .b64 full; mbarrier.init.shared.b64 [full], 1;\n"
                        "  mov.u32 %r3, 0;\n"
                        "SPIN: add.u32 %r3, %r3, 1;\n"
                        "  mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;\n"
                        "  setp.gt.u32 %p2, %r3, 500; @%p2 bra OUT;\n"
                        "  @!%p1 bra SPIN;\n"
                        "OUT: st.global.u32 [%rd1], %r3;\n");
    cr_assert_eq(sim_run_simple(sim, 1, 1, 1)[0], 501);
    sim_free(sim);
}

Test(async, waiting_on_a_cta_that_can_still_run_is_no_hang) {
    /* CTA 0 waits for a flag that CTA 1 sets after its own wait in vain for a while. */
    struct sim *sim = sim_load_simple(
        "  setp.ne.u32 %p1, %r2, 0; @%p1 bra OTHER;\n"
        "SPIN: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra SPIN;\n"
        "  st.global.u32 [%rd1+4], %r3; ret;\n"
        "OTHER: mov.u32 %r4, 0;\n"
        "LOOP: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 1000000; @%p2 bra LOOP;\n"
        "  st.release.gpu.global.u32 [%rd1], 6;\n");
    cr_assert_eq(sim_run_simple(sim, 2, 2, 1)[1], 6);
    sim_free(sim);
}

Test(async, a_wait_that_looks_at_the_clock_ends) {
    struct sim *sim = sim_load_simple("  mov.u64 %rd3, %clock64; add.u64 %rd3, %rd3, 300000;\n"
                                      "SPIN: mov.u64 %rd4, %clock64;\n"
                                      "  nanosleep.u32 100;\n"
                                      "  setp.lt.u64 %p1, %rd4, %rd3; mov.u64 %rd4, 0;\n"
                                      "  @%p1 bra SPIN;\n"
                                      "  st.global.u32 [%rd1], 4;\n");
    cr_assert_eq(sim_run_simple(sim, 1, 1, 1)[0], 4);
    sim_free(sim);
}

Test(async, more_ctas_than_run_at_a_time_cannot_meet) {
    /* 4 SMs hold 8 CTAs of 1024 threads; the ninth never starts. */
    struct sim *sim = sim_load_simple(
        "  setp.ne.u32 %p1, %r1, 0; @%p1 bra END;\n"
        "  atom.global.add.u32 %r3, [%rd1], 1; mov.u32 %r5, %nctaid.x;\n"
        "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd1]; setp.lt.u32 %p2, %r4, %r5; @%p2 bra SPIN;\n"
        "END: bar.sync 0;\n");
    sim_arg64(sim, sim_buffer(sim, 1));
    cr_assert_eq(sim_run(sim, 9, 1024), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, FAULT_HANG);
    EXPECT_TEXT(strbuf_text(&sim->report), "1 CTAs have not started: 8 run at a time");
    EXPECT_TEXT(strbuf_text(&sim->report), "waits at barrier 0: 1023 of 1024 threads arrived");
    sim_free(sim);
}
