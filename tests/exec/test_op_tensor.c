#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_run.h"
#include "support.h"
#include "tma_rows.h"

/* Tensor copies through PTX against oracle/tma. The kernels do what the README there says of the
 * ones that ran on the GPU. */

static const char head[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                           ".extern .shared .align 1024 .b8 tile[];\n";

/* Coordinates of an entry of `rank` dimensions, in the order of the parameters c0 to c4. */
static const char *const coords_text[] = {"{c0}", "{c0,c1}", "{c0,c1,c2}", "{c0,c1,c2,c3}",
                                          "{c0,c1,c2,c3,c4}"};

/* A parameter block; the loads do not use all of it. */
struct params {
    uint8_t map[TMAP_IMAGE_BYTES];
    uint64_t data; /* of a load: where the dump goes; of a store: contents of shared memory */
    int32_t coords[TMAP_RANK_MAX];
    uint32_t shared_offset, expect_bytes, unused;
};

static const char params_text[] =
    "(.param .align 64 .b8 p_map[128], .param .u64 p_data, .param .u32 p_c0, .param .u32 p_c1,\n"
    " .param .u32 p_c2, .param .u32 p_c3, .param .u32 p_c4, .param .u32 p_offset,\n"
    " .param .u32 p_expect, .param .u32 p_unused)\n{\n"
    "  .reg .pred p, done;\n"
    "  .reg .b32 tid, i, sa, tiles, c<5>, expect, r<4>;\n"
    "  .reg .b64 map, data, from, d0;\n"
    "  ld.param.u64 data, [p_data];\n"
    "  ld.param.u32 c0, [p_c0]; ld.param.u32 c1, [p_c1]; ld.param.u32 c2, [p_c2];\n"
    "  ld.param.u32 c3, [p_c3]; ld.param.u32 c4, [p_c4];\n"
    "  ld.param.u32 sa, [p_offset]; ld.param.u32 expect, [p_expect];\n"
    "  mov.u64 map, p_map; cvta.param.u64 map, map;\n"
    "  mov.u32 tiles, tile; add.u32 sa, sa, tiles; mov.u32 tid, %tid.x;\n";

/* 128 threads fill 16 KiB of shared memory with EE, thread 0 loads and waits, all dump 12 KiB. */
static const char load_text[] =
    "  .shared .align 8 .b64 bar;\n"
    "  mov.u32 r0, 0xeeeeeeee; mov.u32 i, 0; shl.b32 r1, tid, 4; add.u32 r1, r1, tiles;\n"
    "FILL:\n"
    "  st.shared.v4.b32 [r1], {r0, r0, r0, r0};\n"
    "  add.u32 r1, r1, 2048; add.u32 i, i, 1; setp.lt.u32 p, i, 8; @p bra FILL;\n"
    "  setp.ne.u32 p, tid, 0; @p bra READY;\n"
    "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "  fence.proxy.async.shared::cta;\n"
    "READY:\n"
    "  bar.sync 0;\n"
    "  mov.u32 r3, 0;\n"
    "  @p bra LOADED;\n"
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], expect;\n"
    "  cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sa],\n"
    "    [map, %s], [bar];\n"
    "  mov.u32 i, 0;\n"
    "WAIT:\n"
    "  mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;\n"
    "  selp.u32 r3, 1, 0, done; @done bra LOADED;\n"
    "  add.u32 i, i, 1; setp.lt.u32 done, i, 4; @done bra WAIT;\n"
    "LOADED:\n"
    "  bar.sync 0;\n"
    "  mov.u32 i, 0; shl.b32 r1, tid, 4; cvt.u64.u32 d0, r1; add.s64 d0, d0, data;\n"
    "  add.u32 r1, r1, tiles;\n"
    "  .reg .b32 v<4>;\n"
    "DUMP:\n"
    "  ld.shared.v4.b32 {v0, v1, v2, v3}, [r1];\n"
    "  st.global.v4.b32 [d0], {v0, v1, v2, v3};\n"
    "  add.u32 r1, r1, 2048; add.s64 d0, d0, 2048; add.u32 i, i, 1;\n"
    "  setp.lt.u32 done, i, 6; @done bra DUMP;\n"
    "  @!p st.global.u32 [data+12288], r3;\n"
    "  ret;\n}\n";

