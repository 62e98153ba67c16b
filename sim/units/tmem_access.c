/* Maps between instructions and Tensor Memory cells.
 *
 * tcgen05.ld / st (t = lane of the warp, r = register):
 *   32x32b    lane t                      column r
 *   16x64b    lane t/4 + 8*(t%2)          column 2r + (t/2)%2
 *   16x128b   lane t/4 + 8*(r%2)          column 4*(r/2) + t%4
 *   16x256b   lane t/4 + 8*((r/2)%2)      column 8*(r/4) + 2*(t%4) + r%2
 *   16x32bx2  lane t%16                   column r, from thread 16 on + immHalfSplitoff
 *
 * D, row i, column n:
 *   A  M 256 cta2   CTA i/128, lane i%128                    column n
 *   B  M 128 cta2   CTA i/64,  lane i%64 + 64 per N/2        column n % (N/2)
 *   D  M 128        lane i                                   column n
 *   E  M 64  .ws    lane i + 64 per N/2                      column n % (N/2)
 *   F  M 64         lane 32*(i/16) + i%16                    column n
 *   G  M 32  .ws    lane i + 32 per N/4                      column n % (N/4)
 *
 * Manual: tcgen05 "Data movement shape", "Data path layout organization", "tcgen05.cp" (PTX ISA
 * 9.0). Not modelled, because not known: layout C, A in Tensor Memory for .ws with M 32 and 64. */
#include "tmem_access.h"

#include <assert.h>

#include "bits.h"

static const struct {
    uint8_t lanes;
    uint8_t max_num;
    uint8_t registers; /* per unit of num */
    uint8_t columns;   /* per unit of num */
} shapes[TMEM_SHAPE_COUNT] = {
    [TMEM_32X32B] = {32, 128, 1, 1},   [TMEM_16X64B] = {16, 128, 1, 2},
    [TMEM_16X128B] = {16, 64, 2, 4},   [TMEM_16X256B] = {16, 32, 4, 8},
    [TMEM_16X32BX2] = {16, 128, 1, 1},
};

bool tmem_access_num_is_legal(enum tmem_shape shape, uint32_t num) {
    return bits_is_power_of_two(num) && num <= shapes[shape].max_num;
}

uint32_t tmem_access_registers(enum tmem_shape shape, uint32_t num) {
    return num * shapes[shape].registers;
}

uint32_t tmem_access_columns(const struct tmem_access *access) {
    uint32_t columns = access->num * shapes[access->shape].columns * (access->packed ? 2 : 1);
    return columns + (access->shape == TMEM_16X32BX2 ? access->half_split_columns : 0);
}

uint32_t tmem_access_lanes(enum tmem_shape shape) {
    return shapes[shape].lanes;
}

struct tmem_cell tmem_access_cell(const struct tmem_access *access, uint32_t thread, uint32_t reg) {
    assert(thread < TMEM_WARP_LANES && reg < tmem_access_registers(access->shape, access->num));
    uint32_t t = thread, r = reg, scale = access->packed ? 2 : 1;
    switch (access->shape) {
    case TMEM_32X32B: return (struct tmem_cell){t, scale * r};
    case TMEM_16X64B: return (struct tmem_cell){t / 4 + 8 * (t % 2), scale * (2 * r + t / 2 % 2)};
    case TMEM_16X128B:
        return (struct tmem_cell){t / 4 + 8 * (r % 2), scale * (4 * (r / 2) + t % 4)};
    case TMEM_16X256B:
        return (struct tmem_cell){t / 4 + 8 * (r / 2 % 2),
                                  scale * (8 * (r / 4) + 2 * (t % 4) + r % 2)};
    case TMEM_16X32BX2:
        return (struct tmem_cell){t % 16, scale * r + (t >= 16 ? access->half_split_columns : 0)};
    case TMEM_SHAPE_COUNT: break;
    }
    assert(false && "a shape that does not exist");
    return (struct tmem_cell){0, 0};
}

enum tmem_error tmem_access_first_lane(enum tmem_shape shape, uint32_t address, uint32_t warp,
                                       uint32_t *lane, bool *lane_differs) {
    uint32_t named = tmem_address_lane(address), in_warp = named % TMEM_WARP_LANES;
    if (named >= TMEM_LANES)
        return TMEM_LANE_RANGE;
    if (in_warp != 0 && (in_warp != 16 || shapes[shape].lanes == TMEM_WARP_LANES))
        return TMEM_LANE_BASE;
    *lane = tmem_warp_first_lane(warp) + in_warp;
    *lane_differs = *lane != named;
    return TMEM_OK;
}

bool tmem_d_layout(const struct tmem_mma_shape *shape, enum tmem_d_layout *layout) {
    if (shape->cta_group == 2)
        *layout = shape->m == 256 ? TMEM_D_A : shape->sparse ? TMEM_D_C : TMEM_D_B;
    else if (shape->m == 128)
        *layout = TMEM_D_D;
    else if (shape->m == 64)
        *layout = shape->ws ? TMEM_D_E : TMEM_D_F;
    else
        *layout = TMEM_D_G;
    return *layout != TMEM_D_C;
}

