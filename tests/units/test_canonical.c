#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "hash.h"
#include "support.h"

enum { CONFIGS = 170, NOWHERE = UINT32_MAX };

/* A tile of the oracle: where each of its elements lies. */
struct tile {
    enum canonical_major major;
    enum canonical_element element;
    bool atom_32b;
    uint32_t element_bits, mn, k;
    uint32_t *bit_of; /* [mn][k] offset in bits from the tile's base */
};

static void read_index(struct tile *tiles) {
    struct csv *csv = csv_open("umma_canonical_index.csv");
    size_t cfg = csv_column(csv, "cfg"), major = csv_column(csv, "major");
    size_t bits = csv_column(csv, "elem_bits"), mn = csv_column(csv, "tile_mn");
    size_t k = csv_column(csv, "tile_k"), swizzle = csv_column(csv, "swizzle");
    while (csv_next(csv)) {
        struct tile *tile = &tiles[csv_int(csv, cfg)];
        tile->major = strcmp(csv_text(csv, major), "K") == 0 ? CANONICAL_K : CANONICAL_MN;
        tile->atom_32b = strcmp(csv_text(csv, swizzle), "sw128_atom32") == 0;
        tile->element_bits = (uint32_t)csv_int(csv, bits);
        tile->element = tile->element_bits == 4    ? CANONICAL_4BIT
                        : tile->element_bits == 8  ? CANONICAL_8BIT
                        : tile->element_bits == 16 ? CANONICAL_16BIT
                                                   : CANONICAL_32BIT;
        tile->mn = (uint32_t)csv_int(csv, mn);
        tile->k = (uint32_t)csv_int(csv, k);
        tile->bit_of = malloc(sizeof(uint32_t) * tile->mn * tile->k);
        for (size_t i = 0; i < (size_t)tile->mn * tile->k; i++)
            tile->bit_of[i] = NOWHERE;
    }
    report_rows("umma_canonical_index.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), CONFIGS);
    csv_close(csv);
}

/* Expands the file's 16-byte chunks to elements; each element comes once. */
static void read_chunks(struct tile *tiles, const char *path, size_t rows) {
    struct csv *csv = csv_open(path);
    size_t cfg = csv_column(csv, "cfg"), mn_column = csv_column(csv, "mn");
    size_t k_column = csv_column(csv, "k"), off = csv_column(csv, "byte_off");
    while (csv_next(csv)) {
        struct tile *tile = &tiles[csv_int(csv, cfg)];
        for (uint32_t i = 0; i < 128 / tile->element_bits; i++) {
            uint32_t mn = (uint32_t)csv_int(csv, mn_column), k = (uint32_t)csv_int(csv, k_column);
            if (tile->major == CANONICAL_K)
                k += i;
            else
                mn += i;
            cr_assert(mn < tile->mn && k < tile->k);
            cr_assert_eq(tile->bit_of[mn * tile->k + k], NOWHERE);
            tile->bit_of[mn * tile->k + k] =
                (uint32_t)csv_int(csv, off) * 8 + i * tile->element_bits;
        }
    }
    report_rows(path, csv_rows(csv));
    cr_assert_eq(csv_rows(csv), rows);
    csv_close(csv);
}

static void read_tiles(struct tile *tiles) {
    read_index(tiles);
    read_chunks(tiles, "umma_canonical_k.csv.gz", 104768);
    read_chunks(tiles, "umma_canonical_mn.csv.gz", 125312);
    read_chunks(tiles, "umma_canonical_fp4.csv", 5120);
    for (int i = 0; i < CONFIGS; i++)
        for (size_t e = 0; e < (size_t)tiles[i].mn * tiles[i].k; e++)
            cr_assert_neq(tiles[i].bit_of[e], NOWHERE, "cfg %d lacks elements", i);
}

static enum canonical_error expected_error(const struct tile *tile) {
    if (tile->major == CANONICAL_MN && tile->atom_32b && tile->element != CANONICAL_32BIT)
        return CANONICAL_MN_ATOM_32B_ELEMENT;
    if (tile->major == CANONICAL_MN && !tile->atom_32b && tile->element == CANONICAL_32BIT)
        return CANONICAL_MN_32BIT_MODE;
    return CANONICAL_OK;
}

/* Each descriptor's piece of the tile, element by element. */
static void check_descriptors(const struct tile *tiles, const char *path, enum smem_desc_arch arch,
                              size_t rows) {
    struct csv *csv = csv_open(path);
    size_t cfg = csv_column(csv, "cfg"), word = csv_column(csv, "desc");
    size_t mma_mn = csv_column(csv, "mma_mn"), mma_k = csv_column(csv, "mma_k");
    size_t i_mn = csv_column(csv, "i_mn"), i_k = csv_column(csv, "i_k");
    size_t elements = 0;
    while (csv_next(csv)) {
        const struct tile *tile = &tiles[csv_int(csv, cfg)];
        struct smem_desc desc;
        struct canonical layout;
        cr_assert_eq(smem_desc_decode(arch, csv_hex(csv, word), &desc), SMEM_DESC_OK);
        cr_assert_eq(canonical_prepare(&desc, tile->major, tile->element, &layout),
                     expected_error(tile));
        uint32_t rows_mn = (uint32_t)csv_int(csv, mma_mn), rows_k = (uint32_t)csv_int(csv, mma_k);
        uint32_t mn0 = rows_mn * (uint32_t)csv_int(csv, i_mn);
        uint32_t k0 = rows_k * (uint32_t)csv_int(csv, i_k);
        for (uint32_t r = 0; r < rows_mn; r++)
            for (uint32_t c = 0; c < rows_k; c++) {
                struct canonical_place place = canonical_place(&layout, r, c);
                cr_assert_eq(place.address_bytes * 8 + place.bit,
                             tile->bit_of[(mn0 + r) * tile->k + k0 + c], "%s row %zu, (%u, %u)",
                             path, csv_rows(csv), r, c);
            }
        elements += (size_t)rows_mn * rows_k;
    }
    report_rows(path, csv_rows(csv));
    printf("  (%zu elements)\n", elements);
    cr_assert_eq(csv_rows(csv), rows);
    csv_close(csv);
}

Test(canonical, oracle) {
    struct tile *tiles = calloc(CONFIGS, sizeof *tiles);
    read_tiles(tiles);
    check_descriptors(tiles, "umma_desc_sm100.csv.gz", SMEM_DESC_SM100, 20378);
    check_descriptors(tiles, "gmma_desc_sm90.csv.gz", SMEM_DESC_SM90, 14272);
    for (int i = 0; i < CONFIGS; i++)
        free(tiles[i].bit_of);
    free(tiles);
}

/* 2,800 random descriptors, legal or odd, as a real H200 read them. */
Test(canonical, silicon_h200) {
    static const uint32_t mn[] = {0, 1, 7, 8, 15, 16, 31, 32, 63}, k[] = {0, 1, 7, 8, 15};
    static const enum swizzle_mode modes[] = {SWIZZLE_NONE, SWIZZLE_128B, SWIZZLE_64B, SWIZZLE_32B};
    struct csv *csv = csv_open("wgmma/hw-H200-desc.csv.gz");
    size_t major = csv_column(csv, "major"), start = csv_column(csv, "start");
    size_t lbo = csv_column(csv, "lbo_bytes"), sbo = csv_column(csv, "sbo_bytes");
    size_t base = csv_column(csv, "base_offset"), type = csv_column(csv, "layout_type");
    size_t first = csv_column(csv, "mn0_k0"), addresses = 0;
    while (csv_next(csv)) {
        struct smem_desc desc = {
            .start_bytes = (uint32_t)csv_hex(csv, start),
            .lbo_bytes = (uint32_t)csv_int(csv, lbo),
            .sbo_bytes = (uint32_t)csv_int(csv, sbo),
            .base_offset = (uint8_t)csv_int(csv, base),
            .swizzle = modes[csv_int(csv, type)],
        };
        uint64_t word;
        struct canonical layout;
        cr_assert_eq(smem_desc_encode(SMEM_DESC_SM90, &desc, &word), SMEM_DESC_OK);
        cr_assert_eq(smem_desc_decode(SMEM_DESC_SM90, word, &desc), SMEM_DESC_OK);
        cr_assert_eq(canonical_prepare(
                         &desc, strcmp(csv_text(csv, major), "K") == 0 ? CANONICAL_K : CANONICAL_MN,
                         CANONICAL_16BIT, &layout),
                     CANONICAL_OK);
        for (size_t i = 0; i < 9; i++)
            for (size_t j = 0; j < 5; j++, addresses++)
                cr_assert_eq(canonical_place(&layout, mn[i], k[j]).address_bytes,
                             csv_hex(csv, first + i * 5 + j), "row %zu, mn %u, k %u", csv_rows(csv),
                             mn[i], k[j]);
    }
    report_rows("wgmma/hw-H200-desc.csv.gz", csv_rows(csv));
    printf("  (%zu addresses)\n", addresses);
    cr_assert_eq(csv_rows(csv), 2800);
    cr_assert_eq(addresses, 2800 * 45);
    csv_close(csv);
}

/* The manual's examples as strides between neighbours. */
Test(canonical, chunks_stay_whole) {
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode <= SWIZZLE_128B_ATOM_32B; mode++) {
        for (int major = CANONICAL_K; major <= CANONICAL_MN; major++) {
            struct smem_desc desc = {.start_bytes = 0x2410,
                                     .lbo_bytes = 2048,
                                     .sbo_bytes = 1024,
                                     .base_offset = mode == SWIZZLE_128B_ATOM_32B ? 0 : 3,
                                     .swizzle = mode};
            struct canonical layout;
            if (canonical_prepare(&desc, (enum canonical_major)major, CANONICAL_8BIT, &layout) ==
                CANONICAL_K_ATOM_32B) {
                cr_assert(mode == SWIZZLE_128B_ATOM_32B && major == CANONICAL_K);
                continue;
            }
            for (uint32_t line = 0; line < 64; line++)
                for (uint32_t byte = 0; byte < 256; byte++)
                    cr_assert_eq(canonical_byte_address(&layout, line, byte),
                                 canonical_chunk_address(&layout, line, byte / 16) + byte % 16);
        }
    }
}

