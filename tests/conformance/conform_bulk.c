/* Family bulk: cp.async.bulk both ways and cp.reduce.async.bulk to global memory, sizes and
 * alignments at random (a quarter of the sizes is no multiple of 16: silicon cuts them). The
 * results are 8 KiB: shared memory after a load, global memory after a store or reduction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "strbuf.h"

enum { CASES = CONFORM_BULK_CASES, BYTES = CONFORM_BULK_BYTES };

struct row {
    uint32_t seed, from_offset, to_offset, size;
    uint32_t keep[2], set[2];
};
_Static_assert(sizeof(struct row) == 32, "the kernel reads it by offsets");

struct op {
    const char *name; /* NULL: a load; "": a store */
    struct conform_format format;
};
static const struct op ops[] = {
    {NULL, {0, 0, 0}},
    {"", {0, 0, 0}},
    {"add.u32", {0, 0, 0}},
    {"add.s32", {0, 0, 0}},
    {"add.u64", {0, 0, 0}},
    {"add.f32", {32, 8, 23}},
    {"add.f64", {64, 11, 52}},
    {"add.noftz.f16", {16, 5, 10}},
    {"add.noftz.bf16", {16, 8, 7}},
    {"min.u32", {0, 0, 0}},
    {"max.u32", {0, 0, 0}},
    {"min.s32", {0, 0, 0}},
    {"max.s32", {0, 0, 0}},
    {"min.u64", {0, 0, 0}},
    {"max.u64", {0, 0, 0}},
    {"min.s64", {0, 0, 0}},
    {"max.s64", {0, 0, 0}},
    {"min.f16", {16, 5, 10}},
    {"max.f16", {16, 5, 10}},
    {"min.bf16", {16, 8, 7}},
    {"max.bf16", {16, 8, 7}},
    {"inc.u32", {0, 0, 0}},
    {"dec.u32", {0, 0, 0}},
    {"and.b32", {0, 0, 0}},
    {"or.b32", {0, 0, 0}},
    {"xor.b32", {0, 0, 0}},
    {"and.b64", {0, 0, 0}},
    {"or.b64", {0, 0, 0}},
    {"xor.b64", {0, 0, 0}},
};
enum { OPS = sizeof ops / sizeof ops[0] };

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 space[];\n"
    ".visible .entry k(.param .u64 p_rows, .param .u64 p_data)\n{\n" CONFORM_FILL_REGISTERS
    "  .reg .pred %p, %q;\n  .reg .b32 %i, %at, %from, %to, %size, %done, %w<4>;\n"
    "  .reg .b64 %rows, %data, %x;\n  .shared .align 8 .b64 bar;\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %rows, [p_rows];\n"
    "  mad.wide.u32 %rows, %i, 32, %rows;\n  ld.param.u64 %data, [p_data];\n"
    "  mad.wide.u32 %data, %i, 8192, %data;\n"
    "  ld.global.v4.u32 {%seed, %from, %to, %size}, [%rows];\n"
    "  ld.global.v4.u32 {%k0, %k1, %s0, %s1}, [%rows+16];\n  mov.u32 %sm, space;\n";

static const char load[] =
    "  @%p bra LOADED;\n  and.b32 %at, %size, 0xfffffff0;\n"
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %at;\n"
    "  cvt.u64.u32 %x, %from;\n  add.u64 %x, %x, %data;\n  add.u32 %at, %sm, %to;\n"
    "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%x], %size, "
    "[bar];\n  mov.u32 %i, 0;\nWAIT:\n"
    "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n"
    "  @%q bra LOADED;\n  add.u32 %i, %i, 1;\n  setp.lt.u32 %q, %i, 1000000;\n  @%q bra WAIT;\n"
    "  trap;\nLOADED:\n  bar.sync 0;\n  shl.b32 %at, %t, 4;\n  add.u32 %at, %at, %sm;\n"
    "  mad.wide.u32 %data, %t, 16, %data;\n  mov.u32 %i, 0;\nDUMP:\n"
    "  ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%at];\n"
    "  st.global.v4.b32 [%data], {%w0, %w1, %w2, %w3};\n  add.u32 %at, %at, 2048;\n"
    "  add.u64 %data, %data, 2048;\n  add.u32 %i, %i, 1;\n  setp.lt.u32 %q, %i, 4;\n"
    "  @%q bra DUMP;\n  ret;\n}\n";

static void program(struct strbuf *out, const struct op *op) {
    strbuf_puts(out, head);
    conform_put_fill(out, BYTES / 2048);
    strbuf_puts(out, "  setp.ne.u32 %p, %t, 0;\n  @!%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
                     "  fence.proxy.async;\n  bar.sync 0;\n");
    if (op->name == NULL) {
        strbuf_puts(out, load);
        return;
    }
    bool reduces = op->name[0] != '\0';
    strbuf_printf(
        out,
        "  @%%p bra DONE;\n  cvt.u64.u32 %%x, %%to;\n  add.u64 %%x, %%x, %%data;\n"
        "  add.u32 %%at, %%sm, %%from;\n"
        "  cp%s.async.bulk.global.shared::cta.bulk_group%s%s [%%x], [%%at], %%size;\n"
        "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\nDONE:\n  ret;\n}\n",
        reduces ? ".reduce" : "", reduces ? "." : "", op->name);
}

static struct row make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "bulk", index);
    struct row row = {.seed = (uint32_t)conform_next(&random)};
    row.from_offset = 16 * conform_below(&random, 256);
    row.to_offset = 16 * conform_below(&random, 256);
    row.size = 16 * conform_below(&random, conform_below(&random, 2) ? 8 : 256);
    if (conform_below(&random, 4) == 0)
        row.size += conform_below(&random, 16);
    conform_pair_of(&random, ops[batch->number % OPS].format, row.keep, row.set);
    return row;
}

bool conform_bulk_run(struct conform_batch *batch, struct host_error *error) {
    struct row rows[CASES];
    struct strbuf text = {0};
    uint8_t *data = malloc((size_t)CASES * BYTES);
    if (data == NULL) {
        result_message(error, "no memory left");
        return false;
    }
    program(&text, &ops[batch->number % OPS]);
    for (uint32_t i = 0; i < CASES; i++) {
        rows[i] = make_case(batch, i);
        conform_fill(~rows[i].seed, rows[i].keep, rows[i].set, data + (size_t)i * BYTES, BYTES);
    }
    struct conform_launch launch = {
        .ptx = strbuf_text(&text),
        .entry = "k",
        .grid = CASES,
        .block = 128,
        .dynamic_smem_bytes = BYTES,
        .buffers = {{.from = rows, .bytes = sizeof rows},
                    {.from = data, .to = batch->results, .bytes = (size_t)CASES * BYTES}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    strbuf_free(&text);
    free(data);
    return good;
}

void conform_bulk_describe(const struct conform_batch *batch, uint32_t index, char *text,
                           size_t size) {
    struct row row = make_case(batch, index);
    const struct op *op = &ops[batch->number % OPS];
    snprintf(text, size, "%s from %u to %u size %u seed %08x, words & %08x %08x | %08x %08x",
             op->name == NULL ? "load"
             : *op->name      ? op->name
                              : "store",
             row.from_offset, row.to_offset, row.size, row.seed, row.keep[0], row.keep[1],
             row.set[0], row.set[1]);
}
