/* ldmatrix and stmatrix through PTX: every row of tests/oracle/warp/hw-H200-matrix-moves.csv.gz. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"
#include "support.h"

enum { LANES = 32, ROWS_A_FORM = 50, STORE_WORDS = 256, MAX_WORDS = 256 };

static const char *const head =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 rows, .param .u64 out) {\n"
    "  .shared .align 1024 .b8 mem[8192];\n"
    "  .reg .pred %more;\n  .reg .b32 %lane, %cta, %at, %i, %word, %half, %base, %r<4>;\n"
    "  .reg .b64 %ptr, %off;\n"
    "  mov.u32 %lane, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n  mov.u32 %base, mem;\n"
    "  mad.lo.u32 %at, %cta, 32, %lane;\n  mul.wide.u32 %off, %at, 4;\n"
    "  ld.param.u64 %ptr, [rows];\n  add.u64 %ptr, %ptr, %off;\n  ld.global.u32 %at, [%ptr];\n"
    "  mad.lo.u32 %at, %at, 16, %base;\n  ld.param.u64 %ptr, [out];\n";
/* Half-word i holds i * 40503 mod 2^16. */
static const char *const fill_halves =
    "  mov.u32 %i, %lane;\nFILL:\n"
    "  mul.lo.u32 %word, %i, 81006;\n  and.b32 %word, %word, 65535;\n"
    "  mad.lo.u32 %half, %i, 81006, 40503;\n  shl.b32 %half, %half, 16;\n"
    "  or.b32 %word, %word, %half;\n"
    "  mad.lo.u32 %half, %i, 4, %base;\n  st.shared.u32 [%half], %word;\n"
    "  add.u32 %i, %i, 32;\n  setp.lt.u32 %more, %i, 2048;\n  @%more bra FILL;\n"
    "  bar.warp.sync 0xffffffff;\n";
static const char *const fill_ee =
    "  mov.u32 %i, %lane;\nFILL:\n  mad.lo.u32 %half, %i, 4, %base;\n"
    "  st.shared.u32 [%half], 0xEEEEEEEE;\n  add.u32 %i, %i, 32;\n"
    "  setp.lt.u32 %more, %i, 256;\n  @%more bra FILL;\n  bar.warp.sync 0xffffffff;\n";

static unsigned count_of(const char *form) {
    return strstr(form, "x4") ? 4 : strstr(form, "x2") ? 2 : 1;
}

static void list(char *out, unsigned count) {
    strcpy(out, count == 4 ? "{%r0, %r1, %r2, %r3}" : count == 2 ? "{%r0, %r1}" : "{%r0}");
}

static void load_program(char *text, size_t size, const char *form) {
    char regs[64];
    unsigned count = count_of(form);
    list(regs, count);
    size_t at = (size_t)snprintf(
        text, size, "%s%s  ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%at];\n", head,
        fill_halves, count, strstr(form, "trans") ? ".trans" : "", regs);
    at += (size_t)snprintf(text + at, size - at,
                           "  mad.lo.u32 %%i, %%cta, 32, %%lane;\n  mul.wide.u32 %%off, %%i, %u;\n"
                           "  add.u64 %%ptr, %%ptr, %%off;\n",
                           4 * count);
    for (unsigned i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "  st.global.u32 [%%ptr+%u], %%r%u;\n", 4 * i,
                               i);
    snprintf(text + at, size - at, "  ret;\n}\n");
}

