#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_run.h"
#include "support.h"

/* One CTA of one thread runs one sequence: steps first[ctaid] up to first[ctaid + 1], each an
 * operation and its operand. */
static const char sequence_ptx[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry sequence(.param .u64 p_steps, .param .u64 p_first, .param .u64 p_tokens,\n"
    "                         .param .u64 p_parity, .param .u64 p_words)\n"
    "{\n"
    "  .reg .pred p, a, b;\n"
    "  .reg .b32 i, end, op, operand, ra, rb, cta;\n"
    "  .reg .b64 d0, d1, steps, tokens, parity, words, token, word;\n"
    "  .shared .align 8 .b64 bar;\n"
    "  ld.param.u64 steps, [p_steps];\n"
    "  ld.param.u64 tokens, [p_tokens];\n"
    "  ld.param.u64 parity, [p_parity];\n"
    "  ld.param.u64 words, [p_words];\n"
    "  ld.param.u64 d0, [p_first];\n"
    "  mov.u32 cta, %ctaid.x;\n"
    "  mul.wide.u32 d1, cta, 4;\n"
    "  add.s64 d0, d0, d1;\n"
    "  ld.global.u32 i, [d0];\n"
    "  ld.global.u32 end, [d0+4];\n"
    "LOOP:\n"
    "  setp.ge.u32 p, i, end;\n"
    "  @p bra DONE;\n"
    "  mul.wide.u32 d1, i, 8;\n"
    "  add.s64 d0, steps, d1;\n"
    "  ld.global.v2.u32 {op, operand}, [d0];\n"
    "  mov.u64 token, 0;\n"
    "  setp.eq.u32 p, op, 0;\n"
    "  @p mbarrier.init.shared::cta.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 1;\n"
    "  @p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 2;\n"
    "  @p mbarrier.complete_tx.shared.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 3;\n"
    "  @p mbarrier.arrive.shared::cta.b64 token, [bar];\n"
    "  setp.eq.u32 p, op, 4;\n"
    "  @p mbarrier.arrive.release.cta.shared::cta.b64 token, [bar], operand;\n"
    "  setp.eq.u32 p, op, 5;\n"
    "  @p mbarrier.arrive.expect_tx.shared::cta.b64 token, [bar], operand;\n"
    "  setp.eq.u32 p, op, 6;\n"
    "  @p mbarrier.arrive_drop.shared.b64 token, [bar];\n"
    "  mbarrier.test_wait.parity.shared::cta.b64 a, [bar], 0;\n"
    "  mbarrier.test_wait.parity.shared::cta.b64 b, [bar], 1;\n"
    "  selp.u32 ra, 1, 0, a;\n"
    "  selp.u32 rb, 2, 0, b;\n"
    "  or.b32 ra, ra, rb;\n"
    "  mul.wide.u32 d1, i, 8;\n"
    "  add.s64 d0, tokens, d1;\n"
    "  st.global.u64 [d0], token;\n"
    "  mul.wide.u32 d1, i, 4;\n"
    "  add.s64 d0, parity, d1;\n"
    "  st.global.u32 [d0], ra;\n"
    "  add.u32 i, i, 1;\n"
    "  bra LOOP;\n"
    "DONE:\n"
    "  mbarrier.inval.shared::cta.b64 [bar];\n"
    "  ld.shared.u64 word, [bar];\n"
    "  mul.wide.u32 d1, cta, 8;\n"
    "  add.s64 d0, words, d1;\n"
    "  st.global.u64 [d0], word;\n"
    "  ret;\n"
    "}\n";

enum { SEQUENCES = 6000, STEPS = 39791 + 6000 };

struct sequences {
    uint32_t steps[STEPS][2];
    uint32_t first[SEQUENCES + 1];
    uint64_t tokens[STEPS], words[SEQUENCES];
    uint32_t parity[STEPS];
};

static uint32_t op_number(const char *name) {
    static const char *const names[] = {"init",         "expect_tx",        "complete_tx", "arrive",
                                        "arrive_count", "arrive_expect_tx", "arrive_drop"};
    uint32_t i = 0;
    while (i < 7 && strcmp(names[i], name) != 0)
        i++;
    cr_assert(i < 7, "%s", name);
    return i;
}

static void read_sequences(struct sequences *s) {
    struct csv *csv = csv_open("mbarrier/hw-H200-sequences.csv.gz");
    size_t ops = csv_column(csv, "ops"), tokens = csv_column(csv, "tokens");
    size_t parity = csv_column(csv, "parity"), word = csv_column(csv, "state_after_inval");
    uint32_t step = 0, row = 0;
    for (; csv_next(csv); row++) {
        const char *op = csv_text(csv, ops), *digits = csv_text(csv, parity);
        const char *token = csv_text(csv, tokens);
        char name[24], *end;
        int used = 0;
        s->first[row] = step;
        uint32_t operand;
        for (; sscanf(op, " %23[^:]:%" SCNu32 "%n", name, &operand, &used) == 2;
             op += used, step++) {
            cr_assert(step < STEPS);
            s->steps[step][1] = operand;
            s->steps[step][0] = op_number(name);
            s->tokens[step] = strtoull(token, &end, 16);
            token = end;
            s->parity[step] = (uint32_t)(*digits++ - '0');
        }
        s->words[row] = csv_hex(csv, word);
    }
    s->first[row] = step;
    cr_assert_eq(row, SEQUENCES);
    cr_assert_eq(step, STEPS);
    csv_close(csv);
}

Test(op_mbarrier, all_silicon_sequences_through_ptx) {
    struct sequences *s = malloc(sizeof *s);
    struct kernel_run run;
    read_sequences(s);
    kernel_open(&run, 90, sequence_ptx);
    uint64_t params[5] = {
        kernel_alloc(&run, s->steps, sizeof s->steps),
        kernel_alloc(&run, s->first, sizeof s->first), kernel_alloc(&run, NULL, sizeof s->tokens),
        kernel_alloc(&run, NULL, sizeof s->parity), kernel_alloc(&run, NULL, sizeof s->words)};
    enum fault_kind fault = kernel_launch(
        &run, "sequence", (struct kernel_shape){.grid = SEQUENCES}, params, sizeof params);
    cr_assert_eq(fault, FAULT_NONE, "%s", strbuf_text(&run.report));
    const uint8_t *tokens = kernel_bytes(&run, params[2], sizeof s->tokens);
    const uint8_t *parity = kernel_bytes(&run, params[3], sizeof s->parity);
    const uint8_t *words = kernel_bytes(&run, params[4], sizeof s->words);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        uint32_t first = s->first[i], count = s->first[i + 1] - first;
        cr_assert_eq(memcmp(tokens + 8 * first, s->tokens + first, 8 * count), 0, "row %u", i);
        cr_assert_eq(memcmp(parity + 4 * first, s->parity + first, 4 * count), 0, "row %u", i);
        cr_assert_eq(memcmp(words + 8 * i, s->words + i, 8), 0, "row %u", i);
    }
    kernel_close(&run);
    free(s);
    report_rows("mbarrier/hw-H200-sequences.csv.gz through PTX", SEQUENCES);
}

/* Runs `body` in one thread. bar and other are barriers, 8 bytes apart; out is the parameter. */
static enum fault_kind run_body(const char *body, struct kernel_run *run, uint32_t out[8],
                                enum completion_policy policy) {
    static const char frame[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                                ".visible .entry k(.param .u64 p_out)\n"
                                "{\n"
                                "  .reg .pred p, q;\n"
                                "  .reg .b32 r<8>;\n"
                                "  .reg .b64 d<8>, out, gen;\n"
                                "  .shared .align 8 .b64 bar;\n"
                                "  .shared .align 8 .b64 other;\n"
                                "  ld.param.u64 out, [p_out];\n"
                                "%s\n"
                                "  ret;\n"
                                "}\n";
    char text[4096];
    snprintf(text, sizeof text, frame, body);
    kernel_open(run, 90, text);
    uint64_t address = kernel_alloc(run, out, 32);
    enum fault_kind kind =
        kernel_launch(run, "k", (struct kernel_shape){.policy = policy}, &address, sizeof address);
    memcpy(out, kernel_bytes(run, address, 32), 32);
    return kind;
}

Test(op_mbarrier, faults_as_on_an_h200) {
    static const struct {
        const char *body;
        enum fault_kind kind;
        const char *reason;
    } rows[] = {
        {"mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 _, [bar], 3;",
         FAULT_LAUNCH_FAILED, "more arrivals"}, /* observation 19 */
        {"mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive_drop.shared.b64 _, [bar];"
         "mbarrier.arrive.shared.b64 _, [bar];",
         FAULT_LAUNCH_FAILED, "more arrivals"}, /* tests/isa/fault_mbarrier_drop_to_0.ptx */
        {"mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;"
         "mbarrier.complete_tx.shared.b64 [bar], 128; mbarrier.arrive.shared.b64 _, [bar];",
         FAULT_LAUNCH_FAILED, "more arrivals"}, /* tests/isa/fault_mbarrier_over_delivery.ptx */
        {"mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx.shared.b64 [bar], 1048575;"
         "mbarrier.expect_tx.shared.b64 [bar], 16;",
         FAULT_LAUNCH_FAILED, "tx-count"},                                            /* 24 */
        {"mbarrier.arrive.shared.b64 _, [bar];", FAULT_LAUNCH_FAILED, "no mbarrier"}, /* 37 */
        {"mbarrier.init.shared.b64 [bar+4], 1;", FAULT_MISALIGNED_ADDRESS,
         "multiple of 8"}, /* 35 */
        {"mbarrier.init.shared.b64 [bar], 0; mbarrier.arrive.shared.b64 _, [bar];",
         FAULT_LAUNCH_FAILED, "more arrivals"}, /* 37 */
        {"mbarrier.test_wait.parity.shared.b64 p, [bar], 0;", FAULT_LAUNCH_FAILED, "no mbarrier"},
        {"mov.u64 gen, 64; mbarrier.init.b64 [gen], 1;", FAULT_ADDRESS_SPACE, "outside shared"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kernel_run run;
        uint32_t out[8] = {0};
        enum fault_kind kind = run_body(rows[i].body, &run, out, POLICY_EAGER);
        cr_assert_eq(kind, rows[i].kind, "%s: %d %s", rows[i].body, kind, run.fault.reason);
        cr_assert_not_null(strstr(run.fault.reason, rows[i].reason), "%s", run.fault.reason);
        cr_assert_eq(run.fault.lanes, 1);
        kernel_close(&run);
    }
}

Test(op_mbarrier, generic_addresses_tokens_and_counts) {
    struct kernel_run run;
    uint32_t out[8] = {0};
    enum fault_kind kind =
        run_body("  mov.u32 r0, bar; cvt.u64.u32 d0, r0; cvta.shared.u64 gen, d0;\n"
                 "  mbarrier.init.b64 [gen], 3;\n"
                 "  mbarrier.arrive.noComplete.b64 d1, [gen], 2;\n"
                 "  mbarrier.pending_count.b64 r1, d1;\n"
                 "  st.global.u32 [out], r1;\n"
                 "  mbarrier.test_wait.b64 p, [gen], d1;\n"
                 "  selp.u32 r2, 1, 0, p; st.global.u32 [out+4], r2;\n"
                 "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r0];\n"
                 "  mbarrier.test_wait.shared.b64 p, [bar], d1;\n"
                 "  selp.u32 r2, 1, 0, p; st.global.u32 [out+8], r2;\n"
                 "  mbarrier.try_wait.acquire.cta.shared::cta.b64 q, [bar], d1, 1000;\n"
                 "  selp.u32 r2, 1, 0, q; st.global.u32 [out+12], r2;\n"
                 "  mbarrier.init.shared.b64 [other], 4;\n"
                 "  mbarrier.arrive_drop.expect_tx.shared.b64 d2, [other], 32;\n"
                 "  mbarrier.arrive_drop.noComplete.shared.b64 d2, [other], 1;\n"
                 "  mbarrier.arrive.shared::cluster.b64 _, [other], 2;\n"
                 "  mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [other], 32;\n"
                 "  mbarrier.arrive.shared.b64 d3, [other]; mbarrier.pending_count.b64 r3, d3;\n"
                 "  st.global.u32 [out+16], r3;\n",
                 &run, out, POLICY_EAGER);
    cr_assert_eq(kind, FAULT_NONE, "%s", strbuf_text(&run.report));
    static const uint32_t want[] = {3, 0, 1, 1, 2};
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(out[i], want[i], "word %zu is %u", i, out[i]);
    kernel_close(&run);
}

/* A phase that can never complete is a hang, and the report names the barrier's state. */
Test(op_mbarrier, endless_wait_is_a_hang) {
    struct kernel_run run;
    uint32_t out[8] = {0};
    enum fault_kind kind = run_body("  mbarrier.init.shared.b64 [bar], 1;\n"
                                    "  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
                                    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n"
                                    "  @!p bra WAIT;\n",
                                    &run, out, POLICY_EAGER);
    cr_assert_eq(kind, FAULT_HANG, "%s", strbuf_text(&run.report));
    cr_assert_not_null(strstr(strbuf_text(&run.report), "16"), "%s", strbuf_text(&run.report));
    kernel_close(&run);
}

/* 128 threads arrive, all wait; then the phases go on. */
Test(op_mbarrier, a_block_meets_at_a_barrier) {
    static const char text[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                               ".visible .entry k(.param .u64 p_out)\n"
                               "{\n"
                               "  .reg .pred p;\n"
                               "  .reg .b32 tid, i, parity, r0;\n"
                               "  .reg .b64 out, d0;\n"
                               "  .shared .align 8 .b64 bar;\n"
                               "  .shared .align 4 .b32 sum;\n"
                               "  ld.param.u64 out, [p_out];\n"
                               "  mov.u32 tid, %tid.x;\n"
                               "  setp.ne.u32 p, tid, 0;\n"
                               "  @p bra READY;\n"
                               "  mbarrier.init.shared.b64 [bar], 128;\n"
                               "  st.shared.u32 [sum], 0;\n"
                               "READY:\n"
                               "  bar.sync 0;\n"
                               "  mov.u32 i, 0;\n"
                               "ROUND:\n"
                               "  red.shared.add.u32 [sum], 1;\n"
                               "  mbarrier.arrive.shared::cta.b64 _, [bar];\n"
                               "  and.b32 parity, i, 1;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;\n"
                               "  @!p bra WAIT;\n"
                               "  add.u32 i, i, 1;\n"
                               "  setp.lt.u32 p, i, 5;\n"
                               "  @p bra ROUND;\n"
                               "  ld.shared.u32 r0, [sum];\n"
                               "  mul.wide.u32 d0, tid, 4;\n"
                               "  add.s64 d0, out, d0;\n"
                               "  st.global.u32 [d0], r0;\n"
                               "  ret;\n"
                               "}\n";
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct kernel_run run;
        kernel_open(&run, 90, text);
        uint64_t address = kernel_alloc(&run, NULL, 512);
        enum fault_kind kind = kernel_launch(
            &run, "k", (struct kernel_shape){.block = 128, .policy = POLICY_RANDOM, .seed = seed},
            &address, sizeof address);
        cr_assert_eq(kind, FAULT_NONE, "%s", strbuf_text(&run.report));
        for (size_t i = 0; i < 128; i++) {
            uint32_t word;
            memcpy(&word, kernel_bytes(&run, address, 512) + 4 * i, 4);
            cr_assert_eq(word, 640);
        }
        kernel_close(&run);
    }
}
