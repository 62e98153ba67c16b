/* Family warp: one collective a case, by the lanes of a random mask (all 32 for shfl, whose lanes
 * may read any other). Two result words a lane. */
#include <stdio.h>
#include <stdlib.h>

#include "conform_families.h"
#include "strbuf.h"

enum { CASES = CONFORM_WARP_CASES };

struct row {
    uint32_t mask, c, seed, keep;
};

#define SELECT "  selp.u32 %e, 1, 0, %q;\n"
static const char *const ops[] = {
    "  shfl.sync.up.b32 %d|%q, %a, %b, %c, %mask;\n" SELECT,
    "  shfl.sync.down.b32 %d|%q, %a, %b, %c, %mask;\n" SELECT,
    "  shfl.sync.bfly.b32 %d|%q, %a, %b, %c, %mask;\n" SELECT,
    "  shfl.sync.idx.b32 %d|%q, %a, %b, %c, %mask;\n" SELECT,
    "  vote.sync.all.pred %q, %r, %mask;\n" SELECT,
    "  vote.sync.any.pred %q, %r, %mask;\n" SELECT,
    "  vote.sync.uni.pred %q, %r, %mask;\n" SELECT,
    "  vote.sync.ballot.b32 %d, %r, %mask;\n",
    "  match.any.sync.b32 %d, %a, %mask;\n",
    "  match.any.sync.b64 %d, %x, %mask;\n",
    "  match.all.sync.b32 %d|%q, %a, %mask;\n" SELECT,
    "  match.all.sync.b64 %d|%q, %x, %mask;\n" SELECT,
    "  redux.sync.add.u32 %d, %a, %mask;\n",
    "  redux.sync.add.s32 %d, %a, %mask;\n",
    "  redux.sync.min.u32 %d, %a, %mask;\n",
    "  redux.sync.max.u32 %d, %a, %mask;\n",
    "  redux.sync.min.s32 %d, %a, %mask;\n",
    "  redux.sync.max.s32 %d, %a, %mask;\n",
    "  redux.sync.and.b32 %d, %a, %mask;\n",
    "  redux.sync.or.b32 %d, %a, %mask;\n",
    "  redux.sync.xor.b32 %d, %a, %mask;\n",
    "  elect.sync %d|%q, %mask;\n" SELECT,
};
enum { OPS = sizeof ops / sizeof ops[0], SHFL_OPS = 4 };

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p_rows, .param .u64 p_out)\n{\n"
    "  .reg .pred %p, %q, %r;\n  .reg .b32 %lane, %i, %a, %b, %c, %d, %e, %g, %mask, %seed, "
    "%keep;\n"
    "  .reg .b64 %rows, %out, %x;\n"
    "  mov.u32 %lane, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %rows, [p_rows];\n"
    "  mad.wide.u32 %rows, %i, 16, %rows;\n"
    "  ld.global.v4.u32 {%mask, %c, %seed, %keep}, [%rows];\n"
    "  mad.lo.u32 %a, %lane, 0x9e3779b1, %seed;\n  shr.u32 %g, %a, 15;\n  xor.b32 %a, %a, %g;\n"
    "  mul.lo.u32 %a, %a, 0x85ebca77;\n  shr.u32 %g, %a, 13;\n  xor.b32 %a, %a, %g;\n"
    "  mul.lo.u32 %b, %a, 0xc2b2ae3d;\n  shr.u32 %b, %b, 26;\n  and.b32 %a, %a, %keep;\n"
    "  and.b32 %g, %b, %keep;\n  mov.b64 %x, {%a, %g};\n"
    "  and.b32 %g, %a, 1;\n  setp.ne.u32 %r, %g, 0;\n  mov.u32 %d, 0;\n  mov.u32 %e, 0;\n"
    "  shr.u32 %g, %mask, %lane;\n  and.b32 %g, %g, 1;\n  setp.eq.u32 %p, %g, 0;\n"
    "  @%p bra DONE;\n";

static const char tail[] =
    "DONE:\n  ld.param.u64 %out, [p_out];\n  mad.lo.u32 %i, %i, 32, %lane;\n"
    "  mad.wide.u32 %out, %i, 8, %out;\n  st.global.v2.u32 [%out], {%d, %e};\n  ret;\n}\n";

static struct row make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "warp", index);
    struct row row = {
        .mask = UINT32_MAX, .c = (uint32_t)conform_next(&random) & 0x1f1f, .keep = UINT32_MAX};
    row.seed = (uint32_t)conform_next(&random);
    if (conform_below(&random, 2))
        row.keep = conform_below(&random, 4);
    if (batch->number % OPS >= SHFL_OPS && conform_below(&random, 2)) {
        row.mask = (uint32_t)conform_next(&random);
        row.mask |= 1u << conform_below(&random, 32);
    }
    return row;
}

bool conform_warp_run(struct conform_batch *batch, struct host_error *error) {
    struct row rows[CASES];
    struct strbuf text = {0};
    strbuf_puts(&text, head);
    strbuf_puts(&text, ops[batch->number % OPS]);
    strbuf_puts(&text, tail);
    for (uint32_t i = 0; i < CASES; i++)
        rows[i] = make_case(batch, i);
    struct conform_launch launch = {
        .ptx = strbuf_text(&text),
        .entry = "k",
        .grid = CASES,
        .block = 32,
        .buffers = {{.from = rows, .bytes = sizeof rows},
                    {.to = batch->results, .bytes = CASES * CONFORM_WARP_BYTES}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    strbuf_free(&text);
    return good;
}

void conform_warp_describe(const struct conform_batch *batch, uint32_t index, char *text,
                           size_t size) {
    struct row row = make_case(batch, index);
    snprintf(text, size, "mask %08x c %04x seed %08x keep %08x:%.60s", row.mask, row.c, row.seed,
             row.keep, ops[batch->number % OPS]);
}
