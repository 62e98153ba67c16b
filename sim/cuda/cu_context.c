/* Contexts and the stack of current contexts of each thread.
 *
 *   thread.stack: [ first pushed | ... | current ]
 *
 * All contexts of the process share one device memory, as unified addressing has it; an allocation
 * goes when the context that made it goes. */
#include "cu_context.h"

#include <stdlib.h>

#include "cu_event.h"
#include "cu_functions.h"
#include "cu_memory.h"
#include "cu_module.h"
#include "cu_stream.h"

enum { CONTEXT_API_VERSION = 3020 };

/* What cuCtxGetLimit of a new context gave on an H200; 0: not supported there. */
static const size_t first_limits[CU_LIMITS] = {1024, 8650752, 8388608,  0,
                                               2048, 64,      11796480, 232448};

bool cu_context_flags_good(unsigned flags) {
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0 &&
           (schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

static void reset(struct cu_context *context, unsigned flags) {
    context->active = true;
    context->flags = flags;
    context->sticky = CUDA_SUCCESS;
    context->id = ++cu_root()->next_id;
    context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    for (int i = 0; i < CU_LIMITS; i++)
        context->limits[i] = first_limits[i];
}

struct cu_context *cu_context_new(bool primary, unsigned flags) {
    struct cu_root *root = cu_root();
    struct cu_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = cu_handle_new(&root->handles, CU_KIND_CONTEXT, context);
    if (!context->handle || !cu_memory()) {
        cu_handle_free(&root->handles, context->handle);
        free(context);
        return NULL;
    }
    context->primary = primary;
    context->next = root->contexts;
    root->contexts = context;
    reset(context, flags);
    return context;
}

void cu_context_end(struct cu_context *context) {
    while (context->modules)
        cu_module_free(context->modules);
    while (context->streams)
        cu_stream_free(context->streams);
    while (context->events)
        cu_event_free(context->events);
    cu_allocations_free_of(context);
    context->active = false;
    if (context->primary)
        return;
    struct cu_root *root = cu_root();
    cu_handle_free(&root->handles, context->handle);
    for (struct cu_context **link = &root->contexts; *link; link = &(*link)->next) {
        if (*link == context) {
            *link = context->next;
            break;
        }
    }
    free(context);
}

static struct cu_context *find(CUcontext handle) {
    struct cu_context *context = cu_handle_get(&cu_root()->handles, CU_KIND_CONTEXT, handle);
    return context && context->active ? context : NULL;
}

/* A destroyed context may be made current; the calls after that return 709 (H200). */
static bool is_dead(CUcontext handle) {
    const struct cu_handles *handles = &cu_root()->handles;
    return !cu_handle_get(handles, CU_KIND_CONTEXT, handle) && cu_handle_known(handles, handle);
}

/* The primary context */

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice device) {
    struct cu_root *root = cu_root();
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!root->primary)
        root->primary = cu_context_new(true, root->primary_flags);
    else if (!root->primary->active)
        reset(root->primary, root->primary_flags);
    if (!root->primary)
        return CUDA_ERROR_OUT_OF_MEMORY;
    root->primary_retained++;
    *handle = root->primary->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    struct cu_root *root = cu_root();
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (root->primary_retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--root->primary_retained == 0)
        cu_context_end(root->primary);
    return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxReset_v2(CUdevice device) {
    struct cu_root *root = cu_root();
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (root->primary && root->primary->active) {
        cu_context_end(root->primary);
        if (root->primary_retained > 0)
            reset(root->primary, root->primary_flags);
    }
    return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    struct cu_root *root = cu_root();
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!cu_context_flags_good(flags))
        return CUDA_ERROR_INVALID_VALUE;
    root->primary_flags = flags;
    if (root->primary)
        root->primary->flags = flags;
    return CUDA_SUCCESS;
}

/* The same three under their first symbols. */
CUresult do_cuDevicePrimaryCtxRelease(CUdevice device) {
    return do_cuDevicePrimaryCtxRelease_v2(device);
}

CUresult do_cuDevicePrimaryCtxReset(CUdevice device) {
    return do_cuDevicePrimaryCtxReset_v2(device);
}

CUresult do_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
    return do_cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
    struct cu_root *root = cu_root();
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = root->primary_flags;
    *active = root->primary && root->primary->active;
    return CUDA_SUCCESS;
}

/* Creation and end */

static CUresult create(CUcontext *handle, unsigned flags, CUdevice device) {
    struct cu_thread *thread = cu_thread();
    if (!handle || !cu_context_flags_good(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    if (thread->depth == CU_CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct cu_context *context = cu_context_new(false, flags);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    thread->stack[thread->depth++] = context->handle;
    *handle = context->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate_v2(CUcontext *handle, unsigned int flags, CUdevice device) {
    return create(handle, flags, device);
}

CUresult do_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *affinity, int affinity_count,
                           unsigned int flags, CUdevice device) {
    if (affinity || affinity_count != 0)
        return cu_unsupported("cuCtxCreate: execution affinity is not modelled");
    return create(handle, flags, device);
}

CUresult do_cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *create_params, unsigned int flags,
                           CUdevice device) {
    if (create_params)
        return cu_unsupported("cuCtxCreate: creation parameters are not modelled");
    return create(handle, flags, device);
}

CUresult do_cuCtxDestroy_v2(CUcontext handle) {
    struct cu_thread *thread = cu_thread();
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_context *context = find(handle);
    if (!context || context->primary)
        return is_dead(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    if (thread->depth > 0 && thread->stack[thread->depth - 1] == handle)
        thread->depth--;
    cu_context_end(context);
    return CUDA_SUCCESS;
}

/* The current context */

CUresult do_cuCtxPushCurrent_v2(CUcontext handle) {
    struct cu_thread *thread = cu_thread();
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!find(handle) && !is_dead(handle))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread->depth == CU_CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    thread->stack[thread->depth++] = handle;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxPopCurrent_v2(CUcontext *handle) {
    struct cu_thread *thread = cu_thread();
    if (thread->depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    thread->depth--;
    if (handle)
        *handle = thread->stack[thread->depth];
    return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext handle) {
    struct cu_thread *thread = cu_thread();
    if (handle && !find(handle) && !is_dead(handle))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread->depth > 0)
        thread->depth--;
    if (handle)
        thread->stack[thread->depth++] = handle;
    return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCurrent(CUcontext *handle) {
    const struct cu_thread *thread = cu_thread();
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    *handle = thread->depth > 0 ? thread->stack[thread->depth - 1] : NULL;
    return CUDA_SUCCESS;
}
