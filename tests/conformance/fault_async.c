/* Fault cases of what runs asynchronously: cp.async, bulk copies, tensor copies, wgmma. */
#include "fault_case.h"

void fault_cp_async(struct conform_random *random, struct fault_case *made) {
    static const unsigned sizes[] = {4, 8, 16, 16};
    unsigned size = sizes[conform_below(random, 4)];
    bool ignores = conform_below(random, 4) == 0; /* source size 0 */
    struct fault_head head = {.lanes = fault_pick_lanes(random)};
    fault_say(made, "cp.async %u%s lanes %x", size, ignores ? " of 0" : "", head.lanes);
    fault_put_head(made, &head);
    uint32_t misaligned = conform_below(random, 2) ? fault_pick_misaligned(random) & ~3u : 0;
    bool source = fault_pick_global(random, made, misaligned) && misaligned == 0;
    if (!source && (made->args[0].kind != FAULT_DATA || made->args[0].offset >> 32 != 0))
        made->args[0].offset &= ~UINT64_C(15);
    struct fault_room room = fault_pick_room(
        random, made, size, conform_below(random, 3) ? 0 : fault_pick_misaligned(random));
    if (!source) { /* one thing is wrong: of two, which is told follows no rule that was found */
        room.offset = 0;
        fault_say(made, " (0)");
    }
    fault_put_room(made, &room);
    strbuf_printf(&made->ptx, "  @%%bad cp.async.%s.shared.global [%%r0], [%%a], %u%s;\n",
                  size == 16 && conform_below(random, 2) ? "cg" : "ca", size, ignores ? ", 0" : "");
    strbuf_puts(&made->ptx, "  cp.async.commit_group;\n  cp.async.wait_all;\n  bar.sync 0;\n");
    fault_put_tail(made);
}

/* An mbarrier for one arrival, at %r6; `bar` stays an address of a good one. */
static const char barrier_set_up[] =
    "  .shared .align 16 .b8 bar[64];\n  mov.u32 %r6, bar;\n"
    "  setp.eq.u32 %q, %t, 0;\n  @%q mbarrier.init.shared::cta.b64 [%r6], 1;\n"
    "  fence.mbarrier_init.release.cluster;\n  bar.sync 0;\n";

/* In one of four cases makes %r6 something else than the barrier. */
static void spoil_barrier(struct conform_random *random, struct fault_case *made) {
    uint32_t offset;
    switch (conform_below(random, 16)) {
    case 0: offset = 4; break;
    case 1: offset = 1 + conform_below(random, 7); break;
    case 3: offset = UINT32_C(1) << (17 + conform_below(random, 7)); break;
    default: return;
    }
    fault_say(made, " barrier+%u", offset);
    strbuf_printf(&made->ptx, "  add.u32 %%r6, %%r6, %u;\n", offset);
}

static const char await[] = "  mov.u32 %r7, 0;\nWAIT:\n"
                            "  mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;\n"
                            "  add.u32 %r7, %r7, 1;\n  setp.lt.u32 %q, %r7, 100000;\n"
                            "  @%p bra WAITED;\n  @%q bra WAIT;\nWAITED:\n";

static uint32_t pick_size(struct conform_random *random) {
    switch (conform_below(random, 8)) {
    case 0: return conform_below(random, 64);
    case 1: return UINT32_C(1) << (8 + conform_below(random, 9));
    default: return 16 * (1 + conform_below(random, 8));
    }
}

static const char *const bulk_kinds[] = {
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%a], %r8, [%r6];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%a], %r8, [%r6];",
    "cp.async.bulk.global.shared::cta.bulk_group [%a], [%r0], %r8;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a], [%r0], %r8;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%a], [%r0], %r8;",
    "cp.async.bulk.prefetch.L2.global [%a], %r8;",
};
enum { BULK_KINDS = sizeof bulk_kinds / sizeof bulk_kinds[0] };

void fault_bulk(struct conform_random *random, struct fault_case *made) {
    uint32_t kind = conform_below(random, BULK_KINDS), size = pick_size(random);
    struct fault_head head = {.lanes = 1};
    fault_say(made, "%.*s size %u", 40, bulk_kinds[kind], size);
    fault_put_head(made, &head);
    fault_pick_global(random, made, conform_below(random, 3) ? 0 : fault_pick_misaligned(random));
    struct fault_room room = fault_pick_room(
        random, made, size, conform_below(random, 3) ? 0 : fault_pick_misaligned(random));
    fault_put_room(made, &room);
    made->args[2] = (struct fault_arg){FAULT_VALUE, size};
    strbuf_puts(&made->ptx, barrier_set_up);
    strbuf_puts(&made->ptx, "  @!%bad bra DONE;\n  cvt.u32.u64 %r8, %c;\n"
                            "  and.b32 %r9, %r8, 0xfffffff0;\n"
                            "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r9;\n");
    if (kind < 2)
        spoil_barrier(random, made);
    strbuf_printf(&made->ptx, "  %s\n", bulk_kinds[kind]);
    strbuf_puts(&made->ptx, kind < 2 ? await
                                     : "  cp.async.bulk.commit_group;\n"
                                       "  cp.async.bulk.wait_group 0;\n");
    strbuf_puts(&made->ptx, "DONE:\n  bar.sync 0;\n");
    fault_put_tail(made);
}