/* Thread 0 stores from the 12 KiB that all have filled from `data`. */
static const char store_text[] =
    "  .reg .b32 v<4>;\n"
    "  mov.u32 i, 0; shl.b32 r1, tid, 4; cvt.u64.u32 d0, r1; add.s64 d0, d0, data;\n"
    "  add.u32 r1, r1, tiles;\n"
    "FILL:\n"
    "  ld.global.v4.b32 {v0, v1, v2, v3}, [d0];\n"
    "  st.shared.v4.b32 [r1], {v0, v1, v2, v3};\n"
    "  add.u32 r1, r1, 2048; add.s64 d0, d0, 2048; add.u32 i, i, 1;\n"
    "  setp.lt.u32 p, i, 6; @p bra FILL;\n"
    "  fence.proxy.async.shared::cta;\n"
    "  bar.sync 0;\n"
    "  setp.ne.u32 p, tid, 0; @p bra DONE;\n"
    "  cp%s.async.bulk.tensor.%ud.global.shared::cta%s%s.tile.bulk_group [map, %s], [sa];\n"
    "  cp.async.bulk.commit_group;\n"
    "  cp.async.bulk.wait_group 0;\n"
    "DONE:\n"
    "  ret;\n}\n";

static char *load_module(void) {
    struct strbuf text = {0};
    strbuf_puts(&text, head);
    for (uint32_t rank = 1; rank <= TMAP_RANK_MAX; rank++) {
        strbuf_printf(&text, ".visible .entry load_%u%s", rank, params_text);
        strbuf_printf(&text, load_text, rank, coords_text[rank - 1]);
    }
    return text.text;
}

static const char *const op_names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

static char *store_module(void) {
    struct strbuf text = {0};
    strbuf_puts(&text, head);
    for (uint32_t rank = 1; rank <= TMAP_RANK_MAX; rank++) {
        strbuf_printf(&text, ".visible .entry store_%u%s", rank, params_text);
        strbuf_printf(&text, store_text, "", rank, "", "", coords_text[rank - 1]);
        for (size_t op = 0; op < sizeof op_names / sizeof op_names[0]; op++) {
            strbuf_printf(&text, ".visible .entry %s_%u%s", op_names[op], rank, params_text);
            strbuf_printf(&text, store_text, ".reduce", rank, ".", op_names[op],
                          coords_text[rank - 1]);
        }
    }
    return text.text;
}

struct load_test {
    struct kernel_run run;
    uint64_t buffer, dump;
    struct tma_columns map;
    size_t dst_offset, expect_bytes, sync, completed, smem_hex;
    size_t compared, faulted;
};

static void check_load(const struct csv *csv, struct load_test *t, enum completion_policy policy) {
    struct tmap map = tma_row_map(csv, &t->map, t->buffer);
    struct params params = {.data = t->dump,
                            .shared_offset = (uint32_t)csv_int(csv, t->dst_offset),
                            .expect_bytes = (uint32_t)csv_int(csv, t->expect_bytes)};
    char entry[16];
    tmap_encode(&map, params.map);
    tma_row_coords(csv, &t->map, params.coords);
    snprintf(entry, sizeof entry, "load_%u", map.rank);
    enum fault_kind kind = kernel_launch(
        &t->run, entry,
        (struct kernel_shape){
            .block = 128, .dynamic_smem_bytes = 16 << 10, .policy = policy, .seed = csv_rows(csv)},
        &params, sizeof params);
    if (csv_int(csv, t->sync) == 700) {
        cr_assert_eq(kind, FAULT_ILLEGAL_ADDRESS, "row %zu", csv_rows(csv));
        t->faulted++;
        return;
    }
    cr_assert_eq(kind, FAULT_NONE, "row %zu: %s", csv_rows(csv), strbuf_text(&t->run.report));
    static uint8_t shared[TMA_LOAD_WINDOW_END];
    const uint8_t *dump = kernel_bytes(&t->run, t->dump, 12292);
    memcpy(shared + TMA_LOAD_TILE, dump, 12288);
    size_t missing, different = tma_compare_dump(shared, TMA_LOAD_TILE + params.shared_offset,
                                                 csv_text(csv, t->smem_hex), &missing);
    /* Rows that expected another number of bytes than the box has: test_tma.c. */
    uint32_t bytes = 0, n = 1;
    for (uint32_t d = 1; d < map.rank; d++)
        n *= (map.box_elems[d] + map.element_stride[d] - 1) / map.element_stride[d];
    bytes = n * map.box_elems[0] * tmap_element_bits(map.type) / 8;
    if (map.interleave == TMAP_INTERLEAVE_NONE && bytes == params.expect_bytes) {
        cr_assert_eq(different, 0, "row %zu: %zu bytes differ", csv_rows(csv), different);
        cr_assert_eq(dump[12288], csv_int(csv, t->completed), "row %zu", csv_rows(csv));
    } else {
        cr_assert_eq(different, missing, "row %zu: %zu bytes differ", csv_rows(csv), different);
    }
    t->compared++;
}

