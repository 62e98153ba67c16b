#ifndef SILTWIN_TMEM_ACCESS_H
#define SILTWIN_TMEM_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tmem.h"

/* How instructions lay matrices over Tensor Memory: tcgen05.ld and st shapes, the data-path layouts
 * of D and of an A operand, and the copies of tcgen05.cp. Lanes and columns are relative to the
 * instruction's address. */

/* ---- tcgen05.ld, tcgen05.st ---- */
enum tmem_shape {
    TMEM_32X32B,
    TMEM_16X64B,
    TMEM_16X128B,
    TMEM_16X256B,
    TMEM_16X32BX2,
    TMEM_SHAPE_COUNT,
};

struct tmem_access {
    enum tmem_shape shape;
    uint32_t num;                /* the N of .xN */
    bool packed;                 /* .pack::16b or .unpack::16b */
    uint32_t half_split_columns; /* immHalfSplitoff of 16x32bx2, in columns; else 0 */
};

/* Is .xN a legal repeat of the shape? 1..128, 16x128b 1..64, 16x256b 1..32, powers of two. */
bool tmem_access_num_is_legal(enum tmem_shape shape, uint32_t num);
/* 32-bit registers of one thread. */
uint32_t tmem_access_registers(enum tmem_shape shape, uint32_t num);
/* Columns from the address to the last one touched, the second half of 16x32bx2 included. */
uint32_t tmem_access_columns(const struct tmem_access *access);
/* Lanes: 32 or 16. */
uint32_t tmem_access_lanes(enum tmem_shape shape);

struct tmem_cell {
    uint32_t lane;
    uint32_t column;
};

/* Cell of register `reg` of warp lane `thread`. When packed the register's low half is bits 15:0 of
 * that cell and its high half bits 15:0 of the next column; what .unpack::16b leaves in the upper
 * halves of the cells is not known. Manual: tcgen05 "Data movement shape"; oracle tmem_ld_32b,
 * tmem_ld_pack16. */
struct tmem_cell tmem_access_cell(const struct tmem_access *access, uint32_t thread, uint32_t reg);

/* First lane that warp `warp` really accesses with `address`. Silicon takes lane bits 5 and 6 from
 * the warp (published kernels pass lane 0 from all warps): where the address says otherwise
 * `*lane_differs` is set, for a report. TMEM_LANE_BASE: lane % 32 is not 0 (16-lane shapes: 0 or
 * 16). TMEM_LANE_RANGE: above 127. */
enum tmem_error tmem_access_first_lane(enum tmem_shape shape, uint32_t address, uint32_t warp,
                                       uint32_t *lane, bool *lane_differs);

/* ---- D of tcgen05.mma ---- */
enum tmem_d_layout {
    TMEM_D_A, /* M 256, cta_group::2 */
    TMEM_D_B, /* M 128, cta_group::2, dense */
    TMEM_D_C, /* M 128, cta_group::2, sparse: not known, never returned as known */
    TMEM_D_D, /* M 128, cta_group::1, also .ws */
    TMEM_D_E, /* M 64, .ws */
    TMEM_D_F, /* M 64, cta_group::1 */
    TMEM_D_G, /* M 32, .ws */
};

struct tmem_mma_shape {
    uint32_t m, n;
    unsigned cta_group;
    bool ws;
    bool sparse;
};

/* The layout of a legal shape (instr_desc_check). False for the sparse cta_group::2 M 128 one. */
bool tmem_d_layout(const struct tmem_mma_shape *shape, enum tmem_d_layout *layout);

/* A run of columns n of one row of D. One 32-bit cell each, f16 in the low half (the upper half
 * after an f16 write is not known). */
struct tmem_d_run {
    uint32_t cta;     /* 0 even, 1 odd CTA of the pair */
    uint32_t lane;    /* + the address's lane (F: 0 or 16, others 0) */
    uint32_t column;  /* + the address's column */
    uint32_t first_n; /* D column at `column` */
    uint32_t count;
};

/* Row i of D as runs by rising n, at most four; returns how many. Manual: tcgen05 "Data path layout
 * organization"; oracle umma_d_layout. */
uint32_t tmem_d_row(const struct tmem_mma_shape *shape, enum tmem_d_layout layout, uint32_t row,
                    struct tmem_d_run runs[4]);
/* Columns that D takes: N, N/2 (B, E) or N/4 (G). */
uint32_t tmem_d_columns(const struct tmem_mma_shape *shape, enum tmem_d_layout layout);
/* Lane bases that d's address may have. F and C: 0 or 16; the others 0. */
enum tmem_error tmem_d_check_lane(enum tmem_d_layout layout, uint32_t address);

/* ---- A of tcgen05.mma in Tensor Memory ---- */
enum { TMEM_A_COLUMNS = 8 }; /* a row of A is always 8 columns: 32 bytes of k */

struct tmem_a_place {
    uint32_t cta;
    uint32_t lane;   /* + the address's lane */
    uint32_t column; /* + the address's column */
    uint32_t bit;    /* of the element's lowest bit */
};

/* False where the place of A is not known: .ws with M 32 or 64, sparse cta_group::2 M 128. */
bool tmem_a_is_known(const struct tmem_mma_shape *shape);
/* How often A lies there: 2 for cta_group::2 with M 128 (lanes 0..63 and 64..127), else 1. */
uint32_t tmem_a_copies(const struct tmem_mma_shape *shape);
/* Element (row, k) of the copy; stored_bits 4 (mxf4), 8 (all that lie one to a byte), 16 or 32.
 * Manual: tcgen05 "Packing formats of matrix A in Tensor Memory"; oracle umma_a_tmem. */
struct tmem_a_place tmem_a_element(const struct tmem_mma_shape *shape, uint32_t stored_bits,
                                   uint32_t row, uint32_t k, uint32_t copy);

/* ---- tcgen05.cp ---- */
enum tmem_cp_shape {
    TMEM_CP_128X256B,
    TMEM_CP_128X128B,
    TMEM_CP_4X256B,
    TMEM_CP_64X128B_02_13,
    TMEM_CP_64X128B_01_23,
    TMEM_CP_32X128B_WARPX4,
    TMEM_CP_SHAPE_COUNT,
};

/* Rows of the source matrix (read through the descriptor as K-major), and 32-bit words a row: word
 * w of a row goes to column w. */
uint32_t tmem_cp_rows(enum tmem_cp_shape shape);
uint32_t tmem_cp_words(enum tmem_cp_shape shape);
/* Lanes that row `row` goes to (+ the address's lane); returns how many. Oracle tcgen05_cp; 4x256b
 * only as CuTe models it, which its own authors do not vouch for. */
uint32_t tmem_cp_lanes(enum tmem_cp_shape shape, uint32_t row, uint32_t lanes[4]);

#endif
