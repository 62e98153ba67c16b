/* Register fragments. The picture behind all of them is the 8-row core: lane l holds row l/4 and
 * 4 bytes of it, number l%4.
 *
 *              bytes 0-3   4-7   8-11  12-15
 *      row 0    lane 0      1      2      3
 *      row 1    lane 4      5      6      7
 *      ...
 *      row 7    lane 28    29     30     31
 *
 * A operand, four registers: 0 rows 0-7, 1 rows 8-15, both of the first 16 bytes of K; 2, 3 the
 * same of the next 16 bytes. D: 8 columns of 32-bit elements per two registers pairs, rows 0-7 then
 * 8-15. wgmma adds 16 rows per warp.
 *
 * Manual: wgmma and mma "Matrix fragments", ldmatrix, stmatrix, movmatrix (PTX ISA 9.0); oracle
 * wgmma_d_frag, wgmma_a_frag, ldsm_stsm. Sparse A's metadata: mma_sparse.c. Other shapes of
 * mma.sync, and wmma: mma_fragment.c. */
#include "fragment.h"

#include <assert.h>

enum { WARP_LANES = 32, WARPGROUP_THREADS = 128 };

struct fragment_place fragment_wgmma_d(uint32_t thread, uint32_t v) {
    assert(thread < WARPGROUP_THREADS && v < 128);
    struct fragment_place place = fragment_mma_c(thread % WARP_LANES, v % 4);
    return (struct fragment_place){
        .row = 16 * (thread / WARP_LANES) + place.row,
        .col = 8 * (v / 4) + place.col,
    };
}

struct fragment_place fragment_wgmma_a(uint32_t element_bits, uint32_t thread, uint32_t reg,
                                       uint32_t sub) {
    assert(thread < WARPGROUP_THREADS);
    struct fragment_place place = fragment_mma_a(element_bits, thread % WARP_LANES, reg, sub);
    place.row += 16 * (thread / WARP_LANES);
    return place;
}

struct fragment_place fragment_mma_a(uint32_t element_bits, uint32_t lane, uint32_t reg,
                                     uint32_t sub) {
    uint32_t per_reg = 32 / element_bits;
    assert((element_bits == 8 || element_bits == 16 || element_bits == 32) && lane < WARP_LANES &&
           reg < 4 && sub < per_reg);
    return (struct fragment_place){
        .row = lane / 4 + 8 * (reg % 2),
        .col = per_reg * (lane % 4) + sub + 4 * per_reg * (reg / 2),
    };
}

struct fragment_place fragment_mma_b(uint32_t element_bits, uint32_t lane, uint32_t reg,
                                     uint32_t sub) {
    uint32_t per_reg = 32 / element_bits;
    assert((element_bits == 8 || element_bits == 16 || element_bits == 32) && lane < WARP_LANES &&
           reg < 2 && sub < per_reg);
    return (struct fragment_place){
        .row = per_reg * (lane % 4) + sub + 4 * per_reg * reg,
        .col = lane / 4,
    };
}

struct fragment_place fragment_mma_c(uint32_t lane, uint32_t i) {
    assert(lane < WARP_LANES && i < 4);
    return (struct fragment_place){.row = lane / 4 + 8 * (i / 2), .col = 2 * (lane % 4) + i % 2};
}

struct fragment_source fragment_move_source(enum fragment_move move, uint32_t lane, uint32_t reg,
                                            uint32_t sub) {
    assert(lane < WARP_LANES && reg < 4 && sub < fragment_move_elements(move));
    uint32_t quad = lane / 4, in_quad = lane % 4;
    switch (move) {
    case FRAGMENT_M8N8_B16: return (struct fragment_source){8 * reg + quad, 2 * in_quad + sub};
    case FRAGMENT_M8N8_TRANS_B16:
        return (struct fragment_source){8 * reg + 2 * in_quad + sub, quad};
    case FRAGMENT_LDMATRIX_M16N16_TRANS_B8:
        return (struct fragment_source){16 * (reg / 2) + 4 * in_quad + sub, quad + 8 * (reg % 2)};
    case FRAGMENT_LDMATRIX_M8N16:
        return (struct fragment_source){8 * reg + quad, 4 * in_quad + sub};
    case FRAGMENT_STMATRIX_M16N8_TRANS_B8:
        return (struct fragment_source){8 * reg + 2 * in_quad + (sub & 1), quad + 8 * (sub >> 1)};
    case FRAGMENT_MOVE_COUNT: break;
    }
    assert(false && "a matrix move that does not exist");
    return (struct fragment_source){0, 0};
}

uint32_t fragment_move_registers(enum fragment_move move) {
    return move == FRAGMENT_LDMATRIX_M16N16_TRANS_B8 ? 2 : 1;
}

uint32_t fragment_move_elements(enum fragment_move move) {
    return move == FRAGMENT_M8N8_B16 || move == FRAGMENT_M8N8_TRANS_B16 ? 2 : 4;
}

uint32_t fragment_move_rows(enum fragment_move move) {
    return move == FRAGMENT_LDMATRIX_M16N16_TRANS_B8 ? 16 : 8;
}

uint32_t fragment_movmatrix_source(uint32_t lane, uint32_t sub, uint32_t *source_sub) {
    assert(lane < WARP_LANES && sub < 2);
    uint32_t row = 2 * (lane % 4) + sub, col = lane / 4;
    *source_sub = col % 2;
    return row * 4 + col / 2;
}