static void run_loads(enum completion_policy policy, const char *name) {
    struct csv *csv = csv_open("tma/hw-H200-load.csv.gz");
    struct load_test t = {.dst_offset = csv_column(csv, "dst_offset"),
                          .expect_bytes = csv_column(csv, "expect_bytes"),
                          .sync = csv_column(csv, "sync"),
                          .completed = csv_column(csv, "completed"),
                          .smem_hex = csv_column(csv, "smem_hex")};
    char *text = load_module();
    uint8_t *buffer = tma_load_buffer();
    tma_columns_find(csv, TMA_TABLE_LOAD, &t.map);
    kernel_open(&t.run, 90, text);
    t.buffer = kernel_alloc(&t.run, buffer, TMA_LOAD_BUFFER_BYTES);
    t.dump = kernel_alloc(&t.run, NULL, 12292);
    while (csv_next(csv))
        check_load(csv, &t, policy);
    cr_assert_eq(csv_rows(csv), 3000);
    cr_assert_eq(t.compared, 2995);
    cr_assert_eq(t.faulted, 5);
    report_rows(name, t.compared);
    kernel_close(&t.run);
    csv_close(csv);
    free(text);
    free(buffer);
}

Test(op_tensor, all_silicon_loads_through_ptx) {
    run_loads(POLICY_EAGER, "tma/hw-H200-load.csv.gz through PTX");
}

Test(op_tensor, loads_under_the_other_policies) {
    run_loads(POLICY_LAZY, "tma/hw-H200-load.csv.gz through PTX, lazy");
    run_loads(POLICY_RANDOM, "tma/hw-H200-load.csv.gz through PTX, random");
}

struct store_contents {
    uint8_t shared[TMA_STORE_SHARED_BYTES], global[TMA_STORE_BYTES];
};

static void run_stores(enum completion_policy policy, const char *name) {
    struct csv *csv = csv_open("tma/hw-H200-store.csv.gz");
    struct tma_columns columns;
    struct kernel_run run;
    size_t row_case = csv_column(csv, "case"), op = csv_column(csv, "op"), checked = 0;
    size_t src = csv_column(csv, "src_offset"), changed = csv_column(csv, "changed");
    struct store_contents *m = malloc(sizeof *m);
    char *text = store_module();
    tma_columns_find(csv, TMA_TABLE_STORE, &columns);
    kernel_open(&run, 90, text);
    uint64_t global = kernel_alloc(&run, NULL, TMA_STORE_BYTES);
    uint64_t source = kernel_alloc(&run, NULL, TMA_STORE_SHARED_BYTES);
    while (csv_next(csv)) {
        struct tmap map = tma_row_map(csv, &columns, global);
        struct params params = {.data = source, .shared_offset = (uint32_t)csv_int(csv, src)};
        char entry[16];
        tmap_encode(&map, params.map);
        tma_row_coords(csv, &columns, params.coords);
        tma_store_contents((uint32_t)csv_int(csv, row_case), map.type, m->shared, m->global);
        memcpy(kernel_bytes(&run, source, sizeof m->shared), m->shared, sizeof m->shared);
        memcpy(kernel_bytes(&run, global, sizeof m->global), m->global, sizeof m->global);
        snprintf(entry, sizeof entry, "%s_%u", csv_text(csv, op), map.rank);
        enum fault_kind kind =
            kernel_launch(&run, entry,
                          (struct kernel_shape){.block = 128,
                                                .dynamic_smem_bytes = TMA_STORE_SHARED_BYTES,
                                                .policy = policy,
                                                .seed = csv_rows(csv)},
                          &params, sizeof params);
        cr_assert_eq(kind, FAULT_NONE, "row %zu: %s", csv_rows(csv), strbuf_text(&run.report));
        tma_apply_runs(csv_text(csv, changed), m->global);
        cr_assert_eq(
            memcmp(kernel_bytes(&run, global, sizeof m->global), m->global, sizeof m->global), 0,
            "row %zu", csv_rows(csv));
        checked++;
    }
    cr_assert_eq(checked, 2000);
    report_rows(name, checked);
    kernel_close(&run);
    csv_close(csv);
    free(text);
    free(m);
}

