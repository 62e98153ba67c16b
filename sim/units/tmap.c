/* Tensor maps: the rules that cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col check.
 *
 *   global memory: dim[rank-1] x ... x dim[1] x dim[0] elements, stride[d] bytes from one index of
 *   dimension d to the next; a box of box[d] positions, of which every element_stride[d]-th is
 *   taken, is what one copy moves.
 *
 * CUDA driver API, "Tensor Map Object Management", as corrected by the 12,000 calls of oracle
 * tma/hw-H200-encode: strides may overlap, element stride [0] has the range of the others, 32-byte
 * interleave takes every plain swizzle, box row bytes are a multiple of 16 under any interleave.
 * tmap_image.c has the 128 bytes.
 *
 * cuTensorMapEncodeIm2col gives channels and pixels in place of a box, and the corners of the box
 * that the pixels are taken from: the documented rules, and the limit on the bytes of a copy, as
 * 100,000 calls on an H200 had them.
 *
 * Not modelled: cuTensorMapEncodeIm2colWide. The rules of sm_100 for its own types and swizzles are
 * those of the driver's documentation; no B200 has confirmed them. */
#include "tmap.h"

#include <inttypes.h>

/* One row per element type. */
struct type_row {
    const char *name;
    uint32_t bits;
    bool is_float;
    bool packed;
    bool padded;
};

static const struct type_row types[TMAP_TYPES] = {
    [TMAP_UINT8] = {"UINT8", 8, false, false, false},
    [TMAP_UINT16] = {"UINT16", 16, false, false, false},
    [TMAP_UINT32] = {"UINT32", 32, false, false, false},
    [TMAP_INT32] = {"INT32", 32, false, false, false},
    [TMAP_UINT64] = {"UINT64", 64, false, false, false},
    [TMAP_INT64] = {"INT64", 64, false, false, false},
    [TMAP_FLOAT16] = {"FLOAT16", 16, true, false, false},
    [TMAP_FLOAT32] = {"FLOAT32", 32, true, false, false},
    [TMAP_FLOAT64] = {"FLOAT64", 64, true, false, false},
    [TMAP_BFLOAT16] = {"BFLOAT16", 16, true, false, false},
    [TMAP_FLOAT32_FTZ] = {"FLOAT32_FTZ", 32, true, false, false},
    [TMAP_TFLOAT32] = {"TFLOAT32", 32, true, false, false},
    [TMAP_TFLOAT32_FTZ] = {"TFLOAT32_FTZ", 32, true, false, false},
    [TMAP_16U4_ALIGN8B] = {"16U4_ALIGN8B", 4, false, true, false},
    [TMAP_16U4_ALIGN16B] = {"16U4_ALIGN16B", 4, false, true, true},
    [TMAP_16U6_ALIGN16B] = {"16U6_ALIGN16B", 6, false, true, true},
};

enum {
    STRIDE_BITS = 40,       /* globalStrides are below 2^40 bytes */
    PADDED_BOX_ELEMS = 128, /* inner box of the padded types, a 128-byte line in shared memory */
    CHUNK_BYTES = 16,
};

uint32_t tmap_element_bits(uint32_t type) {
    return types[type].bits;
}
const char *tmap_type_name(uint32_t type) {
    return types[type].name;
}
bool tmap_is_padded(uint32_t type) {
    return types[type].padded;
}

/* Where the rules put what they find. */
struct finder {
    const struct tmap *map;
    enum tmap_arch arch;
    struct tmap_finding *findings;
    size_t count;
};

static void add(struct finder *f, const char *rule, int dimension, uint64_t value,
                const char *text) {
    if (f->count < TMAP_FINDINGS_MAX)
        f->findings[f->count++] = (struct tmap_finding){
            .rule = rule, .text = text, .dimension = dimension, .value = value};
}

static void check_type(struct finder *f) {
    const struct tmap *map = f->map;
    if (map->type >= TMAP_TYPES)
        add(f, "tensorDataType", -1, map->type, "is no CUtensorMapDataType");
    else if (types[map->type].packed && f->arch == TMAP_SM_90)
        add(f, "tensorDataType", -1, map->type,
            "the packed 4- and 6-bit types need compute capability 10.0");
    if (map->rank < 1 || map->rank > TMAP_RANK_MAX)
        add(f, "tensorRank", -1, map->rank, "must be 1..5");
    else if (map->mode == TMAP_IM2COL && map->rank < 3)
        add(f, "tensorRank", -1, map->rank, "must be 3..5 for an im2col map");
    else if (map->interleave != TMAP_INTERLEAVE_NONE && map->rank < 3)
        add(f, "tensorRank", -1, map->rank, "must be at least 3 with an interleave layout");
}

