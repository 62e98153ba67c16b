#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* Who runs when: diverged lanes, warps and CTAs that wait for each other. */

Test(sched, lane_spins_on_lane) {
    struct sim *sim = sim_load_simple("  .shared .align 4 .b32 flag;\n"
                                      "  setp.ne.u32 %p1, %r1, 0;\n"
                                      "  @%p1 bra OTHER;\n"
                                      "  st.shared.u32 [flag], 0;\n"
                                      "SPIN: ld.volatile.shared.u32 %r3, [flag];\n"
                                      "  setp.ne.u32 %p2, %r3, 77;\n"
                                      "  @%p2 bra SPIN;\n"
                                      "  st.global.u32 [%rd1], %r3;\n"
                                      "  ret;\n"
                                      "OTHER: setp.ne.u32 %p3, %r1, 9;\n"
                                      "  @%p3 ret;\n"
                                      "  st.volatile.shared.u32 [flag], 77;\n"
                                      "  ret;\n");
    cr_assert_eq(sim_run_simple(sim, 1, 1, 32)[0], 77);
    sim_free(sim);
}

Test(sched, warp_spins_on_warp) {
    struct sim *sim = sim_load_simple("  .shared .align 4 .b32 flag;\n"
                                      "  st.shared.u32 [flag], 0;\n"
                                      "  bar.sync 0;\n"
                                      "  setp.ge.u32 %p1, %r1, 32;\n"
                                      "  @%p1 bra OTHER;\n"
                                      "SPIN: ld.volatile.shared.u32 %r3, [flag];\n"
                                      "  setp.ne.u32 %p2, %r3, 5;\n"
                                      "  @%p2 bra SPIN;\n"
                                      "  st.global.u32 [%rd1], %r3;\n"
                                      "  ret;\n"
                                      "OTHER: st.volatile.shared.u32 [flag], 5;\n"
                                      "  ret;\n");
    cr_assert_eq(sim_run_simple(sim, 1, 1, 64)[0], 5);
    sim_free(sim);
}

Test(sched, cta_spins_on_later_cta) {
    /* CTA 0 waits for the last one; more CTAs than fit on the device at 1024 threads. */
    struct sim *sim = sim_load_simple("  setp.eq.u32 %p1, %r2, 0;\n"
                                      "  @!%p1 bra OTHER;\n"
                                      "SPIN: ld.acquire.gpu.global.u32 %r3, [%rd1];\n"
                                      "  setp.ne.u32 %p2, %r3, 99;\n"
                                      "  @%p2 bra SPIN;\n"
                                      "  st.global.u32 [%rd1+4], %r3;\n"
                                      "  ret;\n"
                                      "OTHER: setp.ne.u32 %p3, %r2, 99;\n"
                                      "  @%p3 ret;\n"
                                      "  st.release.gpu.global.u32 [%rd1], %r2;\n"
                                      "  ret;\n");
    cr_assert_eq(sim_run_simple(sim, 2, 100, 1024)[1], 99);
    sim_free(sim);
}

Test(sched, diverged_lanes_come_together) {
    /* Both sides of the branch, then a count of the lanes that are together behind it. */
    struct sim *sim = sim_load_simple("  and.b32 %r3, %r1, 1;\n"
                                      "  setp.eq.u32 %p1, %r3, 0;\n"
                                      "  @%p1 bra EVEN;\n"
                                      "  add.u32 %r4, %r1, 100;\n"
                                      "  bra JOIN;\n"
                                      "EVEN: add.u32 %r4, %r1, 200;\n"
                                      "JOIN: activemask.b32 %r5;\n"
                                      "  mul.wide.u32 %rd2, %r1, 8;\n"
                                      "  add.u64 %rd2, %rd1, %rd2;\n"
                                      "  st.global.v2.u32 [%rd2], {%r4, %r5};\n"
                                      "  ret;\n");
    const uint32_t *words = sim_run_simple(sim, 64, 1, 32);
    for (uint32_t i = 0; i < 32; i++) {
        cr_assert_eq(words[2 * i], i + (i % 2 ? 100 : 200));
        cr_assert_eq(words[2 * i + 1], UINT32_MAX);
    }
    sim_free(sim);
}

