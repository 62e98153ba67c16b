/* Families mma and mma_sp: D of one warp after 1..4 mma.sync, wmma.mma or mma.sp on registers of
 * random words; D is the C of the next step where the types allow it. A batch is one instruction
 * form, its cases differ in values and, if sparse, in metadata, which every lane has its own of.
 * One in four sparse batches has metadata of any bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_families.h"
#include "conform_words.h"

enum { CASES = CONFORM_MMA_CASES, LANES = 32, TABLE_WORDS = 32, TYPES = 4, TEXT = 128 };

/* Words of a case's row. */
enum { SEED, STEPS, MASKS /* of A, B, C */, METADATA = MASKS + 3 * CONFORM_MASK_WORDS };

/* One of the words between braces is taken. */
#define LAYOUTS     ".{row|col}.{row|col}"
#define WMMA_SHAPES ".{m16n16k16|m8n32k16|m32n8k16}"
#define ROUNDINGS   "{|.rn|.rz|.rm|.rp}"
static const char *const dense_forms[] = {
    "mma.sync.aligned.m16n8k{8|16}.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m16n8k{8|16}.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k{8|16}.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k{4|8}.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k{16|32}.row.col.f32.{e4m3|e5m2}.{e4m3|e5m2}.f32",
    "mma.sync.aligned.m16n8k{16|32}.row.col.f16.{e4m3|e5m2}.{e4m3|e5m2}.f16",
    "mma.sync.aligned.{m8n8k16|m16n8k16|m16n8k32}.row.col{|.satfinite}.s32.{s8|u8}.{s8|u8}.s32",
    "mma.sync.aligned.{m8n8k32|m16n8k32|m16n8k64}.row.col{|.satfinite}.s32.{s4|u4}.{s4|u4}.s32",
    "mma.sync.aligned.{m8n8k128|m16n8k128|m16n8k256}.row.col.{xor|and}.popc.s32.b1.b1.s32",
    "mma.sync.aligned.{m8n8k4|m16n8k4|m16n8k8|m16n8k16}.row.col" ROUNDINGS ".f64.f64.f64.f64",
    "mma.sync.aligned.m8n8k4" LAYOUTS ".{f16.f16.f16.f16|f32.f16.f16.f16|f32.f16.f16.f32}",
    "wmma.mma.sync.aligned" LAYOUTS WMMA_SHAPES ".{f16|f32}.{f16|f32}",
    "wmma.mma.sync.aligned" LAYOUTS WMMA_SHAPES ".f32.bf16.bf16.f32",
    "wmma.mma.sync.aligned" LAYOUTS WMMA_SHAPES "{|.satfinite}.s32.{s8.s8|u8.u8}.s32",
    "wmma.mma.sync.aligned" LAYOUTS ".m16n16k8.f32.tf32.tf32.f32",
    "wmma.mma.sync.aligned" LAYOUTS ".m8n8k4" ROUNDINGS ".f64.f64.f64.f64",
    "wmma.mma.sync.aligned.row.col.m8n8k32{|.satfinite}.s32.{s4.s4|u4.u4}.s32",
    "wmma.mma.{xor|and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
};
#define SPARSE "mma.sp{|::ordered_metadata}.sync.aligned.m16n8k"
static const char *const sparse_forms[] = {
    SPARSE "{16|32}.row.col.f16.f16.f16.f16",
    SPARSE "{16|32}.row.col.f32.f16.f16.f32",
    SPARSE "{16|32}.row.col.f32.bf16.bf16.f32",
    SPARSE "{8|16}.row.col.f32.tf32.tf32.f32",
    SPARSE "64.row.col.f32.{e4m3|e5m2}.{e4m3|e5m2}.f32",
    SPARSE "{32|64}.row.col{|.satfinite}.s32.{s8|u8}.{s8|u8}.s32",
    SPARSE "{64|128}.row.col{|.satfinite}.s32.{s4|u4}.{s4|u4}.s32",
};
enum { DENSE_FORMS = sizeof dense_forms / sizeof *dense_forms };
enum { SPARSE_FORMS = sizeof sparse_forms / sizeof *sparse_forms };

