/* Family mbarrier: random legal sequences of one thread on one barrier. The results are the upper
 * half of each step's token (the lower is what the compiler left there), test_wait of both parities
 * after it, and the state word after mbarrier.inval. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"

enum { CASES = CONFORM_MBARRIER_CASES, STEPS = CONFORM_MBARRIER_STEPS };

enum op { INIT, EXPECT_TX, COMPLETE_TX, ARRIVE, ARRIVE_COUNT, ARRIVE_EXPECT_TX, ARRIVE_DROP, NONE };

struct step {
    uint32_t op, operand;
};

static const char program[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p_steps, .param .u64 p_out)\n{\n"
    "  .reg .pred p, a, b;\n  .reg .b32 i, op, operand, ra, rb;\n"
    "  .reg .b64 steps, out, token, word;\n  .shared .align 8 .b64 bar;\n"
    "  ld.param.u64 steps, [p_steps];\n  ld.param.u64 out, [p_out];\n"
    "  mov.u32 i, %ctaid.x;\n  mad.wide.u32 steps, i, 128, steps;\n"
    "  mad.wide.u32 out, i, 264, out;\n  mov.u32 i, 0;\n"
    "LOOP:\n"
    "  ld.global.v2.u32 {op, operand}, [steps];\n"
    "  setp.eq.u32 p, op, 7;\n  @p bra DONE;\n"
    "  mov.u64 token, 0;\n"
    "  setp.eq.u32 p, op, 0;\n  @p mbarrier.init.shared::cta.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 1;\n"
    "  @p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 2;\n  @p mbarrier.complete_tx.shared.b64 [bar], operand;\n"
    "  setp.eq.u32 p, op, 3;\n  @p mbarrier.arrive.shared::cta.b64 token, [bar];\n"
    "  setp.eq.u32 p, op, 4;\n"
    "  @p mbarrier.arrive.release.cta.shared::cta.b64 token, [bar], operand;\n"
    "  setp.eq.u32 p, op, 5;\n"
    "  @p mbarrier.arrive.expect_tx.shared::cta.b64 token, [bar], operand;\n"
    "  setp.eq.u32 p, op, 6;\n  @p mbarrier.arrive_drop.shared.b64 token, [bar];\n"
    "  mbarrier.test_wait.parity.shared::cta.b64 a, [bar], 0;\n"
    "  mbarrier.test_wait.parity.shared::cta.b64 b, [bar], 1;\n"
    "  selp.u32 ra, 1, 0, a;\n  selp.u32 rb, 2, 0, b;\n  or.b32 ra, ra, rb;\n"
    "  shr.u64 token, token, 32;\n  st.global.u64 [out], token;\n  cvt.u64.u32 word, ra;\n  "
    "st.global.u64 [out+8], word;\n"
    "  add.u64 steps, steps, 8;\n  add.u64 out, out, 16;\n  add.u32 i, i, 1;\n"
    "  setp.lt.u32 p, i, 16;\n  @p bra LOOP;\n"
    "DONE:\n"
    "  mbarrier.inval.shared::cta.b64 [bar];\n  membar.cta;\n  nanosleep.u32 5000;\n"
    "  ld.volatile.shared.u64 word, [bar];\n"
    "  sub.u32 i, 16, i;\n  mad.wide.u32 out, i, 16, out;\n  st.global.u64 [out], word;\n"
    "  ret;\n}\n";

/* What decides whether a step is legal: pending arrivals, the count of the next phase, bytes owed
 * (negative: bytes that came early). */
struct model {
    int32_t pending, expected, owed;
};

static void check_completion(struct model *m) {
    if (m->pending == 0 && m->owed == 0)
        m->pending = m->expected;
}

static uint32_t some_bytes(struct conform_random *random) {
    return conform_below(random, 2) ? 16 * (1 + conform_below(random, 8))
                                    : 1 + conform_below(random, 20000);
}

