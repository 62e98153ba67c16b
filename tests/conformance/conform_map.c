/* See conform_map.h. */
#include "conform_map.h"

#include <stdio.h>

uint32_t conform_element_bytes(uint32_t type) {
    static const uint8_t bytes[CONFORM_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type < CONFORM_TYPES ? bytes[type] : 1;
}

static bool is_float(uint32_t type) {
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

static uint32_t rows_of(const struct tensormap_desc *desc, unsigned i) {
    return (desc->box[i] + desc->element_stride[i] - 1) / desc->element_stride[i];
}

uint32_t conform_box_bytes(const struct tensormap_desc *desc) {
    uint32_t bytes = desc->box[0] * conform_element_bytes(desc->type);
    for (unsigned i = 1; i < desc->rank; i++)
        bytes *= rows_of(desc, i);
    return bytes;
}

static void make_box(struct conform_random *random, struct tensormap_desc *desc,
                     uint32_t shared_bytes) {
    static const uint32_t spans[4] = {0, 32, 64, 128};
    uint32_t bytes = conform_element_bytes(desc->type), span = spans[desc->swizzle];
    uint32_t most = span != 0 ? span / 16 : 16 * bytes;
    uint32_t inner = 16 * (1 + conform_below(random, most > 32 ? 32 : most));
    uint32_t pitch = span != 0 ? span : inner, room = shared_bytes / pitch;
    desc->box[0] = inner / bytes;
    desc->element_stride[0] = conform_below(random, 8) ? 1 : 1 + conform_below(random, 8);
    for (unsigned i = 1; i < desc->rank; i++) {
        uint32_t rows = 1 + conform_below(random, room < 24 ? room : 24);
        uint32_t stride = conform_below(random, 4) ? 1 : 1 + conform_below(random, 8);
        if (conform_below(random, 4) == 0)
            rows = room < 200 ? room : 200;
        if (rows * stride > 256)
            stride = 1;
        desc->element_stride[i] = stride;
        desc->box[i] = rows * stride - conform_below(random, stride);
        room /= rows;
    }
}

static void make_tensor(struct conform_random *random, struct tensormap_desc *desc,
                        uint32_t tensor_bytes) {
    uint32_t bytes = conform_element_bytes(desc->type);
    uint64_t pitch, room;
    desc->address = 16 * conform_below(random, 16);
    room = tensor_bytes - desc->address;
    uint64_t inner_most = room / bytes < 400 ? room / bytes : 400;
    desc->dim[0] = 1 + conform_below(random, (uint32_t)inner_most / (desc->rank > 1 ? 2 : 1));
    pitch = (desc->dim[0] * bytes + 15) / 16 * 16;
    for (unsigned i = 1; i < desc->rank; i++) {
        pitch += 16 * (conform_below(random, 2) ? 0 : conform_below(random, 4));
        uint64_t most = room / pitch < 1 ? 1 : room / pitch;
        uint32_t limit = desc->rank == 2 ? 200 : desc->rank == 3 ? 20 : 7;
        desc->stride_bytes[i - 1] = pitch;
        desc->dim[i] = 1 + conform_below(random, (uint32_t)(most < limit ? most : limit));
        pitch *= desc->dim[i];
    }
}

struct tensormap_desc conform_map_of(struct conform_random *random, uint32_t tensor_bytes,
                                     uint32_t shared_bytes) {
    struct tensormap_desc desc = {.type =
                                      (CUtensorMapDataType)conform_below(random, CONFORM_TYPES)};
    desc.rank = 1 + conform_below(random, 5);
    desc.swizzle = (CUtensorMapSwizzle)conform_below(random, 4);
    desc.l2_promotion = (CUtensorMapL2promotion)conform_below(random, 4);
    if (is_float(desc.type) && conform_below(random, 3) == 0)
        desc.oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    make_box(random, &desc, shared_bytes);
    make_tensor(random, &desc, tensor_bytes);
    return desc;
}

int32_t conform_coordinate(struct conform_random *random, const struct tensormap_desc *desc,
                           unsigned dimension, bool negative) {
    int32_t low =
        negative && conform_below(random, 3) == 0 ? -(int32_t)desc->box[dimension] - 1 : 0;
    int32_t high = (int32_t)desc->dim[dimension] + (conform_below(random, 4) == 0 ? 3 : 0);
    int32_t at = low + (int32_t)conform_below(random, (uint32_t)(high - low));
    if (dimension == 0) { /* its byte offset must be a multiple of 16 */
        int32_t piece = (int32_t)(16 / conform_element_bytes(desc->type));
        at = at / piece * piece;
    }
    return at;
}

void conform_map_print(const struct tensormap_desc *desc, const int32_t *coords, char *text,
                       size_t size) {
    size_t at =
        (size_t)snprintf(text, size, "type %d rank %u swizzle %d interleave %d fill %d +%llx",
                         (int)desc->type, desc->rank, (int)desc->swizzle, (int)desc->interleave,
                         (int)desc->oob_fill, (unsigned long long)desc->address);
    for (unsigned i = 0; i < desc->rank && i < 5 && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, ", dim %llu stride %llu box %u estride %u",
                               (unsigned long long)desc->dim[i],
                               i == 0 ? 0ull : (unsigned long long)desc->stride_bytes[i - 1],
                               desc->box[i], desc->element_stride[i]);
    for (unsigned i = 0; coords != NULL && i < desc->rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? "," : ", at ", coords[i]);
}

void conform_im2col_print(const struct tensormap_desc *desc, const struct tensormap_im2col *im2col,
                          const uint16_t *offsets, char *text, size_t size) {
    size_t at =
        (size_t)snprintf(text, size, ", %u channels, %u pixels", im2col->channels, im2col->pixels);
    for (unsigned i = 0; i + 2 < desc->rank && i < 3 && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, ", corners %d %d offset %u",
                               im2col->lower_corner[i], im2col->upper_corner[i],
                               offsets != NULL ? offsets[i] : 0);
}
