#include <criterion/criterion.h>
#include <string.h>

#include "bits.h"
#include "hash.h"
#include "support.h"
#include "tma_rows.h"
#include "tmap.h"

static size_t findings_of(const struct tmap *map, enum tmap_arch arch) {
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    return tmap_check(map, arch, findings);
}

/* Both maps encode to the same fields up to rank. */
static bool same_map(const struct tmap *a, const struct tmap *b) {
    bool same = a->global_address == b->global_address && a->type == b->type &&
                a->rank == b->rank && a->interleave == b->interleave && a->swizzle == b->swizzle &&
                a->fill == b->fill && a->l2_promotion == b->l2_promotion;
    for (uint32_t i = 0; i < a->rank; i++)
        same = same && a->dim_elems[i] == b->dim_elems[i] && a->box_elems[i] == b->box_elems[i] &&
               a->element_stride[i] == b->element_stride[i] &&
               (i == 0 || a->stride_bytes[i] == b->stride_bytes[i]);
    return same;
}

Test(tmap, all_silicon_encodes) {
    struct csv *csv = csv_open("tma/hw-H200-encode.csv.gz");
    struct tma_columns columns;
    tma_columns_find(csv, TMA_TABLE_ENCODE, &columns);
    size_t result = csv_column(csv, "result"), rows = 0, accepted = 0;
    for (; csv_next(csv); rows++) {
        struct tmap map = tma_row_map(csv, &columns, UINT64_C(0x7f0000000000)), back;
        struct tmap_finding findings[TMAP_FINDINGS_MAX];
        size_t count = tmap_check(&map, TMAP_SM_90, findings);
        cr_assert_eq(count != 0, csv_int(csv, result) != 0, "row %zu: %zu findings, first %s", rows,
                     count, count != 0 ? findings[0].rule : "-");
        if (count != 0)
            continue;
        uint8_t image[TMAP_IMAGE_BYTES];
        tmap_encode(&map, image);
        cr_assert(tmap_decode(image, TMAP_SM_90, &back, findings), "row %zu", rows);
        cr_assert(same_map(&map, &back), "row %zu", rows);
        accepted++;
    }
    cr_assert_eq(rows, 12000);
    cr_assert_eq(accepted, 6322);
    csv_close(csv);
    report_rows("tma/hw-H200-encode.csv.gz", rows);
}

/* H200 observation 15: a bf16 tensor of 256 x 1024 with a row pitch of 512 bytes. */
static struct tmap plain_map(void) {
    return (struct tmap){.global_address = UINT64_C(0x7f12345600),
                         .type = TMAP_BFLOAT16,
                         .rank = 2,
                         .dim_elems = {256, 1024},
                         .stride_bytes = {0, 512},
                         .box_elems = {64, 8},
                         .element_stride = {1, 1}};
}

Test(tmap, observation_15_image) {
    static const uint64_t none[16] = {
        0x7f12345600, 0x0000002000000510, 0, 0, 0x000003ff000000ff, 0, 0x3f00000000000000, 7, 0x400,
        0x10};
    static const uint64_t swizzled[16] = {0x7f12345600,
                                          0x0000002000006510,
                                          0,
                                          0,
                                          0x000003ff000000ff,
                                          0,
                                          0x3f00000000000000,
                                          0xf,
                                          0x800,
                                          0x400};
    struct tmap map = plain_map();
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(&map, image);
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        cr_assert_eq(image[i], (uint8_t)(none[i / 8] >> 8 * (i % 8)), "byte %zu", i);
    map.swizzle = SWIZZLE_128B;
    map.box_elems[1] = 16;
    tmap_encode(&map, image);
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        cr_assert_eq(image[i], (uint8_t)(swizzled[i / 8] >> 8 * (i % 8)), "byte %zu", i);
}

/* Changes that break one rule each. */
enum where {
    TYPE,
    RANK,
    ADDRESS,
    DIM0,
    STRIDE1,
    BOX0,
    BOX1,
    ESTRIDE0,
    INTERLEAVE,
    SWIZZLE,
    L2,
    FILL
};

