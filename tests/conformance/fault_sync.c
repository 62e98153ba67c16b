/* Fault cases of synchronisation and control: mbarriers, named barriers, trap, the stack. */
#include "fault_case.h"

static uint32_t pick_count(struct conform_random *random) {
    switch (conform_below(random, 8)) {
    case 0: return 0;
    case 1: return 0xfffff - conform_below(random, 2);
    case 2: return 0x100000 + conform_below(random, 3);
    case 3: return (uint32_t)conform_next(random);
    case 4: return 1 + conform_below(random, 0xfffff);
    default: return 1 + conform_below(random, 4);
    }
}

static uint32_t pick_bytes(struct conform_random *random) {
    return conform_below(random, 3) ? 16 * (1 + conform_below(random, 8)) : pick_count(random);
}

/* Operations on the barrier at %r0, and what operand follows: none, a count, bytes. */
static const struct {
    const char *name, *text;
    char operand;
} mbarrier_ops[] = {
    {"arrive", "arrive.shared::cta.b64 %d8, [%r0]", ' '},
    {"arrive", "arrive.shared::cta.b64 %d8, [%r0]", ' '},
    {"arrive of", "arrive.shared::cta.b64 %d8, [%r0], %r9", 'c'},
    {"arrive.expect_tx", "arrive.expect_tx.shared::cta.b64 %d8, [%r0], %r9", 'b'},
    {"arrive.expect_tx", "arrive.expect_tx.shared::cta.b64 %d8, [%r0], %r9", 'b'},
    {"arrive.noComplete", "arrive.noComplete.shared::cta.b64 %d8, [%r0], %r9", 'c'},
    {"arrive_drop", "arrive_drop.shared::cta.b64 %d8, [%r0]", ' '},
    {"arrive_drop of", "arrive_drop.shared::cta.b64 %d8, [%r0], %r9", 'c'},
    {"expect_tx", "expect_tx.relaxed.cta.shared::cta.b64 [%r0], %r9", 'b'},
    {"complete_tx", "complete_tx.relaxed.cta.shared::cta.b64 [%r0], %r9", 'b'},
    {"init", "init.shared::cta.b64 [%r0], %r9", 'c'},
    {"inval", "inval.shared::cta.b64 [%r0]", ' '},
};
enum { MBARRIER_OPS = sizeof mbarrier_ops / sizeof mbarrier_ops[0], MBARRIER_ARRIVALS = 8 };

static void put_step(struct conform_random *random, struct fault_case *made, bool arrives) {
    uint32_t op = conform_below(random, arrives ? MBARRIER_ARRIVALS : MBARRIER_OPS);
    uint32_t operand = mbarrier_ops[op].operand == 'b' ? pick_bytes(random) : pick_count(random);
    if (arrives && operand == 0)
        operand = 1;
    fault_say(made, ", %s", mbarrier_ops[op].name);
    if (mbarrier_ops[op].operand != ' ')
        fault_say(made, " %u", operand);
    strbuf_printf(&made->ptx, "  add.u32 %%r9, %%r8, %u;\n  mbarrier.%s;\n  nanosleep.u32 500;\n",
                  operand, mbarrier_ops[op].text);
}

void fault_mbarrier(struct conform_random *random, struct fault_case *made) {
    struct fault_head head = {.lanes = 1};
    struct fault_room room = {.bytes = 64};
    uint32_t steps = 1 + conform_below(random, 5), count = pick_count(random);
    bool initialises = conform_below(random, 8) != 0;
    if (conform_below(random, 12) == 0)
        room.offset = 1 + conform_below(random, 7);
    fault_say(made, "mbarrier+%u", room.offset);
    if (initialises)
        fault_say(made, " init %u", count);
    fault_put_head(made, &head);
    fault_put_room(made, &room);
    /* %r8 is 0: a compiler that sees a count of 0 may crash. */
    strbuf_puts(&made->ptx, "  @!%bad bra DONE;\n  cvt.u32.u64 %r8, %c;\n");
    if (initialises)
        strbuf_printf(&made->ptx,
                      "  add.u32 %%r9, %%r8, %u;\n  mbarrier.init.shared::cta.b64 [%%r0], %%r9;\n",
                      count);
    else
        strbuf_puts(&made->ptx, "  mov.b64 %d9, 0;\n  st.shared.u64 [%r1], %d9;\n");
    for (uint32_t i = 0; i < steps; i++) {
        put_step(random, made, !initialises && i == 0);
        if (!initialises && i == 0)
            continue;
        strbuf_printf(&made->ptx,
                      "  mbarrier.test_wait.parity.shared::cta.b64 %%p, [%%r0], 0;\n"
                      "  mbarrier.test_wait.parity.shared::cta.b64 %%q, [%%r0], 1;\n"
                      "  selp.u32 %%r20, 1, 0, %%p;\n  selp.u32 %%r21, 2, 0, %%q;\n"
                      "  or.b32 %%r20, %%r20, %%r21;\n  st.global.u32 [%%out+%u], %%r20;\n",
                      4 + 4 * i);
    }
    strbuf_puts(&made->ptx, "DONE:\n  bar.sync 0;\n");
    fault_put_tail(made);
}

