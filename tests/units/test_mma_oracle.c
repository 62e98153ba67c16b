/* Every row of tests/oracle/mma-arith that is not block-scaled, with the scalar rule. A file's
 * count of checked rows must be the count it is known to have, so no row can be skipped unseen. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mma.h"
#include "support.h"

static const struct {
    const char *name;
    enum mma_type type;
    unsigned digits; /* of one element in the concatenated columns */
} type_names[] = {
    {"f16", MMA_TYPE_F16, 4},   {"bf16", MMA_TYPE_BF16, 4}, {"tf32", MMA_TYPE_TF32, 8},
    {"e4m3", MMA_TYPE_E4M3, 2}, {"e5m2", MMA_TYPE_E5M2, 2}, {"e2m3", MMA_TYPE_E2M3, 2},
    {"e3m2", MMA_TYPE_E3M2, 2}, {"e2m1", MMA_TYPE_E2M1, 1}, {"s8", MMA_TYPE_S8, 2},
    {"u8", MMA_TYPE_U8, 2},
};

static enum mma_type type_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (strlen(type_names[i].name) == length && strncmp(type_names[i].name, name, length) == 0)
            return type_names[i].type;
    cr_assert_fail("no type named %s", name);
    return MMA_TYPE_COUNT;
}

/* Elements written one behind the other; returns how many. */
static unsigned read_elements(const char *text, enum mma_type type, uint32_t *words) {
    unsigned digits = 0;
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (type_names[i].type == type)
            digits = type_names[i].digits;
    unsigned count = 0;
    for (; text[0] != '\0'; text += digits) {
        char element[9] = {0};
        strncpy(element, text, digits);
        cr_assert(strlen(element) == digits && count < MMA_K_MAX);
        words[count++] = (uint32_t)strtoul(element, NULL, 16);
    }
    return count;
}

struct form {
    enum mma_kind kind;
    enum mma_type a, b;
    enum mma_acc acc;
    bool saturate;
};

struct row {
    uint32_t a[MMA_K_MAX], b[MMA_K_MAX], c;
    unsigned k;
};

static void read_row(const struct csv *csv, size_t a_column, const struct form *form,
                     struct row *row) {
    row->k = read_elements(csv_text(csv, a_column), form->a, row->a);
    unsigned b_count = read_elements(csv_text(csv, a_column + 1), form->b, row->b);
    cr_assert_eq(row->k, b_count);
    row->c = (uint32_t)csv_hex(csv, a_column + 2);
}

static uint32_t evaluate(const struct form *form, const struct row *row) {
    const struct mma_arith *arith = mma_arith_find(form->kind, form->a, form->b, form->acc);
    cr_assert_not_null(arith);
    cr_assert(arith->k_set & row->k, "k %u is none of the kind's", row->k);
    return mma_dot(arith, &(struct mma_dot){.a_type = form->a,
                                            .b_type = form->b,
                                            .a = row->a,
                                            .b = row->b,
                                            .k = row->k,
                                            .c = row->c,
                                            .saturate = form->saturate});
}

/* Files with one form; NO_KIND ends the list of kinds that share the file's arithmetic. */
#define NO_KIND MMA_KIND_COUNT

