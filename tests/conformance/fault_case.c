/* What all fault cases share (fault_case.h). */
#include "fault_case.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Groups by how often they come, in 90ths. */
static const struct {
    const char *name;
    fault_group *make;
    uint32_t share;
} groups[] = {
    {"ld_st", fault_ld_st, 14},      {"atom", fault_atom, 7},         {"matrix", fault_matrix, 4},
    {"cp_async", fault_cp_async, 4}, {"bulk", fault_bulk, 8},         {"tensor", fault_tensor, 9},
    {"wgmma", fault_wgmma, 6},       {"mbarrier", fault_mbarrier, 9}, {"barrier", fault_barrier, 5},
    {"hint", fault_hint, 4},         {"shared", fault_shared_op, 4},  {"wmma", fault_wmma, 2},
    {"cluster", fault_cluster, 2},   {"control", fault_control, 2},   {"launch", fault_launch, 6},
    {"driver", fault_driver, 4},
};
enum { GROUPS = sizeof groups / sizeof groups[0], SHARES = 90 };

void fault_case_make(uint64_t seed, uint32_t index, struct fault_case *made) {
    struct conform_random random = {
        .key = hash_mix64(hash_mix64(seed ^ UINT64_C(0x6661756c74)) + index)};
    uint32_t left = conform_below(&random, SHARES), i = 0;
    while (i + 1 < GROUPS && left >= groups[i].share)
        left -= groups[i++].share;
    *made = (struct fault_case){
        .group = groups[i].name, .grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}};
    groups[i].make(&random, made);
}

void fault_case_free(struct fault_case *made) {
    strbuf_free(&made->ptx);
}

void fault_say(struct fault_case *made, const char *format, ...) {
    size_t used = strlen(made->text);
    va_list args;
    va_start(args, format);
    vsnprintf(made->text + used, sizeof made->text - used, format, args);
    va_end(args);
}

void fault_put_head(struct fault_case *made, const struct fault_head *head) {
    strbuf_printf(
        &made->ptx,
        ".version 8.6\n.target sm_90a\n.address_size 64\n%s"
        ".visible .entry k(.param .u64 p_out, .param .u64 p_a, .param .u64 p_b, "
        ".param .u64 p_c) %s\n{\n%s"
        "  .reg .pred %%p, %%q, %%bad;\n  .reg .b16 %%h<8>;\n  .reg .b32 %%t, %%r<24>;\n"
        "  .reg .f32 %%f<64>;\n  .reg .b64 %%out, %%a, %%b, %%c, %%d<16>;\n"
        "  .reg .b128 %%w<2>;\n"
        "  ld.param.u64 %%out, [p_out];\n  ld.param.u64 %%a, [p_a];\n"
        "  ld.param.u64 %%b, [p_b];\n  ld.param.u64 %%c, [p_c];\n  mov.u32 %%t, %%tid.x;\n"
        "  shr.u32 %%r0, 0x%x, %%t;\n  and.b32 %%r0, %%r0, 1;\n"
        "  setp.ne.u32 %%bad, %%r0, 0;\n",
        head->declare ? head->declare : "", head->directives ? head->directives : "",
        head->inside ? head->inside : "", head->lanes);
}

void fault_put_value(struct fault_case *made) {
    strbuf_puts(&made->ptx, "  @%bad st.global.u32 [%out+4], %r20;\n"
                            "  @%bad st.global.u32 [%out+8], %r21;\n");
    fault_put_tail(made);
}

void fault_put_tail(struct fault_case *made) {
    strbuf_puts(&made->ptx,
                "  setp.eq.u32 %p, %t, 0;\n  @%p st.global.u32 [%out], 1;\n  ret;\n}\n");
}

uint32_t fault_pick_lanes(struct conform_random *random) {
    const uint32_t how = conform_below(random, 4);
    if (how == 0)
        return UINT32_MAX;
    const uint32_t some = how == 1 ? (uint32_t)conform_next(random) : 0;
    return some | 1u << conform_below(random, 32);
}

uint32_t fault_pick_misaligned(struct conform_random *random) {
    return conform_below(random, 2) ? 1 + conform_below(random, 15) : 0;
}

