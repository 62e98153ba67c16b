#ifndef SILTWIN_MMA_TILE_H
#define SILTWIN_MMA_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mma.h"

/* D[M][N] = C[M][N] + A[M][K] * B[N][K] of one instruction on plain matrices, the bits of mma_dot,
 * fast. The caller gathers operands out of shared or Tensor Memory, prepares each once and may use
 * a prepared operand in any number of instructions.
 *
 * A vector runs along N. An accumulator stored with M innermost is computed as its transpose, with
 * the roles of A and B exchanged: products commute. */

/* One way to compute, chosen by what the processor has. All give the same bits. */
struct mma_engine;

/* The fastest one that this processor runs. Constant: ask once and keep it. */
const struct mma_engine *mma_engine_best(void);
/* Engine `index`, slowest first; NULL behind the last. */
const struct mma_engine *mma_engine_at(unsigned index);
const char *mma_engine_name(const struct mma_engine *engine);
bool mma_engine_usable(const struct mma_engine *engine);

enum mma_role { MMA_ROLE_A, MMA_ROLE_B };

enum { MMA_ROWS_MAX = 256, MMA_STORAGE_ALIGN = 64 };

struct mma_operand_desc {
    enum mma_role role;
    enum mma_type type;
    uint32_t rows;        /* M for A, N for B: at most MMA_ROWS_MAX */
    uint32_t k;           /* at most MMA_K_MAX */
    const void *elements; /* row r, element k at r*row_stride_bytes + k*mma_type_bytes(type) */
    size_t row_stride_bytes;
    bool negate; /* flip each sign: imm-scale -1 of wgmma, negate bits of tcgen05; no integers */
};

/* A prepared operand: points into the caller's storage and is used by its engine only. */
struct mma_operand {
    const struct mma_engine *engine;
    enum mma_role role;
    enum mma_type type;
    uint32_t rows, k;
    void *words;  /* the elements, signs flipped where asked, [rows][k] containers */
    void *values; /* the engine's planes: mma_planes.h, mma_plain.c */
    void *exponents;
    void *depths;
    void *row_info;
};

/* Bytes of storage that preparing needs with any engine, at MMA_STORAGE_ALIGN. */
size_t mma_operand_bytes(uint32_t rows, uint32_t k);

/* `elements` need not stay after this. */
void mma_operand_prepare(const struct mma_engine *engine, struct mma_operand *operand,
                         const struct mma_operand_desc *desc, void *storage);

struct mma_tile {
    const struct mma_arith *arith; /* of the operands' types: mma_arith_find */
    const struct mma_operand *a;   /* both prepared by one engine, same k */
    const struct mma_operand *b;
    uint32_t row_begin; /* rows of A to compute: all others of D stay untouched */
    uint32_t row_count;
    uint32_t *const *d_rows;       /* d_rows[i]: the N words of row row_begin + i of D */
    const uint32_t *const *c_rows; /* same for C; may point to the same words. NULL: C is zero */
    bool saturate;
    uint8_t scale_c_log2;
};

/* Nothing can fail: the caller has looked the form up. The thread's floating-point mode neither
 * matters nor changes, here and in mma_operand_prepare. */
void mma_tile(const struct mma_tile *tile);

#endif