static void check_modes(struct finder *f) {
    const struct tmap *map = f->map;
    if (map->interleave > TMAP_INTERLEAVE_32B)
        add(f, "interleave", -1, map->interleave, "is no CUtensorMapInterleave");
    if (map->swizzle >= SWIZZLE_MODE_COUNT)
        add(f, "swizzle", -1, map->swizzle, "is no CUtensorMapSwizzle");
    else if (map->swizzle > SWIZZLE_128B && f->arch == TMAP_SM_90)
        add(f, "swizzle", -1, map->swizzle,
            "the 128B swizzles with a 32- or 64-byte atom need compute capability 10.0");
    if (map->l2_promotion > TMAP_L2_PROMOTION_MAX)
        add(f, "l2Promotion", -1, map->l2_promotion, "is no CUtensorMapL2promotion");
    if (map->fill > TMAP_FILL_NAN)
        add(f, "oobFill", -1, map->fill, "is no CUtensorMapFloatOOBfill");
    else if (map->fill == TMAP_FILL_NAN && !types[map->type].is_float)
        add(f, "oobFill", -1, map->fill, "NaN fill needs a floating-point data type");
}

/* Alignment of the base and the strides. */
static uint32_t global_align_bytes(const struct tmap *map) {
    return map->interleave == TMAP_INTERLEAVE_32B || types[map->type].padded ? 32 : 16;
}

static void check_global(struct finder *f) {
    const struct tmap *map = f->map;
    uint32_t align = global_align_bytes(map);
    const char *aligned = align == 32 ? "must be a multiple of 32" : "must be a multiple of 16";
    if (map->global_address % align != 0)
        add(f, "globalAddress", -1, map->global_address, aligned);
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->dim_elems[i] < 1 || map->dim_elems[i] > UINT64_C(1) << 32)
            add(f, "globalDim", (int)i, map->dim_elems[i], "must be 1..2^32");
    }
    if (map->type == TMAP_16U4_ALIGN8B && map->dim_elems[0] % 2 != 0)
        add(f, "globalDim", 0, map->dim_elems[0], "must be a multiple of 2 for 16U4_ALIGN8B");
    if (types[map->type].padded && map->dim_elems[0] % PADDED_BOX_ELEMS != 0)
        add(f, "globalDim", 0, map->dim_elems[0],
            "must be a multiple of 128 for the ALIGN16B types");
    for (uint32_t i = 1; i < map->rank; i++) {
        if (map->stride_bytes[i] % align != 0)
            add(f, "globalStrides", (int)i - 1, map->stride_bytes[i], aligned);
        if (map->stride_bytes[i] >> STRIDE_BITS != 0)
            add(f, "globalStrides", (int)i - 1, map->stride_bytes[i], "must be below 2^40");
    }
}

/* Bits of an element in shared memory. */
static uint32_t shared_bits(const struct tmap *map) {
    return types[map->type].padded ? 8 : types[map->type].bits;
}

static void check_box_bytes(struct finder *f) {
    const struct tmap *map = f->map;
    uint64_t elems = 1;
    for (uint32_t i = 0; i < map->rank; i++)
        elems *= map->box_elems[i] / map->element_stride[i]; /* cut: 0 for a stride past the box */
    uint64_t bytes = elems * shared_bits(map) / 8;
    if (bytes > TMAP_BOX_BYTES_MAX)
        add(f, "boxDim", -1, bytes, "the box has more than 233472 bytes");
}

static void check_element_strides(struct finder *f) {
    const struct tmap *map = f->map;
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->element_stride[i] < 1 || map->element_stride[i] > TMAP_ELEMENT_STRIDE_MAX)
            add(f, "elementStrides", (int)i, map->element_stride[i], "must be 1..8");
    }
}

/* The elements of a copy along dimension 0: an entry of boxDim, or channelsPerPixel. */
static void check_inner(struct finder *f, const char *rule, int dimension, uint32_t elems) {
    static const uint32_t span_bytes[SWIZZLE_MODE_COUNT] = {0, 32, 64, 128, 128, 128, 128};
    const struct tmap *map = f->map;
    if (types[map->type].padded && elems != PADDED_BOX_ELEMS)
        add(f, rule, dimension, elems, "must be 128 for the ALIGN16B types");
    if (elems * types[map->type].bits % (8 * CHUNK_BYTES) != 0)
        add(f, rule, dimension, elems, "times the element size must be a multiple of 16 bytes");
    if (map->interleave == TMAP_INTERLEAVE_NONE && map->swizzle != SWIZZLE_NONE &&
        map->swizzle < SWIZZLE_MODE_COUNT &&
        elems * shared_bits(map) / 8 > span_bytes[map->swizzle])
        add(f, rule, dimension, elems,
            "times the element size must not exceed the span of the swizzle");
}

static void check_box(struct finder *f) {
    const struct tmap *map = f->map;
    size_t before = f->count;
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->box_elems[i] < 1 || map->box_elems[i] > TMAP_BOX_DIM_MAX)
            add(f, "boxDim", (int)i, map->box_elems[i], "must be 1..256");
    }
    check_element_strides(f);
    if (f->count != before)
        return;
    check_inner(f, "boxDim", 0, map->box_elems[0]);
    check_box_bytes(f);
}

