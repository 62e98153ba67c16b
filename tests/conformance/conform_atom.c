/* Family atom: one atomic operation of one thread on a cell of its own, in global and in shared
 * memory. A row holds the cell, the operands and then the value that the operation gave back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "strbuf.h"

enum { CASES = CONFORM_ATOM_CASES, THREADS = 256 };

struct row {
    uint64_t cell, b, c, old;
};

struct op {
    const char *name;
    struct conform_format format;
    unsigned bits;
};
static const struct op ops[] = {
    {"add.u32", {0, 0, 0}, 32},
    {"add.s32", {0, 0, 0}, 32},
    {"add.u64", {0, 0, 0}, 64},
    {"add.f32", {32, 8, 23}, 32},
    {"add.f64", {64, 11, 52}, 64},
    {"add.noftz.f16", {16, 5, 10}, 16},
    {"add.noftz.bf16", {16, 8, 7}, 16},
    {"add.noftz.f16x2", {16, 5, 10}, 32},
    {"add.noftz.bf16x2", {16, 8, 7}, 32},
    {"min.u32", {0, 0, 0}, 32},
    {"max.u32", {0, 0, 0}, 32},
    {"min.s32", {0, 0, 0}, 32},
    {"max.s32", {0, 0, 0}, 32},
    {"min.u64", {0, 0, 0}, 64},
    {"max.u64", {0, 0, 0}, 64},
    {"min.s64", {0, 0, 0}, 64},
    {"max.s64", {0, 0, 0}, 64},
    {"inc.u32", {0, 0, 0}, 32},
    {"dec.u32", {0, 0, 0}, 32},
    {"and.b32", {0, 0, 0}, 32},
    {"or.b32", {0, 0, 0}, 32},
    {"xor.b32", {0, 0, 0}, 32},
    {"and.b64", {0, 0, 0}, 64},
    {"or.b64", {0, 0, 0}, 64},
    {"xor.b64", {0, 0, 0}, 64},
    {"exch.b32", {0, 0, 0}, 32},
    {"exch.b64", {0, 0, 0}, 64},
    {"cas.b16", {0, 0, 0}, 16},
    {"cas.b32", {0, 0, 0}, 32},
    {"cas.b64", {0, 0, 0}, 64},
};
enum { OPS = sizeof ops / sizeof ops[0] };

static bool in_shared(const struct conform_batch *batch) {
    return batch->number / OPS % 2;
}

static void program(struct strbuf *out, const struct op *op, bool shared) {
    char class = op->bits == 16 ? 'h' : op->bits == 32 ? 'r' : 'd';
    bool swaps = strncmp(op->name, "cas", 3) == 0;
    strbuf_puts(out, ".version 8.6\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 p_rows)\n{\n  .reg .b16 %h<3>;\n"
                     "  .reg .b32 %r<3>, %t, %i, %at;\n  .reg .b64 %d<3>, %row, %cell, %old;\n"
                     "  .shared .align 8 .b64 cells[256];\n"
                     "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n"
                     "  mad.lo.u32 %i, %i, 256, %t;\n  ld.param.u64 %row, [p_rows];\n"
                     "  mad.wide.u32 %row, %i, 32, %row;\n  mov.u32 %at, cells;\n"
                     "  mad.lo.u32 %at, %t, 8, %at;\n  ld.global.u64 %cell, [%row];\n"
                     "  st.shared.u64 [%at], %cell;\n");
    strbuf_printf(out, "  ld.global.b%u %%%c1, [%%row+8];\n  ld.global.b%u %%%c2, [%%row+16];\n",
                  op->bits, class, op->bits, class);
    strbuf_printf(out, "  atom.%s.%s %%%c0, [%s], %%%c1", shared ? "shared" : "global", op->name,
                  class, shared ? "%at" : "%row", class);
    strbuf_printf(out, swaps ? ", %%%c2;\n" : ";\n", class);
    if (shared)
        strbuf_puts(out, "  ld.shared.u64 %cell, [%at];\n  st.global.u64 [%row], %cell;\n");
    if (class == 'd')
        strbuf_puts(out, "  mov.b64 %old, %d0;\n");
    else
        strbuf_printf(out, "  cvt.u64.u%u %%old, %%%c0;\n", op->bits, class);
    strbuf_puts(out, "  st.global.u64 [%row+24], %old;\n  ret;\n}\n");
}

static uint64_t word(struct conform_random *random, const struct op *op) {
    uint32_t keep[2], set[2];
    uint64_t bits = conform_next(random);
    conform_pair_of(random, op->format, keep, set);
    bits = (bits & ((uint64_t)keep[1] << 32 | keep[0])) | ((uint64_t)set[1] << 32 | set[0]);
    if (op->format.bits == 0 && conform_below(random, 3) == 0)
        bits = conform_below(random, 4) - UINT64_C(2);
    return bits;
}

static struct row make_case(const struct conform_batch *batch, uint32_t index) {
    struct conform_random random = conform_random_of(batch, "atom", index);
    const struct op *op = &ops[batch->number % OPS];
    struct row row = {.cell = word(&random, op), .b = word(&random, op), .c = word(&random, op)};
    if (conform_below(&random, 4) == 0)
        row.b = row.cell;
    return row;
}

bool conform_atom_run(struct conform_batch *batch, struct host_error *error) {
    struct strbuf text = {0};
    struct row *rows = (struct row *)(void *)batch->results; /* changed in place */
    program(&text, &ops[batch->number % OPS], in_shared(batch));
    for (uint32_t i = 0; i < CASES; i++)
        rows[i] = make_case(batch, i);
    struct conform_launch launch = {
        .ptx = strbuf_text(&text),
        .entry = "k",
        .grid = CASES / THREADS,
        .block = THREADS,
        .buffers = {{.from = rows, .to = rows, .bytes = CASES * sizeof *rows}},
        .buffer_count = 1,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    strbuf_free(&text);
    return good;
}

void conform_atom_describe(const struct conform_batch *batch, uint32_t index, char *text,
                           size_t size) {
    struct row row = make_case(batch, index);
    snprintf(text, size, "atom.%s.%s cell %llx, %llx, %llx", in_shared(batch) ? "shared" : "global",
             ops[batch->number % OPS].name, (unsigned long long)row.cell, (unsigned long long)row.b,
             (unsigned long long)row.c);
}