static const struct {
    const char *file;
    size_t rows;
    enum mma_kind kinds[3];
    const char *a, *b;
    enum mma_acc acc;
} files[] = {
#define F16_KINDS                                                                                  \
    { MMA_TCGEN05_F16, MMA_WGMMA_F16, MMA_SYNC_F16 }
#define TF32_KINDS                                                                                 \
    { MMA_TCGEN05_TF32, MMA_WGMMA_TF32, MMA_SYNC_TF32 }
#define ONE(kind)                                                                                  \
    { kind, NO_KIND, NO_KIND }
    {"hw-H200-wmma-bf16-acc_f32", 500, F16_KINDS, "bf16", "bf16", MMA_ACC_F32},
    {"hw-H200-wmma-f16-acc_f16", 500, F16_KINDS, "f16", "f16", MMA_ACC_F16},
    {"hw-H200-wmma-f16-acc_f32", 500, F16_KINDS, "f16", "f16", MMA_ACC_F32},
    {"hw-H200-wmma-tf32-acc_f32", 500, TF32_KINDS, "tf32", "tf32", MMA_ACC_F32},
    {"hw-H200-mma.sync-fp8-e4m3-acc_f16", 500, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F16},
    {"hw-H200-mma.sync-fp8-e5m2-acc_f16", 500, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F16},
    {"hw-H200-wgmma-fp8-e4m3-acc_f32", 500, ONE(MMA_WGMMA_F8), "e4m3", "e4m3", MMA_ACC_F32},
    {"hw-H200-wgmma-fp8-e5m2-acc_f32", 500, ONE(MMA_WGMMA_F8), "e5m2", "e5m2", MMA_ACC_F32},
    {"hw-B200-wmma-bf16-acc_f32", 500, F16_KINDS, "bf16", "bf16", MMA_ACC_F32},
    {"hw-B200-wmma-f16-acc_f16", 500, F16_KINDS, "f16", "f16", MMA_ACC_F16},
    {"hw-B200-wmma-f16-acc_f32", 500, F16_KINDS, "f16", "f16", MMA_ACC_F32},
    {"hw-B200-wmma-tf32-acc_f32", 500, TF32_KINDS, "tf32", "tf32", MMA_ACC_F32},
    {"hw-B200-mma.sync-fp8-e4m3-acc_f16", 500, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F16},
    {"hw-B200-mma.sync-fp8-e4m3-acc_f32", 500, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F32},
    {"hw-B200-mma.sync-fp8-e5m2-acc_f16", 500, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F16},
    {"hw-B200-mma.sync-fp8-e5m2-acc_f32", 500, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F32},
    {"hw-A100-wmma-f16-acc_f16", 200, ONE(MMA_SM80_F16), "f16", "f16", MMA_ACC_F16},
    {"hw-A100-wmma-f16-acc_f32", 200, ONE(MMA_SM80_F16), "f16", "f16", MMA_ACC_F32},
    {"sm80-bf16-bf16-acc_f32-k16-F24-L8", 661, ONE(MMA_SM80_F16), "bf16", "bf16", MMA_ACC_F32},
    {"sm80-f16-f16-acc_f16-k16-F24-L8", 661, ONE(MMA_SM80_F16), "f16", "f16", MMA_ACC_F16},
    {"sm80-f16-f16-acc_f32-k16-F24-L8", 1000, ONE(MMA_SM80_F16), "f16", "f16", MMA_ACC_F32},
    {"sm80-tf32-tf32-acc_f32-k8-F24-L4", 661, ONE(MMA_SM80_TF32), "tf32", "tf32", MMA_ACC_F32},
    {"t-bf16-bf16-acc_f32-k16-F25", 2000, F16_KINDS, "bf16", "bf16", MMA_ACC_F32},
    {"t-f16-f16-acc_f16-k16-F25-mma", 2000, ONE(MMA_SYNC_F16), "f16", "f16", MMA_ACC_F16},
    {"t-f16-f16-acc_f16-k16-F25-wgmma_tcgen05",
     2000,
     {MMA_WGMMA_F16, MMA_TCGEN05_F16, NO_KIND},
     "f16",
     "f16",
     MMA_ACC_F16},
    {"t-f16-f16-acc_f32-k16-F25", 2000, F16_KINDS, "f16", "f16", MMA_ACC_F32},
    {"t-f16-f16-acc_f32-k8-F25", 661, ONE(MMA_SYNC_F16), "f16", "f16", MMA_ACC_F32},
    {"t-tf32-tf32-acc_f32-k8-F25", 2000, TF32_KINDS, "tf32", "tf32", MMA_ACC_F32},
    {"wgmma-e4m3-e4m3-acc_f16-k32-F13", 2000, ONE(MMA_WGMMA_F8), "e4m3", "e4m3", MMA_ACC_F16},
    {"wgmma-e4m3-e4m3-acc_f32-k32-F13", 2000, ONE(MMA_WGMMA_F8), "e4m3", "e4m3", MMA_ACC_F32},
    {"wgmma-e4m3-e5m2-acc_f32-k32-F13", 2000, ONE(MMA_WGMMA_F8), "e4m3", "e5m2", MMA_ACC_F32},
    {"wgmma-e5m2-e5m2-acc_f16-k32-F13", 2000, ONE(MMA_WGMMA_F8), "e5m2", "e5m2", MMA_ACC_F16},
    {"wgmma-e5m2-e5m2-acc_f32-k32-F13", 2000, ONE(MMA_WGMMA_F8), "e5m2", "e5m2", MMA_ACC_F32},
    {"mma_sync_emul-e4m3-e4m3-acc_f16-k32", 2000, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F16},
    {"mma_sync_emul-e4m3-e4m3-acc_f32-k16", 661, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F32},
    {"mma_sync_emul-e4m3-e4m3-acc_f32-k32", 2000, ONE(MMA_SYNC_F8), "e4m3", "e4m3", MMA_ACC_F32},
    {"mma_sync_emul-e5m2-e5m2-acc_f16-k32", 2000, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F16},
    {"mma_sync_emul-e5m2-e5m2-acc_f32-k16", 661, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F32},
    {"mma_sync_emul-e5m2-e5m2-acc_f32-k32", 2000, ONE(MMA_SYNC_F8), "e5m2", "e5m2", MMA_ACC_F32},
    {"tcgen05-e4m3-e4m3-acc_f16-k32-F25", 2000, ONE(MMA_TCGEN05_F8F6F4), "e4m3", "e4m3",
     MMA_ACC_F16},
    {"tcgen05-e4m3-e4m3-acc_f32-k32-F25", 2000, ONE(MMA_TCGEN05_F8F6F4), "e4m3", "e4m3",
     MMA_ACC_F32},
    {"tcgen05-e4m3-e5m2-acc_f32-k32-F25", 2000, ONE(MMA_TCGEN05_F8F6F4), "e4m3", "e5m2",
     MMA_ACC_F32},
    {"tcgen05-e5m2-e5m2-acc_f16-k32-F25", 2000, ONE(MMA_TCGEN05_F8F6F4), "e5m2", "e5m2",
     MMA_ACC_F16},
    {"tcgen05-e5m2-e5m2-acc_f32-k32-F25", 2000, ONE(MMA_TCGEN05_F8F6F4), "e5m2", "e5m2",
     MMA_ACC_F32},
    {"UNVERIFIED-tcgen05-e2m1-e2m1-acc_f32-k32-F25", 500, ONE(MMA_TCGEN05_F8F6F4), "e2m1", "e2m1",
     MMA_ACC_F32},
    {"UNVERIFIED-tcgen05-e2m3-e3m2-acc_f32-k32-F25", 500, ONE(MMA_TCGEN05_F8F6F4), "e2m3", "e3m2",
     MMA_ACC_F32},
    {"UNVERIFIED-tcgen05-e4m3-e2m1-acc_f32-k32-F25", 500, ONE(MMA_TCGEN05_F8F6F4), "e4m3", "e2m1",
     MMA_ACC_F32},
};

