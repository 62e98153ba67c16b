/* Family wmma: wmma.load of A, B and C, wmma.mma and wmma.store of one warp. Results are the 8 KiB
 * that the store goes into. A batch is one set of instructions (shape, types, layouts, state
 * spaces); its cases differ in strides, offsets and values. Shared memory is
 *
 *   0 A   8192 B   16384 C   24576 D (words of C's kind at first)
 *
 * and a copy of the first three lies in global memory for loads from there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "conform_words.h"

enum {
    CASES = CONFORM_WMMA_CASES,
    AREA_BYTES = CONFORM_WMMA_BYTES,
    WINDOW_BYTES = 4 * AREA_BYTES,
    LANES = 32,
    TABLE_WORDS = 32,
    OPERANDS = 4,
};

enum { A, B, C, D };
/* Words of a case's row: byte offsets in the areas and strides in elements, of A, B, C, D. */
enum { SEED, OFFSETS, STRIDES = OFFSETS + OPERANDS, MASKS = STRIDES + OPERANDS };

struct type {
    const char *name;
    struct conform_format format;
};

struct kind {
    const char *shape;
    struct type ab, c, d;
    const char *mma; /* behind shape: types of wmma.mma */
    bool row_col;    /* the only layouts of A and B */
};

#define F16                                                                                        \
    {                                                                                              \
        "f16", {                                                                                   \
            16, 5, 10                                                                              \
        }                                                                                          \
    }
#define BF16                                                                                       \
    {                                                                                              \
        "bf16", {                                                                                  \
            16, 8, 7                                                                               \
        }                                                                                          \
    }
#define TF32                                                                                       \
    {                                                                                              \
        "tf32", {                                                                                  \
            32, 8, 23                                                                              \
        }                                                                                          \
    }
#define F32                                                                                        \
    {                                                                                              \
        "f32", {                                                                                   \
            32, 8, 23                                                                              \
        }                                                                                          \
    }
#define F64                                                                                        \
    {                                                                                              \
        "f64", {                                                                                   \
            64, 11, 20                                                                             \
        }                                                                                          \
    }
#define INT(name, bits)                                                                            \
    {                                                                                              \
        name, {                                                                                    \
            bits, 0, 0                                                                             \
        }                                                                                          \
    }
#define SHAPES(ab, c, d, mma)                                                                      \
    {"m16n16k16", ab, c, d, mma, false}, {"m8n32k16", ab, c, d, mma, false}, {                     \
        "m32n8k16", ab, c, d, mma, false                                                           \
    }
