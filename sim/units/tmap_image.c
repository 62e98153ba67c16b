/* The 128 bytes of a tensor map. Little-endian 64-bit words:
 *
 *   word  bits     field                             word  bits     field
 *   0     0..63    global address                    5     32..63   dim[3] - 1
 *   1     0        1: im2col                         6     0..31    dim[4] - 1
 *   1     4..6     rank - 1                          6     32..46   element stride - 1, 3 bits each
 *   1     7..10    element type, PTX numbering       6     56..63   box[0] - 1, or channels - 1
 *   1     11..12   interleave                        7              tiled:
 *   1     13..14   swizzle mode, PTX numbering          0..31       box[1..4] - 1, 8 bits each
 *   1     15       fill mode                         7              im2col:
 *   1     16       1: an f32 type rounded to tf32       0..15       lower corners W, H, D, of 16, 8
 *   1     17..18   L2 promotion                                     or 5 bits by the rank
 *   1     32..63   stride[1] / 16, low 32 bits          16..31      upper corners, the same
 *   2, 3  0..95    stride[2..4] / 16, the same          32..41      pixels - 1
 *   3     32..47   stride[1..4] / 16, top 4 bits     8     all      bytes of a copy, see
 * put_derived 4     0..31    dim[0] - 1                        9     all      bytes of the swizzle
 * pattern 4     32..63   dim[1] - 1                        10-15          0 5     0..31    dim[2] -
 * 1
 *
 * So an H200's driver writes them (families tensormap and im2col_map of
 * traces/silicon/observations.md). Not seen: the swizzle atomicity and the packed types of sm_100,
 * here bits 20..21 of word 1 and the numbers 13..15. The bytes belong to the driver: only this file
 * knows them.
 *
 * tensormap.replace changes single fields (PTX manual, "tensormap.replace"). Words 8 and 9, which
 * follow from others, are written for likeness and not read; an H200 takes any bits there and where
 * no field is. */
#include "tmap.h"

#include <string.h>

#include "bits.h"

enum { WORDS = TMAP_IMAGE_BYTES / 8 };

/* A bit field of the image; no field crosses a 64-bit word. */
struct place {
    uint8_t word;
    uint8_t bit;
    uint8_t width;
};

static const struct place rank_place = {1, 4, 3};
static const struct place type_place = {1, 7, 4};
static const struct place interleave_place = {1, 11, 2};
static const struct place swizzle_place = {1, 13, 2};
static const struct place atomicity_place = {1, 20, 2};
static const struct place fill_place = {1, 15, 1};
static const struct place tf32_place = {1, 16, 1};
static const struct place l2_place = {1, 17, 2};
static const struct place dim_place[TMAP_RANK_MAX] = {
    {4, 0, 32}, {4, 32, 32}, {5, 0, 32}, {5, 32, 32}, {6, 0, 32}};
static const struct place element_stride_place[TMAP_RANK_MAX] = {
    {6, 32, 3}, {6, 35, 3}, {6, 38, 3}, {6, 41, 3}, {6, 44, 3}};
static const struct place box_place[TMAP_RANK_MAX] = {
    {6, 56, 8}, {7, 0, 8}, {7, 8, 8}, {7, 16, 8}, {7, 24, 8}};
/* im2col: channels lie where a tiled map has box[0]. */
static const struct place mode_place = {1, 0, 1};
static const struct place lower_place = {7, 0, 16};
static const struct place upper_place = {7, 16, 16};
static const struct place pixels_place = {7, 32, 10};
/* Bits of a corner along one spatial dimension, by the rank. */
static const uint8_t corner_bits[TMAP_RANK_MAX + 1] = {[3] = 16, [4] = 8, [5] = 5};
/* Strides of dimensions 1..4, in units of 16 bytes: 32 low bits and 4 high bits. */
static const struct place stride_low_place[TMAP_RANK_MAX - 1] = {
    {1, 32, 32}, {2, 0, 32}, {2, 32, 32}, {3, 0, 32}};
static const struct place stride_high_place[TMAP_RANK_MAX - 1] = {
    {3, 32, 4}, {3, 36, 4}, {3, 40, 4}, {3, 44, 4}};