/* A map of the data as rows of 256 bytes, and its box. */
static void make_map(struct conform_random *random, struct fault_case *made) {
    static const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                                CU_TENSOR_MAP_DATA_TYPE_UINT16,
                                                CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
    uint32_t log_bytes = conform_below(random, 3), swizzle = conform_below(random, 4);
    uint32_t widest = swizzle == 0 ? 64 : 16u << swizzle; /* bytes of a row of the box */
    const uint32_t rank = 1 + conform_below(random, 3);
    const uint32_t row_bytes = conform_below(random, 2) ? widest : 16;
    const uint32_t rows = 1 + conform_below(random, 4), planes = 1 + conform_below(random, 2);
    made->has_map = true;
    made->map = (struct tensormap_desc){
        .type = types[log_bytes],
        .rank = rank,
        .dim = {256u >> log_bytes, 8, 4},
        .stride_bytes = {256, 2048},
        .box = {row_bytes >> log_bytes, rows, planes},
        .element_stride = {1, 1, 1},
        .swizzle = (CUtensorMapSwizzle)swizzle,
    };
}

/* Something else than the map behind %a. */
static void spoil_map(struct conform_random *random, struct fault_case *made) {
    static const uint32_t offsets[] = {8, 16, 32, 64};
    switch (conform_below(random, 24)) {
    case 0:
    case 1:
        made->raw_map = true;
        fault_say(made, " map of zeros");
        break;
    case 2:
        made->raw_map = true;
        for (unsigned i = 0; i < 16; i++)
            made->map_words[i] = UINT64_MAX;
        fault_say(made, " map of ones");
        break;
    case 3:
        made->raw_map = true;
        for (unsigned i = 0; i < 16; i++)
            made->map_words[i] = conform_next(random);
        fault_say(made, " map of random words");
        break;
    case 4:
        made->args[0].offset = offsets[conform_below(random, 4)];
        fault_say(made, " map+%u", (unsigned)made->args[0].offset);
        break;
    case 5:
        made->args[0] = (struct fault_arg){FAULT_VALUE, 64 * conform_below(random, 3)};
        fault_say(made, " map at null+%u", (unsigned)made->args[0].offset);
        break;
    case 6:
        made->args[0] = (struct fault_arg){FAULT_VALUE, UINT64_C(1) << 52};
        fault_say(made, " map unmapped");
        break;
    case 7:
        made->args[0] = (struct fault_arg){FAULT_FREED, 0};
        fault_say(made, " map freed");
        break;
    default: break;
    }
}

static int32_t pick_coordinate(struct conform_random *random, uint32_t extent) {
    switch (conform_below(random, 8)) {
    case 0: return (int32_t)conform_below(random, extent);
    case 1: return -(int32_t)conform_below(random, 40);
    case 2: return (int32_t)(extent + conform_below(random, 40));
    case 3: return (int32_t)conform_next(random);
    default: return (int32_t)(conform_below(random, extent) & ~15u);
    }
}

static const struct {
    const char *head, *tail;
    bool load;
} tensor_kinds[] = {
    {"cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%r0], "
     "[%%a, {%s}]",
     ", [%r6];\n", true},
    {"cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%r0], "
     "[%%a, {%s}]",
     ", [%r6];\n", true},
    {"cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group [%%a, {%s}], [%%r0]", ";\n",
     false},
    {"cp.reduce.async.bulk.tensor.%ud.global.shared::cta.add.tile.bulk_group [%%a, {%s}], [%%r0]",
     ";\n", false},
    {"cp.reduce.async.bulk.tensor.%ud.global.shared::cta.xor.tile.bulk_group [%%a, {%s}], [%%r0]",
     ";\n", false},
    {"cp.async.bulk.prefetch.tensor.%ud.L2.global.tile [%%a, {%s}]", ";\n", false},
};

