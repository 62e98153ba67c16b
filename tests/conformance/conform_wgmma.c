/* Families wgmma, wgmma_sp and wgmma_b1: D of one warpgroup after 1..4 wgmma.mma_async (dense,
 * sparse, of single bits), every word of it.
 *
 * A batch is one instruction form (shape, types, majors, signs, where A is, selector); its cases
 * differ in descriptors, values and metadata, which every thread has its own of. One in four
 * sparse batches has metadata of any bits. Shared memory is filled with words of the case's kind
 * over the whole window, so a descriptor may point anywhere in it: every element is a known word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "conform_words.h"

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
enum {
    SEED,
    STEPS,
    SCALES,
    A_LOW,
    A_HIGH,
    B_LOW,
    B_HIGH,
    A_STEP,
    B_STEP,
    MASKS, /* of A, B, D */
    METADATA = MASKS + 3 * CONFORM_MASK_WORDS,
};

enum what { DENSE, SPARSE, BITS };
static const char *const names[] = {[DENSE] = "wgmma", [SPARSE] = "wgmma_sp", [BITS] = "wgmma_b1"};

struct type {
    const char *name;
    struct conform_format format;
};
static const struct type f16 = {"f16", {16, 5, 10}}, bf16 = {"bf16", {16, 8, 7}},
                         tf32 = {"tf32", {32, 8, 23}}, f32 = {"f32", {32, 8, 23}},
                         s32 = {"s32", {32, 0, 0}};
static const struct type fp8[2] = {{"e4m3", {8, 4, 3}}, {"e5m2", {8, 5, 2}}};
static const struct type b1 = {"b1", {32, 0, 0}};
static const struct type int8[2] = {{"s8", {8, 0, 0}}, {"u8", {8, 0, 0}}};

struct form {
    struct type a, b, d;
    enum what what;
    unsigned n, k, selector;
    bool legal_metadata;
    bool a_in_registers, saturate, transpose_a, transpose_b, negate_a, negate_b, integer;
};

/* All N of every kind come round in 7 * 32 batches. */
static struct form form_of(const struct conform_batch *batch, enum what what) {
    struct conform_random random = conform_random_of(batch, names[what], UINT32_MAX);
    uint64_t kind = what == BITS ? 6 : batch->number % 7, bits = conform_next(&random);
    struct form form = {.what = what, .n = 8 * (1 + (unsigned)(batch->number / 7 % 32))};
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
    if (what == SPARSE) {
        form.k *= 2;
        form.selector = kind < 4 ? bits >> 8 & 1 : 0;
        form.legal_metadata = (bits >> 9 & 3) != 0;
    }
    if (what == BITS) {
        form.k = 256;
        form.a = form.b = b1;
        form.n = 8 * (1 + (unsigned)(batch->number % 32));
        form.n = form.n > 32 ? form.n / 16 * 16 : form.n;
        form.saturate = false;
    }
    return form;
}

/* ---- the program ---- */

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 window[];\n"
    ".visible .entry k(.param .u64 p_table, .param .u64 p_out)\n.reqntid 128\n{\n"
    "  .reg .pred %p, %q, %scale;\n"
    "  .reg .b32 %t, %i, %h, %g, %w, %e, %at, %seed, %steps, %scales, %v<4>, %m<20>, %a<4>;\n"
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
    conform_put_masks(out, MASKS + masks);
    strbuf_printf(out,
                  "  add.u32 %%i, %%t, %u;\nFILL%u:\n"
                  "  mad.lo.u32 %%h, %%i, 0x9e3779b1, %%seed;\n%s",
                  first, first, CONFORM_MIX);
    for (unsigned i = 0; i < 4; i++)
        conform_put_word(out, i + 1, "v", i);
    strbuf_printf(out,
                  "  mov.u32 %%at, window;\n  mad.lo.u32 %%at, %%i, 16, %%at;\n"
                  "  st.shared.v4.b32 [%%at], {%%v0, %%v1, %%v2, %%v3};\n"
                  "  add.u32 %%i, %%i, %d;\n  setp.lt.u32 %%p, %%i, %u;\n  @%%p bra FILL%u;\n",
                  THREADS, end, first);
}

