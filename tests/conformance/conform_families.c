/* The families, in the order in which they run. */
#include "conform_families.h"

#define ROW(name, cases, bytes)                                                                    \
    { #name, cases, bytes, conform_##name##_run, conform_##name##_describe }

const struct conform_family conform_families[] = {
    ROW(tensormap, CONFORM_TENSORMAP_CASES, CONFORM_TENSORMAP_BYTES),
    ROW(im2col_map, CONFORM_TENSORMAP_CASES, CONFORM_TENSORMAP_BYTES),
    ROW(mbarrier, CONFORM_MBARRIER_CASES, CONFORM_MBARRIER_BYTES),
    ROW(matrix, CONFORM_MATRIX_CASES, CONFORM_MATRIX_BYTES),
    ROW(warp, CONFORM_WARP_CASES, CONFORM_WARP_BYTES),
    ROW(atom, CONFORM_ATOM_CASES, CONFORM_ATOM_BYTES),
    ROW(scalar, CONFORM_SCALAR_CASES, CONFORM_SCALAR_BYTES),
    ROW(exhaustive, CONFORM_EXHAUSTIVE_CASES, CONFORM_SCALAR_BYTES),
    ROW(approx, CONFORM_APPROX_CASES, CONFORM_APPROX_BYTES),
    ROW(bulk, CONFORM_BULK_CASES, CONFORM_BULK_BYTES),
    ROW(tma_load, CONFORM_TMA_CASES, CONFORM_TMA_LOAD_BYTES),
    ROW(tma_store, CONFORM_TMA_CASES, CONFORM_TMA_STORE_BYTES),
    ROW(interleave_load, CONFORM_TMA_CASES, CONFORM_TMA_LOAD_BYTES),
    ROW(interleave_store, CONFORM_TMA_CASES, CONFORM_TMA_STORE_BYTES),
    ROW(im2col_load, CONFORM_TMA_CASES, CONFORM_TMA_LOAD_BYTES),
    ROW(im2col_store, CONFORM_TMA_CASES, CONFORM_TMA_STORE_BYTES),
    ROW(wgmma, CONFORM_WGMMA_CASES, CONFORM_WGMMA_BYTES),
    ROW(wgmma_sp, CONFORM_WGMMA_CASES, CONFORM_WGMMA_BYTES),
    ROW(wgmma_b1, CONFORM_WGMMA_CASES, CONFORM_WGMMA_BYTES),
    ROW(mma, CONFORM_MMA_CASES, CONFORM_MMA_BYTES),
    ROW(mma_sp, CONFORM_MMA_CASES, CONFORM_MMA_BYTES),
    ROW(wmma, CONFORM_WMMA_CASES, CONFORM_WMMA_BYTES),
    {0},
};