void fault_barrier(struct conform_random *random, struct fault_case *made) {
    static const char *const ops[] = {"bar.sync", "barrier.sync", "bar.arrive", "barrier.sync"};
    struct fault_head head = {.lanes = UINT32_MAX};
    uint32_t warps = 1 + conform_below(random, 3);
    uint32_t op = conform_below(random, 4), id = conform_below(random, 17);
    uint32_t count = conform_below(random, 4) ? 32 * warps : conform_below(random, 40 * warps + 1);
    if (conform_below(random, 4) == 0)
        id = conform_below(random, 2) ? (uint32_t)conform_next(random) : conform_below(random, 64);
    made->block[0] = 32 * warps;
    if (conform_below(random, 4) == 0)
        made->block[0] -= 1 + conform_below(random, 31);
    uint32_t other = conform_below(random, 4) ? count : 32 * (1 + conform_below(random, 4));
    if (warps > 1 && other == 32 && count != 32) /* else it depends on who comes first */
        other = 64;
    fault_say(made, "%s %u, %u (first warp %u) in a block of %u", ops[op], id, count, other,
              made->block[0]);
    fault_put_head(made, &head);
    made->args[0] = (struct fault_arg){FAULT_VALUE, id};
    made->args[1] = (struct fault_arg){FAULT_VALUE, count};
    made->args[2] = (struct fault_arg){FAULT_VALUE, other};
    strbuf_printf(
        &made->ptx,
        "  cvt.u32.u64 %%r1, %%a;\n  cvt.u32.u64 %%r2, %%b;\n  cvt.u32.u64 %%r3, %%c;\n"
        "  setp.lt.u32 %%p, %%t, 32;\n  selp.b32 %%r2, %%r3, %%r2, %%p;\n  %s %%r1, %%r2;\n",
        ops[op]);
    fault_put_tail(made);
}

/* A recursion of %a calls, each with 64 bytes of its own. */
static const char recursion[] =
    ".func (.param .b32 sum) down(.param .b32 depth)\n{\n  .local .align 4 .b32 own[16];\n"
    "  .reg .pred %p;\n  .reg .b32 %r<4>;\n  .reg .b64 %d<2>;\n  ld.param.u32 %r0, [depth];\n"
    "  and.b32 %r1, %r0, 15;\n  mov.u64 %d0, own;\n  mad.wide.u32 %d1, %r1, 4, %d0;\n"
    "  st.local.u32 [%d1], %r0;\n  mov.u32 %r1, 0;\n"
    "  setp.eq.u32 %p, %r0, 0;\n  @%p bra END;\n  sub.u32 %r2, %r0, 1;\n  {\n"
    "    .param .b32 result;\n    .param .b32 next;\n    st.param.b32 [next], %r2;\n"
    "    call.uni (result), down, (next);\n    ld.param.b32 %r1, [result];\n  }\n"
    "END:\n  ld.local.u32 %r3, [%d1];\n  add.u32 %r1, %r1, %r3;\n"
    "  st.param.b32 [sum], %r1;\n  ret;\n}\n";

static void put_recursion(struct conform_random *random, struct fault_case *made) {
    struct fault_head head = {.declare = recursion, .lanes = 1};
    uint32_t depth =
        conform_below(random, 2) ? conform_below(random, 4) : 2000 + conform_below(random, 400000);
    fault_say(made, "recursion of %u calls", depth);
    fault_put_head(made, &head);
    made->args[0] = (struct fault_arg){FAULT_VALUE, depth};
    strbuf_puts(&made->ptx,
                "  @!%bad bra DONE;\n  cvt.u32.u64 %r1, %a;\n  {\n"
                "    .param .b32 result;\n    .param .b32 depth;\n"
                "    st.param.b32 [depth], %r1;\n    call.uni (result), down, (depth);\n"
                "    ld.param.b32 %r20, [result];\n  }\n"
                "  st.global.u32 [%out+4], %r20;\nDONE:\n");
    fault_put_tail(made);
}

void fault_control(struct conform_random *random, struct fault_case *made) {
    static const char *const ops[] = {"trap", "brkpt", "exit"};
    struct fault_head head = {.lanes = fault_pick_lanes(random)};
    uint32_t op = conform_below(random, 4);
    if (op == 3) {
        put_recursion(random, made);
        return;
    }
    bool taken = conform_below(random, 4) != 0;
    fault_say(made, "%s lanes %x %s", ops[op], head.lanes, taken ? "taken" : "not taken");
    fault_put_head(made, &head);
    made->args[0] = (struct fault_arg){FAULT_VALUE, taken};
    strbuf_printf(&made->ptx, "  setp.ne.and.u64 %%q, %%a, 0, %%bad;\n  @%%q %s;\n", ops[op]);
    if (op == 2) /* whoever is left */
        strbuf_puts(&made->ptx, "  st.global.u32 [%out+4], 2;\n");
    fault_put_tail(made);
}
