/* See scalar_forms.h. */
#include "scalar_forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { LINE_BYTES = 512 };

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "tests/oracle/scalar: %s\n", what);
    exit(99);
}

static void *grown(void *items, size_t count, size_t size) {
    if (count != 0 && (count & (count - 1)) != 0)
        return items;
    void *more = realloc(items, (count ? 2 * count : 1) * size);
    if (more == NULL)
        give_up("no memory");
    return more;
}

static void copy_word(char *to, size_t size, const char *from, size_t length) {
    if (length >= size)
        give_up("a field of forms.csv is too long");
    memcpy(to, from, length);
    to[length] = '\0';
}

/* id,family,"ptx",result,operands,rows: only the PTX text is quoted. */
static void parse_form(const char *line, struct scalar_form *form) {
    const char *family = strchr(line, ',');
    const char *open = strchr(line, '"');
    const char *close = strrchr(line, '"');
    if (family == NULL || open == NULL || close == open || open < family + 2)
        give_up("forms.csv: a row without its fields");
    *form = (struct scalar_form){.id = (unsigned)strtoul(line, NULL, 10)};
    copy_word(form->family, sizeof form->family, family + 1, (size_t)(open - family - 2));
    copy_word(form->ptx, sizeof form->ptx, open + 1, (size_t)(close - open - 1));
    const char *result = close + 2;
    size_t length = strcspn(result, ",");
    copy_word(form->result, sizeof form->result, result, length);
    for (const char *p = result + length + 1; *p != ',';) {
        length = strcspn(p, " ,");
        if (length == 0 || form->operand_count == SCALAR_OPERANDS_MAX)
            give_up("forms.csv: operands");
        copy_word(form->operand[form->operand_count++], sizeof form->operand[0], p, length);
        p += length + (p[length] == ' ');
    }
}

void scalar_forms_read(struct scalar_oracle *oracle, const char *path) {
    char line[LINE_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        give_up("forms.csv cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        oracle->forms = grown(oracle->forms, oracle->form_count, sizeof *oracle->forms);
        parse_form(line, &oracle->forms[oracle->form_count]);
        if (oracle->forms[oracle->form_count].id != oracle->form_count)
            give_up("forms.csv: ids are not 0, 1, 2 ...");
        oracle->form_count++;
    }
    fclose(file);
}

struct scalar_oracle scalar_oracle_open(void) {
    struct scalar_oracle oracle = {0};
    scalar_forms_read(&oracle, SILTWIN_ROOT "/tests/oracle/scalar/forms.csv");
    struct csv *csv = csv_open("scalar/hw-H200-scalar.csv.gz");
    size_t id = csv_column(csv, "id"), out = csv_column(csv, "d");
    size_t in[SCALAR_OPERANDS_MAX] = {csv_column(csv, "a"), csv_column(csv, "b"),
                                      csv_column(csv, "c"), csv_column(csv, "e")};
    size_t current = 0;
    while (csv_next(csv)) {
        oracle.rows = grown(oracle.rows, oracle.row_count, sizeof *oracle.rows);
        size_t form = (size_t)csv_int(csv, id);
        if (form < current || form >= oracle.form_count)
            give_up("rows are not in the order of the forms");
        struct scalar_row *row = &oracle.rows[oracle.row_count++];
        *row = (struct scalar_row){.out = csv_hex(csv, out)};
        for (size_t i = 0; i < oracle.forms[form].operand_count; i++)
            row->in[i] = csv_hex(csv, in[i]);
        current = form;
        oracle.forms[form].row_count++;
    }
    csv_close(csv);
    const struct scalar_row *next = oracle.rows;
    for (size_t i = 0; i < oracle.form_count; i++) {
        oracle.forms[i].rows = next;
        next += oracle.forms[i].row_count;
    }
    return oracle;
}

void scalar_oracle_close(struct scalar_oracle *oracle) {
    free(oracle->forms);
    free(oracle->rows);
    *oracle = (struct scalar_oracle){0};
}

unsigned scalar_type_bits(const char *type) {
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"pred", 1},   {"u8", 8},    {"s8", 8},      {"u16", 16},    {"s16", 16},    {"b16", 16},
        {"f16", 16},   {"bf16", 16}, {"e4m3x2", 16}, {"e5m2x2", 16}, {"u32", 32},    {"s32", 32},
        {"b32", 32},   {"f32", 32},  {"tf32", 32},   {"f16x2", 32},  {"bf16x2", 32}, {"u16x2", 32},
        {"s16x2", 32}, {"u64", 64},  {"s64", 64},    {"b64", 64},    {"f64", 64},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].bits;
    fprintf(stderr, "no type %s\n", type);
    exit(99);
}
