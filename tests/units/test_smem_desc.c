#include <criterion/criterion.h>
#include <string.h>

#include "bits.h"
#include "hash.h"
#include "smem_desc.h"
#include "support.h"

static const enum swizzle_mode sm90_modes[] = {SWIZZLE_NONE, SWIZZLE_128B, SWIZZLE_64B,
                                               SWIZZLE_32B};
static const enum swizzle_mode sm100_modes[] = {
    SWIZZLE_NONE, SWIZZLE_128B_ATOM_32B, SWIZZLE_128B, SWIZZLE_MODE_COUNT,
    SWIZZLE_64B,  SWIZZLE_MODE_COUNT,    SWIZZLE_32B,  SWIZZLE_MODE_COUNT,
};

/* Every descriptor of the file splits into the listed fields and comes back bit for bit. */
static void check_file(const char *path, enum smem_desc_arch arch, size_t rows) {
    struct csv *csv = csv_open(path);
    size_t word = csv_column(csv, "desc"), start = csv_column(csv, "start16");
    size_t lbo = csv_column(csv, "lbo16"), sbo = csv_column(csv, "sbo16");
    size_t base = csv_column(csv, "base_offset"), type = csv_column(csv, "layout_type");
    while (csv_next(csv)) {
        struct smem_desc desc;
        uint64_t again;
        cr_assert_eq(smem_desc_decode(arch, csv_hex(csv, word), &desc), SMEM_DESC_OK);
        cr_assert_eq(desc.start_bytes, csv_int(csv, start) * 16);
        cr_assert_eq(desc.lbo_bytes, csv_int(csv, lbo) * 16);
        cr_assert_eq(desc.sbo_bytes, csv_int(csv, sbo) * 16);
        cr_assert_eq(desc.base_offset, csv_int(csv, base));
        cr_assert_eq(desc.swizzle,
                     (arch == SMEM_DESC_SM90 ? sm90_modes : sm100_modes)[csv_int(csv, type)]);
        cr_assert_eq(smem_desc_encode(arch, &desc, &again), SMEM_DESC_OK);
        cr_assert_eq(again, csv_hex(csv, word));
    }
    report_rows(path, csv_rows(csv));
    cr_assert_eq(csv_rows(csv), rows);
    csv_close(csv);
}

Test(smem_desc, oracle_sm100) {
    check_file("umma_desc_sm100.csv.gz", SMEM_DESC_SM100, 20378);
}
Test(smem_desc, oracle_sm90) {
    check_file("gmma_desc_sm90.csv.gz", SMEM_DESC_SM90, 14272);
}

