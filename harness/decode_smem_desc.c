/* `siltwin decode smem-desc`: the 64-bit shared-memory matrix descriptor in a kernel author's
 * words. The layout is shown by the addresses that the descriptor unit gives, not by a second
 * formula. */
#include <inttypes.h>

#include "bits.h"
#include "decode_kinds.h"

static const char *chunk_xor(enum swizzle_mode mode) {
    switch (mode) {
    case SWIZZLE_32B: return "address bit 4 is xored with bit 7";
    case SWIZZLE_64B: return "address bits 5:4 are xored with bits 8:7";
    case SWIZZLE_128B: return "address bits 6:4 are xored with bits 9:7";
    case SWIZZLE_128B_ATOM_32B: return "address bits 6:5 are xored with bits 8:7";
    default: return "addresses are taken as they are";
    }
}

static void add_fields(struct decode_report *report, uint64_t word, const struct smem_desc *desc,
                       enum smem_desc_arch arch) {
    bool sm100 = arch == SMEM_DESC_SM100;
    decode_field(report, 13, 0, "start address", bits_get(word, 0, 14),
                 "%u (0x%x): shared address of the operand's first byte (field * 16)",
                 desc->start_bytes, desc->start_bytes);
    decode_field(report, 29, 16, "LBO", bits_get(word, 16, 14),
                 "%u bytes: leading dimension byte offset (field * 16)", desc->lbo_bytes);
    decode_field(report, 45, 32, "SBO", bits_get(word, 32, 14),
                 "%u bytes: stride dimension byte offset (field * 16)", desc->sbo_bytes);
    if (sm100)
        decode_field(report, 48, 46, "constant", bits_get(word, 46, 3), "%s",
                     bits_get(word, 46, 3) == 1 ? "0b001, as it must be" : "must be 0b001");
    decode_field(report, 51, 49, "base offset", bits_get(word, 49, 3), "%s",
                 desc->base_offset == 0
                     ? "the swizzle pattern begins at a multiple of its period"
                     : decode_format(report,
                                     "the swizzle pattern begins %u bytes after a multiple of its "
                                     "period",
                                     desc->base_offset * 128u));
    if (sm100)
        decode_field(report, 52, 52, "LBO mode", bits_get(word, 52, 1), "%s",
                     bits_get(word, 52, 1) == 0 ? "relative" : "absolute (sm_103a only)");
    decode_field(report, 63, sm100 ? 61 : 62, "swizzle",
                 bits_get(word, sm100 ? 61 : 62, sm100 ? 3 : 2), "%s: %s",
                 swizzle_name(desc->swizzle), chunk_xor(desc->swizzle));
}

static void describe_k_major(struct decode_report *report, const struct smem_desc *desc) {
    const struct swizzle_rule *rule = swizzle_rule(desc->swizzle);
    uint32_t atom = 8 * rule->span_bytes;
    if (desc->swizzle == SWIZZLE_NONE) {
        decode_line(report,
                    "  core matrices of 8 rows x 16 B (128 B each): the next 8 rows %u B on (SBO), "
                    "the next 16 B of k %u B on (LBO)",
                    desc->sbo_bytes, desc->lbo_bytes);
        decode_line(report, "  next instruction along k (32 B): add %u B to the start (field + %u)",
                    2 * desc->lbo_bytes, 2 * desc->lbo_bytes / 16);
        return;
    }
    decode_line(
        report,
        "  atoms of 8 rows x %u B (%u B): rows are %u B apart, the next 8 rows %u B on (SBO)"
        "%s; LBO is not used",
        rule->span_bytes, atom, rule->span_bytes, desc->sbo_bytes,
        desc->sbo_bytes == atom ? ", atoms packed" : "");
    decode_line(report,
                "  next instruction along k (32 B): add 32 B to the start (field + 2), %u a row; "
                "then the next atom",
                rule->span_bytes / 32);
    if (desc->sbo_bytes != 0 && desc->sbo_bytes < atom)
        decode_line(report, "  NOTE: SBO below %u B makes groups of 8 rows overlap", atom);
}