static void change(struct tmap *map, enum where where, uint64_t value) {
    switch (where) {
    case TYPE: map->type = (uint32_t)value; break;
    case RANK: map->rank = (uint32_t)value; break;
    case ADDRESS: map->global_address = value; break;
    case DIM0: map->dim_elems[0] = value; break;
    case STRIDE1: map->stride_bytes[1] = value; break;
    case BOX0: map->box_elems[0] = (uint32_t)value; break;
    case BOX1: map->box_elems[1] = (uint32_t)value; break;
    case ESTRIDE0: map->element_stride[0] = (uint32_t)value; break;
    case INTERLEAVE: map->interleave = (uint32_t)value; break;
    case SWIZZLE: map->swizzle = (uint32_t)value; break;
    case L2: map->l2_promotion = (uint32_t)value; break;
    case FILL: map->fill = (uint32_t)value; break;
    }
}

Test(tmap, each_rule_is_named) {
    static const struct {
        enum where where;
        uint64_t value;
        const char *line;
    } rows[] = {
        {TYPE, 16, "tensorDataType = 16: is no CUtensorMapDataType"},
        {TYPE, TMAP_16U4_ALIGN8B, "tensorDataType = 13: the packed"},
        {RANK, 0, "tensorRank = 0: must be 1..5"},
        {RANK, 6, "tensorRank = 6: must be 1..5"},
        {ADDRESS, 8, "globalAddress = 8: must be a multiple of 16"},
        {DIM0, 0, "globalDim[0] = 0: must be 1..2^32"},
        {DIM0, (UINT64_C(1) << 32) + 1, "globalDim[0] = 4294967297: must be 1..2^32"},
        {STRIDE1, 520, "globalStrides[0] = 520: must be a multiple of 16"},
        {STRIDE1, UINT64_C(1) << 40, "globalStrides[0] = 1099511627776: must be below 2^40"},
        {BOX1, 257, "boxDim[1] = 257: must be 1..256"},
        {BOX0, 12, "boxDim[0] = 12: times the element size must be a multiple of 16"},
        {ESTRIDE0, 9, "elementStrides[0] = 9: must be 1..8"},
        {INTERLEAVE, 1, "tensorRank = 2: must be at least 3 with an interleave"},
        {INTERLEAVE, 3, "tensorRank = 2: must be at least 3 with an interleave"},
        {SWIZZLE, SWIZZLE_32B, "boxDim[0] = 64: times the element size must not exceed"},
        {SWIZZLE, SWIZZLE_128B_ATOM_32B, "swizzle = 4: the 128B swizzles with a"},
        {SWIZZLE, 7, "swizzle = 7: is no CUtensorMapSwizzle"},
        {L2, 4, "l2Promotion = 4: is no"},
        {FILL, 2, "oobFill = 2: is no"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tmap map = plain_map();
        struct tmap_finding findings[TMAP_FINDINGS_MAX];
        struct strbuf text = {0};
        change(&map, rows[i].where, rows[i].value);
        cr_assert(tmap_check(&map, TMAP_SM_90, findings) >= 1, "%s", rows[i].line);
        tmap_describe(&text, &findings[0]);
        cr_assert_eq(strncmp(strbuf_text(&text), rows[i].line, strlen(rows[i].line)), 0,
                     "got '%s', want '%s'", strbuf_text(&text), rows[i].line);
        strbuf_free(&text);
    }
    struct tmap map = plain_map();
    map.type = TMAP_UINT16;
    map.fill = TMAP_FILL_NAN;
    cr_assert_eq(findings_of(&map, TMAP_SM_90), 1, "H200 observation 28");
}

/* traces/silicon/observations.md: 233472 bytes, the boxes divided by the element strides and cut.
 */
Test(tmap, a_box_holds_no_more_than_an_sm) {
    struct tmap map = plain_map();
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    map.rank = 3;
    map.dim_elems[2] = 100;
    map.stride_bytes[2] = 512;
    map.box_elems[0] = 64;
    map.box_elems[1] = 228;
    map.box_elems[2] = 8;
    map.element_stride[2] = 1;
    cr_assert_eq(tmap_check(&map, TMAP_SM_90, findings), 0);
    map.box_elems[1] = 229;
    cr_assert_eq(tmap_check(&map, TMAP_SM_90, findings), 1);
    map.box_elems[2] = 7;
    map.element_stride[2] = 8;
    map.box_elems[1] = 256;
    cr_assert_eq(tmap_check(&map, TMAP_SM_90, findings), 0);
}

Test(tmap, blackwell_modes_and_types) {
    struct tmap map = plain_map();
    for (uint32_t mode = SWIZZLE_128B_ATOM_32B; mode < SWIZZLE_MODE_COUNT; mode++) {
        map.swizzle = mode;
        cr_assert_eq(findings_of(&map, TMAP_SM_90), 1, "H200 observation 9");
        cr_assert_eq(findings_of(&map, TMAP_SM_100), 0);
    }
    map.type = TMAP_16U4_ALIGN16B;
    map.swizzle = SWIZZLE_128B;
    map.box_elems[0] = 128;
    cr_assert_eq(findings_of(&map, TMAP_SM_90), 1);
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 0);
    map.dim_elems[0] = 192;
    map.box_elems[0] = 64;
    map.stride_bytes[1] = 528;
    map.swizzle = SWIZZLE_64B;
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 4, "dim, stride, box, swizzle");
    map = plain_map();
    map.type = TMAP_16U6_ALIGN16B;
    map.box_elems[0] = 128;
    map.swizzle = SWIZZLE_128B_ATOM_64B;
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 0);
    map.fill = TMAP_FILL_NAN;
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 1);
    map = plain_map();
    map.type = TMAP_16U4_ALIGN8B;
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 0);
    map.dim_elems[0] = 255;
    map.box_elems[0] = 48;
    cr_assert_eq(findings_of(&map, TMAP_SM_100), 2);
}