struct fault_room fault_pick_room(struct conform_random *random, struct fault_case *made,
                                  uint32_t bytes, uint32_t misaligned) {
    struct fault_room room = {.bytes = 16 + 4 * conform_below(random, 147)};
    const uint32_t end = (room.bytes + 127) / 128 * 128;
    switch (conform_below(random, 8)) {
    case 0: room.offset = end - 16; break;
    case 1: room.offset = end + 16 * conform_below(random, 3); break;
    case 2: room.offset = end + 128 * conform_below(random, 64); break;
    case 3: room.offset = UINT32_C(1) << (16 + conform_below(random, 9)); break;
    case 4: /* below the first address, or in the system's first KiB */
        room.offset = conform_below(random, 2) ? 0u - 0x400 : 0;
        room.offset -= 16 * (1 + conform_below(random, 64));
        break;
    default: room.offset = conform_below(random, room.bytes / 16) * 16; break;
    }
    room.offset += misaligned;
    room.good = room.offset < room.bytes && room.offset + bytes <= room.bytes;
    fault_say(made, " room %u offset %d", room.bytes, (int32_t)room.offset);
    return room;
}

void fault_put_room(struct fault_case *made, const struct fault_room *room) {
    strbuf_printf(&made->ptx,
                  "  .shared .align 128 .b8 room[%u];\n  mov.u32 %%r1, room;\n"
                  "  shl.b32 %%r2, %%t, 2;\nFILL:\n  setp.lt.u32 %%p, %%r2, %u;\n"
                  "  @!%%p bra FILLED;\n  add.u32 %%r3, %%r1, %%r2;\n"
                  "  mul.lo.u32 %%r4, %%r2, 0x00404040;\n  shr.u32 %%r5, %%r2, 2;\n"
                  "  add.u32 %%r4, %%r4, %%r5;\n  st.shared.u32 [%%r3], %%r4;\n"
                  "  mov.u32 %%r4, %%ntid.x;\n  shl.b32 %%r4, %%r4, 2;\n"
                  "  add.u32 %%r2, %%r2, %%r4;\n  bra FILL;\nFILLED:\n  bar.sync 0;\n"
                  "  cvt.u32.u64 %%r0, %%b;\n  add.u32 %%r0, %%r1, %%r0;\n",
                  room->bytes, room->bytes);
    made->args[1] = (struct fault_arg){FAULT_VALUE, room->offset};
}

bool fault_pick_global(struct conform_random *random, struct fault_case *made,
                       uint32_t misaligned) {
    uint64_t at = misaligned;
    struct fault_arg *arg = &made->args[0];
    switch (conform_below(random, 12)) {
    case 0:
        arg->offset = at;
        fault_say(made, " at null+%u", misaligned);
        return false;
    case 1:
        at += 16 * (uint64_t)conform_below(random, 4096);
        arg->offset = at;
        fault_say(made, " near null at 0x%llx", (unsigned long long)at);
        return false;
    case 2: /* far beyond what a GPU maps */
        at += UINT64_C(1) << (50 + conform_below(random, 6));
        at += 4096 * conform_below(random, 4096);
        arg->offset = at;
        fault_say(made, " at 0x%llx", (unsigned long long)at);
        return false;
    case 3: /* the upper half */
        at += 0 - 16 * (uint64_t)(1 + conform_below(random, 1 << 20));
        arg->offset = at;
        fault_say(made, " at 0x%llx", (unsigned long long)at);
        return false;
    case 4:
        *arg = (struct fault_arg){FAULT_FREED, at + 16 * (uint64_t)conform_below(random, 1 << 17)};
        fault_say(made, " at freed+0x%llx", (unsigned long long)arg->offset);
        return false;
    case 5: /* 1 or 2 TiB beyond */
        at += UINT64_C(1) << (40 + conform_below(random, 2));
        *arg = (struct fault_arg){FAULT_DATA, at};
        fault_say(made, " 1 TiB off, +%u", misaligned);
        return false;
    default:
        at += 16 * (uint64_t)conform_below(random, 1024);
        *arg = (struct fault_arg){FAULT_DATA, at};
        fault_say(made, " at data+0x%llx", (unsigned long long)at);
        return true;
    }
}

void fault_align_bad(struct fault_case *made) {
    struct fault_arg *arg = &made->args[0];
    bool near = arg->kind == FAULT_VALUE && (arg->offset >> 16 == 0 || arg->offset >> 63 != 0);
    if (near || arg->offset % 16 == 0 || (arg->kind == FAULT_DATA && arg->offset >> 32 == 0))
        return;
    arg->offset -= arg->offset % 16;
    fault_say(made, " (aligned)");
}
