/* `siltwin decode idesc`: the 32-bit instruction descriptor of tcgen05.mma, with what it asks of
 * the operands, where D goes, and which forms of the instruction it is legal for. */
#include <inttypes.h>

#include "bits.h"
#include "decode_kinds.h"
#include "tmem_access.h"

static const char *major_text(bool transposed) {
    return transposed ? "MN-major (transposed)" : "K-major";
}

static bool is_scaled(enum instr_desc_kind kind) {
    return kind >= INSTR_DESC_MXF8F6F4;
}

static void add_plain_fields(struct decode_report *report, uint32_t word,
                             const struct instr_desc *desc) {
    decode_field(report, 1, 0, "sparsity selector", bits_get(word, 0, 2), "%s",
                 desc->sparse ? "which metadata half" : "only with sparse A");
    decode_field(report, 2, 2, "sparse", bits_get(word, 2, 1), "%s",
                 desc->sparse ? "A is sparse (.sp)" : "dense");
    decode_field(report, 3, 3, "saturate", bits_get(word, 3, 1), "%s",
                 desc->saturate ? "s32 results saturate" : "no saturation");
    decode_field(report, 5, 4, "D type", bits_get(word, 4, 2), "%s",
                 instr_desc_type_name(desc->d_type));
}

static void add_scaled_fields(struct decode_report *report, uint32_t word,
                              const struct instr_desc *desc) {
    decode_field(report, 2, 2, "sparse", bits_get(word, 2, 1), "%s",
                 desc->sparse ? "A is sparse (.sp)" : "dense");
    decode_field(report, 5, 4, "scale id of B", bits_get(word, 4, 2),
                 "scale factors of B begin at byte %u of their column", desc->sfb_id);
}

static void add_fields(struct decode_report *report, uint32_t word, const struct instr_desc *desc) {
    bool scaled = is_scaled(desc->kind);
    if (scaled)
        add_scaled_fields(report, word, desc);
    else
        add_plain_fields(report, word, desc);
    decode_field(report, 9, 7, "A type", bits_get(word, 7, 3), "%s",
                 instr_desc_type_name(desc->a_type));
    decode_field(report, 12, 10, "B type", bits_get(word, 10, 3), "%s",
                 instr_desc_type_name(desc->b_type));
    decode_field(report, 13, 13, "negate A", bits_get(word, 13, 1), "%s",
                 desc->negate_a ? "yes" : "no");
    decode_field(report, 14, 14, "negate B", bits_get(word, 14, 1), "%s",
                 desc->negate_b ? "yes" : "no");
    decode_field(report, 15, 15, "transpose A", bits_get(word, 15, 1), "A is %s",
                 major_text(desc->transpose_a));
    decode_field(report, 16, 16, "transpose B", bits_get(word, 16, 1), "B is %s",
                 major_text(desc->transpose_b));
    decode_field(report, 22, 17, "N / 8", bits_get(word, 17, 6), "N = %u columns of D", desc->n);
    if (scaled) {
        decode_field(report, 23, 23, "scale type", bits_get(word, 23, 1), "%s",
                     instr_desc_type_name(desc->sf_type));
        decode_field(report, 28, 27, "M / 128", bits_get(word, 27, 2), "M = %u rows of D", desc->m);
        decode_field(report, 30, 29, "scale id of A", bits_get(word, 29, 2),
                     "scale factors of A begin at byte %u of their column", desc->sfa_id);
        if (desc->kind != INSTR_DESC_MXF8F6F4)
            decode_field(report, 31, 31, "K size", bits_get(word, 31, 1), "%s",
                         desc->k96 ? "K = 96 (sm_103a)" : "K = 64 dense, 128 sparse");
    } else {
        decode_field(report, 28, 24, "M / 16", bits_get(word, 24, 5), "M = %u rows of D", desc->m);
        decode_field(report, 31, 30, "max shift", bits_get(word, 30, 2),
                     desc->max_shift == 0 ? "no shift of B" : "B may shift %u columns (.ws)",
                     4u << desc->max_shift);
    }
}

static const struct {
    const char *name;
    struct instr_desc_use use;
} forms[] = {
    {"cta_group::1", {.cta_group = 1}},
    {"cta_group::2", {.cta_group = 2}},
    {".ws", {.cta_group = 1, .ws = true}},
};

