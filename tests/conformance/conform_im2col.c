/* Families im2col_load and im2col_store: im2col copies of 3 to 5 dimensions through random maps,
 * the stores and reductions without offsets. Start positions lie in the bounding box,
 * which for a store lies in the tensor: everything else is 715. */
#include <stdlib.h>

#include "conform_im2col.h"

static int32_t between(struct conform_random *random, int32_t low, int32_t high) {
    return low + (int32_t)conform_below(random, (uint32_t)(high - low + 1));
}

/* Bytes of a position of dimension 0, and the dimension that is W. */
static uint32_t unit_bytes(const struct tensormap_desc *desc) {
    return desc->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE
               ? conform_element_bytes((uint32_t)desc->type)
               : 16u * (uint32_t)desc->interleave;
}

static unsigned first_spatial(const struct tensormap_desc *desc) {
    return desc->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? 1 : 0;
}

/* Channels and pixels that fit the swizzle and `shared_bytes`. */
static void make_columns(struct conform_random *random, struct tensormap_desc *desc,
                         struct tensormap_im2col *im2col, uint32_t shared_bytes) {
    static const uint32_t spans[4] = {0, 32, 64, 128}, pixels[4] = {16, 40, 128, 1024};
    uint32_t span = spans[desc->swizzle], bytes = conform_element_bytes((uint32_t)desc->type);
    uint32_t most = span != 0 ? span / 16 : conform_below(random, 3) ? 4 : 16;
    uint32_t inner = 16 * (1 + conform_below(random, most));
    uint32_t pitch = first_spatial(desc) == 0 ? unit_bytes(desc) : span > inner ? span : inner;
    uint32_t room = shared_bytes / pitch;
    uint32_t limit = pixels[conform_below(random, 4)];
    im2col->channels = inner / bytes;
    im2col->pixels = 1 + conform_below(random, room < limit ? room : limit);
}

static void make_strides(struct conform_random *random, struct tensormap_desc *desc) {
    unsigned last = desc->rank - 1;
    desc->element_stride[0] = conform_below(random, 6) ? 1 : 1 + conform_below(random, 8);
    for (unsigned i = 1; i < last; i++)
        desc->element_stride[i] = conform_below(random, 2)
                                      ? 1
                                      : 1 + conform_below(random, conform_below(random, 4) ? 3 : 8);
    desc->element_stride[last] = conform_below(random, 4) ? 1 : 1 + conform_below(random, 4);
}

static void make_tensor(struct conform_random *random, struct tensormap_desc *desc,
                        uint32_t channels, uint32_t tensor_bytes) {
    static const uint32_t spatial[3] = {60, 12, 6};
    uint32_t unit = unit_bytes(desc), align = unit == 32 ? 32 : 16;
    unsigned channel = first_spatial(desc) == 1 ? 0 : desc->rank - 2;
    desc->address = align * conform_below(random, 8);
    uint64_t pitch = unit, room = tensor_bytes - desc->address;
    for (unsigned i = 0; i < desc->rank; i++) {
        uint64_t most = room / pitch < 1 ? 1 : room / pitch;
        uint32_t limit = i == desc->rank - 1 ? 5
                         : i != channel      ? spatial[desc->rank - 3]
                         : i == 0            ? 2 * channels
                                             : 4;
        if (i > 0)
            desc->stride_bytes[i - 1] = pitch;
        desc->dim[i] = 1 + conform_below(random, (uint32_t)(most < limit ? most : limit));
        if (i == 0 && channel == 0 && conform_below(random, 3) == 0)
            desc->dim[0] = channels;
        pitch = (pitch * desc->dim[i] + align - 1) / align * align;
        pitch += align * (conform_below(random, 2) ? 0 : conform_below(random, 3));
    }
}

/* Corners of a box that is not empty. */
static void make_corners(struct conform_random *random, const struct tensormap_desc *desc,
                         struct tensormap_im2col *im2col) {
    int32_t reach = conform_below(random, 3) ? 2 : 5;
    for (unsigned i = 0; i + 2 < desc->rank; i++) {
        int32_t dim = (int32_t)desc->dim[first_spatial(desc) + i],
                lower = between(random, -reach, reach);
        int32_t upper = between(random, -reach, reach);
        if (conform_below(random, 8) == 0)
            lower = upper = 0;
        if (lower > dim - 1 + upper)
            upper = lower - dim + 1;
        im2col->lower_corner[i] = lower;
        im2col->upper_corner[i] = upper;
    }
}

