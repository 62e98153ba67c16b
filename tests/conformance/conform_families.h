#ifndef SILTWIN_CONFORM_FAMILIES_H
#define SILTWIN_CONFORM_FAMILIES_H

#include "conform.h"

/* Cases of a batch and most bytes of a case, by family. */
enum {
    CONFORM_WGMMA_CASES = 256,
    CONFORM_WGMMA_BYTES = 64 * 256 * 4,
    CONFORM_MMA_CASES = 512,
    CONFORM_MMA_BYTES = 32 * 8 * 4,
    CONFORM_WMMA_CASES = 256,
    CONFORM_WMMA_BYTES = 8192,
    CONFORM_TMA_CASES = 256,
    CONFORM_TMA_LOAD_BYTES = 12288 + 16,
    CONFORM_TMA_STORE_BYTES = 16384,
    CONFORM_TENSORMAP_CASES = 4096,
    CONFORM_TENSORMAP_BYTES = 128,
    CONFORM_MBARRIER_CASES = 1024,
    CONFORM_MBARRIER_STEPS = 16,
    CONFORM_MBARRIER_BYTES = CONFORM_MBARRIER_STEPS * 16 + 8,
    CONFORM_BULK_CASES = 256,
    CONFORM_BULK_BYTES = 8192,
    CONFORM_MATRIX_CASES = 256,
    CONFORM_MATRIX_BYTES = 4096,
    CONFORM_WARP_CASES = 512,
    CONFORM_WARP_BYTES = 32 * 8,
    CONFORM_ATOM_CASES = 1024,
    CONFORM_ATOM_BYTES = 32,
    CONFORM_SCALAR_CASES = 16384,
    CONFORM_EXHAUSTIVE_CASES = 65536,
    CONFORM_SCALAR_BYTES = 8,
    CONFORM_APPROX_CASES = 1024,
    CONFORM_APPROX_BYTES = 8,
};

/* Family NAME is conform_NAME_run and conform_NAME_describe. */
#define CONFORM_FAMILY(name)                                                                       \
    bool conform_##name##_run(struct conform_batch *batch, struct host_error *error);              \
    void conform_##name##_describe(const struct conform_batch *batch, uint32_t index, char *text,  \
                                   size_t size);
CONFORM_FAMILY(wgmma)
CONFORM_FAMILY(wgmma_sp)
CONFORM_FAMILY(wgmma_b1)
CONFORM_FAMILY(mma)
CONFORM_FAMILY(mma_sp)
CONFORM_FAMILY(wmma)
CONFORM_FAMILY(tma_load)
CONFORM_FAMILY(tma_store)
CONFORM_FAMILY(interleave_load)
CONFORM_FAMILY(interleave_store)
CONFORM_FAMILY(im2col_load)
CONFORM_FAMILY(im2col_store)
CONFORM_FAMILY(tensormap)
CONFORM_FAMILY(im2col_map)
CONFORM_FAMILY(mbarrier)
CONFORM_FAMILY(bulk)
CONFORM_FAMILY(matrix)
CONFORM_FAMILY(warp)
CONFORM_FAMILY(atom)
CONFORM_FAMILY(scalar)
CONFORM_FAMILY(exhaustive)
CONFORM_FAMILY(approx)
#undef CONFORM_FAMILY

#endif
