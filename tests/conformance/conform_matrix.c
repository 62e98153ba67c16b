/* Family matrix: ldmatrix, stmatrix and movmatrix of one warp, lane addresses anywhere in 4 KiB.
 * A load's results are its registers, a store's are the 4 KiB. Stores go to different rows: the
 * order of two stores to one place is nobody's promise. */
#include <stdio.h>

#include "conform_families.h"
#include "strbuf.h"

enum { CASES = CONFORM_MATRIX_CASES, BYTES = CONFORM_MATRIX_BYTES, OPS = 13 };

struct row {
    uint32_t seed, factor, unused[2];
};

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p_rows, .param .u64 p_out)\n{\n" CONFORM_FILL_REGISTERS
    "  .reg .pred %p;\n  .reg .b32 %i, %at, %g, %r<4>, %factor;\n  .reg .b64 %rows, %out;\n"
    "  .shared .align 1024 .b8 space[4096];\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %rows, [p_rows];\n"
    "  mad.wide.u32 %rows, %i, 16, %rows;\n  ld.global.v2.u32 {%seed, %factor}, [%rows];\n"
    "  ld.param.u64 %out, [p_out];\n  mad.wide.u32 %out, %i, 4096, %out;\n"
    "  mov.u32 %sm, space;\n  mov.u32 %k0, -1;\n  mov.u32 %k1, -1;\n  mov.u32 %s0, 0;\n"
    "  mov.u32 %s1, 0;\n";

/* Warp 0 acts; lane addresses are 16 * (lane * factor + seed) of 256 rows, or mixed for loads. */
static const char addresses[] =
    "  bar.sync 0;\n  mad.lo.u32 %at, %t, %factor, %seed;\n  and.b32 %at, %at, 255;\n"
    "  mad.lo.u32 %at, %at, 16, %sm;\n"
    "  mad.lo.u32 %r0, %t, 0x9e3779b1, %seed;\n  mul.lo.u32 %r1, %r0, 0x85ebca77;\n"
    "  mul.lo.u32 %r2, %r1, 0x85ebca77;\n  mul.lo.u32 %r3, %r2, 0x85ebca77;\n"
    "  setp.ge.u32 %p, %t, 32;\n";

static void put_op(struct strbuf *out, unsigned op) {
    static const char *const registers[3] = {"{%r0}", "{%r0, %r1}", "{%r0, %r1, %r2, %r3}"};
    const char *list = registers[op % 3], *trans = op / 3 % 2 ? ".trans" : "";
    unsigned count = 1u << op % 3;
    if (op == OPS - 1)
        strbuf_puts(out, "  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n");
    else if (op < 6)
        strbuf_printf(out, "  ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%at];\n", count,
                      trans, list);
    else
        strbuf_printf(out, "  stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%at], %s;\n", count,
                      trans, list);
}

static bool stores(unsigned op) {
    return op >= 6 && op != OPS - 1;
}

static void program(struct strbuf *out, unsigned op) {
    strbuf_puts(out, head);
    conform_put_fill(out, 2);
    strbuf_puts(out, addresses);
    strbuf_puts(out, "  @%p bra DONE;\n");
    put_op(out, op);
    strbuf_puts(out, "DONE:\n");
    if (stores(op))
        strbuf_puts(out, "  bar.sync 0;\n  shl.b32 %at, %t, 4;\n  add.u32 %at, %at, %sm;\n"
                         "  mad.wide.u32 %out, %t, 16, %out;\n"
                         "  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%at];\n"
                         "  st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};\n"
                         "  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%at+2048];\n"
                         "  st.global.v4.b32 [%out+2048], {%r0, %r1, %r2, %r3};\n");
    else
        strbuf_puts(out, "  mad.wide.u32 %out, %t, 16, %out;\n"
                         "  @!%p st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};\n");
    strbuf_puts(out, "  ret;\n}\n");
}

static struct row make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "matrix", index);
    struct row row = {.seed = (uint32_t)conform_next(&random)};
    row.factor = (uint32_t)conform_next(&random);
    if (stores((unsigned)(batch->number % OPS)))
        row.factor |= 1; /* different rows */
    return row;
}

bool conform_matrix_run(struct conform_batch *batch, struct host_error *error) {
    struct row rows[CASES];
    struct strbuf text = {0};
    program(&text, (unsigned)(batch->number % OPS));
    for (uint32_t i = 0; i < CASES; i++)
        rows[i] = make_case(batch, i);
    struct conform_launch launch = {
        .ptx = strbuf_text(&text),
        .entry = "k",
        .grid = CASES,
        .block = 128,
        .buffers = {{.from = rows, .bytes = sizeof rows},
                    {.to = batch->results, .bytes = (size_t)CASES * BYTES}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    strbuf_free(&text);
    return good;
}

void conform_matrix_describe(const struct conform_batch *batch, uint32_t index, char *text,
                             size_t size) {
    struct row row = make_case(batch, index);
    struct strbuf op = {0};
    put_op(&op, (unsigned)(batch->number % OPS));
    snprintf(text, size, "seed %08x factor %08x:%.100s", row.seed, row.factor, strbuf_text(&op));
    strbuf_free(&op);
}