Test(tmap, any_bytes_decode_or_are_refused) {
    struct tmap map, good = plain_map();
    struct tmap_finding finding;
    uint8_t image[TMAP_IMAGE_BYTES] = {0};
    cr_assert(!tmap_decode(image, TMAP_SM_100, &map, &finding), "zeroes are no map");
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        tmap_encode(&good, image);
        for (int i = 0; i < 1 + round % 3; i++) {
            seed = hash_mix64(seed);
            image[seed % TMAP_IMAGE_BYTES] ^= (uint8_t)(1 << (seed >> 32) % 8);
        }
        if (tmap_decode(image, TMAP_SM_100, &map, &finding))
            cr_assert_eq(findings_of(&map, TMAP_SM_100), 0);
        else
            cr_assert_not_null(finding.text);
    }
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        image[i] = (uint8_t)hash_mix64(i);
    cr_assert(!tmap_decode(image, TMAP_SM_100, &map, &finding));
}

Test(tmap, replace_address) {
    struct tmap map = plain_map(), back;
    struct tmap_finding finding;
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(&map, image);
    cr_assert(!tmap_replace_address(image, TMAP_SM_90, 0x1008, &finding));
    cr_assert_str_eq(finding.rule, "globalAddress");
    cr_assert(tmap_replace_address(image, TMAP_SM_90, 0x1010, &finding));
    cr_assert(tmap_decode(image, TMAP_SM_90, &back, &finding));
    map.global_address = 0x1010;
    cr_assert(same_map(&map, &back));
}

