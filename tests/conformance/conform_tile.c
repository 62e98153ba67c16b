/* Families tma_load and tma_store: tile copies of 1 to 5 dimensions through random tensor maps.
 * interleave_load and interleave_store: the same through interleaved maps. */
#include "conform_tma.h"

/* Which reductions run with which type of map on an H200. Left out: add of the FTZ and tf32 types,
 * which the simulator refuses. */
static bool runs(unsigned op, uint32_t type) {
    static const uint16_t types[CONFORM_STORE_OPS] = {
        1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9,
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

static struct conform_tma_case make_load(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "tma_load", false, index);
}

static struct conform_tma_case make_store(const struct conform_batch *batch, uint32_t index) {
    return make(batch, "tma_store", true, index);
}

CONFORM_TMA_FAMILY(tma_load, false, false, make_load)
CONFORM_TMA_FAMILY(tma_store, true, false, make_store)