static struct csv *open_oracle(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "mma-arith/%s", name);
    return csv_open(path);
}

static void check_file(size_t index) {
    char name[96];
    snprintf(name, sizeof name, "%s.csv.gz", files[index].file);
    bool verified = strncmp(name, "UNVERIFIED", 10) != 0;
    struct form form = {.a = type_of(files[index].a, strlen(files[index].a)),
                        .b = type_of(files[index].b, strlen(files[index].b)),
                        .acc = files[index].acc};
    struct csv *csv = open_oracle(name);
    size_t a_column = csv_column(csv, "a"), d_column = csv_column(csv, "d");
    size_t different = 0;
    while (csv_next(csv)) {
        struct row row;
        read_row(csv, a_column, &form, &row);
        for (unsigned i = 0; i < 3 && files[index].kinds[i] != NO_KIND; i++) {
            form.kind = files[index].kinds[i];
            uint32_t d = evaluate(&form, &row);
            uint32_t expected = (uint32_t)csv_hex(csv, d_column);
            different += d != expected;
            if (verified)
                cr_expect_eq(d, expected, "%s row %zu kind %u: %08x, expected %08x", name,
                             csv_rows(csv), form.kind, d, expected);
        }
    }
    cr_expect_eq(csv_rows(csv), files[index].rows, "%s has %zu rows", name, csv_rows(csv));
    report_rows(name, csv_rows(csv));
    if (different != 0)
        printf("%zu of them differ\n", different);
    csv_close(csv);
}

