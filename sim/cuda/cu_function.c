/* Kernels: their attributes, names and parameters.
 *
 * CU_FUNC_ATTRIBUTE_NUM_REGS is this library's own estimate from the liveness of the PTX registers,
 * not what ptxas would allocate. */
#include <string.h>

#include "cu_functions.h"
#include "cu_module.h"
#include "ir.h"

enum {
    MAX_THREADS = 1024,
    CARVEOUT_MAX = 100,
    SCHEDULING_POLICY_MAX = 2,
    ATTRIBUTE_COUNT = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1,
};

struct cu_function *cu_function_find(CUfunction handle) {
    struct cu_handles *handles = &cu_root()->handles;
    struct cu_function *function = cu_handle_get(handles, CU_KIND_FUNCTION, handle);
    return function ? function : cu_handle_get(handles, CU_KIND_KERNEL, handle);
}

static uint32_t product(const uint32_t dims[3]) {
    return dims[0] * (dims[1] ? dims[1] : 1) * (dims[2] ? dims[2] : 1);
}

static int max_threads(const struct ir_directives *directives) {
    if (directives->reqntid[0])
        return (int)product(directives->reqntid);
    if (directives->maxntid[0])
        return (int)product(directives->maxntid);
    return MAX_THREADS;
}

/* Dimension of the cluster that the kernel's text or cuFuncSetAttribute demands; 0: none. */
static int required_cluster(const struct cu_function *function, int dimension) {
    const uint32_t *written = exec_kernel_info(function->kernel)->directives->reqnctapercluster;
    if (written[0])
        return (int)(written[dimension] ? written[dimension] : 1);
    return function->required_cluster[dimension];
}

static int attribute_value(const struct cu_function *function, CUfunction_attribute attribute) {
    const struct exec_kernel_info *info = exec_kernel_info(function->kernel);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return max_threads(info->directives);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return (int)info->static_smem_bytes;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return (int)info->const_bytes;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return (int)info->local_bytes;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return (int)info->registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: return exec_module_ir(function->module->exec)->target;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return cu_root()->model->exec.sm;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return function->max_dynamic_smem_bytes;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return function->carveout;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: return info->directives->explicitcluster;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return required_cluster(function, 0);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return required_cluster(function, 1);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return required_cluster(function, 2);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return function->non_portable_cluster;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return function->scheduling_policy;
    }
    return 0;
}

CUresult do_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    const struct cu_function *function = cu_function_find(handle);
    if (!value || (unsigned)attribute >= ATTRIBUTE_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *value = attribute_value(function, attribute);
    return CUDA_SUCCESS;
}

/* Static and dynamic memory together must fit the opt-in limit (H200 observation 40). */
static CUresult set_max_dynamic_smem(struct cu_function *function, int bytes) {
    int limit = (int)cu_root()->model->exec.smem_per_block_bytes -
                (int)exec_kernel_info(function->kernel)->static_smem_bytes;
    if (bytes < 0 || bytes > limit)
        return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_smem_bytes = bytes;
    return CUDA_SUCCESS;
}

static CUresult set_required_cluster(struct cu_function *function, int dimension, int ctas) {
    if (exec_kernel_info(function->kernel)->directives->reqnctapercluster[0])
        return CUDA_ERROR_NOT_PERMITTED; /* documented: the text has set it */
    if (ctas < 0)
        return CUDA_ERROR_INVALID_VALUE;
    function->required_cluster[dimension] = ctas;
    return CUDA_SUCCESS;
}

CUresult do_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    struct cu_function *function = cu_function_find(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return set_max_dynamic_smem(function, value);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > CARVEOUT_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        function->non_portable_cluster = value != 0;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) {
        if (value < 0 || value > SCHEDULING_POLICY_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        function->scheduling_policy = value;
        return CUDA_SUCCESS;
    }
    if (attribute >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
        attribute <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)
        return set_required_cluster(
            function, (int)attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
    return CUDA_ERROR_INVALID_VALUE; /* read only, or unknown */
}

CUresult do_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
    if (!cu_function_find(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult do_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
    if (!cu_function_find(handle))
        return CUDA_ERROR_INVALID_HANDLE;
    return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
                                                                        : CUDA_SUCCESS;
}

CUresult do_cuFuncGetModule(CUmodule *module, CUfunction handle) {
    const struct cu_function *function = cu_function_find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *module = function->module->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuFuncGetName(const char **name, CUfunction handle) {
    const struct cu_function *function = cu_function_find(handle);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *name = exec_kernel_info(function->kernel)->name;
    return CUDA_SUCCESS;
}

CUresult do_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes) {
    const struct cu_function *function = cu_function_find(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    const struct exec_kernel_info *info = exec_kernel_info(function->kernel);
    if (!offset || index >= info->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = info->params[index].offset_bytes;
    if (bytes)
        *bytes = info->params[index].size_bytes;
    return CUDA_SUCCESS;
}

CUresult do_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle) {
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return cu_function_find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuFuncLoad(CUfunction handle) {
    return cu_function_find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
