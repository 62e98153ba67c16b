#ifndef SILTWIN_MMA_SPARSE_H
#define SILTWIN_MMA_SPARSE_H

#include <stdint.h>

/* Sparse A of mma.sp and wgmma.mma_async.sp: half of each row is kept, and metadata says which
 * half. The drawing is in mma_sparse.c. */
struct mma_sparse {
    uint32_t element_bits; /* 32, 16, 8, 4 */
    uint32_t k;            /* elements of the whole row: 32 or 64 bytes of them */
    uint32_t selector;     /* the instruction's sparsity selector */
};

enum { MMA_SPARSE_ROWS = 16, MMA_SPARSE_LANES = 32, MMA_SPARSE_KEPT_MAX = 32 };

/* Bytes of a unit, units that a row keeps, and groups of a row. */
uint32_t mma_sparse_unit_bytes(const struct mma_sparse *form);
uint32_t mma_sparse_kept(const struct mma_sparse *form);
uint32_t mma_sparse_groups(const struct mma_sparse *form);
/* Selectors that exist: 1, 2 or 4, since a warp's metadata fills 32, 16 or 8 lanes. */
uint32_t mma_sparse_selectors(const struct mma_sparse *form);

/* Where the nibble of group `group` of row `row` (0..15 of a warp's rows) is: nibble `nibble`,
 * counted from the lowest, of the metadata register of lane `lane`. */
struct mma_sparse_place {
    uint32_t lane, nibble;
};
struct mma_sparse_place mma_sparse_place(const struct mma_sparse *form, uint32_t row,
                                         uint32_t group);

/* kept[i]: which unit of a column of B the ith kept unit of row `row` of A meets. */
void mma_sparse_row(const struct mma_sparse *form, const uint32_t metadata[MMA_SPARSE_LANES],
                    uint32_t row, uint8_t kept[MMA_SPARSE_KEPT_MAX]);

/* Those units of a column of B (64 bytes or 32), in the order of A's. */
void mma_sparse_pick(const struct mma_sparse *form, const uint8_t *column,
                     const uint8_t kept[MMA_SPARSE_KEPT_MAX], uint8_t *out);

#endif
