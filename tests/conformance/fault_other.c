/* Fault cases of hints, of instructions that need a cluster, wmma and tensormap.replace. */
#include "fault_case.h"

/* What only asks a cache for something, at addresses that may be anything: %d0 generic. */
static const char *const hints[] = {
    "prefetch.global.L1 [%a]",
    "prefetch.global.L2 [%a]",
    "prefetch.L1 [%a]",
    "prefetch.global.L2::evict_last [%a]",
    "prefetchu.L1 [%a]",
    "discard.global.L2 [%a], 128",
    "applypriority.global.L2::evict_normal [%a], 128",
    "ld.global.nc.b32 %r20, [%a]",
    "ld.global.nc.v4.b32 {%r20, %r21, %r22, %r23}, [%a]",
    "ldu.global.b32 %r20, [%a]",
    "ld.global.L2::cache_hint.b32 %r20, [%a], %d1",
    "prefetch.tensormap [%a]",
    "createpolicy.range.global.L2::evict_last.b64 %d2, [%a], 1024, 4096",
};
enum { HINTS = sizeof hints / sizeof hints[0] };

void fault_hint(struct conform_random *random, struct fault_case *made) {
    uint32_t which = conform_below(random, HINTS);
    struct fault_head head = {.lanes = fault_pick_lanes(random)};
    fault_say(made, "%.60s lanes %x", hints[which], head.lanes);
    fault_put_head(made, &head);
    uint32_t misaligned = fault_pick_misaligned(random);
    fault_pick_global(random, made, misaligned);
    if (hints[which][0] == 'l')
        fault_align_bad(made);
    strbuf_printf(
        &made->ptx,
        "  mov.b64 %%d1, 0x14f0000000000000;\n  mov.b64 %%d2, 0;\n  mov.b32 %%r20, 0;\n"
        "  @%%bad %s;\n  cvt.u32.u64 %%r21, %%d2;\n  or.b32 %%r20, %%r20, %%r21;\n"
        "  setp.eq.u32 %%q, %%r20, 0x5eed0bad;\n  @%%q st.global.u32 [%%out+12], %%r20;\n",
        hints[which]);
    fault_put_tail(made);
}

/* On an address of shared memory in %r0 with a barrier at bar. */
static const char *const shared_ops[] = {
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r0], %t, [%r6]",
    ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
     "[%r0], %t, [%r6]"),
    "cp.async.mbarrier.arrive.shared::cta.b64 [%r0]",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r0]",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0]",
    "mbarrier.test_wait.parity.shared::cta.b64 %q, [%r0], 1",
    "mbarrier.try_wait.parity.shared::cta.b64 %q, [%r0], 1",
};

void fault_shared_op(struct conform_random *random, struct fault_case *made) {
    uint32_t which = conform_below(random, 7);
    struct fault_head head = {.lanes = 1};
    if (conform_below(random, 3) == 0)
        head.directives = ".explicitcluster .reqnctapercluster 1, 1, 1";
    fault_say(made, "%.70s%s", shared_ops[which], head.directives ? " in a cluster" : "");
    fault_put_head(made, &head);
    struct fault_room room = fault_pick_room(
        random, made, 8, conform_below(random, 2) ? 0 : 4 * conform_below(random, 4));
    if (which >= 2 && !room.good &&
        room.offset < 768) { /* what lies behind the room is not known */
        room.offset = 8;
        room.good = true;
        fault_say(made, " (8)");
    }
    fault_put_room(made, &room);
    strbuf_printf(
        &made->ptx,
        "  .shared .align 8 .b64 bar;\n  mov.u32 %%r6, bar;\n  setp.eq.u32 %%q, %%t, 0;\n"
        "  @%%q mbarrier.init.shared::cta.b64 [%%r6], 1;\n%s"
        "  fence.mbarrier_init.release.cluster;\n  bar.sync 0;\n"
        "  @%%bad %s;\n  nanosleep.u32 2000;\n  bar.sync 0;\n",
        room.good && room.offset % 8 == 0 ? "  @%q mbarrier.init.shared::cta.b64 [%r0], 2;\n" : "",
        shared_ops[which]);
    fault_put_tail(made);
}