/* Types of D, A, B, C, and registers of each, 32-bit ones (64-bit for f64). */
enum { D, A, B, C };
struct form {
    char mnemonic[TEXT];
    char types[TYPES][8];
    unsigned registers[TYPES];
    bool sparse, legal_metadata;
    unsigned selector;
};

static const struct {
    const char *name;
    struct conform_format format;
} formats[] = {
    {"f16", {16, 5, 10}},  {"bf16", {16, 8, 7}}, {"tf32", {32, 8, 23}}, {"f32", {32, 8, 23}},
    {"e4m3", {8, 4, 3}},   {"e5m2", {8, 5, 2}},  {"s8", {8, 0, 0}},     {"u8", {8, 0, 0}},
    {"s4", {4, 0, 0}},     {"u4", {4, 0, 0}},    {"b1", {1, 0, 0}},     {"s32", {32, 0, 0}},
    {"f64", {64, 11, 20}}, /* of the upper word */
};

static struct conform_format format_of(const char *type) {
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, type) == 0)
            return formats[i].format;
    return (struct conform_format){0};
}

/* Writes `pattern` with one word of each pair of braces. */
static void choose(struct conform_random *random, const char *pattern, char *out) {
    while (*pattern != '\0') {
        if (*pattern != '{') {
            *out++ = *pattern++;
            continue;
        }
        unsigned count = 1;
        const char *end = strchr(pattern, '}');
        for (const char *p = pattern; p < end; p++)
            count += *p == '|';
        unsigned left = conform_below(random, count);
        for (const char *p = pattern + 1; p < end; p++)
            if (*p == '|')
                left--;
            else if (left == 0)
                *out++ = *p;
        pattern = end + 1;
    }
    *out = '\0';
}

/* The last words: four types, or those of D and C of wmma on f16. */
static void read_types(struct form *form, bool two) {
    const char *end = form->mnemonic + strlen(form->mnemonic);
    for (unsigned i = 0; i < TYPES; i++)
        strcpy(form->types[i], "f16");
    for (int i = TYPES - 1; i >= 0; i -= two ? TYPES - 1 : 1) {
        const char *dot = end - 1;
        while (*dot != '.')
            dot--;
        snprintf(form->types[i], sizeof form->types[i], "%.*s", (int)(end - dot - 1), dot + 1);
        end = dot;
    }
}

static void count_registers(struct form *form, bool wmma) {
    unsigned m = 0, n = 0, k = 0;
    for (const char *p = strchr(form->mnemonic, '.'); p != NULL; p = strchr(p + 1, '.'))
        if (sscanf(p, ".m%un%uk%u", &m, &n, &k) == 3)
            break;
    unsigned bits = format_of(form->types[A]).bits, register_bits = bits == 64 ? 64 : 32;
    unsigned per_register = LANES * register_bits;
    bool quad = m * n * k == 8 * 8 * 4 && bits == 16; /* four products */
    form->registers[A] = quad ? 2 : m * k * bits / (form->sparse ? 2 : 1) / per_register;
    form->registers[B] = quad ? 2 : n * k * bits / per_register;
    if (wmma && strcmp(form->types[A], "f16") == 0)
        form->registers[A] = form->registers[B] = 8;
    for (unsigned i = D; i < TYPES; i += C - D)
        form->registers[i] = (quad ? 4 : 1) * m * n * format_of(form->types[i]).bits / per_register;
    if (form->registers[A] == 0)
        form->registers[A] = 1;
    if (form->registers[B] == 0)
        form->registers[B] = 1;
}

static struct form form_of(const struct conform_batch *batch, bool sparse) {
    struct conform_random random = conform_random_of(batch, sparse ? "mma_sp" : "mma", UINT32_MAX);
    struct form form = {.sparse = sparse};
    const char *pattern = sparse ? sparse_forms[batch->number % SPARSE_FORMS]
                                 : dense_forms[batch->number % DENSE_FORMS];
    choose(&random, pattern, form.mnemonic);
    bool wmma = form.mnemonic[0] == 'w';
    read_types(&form, wmma && strstr(pattern, ".{f16|f32}.{f16|f32}") != NULL);
    count_registers(&form, wmma);
    if (!sparse)
        return form;
    /* Metadata of 512 bits comes from half of the lanes, of 1024 from all; 256 from a quarter. */
    unsigned bits = format_of(form.types[A]).bits, lanes = 8;
    if (form.registers[A] == 4)
        lanes *= 2;
    if (bits <= 8)
        lanes *= 2;
    form.selector = conform_below(&random, LANES / lanes);
    form.legal_metadata = conform_below(&random, 4) != 0;
    return form;
}