static struct step arrival(struct conform_random *random, struct model *m) {
    switch (conform_below(random, 4)) {
    case 0: m->pending--; return (struct step){ARRIVE, 0};
    case 1: {
        uint32_t count = 1 + conform_below(random, (uint32_t)m->pending);
        m->pending -= (int32_t)count;
        return (struct step){ARRIVE_COUNT, count};
    }
    case 2: {
        uint32_t bytes = some_bytes(random);
        m->owed += (int32_t)bytes;
        m->pending--;
        return (struct step){ARRIVE_EXPECT_TX, bytes};
    }
    default:
        if (m->expected == 1) {
            m->pending--;
            return (struct step){ARRIVE, 0};
        }
        m->expected--;
        m->pending--;
        return (struct step){ARRIVE_DROP, 0};
    }
}

static struct step next_step(struct conform_random *random, struct model *m) {
    struct step step;
    if (m->pending > 0 && conform_below(random, 5) < 3) {
        step = arrival(random, m);
    } else if (m->pending == 0 && m->owed > 0) { /* more than owed would be fatal */
        uint32_t bytes = conform_below(random, 2) ? (uint32_t)m->owed
                                                  : 1 + conform_below(random, (uint32_t)m->owed);
        step = (struct step){COMPLETE_TX, bytes};
        m->owed -= (int32_t)bytes;
    } else if (m->pending == 0) { /* bytes came early */
        uint32_t bytes = conform_below(random, 2) ? (uint32_t)-m->owed
                                                  : 1 + conform_below(random, (uint32_t)-m->owed);
        step = (struct step){EXPECT_TX, bytes};
        m->owed += (int32_t)bytes;
    } else if (conform_below(random, 2)) {
        uint32_t bytes = some_bytes(random);
        step = (struct step){EXPECT_TX, bytes};
        m->owed += (int32_t)bytes;
    } else {
        uint32_t bytes =
            conform_below(random, 2) && m->owed > 0 ? (uint32_t)m->owed : some_bytes(random);
        step = (struct step){COMPLETE_TX, bytes};
        m->owed -= (int32_t)bytes;
    }
    check_completion(m);
    return step;
}

static void make_case(const struct conform_batch *batch, uint32_t index, struct step steps[STEPS]) {
    struct conform_random random = conform_random_of(batch, "mbarrier", index);
    uint32_t count = conform_below(&random, 8) ? 1 + conform_below(&random, 6)
                                               : 1 + conform_below(&random, 1048575);
    uint32_t step_count = 3 + conform_below(&random, STEPS - 2);
    struct model m = {(int32_t)count, (int32_t)count, 0};
    steps[0] = (struct step){INIT, count};
    for (uint32_t i = 1; i < STEPS; i++)
        steps[i] = i < step_count ? next_step(&random, &m) : (struct step){NONE, 0};
}

bool conform_mbarrier_run(struct conform_batch *batch, struct host_error *error) {
    struct step(*steps)[STEPS] = malloc(CASES * sizeof *steps);
    if (steps == NULL) {
        result_message(error, "no memory left");
        return false;
    }
    for (uint32_t i = 0; i < CASES; i++)
        make_case(batch, i, steps[i]);
    struct conform_launch launch = {
        .ptx = program,
        .entry = "k",
        .grid = CASES,
        .block = 1,
        .buffers = {{.from = steps, .bytes = CASES * sizeof *steps},
                    {.to = batch->results, .bytes = CASES * CONFORM_MBARRIER_BYTES}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    free(steps);
    return good;
}

void conform_mbarrier_describe(const struct conform_batch *batch, uint32_t index, char *text,
                               size_t size) {
    static const char *const names[] = {"init",         "expect_tx",        "complete_tx", "arrive",
                                        "arrive_count", "arrive.expect_tx", "arrive_drop"};
    struct step steps[STEPS];
    size_t at = 0;
    make_case(batch, index, steps);
    for (unsigned i = 0; i < STEPS && steps[i].op != NONE && at < size; i++)
        at +=
            (size_t)snprintf(text + at, size - at, "%s %u; ", names[steps[i].op], steps[i].operand);
}