Test(mma_oracle, files_of_one_form) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        check_file(i);
}

static void check_int8(const char *name, enum mma_type a) {
    static const enum mma_kind kinds[] = {MMA_TCGEN05_I8, MMA_WGMMA_I8, MMA_SYNC_I8};
    struct csv *csv = open_oracle(name);
    size_t a_column = csv_column(csv, "a");
    while (csv_next(csv)) {
        struct row row;
        struct form form = {.a = a, .b = MMA_TYPE_S8, .acc = MMA_ACC_S32};
        read_row(csv, a_column, &form, &row);
        for (unsigned i = 0; i < 6; i++) {
            form.kind = kinds[i / 2];
            form.saturate = i % 2 != 0;
            uint32_t expected =
                (uint32_t)csv_hex(csv, csv_column(csv, form.saturate ? "d_satfinite" : "d_wrap"));
            cr_expect_eq(evaluate(&form, &row), expected, "%s row %zu", name, csv_rows(csv));
        }
    }
    cr_expect_eq(csv_rows(csv), 500);
    report_rows(name, csv_rows(csv));
    csv_close(csv);
}

Test(mma_oracle, int8_files) {
    check_int8("int8-s8-s8-k32.csv.gz", MMA_TYPE_S8);
    check_int8("int8-u8-s8-k32.csv.gz", MMA_TYPE_U8);
}

/* "wgmma.m64n8k16.f32.bf16.bf16", "mma.m16n8k32.s32.s8.s8.s32.satfinite". */
static struct form form_of_instruction(const char *instr) {
    bool wgmma = strncmp(instr, "wgmma.", 6) == 0;
    const char *d = strchr(strchr(instr, '.') + 1, '.') + 1;
    const char *a = strchr(d, '.') + 1;
    const char *b = strchr(a, '.') + 1;
    struct form form = {.a = type_of(a, strcspn(a, ".")), .b = type_of(b, strcspn(b, "."))};
    form.acc = d[0] == 's' ? MMA_ACC_S32 : strncmp(d, "f16", 3) == 0 ? MMA_ACC_F16 : MMA_ACC_F32;
    form.saturate = strstr(instr, ".satfinite") != NULL;
    switch (form.a) {
    case MMA_TYPE_F16:
    case MMA_TYPE_BF16: form.kind = wgmma ? MMA_WGMMA_F16 : MMA_SYNC_F16; break;
    case MMA_TYPE_TF32: form.kind = wgmma ? MMA_WGMMA_TF32 : MMA_SYNC_TF32; break;
    case MMA_TYPE_S8:
    case MMA_TYPE_U8: form.kind = wgmma ? MMA_WGMMA_I8 : MMA_SYNC_I8; break;
    default: form.kind = wgmma ? MMA_WGMMA_F8 : MMA_SYNC_F8; break;
    }
    return form;
}

Test(mma_oracle, h200_silicon) {
    struct csv *csv = open_oracle("hw-H200-all.csv.gz");
    size_t instr = csv_column(csv, "instr"), a = csv_column(csv, "a"), d = csv_column(csv, "d");
    while (csv_next(csv)) {
        struct form form = form_of_instruction(csv_text(csv, instr));
        struct row row;
        read_row(csv, a, &form, &row);
        uint32_t result = evaluate(&form, &row);
        cr_expect_eq(result, csv_hex(csv, d), "%s %s row %s: %08x, silicon %s",
                     csv_text(csv, instr), csv_text(csv, instr + 1), csv_text(csv, instr + 2),
                     result, csv_text(csv, d));
    }
    cr_expect_eq(csv_rows(csv), 40280);
    report_rows("hw-H200-all.csv.gz", csv_rows(csv));
    csv_close(csv);
}

static unsigned read_words(const char *text, uint32_t *words) {
    unsigned count = 0;
    for (char *end; *text != '\0'; text = end) {
        cr_assert_lt(count, MMA_K_MAX);
        words[count++] = (uint32_t)strtoul(text, &end, 16);
        cr_assert(end != text);
        end += *end == ' ';
    }
    return count;
}