/* Descriptors for tcgen05.cp of scale factors. */
Test(smem_desc, oracle_scale_factor_copies) {
    struct csv *csv = csv_open("sf_cp_desc.csv");
    size_t word = csv_column(csv, "desc"), start = csv_column(csv, "start16");
    size_t sbo = csv_column(csv, "sbo16");
    while (csv_next(csv)) {
        struct smem_desc desc;
        cr_assert_eq(smem_desc_decode(SMEM_DESC_SM100, csv_hex(csv, word), &desc), SMEM_DESC_OK);
        cr_assert_eq(desc.start_bytes, csv_int(csv, start) * 16);
        cr_assert_eq(desc.sbo_bytes, csv_int(csv, sbo) * 16);
        cr_assert_eq(desc.swizzle, SWIZZLE_NONE);
    }
    report_rows("sf_cp_desc.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 9);
    csv_close(csv);
}

/* The constants that kernels print in their source. */
Test(smem_desc, well_known_values) {
    static const struct {
        enum swizzle_mode mode;
        uint32_t lbo, sbo;
        uint64_t sm90, sm100;
    } rows[] = {
        {SWIZZLE_128B, 16, 1024, 0x4000004000010000, 0x4000404000010000},
        {SWIZZLE_64B, 16, 512, 0x8000002000010000, 0x8000402000010000},
        {SWIZZLE_32B, 16, 256, 0xC000001000010000, 0xC000401000010000},
        {SWIZZLE_NONE, 2048, 128, 0x0000000800800000, 0x0000400800800000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct smem_desc desc = {
            .lbo_bytes = rows[i].lbo, .sbo_bytes = rows[i].sbo, .swizzle = rows[i].mode};
        uint64_t word;
        cr_assert_eq(smem_desc_encode(SMEM_DESC_SM90, &desc, &word), SMEM_DESC_OK);
        cr_assert_eq(word, rows[i].sm90);
        cr_assert_eq(smem_desc_encode(SMEM_DESC_SM100, &desc, &word), SMEM_DESC_OK);
        cr_assert_eq(word, rows[i].sm100);
    }
}

/* Each single bit of a good descriptor flipped: still good with one other field, or the named
 * error. */
Test(smem_desc, every_bit_is_judged) {
    static const uint64_t good[] = {0x4000004000010000, 0x4000404000010000};
    for (unsigned bit = 0; bit < 64; bit++) {
        struct smem_desc desc;
        bool field = bit < 14 || (bit >= 16 && bit < 30) || (bit >= 32 && bit < 46) ||
                     (bit >= 49 && bit < 52);
        enum smem_desc_error sm90 =
            smem_desc_decode(SMEM_DESC_SM90, good[0] ^ (UINT64_C(1) << bit), &desc);
        cr_assert_eq(sm90, field || bit >= 62 ? SMEM_DESC_OK : SMEM_DESC_RESERVED_BITS, "bit %u",
                     bit);
        enum smem_desc_error sm100 =
            smem_desc_decode(SMEM_DESC_SM100, good[1] ^ (UINT64_C(1) << bit), &desc);
        enum smem_desc_error expected = field                    ? SMEM_DESC_OK
                                        : bit >= 46 && bit <= 48 ? SMEM_DESC_CONSTANT
                                        : bit == 52              ? SMEM_DESC_LBO_ABSOLUTE
                                        : bit == 61              ? SMEM_DESC_SWIZZLE_CODE
                                        : bit >= 62              ? SMEM_DESC_OK
                                                                 : SMEM_DESC_RESERVED_BITS;
        cr_assert_eq(sm100, expected, "bit %u", bit);
    }
}

Test(smem_desc, all_swizzle_codes) {
    for (unsigned code = 0; code < 8; code++) {
        struct smem_desc desc;
        uint64_t word = (uint64_t)code << 61 | UINT64_C(1) << 46;
        enum smem_desc_error error = smem_desc_decode(SMEM_DESC_SM100, word, &desc);
        if (sm100_modes[code] == SWIZZLE_MODE_COUNT) {
            cr_assert_eq(error, SMEM_DESC_SWIZZLE_CODE);
        } else {
            cr_assert_eq(error, SMEM_DESC_OK);
            cr_assert_eq(desc.swizzle, sm100_modes[code]);
        }
    }
}

Test(smem_desc, encode_refuses) {
    uint64_t word = 7;
    struct smem_desc desc = {.start_bytes = 8};
    cr_assert_eq(smem_desc_encode(SMEM_DESC_SM100, &desc, &word), SMEM_DESC_NOT_16_BYTES);
    desc = (struct smem_desc){.sbo_bytes = 1 << 18};
    cr_assert_eq(smem_desc_encode(SMEM_DESC_SM100, &desc, &word), SMEM_DESC_TOO_FAR);
    desc = (struct smem_desc){.base_offset = 8};
    cr_assert_eq(smem_desc_encode(SMEM_DESC_SM100, &desc, &word), SMEM_DESC_BASE_OFFSET);
    desc = (struct smem_desc){.swizzle = SWIZZLE_128B_ATOM_32B};
    cr_assert_eq(smem_desc_encode(SMEM_DESC_SM90, &desc, &word), SMEM_DESC_SWIZZLE_NOT_HERE);
    desc = (struct smem_desc){.swizzle = SWIZZLE_128B_ATOM_64B};
    cr_assert_eq(smem_desc_encode(SMEM_DESC_SM100, &desc, &word), SMEM_DESC_SWIZZLE_NOT_HERE);
    cr_assert_eq(word, 7);
    for (enum smem_desc_error e = 0; e < SMEM_DESC_ERROR_COUNT; e++)
        cr_assert_gt(strlen(smem_desc_error_text(e)), 10);
}

Test(smem_desc, random_round_trip) {
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t r = hash_mix64(i), word;
        struct smem_desc in = {.start_bytes = (uint32_t)bits_get(r, 0, 14) << 4,
                               .lbo_bytes = (uint32_t)bits_get(r, 14, 14) << 4,
                               .sbo_bytes = (uint32_t)bits_get(r, 28, 14) << 4,
                               .base_offset = (uint8_t)bits_get(r, 42, 3),
                               .swizzle = sm90_modes[bits_get(r, 45, 2)]},
                         out;
        enum smem_desc_arch arch = bits_get(r, 47, 1) ? SMEM_DESC_SM100 : SMEM_DESC_SM90;
        cr_assert_eq(smem_desc_encode(arch, &in, &word), SMEM_DESC_OK);
        cr_assert_eq(smem_desc_decode(arch, word, &out), SMEM_DESC_OK);
        cr_assert(out.start_bytes == in.start_bytes && out.lbo_bytes == in.lbo_bytes &&
                  out.sbo_bytes == in.sbo_bytes && out.base_offset == in.base_offset &&
                  out.swizzle == in.swizzle);
    }
}
