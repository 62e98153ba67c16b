#include <criterion/criterion.h>
#include <string.h>

#include "instr_desc.h"
#include "support.h"

static enum instr_desc_kind kind_of(const char *name) {
    if (strcmp(name, "mxf4/mxf4nvf4") == 0)
        return INSTR_DESC_MXF4;
    for (enum instr_desc_kind kind = 0; kind < INSTR_DESC_KIND_COUNT; kind++)
        if (strcmp(name, instr_desc_kind_name(kind)) == 0)
            return kind;
    cr_assert_fail("kind %s", name);
    return INSTR_DESC_F16;
}

/* Type names may carry "(packed)" or "(unpacked)". */
static enum instr_desc_type type_of(const char *name) {
    for (enum instr_desc_type type = 0; type < INSTR_DESC_TYPE_INVALID; type++)
        if (strncmp(name, instr_desc_type_name(type), strcspn(name, "(")) == 0 &&
            strlen(instr_desc_type_name(type)) == strcspn(name, "("))
            return type;
    cr_assert_fail("type %s", name);
    return INSTR_DESC_TYPE_INVALID;
}

static uint32_t number(struct csv *csv, const char *name) {
    return (uint32_t)csv_int(csv, csv_column(csv, name));
}

static bool is_mn_major(struct csv *csv, const char *name) {
    return strcmp(csv_text(csv, csv_column(csv, name)), "MN") == 0;
}

static struct instr_desc common_inputs(struct csv *csv) {
    return (struct instr_desc){
        .kind = kind_of(csv_text(csv, csv_column(csv, "kind"))),
        .a_type = type_of(csv_text(csv, csv_column(csv, "a_type"))),
        .b_type = type_of(csv_text(csv, csv_column(csv, "b_type"))),
        .d_type = type_of(csv_text(csv, csv_column(csv, "d_type"))),
        .m = number(csv, "M"),
        .n = number(csv, "N"),
        .transpose_a = is_mn_major(csv, "a_major"),
        .transpose_b = is_mn_major(csv, "b_major"),
        .negate_a = number(csv, "a_neg") != 0,
        .negate_b = number(csv, "b_neg") != 0,
        .sparse = number(csv, "sparse") != 0,
        .sf_type = INSTR_DESC_TYPE_INVALID,
    };
}

/* The built word is the oracle's and splits into what went in. */
static void check_word(struct csv *csv, const struct instr_desc *in, enum instr_desc_error judged) {
    uint32_t word, expected = (uint32_t)csv_hex(csv, csv_column(csv, "idesc"));
    struct instr_desc out;
    cr_assert_eq(instr_desc_encode(in, &word), judged, "row %zu", csv_rows(csv));
    cr_assert_eq(word, expected, "row %zu: %08x, not %08x", csv_rows(csv), word, expected);
    cr_assert_eq(instr_desc_decode(in->kind, word, &out), judged);
    cr_assert(out.a_type == in->a_type && out.b_type == in->b_type && out.d_type == in->d_type);
    cr_assert(out.m == in->m && out.n == in->n && out.sparse == in->sparse);
    cr_assert(out.transpose_a == in->transpose_a && out.transpose_b == in->transpose_b);
    cr_assert(out.negate_a == in->negate_a && out.negate_b == in->negate_b);
    cr_assert(out.saturate == in->saturate && out.max_shift == in->max_shift);
    cr_assert(out.sfa_id == in->sfa_id && out.sfb_id == in->sfb_id && out.sf_type == in->sf_type);
}

