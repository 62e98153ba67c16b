/* How many CTAs fit on an SM: threads, warps, CTAs, registers and shared memory, each with its
 * allocation unit. On an H200, kernel of 8 registers: blocks of 32, 64, 1024, 1025 threads give 32,
 * 32, 2, 0; 128 threads with 48 KiB give 4; 96 threads with 20,000 bytes give 11.
 *
 * The register count is this library's estimate, so a kernel near the limit may differ from the
 * GPU. Not modelled: clusters of more than one CTA, whose number depends on how SMs are grouped. */
#include "cu_functions.h"
#include "cu_launch.h"

enum {
    WARP_THREADS = 32,
    SMEM_UNIT_BYTES = 128,
    REGISTER_UNIT = 256, /* registers a warp is given at a time */
};

static uint64_t limit(CUdevice_attribute attribute) {
    return device_model_limit(cu_root()->model, (int)attribute);
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

int cu_occupancy(const struct cu_function *function, int block_threads, size_t dynamic_smem_bytes) {
    const struct exec_kernel_info *info = exec_kernel_info(function->kernel);
    int most = 0;
    if (block_threads <= 0 || dynamic_smem_bytes > (size_t)function->max_dynamic_smem_bytes ||
        do_cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function->handle) !=
            CUDA_SUCCESS ||
        block_threads > most)
        return 0;
    uint64_t warps = round_up((uint64_t)block_threads, WARP_THREADS) / WARP_THREADS;
    uint64_t warp_registers =
        round_up((uint64_t)(info->registers ? info->registers : 1) * WARP_THREADS, REGISTER_UNIT);
    uint64_t smem_bytes = round_up(info->static_smem_bytes + dynamic_smem_bytes, SMEM_UNIT_BYTES) +
                          limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    uint64_t sm_warps = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / WARP_THREADS;
    uint64_t blocks = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    blocks = least(blocks, sm_warps / warps);
    blocks = least(blocks, limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) /
                               (warp_registers * warps));
    blocks =
        least(blocks, limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / smem_bytes);
    return (int)blocks;
}

static CUresult active_blocks(int *blocks, CUfunction handle, int block_size,
                              size_t dynamic_smem_bytes) {
    const struct cu_function *function = cu_function_find(handle);
    if (!blocks || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *blocks = cu_occupancy(function, block_size, dynamic_smem_bytes);
    return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                        int block_size, size_t dynamic_smem_bytes) {
    return active_blocks(blocks, function, block_size, dynamic_smem_bytes);
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                                 int block_size,
                                                                 size_t dynamic_smem_bytes,
                                                                 unsigned int flags) {
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    return active_blocks(blocks, function, block_size, dynamic_smem_bytes);
}

/* The block size with the most resident threads, the largest of equals. */
CUresult do_cuOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, CUfunction handle,
                                             CUoccupancyB2DSize smem_of_block,
                                             size_t dynamic_smem_bytes, int block_limit) {
    const struct cu_function *function = cu_function_find(handle);
    int most = 0, best_threads = 0;
    if (!grid_size || !block_size)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    do_cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
    if (block_limit > 0 && block_limit < most)
        most = block_limit;
    for (int threads = most; threads > 0; threads = (threads - 1) / WARP_THREADS * WARP_THREADS) {
        size_t smem = smem_of_block ? smem_of_block(threads) : dynamic_smem_bytes;
        int blocks = cu_occupancy(function, threads, smem);
        if (blocks * threads > best_threads) {
            best_threads = blocks * threads;
            *block_size = threads;
            *grid_size = blocks * (int)cu_root()->model->exec.sm_count;
        }
    }
    return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size,
                                                      CUfunction function,
                                                      CUoccupancyB2DSize smem_of_block,
                                                      size_t dynamic_smem_bytes, int block_limit,
                                                      unsigned int flags) {
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    return do_cuOccupancyMaxPotentialBlockSize(grid_size, block_size, function, smem_of_block,
                                               dynamic_smem_bytes, block_limit);
}

/* An equal share of the SM's memory, at most what the function may ask for. The reserved 1 KiB is
 * not taken off: an H200 answers 7296 for 32 blocks. */
CUresult do_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks,
                                                    int block_size) {
    const struct cu_function *function = cu_function_find(handle);
    if (!bytes || blocks <= 0 || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (cu_occupancy(function, block_size, 0) < blocks)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t share = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
                     (uint64_t)blocks / SMEM_UNIT_BYTES * SMEM_UNIT_BYTES;
    uint64_t fixed = exec_kernel_info(function->kernel)->static_smem_bytes;
    *bytes = least(share > fixed ? share - fixed : 0, (uint64_t)function->max_dynamic_smem_bytes);
    return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle,
                                         const CUlaunchConfig *config) {
    struct cu_launch launch = {.function = cu_function_find(handle)};
    if (!clusters || !config)
        return CUDA_ERROR_INVALID_VALUE;
    if (!launch.function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult code = cu_launch_attributes(&launch, config->attrs, config->numAttrs);
    if (code != CUDA_SUCCESS)
        return code;
    if (launch.explicit_cluster &&
        (launch.cluster[0] != 1 || launch.cluster[1] != 1 || launch.cluster[2] != 1))
        return cu_unsupported("cuOccupancyMaxActiveClusters: clusters of several CTAs are not "
                              "modelled");
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    *clusters = threads <= INT32_MAX
                    ? cu_occupancy(launch.function, (int)threads, config->sharedMemBytes) *
                          (int)cu_root()->model->exec.sm_count
                    : 0;
    return CUDA_SUCCESS;
}
