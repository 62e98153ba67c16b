/* The tensormap statement, in its two forms: of a buffer (dimensions outermost first) and raw, in
 * the order of cuTensorMapEncodeTiled. The API judges the values; here only their form is checked.
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
    SEEN_ALL = 31
};

/* One of the lists of the raw form; *found says whether. */
static bool scan_raw_list(struct trace_reader *r, struct trace_map *map, unsigned *seen,
                          unsigned *counts, bool *found) {
    static const char *const words[] = {"dim", "stride", "box", "estride"};
    uint64_t values[8];
    for (unsigned i = 0; i < 4; i++) {
        if (!scan_take_word(r, words[i]))
            continue;
        *found = true;
        *seen |= (unsigned)SEEN_DIM << i;
        const int64_t high = i < 2 ? INT64_MAX : UINT32_MAX;
        if (!scan_braces(r, words[i], i < 2 ? INT64_MIN : 0, high, 8, values, &counts[i]))
            return false;
        if (i < 2)
            memcpy(i ? map->stride_bytes : map->dims, values, counts[i] * sizeof *values);
        else
            narrow(values, counts[i], i == 2 ? map->box : map->estrides);
        return true;
    }
    *found = false;
    return true;
}

static bool scan_raw(struct trace_reader *r, struct trace_map *map) {
    unsigned seen = 0, counts[4] = {0};
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
            (!found && !scan_common_option(r, map, &found)))
            return false;
        if (!found)
            return scan_expected(
                r, "addr, dim, stride, box, estride, swizzle, interleave, oob, l2 or fails");
    }
    if (counts[0] == 1)
        seen |= SEEN_STRIDE; /* one dimension has no stride to give */
    if (seen != SEEN_ALL)
        return scan_expected(r, "all of addr, dim{}, stride{}, box{} and estride{}");
    map->rank = counts[0];
    return check_count(r, "strides, one less than dimensions", counts[0] ? counts[0] - 1 : 0,
                       counts[1]) &&
           check_count(r, "box sizes", counts[0], counts[2]) &&
           check_count(r, "element strides", counts[0], counts[3]);
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