static const char *const layout_texts[] = {
    [TMEM_D_A] = "row m: CTA m/128 of the pair, lane m%128; column n (layout A)",
    [TMEM_D_B] = "row m: CTA m/64, lane m%64, columns from N/2 on 64 lanes higher (layout B)",
    [TMEM_D_C] = "place of D not known (layout C)",
    [TMEM_D_D] = "row m: lane m; column n (layout D)",
    [TMEM_D_E] = "row m: lane m, columns from N/2 on 64 lanes higher (layout E)",
    [TMEM_D_F] = "row m: lane 32*(m/16) + m%16, so 16 lanes of each warp's 32; column n (layout F)",
    [TMEM_D_G] = "row m: lane m, each further N/4 columns 32 lanes higher (layout G)",
};

/* One line per form: legal and where D goes, or why not. */
static void describe_forms(struct decode_report *report, const struct instr_desc *desc) {
    unsigned legal = 0;
    decode_line(report, "legal as:");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct instr_desc_use use = forms[i].use;
        use.sp = desc->sparse;
        enum instr_desc_error error = instr_desc_check(desc, &use);
        struct tmem_mma_shape shape = {desc->m, desc->n, use.cta_group, use.ws, desc->sparse};
        enum tmem_d_layout layout;
        if (error != INSTR_DESC_OK) {
            decode_line(report, "  %-12s  no: %s", forms[i].name, instr_desc_error_text(error));
            continue;
        }
        legal++;
        bool known = tmem_d_layout(&shape, &layout);
        decode_line(
            report, "  %-12s  yes; D in Tensor Memory: %s%s", forms[i].name, layout_texts[layout],
            known ? decode_format(report, ", %u columns", tmem_d_columns(&shape, layout)) : "");
    }
    if (legal == 0)
        decode_problem(report, "no form of the instruction takes this shape");
}

static void describe_operands(struct decode_report *report, const struct instr_desc *desc) {
    uint32_t k = instr_desc_k(desc);
    decode_line(report, "D (%u x %u, %s) %s A (%u x %u, %s%s) * B (%u x %u, %s)", desc->m, desc->n,
                instr_desc_type_name(desc->d_type), "(+)=", desc->m, k,
                instr_desc_type_name(desc->a_type), desc->sparse ? ", sparse" : "", k, desc->n,
                instr_desc_type_name(desc->b_type));
    decode_line(report,
                "one instruction covers K = %u; B lies in shared memory as N rows of K, where the "
                "descriptor of B says",
                k);
}

static void name_other_kinds(struct decode_report *report, uint32_t word,
                             enum instr_desc_kind kind) {
    struct strbuf others = {0};
    for (enum instr_desc_kind other = 0; other < INSTR_DESC_KIND_COUNT; other++) {
        struct instr_desc desc;
        if (other != kind && instr_desc_decode(other, word, &desc) == INSTR_DESC_OK)
            strbuf_printf(&others, "%s%s", others.length == 0 ? "" : ", ",
                          instr_desc_kind_name(other));
    }
    if (others.length != 0)
        decode_line(
            report,
            "The kind is in the instruction, not in this word: it is well formed for %s too "
            "(--kind).",
            strbuf_text(&others));
    strbuf_free(&others);
}

void decode_idesc(struct decode_report *report, uint32_t word, enum instr_desc_kind kind) {
    struct instr_desc desc;
    bool guessed = kind == INSTR_DESC_KIND_COUNT;
    for (enum instr_desc_kind try = 0; guessed && try < INSTR_DESC_KIND_COUNT; try++)
        if (kind == INSTR_DESC_KIND_COUNT && instr_desc_decode(try, word, &desc) == INSTR_DESC_OK)
            kind = try;
    if (kind == INSTR_DESC_KIND_COUNT)
        kind = INSTR_DESC_F16;
    enum instr_desc_error error = instr_desc_decode(kind, word, &desc);
    report->kind = "idesc";
    report->value = decode_format(report, "0x%08" PRIx32, word);
    report->title = decode_format(report, "instruction descriptor of tcgen05.mma, read as kind::%s",
                                  instr_desc_kind_name(kind));
    add_fields(report, word, &desc);
    if (error != INSTR_DESC_OK) {
        decode_problem(report, "%s%s", instr_desc_error_text(error),
                       guessed ? " (no kind accepts this word)" : "");
        return;
    }
    describe_operands(report, &desc);
    if (is_scaled(kind))
        decode_line(report, "Shapes of block-scaled kinds are not checked here.");
    else
        describe_forms(report, &desc);
    if (guessed)
        name_other_kinds(report, word, kind);
}