static void add_signed(struct finder *f, const char *rule, int dimension, int32_t value,
                       const char *text) {
    add(f, rule, dimension, (uint64_t)(int64_t)value, text);
    f->findings[f->count - 1].is_signed = true;
}

/* The end of the bounding box as the driver counts it, in 32 bits: no box where a dimension has
 * 2^31 elements or more, but for those that the upper corner brings below it again. */
static int64_t box_end(uint64_t dim_elems, int32_t upper) {
    uint32_t end = (uint32_t)dim_elems + (uint32_t)upper;
    return (int64_t)(end ^ UINT32_C(0x80000000)) - INT64_C(0x80000000);
}

/* The corners of the bounding box: their bits share one field of the map. */
static void check_corners(struct finder *f) {
    static const struct {
        int32_t low, high;
        const char *text;
    } limits[TMAP_RANK_MAX + 1] = {
        [3] = {-32768, 32767, "must be -32768..32767 in 3 dimensions"},
        [4] = {-128, 127, "must be -128..127 in 4 dimensions"},
        [5] = {-16, 15, "must be -16..15 in 5 dimensions"},
    };
    const struct tmap *map = f->map;
    int32_t low = limits[map->rank].low, high = limits[map->rank].high;
    uint32_t first = map->interleave == TMAP_INTERLEAVE_NONE ? 1 : 0;
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        int32_t lower = map->lower_corner[i], upper = map->upper_corner[i];
        if (lower < low || lower > high)
            add_signed(f, "pixelBoxLowerCorner", (int)i, lower, limits[map->rank].text);
        if (upper < low || upper > high)
            add_signed(f, "pixelBoxUpperCorner", (int)i, upper, limits[map->rank].text);
        if (lower >= box_end(map->dim_elems[first + i], upper))
            add_signed(f, "pixelBoxUpperCorner", (int)i, upper, "leaves no bounding box");
    }
}

static void check_im2col(struct finder *f) {
    const struct tmap *map = f->map;
    size_t before = f->count;
    if (map->rank < 3)
        return;
    check_corners(f);
    if (map->channels < 1 || map->channels > TMAP_BOX_DIM_MAX)
        add(f, "channelsPerPixel", -1, map->channels, "must be 1..256");
    if (map->pixels < 1 || map->pixels > TMAP_PIXELS_MAX)
        add(f, "pixelsPerColumn", -1, map->pixels, "must be 1..1024");
    check_element_strides(f);
    if (f->count != before)
        return;
    check_inner(f, "channelsPerPixel", -1, map->channels);
    uint64_t bytes = (uint64_t)map->channels * map->pixels * shared_bits(map) / 8;
    if (bytes > TMAP_BOX_BYTES_MAX)
        add(f, "pixelsPerColumn", -1, bytes, "channels and pixels have more than 233472 bytes");
}

/* Modes that only some of the packed types take. */
static void check_packed(struct finder *f) {
    const struct tmap *map = f->map;
    if (!types[map->type].padded)
        return;
    if (map->type == TMAP_16U6_ALIGN16B && map->interleave != TMAP_INTERLEAVE_NONE)
        add(f, "interleave", -1, map->interleave, "must be none for 16U6_ALIGN16B");
    bool good = map->swizzle == SWIZZLE_NONE || map->swizzle == SWIZZLE_128B ||
                map->swizzle == SWIZZLE_128B_ATOM_32B ||
                (map->swizzle == SWIZZLE_128B_ATOM_64B && map->type == TMAP_16U6_ALIGN16B);
    if (!good)
        add(f, "swizzle", -1, map->swizzle, "is not one that this packed type takes");
}

size_t tmap_check(const struct tmap *map, enum tmap_arch arch,
                  struct tmap_finding findings[TMAP_FINDINGS_MAX]) {
    struct finder f = {.map = map, .arch = arch, .findings = findings};
    check_type(&f);
    if (map->type >= TMAP_TYPES || map->rank < 1 || map->rank > TMAP_RANK_MAX)
        return f.count; /* the other rules need these two */
    check_global(&f);
    if (map->mode == TMAP_IM2COL)
        check_im2col(&f);
    else
        check_box(&f);
    check_modes(&f);
    check_packed(&f);
    return f.count;
}

void tmap_describe(struct strbuf *out, const struct tmap_finding *finding) {
    strbuf_puts(out, finding->rule);
    if (finding->dimension >= 0)
        strbuf_printf(out, "[%d]", finding->dimension);
    if (finding->is_signed)
        strbuf_printf(out, " = %" PRId64 ": %s", (int64_t)finding->value, finding->text);
    else
        strbuf_printf(out, " = %" PRIu64 ": %s", finding->value, finding->text);
}