/* D starts with words of the third masks, A's registers with words of the first. */
static void put_registers(struct strbuf *out, const struct form *form, unsigned d_count) {
    conform_put_masks(out, MASKS + 10);
    strbuf_printf(out, "  mad.lo.u32 %%h, %%t, 0x27d4eb2f, %%seed;\n  not.b32 %%h, %%h;\n%s",
                  CONFORM_MIX);
    for (unsigned i = 0; i < d_count; i++)
        conform_put_word(out, i + 5, "d", i);
    if (!form->a_in_registers)
        return;
    conform_put_masks(out, MASKS);
    for (unsigned i = 0; i < 4; i++)
        conform_put_word(out, i + 200, "a", i);
}

/* Metadata of this thread; from step to step its nibbles move on by one. */
static void put_metadata(struct strbuf *out) {
    strbuf_puts(out, "  mad.lo.u32 %h, %t, 0x3c6ef35f, %seed;\n" CONFORM_MIX);
    conform_put_metadata(out, METADATA);
}

static void put_mma(struct strbuf *out, const struct form *form, unsigned d_count) {
    bool sixteen = form->a.format.bits == 16;
    strbuf_printf(out,
                  "  fence.proxy.async;\n  bar.sync 0;\n  mov.u32 %%i, 0;\nSTEP:\n"
                  "  shr.u32 %%g, %%scales, %%i;\n  and.b32 %%g, %%g, 1;\n"
                  "  setp.ne.u32 %%scale, %%g, 0;\n  wgmma.fence.sync.aligned;\n"
                  "  wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s%s%s {",
                  form->what == SPARSE ? ".sp" : "", form->n, form->k, form->d.name, form->a.name,
                  form->b.name, form->saturate ? ".satfinite" : "",
                  form->what == BITS ? ".and.popc" : "");
    for (unsigned i = 0; i < d_count; i++)
        strbuf_printf(out, "%s%%d%u", i ? "," : "", i);
    strbuf_printf(out, "}, %s, %%db", form->a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%da");
    if (form->what == SPARSE)
        strbuf_printf(out, ", %%e, %u", form->selector);
    strbuf_puts(out, ", %scale");
    if (!form->integer)
        strbuf_printf(out, ", %d, %d", form->negate_a ? -1 : 1, form->negate_b ? -1 : 1);
    if (sixteen && !form->a_in_registers)
        strbuf_printf(out, ", %d", form->transpose_a);
    if (sixteen)
        strbuf_printf(out, ", %d", form->transpose_b);
    strbuf_puts(out, ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
                     "  add.u64 %da, %da, %sa;\n  add.u64 %db, %db, %sb;\n"
                     "  shf.l.wrap.b32 %e, %e, %e, 4;\n"
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
    if (form->what == SPARSE)
        put_metadata(&out);
    else
        strbuf_puts(&out, "  mov.u32 %e, 0;\n");
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

struct area {
    uint32_t at_bytes, bytes; /* of the window */
    uint32_t rows, row_bytes; /* of the operand: 32 along K, 64 for B of sparse instructions */
    bool mn_major;
};

/* A descriptor whose operand lies in the area. */
static uint64_t descriptor(struct conform_random *random, const struct area *area, uint32_t steps,
                           uint32_t *step_pieces) {
    const bool mn_major = area->mn_major;
    const uint32_t rows = area->rows;
    static const uint32_t spans[4] = {16, 128, 64, 32}; /* by the layout field */
    uint32_t mode = conform_below(random, 4), span = spans[mode], inner, outer_groups, outer,
             k_step;
    uint32_t start = 16 * conform_below(random, conform_below(random, 2) ? 1 : 16);
    *step_pieces = conform_below(random, 2) ? 2 : conform_below(random, 8);
    /* outer: groups along the rows; k_step: to the next 16 bytes (or 8 elements) of K. */
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
        used += k_step * (area->row_bytes / 16 - 1);
    else if (area->row_bytes > span)
        used += k_step;
    uint32_t room = (area->bytes - used) / (outer_groups > 1 ? outer_groups - 1 : 1) / 16 * 16;
    uint32_t usual = second ? 2 * inner : inner;
    outer = conform_below(random, 2) && usual <= room ? usual
                                                      : 16 * conform_below(random, room / 16 + 1);
    /* MN-major without swizzle SBO steps along the rows; with it LBO does. */
    uint32_t sbo = mn_major && mode != 0 ? k_step : outer;
    uint32_t lbo = mn_major && mode != 0 ? outer : k_step;
    uint64_t base_offset =
        mode != 0 && conform_below(random, 4) == 0 ? conform_below(random, 8) : 0;
    return (uint64_t)((area->at_bytes + start) / 16) | (uint64_t)(lbo / 16 & 0x3fff) << 16 |
           (uint64_t)(sbo / 16 & 0x3fff) << 32 | base_offset << 49 | (uint64_t)mode << 62;
}

static void make_case(const struct conform_batch *batch, const struct form *form, uint32_t index,
                      uint32_t words[TABLE_WORDS]) {
    struct conform_random random = conform_random_of(batch, names[form->what], index);
    memset(words, 0, TABLE_WORDS * sizeof *words);
    words[SEED] = (uint32_t)conform_next(&random);
    words[STEPS] = 1 + conform_below(&random, 4);
    words[SCALES] = 14 + (conform_below(&random, 4) != 0);
    const struct area a_area = {0, A_BYTES, ROWS, 32, form->transpose_a};
    const struct area b_area = {A_BYTES, B_BYTES, form->n, form->what == SPARSE ? 64 : 32,
                                form->transpose_b};
    uint64_t a = descriptor(&random, &a_area, words[STEPS], &words[A_STEP]);
    uint64_t b = descriptor(&random, &b_area, words[STEPS], &words[B_STEP]);
    words[A_LOW] = (uint32_t)a;
    words[A_HIGH] = (uint32_t)(a >> 32);
    words[B_LOW] = (uint32_t)b;
    words[B_HIGH] = (uint32_t)(b >> 32);
    conform_mask_words(words + MASKS, conform_masks_of(&random, form->a.format));
    conform_mask_words(words + MASKS + 5, conform_masks_of(&random, form->b.format));
    conform_mask_words(words + MASKS + 10, conform_masks_of(&random, form->d.format));
    if (form->what == SPARSE)
        words[METADATA] =
            conform_metadata_table(&random, form->legal_metadata, form->a.format.bits == 32);
}

static bool run(struct conform_batch *batch, enum what what, struct host_error *error) {
    struct form form = form_of(batch, what);
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

static void describe(const struct conform_batch *batch, enum what what, uint32_t index, char *text,
                     size_t size) {
    struct form form = form_of(batch, what);
    uint32_t words[TABLE_WORDS];
    make_case(batch, &form, index, words);
    snprintf(text, size,
             "%s m64n%uk%u.%s.%s.%s%s, selector %u, metadata of %08x, A in %s, trans %d %d, negate "
             "%d %d, steps %u of %u and %u "
             "pieces, scale-d %x, A %08x%08x, B %08x%08x, masks A %08x %08x %08x",
             names[what], form.n, form.k, form.d.name, form.a.name, form.b.name,
             form.saturate ? ".satfinite" : "", form.selector, words[METADATA],
             form.a_in_registers ? "registers" : "shared memory", form.transpose_a,
             form.transpose_b, form.negate_a, form.negate_b, words[STEPS], words[A_STEP],
             words[B_STEP], words[SCALES], words[A_HIGH], words[A_LOW], words[B_HIGH], words[B_LOW],
             words[MASKS], words[MASKS + 2], words[MASKS + 4]);
}

#define FAMILY(name, what)                                                                         \
    bool conform_##name##_run(struct conform_batch *batch, struct host_error *error) {             \
        return run(batch, what, error);                                                            \
    }                                                                                              \
    void conform_##name##_describe(const struct conform_batch *batch, uint32_t index, char *text,  \
                                   size_t size) {                                                  \
        describe(batch, what, index, text, size);                                                  \
    }
FAMILY(wgmma, DENSE)
FAMILY(wgmma_sp, SPARSE)
FAMILY(wgmma_b1, BITS)
