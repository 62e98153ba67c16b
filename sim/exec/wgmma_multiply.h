#ifndef SILTWIN_WGMMA_MULTIPLY_H
#define SILTWIN_WGMMA_MULTIPLY_H

#include <stddef.h>

#include "mma.h"
#include "mma_sparse.h"

/* The arithmetic of one wgmma.mma_async on operands that have been gathered. */

enum {
    WGMMA_WARPS = 4,
    WGMMA_ROWS = 64,
    WGMMA_MAX_N = 256,
    WGMMA_A_ROW_BYTES = 32,
    WGMMA_B_ROW_BYTES = 64, /* 32 are used when A is dense */
};

/* Fixed by the instruction's words. */
struct wgmma_form {
    enum mma_kind kind; /* not of b1 */
    enum mma_type a_type, b_type;
    enum mma_acc acc;
    uint32_t n, k;
    bool is_bits; /* b1: and, popc */
    bool a_in_registers, saturate, negate_a, negate_b, transpose_a, transpose_b;
    bool is_sparse;
    struct mma_sparse sparse;
};

struct wgmma_operands {
    uint8_t a[WGMMA_ROWS * WGMMA_A_ROW_BYTES];
    uint8_t b[WGMMA_MAX_N * WGMMA_B_ROW_BYTES];
    uint32_t metadata[WGMMA_WARPS][MMA_SPARSE_LANES];
    uint8_t picked[WGMMA_MAX_N * WGMMA_A_ROW_BYTES];  /* of b, for a row of sparse A */
    uint8_t expanded[WGMMA_ROWS * WGMMA_B_ROW_BYTES]; /* sparse A with its zeros */
    uint32_t sums[WGMMA_ROWS][WGMMA_MAX_N];           /* of its products, if they are integers */
};

/* Room that wgmma_multiply needs at `storage`, of any alignment. */
size_t wgmma_storage_bytes(void);

/* d[64][n] = a * b, plus what d holds if `accumulate`. */
void wgmma_multiply(const struct wgmma_form *form, struct wgmma_operands *operands,
                    uint8_t *storage, uint32_t (*d)[WGMMA_MAX_N], bool accumulate);

#endif
