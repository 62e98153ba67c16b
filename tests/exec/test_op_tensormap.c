#include <criterion/criterion.h>
#include <string.h>

#include "arena.h"
#include "kernel_run.h"
#include "ptx.h"
#include "tmap.h"

/* A kernel edits a tensor map in shared memory, publishes it in global memory and loads with it;
 * and the tensor forms that are not modelled. */

static const char edit_text[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry edit(.param .align 64 .b8 p_map[128], .param .u64 p_new, .param .u64 "
    "p_place,\n"
    "                     .param .u64 p_out)\n"
    "{\n"
    "  .reg .pred p;\n"
    "  .reg .b32 tid, r<8>;\n"
    "  .reg .b64 map, place, out, d<4>;\n"
    "  .shared .align 128 .b8 copy[128];\n"
    "  .shared .align 128 .b8 tile[256];\n"
    "  .shared .align 8 .b64 bar;\n"
    "  ld.param.u64 place, [p_place]; ld.param.u64 out, [p_out]; ld.param.u64 d0, [p_new];\n"
    "  mov.u64 map, p_map; cvta.param.u64 map, map;\n"
    "  mov.u32 tid, %tid.x;\n"
    "  mul.wide.u32 d1, tid, 4; add.s64 d1, d1, map;\n"
    "  ld.u32 r0, [d1];\n"
    "  shl.b32 r1, tid, 2; mov.u32 r2, copy; add.u32 r3, r2, r1;\n"
    "  st.shared.u32 [r3], r0;\n"
    "  bar.warp.sync 0xffffffff;\n"
    "  setp.ne.u32 p, tid, 0; @p bra EDITED;\n"
    "  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [r2], d0;\n"
    "  mov.u32 r4, 2;\n"
    "  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [r2], 1, r4;\n"
    "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "  fence.proxy.async;\n"
    "EDITED:\n"
    "  bar.warp.sync 0xffffffff;\n"
    "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned\n"
    "    [place], [r2], 128;\n"
    "  fence.proxy.tensormap::generic.acquire.gpu [place], 128;\n"
    "  @p bra LOADED;\n"
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n"
    "  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile],\n"
    "    [place, {0, 1}], [bar];\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;\n"
    "  @!p bra WAIT;\n"
    "LOADED:\n"
    "  bar.warp.sync 0xffffffff;\n"
    "  mov.u32 r5, tile; add.u32 r5, r5, r1;\n"
    "  ld.shared.u32 r0, [r5];\n"
    "  mul.wide.u32 d1, tid, 4; add.s64 d1, d1, out;\n"
    "  st.global.u32 [d1], r0;\n"
    "  ret;\n"
    "}\n";

struct edit_params {
    uint8_t map[TMAP_IMAGE_BYTES];
    uint64_t new_address, place, out;
};

static struct tmap small_map(uint64_t address) {
    return (struct tmap){.global_address = address,
                         .type = TMAP_UINT32,
                         .rank = 2,
                         .dim_elems = {16, 8},
                         .stride_bytes = {0, 64},
                         .box_elems = {16, 1},
                         .element_stride = {1, 1}};
}

Test(op_tensormap, an_edited_map_loads_from_its_new_address) {
    static const enum completion_policy policies[] = {POLICY_EAGER, POLICY_LAZY, POLICY_RANDOM};
    uint32_t words[2][128];
    for (uint32_t i = 0; i < 256; i++)
        words[i / 128][i % 128] = 1000 * (i / 128) + i % 128;
    for (size_t i = 0; i < 3; i++) {
        struct kernel_run run;
        kernel_open(&run, 90, edit_text);
        uint64_t old = kernel_alloc(&run, words[0], sizeof words[0]);
        struct tmap map = small_map(old);
        struct edit_params params = {.new_address = kernel_alloc(&run, words[1], sizeof words[1]),
                                     .place = kernel_alloc(&run, NULL, TMAP_IMAGE_BYTES),
                                     .out = kernel_alloc(&run, NULL, 128)};
        tmap_encode(&map, params.map);
        enum fault_kind kind =
            kernel_launch(&run, "edit", (struct kernel_shape){.block = 32, .policy = policies[i]},
                          &params, sizeof params);
        cr_assert_eq(kind, FAULT_NONE, "%s", strbuf_text(&run.report));
        cr_assert_eq(memcmp(kernel_bytes(&run, params.out, 128), &words[1][16], 128), 0);
        kernel_close(&run);
    }
}

/* A map that an edit made wrong is found when it is used, by the name of the rule. */
Test(op_tensormap, a_wrong_map_is_named) {
    struct kernel_run run;
    kernel_open(&run, 90, edit_text);
    uint64_t old = kernel_alloc(&run, NULL, 512);
    struct tmap map = small_map(old);
    struct edit_params params = {.new_address = old + 8,
                                 .place = kernel_alloc(&run, NULL, TMAP_IMAGE_BYTES),
                                 .out = kernel_alloc(&run, NULL, 128)};
    tmap_encode(&map, params.map);
    enum fault_kind kind =
        kernel_launch(&run, "edit", (struct kernel_shape){.block = 32}, &params, sizeof params);
    cr_assert_eq(kind, FAULT_MISALIGNED_ADDRESS);
    cr_assert_not_null(strstr(run.fault.reason, "globalAddress"), "%s", run.fault.reason);
    kernel_close(&run);
}

Test(op_tensormap, forms_that_are_not_modelled_are_refused_by_name) {
    static const char *const statements[] = {
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
        " [s], [g, {r0,r1,r2,r3,r4}], [s]",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        " [s], [g, {r0,r1}], [s]",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [s],"
        " [g, {r0,r1,r2,r3}], [s], {h0,h1}",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
        " [g, {r0,r1,r2,r3,r4}], [s]",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [g, {r0,r1,r2,r3,r4}]",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        ".cta_group::2 [s], [g, {r0,r1,r2,r3}], [s], {h0,h1}",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        struct strbuf text = {0}, log = {0};
        struct arena arena = {0};
        struct ir_module *module = NULL;
        strbuf_printf(&text,
                      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {\n"
                      ".reg .b16 h<2>; .reg .b32 s, r<5>; .reg .b64 g;\n%s;\nret;\n}\n",
                      statements[i]);
        struct ptx_source source = {
            .file = "t.ptx", .text = strbuf_text(&text), .length = text.length};
        cr_assert_eq(ptx_parse(&arena, &source, &module, &log), STATUS_UNSUPPORTED, "%s",
                     statements[i]);
        cr_assert_not_null(strstr(strbuf_text(&log), "t.ptx:6:"), "%s", strbuf_text(&log));
        strbuf_free(&text);
        strbuf_free(&log);
        arena_free(&arena);
    }
}