static void store_program(char *text, size_t size, const char *form) {
    char regs[64];
    unsigned count = count_of(form);
    list(regs, count);
    size_t at = (size_t)snprintf(text, size, "%s%s", head, fill_ee);
    for (unsigned i = 0; i < 4; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "  mad.lo.u32 %%r%u, %%lane, 4, %u;\n"
                               "  mul.lo.u32 %%r%u, %%r%u, 2654435761;\n",
                               i, i, i, i);
    at += (size_t)snprintf(text + at, size - at,
                           "  stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%at], %s;\n"
                           "  bar.warp.sync 0xffffffff;\n",
                           count, strstr(form, "trans") ? ".trans" : "", regs);
    snprintf(text + at, size - at,
             "  mul.wide.u32 %%off, %%cta, 1024;\n  add.u64 %%ptr, %%ptr, %%off;\n"
             "  mul.wide.u32 %%off, %%lane, 4;\n  add.u64 %%ptr, %%ptr, %%off;\n"
             "  mov.u32 %%i, %%lane;\nDUMP:\n  mad.lo.u32 %%half, %%i, 4, %%base;\n"
             "  ld.shared.u32 %%word, [%%half];\n  st.global.u32 [%%ptr], %%word;\n"
             "  add.u64 %%ptr, %%ptr, 128;\n  add.u32 %%i, %%i, 32;\n"
             "  setp.lt.u32 %%more, %%i, 256;\n  @%%more bra DUMP;\n  ret;\n}\n");
}

static size_t read_words(const char *text, uint32_t *words, size_t most) {
    size_t count = 0;
    while (*text != '\0' && count < most) {
        char *end;
        words[count++] = (uint32_t)strtoul(text, &end, 16);
        text = *end == ' ' ? end + 1 : end;
    }
    return count;
}

struct form_rows {
    char form[32];
    size_t count, words;
    uint32_t rows[ROWS_A_FORM][LANES], result[ROWS_A_FORM][MAX_WORDS];
};

static size_t check_form(const struct form_rows *form) {
    char text[8192];
    bool load = form->form[0] == 'l';
    if (load)
        load_program(text, sizeof text, form->form);
    else
        store_program(text, sizeof text, form->form);
    size_t words = load ? LANES * count_of(form->form) : STORE_WORDS;
    cr_assert_eq(form->words, words, "%s", form->form);
    struct sim_run run = sim_run_open(90, text);
    uint64_t params[2] = {sim_run_buffer(&run, form->rows, form->count * LANES * 4),
                          sim_run_buffer(&run, NULL, form->count * words * 4)};
    sim_run_ok(&run, &(struct sim_run_launch){.grid = (uint32_t)form->count,
                                              .block = LANES,
                                              .params = params,
                                              .param_count = 2});
    const uint32_t *out = sim_run_host(&run, params[1], form->count * words * 4);
    for (size_t row = 0; row < form->count; row++)
        for (size_t i = 0; i < words; i++)
            cr_assert_eq(out[row * words + i], form->result[row][i],
                         "%s row %zu word %zu: %08x, silicon %08x", form->form, row, i,
                         out[row * words + i], form->result[row][i]);
    sim_run_close(&run);
    return form->count;
}

Test(op_matrix, every_row_of_an_h200) {
    static struct form_rows forms[12];
    size_t form_count = 0, checked = 0;
    struct csv *csv = csv_open("warp/hw-H200-matrix-moves.csv.gz");
    while (csv_next(csv)) {
        size_t i = 0;
        while (i < form_count && strcmp(forms[i].form, csv_text(csv, 0)) != 0)
            i++;
        cr_assert_lt(i, sizeof forms / sizeof forms[0]);
        if (i == form_count)
            snprintf(forms[form_count++].form, sizeof forms[i].form, "%s", csv_text(csv, 0));
        struct form_rows *form = &forms[i];
        cr_assert_lt(form->count, ROWS_A_FORM);
        cr_assert_eq(read_words(csv_text(csv, 1), form->rows[form->count], LANES), LANES);
        form->words = read_words(csv_text(csv, 2), form->result[form->count++], MAX_WORDS);
    }
    for (size_t i = 0; i < form_count; i++)
        checked += check_form(&forms[i]);
    cr_assert_eq(checked, csv_rows(csv));
    report_rows("warp/hw-H200-matrix-moves.csv.gz", checked);
    csv_close(csv);
}