/* ---- the program ---- */

static const char head[] =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p_table, .param .u64 p_out)\n.reqntid 32\n{\n"
    "  .reg .pred %p, %q;\n  .reg .b32 %t, %i, %h, %g, %w, %e, %seed, %steps, %v<2>, %m<5>;\n"
    "  .reg .b64 %row, %out, %x;\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %i, %ctaid.x;\n  ld.param.u64 %row, [p_table];\n"
    "  mad.wide.u32 %row, %i, 128, %row;\n  ld.global.u32 %seed, [%row];\n"
    "  ld.global.u32 %steps, [%row+4];\n";

static void put_list(struct strbuf *out, const char *name, unsigned count) {
    strbuf_puts(out, "{");
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(out, "%s%%%s%u", i ? ", " : "", name, i);
    strbuf_puts(out, "}");
}

/* Registers NAME0.. of operand `which`. */
static void put_values(struct strbuf *out, const struct form *form, unsigned which,
                       const char *name, unsigned masks) {
    bool wide = strcmp(form->types[which], "f64") == 0;
    conform_put_masks(out, MASKS + masks * CONFORM_MASK_WORDS);
    for (unsigned i = 0; i < form->registers[which]; i++) {
        conform_put_word(out, 64 * masks + 2 * i + 1, wide ? "v" : name, wide ? 1 : i);
        if (wide)
            strbuf_printf(out,
                          "  mul.lo.u32 %%v0, %%w, 0x9e3779b1;\n  mov.b64 %%%s%u, {%%v0, %%v1};\n",
                          name, i);
    }
}

static void put_declarations(struct strbuf *out, const struct form *form) {
    static const char names[TYPES] = {[D] = 'd', [A] = 'a', [B] = 'b', [C] = 'c'};
    for (unsigned i = 0; i < TYPES; i++) {
        const char *type = form->types[i];
        bool keep = strcmp(type, "f32") == 0 || strcmp(type, "f64") == 0;
        strbuf_printf(out, "  .reg .%s %%%c<%u>;\n", keep ? type : "b32", names[i],
                      form->registers[i]);
    }
}

static char *program(const struct form *form) {
    struct strbuf out = {0};
    bool wide = strcmp(form->types[D], "f64") == 0;
    bool feed = strcmp(form->types[C], form->types[D]) == 0;
    unsigned d_count = form->registers[D];
    strbuf_puts(&out, head);
    put_declarations(&out, form);
    strbuf_puts(&out, "  mad.lo.u32 %h, %t, 0x27d4eb2f, %seed;\n" CONFORM_MIX);
    put_values(&out, form, C, "c", 2);
    if (form->sparse)
        conform_put_metadata(&out, METADATA);
    strbuf_puts(&out, "  mov.u32 %i, 0;\nSTEP:\n  mad.lo.u32 %h, %i, 0x3c6ef35f, %seed;\n"
                      "  mad.lo.u32 %h, %t, 0x9e3779b1, %h;\n" CONFORM_MIX);
    put_values(&out, form, A, "a", 0);
    put_values(&out, form, B, "b", 1);
    strbuf_printf(&out, "  %s ", form->mnemonic);
    put_list(&out, "d", d_count);
    strbuf_puts(&out, ", ");
    put_list(&out, "a", form->registers[A]);
    strbuf_puts(&out, ", ");
    put_list(&out, "b", form->registers[B]);
    strbuf_puts(&out, ", ");
    put_list(&out, "c", form->registers[C]);
    if (form->sparse)
        strbuf_printf(&out, ", %%e, %u;\n  shf.l.wrap.b32 %%e, %%e, %%e, 4", form->selector);
    strbuf_puts(&out, ";\n");
    for (unsigned i = 0; feed && i < d_count; i++)
        strbuf_printf(&out, "  mov.b%u %%c%u, %%d%u;\n", wide ? 64 : 32, i, i);
    strbuf_printf(&out,
                  "  add.u32 %%i, %%i, 1;\n  setp.lt.u32 %%p, %%i, %%steps;\n  @%%p bra STEP;\n"
                  "  ld.param.u64 %%out, [p_out];\n  mov.u32 %%i, %%ctaid.x;\n"
                  "  mul.wide.u32 %%x, %%i, %u;\n  add.u64 %%out, %%out, %%x;\n"
                  "  mul.wide.u32 %%x, %%t, %u;\n  add.u64 %%out, %%out, %%x;\n",
                  LANES * d_count * (wide ? 8 : 4), wide ? 8 : 4);
    for (unsigned i = 0; i < d_count; i++)
        strbuf_printf(&out, "  st.global.b%u [%%out+%u], %%d%u;\n", wide ? 64 : 32,
                      LANES * i * (wide ? 8 : 4), i);
    strbuf_puts(&out, "  ret;\n}\n");
    return out.text;
}

/* ---- the cases ---- */

static void make_case(const struct conform_batch *batch, const struct form *form, uint32_t index,
                      uint32_t words[TABLE_WORDS]) {
    struct conform_random random = conform_random_of(batch, form->sparse ? "mma_sp" : "mma", index);
    static const unsigned order[3] = {A, B, C};
    memset(words, 0, TABLE_WORDS * sizeof *words);
    words[SEED] = (uint32_t)conform_next(&random);
    words[STEPS] = 1 + conform_below(&random, 4);
    for (unsigned i = 0; i < 3; i++) {
        struct conform_format format = format_of(form->types[order[i]]);
        if (format.bits == 64 || format.bits == 1)
            format.bits = 32;
        conform_mask_words(words + MASKS + i * CONFORM_MASK_WORDS,
                           conform_masks_of(&random, format));
    }
    words[METADATA] =
        conform_metadata_table(&random, form->legal_metadata, strcmp(form->types[A], "tf32") == 0);
}

static bool run(struct conform_batch *batch, bool sparse, struct host_error *error) {
    static const char no_memory[] = "no memory left";
    struct form form = form_of(batch, sparse);
    uint32_t(*table)[TABLE_WORDS] = calloc(CASES, sizeof *table);
    char *text = program(&form);
    bool wide = strcmp(form.types[D], "f64") == 0, good = table != NULL && text != NULL;
    batch->case_bytes = LANES * form.registers[D] * (wide ? 8u : 4u);
    for (uint32_t i = 0; good && i < CASES; i++)
        make_case(batch, &form, i, table[i]);
    struct conform_launch launch = {
        .ptx = text,
        .entry = "k",
        .grid = CASES,
        .block = LANES,
        .buffers = {{.from = table, .bytes = CASES * sizeof *table},
                    {.to = batch->results, .bytes = CASES * batch->case_bytes}},
        .buffer_count = 2,
    };
    if (good)
        good = conform_run_launch(batch->driver, &launch, error);
    else
        result_message(error, no_memory);
    free(table);
    free(text);
    return good;
}

static void describe(const struct conform_batch *batch, bool sparse, uint32_t index, char *text,
                     size_t size) {
    struct form form = form_of(batch, sparse);
    uint32_t words[TABLE_WORDS];
    make_case(batch, &form, index, words);
    snprintf(text, size, "%s, selector %u, metadata of %08x, %u steps, masks A %08x %08x %08x",
             form.mnemonic, form.selector, words[METADATA], words[STEPS], words[MASKS],
             words[MASKS + 2], words[MASKS + 4]);
}

#define FAMILY(name, sparse)                                                                       \
    bool conform_##name##_run(struct conform_batch *batch, struct host_error *error) {             \
        return run(batch, sparse, error);                                                          \
    }                                                                                              \
    void conform_##name##_describe(const struct conform_batch *batch, uint32_t index, char *text,  \
                                   size_t size) {                                                  \
        describe(batch, sparse, index, text, size);                                                \
    }
FAMILY(mma, false)
FAMILY(mma_sp, true)
