#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isa_program.h"
#include "ptx.h"
#include "scalar_ptx.h"
#include "support.h"

/* Every modelled row of isa.def has a program in tests/isa or stands in covered_by_oracle.txt, and
 * the rows of which silicon is the evidence are those with answers of an H200: in oracle data, or
 * in the record of such a program. */

enum cover { BY_PROGRAM = 1, BY_LIST = 2, BY_RECORD = 4 };

static bool in_record(const char *record, const char *program) {
    char line[128];
    snprintf(line, sizeof line, "\nprogram %s result ", program);
    return strstr(record, line) != NULL;
}

static int find_row(const char *id) {
    for (int form = 1; form < ISA_COUNT; form++)
        if (strcmp(isa_row((enum isa_form)form)->id, id) == 0)
            return form;
    return -1;
}

/* cvt_rs_x4 refuses every form too: it is there to say why. */
static bool modelled(int form) {
    const char *sem = isa_row((enum isa_form)form)->sem;
    return strcmp(sem, "unsupported") != 0 && strcmp(sem, "cvt_rs_x4") != 0;
}

/* Sets seen[form] for each form in the text. */
static void forms_of(const char *name, const char *text, bool seen[ISA_COUNT]) {
    struct arena arena = {0};
    struct strbuf log = {0};
    struct ir_module *module = NULL;
    struct ptx_source source = {name, text, strlen(text)};
    enum status status = ptx_parse(&arena, &source, &module, &log);
    cr_assert_eq(status, STATUS_OK, "%s", strbuf_text(&log));
    for (uint32_t f = 0; f < module->func_count; f++)
        for (uint32_t i = 0; i < module->funcs[f].insn_count; i++)
            seen[module->funcs[f].insns[i].form] = true;
    strbuf_free(&log);
    arena_free(&arena);
}

/* The rows that a program names must be in it. */
static void cover_by_program(const char *path, const char *record, unsigned char cover[ISA_COUNT]) {
    struct isa_program program;
    char error[256];
    bool seen[ISA_COUNT] = {false};
    cr_assert(isa_program_read(path, &program, error, sizeof error), "%s", error);
    forms_of(path, program.text, seen);
    for (unsigned i = 0; i < program.row_count; i++) {
        int form = find_row(program.rows[i]);
        cr_expect(form > 0 && seen[form], "%s: row %s is not in its text", path, program.rows[i]);
        if (form > 0)
            cover[form] |= in_record(record, program.name) ? BY_PROGRAM | BY_RECORD : BY_PROGRAM;
    }
    isa_program_free(&program);
}

/* The forms of tests/oracle/scalar. */
static void scalar_forms(bool seen[ISA_COUNT]) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct strbuf text = {0};
    scalar_ptx_head(&text);
    for (size_t i = 0; i < oracle.form_count; i++)
        scalar_ptx_kernel(&oracle.forms[i], &text);
    forms_of("scalar.ptx", strbuf_text(&text), seen);
    strbuf_free(&text);
    scalar_oracle_close(&oracle);
}

/* Lines "ROW ORACLE-FILE": the row's answers are checked against that file by a test. */
static size_t cover_by_list(unsigned char cover[ISA_COUNT]) {
    bool scalar[ISA_COUNT] = {false};
    scalar_forms(scalar);
    FILE *list = fopen(SILTWIN_ROOT "/tests/isa/covered_by_oracle.txt", "r");
    cr_assert_not_null(list);
    char id[64], oracle[64], path[4096];
    size_t count = 0;
    for (; fscanf(list, "%63s %63s", id, oracle) == 2; count++) {
        int form = find_row(id);
        cr_assert_gt(form, 0, "covered_by_oracle.txt: no row %s", id);
        cr_expect(modelled(form), "covered_by_oracle.txt: %s is not modelled", id);
        cr_expect_not(cover[form] & BY_LIST, "covered_by_oracle.txt: %s stands twice", id);
        snprintf(path, sizeof path, "%s/tests/oracle/%s", SILTWIN_ROOT, oracle);
        cr_expect_eq(access(path, R_OK), 0, "%s", path);
        if (strcmp(oracle, "scalar/hw-H200-scalar.csv.gz") == 0)
            cr_expect(scalar[form], "no form of scalar/forms.csv is of row %s", id);
        cover[form] |= BY_LIST;
    }
    cr_expect(feof(list), "covered_by_oracle.txt: a line that is not ROW FILE");
    fclose(list);
    return count;
}

static char *read_record(void) {
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(SILTWIN_ROOT "/traces/silicon/h200/isa.txt", "r");
    cr_assert_not_null(file);
    cr_assert_gt(getdelim(&text, &room, '\0', file), 0);
    fclose(file);
    return text;
}

Test(isa_programs_cover, every_modelled_row) {
    unsigned char cover[ISA_COUNT] = {0};
    char *record = read_record();
    glob_t programs;
    cr_assert_eq(glob(SILTWIN_ROOT "/tests/isa/*.ptx", 0, NULL, &programs), 0);
    for (size_t i = 0; i < programs.gl_pathc; i++)
        cover_by_program(programs.gl_pathv[i], record, cover);
    size_t listed = cover_by_list(cover), by_program = 0, rows = 0;
    for (int form = 1; form < ISA_COUNT; form++) {
        const char *id = isa_row((enum isa_form)form)->id;
        rows += modelled(form);
        by_program += (cover[form] & BY_PROGRAM) != 0;
        cr_expect(!modelled(form) || cover[form], "row %s has no program", id);
        cr_expect_not((cover[form] & BY_PROGRAM) && (cover[form] & BY_LIST),
                      "row %s has a program and a line", id);
        bool silicon = strncmp(isa_row((enum isa_form)form)->evidence, "hw:", 3) == 0;
        cr_expect_eq(silicon, (cover[form] & (BY_LIST | BY_RECORD)) != 0,
                     "row %s: evidence of silicon is %s", id, silicon ? "missing" : "there");
    }
    printf("%zu modelled rows: %zu in %zu programs, %zu by oracle data\n", rows, by_program,
           (size_t)programs.gl_pathc, listed);
    globfree(&programs);
    free(record);
}