Test(sched, loops_of_different_length_come_together) {
    struct sim *sim = sim_load_simple("  mov.u32 %r3, 0;\n"
                                      "LOOP: add.u32 %r3, %r3, 1;\n"
                                      "  setp.le.u32 %p1, %r3, %r1;\n"
                                      "  @%p1 bra LOOP;\n"
                                      "  activemask.b32 %r5;\n"
                                      "  mul.wide.u32 %rd2, %r1, 4;\n"
                                      "  add.u64 %rd2, %rd1, %rd2;\n"
                                      "  st.global.u32 [%rd2], %r5;\n"
                                      "  ret;\n");
    const uint32_t *words = sim_run_simple(sim, 32, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], UINT32_MAX);
    sim_free(sim);
}

Test(sched, shuffle_waits_for_diverged_lanes) {
    struct sim *sim = sim_load_simple("  setp.lt.u32 %p1, %r1, 16;\n"
                                      "  mov.u32 %r3, %r1;\n"
                                      "  @%p1 bra LOW;\n"
                                      "  mov.u32 %r4, 0;\n"
                                      "DELAY: add.u32 %r4, %r4, 1;\n"
                                      "  setp.lt.u32 %p2, %r4, 5000;\n"
                                      "  @%p2 bra DELAY;\n"
                                      "LOW: shfl.sync.bfly.b32 %r5, %r3, 31, 31, -1;\n"
                                      "  mul.wide.u32 %rd2, %r1, 4;\n"
                                      "  add.u64 %rd2, %rd1, %rd2;\n"
                                      "  st.global.u32 [%rd2], %r5;\n"
                                      "  ret;\n");
    const uint32_t *words = sim_run_simple(sim, 32, 1, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], 31 - i);
    sim_free(sim);
}

Test(sched, atomic_lock_between_lanes) {
    /* Every thread takes a lock with cas, adds one, and releases it. */
    struct sim *sim = sim_load_simple("AGAIN: atom.global.acquire.gpu.cas.b32 %r3, [%rd1], 0, 1;\n"
                                      "  setp.ne.u32 %p1, %r3, 0;\n"
                                      "  @%p1 bra AGAIN;\n"
                                      "  ld.volatile.global.u32 %r4, [%rd1+4];\n"
                                      "  add.u32 %r4, %r4, 1;\n"
                                      "  st.volatile.global.u32 [%rd1+4], %r4;\n"
                                      "  atom.global.release.gpu.exch.b32 %r3, [%rd1], 0;\n"
                                      "  ret;\n");
    cr_assert_eq(sim_run_simple(sim, 2, 5, 96)[1], 5 * 96);
    sim_free(sim);
}

Test(sched, grid_barrier) {
    /* All CTAs that fit must be there before one goes on. */
    struct sim *sim = sim_load_simple("  setp.ne.u32 %p1, %r1, 0;\n"
                                      "  @%p1 bra END;\n"
                                      "  atom.global.add.u32 %r3, [%rd1], 1;\n"
                                      "SPIN: ld.acquire.gpu.global.u32 %r4, [%rd1];\n"
                                      "  mov.u32 %r5, %nctaid.x;\n"
                                      "  setp.lt.u32 %p2, %r4, %r5;\n"
                                      "  @%p2 bra SPIN;\n"
                                      "  atom.global.add.u32 %r3, [%rd1+4], %r4;\n"
                                      "END: ret;\n");
    cr_assert_eq(sim_run_simple(sim, 2, 8, 1024)[1], 8 * 8);
    sim_free(sim);
}

Test(sched, same_outcome_for_any_number_of_jobs) {
    static uint32_t first[4096];
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct sim *sim = sim_load_simple("  mov.u32 %r6, %ntid.x;\n"
                                          "  mad.lo.u32 %r3, %r2, %r6, %r1;\n"
                                          "  mul.wide.u32 %rd2, %r3, 4;\n"
                                          "  add.u64 %rd2, %rd1, %rd2;\n"
                                          "  add.u32 %r9, %r9, %r7;\n"
                                          "  st.global.u32 [%rd2], %r9;\n"
                                          "  ret;\n");
        sim->launch.jobs = jobs;
        const uint32_t *words = sim_run_simple(sim, 4096, 64, 64);
        if (jobs == 1)
            memcpy(first, words, sizeof first);
        cr_assert_arr_eq(words, first, sizeof first);
        sim_free(sim);
    }
}