Test(op_tensor, all_silicon_stores_and_reductions_through_ptx) {
    run_stores(POLICY_EAGER, "tma/hw-H200-store.csv.gz through PTX");
}

Test(op_tensor, stores_under_the_other_policies) {
    run_stores(POLICY_LAZY, "tma/hw-H200-store.csv.gz through PTX, lazy");
    run_stores(POLICY_RANDOM, "tma/hw-H200-store.csv.gz through PTX, random");
}

/* One launch on a bf16 tensor of 256 x 64 with a 64 x 8 box. */
static enum fault_kind load_once(struct kernel_run *run, const char *text, int32_t c0, int32_t c1,
                                 uint32_t offset, const char *entry) {
    kernel_open(run, 90, text);
    struct tmap map = {.type = TMAP_BFLOAT16,
                       .rank = 2,
                       .dim_elems = {256, 64},
                       .stride_bytes = {0, 512},
                       .box_elems = {64, 8},
                       .element_stride = {1, 1},
                       .swizzle = SWIZZLE_128B};
    struct params params = {.coords = {c0, c1}, .shared_offset = offset, .expect_bytes = 1024};
    map.global_address = kernel_alloc(run, NULL, 512 * 64);
    params.data = kernel_alloc(run, NULL, 12292);
    tmap_encode(&map, params.map);
    return kernel_launch(run, entry,
                         (struct kernel_shape){.block = 128, .dynamic_smem_bytes = 16 << 10},
                         &params, sizeof params);
}

Test(op_tensor, faults_as_on_an_h200) {
    static const struct {
        int32_t c0, c1;
        uint32_t offset;
        const char *entry;
        enum fault_kind kind;
    } rows[] = {
        {0, 0, 0, "load_2", FAULT_NONE},
        {-8, -3, 0, "load_2", FAULT_NONE},                /* observation 5 */
        {250, 0, 0, "load_2", FAULT_ILLEGAL_INSTRUCTION}, /* 6 */
        {1, 0, 0, "load_2", FAULT_ILLEGAL_INSTRUCTION},   /* 6 */
        {0, 0, 64, "load_2", FAULT_MISALIGNED_ADDRESS},   /* 7 */
        {0, 0, 8, "load_2", FAULT_MISALIGNED_ADDRESS},    /* 7 */
        {0, 0, 16256, "load_2", FAULT_ILLEGAL_ADDRESS},   /* 50 */
        {0, 0, 0, "load_3", FAULT_ILLEGAL_INSTRUCTION},   /* rank of the map */
        {1, 0, 64, "load_2", FAULT_ILLEGAL_INSTRUCTION},  /* before the alignment */
        {0, -1, 0, "store_2", FAULT_ILLEGAL_INSTRUCTION}, /* 54 */
        {248, 64, 0, "store_2", FAULT_NONE},              /* 54 */
        {0, 0, 0, "and_2", FAULT_ILLEGAL_INSTRUCTION},    /* 56 */
    };
    char *loads = load_module(), *stores = store_module();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kernel_run run;
        bool load = strncmp(rows[i].entry, "load", 4) == 0;
        enum fault_kind kind = load_once(&run, load ? loads : stores, rows[i].c0, rows[i].c1,
                                         rows[i].offset, rows[i].entry);
        cr_assert_eq(kind, rows[i].kind, "case %zu: kind %d, %s", i, kind, run.fault.reason);
        if (kind != FAULT_NONE)
            cr_assert(run.fault.line > 0);
        kernel_close(&run);
    }
    free(loads);
    free(stores);
}
