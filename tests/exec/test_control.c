#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* Calls, returns, indirect branches, traps. */

static const uint32_t *run_module(const char *body, uint32_t words, uint32_t threads) {
    static uint32_t copy[64];
    struct sim *sim = sim_load_body(body);
    cr_assert_leq(words, 64);
    memcpy(copy, sim_run_simple(sim, words, 1, threads), words * sizeof(uint32_t));
    sim_free(sim);
    return copy;
}

#define STORE_R5                                                                                   \
    "  mul.wide.u32 %rd2, %r1, 4;\n"                                                               \
    "  add.u64 %rd2, %rd1, %rd2;\n"                                                                \
    "  st.global.u32 [%rd2], %r5;\n"                                                               \
    "  ret;\n"                                                                                     \
    "}\n"
#define ENTRY                                                                                      \
    ".visible .entry k(.param .u64 out) {\n"                                                       \
    "  .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<5>;\n"                                     \
    "  ld.param.u64 %rd1, [out];\n"                                                                \
    "  mov.u32 %r1, %tid.x;\n"

Test(control, call_with_param_memory) {
    const uint32_t *words =
        run_module(".func (.param .b32 result) add3(.param .b32 x, .param .align 8 .b8 pair[8]) {\n"
                   "  .reg .b32 %a<6>;\n"
                   "  ld.param.b32 %a1, [x];\n"
                   "  ld.param.v2.b32 {%a2, %a3}, [pair];\n"
                   "  add.u32 %a4, %a1, %a2;\n"
                   "  add.u32 %a4, %a4, %a3;\n"
                   "  st.param.b32 [result], %a4;\n"
                   "  ret;\n"
                   "}\n" ENTRY "  {\n"
                   "  .param .b32 p0; .param .align 8 .b8 p1[8]; .param .b32 r0;\n"
                   "  st.param.b32 [p0], %r1;\n"
                   "  st.param.b32 [p1], 100;\n"
                   "  st.param.b32 [p1+4], 7;\n"
                   "  call.uni (r0), add3, (p0, p1);\n"
                   "  ld.param.b32 %r5, [r0];\n"
                   "  }\n" STORE_R5,
                   64, 64);
    for (uint32_t i = 0; i < 64; i++)
        cr_assert_eq(words[i], i + 107);
}

Test(control, call_with_registers_and_immediates) {
    const uint32_t *words =
        run_module(".func (.reg .b32 d) pick(.reg .pred q, .reg .b32 a, .reg .b64 b) {\n"
                   "  .reg .b32 t;\n"
                   "  cvt.u32.u64 t, b;\n"
                   "  selp.b32 d, a, t, q;\n"
                   "}\n" ENTRY "  setp.lt.u32 %p1, %r1, 4;\n"
                   "  cvt.u64.u32 %rd3, %r1;\n"
                   "  call (%r5), pick, (%p1, 1000, %rd3);\n" STORE_R5,
                   32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], i < 4 ? 1000 : i);
}

Test(control, registers_for_param_formals_and_back) {
    const uint32_t *words =
        run_module(".func (.param .b32 d) f(.param .b32 a, .param .b64 b, .reg .b32 c) {\n"
                   "  .reg .b32 t, u; .reg .b64 v;\n"
                   "  ld.param.b32 t, [a]; ld.param.b64 v, [b]; cvt.u32.u64 u, v;\n"
                   "  mad.lo.u32 t, t, u, c; st.param.b32 [d], t; ret;\n"
                   "}\n" ENTRY "  cvt.u64.u32 %rd3, %r1;\n"
                   "  { .param .b32 p; st.param.b32 [p], 7;\n"
                   "  call (%r5), f, (3, %rd3, p); }\n" STORE_R5,
                   32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], 3 * i + 7);
}

Test(control, recursion_differs_by_lane) {
    /* f(n) = n < 2 ? n : f(n-1) + f(n-2), for n = lane modulo 12, with a local variable per call.
     */
    const uint32_t *words =
        run_module(".func (.reg .b32 d) fib(.reg .b32 n) {\n"
                   "  .reg .b32 a, b; .reg .pred q; .local .align 4 .b32 keep;\n"
                   "  st.local.u32 [keep], n;\n"
                   "  mov.b32 d, n;\n"
                   "  setp.lt.u32 q, n, 2;\n"
                   "  @q ret;\n"
                   "  sub.u32 a, n, 1;\n"
                   "  call (a), fib, (a);\n"
                   "  ld.local.u32 b, [keep];\n"
                   "  sub.u32 b, b, 2;\n"
                   "  call (b), fib, (b);\n"
                   "  add.u32 d, a, b;\n"
                   "  ret;\n"
                   "}\n" ENTRY "  rem.u32 %r3, %r1, 12;\n"
                   "  call (%r5), fib, (%r3);\n" STORE_R5,
                   32, 32);
    static const uint32_t fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], fib[i % 12], "lane %u: %u", i, words[i]);
}