Test(sched, local_memory_does_not_remember_an_earlier_cta) {
    static uint32_t first[64];
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct sim *sim = sim_load_simple("  .local .align 4 .b32 l[4];\n"
                                          "  mul.wide.u32 %rd2, %r2, 4;\n"
                                          "  add.u64 %rd2, %rd1, %rd2;\n"
                                          "  ld.local.u32 %r3, [l+8];\n"
                                          "  st.local.u32 [l+8], 123;\n"
                                          "  st.global.u32 [%rd2], %r3;\n");
        sim->launch.jobs = jobs;
        const uint32_t *words = sim_run_simple(sim, 64, 64, 1);
        for (uint32_t i = 0; i < 64; i++)
            cr_assert_neq(words[i], 123);
        if (jobs == 1)
            memcpy(first, words, sizeof first);
        cr_assert_arr_eq(words, first, sizeof first);
        sim_free(sim);
    }
}

Test(sched, lowest_fault_wins_for_any_number_of_jobs) {
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        struct sim *sim = sim_load_simple("  mov.u64 %rd3, 0;\n"
                                          "  setp.lt.u32 %p1, %r2, 7;\n"
                                          "  @%p1 ret;\n"
                                          "  st.global.u32 [%rd3], %r1;\n"
                                          "  ret;\n");
        sim->launch.jobs = jobs;
        sim_arg64(sim, 0);
        cr_assert_eq(sim_run(sim, 200, 32), STATUS_INVALID);
        cr_assert_eq(sim->fault.kind, FAULT_ILLEGAL_ADDRESS);
        cr_assert_eq(sim->fault.cta[0], 7);
        cr_assert_eq(sim->fault.line, 13);
        sim_free(sim);
    }
}

/* Tensor Memory: each CTA takes all columns, works a while, and gives them back. */
#define ALLOC_ALL                                                                                  \
    ".version 9.0\n.target sm_100a\n.address_size 64\n"                                            \
    ".visible .entry k(.param .u64 out) {\n"                                                       \
    "  .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<3>; .shared .align 4 .b32 where;\n"        \
    "  mov.u32 %r1, where;\n"                                                                      \
    "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 512;\n"                      \
    "  ld.shared.u32 %r2, [where]; mov.u32 %r3, 0;\n"                                              \
    "LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 5000; @%p1 bra LOOP;\n"

Test(sched, resident_ctas_wait_for_tensor_memory) {
    for (uint32_t resident = 0; resident <= 3; resident++) {
        struct sim *sim =
            sim_load(ALLOC_ALL "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512;\n"
                               "  ld.param.u64 %rd1, [out]; mov.u32 %r4, %ctaid.x;\n"
                               "  mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2;\n"
                               "  st.global.u32 [%rd1], %r3;\n}\n",
                     100);
        sim->launch.resident = resident;
        const uint32_t *words = sim_run_simple(sim, 8, 8, 32);
        for (uint32_t i = 0; i < 8; i++)
            cr_assert_eq(words[i], 5000);
        sim_free(sim);
    }
}

Test(sched, tensor_memory_left_behind_is_a_fault) {
    struct sim *sim = sim_load(ALLOC_ALL "}\n", 100);
    sim_arg64(sim, 0);
    cr_assert_eq(sim_run(sim, 4, 32), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, FAULT_TENSOR_MEMORY_LEAK);
    cr_assert_eq(sim->fault.cta[0], 0);
    sim_free(sim);
}

Test(sched, allocation_that_waits_for_itself_is_a_hang) {
    struct sim *sim = sim_load(
        ALLOC_ALL "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;\n}\n", 100);
    sim_arg64(sim, 0);
    cr_assert_eq(sim_run(sim, 1, 32), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, FAULT_HANG, "%s", strbuf_text(&sim->report));
    cr_assert_not_null(strstr(strbuf_text(&sim->report), "waits for room in Tensor Memory"));
    sim_free(sim);
}

Test(sched, clusters_are_refused_by_name) {
    struct sim *sim = sim_load_simple("ret;\n");
    sim_arg64(sim, 0);
    sim->launch.cluster[0] = 2;
    cr_assert_eq(sim_run(sim, 2, 32), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, FAULT_UNSUPPORTED);
    sim_free(sim);
}
