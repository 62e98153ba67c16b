/* Questions to a loaded module: kernels and variables by name. */
#include "cu_functions.h"
#include "cu_module.h"

CUresult do_cuModuleGetFunction(CUfunction *handle, CUmodule module_handle, const char *name) {
    struct cu_module *module = cu_module_find(module_handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!handle || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cu_function *function = cu_module_function(module, name);
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *handle = function->handle;
    return CUDA_SUCCESS;
}

/* Either output may be NULL, not both (H200). */
CUresult do_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module_handle,
                                 const char *name) {
    struct cu_module *module = cu_module_find(module_handle);
    uint64_t guest = 0, size_bytes = 0;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((!address && !bytes) || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!exec_module_global(module->exec, name, &guest, &size_bytes))
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = guest;
    if (bytes)
        *bytes = size_bytes;
    return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunctionCount(unsigned int *count, CUmodule module_handle) {
    const struct cu_module *module = cu_module_find(module_handle);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult do_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count,
                                       CUmodule module_handle) {
    const struct cu_module *module = cu_module_find(module_handle);
    if (!functions && count > 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < count && i < module->function_count; i++)
        functions[i] = module->functions[i].handle;
    return CUDA_SUCCESS;
}

CUresult do_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
