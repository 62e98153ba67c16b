/* Families tma_load and tma_store: tile copies of 1 to 5 dimensions through random tensor maps.
 * interleave_load and interleave_store: the same through interleaved maps. */
#include "conform_tma.h"

/* Which reductions run with which type of map on an H200. */
static bool runs(unsigned op, uint32_t type) {
    static const uint16_t types[CONFORM_STORE_OPS] = {
        0x1fff & ~(1 << 0 | 1 << 1 | 1 << 5),
        1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9,
        1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9,
        1 << 2,
        1 << 2,
        1 << 2 | 1 << 3 | 1 << 4,
        1 << 2 | 1 << 3 | 1 << 4,
        1 << 2 | 1 << 3 | 1 << 4,
        0x1fff};
    return types[op] >> type & 1;
}

static struct conform_format type_format(uint32_t type) {
    static const struct conform_format formats[CONFORM_TYPES] = {
        [6] = {16, 5, 10},  [7] = {32, 8, 23},  [8] = {64, 11, 52}, [9] = {16, 8, 7},
        [10] = {32, 8, 23}, [11] = {32, 8, 23}, [12] = {32, 8, 23}};
    return formats[type];
}

void conform_tma_begin(struct conform_random *random, struct conform_tma_case *made) {
    made->row.rank = made->desc.rank;
    made->row.shared_offset = 128 * conform_below(random, 8);
    made->row.seed = (uint32_t)conform_next(random);
    made->row.op = conform_below(random, CONFORM_STORE_OPS);
    if (!runs(made->row.op, (uint32_t)made->desc.type))
        made->row.op = CONFORM_STORE;
}

void conform_tma_contents(struct conform_random *random, struct conform_tma_case *made) {
    conform_pair_of(random, type_format((uint32_t)made->desc.type), made->row.keep, made->row.set);
}

static struct conform_tma_case make(const struct conform_batch *batch, const char *family,
                                    bool stores, uint32_t index) {
    struct conform_random random = conform_random_of(batch, family, index);
    struct conform_tma_case made = {
        .desc = conform_map_of(&random,
                               (stores ? CONFORM_TMA_STORE_BYTES : CONFORM_TMA_GLOBAL_BYTES) - 256,
                               CONFORM_TMA_BOX_BYTES)};
    made.row.expect_bytes = conform_box_bytes(&made.desc);
    conform_tma_begin(&random, &made);
    for (unsigned i = 0; i < made.desc.rank; i++)
        made.row.coords[i] = conform_coordinate(&random, &made.desc, i, !stores);
    conform_tma_contents(&random, &made);
    return made;
}

/* A map of 16- or 32-byte positions; see units/tma.c for what they are. */
static struct tensormap_desc interleaved_map_of(struct conform_random *random,
                                                uint32_t tensor_bytes) {
    struct tensormap_desc desc = {.type = (CUtensorMapDataType)conform_below(random, CONFORM_TYPES),
                                  .rank = 3 + conform_below(random, 3),
                                  .interleave =
                                      (CUtensorMapInterleave)(1 + conform_below(random, 2)),
                                  .swizzle = (CUtensorMapSwizzle)conform_below(random, 4),
                                  .l2_promotion = (CUtensorMapL2promotion)conform_below(random, 4)};
    uint32_t piece = 16 / conform_element_bytes(desc.type);
    uint32_t unit = desc.interleave == CU_TENSOR_MAP_INTERLEAVE_16B ? 16 : 32;
    if (desc.type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && conform_below(random, 3) == 0)
        desc.oob_fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    desc.box[0] = piece * (1 + conform_below(random, piece > 8 ? 2 : 4));
    desc.element_stride[0] = conform_below(random, 3) ? 1 : 1 + conform_below(random, 8);
    uint32_t pitch = desc.box[0] * unit > 128 ? desc.box[0] * unit : 128;
    uint32_t room = CONFORM_TMA_BOX_BYTES / pitch;
    for (unsigned i = 1; i < desc.rank; i++) {
        uint32_t rows = 1 + conform_below(random, room < 12 ? room : 12);
        uint32_t stride = conform_below(random, 4) ? 1 : 1 + conform_below(random, 4);
        desc.element_stride[i] = stride;
        desc.box[i] = rows * stride - conform_below(random, stride);
        room = room / rows > 0 ? room / rows : 1;
    }
    desc.address = unit * conform_below(random, 8);
    desc.dim[0] = 1 + conform_below(random, 2 * desc.box[0]);
    uint64_t step = desc.dim[0] * unit, bytes = tensor_bytes - desc.address;
    for (unsigned i = 1; i < desc.rank; i++) {
        step += unit * (conform_below(random, 2) ? 0 : conform_below(random, 3));
        uint64_t most = bytes / step < 1 ? 1 : bytes / step, limit = desc.rank == 3 ? 14 : 6;
        desc.stride_bytes[i - 1] = step;
        desc.dim[i] = 1 + conform_below(random, (uint32_t)(most < limit ? most : limit));
        step *= desc.dim[i];
    }
    return desc;
}

static uint32_t interleaved_bytes(const struct tensormap_desc *desc) {
    uint32_t bytes = desc->interleave == CU_TENSOR_MAP_INTERLEAVE_16B ? 16 : 32;
    for (unsigned i = 0; i < desc->rank; i++)
        if (i != desc->rank - 2)
            bytes *= (desc->box[i] + desc->element_stride[i] - 1) / desc->element_stride[i];
    return bytes;
}

static struct conform_tma_case make_interleaved(const struct conform_batch *batch,
                                                const char *family, bool stores, uint32_t index) {
    struct conform_random random = conform_random_of(batch, family, index);
    struct conform_tma_case made = {
        .desc = interleaved_map_of(
            &random, (stores ? CONFORM_TMA_STORE_BYTES : CONFORM_TMA_GLOBAL_BYTES) - 256)};
    const struct tensormap_desc *desc = &made.desc;
    made.row.expect_bytes = interleaved_bytes(desc);
    conform_tma_begin(&random, &made);
    for (unsigned i = 0; i < desc->rank; i++) {
        int32_t low = stores || conform_below(&random, 3) ? 0 : -(int32_t)desc->box[i];
        int32_t high = (int32_t)desc->dim[i] + (conform_below(&random, 4) ? 0 : 3);
        made.row.coords[i] = low + (int32_t)conform_below(&random, (uint32_t)(high - low));
        if (conform_below(&random, 4) == 0)
            made.row.coords[i] = 0;
    }
    conform_tma_contents(&random, &made);
    return made;
}

static struct conform_tma_case make_load(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "tma_load", false, index);
}

static struct conform_tma_case make_store(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "tma_store", true, index);
}

CONFORM_TMA_FAMILY(tma_load, false, false, make_load)
CONFORM_TMA_FAMILY(tma_store, true, false, make_store)

static struct conform_tma_case make_interleave_load(const struct conform_batch *batch,
                                                    uint32_t index) {
    return make_interleaved(batch, "interleave_load", false, index);
}

static struct conform_tma_case make_interleave_store(const struct conform_batch *batch,
                                                     uint32_t index) {
    return make_interleaved(batch, "interleave_store", true, index);
}

CONFORM_TMA_FAMILY(interleave_load, false, false, make_interleave_load)
CONFORM_TMA_FAMILY(interleave_store, true, false, make_interleave_store)