Test(tmap, replace_every_field) {
    struct tmap map = plain_map(), back;
    struct tmap_finding finding;
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(&map, image);
    const struct {
        enum tmap_field field;
        uint32_t ordinal;
        uint64_t value;
    } steps[] = {
        {TMAP_FIELD_GLOBAL_ADDRESS, 0, 0x77000},
        {TMAP_FIELD_RANK, 0, 2},
        {TMAP_FIELD_BOX_DIM, 0, 16},
        {TMAP_FIELD_BOX_DIM, 2, 256},
        {TMAP_FIELD_GLOBAL_DIM, 0, 0xffffffff},
        {TMAP_FIELD_GLOBAL_DIM, 2, 3},
        {TMAP_FIELD_GLOBAL_STRIDE, 1, 0xff00000010},
        {TMAP_FIELD_ELEMENT_STRIDE, 2, 8},
        {TMAP_FIELD_ELEMTYPE, 0, 9},
        {TMAP_FIELD_SWIZZLE_MODE, 0, 3},
        {TMAP_FIELD_SWIZZLE_ATOMICITY, 0, 3},
        {TMAP_FIELD_FILL_MODE, 0, 1},
        {TMAP_FIELD_INTERLEAVE_LAYOUT, 0, 0},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        cr_assert(
            tmap_replace_field(image, steps[i].field, steps[i].ordinal, steps[i].value, &finding));
    cr_assert(tmap_decode(image, TMAP_SM_100, &back, &finding), "%s: %s", finding.rule,
              finding.text);
    struct tmap want = {.global_address = 0x77000,
                        .type = TMAP_FLOAT64,
                        .rank = 3,
                        .dim_elems = {0xffffffff, 1024, 3},
                        .stride_bytes = {0, 512, 0xff00000010},
                        .box_elems = {16, 8, 256},
                        .element_stride = {1, 1, 8},
                        .swizzle = SWIZZLE_128B_ATOM_64B,
                        .fill = TMAP_FILL_NAN};
    cr_assert(same_map(&want, &back));

    cr_assert(!tmap_replace_field(image, TMAP_FIELD_BOX_DIM, 5, 1, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_GLOBAL_STRIDE, 4, 16, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_BOX_DIM, 0, 0, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_BOX_DIM, 0, 257, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_ELEMENT_STRIDE, 0, 9, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_GLOBAL_STRIDE, 0, 8, &finding));
    cr_assert(!tmap_replace_field(image, TMAP_FIELD_SWIZZLE_MODE, 0, 4, &finding));
}

Test(tmap, type_numbers_of_ptx) {
    static const uint32_t driver[16] = {
        TMAP_UINT8,        TMAP_UINT16,       TMAP_UINT32,        TMAP_INT32,
        TMAP_UINT64,       TMAP_INT64,        TMAP_FLOAT16,       TMAP_FLOAT32,
        TMAP_FLOAT32_FTZ,  TMAP_FLOAT64,      TMAP_BFLOAT16,      TMAP_TFLOAT32,
        TMAP_TFLOAT32_FTZ, TMAP_16U4_ALIGN8B, TMAP_16U4_ALIGN16B, TMAP_16U6_ALIGN16B};
    for (uint32_t i = 0; i < 16; i++) {
        struct tmap map = plain_map(), back;
        struct tmap_finding finding;
        uint8_t image[TMAP_IMAGE_BYTES];
        map.box_elems[0] = 128;
        tmap_encode(&map, image);
        cr_assert(tmap_replace_field(image, TMAP_FIELD_ELEMTYPE, 0, i, &finding));
        cr_assert(tmap_decode(image, TMAP_SM_100, &back, &finding), "%u %s", i, finding.text);
        cr_assert_eq(back.type, driver[i]);
    }
}

static void check_image(const struct tmap *map, const uint64_t words[10]) {
    struct tmap back;
    struct tmap_finding finding;
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(map, image);
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        cr_assert_eq(image[i], i < 80 ? (uint8_t)(words[i / 8] >> 8 * (i % 8)) : 0,
                     "byte %zu: %02x", i, image[i]);
    cr_assert(tmap_decode(image, TMAP_SM_90, &back, &finding));
    cr_assert(back.mode == map->mode && back.type == map->type && back.fill == map->fill);
    cr_assert(back.channels == map->channels && back.pixels == map->pixels);
    for (size_t i = 0; i < map->rank - 2; i++) {
        cr_assert_eq(back.lower_corner[i], map->lower_corner[i]);
        cr_assert_eq(back.upper_corner[i], map->upper_corner[i]);
    }
}

/* Maps that an H200's driver wrote, of 4 and 5 dimensions. */
Test(tmap, im2col_images) {
    static const uint64_t four[10] = {0x700000010060, 0x30007a431, 0x6c00000009,       0,
                                      0x200000005,    0x10000000b, 0x0700000b00000000, 0x9b02fdfeff,
                                      0x1380,         0x100};
    static const uint64_t five[10] = {0x700000010050,     0x20003a3c1,   0x400000002, 5,    7, 1,
                                      0x0700004800000002, 0x3a47c007c1f, 0x74a0,      0x100};
    struct tmap map = {.global_address = 0x700000010060,
                       .mode = TMAP_IM2COL,
                       .type = TMAP_TFLOAT32_FTZ,
                       .rank = 4,
                       .dim_elems = {6, 3, 12, 2},
                       .stride_bytes = {0, 48, 144, 1728},
                       .element_stride = {4, 2, 1, 1},
                       .swizzle = SWIZZLE_32B,
                       .l2_promotion = 3,
                       .fill = TMAP_FILL_NAN,
                       .lower_corner = {-1, -2},
                       .upper_corner = {-3, 2},
                       .channels = 8,
                       .pixels = 156};
    check_image(&map, four);
    map = (struct tmap){.global_address = 0x700000010050,
                        .mode = TMAP_IM2COL,
                        .type = TMAP_TFLOAT32,
                        .rank = 5,
                        .dim_elems = {8, 1, 2, 1, 3},
                        .stride_bytes = {0, 32, 32, 64, 80},
                        .element_stride = {1, 2, 2, 1, 1},
                        .swizzle = SWIZZLE_32B,
                        .l2_promotion = 1,
                        .fill = TMAP_FILL_NAN,
                        .lower_corner = {-1, 0, -1},
                        .upper_corner = {0, 0, -1},
                        .channels = 8,
                        .pixels = 933};
    check_image(&map, five);
}

/* Rules of im2col maps, a broken one each. */
Test(tmap, im2col_rules_are_named) {
    static const struct {
        int32_t lower, upper;
        uint32_t rank, channels, pixels;
        const char *line;
    } rows[] = {
        {0, 0, 4, 8, 1024, NULL},
        {-128, 127, 4, 8, 1024, NULL},
        {0, 0, 2, 8, 8, "tensorRank = 2: must be 3..5 for an im2col map"},
        {-129, 0, 4, 8, 8, "pixelBoxLowerCorner[0] = -129: must be -128..127 in 4 dimensions"},
        {0, 16, 5, 8, 8, "pixelBoxUpperCorner[0] = 16: must be -16..15 in 5 dimensions"},
        {3, 0, 4, 8, 8, "pixelBoxUpperCorner[0] = 0: leaves no bounding box"},
        {-1, -4, 4, 8, 8, "pixelBoxUpperCorner[0] = -4: leaves no bounding box"},
        {0, 0, 4, 257, 8, "channelsPerPixel = 257: must be 1..256"},
        {0, 0, 4, 12, 8, "channelsPerPixel = 12: times the element size must be a multiple of 16"},
        {0, 0, 4, 8, 1025, "pixelsPerColumn = 1025: must be 1..1024"},
        {0, 0, 4, 256, 457, "pixelsPerColumn = 233984: channels and pixels have more than 233472"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tmap map = {.mode = TMAP_IM2COL,
                           .type = TMAP_FLOAT16,
                           .rank = rows[i].rank,
                           .dim_elems = {8, 3, 2, 2, 2},
                           .stride_bytes = {0, 16, 64, 512, 512},
                           .element_stride = {1, 1, 1, 1, 1},
                           .lower_corner = {rows[i].lower},
                           .upper_corner = {rows[i].upper},
                           .channels = rows[i].channels,
                           .pixels = rows[i].pixels};
        struct tmap_finding findings[TMAP_FINDINGS_MAX];
        struct strbuf text = {0};
        size_t count = tmap_check(&map, TMAP_SM_90, findings);
        cr_assert_eq(count, rows[i].line ? 1u : 0u, "row %zu: %zu", i, count);
        if (count)
            tmap_describe(&text, &findings[0]);
        cr_assert(!count || !strncmp(strbuf_text(&text), rows[i].line, strlen(rows[i].line)),
                  "got '%s', want '%s'", strbuf_text(&text), rows[i].line);
        strbuf_free(&text);
    }
}

/* The driver counts the end of the bounding box in 32 bits. */
Test(tmap, im2col_boxes_of_huge_tensors) {
    static const struct {
        uint64_t dim;
        int32_t lower, upper;
        bool taken;
    } rows[] = {
        {(UINT64_C(1) << 31) - 3, -2, 0, true},    {UINT64_C(1) << 31, 1, 0, false},
        {UINT64_C(1) << 31, 1, -1, true},          {(UINT64_C(1) << 32) - 9, -9, 1, true},
        {(UINT64_C(1) << 32) - 12, -4, -5, false}, {UINT64_C(1) << 32, 5, -4, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tmap map = {.mode = TMAP_IM2COL,
                           .type = TMAP_FLOAT16,
                           .rank = 3,
                           .dim_elems = {8, rows[i].dim, 2},
                           .stride_bytes = {0, 16, 64},
                           .element_stride = {1, 1, 1},
                           .lower_corner = {rows[i].lower},
                           .upper_corner = {rows[i].upper},
                           .channels = 8,
                           .pixels = 8};
        cr_assert_eq(findings_of(&map, TMAP_SM_90) == 0, rows[i].taken, "row %zu", i);
    }
}

/* Elements of another type through tensormap.replace: the rounding to tf32 comes and stays, as on
 * an H200. */
Test(tmap, a_replaced_type_keeps_the_tf32_flag) {
    struct tmap map = plain_map(), back;
    struct tmap_finding finding;
    uint8_t image[TMAP_IMAGE_BYTES];
    tmap_encode(&map, image);
    cr_assert(tmap_replace_field(image, TMAP_FIELD_ELEMTYPE, 0, 12, &finding));
    cr_assert(tmap_decode(image, TMAP_SM_90, &back, &finding));
    cr_assert_eq(back.type, TMAP_TFLOAT32_FTZ);
    cr_assert(tmap_replace_field(image, TMAP_FIELD_ELEMTYPE, 0, 7, &finding));
    cr_assert(tmap_decode(image, TMAP_SM_90, &back, &finding));
    cr_assert_eq(back.type, TMAP_TFLOAT32);
}

/* What an H200 does not look at, and what it refuses. */
Test(tmap, bits_of_no_field_may_be_anything) {
    static const struct {
        uint8_t word;
        uint64_t flip;
        bool taken;
    } rows[] = {
        {1, 2, true},
        {1, 8, true},
        {1, UINT64_C(1) << 20, true},
        {1, UINT64_C(1) << 31, true},
        {3, UINT64_C(1) << 48, true},
        {6, UINT64_C(1) << 47, true},
        {7, UINT64_C(1) << 63, true},
        {8, 0xffff, true},
        {10, 1, true},
        {15, UINT64_MAX, true},
        {1, UINT64_C(1) << 16, false},          /* tf32 of bf16 */
        {1, (uint64_t)(0xa ^ 0xd) << 7, false}, /* a type of sm_100 */
        {1, 0x60, false},                       /* 8 dimensions */
        {6, (uint64_t)(63 ^ 2) << 56, false},   /* 6 bytes a row */
        {1, UINT64_C(1) << 11, false},          /* interleave of 2 dimensions */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tmap map = plain_map(), back;
        struct tmap_finding finding;
        uint8_t image[TMAP_IMAGE_BYTES];
        tmap_encode(&map, image);
        for (unsigned b = 0; b < 8; b++)
            image[8 * rows[i].word + b] ^= (uint8_t)(rows[i].flip >> 8 * b);
        cr_assert_eq(tmap_decode(image, TMAP_SM_90, &back, &finding), rows[i].taken, "row %zu", i);
        cr_assert(!rows[i].taken || same_map(&map, &back), "row %zu", i);
    }
}