Test(mma_oracle, b200_silicon) {
    struct csv *csv = open_oracle("hw-B200-tcgen05.csv");
    size_t checked = 0, block_scaled = 0;
    while (csv_next(csv)) {
        const char *kind = csv_text(csv, csv_column(csv, "kind"));
        if (csv_text(csv, csv_column(csv, "scale_a_hex"))[0] != '\0') {
            block_scaled++;
            continue;
        }
        const char *a = csv_text(csv, csv_column(csv, "a_type"));
        const char *b = csv_text(csv, csv_column(csv, "b_type"));
        const char *d = csv_text(csv, csv_column(csv, "d_type"));
        struct form form = {.kind = kind[0] == 't'                ? MMA_TCGEN05_TF32
                                    : kind[0] == 'i'              ? MMA_TCGEN05_I8
                                    : strcmp(kind, "f8f6f4") == 0 ? MMA_TCGEN05_F8F6F4
                                                                  : MMA_TCGEN05_F16,
                            .a = type_of(a, strlen(a)),
                            .b = type_of(b, strlen(b)),
                            .acc = d[0] == 's'             ? MMA_ACC_S32
                                   : strcmp(d, "f16") == 0 ? MMA_ACC_F16
                                                           : MMA_ACC_F32,
                            .saturate = strcmp(kind, "i8.sat") == 0};
        struct row row = {.c = (uint32_t)csv_hex(csv, csv_column(csv, "c_hex"))};
        row.k = read_words(csv_text(csv, csv_column(csv, "a_hex")), row.a);
        cr_assert_eq(row.k, read_words(csv_text(csv, csv_column(csv, "b_hex")), row.b));
        cr_expect_eq(evaluate(&form, &row), csv_hex(csv, csv_column(csv, "d_hex")), "%s",
                     csv_text(csv, 0));
        checked++;
    }
    report_rows("hw-B200-tcgen05.csv", checked);
    printf("%zu block-scaled rows of it are another unit's\n", block_scaled);
    cr_expect_eq(csv_rows(csv), 59);
    cr_expect_eq(checked, 50);
    cr_expect_eq(block_scaled, 9);
    csv_close(csv);
}

/* The name under which a settled rule predicts a probe, by the probe's number. */
static const struct {
    const char *id, *rule;
} settled[] = {
    {"P01", "floor-133"},
    {"P06", "floor-21"},
    {"P09", "floor-133"},
    {"P10", "zero_ignored"},
    {"P11", "plus_zero"},
    {"P12", "model"},
    {"P13", "F13_e8m13"},
    {"P14", "F13"},
    {"P15", "fusedK"},
    {"P16", "exp_sum(no normalise)"},
    {"P17", "subnormal_exp=emin"},
    {"P18", "model"},
    {"P20", "hmma+fadd_rn"},
    {"P21", "interleaved(k%4<2 first)"},
    {"P22", "exact"},
    {"B01", "subnormal_exp=emin"},
    {"B01b", "exp_sum"},
    {"B02", "subnormal_exp=emin"},
    {"B02b", "exp_sum"},
    {"B03", "fused32"},
    {"B07", "floor-21"}, /* no silicon yet: the assumption that the table states */
};

/* The word that `rule` predicts in "name=hex|name=hex". */
static uint32_t predicted(const char *predictions, const char *rule) {
    size_t length = strlen(rule);
    for (const char *p = predictions; p != NULL; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, rule, length) == 0 && p[length] == '=')
            return (uint32_t)strtoul(p + length + 1, NULL, 16);
    }
    cr_assert_fail("no prediction of %s in %s", rule, predictions);
    return 0;
}

static const char *settled_rule(const char *id) {
    for (size_t i = 0; i < sizeof settled / sizeof settled[0]; i++)
        if (strncmp(id, settled[i].id, strlen(settled[i].id)) == 0 &&
            id[strlen(settled[i].id)] == '.')
            return settled[i].rule;
    cr_assert_fail("no settled rule for probe %s", id);
    return "";
}

