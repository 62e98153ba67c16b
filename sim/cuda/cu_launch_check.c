/* What the driver refuses before a kernel runs. The order of the checks is the order of the
 * arguments; an H200's driver returns the same code for each alone, and
 * that of the first (traces/silicon/h200/fault.txt).
 *
 *   grid or block of 0, or past the device's limits     1
 *   block that does not suit .reqntid or .maxntid       1
 *   cluster of 0, not dividing the grid, above 8 (16)   912
 *   a grid that cannot be resident, if cooperative      720
 *   dynamic shared memory above what was asked for      1
 *
 * Not checked: registers times threads, since the register count is only an estimate. */
#include "cu_launch.h"

#include <stdio.h>

#include "ir.h"

enum { PORTABLE_CLUSTER_CTAS = 8, LARGEST_CLUSTER_CTAS = 16 };

static const char axis[3] = {'x', 'y', 'z'};

static CUresult refuse(const struct cu_launch *launch, CUresult code, const char *rule) {
    cu_log("launch of %s refused: %s", exec_kernel_info(launch->function->kernel)->name, rule);
    return code;
}

static CUresult check_sizes(const struct cu_launch *launch) {
    const struct device_model *model = cu_root()->model;
    char rule[128];
    for (int i = 0; i < 3; i++) {
        uint32_t grid_max = device_model_limit(model, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i);
        uint32_t block_max = device_model_limit(model, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
        if (launch->grid[i] == 0 || launch->grid[i] > grid_max) {
            snprintf(rule, sizeof rule, "grid.%c is %u, 1 to %u are possible", axis[i],
                     launch->grid[i], grid_max);
            return refuse(launch, CUDA_ERROR_INVALID_VALUE, rule);
        }
        if (launch->block[i] == 0 || launch->block[i] > block_max) {
            snprintf(rule, sizeof rule, "block.%c is %u, 1 to %u are possible", axis[i],
                     launch->block[i], block_max);
            return refuse(launch, CUDA_ERROR_INVALID_VALUE, rule);
        }
    }
    return CUDA_SUCCESS;
}

static uint64_t product(const uint32_t dims[3]) {
    return (uint64_t)dims[0] * (dims[1] ? dims[1] : 1) * (dims[2] ? dims[2] : 1);
}

static CUresult check_threads(struct cu_launch *launch) {
    const struct ir_directives *directives = exec_kernel_info(launch->function->kernel)->directives;
    uint64_t threads = product(launch->block);
    uint32_t most = device_model_limit(cu_root()->model, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (threads > most)
        return refuse(launch, CUDA_ERROR_INVALID_VALUE, "more threads a block than the device has");
    if (directives->reqntid[0]) {
        /* A block of one thread stands for the required one (H200: 64 threads run). */
        for (int i = 0; threads == 1 && i < 3; i++)
            launch->block[i] = directives->reqntid[i] ? directives->reqntid[i] : 1;
        for (int i = 0; i < 3; i++)
            if (launch->block[i] != (directives->reqntid[i] ? directives->reqntid[i] : 1))
                return refuse(launch, CUDA_ERROR_INVALID_VALUE, "the block is not .reqntid");
    } else if (directives->maxntid[0] && threads > product(directives->maxntid)) {
        return refuse(launch, CUDA_ERROR_INVALID_VALUE, "the block is larger than .maxntid");
    }
    return CUDA_SUCCESS;
}

static CUresult check_smem(const struct cu_launch *launch) {
    const struct cu_function *function = launch->function;
    uint32_t fixed = exec_kernel_info(function->kernel)->static_smem_bytes;
    uint64_t total = (uint64_t)fixed + launch->dynamic_smem_bytes;
    char rule[160];
    if (launch->dynamic_smem_bytes > (uint32_t)function->max_dynamic_smem_bytes) {
        snprintf(rule, sizeof rule,
                 "%u bytes of dynamic shared memory, MAX_DYNAMIC_SHARED_SIZE_BYTES is %d",
                 launch->dynamic_smem_bytes, function->max_dynamic_smem_bytes);
        return refuse(launch, CUDA_ERROR_INVALID_VALUE, rule);
    }
    if (total > cu_root()->model->exec.smem_per_block_bytes)
        return refuse(launch, CUDA_ERROR_INVALID_VALUE,
                      "static and dynamic shared memory together exceed the device's");
    return CUDA_SUCCESS;
}

/* A cluster may come from the launch, from the kernel's text or from a function attribute. */
static CUresult settle_cluster(struct cu_launch *launch) {
    const struct ir_directives *directives = exec_kernel_info(launch->function->kernel)->directives;
    const uint32_t *written = directives->reqnctapercluster;
    const int *required = launch->function->required_cluster;
    if (written[0]) {
        for (int i = 0; i < 3; i++) {
            uint32_t ctas = written[i] ? written[i] : 1;
            if (launch->explicit_cluster && launch->cluster[i] != ctas)
                return refuse(launch, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                              "the cluster is not .reqnctapercluster");
            launch->cluster[i] = ctas;
        }
        launch->explicit_cluster = true;
    } else if (!launch->explicit_cluster && (required[0] || required[1] || required[2])) {
        /* All three must have been set: a 0 among them is refused (H200). */
        for (int i = 0; i < 3; i++)
            launch->cluster[i] = (uint32_t)required[i];
        launch->explicit_cluster = true;
    } else if (!launch->explicit_cluster && directives->explicitcluster) {
        return refuse(launch, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                      ".explicitcluster, but the launch names no cluster");
    }
    return CUDA_SUCCESS;
}

static CUresult check_cluster(struct cu_launch *launch) {
    CUresult code = settle_cluster(launch);
    if (code != CUDA_SUCCESS || !launch->explicit_cluster)
        return code;
    uint64_t ctas = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->cluster[i] == 0 || launch->grid[i] % launch->cluster[i] != 0)
            return refuse(launch, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                          "the grid is no multiple of the cluster");
        ctas *= launch->cluster[i];
        if (ctas > LARGEST_CLUSTER_CTAS)
            return refuse(launch, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                          "a cluster of more than 16 CTAs");
    }
    if (ctas > PORTABLE_CLUSTER_CTAS && !launch->function->non_portable_cluster)
        return refuse(launch, CUDA_ERROR_INVALID_CLUSTER_SIZE,
                      "a cluster of more than 8 CTAs without NON_PORTABLE_CLUSTER_SIZE_ALLOWED");
    return CUDA_SUCCESS;
}

static CUresult check_cooperative(const struct cu_launch *launch) {
    if (!launch->cooperative)
        return CUDA_SUCCESS;
    uint64_t resident = (uint64_t)cu_occupancy(launch->function, (int)product(launch->block),
                                               launch->dynamic_smem_bytes) *
                        cu_root()->model->exec.sm_count;
    if (product(launch->grid) > resident)
        return refuse(launch, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                      "cooperative, but not all CTAs can be resident");
    return CUDA_SUCCESS;
}

CUresult cu_launch_check(struct cu_launch *launch) {
    CUresult code = check_sizes(launch);
    if (code == CUDA_SUCCESS)
        code = check_threads(launch);
    if (code == CUDA_SUCCESS)
        code = check_cluster(launch);
    if (code == CUDA_SUCCESS)
        code = check_cooperative(launch);
    return code == CUDA_SUCCESS ? check_smem(launch) : code;
}
