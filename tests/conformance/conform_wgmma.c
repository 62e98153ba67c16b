/* Family wgmma: D of one warpgroup after 1..4 wgmma.mma_async, every word of it.
 *
 * A batch is one instruction form (shape, types, majors, signs, where A is); its cases differ in
 * descriptors and values. Shared memory is filled with words of the case's kind over the whole
 * window, so a descriptor may point anywhere in it: every element is a known word. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "strbuf.h"

enum {
    CASES = CONFORM_WGMMA_CASES,
    THREADS = 128,
    TABLE_WORDS = 32,
    A_BYTES = 12288, /* of the window; B follows */
    B_BYTES = 40960,
    WINDOW_BYTES = A_BYTES + B_BYTES,
    ROWS = 64,
};

/* Words of a case's row. */
enum { SEED, STEPS, SCALES, A_LOW, A_HIGH, B_LOW, B_HIGH, A_STEP, B_STEP, MASKS }; /* 3 * 5 masks */

struct type {
    const char *name;
    struct conform_format format;
};
static const struct type f16 = {"f16", {16, 5, 10}}, bf16 = {"bf16", {16, 8, 7}},
                         tf32 = {"tf32", {32, 8, 23}}, f32 = {"f32", {32, 8, 23}},
                         s32 = {"s32", {32, 0, 0}};
static const struct type fp8[2] = {{"e4m3", {8, 4, 3}}, {"e5m2", {8, 5, 2}}};
static const struct type int8[2] = {{"s8", {8, 0, 0}}, {"u8", {8, 0, 0}}};

struct form {
    struct type a, b, d;
    unsigned n, k;
    bool a_in_registers, saturate, transpose_a, transpose_b, negate_a, negate_b, integer;
};

/* All N of every kind come round in 7 * 32 batches. */
static struct form form_of(const struct conform_batch *batch) {
    struct conform_random random = conform_random_of(batch, "wgmma", UINT32_MAX);
    uint64_t kind = batch->number % 7, bits = conform_next(&random);
    struct form form = {.n = 8 * (1 + (unsigned)(batch->number / 7 % 32))};
    bool sixteen = kind < 3;
    form.a_in_registers = bits & 1;
    form.negate_a = bits & 2;
    form.negate_b = bits & 4;
    form.transpose_a = sixteen && !form.a_in_registers && (bits & 8);
    form.transpose_b = sixteen && (bits & 16);
    form.integer = kind == 6;
    form.saturate = form.integer && (bits & 32);
    form.k = sixteen ? 16 : kind == 3 ? 8 : 32;
    form.a = kind == 0 || kind == 1 ? f16
             : kind == 2            ? bf16
             : kind == 3            ? tf32
                                    : fp8[bits >> 6 & 1];
    form.b = sixteen || kind == 3 ? form.a : fp8[bits >> 7 & 1];
    form.d = kind == 1 || kind == 5 ? f16 : f32;
    if (form.integer) {
        form.a = int8[bits >> 6 & 1];
        form.b = int8[bits >> 7 & 1];
        form.d = s32;
        form.n = form.n > 32 ? form.n / 16 * 16 : form.n;
    }
    return form;
}

/* ---- the program ---- */

/* %h: well mixed bits of itself. */
static const char mix[] = "  shr.u32 %g, %h, 16;\n  xor.b32 %h, %h, %g;\n"
                          "  mul.lo.u32 %h, %h, 0x7feb352d;\n  shr.u32 %g, %h, 15;\n"
                          "  xor.b32 %h, %h, %g;\n  mul.lo.u32 %h, %h, 0x846ca68b;\n"
                          "  shr.u32 %g, %h, 16;\n  xor.b32 %h, %h, %g;\n";

