/* Libraries: modules of the process instead of a context, whose kernels have handles that need no
 * context. */
#include <stdlib.h>

#include "cu_functions.h"
#include "cu_module.h"

static struct cu_module *find(CUlibrary handle) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_LIBRARY, handle);
}

static struct cu_function *find_kernel(CUkernel handle) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_KERNEL, handle);
}

static CUresult load(CUlibrary *handle, const char *text, const char *file, struct cu_jit *jit) {
    struct cu_module *module = NULL;
    CUresult code =
        cu_module_load(&(struct cu_load){.text = text, .file = file, .jit = jit}, &module);
    if (code == CUDA_SUCCESS)
        *handle = module->library_handle;
    return code;
}

/* The table of host functions that CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE passes belongs
 * to a runtime's unified functions. CU_LIBRARY_BINARY_IS_PRESERVED needs nothing: texts are copied
 * anyway. */
static CUresult check_options(CUlibrary *handle, const CUlibraryOption *options, unsigned count) {
    if (!handle || (count > 0 && !options))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (options[i] != CU_LIBRARY_BINARY_IS_PRESERVED)
            return cu_unsupported("cuLibraryLoad: library option %d is not modelled",
                                  (int)options[i]);
    return CUDA_SUCCESS;
}

CUresult do_cuLibraryLoadData(CUlibrary *handle, const void *image, CUjit_option *options,
                              void **values, unsigned int option_count,
                              CUlibraryOption *library_options, void **library_values,
                              unsigned int library_option_count) {
    struct cu_jit jit;
    (void)library_values;
    CUresult code = cu_jit_read(&jit, option_count, options, values);
    if (code == CUDA_SUCCESS)
        code = check_options(handle, library_options, library_option_count);
    return code == CUDA_SUCCESS ? load(handle, image, NULL, option_count ? &jit : NULL) : code;
}

CUresult do_cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options,
                                  void **values, unsigned int option_count,
                                  CUlibraryOption *library_options, void **library_values,
                                  unsigned int library_option_count) {
    struct cu_jit jit;
    (void)library_values;
    CUresult code = cu_jit_read(&jit, option_count, options, values);
    if (code == CUDA_SUCCESS)
        code = check_options(handle, library_options, library_option_count);
    if (code != CUDA_SUCCESS)
        return code;
    char *text = cu_read_file(path, &code);
    if (text)
        code = load(handle, text, path, option_count ? &jit : NULL);
    free(text);
    return code;
}

CUresult do_cuLibraryUnload(CUlibrary handle) {
    struct cu_module *module = find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    cu_module_free(module);
    return CUDA_SUCCESS;
}

CUresult do_cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name) {
    struct cu_module *module = find(handle);
    if (!kernel || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    const struct cu_function *function = cu_module_function(module, name);
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *kernel = function->kernel_handle;
    return CUDA_SUCCESS;
}

CUresult do_cuLibraryGetModule(CUmodule *module_handle, CUlibrary handle) {
    const struct cu_module *module = find(handle);
    if (!module_handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *module_handle = module->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle,
                               const char *name) {
    const struct cu_module *module = find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    return do_cuModuleGetGlobal_v2(address, bytes, module->handle, name);
}

CUresult do_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle) {
    const struct cu_module *module = find(handle);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult do_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary handle) {
    const struct cu_module *module = find(handle);
    if (!kernels && count > 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < count && i < module->function_count; i++)
        kernels[i] = module->functions[i].kernel_handle;
    return CUDA_SUCCESS;
}

/* Kernels of libraries */

CUresult do_cuKernelGetFunction(CUfunction *handle, CUkernel kernel) {
    const struct cu_function *function = find_kernel(kernel);
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *handle = function->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    const struct cu_function *function = find_kernel(kernel);
    if (!library)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *library = function->module->library_handle;
    return CUDA_SUCCESS;
}

/* The function handle behind a kernel's, for the calls that exist for both. */
static CUresult function_of(CUkernel kernel, CUdevice device, CUfunction *handle) {
    const struct cu_function *function = find_kernel(kernel);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    *handle = function->handle;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult do_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                 CUdevice device) {
    CUfunction function = NULL;
    CUresult code = function_of(kernel, device, &function);
    return code == CUDA_SUCCESS ? do_cuFuncGetAttribute(value, attribute, function) : code;
}

CUresult do_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                 CUdevice device) {
    CUfunction function = NULL;
    CUresult code = function_of(kernel, device, &function);
    return code == CUDA_SUCCESS ? do_cuFuncSetAttribute(function, attribute, value) : code;
}

CUresult do_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
    CUfunction function = NULL;
    CUresult code = function_of(kernel, device, &function);
    return code == CUDA_SUCCESS ? do_cuFuncSetCacheConfig(function, config) : code;
}

CUresult do_cuKernelGetName(const char **name, CUkernel kernel) {
    CUfunction function = NULL;
    CUresult code = function_of(kernel, 0, &function);
    return code == CUDA_SUCCESS ? do_cuFuncGetName(name, function) : code;
}

CUresult do_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes) {
    CUfunction function = NULL;
    CUresult code = function_of(kernel, 0, &function);
    return code == CUDA_SUCCESS ? do_cuFuncGetParamInfo(function, index, offset, bytes) : code;
}