static const struct kind kinds[] = {
    SHAPES(F16, F16, F16, ".f16.f16"),
    SHAPES(F16, F32, F32, ".f32.f32"),
    SHAPES(F16, F16, F32, ".f32.f16"),
    SHAPES(F16, F32, F16, ".f16.f32"),
    SHAPES(BF16, F32, F32, ".f32.bf16.bf16.f32"),
    SHAPES(INT("s8", 8), INT("s32", 32), INT("s32", 32), ".s32.s8.s8.s32"),
    SHAPES(INT("u8", 8), INT("s32", 32), INT("s32", 32), ".s32.u8.u8.s32.satfinite"),
    {"m16n16k8", TF32, F32, F32, ".f32.tf32.tf32.f32", false},
    {"m8n8k4", F64, F64, F64, ".f64.f64.f64.f64", false},
    {"m8n8k32", INT("s4", 4), INT("s32", 32), INT("s32", 32), ".s32.s4.s4.s32", true},
    {"m8n8k32", INT("u4", 4), INT("s32", 32), INT("s32", 32), ".s32.u4.u4.s32", true},
    {"m8n8k128", INT("b1", 1), INT("s32", 32), INT("s32", 32), ".xor.popc.s32.b1.b1.s32", true},
    {"m8n8k128", INT("b1", 1), INT("s32", 32), INT("s32", 32), ".and.popc.s32.b1.b1.s32", true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const spaces[] = {"", ".shared", ".shared::cta", ".global"};
enum { GENERIC, SHARED, SHARED_CTA, GLOBAL, SPACES };

struct form {
    const struct kind *kind;
    bool column_major[OPERANDS];
    unsigned space[OPERANDS];
    unsigned registers[OPERANDS];
    unsigned line_elements[OPERANDS], lines[OPERANDS];
};

static struct type type_of(const struct form *form, unsigned operand) {
    return operand < C ? form->kind->ab : operand == C ? form->kind->c : form->kind->d;
}

static struct form form_of(const struct conform_batch *batch) {
    struct conform_random random = conform_random_of(batch, "wmma", UINT32_MAX);
    struct form form = {.kind = &kinds[batch->number % KINDS]};
    unsigned m = 0, n = 0, k = 0;
    sscanf(form.kind->shape, "m%un%uk%u", &m, &n, &k);
    const unsigned rows[OPERANDS] = {m, k, m, m}, columns[OPERANDS] = {k, n, n, n};
    for (unsigned i = A; i < OPERANDS; i++) {
        unsigned bits = type_of(&form, i).format.bits;
        form.column_major[i] =
            form.kind->row_col && i < C ? i == B : conform_below(&random, 2) != 0;
        form.space[i] = conform_below(&random, SPACES);
        form.lines[i] = form.column_major[i] ? columns[i] : rows[i];
        form.line_elements[i] = form.column_major[i] ? rows[i] : columns[i];
        form.registers[i] = rows[i] * columns[i] * bits / (LANES * (bits == 64 ? 64U : 32U));
        if (i < C && strcmp(form.kind->ab.name, "f16") == 0)
            form.registers[i] = 8;
    }
    return form;
}

/* ---- the program ---- */

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 window[];\n"
    ".visible .entry k(.param .u64 p_table, .param .u64 p_out, .param .u64 p_copy)\n"
    ".reqntid 32\n{\n"
    "  .reg .pred %p, %q;\n"
    "  .reg .b32 %t, %i, %h, %g, %w, %at, %sm, %seed, %v<4>, %m<5>, %stride;\n"
    "  .reg .b64 %row, %out, %copy, %x, %y, %generic;\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %row, [p_table];\n"
    "  ld.param.u64 %out, [p_out];\n  ld.param.u64 %copy, [p_copy];\n"
    "  mad.wide.u32 %row, %i, 128, %row;\n  mad.wide.u32 %out, %i, 8192, %out;\n"
    "  mad.wide.u32 %copy, %i, 32768, %copy;\n  mov.u32 %sm, window;\n"
    "  cvt.u64.u32 %x, %sm;\n  cvta.shared.u64 %generic, %x;\n"
    "  ld.global.u32 %seed, [%row];\n";

/* Fills area `area` and its copy with words of masks `masks`. */
static void put_fill(struct strbuf *out, unsigned area, unsigned masks) {
    conform_put_masks(out, MASKS + masks * CONFORM_MASK_WORDS);
    strbuf_printf(out,
                  "  add.u32 %%i, %%t, %u;\nFILL%u:\n"
                  "  mad.lo.u32 %%h, %%i, 0x9e3779b1, %%seed;\n%s",
                  area * AREA_BYTES / 16, area, CONFORM_MIX);
    for (unsigned i = 0; i < 4; i++)
        conform_put_word(out, i + 1, "v", i);
    strbuf_printf(out,
                  "  mad.lo.u32 %%at, %%i, 16, %%sm;\n  mad.wide.u32 %%x, %%i, 16, %%copy;\n"
                  "  st.shared.v4.b32 [%%at], {%%v0, %%v1, %%v2, %%v3};\n"
                  "  st.global.v4.b32 [%%x], {%%v0, %%v1, %%v2, %%v3};\n"
                  "  add.u32 %%i, %%i, 32;\n  setp.lt.u32 %%p, %%i, %u;\n  @%%p bra FILL%u;\n",
                  (area + 1) * AREA_BYTES / 16, area);
}

static void put_list(struct strbuf *out, const char *name, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(out, "%s%%%s%u", i ? ", " : "{", name, i);
    strbuf_puts(out, "}");
}

/* The address of operand `operand` in %at or %x, its stride in %stride. */
static void put_address(struct strbuf *out, const struct form *form, unsigned operand) {
    unsigned space = form->space[operand];
    strbuf_printf(out,
                  "  ld.global.u32 %%g, [%%row+%u];\n  add.u32 %%g, %%g, %d;\n"
                  "  ld.global.u32 %%stride, [%%row+%u];\n",
                  4 * (OFFSETS + operand), operand * AREA_BYTES, 4 * (STRIDES + operand));
    if (space == SHARED || space == SHARED_CTA)
        strbuf_puts(out, "  add.u32 %at, %sm, %g;\n");
    else
        strbuf_printf(out, "  cvt.u64.u32 %%x, %%g;\n  add.u64 %%x, %%x, %%%s;\n",
                      space == GLOBAL ? "copy" : "generic");
}

static const char *address_of(const struct form *form, unsigned operand) {
    unsigned space = form->space[operand];
    return space == SHARED || space == SHARED_CTA ? "[%at]" : "[%x]";
}

static void put_loads(struct strbuf *out, const struct form *form) {
    static const char *const names[] = {"a", "b", "c"};
    for (unsigned i = A; i <= C; i++) {
        put_address(out, form, i);
        strbuf_printf(out, "  wmma.load.%s.sync.aligned.%s.%s%s.%s ", names[i],
                      form->column_major[i] ? "col" : "row", form->kind->shape,
                      spaces[form->space[i]], type_of(form, i).name);
        put_list(out, names[i], form->registers[i]);
        strbuf_printf(out, ", %s, %%stride;\n", address_of(form, i));
    }
}

static void put_product(struct strbuf *out, const struct form *form) {
    strbuf_printf(out, "  wmma.mma.sync.aligned.%s.%s.%s%s ", form->column_major[A] ? "col" : "row",
                  form->column_major[B] ? "col" : "row", form->kind->shape, form->kind->mma);
    put_list(out, "d", form->registers[D]);
    strbuf_puts(out, ", ");
    put_list(out, "a", form->registers[A]);
    strbuf_puts(out, ", ");
    put_list(out, "b", form->registers[B]);
    strbuf_puts(out, ", ");
    put_list(out, "c", form->registers[C]);
    strbuf_puts(out, ";\n");
    put_address(out, form, D);
    strbuf_printf(out, "  wmma.store.d.sync.aligned.%s.%s%s.%s %s, ",
                  form->column_major[D] ? "col" : "row", form->kind->shape, spaces[form->space[D]],
                  type_of(form, D).name, address_of(form, D));
    put_list(out, "d", form->registers[D]);
    strbuf_puts(out, ", %stride;\n");
}

static char *program(const struct form *form) {
    static const char names[OPERANDS] = {'a', 'b', 'c', 'd'};
    struct strbuf out = {0};
    strbuf_puts(&out, head);
    for (unsigned i = A; i < OPERANDS; i++) {
        const char *name = type_of(form, i).name;
        bool keep = strcmp(name, "f32") == 0 || strcmp(name, "f64") == 0;
        strbuf_printf(&out, "  .reg .%s %%%c<%u>;\n", keep ? name : "b32", names[i],
                      form->registers[i]);
    }
    for (unsigned i = A; i < OPERANDS; i++)
        put_fill(&out, i, i == D ? C : i);
    strbuf_puts(&out, "  bar.sync 0;\n  membar.gl;\n");
    put_loads(&out, form);
    put_product(&out, form);
    bool global = form->space[D] == GLOBAL;
    strbuf_printf(&out, "  bar.sync 0;\n  membar.gl;\n  mov.u32 %%i, %%t;\nOUT:\n"
                        "  mad.lo.u32 %%at, %%i, 16, %%sm;\n  mad.wide.u32 %%x, %%i, 16, %%copy;\n"
                        "  mad.wide.u32 %%y, %%i, 16, %%out;\n");
    strbuf_printf(&out, "  ld.%s.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%%s+%d];\n",
                  global ? "global" : "shared", global ? "x" : "at", D * AREA_BYTES);
    strbuf_printf(&out,
                  "  st.global.v4.b32 [%%y], {%%v0, %%v1, %%v2, %%v3};\n"
                  "  add.u32 %%i, %%i, 32;\n  setp.lt.u32 %%p, %%i, %d;\n  @%%p bra OUT;\n"
                  "  ret;\n}\n",
                  AREA_BYTES / 16);
    return out.text;
}

/* ---- the cases ---- */

static void make_case(const struct conform_batch *batch, const struct form *form, uint32_t index,
                      uint32_t words[TABLE_WORDS]) {
    struct conform_random random = conform_random_of(batch, "wmma", index);
    memset(words, 0, TABLE_WORDS * sizeof *words);
    words[SEED] = (uint32_t)conform_next(&random);
    for (unsigned i = A; i < OPERANDS; i++) {
        struct conform_format format = type_of(form, i).format;
        unsigned piece = 128 / format.bits; /* elements of 16 bytes */
        unsigned least = (form->line_elements[i] + piece - 1) / piece;
        unsigned most = AREA_BYTES / 16 / form->lines[i];
        unsigned stride = least + conform_below(&random, most - least < 4 ? most - least + 1 : 4);
        unsigned room = AREA_BYTES / 32 - (stride * form->lines[i] + 1) / 2;
        words[STRIDES + i] = stride * piece;
        words[OFFSETS + i] = 32 * conform_below(&random, room + 1);
        if (format.bits == 64)
            format.bits = 32;
        else if (format.bits == 1)
            format = (struct conform_format){32, 0, 0};
        if (i < D)
            conform_mask_words(words + MASKS + i * CONFORM_MASK_WORDS,
                               conform_masks_of(&random, format));
    }
}

bool conform_wmma_run(struct conform_batch *batch, struct host_error *error) {
    struct form form = form_of(batch);
    uint32_t(*table)[TABLE_WORDS] = calloc(CASES, sizeof *table);
    char *text = program(&form);
    bool good = table != NULL && text != NULL;
    for (uint32_t i = 0; good && i < CASES; i++)
        make_case(batch, &form, i, table[i]);
    struct conform_launch launch = {
        .ptx = text,
        .entry = "k",
        .grid = CASES,
        .block = LANES,
        .dynamic_smem_bytes = WINDOW_BYTES,
        .buffers = {{.from = table, .bytes = CASES * sizeof *table},
                    {.to = batch->results, .bytes = CASES * AREA_BYTES},
                    {.bytes = CASES * WINDOW_BYTES}},
        .buffer_count = 3,
    };
    if (good)
        good = conform_run_launch(batch->driver, &launch, error);
    else
        result_message(error, "no memory left");
    free(table);
    free(text);
    return good;
}

void conform_wmma_describe(const struct conform_batch *batch, uint32_t index, char *text,
                           size_t size) {
    struct form form = form_of(batch);
    uint32_t words[TABLE_WORDS];
    make_case(batch, &form, index, words);
    snprintf(text, size,
             "%s%s, layouts %d %d %d %d, spaces %u %u %u %u, strides %u %u %u %u, offsets %u %u "
             "%u %u",
             form.kind->shape, form.kind->mma, form.column_major[A], form.column_major[B],
             form.column_major[C], form.column_major[D], form.space[A], form.space[B],
             form.space[C], form.space[D], words[STRIDES], words[STRIDES + 1], words[STRIDES + 2],
             words[STRIDES + 3], words[OFFSETS], words[OFFSETS + 1], words[OFFSETS + 2],
             words[OFFSETS + 3]);
}