/* PTX's number of an element type, by the driver's. PTX manual, "tensormap.replace". */
static const uint8_t ptx_type[TMAP_TYPES] = {
    [TMAP_UINT8] = 0,         [TMAP_UINT16] = 1,        [TMAP_UINT32] = 2,
    [TMAP_INT32] = 3,         [TMAP_UINT64] = 4,        [TMAP_INT64] = 5,
    [TMAP_FLOAT16] = 6,       [TMAP_FLOAT32] = 7,       [TMAP_FLOAT64] = 9,
    [TMAP_BFLOAT16] = 10,     [TMAP_FLOAT32_FTZ] = 8,   [TMAP_TFLOAT32] = 11,
    [TMAP_TFLOAT32_FTZ] = 12, [TMAP_16U4_ALIGN8B] = 13, [TMAP_16U4_ALIGN16B] = 14,
    [TMAP_16U6_ALIGN16B] = 15};

/* The driver's swizzle as PTX's mode and atomicity. */
static const struct {
    uint8_t mode;
    uint8_t atomicity;
} ptx_swizzle[SWIZZLE_MODE_COUNT] = {
    [SWIZZLE_NONE] = {0, 0},          [SWIZZLE_32B] = {1, 0},
    [SWIZZLE_64B] = {2, 0},           [SWIZZLE_128B] = {3, 0},
    [SWIZZLE_128B_ATOM_32B] = {3, 1}, [SWIZZLE_128B_ATOM_32B_FLIP_8B] = {3, 2},
    [SWIZZLE_128B_ATOM_64B] = {3, 3}};

/* A GPU is little-endian whatever the host is. */
static void load_words(const uint8_t *image, uint64_t words[WORDS]) {
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = 0;
        for (size_t b = 8; b-- > 0;)
            words[i] = words[i] << 8 | image[8 * i + b];
    }
}

static void store_words(const uint64_t words[WORDS], uint8_t *image) {
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        image[i] = (uint8_t)(words[i / 8] >> 8 * (i % 8));
}

static uint64_t get(const uint64_t *words, struct place p) {
    return bits_get(words[p.word], p.bit, p.width);
}

static void put(uint64_t *words, struct place p, uint64_t value) {
    words[p.word] = bits_set(words[p.word], p.bit, p.width, value);
}

/* The types that are rounded to tf32 are FLOAT32 and FLOAT32_FTZ with a flag. tensormap.replace
 * sets the flag and never takes it away, as on an H200. */
enum { PTX_F32 = 7, PTX_TF32 = 11, PTX_TF32_FTZ = 12 };

static void put_type(uint64_t *words, uint64_t number) {
    bool rounds = number == PTX_TF32 || number == PTX_TF32_FTZ;
    put(words, type_place, rounds ? number - PTX_TF32 + PTX_F32 : number);
    if (rounds)
        put(words, tf32_place, 1);
}

static void put_stride(uint64_t *words, uint32_t ordinal, uint64_t stride_bytes) {
    put(words, stride_low_place[ordinal], stride_bytes / 16);
    put(words, stride_high_place[ordinal], (stride_bytes / 16) >> 32);
}

static uint64_t get_stride(const uint64_t *words, uint32_t ordinal) {
    return 16 *
           (get(words, stride_low_place[ordinal]) | get(words, stride_high_place[ordinal]) << 32);
}

static void put_corner(uint64_t *words, struct place p, uint32_t rank, const int32_t *corner) {
    uint32_t bits = corner_bits[rank];
    for (uint32_t i = 0; i + 2 < rank; i++)
        put(words, (struct place){p.word, (uint8_t)(p.bit + i * bits), (uint8_t)bits},
            (uint64_t)(int64_t)corner[i] & bits_mask(bits));
}

