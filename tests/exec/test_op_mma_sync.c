/* mma.sync through PTX: every mma.sync row of tests/oracle/mma-arith/hw-H200-all.csv.gz, one output
 * element each at changing places, and whole instructions on raw registers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fragment.h"
#include "support.h"
#include "warp_mma.h"

enum { LANES = 32, FORMS = 24, MOST_ROWS = 2100, FIELD = 160 };

struct form_rows {
    char instr[64];
    struct warp_mma_form form;
    unsigned element_bits, k;
    bool acc_f16;
    unsigned sm;
    size_t count;
    char (*a)[FIELD], (*b)[FIELD];
    uint32_t *c, *d;
};

/* "mma.m16n8k8.f32.tf32.tf32.f32", perhaps with ".satfinite" behind. */
static void read_form(struct form_rows *rows, unsigned sm, const char *instr) {
    rows->sm = sm;
    snprintf(rows->instr, sizeof rows->instr, "%s", instr);
    const char *shape = instr + strlen("mma."), *types = strchr(shape, '.');
    cr_assert_eq(sscanf(shape, "m16n8k%u", &rows->k), 1, "%s", instr);
    bool saturate = strstr(types, ".satfinite") != NULL;
    snprintf(rows->form.mnemonic, sizeof rows->form.mnemonic, "mma.sync.aligned.%.*s.row.col%s%.*s",
             (int)(types - shape), shape, saturate ? ".satfinite" : "",
             (int)(saturate ? strstr(types, ".satfinite") - types : (long)strlen(types)), types);
    warp_mma_types(&rows->form);
    const char *type = rows->form.type[WARP_MMA_A];
    rows->element_bits = strcmp(type, "tf32") == 0                               ? 32
                         : strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? 16
                                                                                 : 8;
    rows->acc_f16 = strcmp(rows->form.type[WARP_MMA_D], "f16") == 0;
    unsigned b = rows->k * rows->element_bits / 128, acc = rows->acc_f16 ? 2 : 4;
    rows->form.registers[WARP_MMA_A] = 2 * b;
    rows->form.registers[WARP_MMA_B] = b;
    rows->form.registers[WARP_MMA_C] = rows->form.registers[WARP_MMA_D] = acc;
    rows->a = calloc(MOST_ROWS, sizeof *rows->a);
    rows->b = calloc(MOST_ROWS, sizeof *rows->b);
    rows->c = calloc(MOST_ROWS, sizeof *rows->c);
    rows->d = calloc(MOST_ROWS, sizeof *rows->d);
}

/* Element `index` of a field of hex digits. */
static uint32_t element_of(const char *field, unsigned bits, unsigned index) {
    char text[9] = {0};
    memcpy(text, field + index * bits / 4, bits / 4);
    return (uint32_t)strtoul(text, NULL, 16);
}

/* Where case `i` puts its element. */
static unsigned row_of(size_t i) {
    return (unsigned)(i % 16);
}
static unsigned column_of(size_t i) {
    return (unsigned)(i / 16 % 8);
}

static void put(uint32_t *word, unsigned bits, unsigned sub, uint32_t element) {
    uint32_t mask = (bits == 32 ? 0xffffffffu : (1u << bits) - 1) << (sub * bits);
    *word = (*word & ~mask) | element << (sub * bits);
}

/* Registers of operand A or B: other elements than those of the row are noise. */
static uint32_t *operand(const struct form_rows *rows, enum warp_mma_operand which) {
    unsigned registers = rows->form.registers[which], per_register = 32 / rows->element_bits;
    uint32_t *words = malloc(rows->count * registers * LANES * sizeof *words);
    for (size_t i = 0; i < rows->count; i++)
        for (unsigned reg = 0; reg < registers; reg++)
            for (unsigned lane = 0; lane < LANES; lane++) {
                uint32_t *word = &words[(i * registers + reg) * LANES + lane];
                *word = (uint32_t)((i * 8 + reg) * LANES + lane) * 2654435761u;
                for (unsigned sub = 0; sub < per_register; sub++) {
                    bool is_a = which == WARP_MMA_A;
                    struct fragment_place at =
                        is_a ? fragment_mma_a(rows->element_bits, lane, reg, sub)
                             : fragment_mma_b(rows->element_bits, lane, reg, sub);
                    unsigned k = is_a ? at.col : at.row;
                    if ((is_a && at.row == row_of(i)) || (!is_a && at.col == column_of(i)))
                        put(word, rows->element_bits, sub,
                            element_of(is_a ? rows->a[i] : rows->b[i], rows->element_bits, k));
                }
            }
    return words;
}