void fault_tensor(struct conform_random *random, struct fault_case *made) {
    static const char *const lists[] = {"%r10", "%r10, %r11", "%r10, %r11, %r12"};
    uint32_t kind = conform_below(random, 6), bytes = 1;
    make_map(random, made);
    made->args[0] = (struct fault_arg){FAULT_MAP, 0};
    unsigned rank = conform_below(random, 8) ? made->map.rank : 1 + conform_below(random, 3);
    for (unsigned i = 0; i < made->map.rank; i++)
        bytes *= made->map.box[i];
    bytes <<= made->map.type == CU_TENSOR_MAP_DATA_TYPE_UINT8    ? 0
              : made->map.type == CU_TENSOR_MAP_DATA_TYPE_UINT16 ? 1
                                                                 : 2;
    struct fault_head head = {.lanes = 1};
    fault_say(made, "%.24s kind %u rank %u map rank %u type %d swizzle %d box %u,%u,%u",
              tensor_kinds[kind].head, kind, rank, made->map.rank, (int)made->map.type,
              (int)made->map.swizzle, made->map.box[0], made->map.box[1], made->map.box[2]);
    fault_put_head(made, &head);
    spoil_map(random, made);
    struct fault_room room = {.bytes = 2048};
    static const uint32_t offsets[] = {128, 256, 64, 16, 8, 1920, 2048, 1u << 18};
    if (conform_below(random, 2))
        room.offset = offsets[conform_below(random, 8)];
    fault_say(made, " room+%u at", room.offset);
    fault_put_room(made, &room);
    for (unsigned i = 0; i < rank; i++) {
        int32_t at = pick_coordinate(random, (uint32_t)made->map.dim[i]);
        fault_say(made, " %d", at);
        strbuf_printf(&made->ptx, "  mov.b32 %%r%u, %d;\n", 10 + i, at);
    }
    strbuf_puts(&made->ptx, barrier_set_up);
    strbuf_printf(&made->ptx,
                  "  @!%%bad bra DONE;\n  fence.proxy.async;\n"
                  "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %u;\n",
                  bytes);
    if (tensor_kinds[kind].load)
        spoil_barrier(random, made);
    strbuf_puts(&made->ptx, "  ");
    strbuf_printf(&made->ptx, tensor_kinds[kind].head, rank, lists[rank - 1]);
    strbuf_puts(&made->ptx, tensor_kinds[kind].tail);
    strbuf_puts(&made->ptx, tensor_kinds[kind].load ? await
                                                    : "  cp.async.bulk.commit_group;\n"
                                                      "  cp.async.bulk.wait_group 0;\n");
    strbuf_puts(&made->ptx, "DONE:\n  bar.sync 0;\n");
    fault_put_tail(made);
}

void fault_wgmma(struct conform_random *random, struct fault_case *made) {
    struct fault_head head = {.lanes = UINT32_MAX};
    struct fault_room room = {.bytes = 4096};
    uint64_t desc[2];
    made->block[0] = 128;
    fault_say(made, "wgmma.m64n8k16 descriptors");
    bool known = true; /* what is multiplied */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t start = (0x400 + 16 * (uint64_t)conform_below(random, 32)) >> 4;
        uint64_t lbo = 1 + conform_below(random, 16), sbo = 1 + conform_below(random, 16);
        switch (conform_below(random, 8)) {
        case 0:
            start = conform_below(random, 0x4000);
            known = false;
            break;
        case 1:
            lbo = conform_below(random, 0x4000);
            known = false;
            break;
        case 2:
            sbo = conform_below(random, 0x4000);
            known = false;
            break;
        default: break;
        }
        desc[i] = start | lbo << 16 | sbo << 32 | (uint64_t)conform_below(random, 4) << 62;
        if (conform_below(random, 4) == 0) /* reserved fields too */
            desc[i] |= conform_next(random) & conform_next(random) & UINT64_C(0x3ffec000c000c000);
        made->args[1 + i] = (struct fault_arg){FAULT_VALUE, desc[i]};
        fault_say(made, " %llx", (unsigned long long)desc[i]);
    }
    fault_put_head(made, &head);
    uint64_t b = made->args[1].offset;
    fault_put_room(made, &room);
    made->args[1].offset = b;
    strbuf_puts(&made->ptx, "  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0;\n"
                            "  mov.f32 %f3, %f0;\n  fence.proxy.async;\n  bar.sync 0;\n"
                            "  wgmma.fence.sync.aligned;\n"
                            "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                            "{%f0, %f1, %f2, %f3}, %b, %c, 1, 1, 1, 0, 0;\n"
                            "  wgmma.commit_group.sync.aligned;\n"
                            "  wgmma.wait_group.sync.aligned 0;\n"
                            "  setp.eq.f32 %q, %f0, 0f5eed0bad;\n"
                            "  @%q st.global.f32 [%out+12], %f0;\n");
    if (known)
        strbuf_puts(&made->ptx, "  setp.eq.u32 %q, %t, 5;\n"
                                "  @%q st.global.v2.f32 [%out+8], {%f0, %f1};\n"
                                "  @%q st.global.v2.f32 [%out+16], {%f2, %f3};\n");
    fault_put_tail(made);
}