static void describe_mn_major(struct decode_report *report, const struct smem_desc *desc,
                              const struct canonical *layout) {
    uint32_t lines = 1u << layout->group_shift;
    if (desc->swizzle == SWIZZLE_NONE)
        decode_line(report,
                    "  core matrices of 8 k x 16 B of mn (128 B each): the next 16 B of mn %u B on "
                    "(SBO), the next 8 k %u B on (LBO)",
                    desc->sbo_bytes, desc->lbo_bytes);
    else
        decode_line(report,
                    "  atoms of %u k x %u B of mn (%u B): the next %u B strip of mn %u B on (LBO), "
                    "the next %u k %u B on (SBO)",
                    lines, layout->line_bytes, lines * layout->line_bytes, layout->line_bytes,
                    desc->lbo_bytes, lines, desc->sbo_bytes);
}

/* Addresses of the first chunks, as a check against what the program wrote. */
static void show_addresses(struct decode_report *report, const struct canonical *layout) {
    const char *line = layout->major == CANONICAL_K ? "row" : "k";
    static const uint32_t shown[] = {0, 1, 2, 7, 8};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        decode_line(report, "  %s %u: its first 32 bytes are at 0x%x and 0x%x (16 B each)", line,
                    shown[i], canonical_chunk_address(layout, shown[i], 0),
                    canonical_chunk_address(layout, shown[i], 1));
}

static void describe_major(struct decode_report *report, const struct smem_desc *desc,
                           const struct decode_smem_desc_options *options,
                           enum canonical_major major) {
    struct canonical layout;
    enum canonical_error error = canonical_prepare(desc, major, options->element, &layout);
    decode_line(report, "%s, %s elements:",
                major == CANONICAL_K ? "K-major operand (transpose 0; rows are m or n)"
                                     : "MN-major operand (transpose 1)",
                options->element_name);
    bool filled = error == CANONICAL_OK || error == CANONICAL_MN_32BIT_MODE ||
                  error == CANONICAL_MN_ATOM_32B_ELEMENT;
    if (error != CANONICAL_OK && options->major >= 0)
        decode_problem(report, "%s", canonical_error_text(error));
    else if (error != CANONICAL_OK)
        decode_line(report, "  not legal: %s", canonical_error_text(error));
    if (!filled)
        return;
    if (major == CANONICAL_K)
        describe_k_major(report, desc);
    else
        describe_mn_major(report, desc, &layout);
    show_addresses(report, &layout);
}

static void describe_alignment(struct decode_report *report, const struct smem_desc *desc) {
    if (desc->swizzle == SWIZZLE_NONE)
        return;
    uint32_t period =
        desc->swizzle == SWIZZLE_128B_ATOM_32B ? 1024 : swizzle_rule(desc->swizzle)->pattern_bytes;
    uint32_t off = (desc->start_bytes - desc->base_offset * 128u) % period;
    if (off == 0)
        decode_line(report, "the start is on the pattern's boundary (%u B)", period);
    else
        decode_line(
            report,
            "the start is %u B past the pattern's boundary (%u B): line %u, 16-byte chunk %u "
            "of the pattern",
            off, period, off / 128, off % 128 / 16);
}

void decode_smem_desc(struct decode_report *report, uint64_t word,
                      const struct decode_smem_desc_options *options) {
    struct smem_desc desc;
    enum smem_desc_error error = smem_desc_decode(options->arch, word, &desc);
    report->kind = "smem-desc";
    report->value = decode_format(report, "0x%016" PRIx64, word);
    report->title = decode_format(
        report, "shared-memory matrix descriptor of %s (%s)",
        options->arch == SMEM_DESC_SM100 ? "tcgen05.mma and tcgen05.cp, sm_100" : "wgmma, sm_90",
        options->arch_reason);
    add_fields(report, word, &desc, options->arch);
    if (error != SMEM_DESC_OK) {
        decode_problem(report, "%s", smem_desc_error_text(error));
        return;
    }
    describe_alignment(report, &desc);
    if (options->major != CANONICAL_MN)
        describe_major(report, &desc, options, CANONICAL_K);
    if (options->major != CANONICAL_K)
        describe_major(report, &desc, options, CANONICAL_MN);
}