struct conform_tma_case conform_im2col_map_of(struct conform_random *random, uint32_t tensor_bytes,
                                              uint32_t shared_bytes) {
    struct conform_tma_case made = {
        .desc = {.type = (CUtensorMapDataType)conform_below(random, CONFORM_TYPES)}};
    struct tensormap_desc *desc = &made.desc;
    desc->rank = 3 + conform_below(random, 3);
    desc->swizzle = (CUtensorMapSwizzle)conform_below(random, 4);
    if (conform_below(random, 4) == 0)
        desc->interleave = (CUtensorMapInterleave)(1 + conform_below(random, 2));
    desc->l2_promotion = (CUtensorMapL2promotion)conform_below(random, 4);
    if (desc->type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && conform_below(random, 3) == 0)
        desc->oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    make_columns(random, desc, &made.im2col, shared_bytes);
    make_strides(random, desc);
    make_tensor(random, desc, made.im2col.channels, tensor_bytes);
    make_corners(random, desc, &made.im2col);
    return made;
}

/* Start position: channels on multiples of 16 bytes, pixels inside the bounding box; a store starts
 * nowhere below 0. */
static void draw_start(struct conform_random *random, bool stores, struct conform_tma_case *made) {
    const struct tensormap_desc *desc = &made->desc;
    unsigned last = desc->rank - 1, first = first_spatial(desc), channel = first ? 0 : last - 1;
    int32_t piece = first ? (int32_t)(16 / unit_bytes(desc)) : 1, least = stores ? 0 : -2;
    int32_t at = between(random, least, (int32_t)desc->dim[channel] / piece + 1) * piece;
    made->row.coords[channel] = conform_below(random, 2) ? 0 : at;
    for (unsigned i = 0; i + 1 < last; i++) {
        int32_t *upper = &made->im2col.upper_corner[i], dim = (int32_t)desc->dim[first + i];
        if (stores) { /* a store's box lies in the tensor */
            made->im2col.lower_corner[i] = abs(made->im2col.lower_corner[i]) % dim;
            *upper = -(abs(*upper) % (dim - made->im2col.lower_corner[i]));
        }
        int32_t low = made->im2col.lower_corner[i];
        int32_t high = dim - 1 + *upper;
        made->row.coords[first + i] = conform_below(random, 4) ? between(random, low, high) : low;
        made->row.offsets[i] = (uint16_t)(conform_below(random, 3) ? conform_below(random, 5) : 0);
        if (conform_below(random, 24) == 0)
            made->row.offsets[i] = (uint16_t)conform_below(random, 1u << (last == 2   ? 16
                                                                          : last == 3 ? 8
                                                                                      : 5));
    }
    made->row.coords[last] = between(random, stores ? 0 : -1, (int32_t)desc->dim[last]);
    if (conform_below(random, 2))
        made->row.coords[last] = (int32_t)conform_below(random, (uint32_t)desc->dim[last]);
}

static uint32_t column_bytes(const struct conform_tma_case *made) {
    uint32_t channels = first_spatial(&made->desc) ? made->im2col.channels : 1;
    return channels * made->im2col.pixels * unit_bytes(&made->desc);
}

static struct conform_tma_case make(const struct conform_batch *batch, const char *family,
                                    bool stores, uint32_t index) {
    struct conform_random random = conform_random_of(batch, family, index);
    struct conform_tma_case made = conform_im2col_map_of(
        &random, (stores ? CONFORM_TMA_STORE_BYTES : CONFORM_TMA_GLOBAL_BYTES) - 256,
        CONFORM_TMA_BOX_BYTES);
    conform_tma_begin(&random, &made);
    draw_start(&random, stores, &made);
    made.row.expect_bytes = column_bytes(&made);
    conform_tma_contents(&random, &made);
    return made;
}

static struct conform_tma_case make_load(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "im2col_load", false, index);
}

static struct conform_tma_case make_store(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "im2col_store", true, index);
}

CONFORM_TMA_FAMILY(im2col_load, false, true, make_load)
CONFORM_TMA_FAMILY(im2col_store, true, true, make_store)