void fault_wmma(struct conform_random *random, struct fault_case *made) {
    bool shared = conform_below(random, 2), load = conform_below(random, 2);
    uint32_t misaligned = conform_below(random, 3) ? 0 : fault_pick_misaligned(random);
    uint32_t stride = conform_below(random, 2) ? 16 : ((1 + conform_below(random, 40)) & 56) + 8;
    struct fault_head head = {.lanes = UINT32_MAX};
    struct fault_room room = {.bytes = 2048, .offset = misaligned};
    fault_say(made, "wmma.%s %s stride %u +%u", load ? "load" : "store",
              shared ? "shared" : "global", stride, misaligned);
    fault_put_head(made, &head);
    made->args[2] = (struct fault_arg){FAULT_VALUE, stride};
    if (shared)
        fault_put_room(made, &room);
    else
        fault_pick_global(random, made, misaligned);
    if (!shared && load)
        fault_align_bad(made);
    strbuf_puts(&made->ptx, "  cvt.u32.u64 %r22, %c;\n  mov.b32 %r10, %t; mov.b32 %r11, %t;\n"
                            "  mov.b32 %r12, %t; mov.b32 %r13, %t;\n");
    if (load)
        strbuf_printf(&made->ptx,
                      "  wmma.load.c.sync.aligned.m16n16k16.row.%s.f16 "
                      "{%%r10, %%r11, %%r12, %%r13}, [%s], %%r22;\n"
                      "  setp.eq.u32 %%q, %%r10, 0x5eed0bad;\n"
                      "  @%%q st.global.u32 [%%out+12], %%r10;\n",
                      shared ? "shared" : "global", shared ? "%r0" : "%a");
    else
        strbuf_printf(&made->ptx,
                      "  wmma.store.d.sync.aligned.m16n16k16.row.%s.f16 [%s], "
                      "{%%r10, %%r11, %%r12, %%r13}, %%r22;\n",
                      shared ? "shared" : "global", shared ? "%r0" : "%a");
    fault_put_tail(made);
}

void fault_cluster(struct conform_random *random, struct fault_case *made) {
    static const char *const bodies[] = {
        "  barrier.cluster.arrive;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n",
        "  barrier.cluster.wait;\n",
        "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  barrier.cluster.wait;\n",
        "  barrier.cluster.arrive;\n",
        "  mov.u32 %r2, 1;\n  mov.u32 %r3, room;\n  mapa.shared::cluster.u32 %r3, %r3, %r2;\n"
        "  ld.shared::cluster.u32 %r20, [%r3];\n  st.global.u32 [%out+12], %r20;\n",
        "  mov.u32 %r2, 1;\n  mov.u32 %r3, room;\n  mapa.shared::cluster.u32 %r3, %r3, %r2;\n"
        "  st.shared::cluster.u32 [%r3], %r2;\n",
        "  mov.u32 %r2, 7;\n  mov.u32 %r3, room;\n  mapa.shared::cluster.u32 %r3, %r3, %r2;\n"
        "  atom.shared::cluster.add.u32 %r20, [%r3], 1;\n",
        "  mov.u32 %r2, 1;\n  mov.u32 %r3, bar;\n  mapa.shared::cluster.u32 %r3, %r3, %r2;\n"
        "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n",
    };
    uint32_t which = conform_below(random, 8);
    struct fault_head head = {.lanes = UINT32_MAX};
    if (conform_below(random, 2))
        head.directives = ".explicitcluster .reqnctapercluster 1, 1, 1";
    fault_say(made, "cluster misuse %u%s", which, head.directives ? " in a cluster" : "");
    fault_put_head(made, &head);
    strbuf_printf(&made->ptx,
                  "  .shared .align 16 .b8 room[64];\n  .shared .align 8 .b64 bar;\n"
                  "  st.shared.u32 [room], %%t;\n  st.shared.u64 [bar], %%a;\n%s",
                  bodies[which]);
    fault_put_tail(made);
}
