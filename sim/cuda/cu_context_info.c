/* What can be asked and set of a context. Cache and bank configurations and the limits are kept and
 * given back; nothing in the simulator depends on them. */
#include "cu_functions.h"
#include "cu_root.h"

static struct cu_context *named_or_current(CUcontext handle) {
    if (!handle)
        return cu_current();
    struct cu_context *context = cu_handle_get(&cu_root()->handles, CU_KIND_CONTEXT, handle);
    return context && context->active ? context : NULL;
}

static CUresult get_device(CUdevice *device, CUcontext handle) {
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!named_or_current(handle))
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice(CUdevice *device) {
    return get_device(device, NULL);
}

CUresult do_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle) {
    return get_device(device, handle);
}

CUresult do_cuCtxGetFlags(unsigned int *flags) {
    const struct cu_context *context = cu_current();
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxSetFlags(unsigned int flags) {
    struct cu_context *context = cu_current();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetId(CUcontext handle, unsigned long long *id) {
    const struct cu_context *context = named_or_current(handle);
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetApiVersion(CUcontext handle, unsigned int *version) {
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    if (!named_or_current(handle))
        return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020; /* as an H200's driver says of every context */
    return CUDA_SUCCESS;
}

/* Work is done when its call returns: there is only the error left to give, which the scope check
 * has given already. */
CUresult do_cuCtxSynchronize(void) {
    return CUDA_SUCCESS;
}

CUresult do_cuCtxSynchronize_v2(CUcontext handle) {
    const struct cu_context *context = named_or_current(handle);
    return context ? context->sticky : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxSetLimit(CUlimit limit, size_t value) {
    struct cu_context *context = cu_current();
    if ((unsigned)limit >= CU_LIMITS)
        return CUDA_ERROR_INVALID_VALUE;
    if (context->limits[limit] == 0)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    context->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetLimit(size_t *value, CUlimit limit) {
    const struct cu_context *context = cu_current();
    if (!value || (unsigned)limit >= CU_LIMITS)
        return CUDA_ERROR_INVALID_VALUE;
    if (context->limits[limit] == 0)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context->limits[limit];
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCacheConfig(CUfunc_cache *config) {
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = cu_current()->cache_config;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCacheConfig(CUfunc_cache config) {
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    cu_current()->cache_config = config;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetSharedMemConfig(CUsharedconfig *config) {
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = cu_current()->shared_config;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxSetSharedMemConfig(CUsharedconfig config) {
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    cu_current()->shared_config = config;
    return CUDA_SUCCESS;
}

/* The range is an H200's. */
CUresult do_cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxResetPersistingL2Cache(void) {
    return CUDA_SUCCESS;
}

CUresult do_cuProfilerStart(void) {
    return CUDA_SUCCESS;
}

CUresult do_cuProfilerStop(void) {
    return CUDA_SUCCESS;
}
