/* The tensormap statement, in its two forms: of a buffer (dimensions outermost first) and raw, in
 * the order of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col. The API judges the values; here
 * only their form is checked.
 */
#include <string.h>

#include "commands.h"
#include "cuda_abi.h"
#include "trace_statement.h"

struct word_value {
    const char *word;
    uint32_t value;
};

/* The enumerators of the driver API, by what follows their prefix. */
#define TYPE(name)                                                                                 \
    { #name, CU_TENSOR_MAP_DATA_TYPE_##name }
static const struct word_value data_types[] = {
    TYPE(UINT8),        TYPE(UINT16),       TYPE(UINT32),        TYPE(INT32),
    TYPE(UINT64),       TYPE(INT64),        TYPE(FLOAT16),       TYPE(FLOAT32),
    TYPE(FLOAT64),      TYPE(BFLOAT16),     TYPE(FLOAT32_FTZ),   TYPE(TFLOAT32),
    TYPE(TFLOAT32_FTZ), TYPE(16U4_ALIGN8B), TYPE(16U4_ALIGN16B), TYPE(16U6_ALIGN16B),
    {NULL, 0}};
#undef TYPE
static const struct word_value interleaves[] = {{"none", CU_TENSOR_MAP_INTERLEAVE_NONE},
                                                {"16B", CU_TENSOR_MAP_INTERLEAVE_16B},
                                                {"32B", CU_TENSOR_MAP_INTERLEAVE_32B},
                                                {NULL, 0}};
#define SWIZZLE(name)                                                                              \
    { #name, CU_TENSOR_MAP_SWIZZLE_##name }
static const struct word_value swizzles[] = {{"none", CU_TENSOR_MAP_SWIZZLE_NONE},
                                             SWIZZLE(32B),
                                             SWIZZLE(64B),
                                             SWIZZLE(128B),
                                             SWIZZLE(128B_ATOM_32B),
                                             SWIZZLE(128B_ATOM_32B_FLIP_8B),
                                             SWIZZLE(128B_ATOM_64B),
                                             {NULL, 0}};
#undef SWIZZLE
static const struct word_value promotions[] = {{"none", CU_TENSOR_MAP_L2_PROMOTION_NONE},
                                               {"64B", CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
                                               {"128B", CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
                                               {"256B", CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
                                               {NULL, 0}};
static const struct word_value fills[] = {
    {"zero", CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE},
    {"nan", CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA},
    {NULL, 0}};

/* One of the words. */
static bool scan_choice(struct trace_reader *r, const char *what, const struct word_value *words,
                        uint32_t *value) {
    const char *word;
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_word(r, what, &word))
        return false;
    struct strbuf known = {0};
    for (const struct word_value *w = words; w->word; w++) {
        strbuf_printf(&known, "%s%s", w == words ? "" : ", ", w->word);
        if (!strcmp(w->word, word)) {
            *value = w->value;
            strbuf_free(&known);
            return true;
        }
    }
    scan_fail_at(r, &place, EXIT_USAGE, "expected %s (%s), found '%s'", what, strbuf_text(&known),
                 word);
    strbuf_free(&known);
    return false;
}

/* The tensor map type of a buffer's elements; raw words and signed ones that have no type of their
 * own go by their size. */
static bool map_type(enum elem_type type, uint32_t *value) {
    static const struct {
        enum elem_type elem;
        CUtensorMapDataType type;
    } rows[] = {{ELEM_U8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                {ELEM_S8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                {ELEM_B8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                {ELEM_E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                {ELEM_E5M2, CU_TENSOR_MAP_DATA_TYPE_UINT8},
                {ELEM_U16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
                {ELEM_S16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
                {ELEM_B16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
                {ELEM_U32, CU_TENSOR_MAP_DATA_TYPE_UINT32},
                {ELEM_B32, CU_TENSOR_MAP_DATA_TYPE_UINT32},
                {ELEM_S32, CU_TENSOR_MAP_DATA_TYPE_INT32},
                {ELEM_U64, CU_TENSOR_MAP_DATA_TYPE_UINT64},
                {ELEM_B64, CU_TENSOR_MAP_DATA_TYPE_UINT64},
                {ELEM_PTR, CU_TENSOR_MAP_DATA_TYPE_UINT64},
                {ELEM_S64, CU_TENSOR_MAP_DATA_TYPE_INT64},
                {ELEM_F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                {ELEM_F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
                {ELEM_F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
                {ELEM_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
                {ELEM_TF32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].elem == type) {
            *value = rows[i].type;
            return true;
        }
    return false;
}

static bool scan_common_option(struct trace_reader *r, struct trace_map *map, bool *found) {
    *found = true;
    if (scan_take_word(r, "swizzle"))
        return scan_choice(r, "a swizzle", swizzles, &map->swizzle);
    if (scan_take_word(r, "interleave"))
        return scan_choice(r, "an interleave", interleaves, &map->interleave);
    if (scan_take_word(r, "oob"))
        return scan_choice(r, "an out-of-bounds fill", fills, &map->oob);
    if (scan_take_word(r, "l2"))
        return scan_choice(r, "an L2 promotion", promotions, &map->l2);
    if (scan_take_word(r, "fails"))
        return scan_result(r, &map->fails);
    *found = false;
    return true;
}

static void reverse32(const uint64_t *from, unsigned count, uint32_t *to) {
    for (unsigned i = 0; i < count; i++)
        to[i] = (uint32_t)from[count - 1 - i];
}

/* Dimensions and strides of the buffer, innermost first. */
static bool take_buffer(struct trace_reader *r, const struct trace_place *place, uint32_t index,
                        struct trace_map *map) {
    const struct trace_buffer *b = &r->trace->buffers.items[index];
    const unsigned rank = b->rank;
    if (!map_type(b->type, &map->type))
        return scan_fail_at(r, place, EXIT_USAGE, "a %s buffer has no tensor map type",
                            elem_info(b->type)->name);
    if (b->strides[rank - 1] != 1)
        return scan_fail_at(r, place, EXIT_USAGE,
                            "the innermost stride of %s is %llu, a tensor map needs 1", b->name,
                            (unsigned long long)b->strides[rank - 1]);
    map->rank = rank;
    map->address = (struct trace_address){OBJECT_BUFFER, index, 0};
    for (unsigned i = 0; i < rank; i++) {
        map->dims[i] = b->dims[rank - 1 - i];
        map->estrides[i] = 1;
        if (i)
            map->stride_bytes[i - 1] = b->strides[rank - 1 - i] * elem_info(b->type)->size_bytes;
    }
    return true;
}

static bool check_count(struct trace_reader *r, const char *what, unsigned wanted, unsigned found) {
    return wanted == found || scan_fail(r, "expected %u %s, found %u", wanted, what, found);
}

static bool scan_of(struct trace_reader *r, const struct trace_place *place,
                    struct trace_map *map) {
    uint32_t buffer;
    uint64_t values[TRACE_MAX_RANK];
    unsigned count;
    bool has_box = false, found;
    if (!scan_buffer(r, &buffer) || !take_buffer(r, place, buffer, map))
        return false;
    while (!scan_at_end(r)) {
        if (scan_peek_word(r, "box") || scan_peek_word(r, "estride")) {
            const bool box = scan_take_word(r, "box");
            if (!box)
                scan_take_word(r, "estride");
            if (!scan_brackets(r, box ? "a box size" : "an element stride", 0, UINT32_MAX,
                               TRACE_MAX_RANK, values, &count) ||
                !check_count(r, box ? "box sizes" : "element strides", map->rank, count))
                return false;
            reverse32(values, count, box ? map->box : map->estrides);
            has_box = has_box || box;
        } else if (!scan_common_option(r, map, &found)) {
            return false;
        } else if (!found) {
            return scan_expected(r, "box, estride, swizzle, interleave, oob, l2 or fails");
        }
    }
    return has_box || scan_expected(r, "box");
}

static void narrow(const uint64_t *from, unsigned count, uint32_t *to) {
    for (unsigned i = 0; i < count; i++)
        to[i] = (uint32_t)from[i];
}

static bool scan_raw_address(struct trace_reader *r, struct trace_map *map) {
    scan_blanks(r);
    const char c = r->text[r->at];
    if ((c >= '0' && c <= '9') || c == '(')
        return scan_int(r, &map->address.offset_bytes);
    return scan_address(r, &map->address);
}

enum {
    SEEN_ADDR = 1,
    SEEN_DIM = 2,
    SEEN_STRIDE = 4,
    SEEN_BOX = 8,
    SEEN_ESTRIDE = 16,
    SEEN_LOWER = 32,
    SEEN_UPPER = 64,
    SEEN_CHANNELS = 128,
    SEEN_PIXELS = 256,
    SEEN_TILED = SEEN_ADDR | SEEN_DIM | SEEN_STRIDE | SEEN_BOX | SEEN_ESTRIDE,
    SEEN_COLUMNS = SEEN_LOWER | SEEN_UPPER | SEEN_CHANNELS | SEEN_PIXELS,
    SEEN_IM2COL = SEEN_ADDR | SEEN_DIM | SEEN_STRIDE | SEEN_ESTRIDE | SEEN_COLUMNS,
    RAW_LISTS = 6,
};

/* One of the lists of the raw form; *found says whether. */
static bool scan_raw_list(struct trace_reader *r, struct trace_map *map, unsigned *seen,
                          unsigned *counts, bool *found) {
    static const char *const words[RAW_LISTS] = {"dim",     "stride", "box",
                                                 "estride", "lower",  "upper"};
    uint32_t *const to[RAW_LISTS] = {NULL, NULL, map->box, map->estrides, map->lower, map->upper};
    uint64_t values[8];
    for (unsigned i = 0; i < RAW_LISTS; i++) {
        if (!scan_take_word(r, words[i]))
            continue;
        *found = true;
        *seen |= (unsigned)SEEN_DIM << i;
        const int64_t low = i < 2 ? INT64_MIN : i < 4 ? 0 : INT32_MIN;
        const int64_t high = i < 2 ? INT64_MAX : i < 4 ? UINT32_MAX : INT32_MAX;
        if (!scan_braces(r, words[i], low, high, 8, values, &counts[i]))
            return false;
        if (i < 2)
            memcpy(i ? map->stride_bytes : map->dims, values, counts[i] * sizeof *values);
        else
            narrow(values, counts[i], to[i]);
        return true;
    }
    *found = false;
    return true;
}

/* What one copy through an im2col map moves; *found says whether it is named here. */
static bool scan_columns(struct trace_reader *r, struct trace_map *map, unsigned *seen,
                         bool *found) {
    const bool channels = scan_take_word(r, "channels");
    int64_t value;
    *found = channels || scan_take_word(r, "pixels");
    if (!*found)
        return true;
    *seen |= channels ? SEEN_CHANNELS : SEEN_PIXELS;
    if (!scan_int(r, &value))
        return false;
    if (value < 0 || value > UINT32_MAX)
        return scan_fail(r, "%s must fit 32 bits", channels ? "channels" : "pixels");
    *(channels ? &map->channels : &map->pixels) = (uint32_t)value;
    return true;
}

static bool check_raw(struct trace_reader *r, struct trace_map *map, unsigned seen,
                      const unsigned *counts) {
    const unsigned rank = counts[0], spatial = rank < 2 ? 0 : rank - 2;
    map->rank = rank;
    map->im2col = (seen & SEEN_COLUMNS) != 0;
    if (rank == 1)
        seen |= SEEN_STRIDE; /* one dimension has no stride to give */
    if (map->im2col && seen != SEEN_IM2COL)
        return scan_expected(r, "all of addr, dim{}, stride{}, lower{}, upper{}, channels, pixels "
                                "and estride{}, and no box{}");
    if (!map->im2col && seen != SEEN_TILED)
        return scan_expected(r, "all of addr, dim{}, stride{}, box{} and estride{}");
    return check_count(r, "strides, one less than dimensions", rank ? rank - 1 : 0, counts[1]) &&
           check_count(r, "element strides", rank, counts[3]) &&
           (map->im2col
                ? check_count(r, "lower corners, two less than dimensions", spatial, counts[4]) &&
                      check_count(r, "upper corners, two less than dimensions", spatial, counts[5])
                : check_count(r, "box sizes", rank, counts[2]));
}

static bool scan_raw(struct trace_reader *r, struct trace_map *map) {
    unsigned seen = 0, counts[RAW_LISTS] = {0};
    if (!scan_choice(r, "a data type", data_types, &map->type))
        return false;
    while (!scan_at_end(r)) {
        bool found;
        if (scan_take_word(r, "addr")) {
            seen |= SEEN_ADDR;
            if (!scan_raw_address(r, map))
                return false;
            continue;
        }
        if (!scan_raw_list(r, map, &seen, counts, &found) ||
            (!found && !scan_columns(r, map, &seen, &found)) ||
            (!found && !scan_common_option(r, map, &found)))
            return false;
        if (!found)
            return scan_expected(r, "addr, dim, stride, box, estride, lower, upper, channels, "
                                    "pixels, swizzle, interleave, oob, l2 or fails");
    }
    return check_raw(r, map, seen, counts);
}

bool statement_tensormap(struct trace_reader *r, const struct trace_place *place) {
    struct trace_map map = {.place = *place};
    if (!trace_new_name(r, "the tensor map's name", &map.name))
        return false;
    if (scan_take_word(r, "of")     ? !scan_of(r, place, &map)
        : !scan_take_word(r, "raw") ? !scan_expected(r, "'of' or 'raw'")
                                    : !scan_raw(r, &map))
        return false;
    if (r->error->exit_status)
        return false;
    struct trace_map *added = TRACE_ADD(r, r->trace->maps);
    if (!added)
        return false;
    *added = map;
    return true;
}