static uint32_t read_bits(const uint8_t *memory, uint32_t address, uint32_t bit, uint32_t width) {
    uint64_t word = 0;
    memcpy(&word, memory + address, 5);
    return (uint32_t)(word >> bit) & (uint32_t)((UINT64_C(1) << width) - 1);
}

static const struct {
    enum canonical_element element;
    uint32_t bits, k; /* of one instruction */
} storages[] = {
    {CANONICAL_8BIT, 8, 32}, {CANONICAL_16BIT, 16, 16},      {CANONICAL_32BIT, 32, 8},
    {CANONICAL_4BIT, 4, 64}, {CANONICAL_4BIT_IN_16B, 4, 32}, {CANONICAL_6BIT_IN_16B, 6, 32},
};

/* A gathered operand against the map of single elements, all storages, majors and modes. */
Test(canonical, gather) {
    enum { SIZE = 1 << 17, BASE = 0x400 };
    uint8_t *bytes = malloc(SIZE + 8), *out = malloc(256 * 64);
    for (uint32_t i = 0; i < SIZE + 8; i++)
        bytes[i] = (uint8_t)hash_mix64(i);
    struct canonical_memory memory = {bytes, BASE, SIZE};
    size_t compared = 0;
    for (size_t s = 0; s < sizeof storages / sizeof storages[0]; s++)
        for (int mode = SWIZZLE_NONE; mode <= SWIZZLE_128B_ATOM_32B; mode++)
            for (int major = CANONICAL_K; major <= CANONICAL_MN; major++) {
                struct smem_desc desc = {.start_bytes = 0x800,
                                         .lbo_bytes = 4096 + 128,
                                         .sbo_bytes = 1024,
                                         .swizzle = (enum swizzle_mode)mode};
                struct canonical layout;
                enum canonical_error error = canonical_prepare(&desc, (enum canonical_major)major,
                                                               storages[s].element, &layout);
                if (error == CANONICAL_K_ATOM_32B || error == CANONICAL_MN_PACKED_4BIT)
                    continue;
                uint32_t outside = 0, step = canonical_gathered_bytes(storages[s].element);
                memset(out, 0, 256 * 64);
                cr_assert_eq(
                    canonical_gather(&layout, &memory, 72, storages[s].k, out, 64, &outside),
                    CANONICAL_OK, "outside at %x", outside);
                for (uint32_t mn = 0; mn < 72; mn++)
                    for (uint32_t k = 0; k < storages[s].k; k++, compared++) {
                        struct canonical_place place = canonical_place(&layout, mn, k);
                        uint32_t want = read_bits(bytes, place.address_bytes - BASE, place.bit,
                                                  storages[s].bits);
                        uint32_t got = step == 0 ? read_bits(out + mn * 64, k / 2, k % 2 * 4, 4)
                                                 : read_bits(out + mn * 64, k * step, 0, step * 8);
                        cr_assert_eq(got, want);
                    }
            }
    cr_assert_eq(compared, (5u + 4) * 72 * (32 + 16 + 8 + 32 + 32) + 4 * 72 * 64);
    free(bytes);
    free(out);
}