/* Index of the word, and the half in it, that hold the element of case `i` in C or D. */
static size_t accumulator_word(const struct form_rows *rows, size_t i, unsigned *half) {
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned v = 0; v < 4; v++) {
            struct fragment_place at = fragment_mma_c(lane, v);
            if (at.row != row_of(i) || at.col != column_of(i))
                continue;
            *half = rows->acc_f16 ? v % 2 : 0;
            return (i * rows->form.registers[WARP_MMA_C] + (rows->acc_f16 ? v / 2 : v)) * LANES +
                   lane;
        }
    cr_assert_fail("no register holds the element");
    return 0;
}

static void check_form(struct form_rows *rows) {
    size_t acc_words = rows->count * rows->form.registers[WARP_MMA_C] * LANES;
    uint32_t *a = operand(rows, WARP_MMA_A), *b = operand(rows, WARP_MMA_B);
    uint32_t *c = calloc(acc_words, sizeof *c), *d = calloc(acc_words, sizeof *d);
    unsigned half, bits = rows->acc_f16 ? 16 : 32;
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t *word = &c[accumulator_word(rows, i, &half)];
        put(word, bits, half, rows->c[i]);
    }
    warp_mma_run(rows->sm, &rows->form, rows->count, (const void *const[3]){a, b, c}, d);
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t word = d[accumulator_word(rows, i, &half)];
        word >>= 16 * half; /* a statement of its own: the call sets half */
        word &= bits == 16 ? 0xffffu : 0xffffffffu;
        cr_assert_eq(word, rows->d[i], "%s case %zu: %08x, silicon %08x", rows->instr, i, word,
                     rows->d[i]);
    }
    free(a);
    free(b);
    free(c);
    free(d);
}

/* Columns a, b, c, d from `column` on. */
static void read_case(struct form_rows *rows, const struct csv *csv, size_t column) {
    const char *a = csv_text(csv, column), *b = csv_text(csv, column + 1);
    cr_assert_lt(rows->count, MOST_ROWS);
    cr_assert_eq(strlen(a), rows->k * rows->element_bits / 4, "%s", rows->instr);
    memcpy(rows->a[rows->count], a, strlen(a));
    memcpy(rows->b[rows->count], b, strlen(b));
    rows->c[rows->count] = (uint32_t)csv_hex(csv, column + 2);
    rows->d[rows->count++] = (uint32_t)csv_hex(csv, column + 3);
}

Test(op_mma_sync, every_element_of_an_h200, .timeout = 300) {
    static struct form_rows forms[FORMS];
    size_t form_count = 0, checked = 0;
    struct csv *csv = csv_open("mma-arith/hw-H200-all.csv.gz");
    while (csv_next(csv)) {
        const char *instr = csv_text(csv, 0);
        if (strncmp(instr, "mma.", 4) != 0)
            continue;
        size_t f = 0;
        while (f < form_count && strcmp(forms[f].instr, instr) != 0)
            f++;
        cr_assert_lt(f, FORMS);
        if (f == form_count)
            read_form(&forms[form_count++], 90, instr);
        struct form_rows *rows = &forms[f];
        read_case(rows, csv, 3);
    }
    for (size_t f = 0; f < form_count; f++) {
        check_form(&forms[f]);
        checked += forms[f].count;
    }
    cr_assert_eq(checked, 20152);
    report_rows("mma-arith/hw-H200-all.csv.gz (mma.sync)", checked);
    csv_close(csv);
}