static void get_corner(const uint64_t *words, struct place p, uint32_t rank, int32_t *corner) {
    uint32_t bits = corner_bits[rank];
    for (uint32_t i = 0; i + 2 < rank; i++) {
        uint64_t value =
            get(words, (struct place){p.word, (uint8_t)(p.bit + i * bits), (uint8_t)bits});
        corner[i] = (int32_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
    }
}

static void put_im2col(const struct tmap *map, uint64_t *words) {
    put(words, mode_place, TMAP_IM2COL);
    put(words, box_place[0], map->channels - 1);
    put(words, pixels_place, map->pixels - 1);
    put_corner(words, lower_place, map->rank, map->lower_corner);
    put_corner(words, upper_place, map->rank, map->upper_corner);
}

/* Words 8 and 9. The bytes of a tiled copy are those of box / element stride elements along each
 * dimension, the quotient cut; an im2col copy's are its channels by its pixels. */
static void put_derived(const struct tmap *map, uint64_t *words) {
    uint64_t elems = map->mode == TMAP_IM2COL ? (uint64_t)map->channels * map->pixels : 1;
    for (uint32_t i = 0; i < map->rank && map->mode == TMAP_TILED; i++)
        elems *= map->box_elems[i] / map->element_stride[i];
    words[8] = elems * tmap_element_bits(map->type) / 8;
    uint32_t mode = ptx_swizzle[map->swizzle].mode;
    words[9] = mode == 0 ? 16 : 128u << mode;
}

void tmap_encode(const struct tmap *map, uint8_t image[TMAP_IMAGE_BYTES]) {
    uint64_t words[WORDS] = {map->global_address};
    put(words, rank_place, map->rank - 1);
    put_type(words, ptx_type[map->type]);
    put(words, interleave_place, map->interleave);
    put(words, swizzle_place, ptx_swizzle[map->swizzle].mode);
    put(words, atomicity_place, ptx_swizzle[map->swizzle].atomicity);
    put(words, fill_place, map->fill);
    put(words, l2_place, map->l2_promotion);
    for (uint32_t i = 0; i < map->rank; i++) {
        put(words, dim_place[i], map->dim_elems[i] - 1);
        if (map->mode == TMAP_TILED)
            put(words, box_place[i], map->box_elems[i] - 1);
        put(words, element_stride_place[i], map->element_stride[i] - 1);
        if (i > 0)
            put_stride(words, i - 1, map->stride_bytes[i]);
    }
    if (map->mode == TMAP_IM2COL)
        put_im2col(map, words);
    put_derived(map, words);
    store_words(words, image);
}

/* The driver's swizzle of a PTX mode and atomicity; SWIZZLE_MODE_COUNT where there is none. */
static uint32_t driver_swizzle(uint64_t mode, uint64_t atomicity) {
    uint32_t i = 0;
    while (i < SWIZZLE_MODE_COUNT &&
           (ptx_swizzle[i].mode != mode || ptx_swizzle[i].atomicity != atomicity))
        i++;
    return i;
}

/* TMAP_TYPES where the bits name none. */
static uint32_t get_type(const uint64_t *words) {
    uint64_t number = get(words, type_place);
    bool rounds = get(words, tf32_place), is_f32 = number == PTX_F32 || number == PTX_F32 + 1;
    uint32_t i = 0;
    if (rounds && is_f32)
        number += PTX_TF32 - PTX_F32;
    else if (rounds || number == PTX_TF32 || number == PTX_TF32_FTZ)
        return TMAP_TYPES;
    while (i < TMAP_TYPES && ptx_type[i] != number)
        i++;
    return i;
}

bool tmap_decode(const uint8_t image[TMAP_IMAGE_BYTES], enum tmap_arch arch, struct tmap *map,
                 struct tmap_finding *finding) {
    uint64_t words[WORDS];
    load_words(image, words);
    *map = (struct tmap){
        .global_address = words[0],
        .mode = (uint32_t)get(words, mode_place),
        .rank = (uint32_t)get(words, rank_place) + 1,
        .type = get_type(words),
        .interleave = (uint32_t)get(words, interleave_place),
        .swizzle = driver_swizzle(get(words, swizzle_place),
                                  arch == TMAP_SM_90 ? 0 : get(words, atomicity_place)),
        .fill = (uint32_t)get(words, fill_place),
        .l2_promotion = (uint32_t)get(words, l2_place),
    };
    for (uint32_t i = 0; i < TMAP_RANK_MAX; i++) {
        map->dim_elems[i] = get(words, dim_place[i]) + 1;
        if (map->mode == TMAP_TILED)
            map->box_elems[i] = (uint32_t)get(words, box_place[i]) + 1;
        map->element_stride[i] = (uint32_t)get(words, element_stride_place[i]) + 1;
        if (i > 0)
            map->stride_bytes[i] = get_stride(words, i - 1);
    }
    if (map->mode == TMAP_IM2COL) {
        map->channels = (uint32_t)get(words, box_place[0]) + 1;
        map->pixels = (uint32_t)get(words, pixels_place) + 1;
        if (map->rank >= 3 && map->rank <= TMAP_RANK_MAX) {
            get_corner(words, lower_place, map->rank, map->lower_corner);
            get_corner(words, upper_place, map->rank, map->upper_corner);
        }
    }
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    if (tmap_check(map, arch, findings) == 0)
        return true;
    *finding = findings[0];
    return false;
}

bool tmap_replace_address(uint8_t image[TMAP_IMAGE_BYTES], enum tmap_arch arch, uint64_t address,
                          struct tmap_finding *finding) {
    struct tmap map;
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    if (!tmap_decode(image, arch, &map, finding))
        return false;
    map.global_address = address;
    if (tmap_check(&map, arch, findings) != 0) {
        *finding = findings[0];
        return false;
    }
    tmap_encode(&map, image);
    return true;
}

/* One row per field of tensormap.replace: where it is, and what is subtracted from the value. */
static const struct replace_row {
    const char *name;
    const struct place *places;
    uint32_t ordinals;
    uint32_t minus;
} replace_rows[TMAP_FIELDS] = {
    [TMAP_FIELD_GLOBAL_ADDRESS] = {".global_address", NULL, 1, 0},
    [TMAP_FIELD_RANK] = {".rank", &rank_place, 1, 0},
    [TMAP_FIELD_BOX_DIM] = {".box_dim", box_place, TMAP_RANK_MAX, 1},
    [TMAP_FIELD_GLOBAL_DIM] = {".global_dim", dim_place, TMAP_RANK_MAX, 1},
    [TMAP_FIELD_GLOBAL_STRIDE] = {".global_stride", NULL, TMAP_RANK_MAX - 1, 0},
    [TMAP_FIELD_ELEMENT_STRIDE] = {".element_stride", element_stride_place, TMAP_RANK_MAX, 1},
    [TMAP_FIELD_ELEMTYPE] = {".elemtype", &type_place, 1, 0},
    [TMAP_FIELD_INTERLEAVE_LAYOUT] = {".interleave_layout", &interleave_place, 1, 0},
    [TMAP_FIELD_SWIZZLE_MODE] = {".swizzle_mode", &swizzle_place, 1, 0},
    [TMAP_FIELD_SWIZZLE_ATOMICITY] = {".swizzle_atomicity", &atomicity_place, 1, 0},
    [TMAP_FIELD_FILL_MODE] = {".fill_mode", &fill_place, 1, 0},
};

bool tmap_replace_field(uint8_t image[TMAP_IMAGE_BYTES], enum tmap_field field, uint32_t ordinal,
                        uint64_t value, struct tmap_finding *finding) {
    const struct replace_row *row = &replace_rows[field];
    uint64_t words[WORDS];
    load_words(image, words);
    *finding = (struct tmap_finding){.rule = row->name,
                                     .dimension = row->ordinals > 1 ? (int)ordinal : -1,
                                     .value = value,
                                     .text = "the value does not fit the field"};
    if (ordinal >= row->ordinals) {
        finding->text = "there is no such ordinal";
        return false;
    }
    if (field == TMAP_FIELD_GLOBAL_ADDRESS) {
        words[0] = value;
    } else if (field == TMAP_FIELD_GLOBAL_STRIDE) {
        if (value % 16 != 0 || value >> 40 != 0)
            return false;
        put_stride(words, ordinal, value);
    } else {
        struct place p = row->places[ordinal];
        if (value < row->minus || value - row->minus > bits_mask(p.width))
            return false;
        if (field == TMAP_FIELD_ELEMTYPE)
            put_type(words, value);
        else
            put(words, p, value - row->minus);
    }
    store_words(words, image);
    return true;
}