/* Counts that end inside a chunk leave the bytes behind a row alone. */
Test(canonical, gather_cuts_the_last_chunk) {
    uint8_t bytes[4096], out[64 * 64];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    struct canonical_memory memory = {bytes, 0, sizeof bytes};
    struct smem_desc desc = {.sbo_bytes = 1024, .lbo_bytes = 1024, .swizzle = SWIZZLE_64B};
    for (int major = CANONICAL_K; major <= CANONICAL_MN; major++) {
        struct canonical layout;
        uint32_t outside;
        cr_assert_eq(canonical_prepare(&desc, (enum canonical_major)major, CANONICAL_8BIT, &layout),
                     CANONICAL_OK);
        memset(out, 0xee, sizeof out);
        cr_assert_eq(canonical_gather(&layout, &memory, 13, 21, out, 64, &outside), CANONICAL_OK);
        for (uint32_t mn = 0; mn < 64; mn++)
            for (uint32_t k = 0; k < 64; k++) {
                bool inside = mn < 13 && k < 21;
                uint32_t at = inside ? canonical_place(&layout, mn, k).address_bytes : 0;
                cr_assert_eq(out[mn * 64 + k], inside ? bytes[at] : 0xee, "(%u, %u)", mn, k);
            }
    }
}

Test(canonical, gather_stays_inside) {
    uint8_t bytes[2048] = {0}, out[128 * 32];
    struct smem_desc desc = {.start_bytes = 0x400, .sbo_bytes = 1024, .swizzle = SWIZZLE_128B};
    struct canonical layout;
    uint32_t outside = 0;
    cr_assert_eq(canonical_prepare(&desc, CANONICAL_K, CANONICAL_16BIT, &layout), CANONICAL_OK);
    struct canonical_memory memory = {bytes, 0x400, sizeof bytes};
    cr_assert_eq(canonical_gather(&layout, &memory, 16, 16, out, 32, &outside), CANONICAL_OK);
    cr_assert_eq(canonical_gather(&layout, &memory, 17, 16, out, 32, &outside), CANONICAL_OUTSIDE);
    cr_assert_eq(outside, 0xc00);
    memory.base_bytes = 0x410;
    cr_assert_eq(canonical_gather(&layout, &memory, 16, 16, out, 32, &outside), CANONICAL_OUTSIDE);
    cr_assert_eq(outside, 0x400);
}

Test(canonical, refuses) {
    struct smem_desc desc = {.swizzle = SWIZZLE_128B_ATOM_32B, .base_offset = 1};
    struct canonical layout;
    cr_assert_eq(canonical_prepare(&desc, CANONICAL_MN, CANONICAL_32BIT, &layout),
                 CANONICAL_BASE_OFFSET_ATOM_32B);
    desc.swizzle = SWIZZLE_128B_ATOM_64B;
    cr_assert_eq(canonical_prepare(&desc, CANONICAL_K, CANONICAL_8BIT, &layout),
                 CANONICAL_SWIZZLE_MODE);
    desc.swizzle = SWIZZLE_128B;
    cr_assert_eq(canonical_prepare(&desc, CANONICAL_MN, CANONICAL_4BIT, &layout),
                 CANONICAL_MN_PACKED_4BIT);
    for (enum canonical_error e = 0; e < CANONICAL_ERROR_COUNT; e++)
        cr_assert_gt(strlen(canonical_error_text(e)), 10);
}
