#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* Barriers of a CTA, of a warp, of a one-CTA cluster. */

static enum fault_kind fault_of(const char *body, uint32_t threads) {
    struct sim *sim = sim_load_simple(body);
    sim_arg64(sim, sim_buffer(sim, 64));
    cr_assert_eq(sim_run(sim, 1, threads), STATUS_INVALID);
    enum fault_kind kind = sim->fault.kind;
    sim_free(sim);
    return kind;
}

#define OUT "  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r5;\n"

Test(sync, values_cross_a_barrier_many_times) {
    /* Each thread passes its value to the next one, 40 times, through shared memory. */
    struct sim *sim =
        sim_load_simple("  .shared .align 4 .b32 s[100];\n"
                        "  mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;\n"
                        "  add.u32 %r6, %r1, 1; rem.u32 %r6, %r6, 100; shl.b32 %r6, %r6, 2; "
                        "add.u32 %r6, %r3, %r6;\n"
                        "  mov.u32 %r5, %r1; mov.u32 %r7, 0;\n"
                        "LOOP: st.shared.u32 [%r4], %r5;\n"
                        "  bar.sync 0;\n"
                        "  ld.shared.u32 %r5, [%r6];\n"
                        "  bar.sync 0;\n"
                        "  add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 40;\n"
                        "  @%p1 bra LOOP;\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 100, 1, 100);
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(words[i], (i + 40) % 100);
    sim_free(sim);
}

Test(sync, named_barriers_with_arrive) {
    /* Warp 0 makes the value and only arrives; warp 1 waits on barrier 3 for both. Warps 2 and 3
     * have barrier 4 to themselves. */
    struct sim *sim = sim_load_simple("  .shared .align 4 .b32 s;\n"
                                      "  shr.u32 %r3, %r1, 5;\n"
                                      "  mov.u32 %r5, 1;\n"
                                      "  setp.gt.u32 %p1, %r3, 1; @%p1 bra PAIR;\n"
                                      "  setp.eq.u32 %p2, %r3, 1; @%p2 bra TAKE;\n"
                                      "  mov.u32 %r4, 3;\n"
                                      "  st.shared.u32 [s], 99; bar.arrive %r4, 64; bra END;\n"
                                      "TAKE: bar.sync 3, 64; ld.shared.u32 %r5, [s]; bra END;\n"
                                      "PAIR: barrier.sync 4, 64; mov.u32 %r5, 2;\n"
                                      "END:\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 128, 1, 128);
    for (uint32_t i = 0; i < 128; i++)
        cr_assert_eq(words[i], i < 32 ? 1 : i < 64 ? 99 : 2);
    sim_free(sim);
}

Test(sync, exited_threads_are_not_missed) {
    /* All of warp 1 and half of warp 0 leave before the barrier. */
    struct sim *sim = sim_load_simple("  setp.ge.u32 %p1, %r1, 16; @%p1 ret;\n"
                                      "  bar.sync 0;\n"
                                      "  mov.u32 %r5, 7;\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 64, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(words[i], i < 16 ? 7 : 0);
    sim_free(sim);
}

Test(sync, threads_that_exit_later_release_the_barrier) {
    struct sim *sim = sim_load_simple("  setp.ge.u32 %p1, %r1, 32; @%p1 bra LATE;\n"
                                      "  bar.sync 0; mov.u32 %r5, 7; bra END;\n"
                                      "LATE: mov.u32 %r3, 0;\n"
                                      "SPIN: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 9000;\n"
                                      "  @%p2 bra SPIN;\n"
                                      "  exit;\n"
                                      "END:\n" OUT);
    cr_assert_eq(sim_run_simple(sim, 64, 1, 64)[3], 7);
    sim_free(sim);
}

Test(sync, lanes_of_a_warp_arrive_apart) {
    struct sim *sim = sim_load_simple("  mov.u32 %r5, 1;\n"
                                      "  and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0;\n"
                                      "  @%p1 bra EVEN;\n"
                                      "  barrier.sync 0; mov.u32 %r5, 2; bra END;\n"
                                      "EVEN: barrier.sync 0; mov.u32 %r5, 3;\n"
                                      "END:\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 64, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(words[i], i % 2 ? 2 : 3);
    sim_free(sim);
}

Test(sync, reductions) {
    /* 48 threads: how many are below 20, are all, is any; then with other predicates. */
    struct sim *sim = sim_load_simple("  setp.lt.u32 %p1, %r1, 20; setp.lt.u32 %p2, %r1, 48;\n"
                                      "  bar.red.popc.u32 %r5, 0, %p1;\n"
                                      "  bar.red.and.pred %p3, 1, %p1;\n"
                                      "  bar.red.or.pred %p4, 2, !%p2;\n"
                                      "  barrier.cta.red.and.pred %p5, 0, 64, %p2;\n"
                                      "  selp.u32 %r6, 100, 0, %p3; add.u32 %r5, %r5, %r6;\n"
                                      "  selp.u32 %r6, 200, 0, %p4; add.u32 %r5, %r5, %r6;\n"
                                      "  selp.u32 %r6, 400, 0, %p5; add.u32 %r5, %r5, %r6;\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 48, 1, 48);
    for (uint32_t i = 0; i < 48; i++)
        cr_assert_eq(words[i], 420);
    sim_free(sim);
}

Test(sync, warp_barrier_joins_lanes_from_two_places) {
    struct sim *sim =
        sim_load_simple("  .shared .align 4 .b32 s[32];\n"
                        "  mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;\n"
                        "  xor.b32 %r6, %r1, 16; shl.b32 %r6, %r6, 2;\n"
                        "  add.u32 %r6, %r3, %r6;\n"
                        "  setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;\n"
                        "  st.shared.u32 [%r4], %r1; bar.warp.sync 0xffffffff;\n"
                        "  ld.shared.u32 %r5, [%r6]; bra END;\n"
                        "LOW: add.u32 %r7, %r1, 100; st.shared.u32 [%r4], %r7;\n"
                        "  bar.warp.sync -1; ld.shared.u32 %r5, [%r6];\n"
                        "END:\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 32, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], i < 16 ? i + 16 : i - 16 + 100);
    sim_free(sim);
}

Test(sync, warp_barrier_of_separate_halves) {
    struct sim *sim = sim_load_simple("  setp.lt.u32 %p1, %r1, 16;\n"
                                      "  selp.b32 %r3, 0xffff, 0xffff0000, %p1;\n"
                                      "  bar.warp.sync %r3; mov.u32 %r5, 5;\n" OUT);
    cr_assert_eq(sim_run_simple(sim, 32, 1, 32)[31], 5);
    sim_free(sim);
}

Test(sync, cluster_barrier_of_one_cta) {
    struct sim *sim = sim_load_simple(
        "  .shared .align 4 .b32 s;\n"
        "  setp.eq.u32 %p1, %r1, 70; @%p1 st.shared.u32 [s], 8;\n"
        "  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
        "  ld.shared.u32 %r5, [s];\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n" OUT);
    const uint32_t *words = sim_run_simple(sim, 96, 1, 96);
    for (uint32_t i = 0; i < 96; i++)
        cr_assert_eq(words[i], 8);
    sim_free(sim);
}

Test(sync, fences_and_the_like_do_nothing) {
    struct sim *sim = sim_load_simple(
        "  fence.sc.gpu; fence.acq_rel.cta; fence.cluster; membar.gl; fence.proxy.async;\n"
        "  fence.proxy.async.shared::cta; fence.proxy.alias; fence.mbarrier_init.release.cluster;\n"
        "  fence.proxy.tensormap::generic.release.gpu;\n"
        "  fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n"
        "  griddepcontrol.wait; griddepcontrol.launch_dependents;\n"
        "  setmaxnreg.dec.sync.aligned.u32 40; mov.u32 %r5, 9;\n" OUT);
    cr_assert_eq(sim_run_simple(sim, 1, 1, 1)[0], 9);
    sim_free(sim);
}

Test(sync, thread_counts_are_multiples_of_32) {
    cr_assert_eq(fault_of("mov.u32 %r3, 33; bar.sync 0, %r3; ret;", 32), FAULT_ILLEGAL_INSTRUCTION);
    cr_assert_eq(fault_of("mov.u32 %r3, 11; bar.arrive 1, %r3; ret;", 1),
                 FAULT_ILLEGAL_INSTRUCTION);
}

Test(sync, warps_name_one_thread_count) {
    cr_assert_eq(fault_of("shr.u32 %r3, %r1, 5; shl.b32 %r3, %r3, 5; add.u32 %r3, %r3, 64;"
                          "bar.sync 1, %r3; ret;",
                          64),
                 FAULT_ILLEGAL_INSTRUCTION);
}

Test(sync, what_is_undefined_has_no_verdict) {
    cr_assert_eq(fault_of("mov.u32 %r3, 0; bar.sync 1, %r3; ret;", 32), FAULT_UNSUPPORTED);
    cr_assert_eq(fault_of("bar.sync %r1; ret;", 8), FAULT_UNSUPPORTED);
    cr_assert_eq(fault_of("bar.arrive 1, 64; bar.arrive 1, 64; ret;", 32), FAULT_UNSUPPORTED);
    cr_assert_eq(fault_of("barrier.cluster.arrive; barrier.cluster.arrive; ret;", 64),
                 FAULT_UNSUPPORTED);
}