/* One word from %h, the `salt`th, by masks %m0 .. %m4, to register %NAMEindex. */
static void put_word(struct strbuf *out, unsigned salt, char name, unsigned index) {
    strbuf_printf(out,
                  "  xor.b32 %%w, %%h, %u;\n  mul.lo.u32 %%w, %%w, 0x9e3779b1;\n"
                  "  shr.u32 %%g, %%w, 15;\n  xor.b32 %%w, %%w, %%g;\n"
                  "  mul.lo.u32 %%w, %%w, 0x85ebca77;\n"
                  "  shr.u32 %%g, %%w, 11;\n  xor.b32 %%w, %%w, %%g;\n"
                  "  shr.u32 %%g, %%h, %u;\n  and.b32 %%g, %%g, %%m4;\n"
                  "  setp.eq.u32 %%q, %%g, 0;\n  selp.b32 %%g, %%m1, %%m0, %%q;\n"
                  "  and.b32 %%w, %%w, %%g;\n  selp.b32 %%g, %%m3, %%m2, %%q;\n"
                  "  or.b32 %%w, %%w, %%g;\n  mov.b32 %%%c%u, %%w;\n",
                  salt * 0x1003f, salt % 13, name, index);
}

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 window[];\n"
    ".visible .entry k(.param .u64 p_table, .param .u64 p_out)\n.reqntid 128\n{\n"
    "  .reg .pred %p, %q, %scale;\n"
    "  .reg .b32 %t, %i, %h, %g, %w, %end, %at, %seed, %steps, %scales, %v<4>, %m<20>, %a<4>;\n"
    "  .reg .b64 %row, %out, %da, %db, %sa, %sb, %x;\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %row, [p_table];\n"
    "  mad.wide.u32 %row, %i, 128, %row;\n  ld.global.u32 %seed, [%row];\n"
    "  ld.global.u32 %steps, [%row+4];\n  ld.global.u32 %scales, [%row+8];\n"
    "  mov.u32 %at, window;\n  shr.u32 %at, %at, 4;\n  cvt.u64.u32 %x, %at;\n"
    "  ld.global.u32 %g, [%row+12];\n  ld.global.u32 %h, [%row+16];\n"
    "  mov.b64 %da, {%g, %h};\n  add.u64 %da, %da, %x;\n"
    "  ld.global.u32 %g, [%row+20];\n  ld.global.u32 %h, [%row+24];\n"
    "  mov.b64 %db, {%g, %h};\n  add.u64 %db, %db, %x;\n"
    "  ld.global.u32 %g, [%row+28];\n  cvt.u64.u32 %sa, %g;\n"
    "  ld.global.u32 %g, [%row+32];\n  cvt.u64.u32 %sb, %g;\n";

/* Fills 16-byte pieces [first, end) of the window with words of masks %m0..%m4. */
static void put_fill(struct strbuf *out, unsigned first, unsigned end, unsigned masks) {
    for (unsigned i = 0; i < 5; i++)
        strbuf_printf(out, "  ld.global.u32 %%m%u, [%%row+%u];\n", i, 4 * (MASKS + masks + i));
    strbuf_printf(out,
                  "  add.u32 %%i, %%t, %u;\nFILL%u:\n"
                  "  mad.lo.u32 %%h, %%i, 0x9e3779b1, %%seed;\n%s",
                  first, first, mix);
    for (unsigned i = 0; i < 4; i++)
        put_word(out, i + 1, 'v', i);
    strbuf_printf(out,
                  "  mov.u32 %%at, window;\n  mad.lo.u32 %%at, %%i, 16, %%at;\n"
                  "  st.shared.v4.b32 [%%at], {%%v0, %%v1, %%v2, %%v3};\n"
                  "  add.u32 %%i, %%i, %d;\n  setp.lt.u32 %%p, %%i, %u;\n  @%%p bra FILL%u;\n",
                  THREADS, end, first);
}

/* D starts with words of the third masks, A's registers with words of the first. */
static void put_registers(struct strbuf *out, const struct form *form, unsigned d_count) {
    for (unsigned i = 0; i < 5; i++)
        strbuf_printf(out, "  ld.global.u32 %%m%u, [%%row+%u];\n", i, 4 * (MASKS + 10 + i));
    strbuf_printf(out, "  mad.lo.u32 %%h, %%t, 0x27d4eb2f, %%seed;\n  not.b32 %%h, %%h;\n%s", mix);
    for (unsigned i = 0; i < d_count; i++)
        put_word(out, i + 5, 'd', i);
    if (!form->a_in_registers)
        return;
    for (unsigned i = 0; i < 5; i++)
        strbuf_printf(out, "  ld.global.u32 %%m%u, [%%row+%u];\n", i, 4 * (MASKS + i));
    for (unsigned i = 0; i < 4; i++)
        put_word(out, i + 200, 'a', i);
}