/* CTAs, rows per CTA, and pieces that the columns of a row are cut into. */
struct d_geometry {
    uint32_t rows_per_cta;
    uint32_t pieces;
};

static struct d_geometry d_geometry(enum tmem_d_layout layout) {
    switch (layout) {
    case TMEM_D_B: return (struct d_geometry){64, 2};
    case TMEM_D_E: return (struct d_geometry){64, 2};
    case TMEM_D_F: return (struct d_geometry){64, 1};
    case TMEM_D_G: return (struct d_geometry){32, 4};
    case TMEM_D_A:
    case TMEM_D_D: return (struct d_geometry){128, 1};
    case TMEM_D_C: break;
    }
    assert(false && "layout C is not known");
    return (struct d_geometry){64, 1};
}

uint32_t tmem_d_row(const struct tmem_mma_shape *shape, enum tmem_d_layout layout, uint32_t row,
                    struct tmem_d_run runs[4]) {
    assert(row < shape->m);
    struct d_geometry geometry = d_geometry(layout);
    uint32_t count = shape->n / geometry.pieces;
    uint32_t lane = row % geometry.rows_per_cta;
    if (layout == TMEM_D_F)
        lane = lane / 16 * 32 + lane % 16;
    for (uint32_t i = 0; i < geometry.pieces; i++)
        runs[i] = (struct tmem_d_run){
            .cta = row / geometry.rows_per_cta,
            .lane = lane + i * (TMEM_LANES / geometry.pieces),
            .column = 0,
            .first_n = i * count,
            .count = count,
        };
    return geometry.pieces;
}

uint32_t tmem_d_columns(const struct tmem_mma_shape *shape, enum tmem_d_layout layout) {
    return shape->n / d_geometry(layout).pieces;
}

enum tmem_error tmem_d_check_lane(enum tmem_d_layout layout, uint32_t address) {
    uint32_t lane = tmem_address_lane(address);
    if (lane >= TMEM_LANES)
        return TMEM_LANE_RANGE;
    bool half = layout == TMEM_D_F || layout == TMEM_D_C;
    return lane == 0 || (half && lane == 16) ? TMEM_OK : TMEM_LANE_BASE;
}

bool tmem_a_is_known(const struct tmem_mma_shape *shape) {
    if (shape->cta_group == 2)
        return shape->m == 256 || !shape->sparse;
    return shape->m == 128 || (shape->m == 64 && !shape->ws);
}

uint32_t tmem_a_copies(const struct tmem_mma_shape *shape) {
    return shape->cta_group == 2 && shape->m == 128 ? 2 : 1;
}

struct tmem_a_place tmem_a_element(const struct tmem_mma_shape *shape, uint32_t stored_bits,
                                   uint32_t row, uint32_t k, uint32_t copy) {
    assert(tmem_a_is_known(shape) && row < shape->m && copy < tmem_a_copies(shape));
    uint32_t rows_per_cta = shape->cta_group == 2 ? shape->m / 2 : shape->m;
    uint32_t lane = row % rows_per_cta, bit = k * stored_bits;
    if (shape->cta_group == 1 && shape->m == 64)
        lane = lane / 16 * 32 + lane % 16;
    assert(bit < TMEM_A_COLUMNS * 32);
    return (struct tmem_a_place){
        .cta = row / rows_per_cta,
        .lane = lane + copy * 64,
        .column = bit / 32,
        .bit = bit % 32,
    };
}

static const struct {
    uint8_t rows;
    uint8_t words;
} cp_shapes[TMEM_CP_SHAPE_COUNT] = {
    [TMEM_CP_128X256B] = {128, 8},     [TMEM_CP_128X128B] = {128, 4},
    [TMEM_CP_4X256B] = {4, 8},         [TMEM_CP_64X128B_02_13] = {64, 4},
    [TMEM_CP_64X128B_01_23] = {64, 4}, [TMEM_CP_32X128B_WARPX4] = {32, 4},
};

uint32_t tmem_cp_rows(enum tmem_cp_shape shape) {
    return cp_shapes[shape].rows;
}

uint32_t tmem_cp_words(enum tmem_cp_shape shape) {
    return cp_shapes[shape].words;
}

uint32_t tmem_cp_lanes(enum tmem_cp_shape shape, uint32_t row, uint32_t lanes[4]) {
    assert(row < cp_shapes[shape].rows);
    uint32_t first = row, step = 0, count = 1;
    switch (shape) {
    case TMEM_CP_128X256B:
    case TMEM_CP_128X128B: break;
    case TMEM_CP_4X256B: first = 32 * row; break;
    case TMEM_CP_64X128B_02_13: step = 64, count = 2; break;
    case TMEM_CP_64X128B_01_23: first = row / 32 * 64 + row % 32, step = 32, count = 2; break;
    case TMEM_CP_32X128B_WARPX4: step = 32, count = 4; break;
    case TMEM_CP_SHAPE_COUNT: assert(false && "a shape that does not exist"); break;
    }
    for (uint32_t i = 0; i < count; i++)
        lanes[i] = first + i * step;
    return count;
}