/* Kinds that a probe names: "mma.m16n8k16|wgmma", "mma+wgmma", "tcgen05.f8f6f4.e2m1" ... */
static unsigned kinds_of_probe(const char *instr, enum mma_type a, enum mma_kind kinds[2]) {
    unsigned count = 0;
    bool f16 = a == MMA_TYPE_F16 || a == MMA_TYPE_BF16;
    bool i8 = a == MMA_TYPE_S8;
    if (strstr(instr, "tcgen05") != NULL)
        kinds[count++] = f16 ? MMA_TCGEN05_F16 : MMA_TCGEN05_F8F6F4;
    if (strstr(instr, "wgmma") != NULL)
        kinds[count++] = f16                  ? MMA_WGMMA_F16
                         : i8                 ? MMA_WGMMA_I8
                         : a == MMA_TYPE_TF32 ? MMA_WGMMA_TF32
                                              : MMA_WGMMA_F8;
    /* "mma" that is not the end of "wgmma"; P16 and P17 write "mma|wgmma" for every type, but a fp8
     * mma.sync normalises on its way through f16, so the prediction is wgmma's. */
    const char *mma = strncmp(instr, "mma", 3) == 0 ? instr : strstr(instr, "|mma");
    if (mma != NULL && (f16 || i8 || a == MMA_TYPE_TF32))
        kinds[count++] = f16 ? MMA_SYNC_F16 : i8 ? MMA_SYNC_I8 : MMA_SYNC_TF32;
    else if (mma != NULL && count == 0)
        kinds[count++] = MMA_SYNC_F8;
    return count;
}

Test(mma_oracle, probes) {
    struct csv *csv = open_oracle("probes.csv.gz");
    size_t id = csv_column(csv, "id"), instr = csv_column(csv, "instr"), a = csv_column(csv, "a");
    size_t atype = csv_column(csv, "atype"), predictions = csv_column(csv, "predictions");
    while (csv_next(csv)) {
        const char *type = csv_text(csv, atype);
        struct form form = {.a = type_of(type, strlen(type))};
        form.b = form.a;
        form.acc = form.a == MMA_TYPE_S8                          ? MMA_ACC_S32
                   : strcmp(csv_text(csv, atype + 2), "f16") == 0 ? MMA_ACC_F16
                                                                  : MMA_ACC_F32;
        form.saturate = form.a == MMA_TYPE_S8;
        enum mma_kind kinds[2];
        unsigned count = kinds_of_probe(csv_text(csv, instr), form.a, kinds);
        cr_assert_gt(count, 0, "%s", csv_text(csv, id));
        uint32_t expected = predicted(csv_text(csv, predictions), settled_rule(csv_text(csv, id)));
        struct row row;
        read_row(csv, a, &form, &row);
        for (unsigned i = 0; i < count; i++) {
            form.kind = kinds[i];
            cr_expect_eq(evaluate(&form, &row), expected, "%s kind %u: %08x, predicted %08x",
                         csv_text(csv, id), kinds[i], evaluate(&form, &row), expected);
        }
    }
    cr_expect_eq(csv_rows(csv), 213);
    report_rows("probes.csv.gz", csv_rows(csv));
    csv_close(csv);
}

/* What is left of the folder: named, so that a new file cannot be overlooked. */
static const struct {
    const char *file;
    size_t rows;
} block_scaled_files[] = {
    {"UNVERIFIED-tcgen05-mxf8f6f4-e2m1-e3m2-k32.csv.gz", 500},
    {"probes-blockscale.csv.gz", 39},
    {"tcgen05-mxf4-e2m1-ue8m0-block32-k64.csv.gz", 2000},
    {"tcgen05-mxf4nvf4-e2m1-ue4m3-block16-k64.csv.gz", 2000},
    {"tcgen05-mxf4nvf4-e2m1-ue8m0-block16-k64.csv.gz", 2000},
    {"tcgen05-mxf8f6f4-e4m3-e4m3-k32.csv.gz", 2000},
    {"tcgen05-mxf8f6f4-e5m2-e5m2-k32.csv.gz", 2000},
};

Test(mma_oracle, block_scaled_files_are_out_of_scope) {
    for (size_t i = 0; i < sizeof block_scaled_files / sizeof block_scaled_files[0]; i++) {
        struct csv *csv = open_oracle(block_scaled_files[i].file);
        while (csv_next(csv))
            continue;
        cr_expect_eq(csv_rows(csv), block_scaled_files[i].rows);
        printf("not checked, block-scaled: %zu rows of %s\n", csv_rows(csv),
               block_scaled_files[i].file);
        csv_close(csv);
    }
}
