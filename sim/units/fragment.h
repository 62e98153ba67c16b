#ifndef SILTWIN_FRAGMENT_H
#define SILTWIN_FRAGMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Which matrix element each lane holds in which register: wgmma and mma.sync fragments, and the
 * rows that ldmatrix, stmatrix and movmatrix move. `sub` counts the elements of a register from its
 * lowest bits. All are pure maps; arguments out of range are a caller's mistake (assert). */
struct fragment_place {
    uint32_t row;
    uint32_t col;
};

/* wgmma D: element v (0..N/2-1) of thread 0..127 of the warpgroup. 32-bit D: v is the register; f16
 * D: register v/2, half v%2. row = m 0..63, col = n. Manual: wgmma "Matrix fragments"; oracle
 * wgmma_d_frag. */
struct fragment_place fragment_wgmma_d(uint32_t thread, uint32_t v);

/* wgmma A from registers, element_bits 32 (tf32), 16 or 8: register 0..3. row = m 0..63, col = k.
 * Oracle wgmma_a_frag. */
struct fragment_place fragment_wgmma_a(uint32_t element_bits, uint32_t thread, uint32_t reg,
                                       uint32_t sub);

/* mma.sync m16n8kK fragments of lane 0..31, element_bits 32 (tf32), 16 or 8. K is 16 or 32 bytes of
 * elements: A has 2 or 4 registers, B 1 or 2 (the shorter one is a prefix). A: row = m, col = k. B:
 * row = k, col = n. C and D: element i 0..3, row = m, col = n (f16: register i/2, half i%2).
 * Manual: "Matrix fragments for mma.m16n8k8" and its neighbours. */
struct fragment_place fragment_mma_a(uint32_t element_bits, uint32_t lane, uint32_t reg,
                                     uint32_t sub);
struct fragment_place fragment_mma_b(uint32_t element_bits, uint32_t lane, uint32_t reg,
                                     uint32_t sub);
struct fragment_place fragment_mma_c(uint32_t lane, uint32_t i);

enum fragment_move {
    FRAGMENT_M8N8_B16,                 /* ldmatrix, stmatrix: 1, 2, 4 matrices, a register each */
    FRAGMENT_M8N8_TRANS_B16,           /* with .trans */
    FRAGMENT_LDMATRIX_M16N16_TRANS_B8, /* 1, 2 matrices, two registers each; also b6x16, b4x16 */
    FRAGMENT_LDMATRIX_M8N16,           /* b8x16.b6x16_p32, b8x16.b4x16_p64: 1, 2, 4 matrices */
    FRAGMENT_STMATRIX_M16N8_TRANS_B8,  /* 1, 2, 4 matrices, a register each */
    FRAGMENT_MOVE_COUNT,
};

/* Memory side of one element: the lane whose address operand names the 16-byte row, and the element
 * in that row (of 2 bytes for b16, else of 1 byte after expansion of 6- and 4-bit rows). */
struct fragment_source {
    uint32_t address_lane;
    uint32_t element;
};

/* Where element `sub` of register `reg` of `lane` comes from (ldmatrix) or goes to (stmatrix).
 * Manual: "ldmatrix", "stmatrix"; oracle ldsm_stsm.csv, warp/ (H200 observation 53). */
struct fragment_source fragment_move_source(enum fragment_move move, uint32_t lane, uint32_t reg,
                                            uint32_t sub);

/* Registers per matrix, elements per register, and rows (= address lanes) per matrix. */
uint32_t fragment_move_registers(enum fragment_move move);
uint32_t fragment_move_elements(enum fragment_move move);
uint32_t fragment_move_rows(enum fragment_move move);

/* movmatrix.m8n8.trans.b16: half `sub` of lane's result is half *source_sub of the returned lane's
 * operand. */
uint32_t fragment_movmatrix_source(uint32_t lane, uint32_t sub, uint32_t *source_sub);

#endif
