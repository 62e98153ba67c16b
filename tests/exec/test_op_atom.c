/* atom and red through PTX: every row of tests/oracle/scalar/hw-H200-atomics.csv.gz.
 *
 * In the rows of packed adds on shared memory the operand's upper half never had an effect (+0 was
 * added there). Asked directly, an H200 adds both halves (traces/silicon/observations.md 5,
 * tests/isa/atom_shared_packed.ptx): the rows are those of an operand loaded as 16 bits, and so the
 * programs here load it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"
#include "support.h"

enum { MAX_ROWS = 256, BLOCK = 256 };

struct form_rows {
    char form[48];
    size_t count;
    uint64_t memory[MAX_ROWS], b[MAX_ROWS], c[MAX_ROWS], returned[MAX_ROWS], after[MAX_ROWS];
};

static unsigned bytes_of(const char *form) {
    const char *type = strrchr(form, '.') + 1;
    return strstr(type, "64") ? 8 : strstr(type, "x2") || strstr(type, "32") ? 4 : 2;
}

/* Cells are 8 bytes apart, so that every width is aligned. */
static void program(char *text, size_t size, const char *form) {
    unsigned bits = 8 * bytes_of(form);
    bool shared = strstr(form, "shared") != NULL, atom = form[0] == 'a';
    bool cas = strstr(form, "cas") != NULL;
    bool narrow = shared && strstr(form, "f16x2") != NULL; /* see the head of this file */
    snprintf(
        text, size,
        ".version 8.7\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 mem, .param .u64 bs, .param .u64 cs, .param .u64 ret,\n"
        "                  .param .u64 after) {\n"
        "  .shared .align 8 .b8 cells[2048];\n"
        "  .reg .b%u %%m, %%b, %%c, %%d;\n  .reg .b32 %%t, %%s, %%sbase;\n"
        "  .reg .b64 %%off, %%at, %%p;\n"
        "  mov.u32 %%t, %%tid.x;\n  mul.wide.u32 %%off, %%t, 8;\n"
        "  mov.u32 %%sbase, cells;\n  mad.lo.u32 %%s, %%t, 8, %%sbase;\n"
        "  ld.param.u64 %%at, [mem];\n  add.u64 %%at, %%at, %%off;\n"
        "  ld.global.b%u %%m, [%%at];\n  st.shared.b%u [%%s], %%m;\n"
        "  ld.param.u64 %%p, [bs];\n  add.u64 %%p, %%p, %%off;\n  ld.global.b%u %%b, [%%p];\n%s"
        "  ld.param.u64 %%p, [cs];\n  add.u64 %%p, %%p, %%off;\n  ld.global.b%u %%c, [%%p];\n"
        "  mov.b%u %%d, %%c;\n"
        "  %s %s[%s], %%b%s;\n"
        "  ld.%s.b%u %%m, [%s];\n"
        "  ld.param.u64 %%p, [ret];\n  add.u64 %%p, %%p, %%off;\n  st.global.b%u [%%p], %%d;\n"
        "  ld.param.u64 %%p, [after];\n  add.u64 %%p, %%p, %%off;\n"
        "  st.global.b%u [%%p], %%m;\n  ret;\n}\n",
        bits, bits, bits, bits, narrow ? "  and.b32 %b, %b, 0xffff;\n" : "", bits, bits, form,
        atom ? "%d, " : "", shared ? "%s" : "%at", cas ? ", %c" : "", shared ? "shared" : "global",
        bits, shared ? "%s" : "%at", bits, bits);
}

static size_t check_form(const struct form_rows *form) {
    char text[4096];
    program(text, sizeof text, form->form);
    struct sim_run run = sim_run_open(90, text);
    size_t bytes = MAX_ROWS * 8;
    uint64_t params[5] = {sim_run_buffer(&run, form->memory, bytes),
                          sim_run_buffer(&run, form->b, bytes),
                          sim_run_buffer(&run, form->c, bytes), sim_run_buffer(&run, NULL, bytes),
                          sim_run_buffer(&run, NULL, bytes)};
    sim_run_ok(&run, &(struct sim_run_launch){
                         .grid = 1, .block = BLOCK, .params = params, .param_count = 5});
    const uint64_t *returned = sim_run_host(&run, params[3], bytes);
    const uint64_t *after = sim_run_host(&run, params[4], bytes);
    for (size_t i = 0; i < form->count; i++) {
        cr_assert(form->form[0] == 'r' || returned[i] == form->returned[i],
                  "%s row %zu (memory %llx, b %llx): returned %llx, silicon %llx", form->form, i,
                  (unsigned long long)form->memory[i], (unsigned long long)form->b[i],
                  (unsigned long long)returned[i], (unsigned long long)form->returned[i]);
        cr_assert_eq(after[i], form->after[i],
                     "%s row %zu (memory %llx, b %llx): memory is %llx, silicon's %llx", form->form,
                     i, (unsigned long long)form->memory[i], (unsigned long long)form->b[i],
                     (unsigned long long)after[i], (unsigned long long)form->after[i]);
    }
    sim_run_close(&run);
    return form->count;
}

static uint64_t hex_or_zero(const struct csv *csv, size_t column) {
    return csv_text(csv, column)[0] == '\0' ? 0 : csv_hex(csv, column);
}

Test(op_atom, every_row_of_an_h200) {
    static struct form_rows form;
    size_t checked = 0, forms = 0;
    struct csv *csv = csv_open("scalar/hw-H200-atomics.csv.gz");
    for (bool more = csv_next(csv); more;) {
        form.count = 0;
        snprintf(form.form, sizeof form.form, "%s", csv_text(csv, 0));
        do {
            size_t i = form.count++;
            cr_assert_lt(i, MAX_ROWS);
            form.memory[i] = csv_hex(csv, 1);
            form.b[i] = hex_or_zero(csv, 2);
            form.c[i] = hex_or_zero(csv, 3);
            form.returned[i] = hex_or_zero(csv, 4);
            form.after[i] = csv_hex(csv, 5);
            more = csv_next(csv);
        } while (more && strcmp(form.form, csv_text(csv, 0)) == 0);
        checked += check_form(&form);
        forms++;
    }
    cr_assert_eq(checked, csv_rows(csv));
    cr_assert_eq(forms, 110);
    report_rows("scalar/hw-H200-atomics.csv.gz", checked);
    csv_close(csv);
}