Test(instr_desc, oracle) {
    struct csv *csv = csv_open("idesc.csv");
    while (csv_next(csv)) {
        struct instr_desc in = common_inputs(csv);
        in.saturate = number(csv, "sat") != 0;
        in.max_shift = (uint8_t)number(csv, "max_shift");
        cr_assert_eq(in.transpose_a, number(csv, "f_a_major"));
        cr_assert_eq(in.n / 8, number(csv, "f_n_dim"));
        cr_assert_eq(in.m / 16, number(csv, "f_m_dim"));
        check_word(csv, &in, INSTR_DESC_OK);
    }
    report_rows("idesc.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 425);
    csv_close(csv);
}

Test(instr_desc, oracle_block_scaled) {
    struct csv *csv = csv_open("idesc_block_scaled.csv");
    while (csv_next(csv)) {
        struct instr_desc in = common_inputs(csv);
        in.sf_type = type_of(csv_text(csv, csv_column(csv, "sf_type")));
        in.sfa_id = (uint8_t)number(csv, "sfa_id");
        in.sfb_id = (uint8_t)number(csv, "sfb_id");
        /* The builder takes any id; the manual's table allows 0 and 2 for 4-bit kinds. */
        bool odd_id = ((in.sfa_id | in.sfb_id) & 1) != 0 && in.kind != INSTR_DESC_MXF8F6F4;
        check_word(csv, &in, odd_id ? INSTR_DESC_SF_ID : INSTR_DESC_OK);
    }
    report_rows("idesc_block_scaled.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 181);
    csv_close(csv);
}

Test(instr_desc, well_known_values) {
    static const struct {
        enum instr_desc_kind kind;
        enum instr_desc_type input, d;
        uint32_t m, n;
        bool transpose_b;
        uint32_t word;
    } rows[] = {
        {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 128, 128, false, 0x08200490},
        {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 128, 256, false, 0x08400490},
        {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 256, 256, false, 0x10400490},
        {INSTR_DESC_F16, INSTR_DESC_TYPE_F16, INSTR_DESC_TYPE_F16, 128, 64, false, 0x08100000},
        {INSTR_DESC_TF32, INSTR_DESC_TYPE_TF32, INSTR_DESC_TYPE_F32, 128, 128, false, 0x08200910},
        {INSTR_DESC_F8F6F4, INSTR_DESC_TYPE_E4M3, INSTR_DESC_TYPE_F32, 128, 128, false, 0x08200010},
        {INSTR_DESC_I8, INSTR_DESC_TYPE_S8, INSTR_DESC_TYPE_S32, 128, 128, false, 0x082004A0},
        {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 64, 8, true, 0x04030490},
        {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 64, 64, false, 0x04100490},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct instr_desc desc = {.kind = rows[i].kind,
                                  .a_type = rows[i].input,
                                  .b_type = rows[i].input,
                                  .d_type = rows[i].d,
                                  .m = rows[i].m,
                                  .n = rows[i].n,
                                  .transpose_b = rows[i].transpose_b};
        uint32_t word;
        cr_assert_eq(instr_desc_encode(&desc, &word), INSTR_DESC_OK);
        cr_assert_eq(word, rows[i].word, "row %zu: %08x", i, word);
    }
}

/* Each bit that no field owns is refused, for each kind. */
Test(instr_desc, reserved_bits) {
    static const struct {
        enum instr_desc_kind kind;
        uint32_t good, reserved;
    } rows[] = {
        {INSTR_DESC_F16, 0x08200490, 1u << 6 | 1u << 23 | 1u << 29},
        {INSTR_DESC_TF32, 0x08200910, 1u << 6 | 1u << 23 | 1u << 29},
        {INSTR_DESC_F8F6F4, 0x08200010, 1u << 6 | 1u << 23 | 1u << 29},
        {INSTR_DESC_I8, 0x082004A0, 1u << 6 | 1u << 23 | 1u << 29},
        {INSTR_DESC_MXF8F6F4, 0x08A00000, 0x3u | 1u << 3 | 1u << 6 | 7u << 24 | 1u << 31},
        {INSTR_DESC_MXF4, 0x08A00480, 0x3u | 1u << 3 | 1u << 6 | 1u << 12 | 3u << 15 | 7u << 24},
        {INSTR_DESC_MXF4NVF4, 0x08200480,
         0x3u | 1u << 3 | 1u << 6 | 1u << 12 | 3u << 15 | 7u << 24},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct instr_desc desc;
        cr_assert_eq(instr_desc_decode(rows[i].kind, rows[i].good, &desc), INSTR_DESC_OK);
        for (unsigned bit = 0; bit < 32; bit++)
            cr_assert_eq(instr_desc_decode(rows[i].kind, rows[i].good ^ 1u << bit, &desc) ==
                             INSTR_DESC_RESERVED_BITS,
                         (rows[i].reserved >> bit & 1) != 0, "%s bit %u",
                         instr_desc_kind_name(rows[i].kind), bit);
    }
}

static enum instr_desc_error decode(enum instr_desc_kind kind, uint32_t word) {
    struct instr_desc desc;
    return instr_desc_decode(kind, word, &desc);
}

Test(instr_desc, field_errors) {
    cr_assert_eq(decode(INSTR_DESC_F16, 0x08200490 | 2u << 7), INSTR_DESC_A_TYPE);
    cr_assert_eq(decode(INSTR_DESC_F16, 0x08200490 | 2u << 10), INSTR_DESC_B_TYPE);
    cr_assert_eq(decode(INSTR_DESC_F16, 0x08200490 | 2u << 4), INSTR_DESC_D_TYPE);
    cr_assert_eq(decode(INSTR_DESC_TF32, 0x08200910 ^ 1u << 4), INSTR_DESC_D_TYPE);
    cr_assert_eq(decode(INSTR_DESC_F16, 0x08200490 | 1u << 3), INSTR_DESC_SATURATE_NOT_I8);
    cr_assert_eq(decode(INSTR_DESC_I8, 0x082004A0 | 1u << 14), INSTR_DESC_NEGATE_I8);
    cr_assert_eq(decode(INSTR_DESC_MXF4, 0x08200480), INSTR_DESC_SF_TYPE);
    cr_assert_eq(decode(INSTR_DESC_MXF4NVF4, 0x08200480 | 1u << 4), INSTR_DESC_SF_ID);
    struct instr_desc desc = {.kind = INSTR_DESC_I8, .a_type = INSTR_DESC_TYPE_F16};
    uint32_t word;
    cr_assert_eq(instr_desc_encode(&desc, &word), INSTR_DESC_A_TYPE);
    for (enum instr_desc_error e = 0; e < INSTR_DESC_ERROR_COUNT; e++)
        cr_assert_gt(strlen(instr_desc_error_text(e)), 10);
}

/* The shape table, written out again as ranges; every M and N that the fields can hold. */
static bool legal_n(enum instr_desc_kind kind, const struct instr_desc_use *use, uint32_t n) {
    if (use->ws)
        return n == 64 || n == 128 || (n == 256 && !use->sp);
    if (use->cta_group == 2)
        return n >= 16 && n <= 256 && n % (kind == INSTR_DESC_I8 ? 32 : 16) == 0;
    if (kind == INSTR_DESC_I8)
        return n == 8 || n == 24 || (n >= 16 && n <= 256 && n % 16 == 0);
    return n >= 8 && n <= 256;
}

static bool legal_m(const struct instr_desc_use *use, uint32_t m) {
    if (use->ws)
        return m == 32 || m == 64 || m == 128;
    return use->cta_group == 2 ? m == 128 || m == 256 : m == 64 || m == 128;
}

static const struct {
    enum instr_desc_kind kind;
    enum instr_desc_type input, d;
    uint32_t k;
} kinds[] = {
    {INSTR_DESC_F16, INSTR_DESC_TYPE_BF16, INSTR_DESC_TYPE_F32, 16},
    {INSTR_DESC_TF32, INSTR_DESC_TYPE_TF32, INSTR_DESC_TYPE_F32, 8},
    {INSTR_DESC_F8F6F4, INSTR_DESC_TYPE_E5M2, INSTR_DESC_TYPE_F16, 32},
    {INSTR_DESC_I8, INSTR_DESC_TYPE_U8, INSTR_DESC_TYPE_S32, 32},
};

Test(instr_desc, shape_table) {
    static const struct instr_desc_use uses[] = {
        {.cta_group = 1},
        {.cta_group = 1, .sp = true},
        {.cta_group = 2},
        {.cta_group = 2, .sp = true},
        {.cta_group = 1, .ws = true},
        {.cta_group = 1, .ws = true, .sp = true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t u = 0; u < sizeof uses / sizeof uses[0]; u++)
            for (uint32_t m = 0; m < 512; m += 16)
                for (uint32_t n = 0; n < 512; n += 8) {
                    struct instr_desc desc = {.kind = kinds[i].kind,
                                              .a_type = kinds[i].input,
                                              .b_type = kinds[i].input,
                                              .d_type = kinds[i].d,
                                              .m = m,
                                              .n = n,
                                              .sparse = uses[u].sp};
                    cr_assert_eq(instr_desc_k(&desc), kinds[i].k * (uses[u].sp ? 2 : 1));
                    cr_assert_eq(instr_desc_check(&desc, &uses[u]) == INSTR_DESC_OK,
                                 legal_m(&uses[u], m) && legal_n(kinds[i].kind, &uses[u], n),
                                 "%s M %u N %u", instr_desc_kind_name(kinds[i].kind), m, n);
                }
}

static enum instr_desc_error check(struct instr_desc desc, struct instr_desc_use use) {
    return instr_desc_check(&desc, &use);
}

Test(instr_desc, rules_beyond_the_shape) {
    struct instr_desc bf16 = {.kind = INSTR_DESC_F16,
                              .a_type = INSTR_DESC_TYPE_BF16,
                              .b_type = INSTR_DESC_TYPE_BF16,
                              .d_type = INSTR_DESC_TYPE_F32,
                              .m = 128,
                              .n = 128};
    struct instr_desc_use plain = {.cta_group = 1}, ws = {.cta_group = 1, .ws = true};
    struct instr_desc_use tmem = {.cta_group = 1, .a_in_tmem = true};
    struct instr_desc_use ws2 = {.cta_group = 2, .ws = true}, sp = {.cta_group = 1, .sp = true};
    struct instr_desc desc = bf16;
    desc.d_type = INSTR_DESC_TYPE_F16;
    cr_assert_eq(check(desc, plain), INSTR_DESC_D_F16_INPUT);
    desc = bf16, desc.b_type = INSTR_DESC_TYPE_F16;
    cr_assert_eq(check(desc, plain), INSTR_DESC_MIXED_F16_TYPES);
    cr_assert_eq(check(bf16, sp), INSTR_DESC_SPARSE_MISMATCH);
    desc = bf16, desc.sparsity_selector = 1;
    cr_assert_eq(check(desc, plain), INSTR_DESC_SELECTOR);
    desc.sparse = true;
    cr_assert_eq(check(desc, sp), INSTR_DESC_OK);
    desc = bf16, desc.max_shift = 1;
    cr_assert_eq(check(desc, plain), INSTR_DESC_MAX_SHIFT);
    cr_assert_eq(check(desc, ws), INSTR_DESC_OK);
    desc = bf16, desc.transpose_a = true;
    cr_assert_eq(check(desc, plain), INSTR_DESC_OK);
    cr_assert_eq(check(desc, tmem), INSTR_DESC_TRANSPOSE_A_TMEM);
    cr_assert_eq(check(bf16, ws2), INSTR_DESC_WS_CTA2);
    struct instr_desc e4m3 = {.kind = INSTR_DESC_F8F6F4,
                              .a_type = INSTR_DESC_TYPE_E4M3,
                              .b_type = INSTR_DESC_TYPE_E4M3,
                              .d_type = INSTR_DESC_TYPE_F32,
                              .m = 128,
                              .n = 24,
                              .transpose_b = true};
    cr_assert_eq(check(e4m3, plain), INSTR_DESC_N_TRANSPOSED_CTA1);
    e4m3.n = 48;
    cr_assert_eq(check(e4m3, plain), INSTR_DESC_OK);
    cr_assert_eq(check(e4m3, (struct instr_desc_use){.cta_group = 2}),
                 INSTR_DESC_N_TRANSPOSED_CTA2);
    cr_assert_eq(check((struct instr_desc){.kind = INSTR_DESC_MXF4}, plain),
                 INSTR_DESC_BLOCK_SCALED);
}

/* The columns of B that a mask zeroes, as a string of 0 and 1 from column 0. */
static void mask_text(uint64_t word, uint32_t m, uint32_t n, char *text) {
    struct instr_desc_zero_mask mask;
    cr_assert(instr_desc_zero_mask_decode(word, m, &mask));
    for (uint32_t i = 0; i < n; i++)
        text[i] = instr_desc_zero_column(&mask, m, n, i) ? '1' : '0';
    text[n] = '\0';
}

Test(instr_desc, zero_column_mask) {
    char text[257];
    uint64_t enable = UINT64_C(1) << 39, use2 = UINT64_C(1) << 48, skip3 = UINT64_C(2) << 40;
    mask_text(use2 | skip3, 128, 16, text); /* not enabled: use everything */
    cr_assert_str_eq(text, "0000000000000000");
    mask_text(enable | use2 | skip3, 128, 16, text);
    cr_assert_str_eq(text, "0011100111001110");
    mask_text(enable | use2 | skip3 | UINT64_C(1) << 32, 128, 16, text); /* begins with ones */
    cr_assert_str_eq(text, "1110011100111001");
    mask_text(enable | use2 | skip3 | 1, 128, 16, text); /* one bit dropped */
    cr_assert_str_eq(text, "0111001110011100");
    mask_text(enable | use2 | skip3 | UINT64_C(1) << 33 | UINT64_C(2) << 8, 64, 16, text);
    cr_assert_str_eq(text, "00111001"
                           "10011100");
    mask_text(enable | use2 | skip3 | UINT64_C(1) << 35, 32, 16, text);
    cr_assert_str_eq(text, "0011"
                           "0011"
                           "0011"
                           "1110");
    struct instr_desc_zero_mask mask;
    cr_assert(instr_desc_zero_mask_decode(UINT64_C(32) << 56, 64, &mask));
    cr_assert_eq(mask.column_shift, 32);
    cr_assert(!instr_desc_zero_mask_decode(UINT64_C(33) << 56, 64, &mask));
    cr_assert(!instr_desc_zero_mask_decode(UINT64_C(17) << 56, 32, &mask));
    cr_assert(!instr_desc_zero_mask_decode(UINT64_C(1) << 36, 64, &mask));
    cr_assert(!instr_desc_zero_mask_decode(UINT64_C(1) << 63, 64, &mask));
}