Test(control, indirect_call_by_lane) {
    const uint32_t *words =
        run_module(".func (.reg .b32 d) twice(.reg .b32 a) { add.u32 d, a, a; ret; }\n"
                   ".func (.reg .b32 d) square(.reg .b32 a) { mul.lo.u32 d, a, a; ret; }\n" ENTRY
                   "  and.b32 %r3, %r1, 1;\n"
                   "  setp.eq.u32 %p1, %r3, 0;\n"
                   "  mov.u64 %rd3, twice;\n"
                   "  mov.u64 %rd4, square;\n"
                   "  selp.b64 %rd3, %rd3, %rd4, %p1;\n"
                   "  proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
                   "  call (%r5), %rd3, (%r1), proto;\n" STORE_R5,
                   32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], i % 2 ? i * i : 2 * i);
}

Test(control, call_through_a_table_in_memory) {
    const uint32_t *words = run_module(
        ".func (.reg .b32 d) plus(.reg .b32 a) { add.u32 d, a, 5; ret; }\n"
        ".func (.reg .b32 d) minus(.reg .b32 a) { sub.u32 d, a, 5; ret; }\n"
        ".global .align 8 .u64 table[2] = {plus, minus};\n" ENTRY "  mov.u64 %rd3, table;\n"
        "  and.b32 %r3, %r1, 1;\n"
        "  mul.wide.u32 %rd4, %r3, 8;\n"
        "  add.u64 %rd3, %rd3, %rd4;\n"
        "  ld.global.u64 %rd3, [%rd3];\n"
        "  proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
        "  call (%r5), %rd3, (%r1), proto;\n" STORE_R5,
        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], i % 2 ? i - 5 : i + 5);
}

Test(control, shuffle_in_a_function_that_lanes_enter_apart) {
    const uint32_t *words = run_module(".func (.reg .b32 d) swap(.reg .b32 a) {\n"
                                       "  shfl.sync.bfly.b32 d, a, 1, 31, -1;\n"
                                       "  ret;\n"
                                       "}\n" ENTRY "  mov.u32 %r6, 0;\n"
                                       "  setp.lt.u32 %p1, %r1, 7;\n"
                                       "  @%p1 bra CALL;\n"
                                       "WAIT: add.u32 %r6, %r6, 1;\n"
                                       "  setp.lt.u32 %p2, %r6, %r1;\n"
                                       "  @%p2 bra WAIT;\n"
                                       "CALL: call (%r5), swap, (%r1);\n" STORE_R5,
                                       32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], i ^ 1);
}

Test(control, branch_by_index) {
    const uint32_t *words = run_module(ENTRY "  rem.u32 %r3, %r1, 3;\n"
                                             "  ts: .branchtargets A, B, C;\n"
                                             "  brx.idx %r3, ts;\n"
                                             "A: mov.u32 %r5, 10; bra END;\n"
                                             "B: mov.u32 %r5, 20; bra END;\n"
                                             "C: mov.u32 %r5, 30;\n"
                                             "END: activemask.b32 %r6;\n"
                                             "  popc.b32 %r6, %r6;\n"
                                             "  add.u32 %r5, %r5, %r6;\n" STORE_R5,
                                       32, 32);
    for (uint32_t i = 0; i < 32; i++)
        cr_assert_eq(words[i], 10 * (i % 3 + 1) + 32);
}

static enum fault_kind fault_of(const char *body) {
    struct sim *sim = sim_load_body(body);
    sim_arg64(sim, sim_buffer(sim, 64));
    cr_assert_eq(sim_run(sim, 1, 32), STATUS_INVALID);
    enum fault_kind kind = sim->fault.kind;
    cr_assert_gt(strlen(strbuf_text(&sim->report)), 0);
    sim_free(sim);
    return kind;
}

Test(control, faults) {
    /* trap, brkpt: H200 observation 36. */
    cr_assert_eq(fault_of(ENTRY "trap; }"), FAULT_LAUNCH_FAILED);
    cr_assert_eq(fault_of(ENTRY "brkpt; }"), FAULT_LAUNCH_FAILED);
    cr_assert_eq(fault_of(ENTRY "ts: .branchtargets A; brx.idx %r1, ts; A: ret; }"),
                 FAULT_INVALID_PC);
    cr_assert_eq(fault_of(ENTRY "p: .callprototype _ (); mov.u64 %rd3, 64; call %rd3, p; ret; }"),
                 FAULT_INVALID_PC);
    cr_assert_eq(fault_of(".func f() { call f; ret; }\n" ENTRY "call f; ret; }"),
                 FAULT_ILLEGAL_ADDRESS);
}