static void put_mma(struct strbuf *out, const struct form *form, unsigned d_count) {
    strbuf_printf(out,
                  "  fence.proxy.async;\n  bar.sync 0;\n  mov.u32 %%i, 0;\nSTEP:\n"
                  "  shr.u32 %%g, %%scales, %%i;\n  and.b32 %%g, %%g, 1;\n"
                  "  setp.ne.u32 %%scale, %%g, 0;\n  wgmma.fence.sync.aligned;\n"
                  "  wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s%s {",
                  form->n, form->k, form->d.name, form->a.name, form->b.name,
                  form->saturate ? ".satfinite" : "");
    for (unsigned i = 0; i < d_count; i++)
        strbuf_printf(out, "%s%%d%u", i ? "," : "", i);
    strbuf_printf(out, "}, %s, %%db, %%scale",
                  form->a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%da");
    if (!form->integer)
        strbuf_printf(out, ", %d, %d", form->negate_a ? -1 : 1, form->negate_b ? -1 : 1);
    if (form->k == 16 && !form->a_in_registers)
        strbuf_printf(out, ", %d", form->transpose_a);
    if (form->k == 16)
        strbuf_printf(out, ", %d", form->transpose_b);
    strbuf_puts(out, ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
                     "  add.u64 %da, %da, %sa;\n  add.u64 %db, %db, %sb;\n"
                     "  add.u32 %i, %i, 1;\n  setp.lt.u32 %p, %i, %steps;\n  @%p bra STEP;\n");
}

static char *program(const struct form *form, unsigned d_count) {
    struct strbuf out = {0};
    strbuf_puts(&out, head);
    strbuf_printf(&out, "  .reg .%s %%d<%u>;\n",
                  form->d.name[0] == 'f' && form->d.format.bits == 32 ? "f32" : "b32", d_count);
    put_fill(&out, 0, A_BYTES / 16, 0);
    put_fill(&out, A_BYTES / 16, WINDOW_BYTES / 16, 5);
    put_registers(&out, form, d_count);
    put_mma(&out, form, d_count);
    strbuf_printf(&out,
                  "  ld.param.u64 %%out, [p_out];\n  mov.u32 %%i, %%ctaid.x;\n"
                  "  mul.wide.u32 %%x, %%i, %u;\n  add.u64 %%out, %%out, %%x;\n"
                  "  mul.wide.u32 %%x, %%t, 4;\n  add.u64 %%out, %%out, %%x;\n",
                  4 * THREADS * d_count);
    for (unsigned i = 0; i < d_count; i++)
        strbuf_printf(&out, "  mov.b32 %%w, %%d%u;\n  st.global.b32 [%%out+%u], %%w;\n", i,
                      4 * THREADS * i);
    strbuf_puts(&out, "  ret;\n}\n");
    return out.text;
}

/* ---- the cases ---- */

/* A descriptor whose operand of `rows` rows lies in `area_bytes` from `at_bytes` of the window on.
 */
static uint64_t descriptor(struct conform_random *random, bool mn_major, uint32_t rows,
                           uint32_t at_bytes, uint32_t area_bytes, uint32_t steps,
                           uint32_t *step_pieces) {
    static const uint32_t spans[4] = {16, 128, 64, 32}; /* by the layout field */
    uint32_t mode = conform_below(random, 4), span = spans[mode], inner, outer_groups, outer,
             k_step;
    uint32_t start = 16 * conform_below(random, conform_below(random, 2) ? 1 : 16);
    *step_pieces = conform_below(random, 2) ? 2 : conform_below(random, 8);
    /* outer: groups along the rows; k_step: to the second half of K. */
    if (mn_major) {
        outer_groups = (2 * rows + span - 1) / span;
        inner = 8 * span;
    } else {
        outer_groups = rows / 8;
        inner = 8 * span;
    }
    uint32_t used = start + 16 * *step_pieces * (steps - 1) + inner + 128;
    bool second = mn_major || mode == 0; /* whether a stride leads along K */
    k_step = !second                    ? 16 * conform_below(random, 256)
             : conform_below(random, 2) ? inner
                                        : 16 * conform_below(random, 64);
    if (second)
        used += k_step;
    uint32_t room = (area_bytes - used) / (outer_groups > 1 ? outer_groups - 1 : 1) / 16 * 16;
    uint32_t usual = second ? 2 * inner : inner;
    outer = conform_below(random, 2) && usual <= room ? usual
                                                      : 16 * conform_below(random, room / 16 + 1);
    /* MN-major without swizzle SBO steps along the rows; with it LBO does. */
    uint32_t sbo = mn_major && mode != 0 ? k_step : outer;
    uint32_t lbo = mn_major && mode != 0 ? outer : k_step;
    uint64_t base_offset =
        mode != 0 && conform_below(random, 4) == 0 ? conform_below(random, 8) : 0;
    return (uint64_t)((at_bytes + start) / 16) | (uint64_t)(lbo / 16 & 0x3fff) << 16 |
           (uint64_t)(sbo / 16 & 0x3fff) << 32 | base_offset << 49 | (uint64_t)mode << 62;
}

static void put_masks(uint32_t *words, struct conform_masks masks) {
    words[0] = masks.keep[0];
    words[1] = masks.keep[1];
    words[2] = masks.set[0];
    words[3] = masks.set[1];
    words[4] = masks.rare;
}

static void make_case(const struct conform_batch *batch, const struct form *form, uint32_t index,
                      uint32_t words[TABLE_WORDS]) {
    struct conform_random random = conform_random_of(batch, "wgmma", index);
    memset(words, 0, TABLE_WORDS * sizeof *words);
    words[SEED] = (uint32_t)conform_next(&random);
    words[STEPS] = 1 + conform_below(&random, 4);
    words[SCALES] = 14 + (conform_below(&random, 4) != 0);
    uint64_t a =
        descriptor(&random, form->transpose_a, ROWS, 0, A_BYTES, words[STEPS], &words[A_STEP]);
    uint64_t b = descriptor(&random, form->transpose_b, form->n, A_BYTES, B_BYTES, words[STEPS],
                            &words[B_STEP]);
    words[A_LOW] = (uint32_t)a;
    words[A_HIGH] = (uint32_t)(a >> 32);
    words[B_LOW] = (uint32_t)b;
    words[B_HIGH] = (uint32_t)(b >> 32);
    put_masks(words + MASKS, conform_masks_of(&random, form->a.format));
    put_masks(words + MASKS + 5, conform_masks_of(&random, form->b.format));
    put_masks(words + MASKS + 10, conform_masks_of(&random, form->d.format));
}

bool conform_wgmma_run(struct conform_batch *batch, struct host_error *error) {
    struct form form = form_of(batch);
    unsigned d_count = form.n / (form.d.format.bits == 16 ? 4 : 2);
    uint32_t(*table)[TABLE_WORDS] = calloc(CASES, sizeof *table);
    char *text = program(&form, d_count);
    batch->case_bytes = 4 * THREADS * d_count;
    if (table == NULL || text == NULL) {
        free(table);
        free(text);
        result_message(error, "no memory left");
        return false;
    }
    for (uint32_t i = 0; i < CASES; i++)
        make_case(batch, &form, i, table[i]);
    struct conform_launch launch = {
        .ptx = text,
        .entry = "k",
        .grid = CASES,
        .block = THREADS,
        .dynamic_smem_bytes = WINDOW_BYTES,
        .buffers = {{.from = table, .bytes = CASES * sizeof *table},
                    {.to = batch->results, .bytes = CASES * batch->case_bytes}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    free(table);
    free(text);
    return good;
}

void conform_wgmma_describe(const struct conform_batch *batch, uint32_t index, char *text,
                            size_t size) {
    struct form form = form_of(batch);
    uint32_t words[TABLE_WORDS];
    make_case(batch, &form, index, words);
    snprintf(text, size,
             "m64n%uk%u.%s.%s.%s%s, A in %s, trans %d %d, negate %d %d, steps %u of %u and %u "
             "pieces, scale-d %x, A %08x%08x, B %08x%08x, masks A %08x %08x %08x",
             form.n, form.k, form.d.name, form.a.name, form.b.name,
             form.saturate ? ".satfinite" : "", form.a_in_registers ? "registers" : "shared memory",
             form.transpose_a, form.transpose_b, form.negate_a, form.negate_b, words[STEPS],
             words[A_STEP], words[B_STEP], words[SCALES], words[A_HIGH], words[A_LOW],
             words[B_HIGH], words[B_LOW], words[MASKS], words[MASKS + 2], words[MASKS + 4]);
}