/* The published fp8 rows of an H200 and a B200. */
Test(op_mma_sync, every_fp8_element_that_was_published) {
    static const struct {
        unsigned sm;
        const char *name, *instr;
    } files[] = {
        {90, "H200-mma.sync-fp8-e4m3-acc_f16", "mma.m16n8k32.f16.e4m3.e4m3.f16"},
        {90, "H200-mma.sync-fp8-e5m2-acc_f16", "mma.m16n8k32.f16.e5m2.e5m2.f16"},
        {100, "B200-mma.sync-fp8-e4m3-acc_f16", "mma.m16n8k32.f16.e4m3.e4m3.f16"},
        {100, "B200-mma.sync-fp8-e5m2-acc_f16", "mma.m16n8k32.f16.e5m2.e5m2.f16"},
        {100, "B200-mma.sync-fp8-e4m3-acc_f32", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
        {100, "B200-mma.sync-fp8-e5m2-acc_f32", "mma.m16n8k32.f32.e5m2.e5m2.f32"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct form_rows rows = {0};
        char path[80];
        snprintf(path, sizeof path, "mma-arith/hw-%s.csv.gz", files[i].name);
        struct csv *csv = csv_open(path);
        read_form(&rows, files[i].sm, files[i].instr);
        while (csv_next(csv))
            read_case(&rows, csv, 0);
        cr_assert_eq(rows.count, 500);
        check_form(&rows);
        report_rows(path, rows.count);
        csv_close(csv);
    }
}

/* The words of field `text` are those of `out`. */
static void compare(const struct csv *csv, const struct warp_mma_form *form, const void *out) {
    size_t bytes = warp_mma_word_bytes(form, WARP_MMA_D);
    const char *text = csv_text(csv, 6);
    size_t words = form->registers[WARP_MMA_D] * LANES;
    cr_assert_eq(strlen(text), words * 2 * bytes);
    for (size_t i = 0; i < words; i++) {
        char digits[17] = {0};
        uint64_t word = 0;
        memcpy(digits, text + i * 2 * bytes, 2 * bytes);
        memcpy(&word, (const char *)out + i * bytes, bytes);
        cr_assert_eq(word, strtoull(digits, NULL, 16),
                     "%s case %lld register %zu lane %zu: %llx, silicon %s", form->mnemonic,
                     (long long)csv_int(csv, 5), i / LANES, i % LANES, (unsigned long long)word,
                     digits);
    }
}

Test(op_mma_sync, every_instruction_of_an_h200, .timeout = 300) {
    struct csv *csv = csv_open("warp/hw-H200-warp-mma.csv.gz");
    size_t words = 0;
    while (csv_next(csv)) {
        struct warp_mma_form form = {0};
        void *in[3];
        uint64_t out[8 * LANES];
        snprintf(form.mnemonic, sizeof form.mnemonic, "%s", csv_text(csv, 0));
        for (unsigned i = 0; i < 4; i++)
            form.registers[i] = (unsigned)csv_int(csv, 1 + i);
        warp_mma_types(&form);
        for (unsigned op = 0; op < 3; op++) {
            size_t bytes = warp_mma_word_bytes(&form, (enum warp_mma_operand)op);
            in[op] = malloc(form.registers[op] * LANES * bytes);
            for (uint32_t reg = 0; reg < form.registers[op]; reg++)
                for (uint32_t lane = 0; lane < LANES; lane++) {
                    uint64_t word = warp_mma_input(&form, (enum warp_mma_operand)op,
                                                   (uint32_t)csv_int(csv, 5), reg, lane);
                    memcpy((char *)in[op] + (reg * LANES + lane) * bytes, &word, bytes);
                }
        }
        warp_mma_run(90, &form, 1, (const void *const *)in, out);
        compare(csv, &form, out);
        words += form.registers[WARP_MMA_D] * LANES;
        for (unsigned op = 0; op < 3; op++)
            free(in[op]);
    }
    cr_assert_eq(csv_rows(csv), 1384);
    printf("%zu result words\n", words);
    report_rows("warp/hw-H200-warp-mma.csv.gz", csv_rows(csv));
    csv_close(csv);
}
