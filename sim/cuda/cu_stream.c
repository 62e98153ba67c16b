/* Streams: every operation is done when its call returns, so a stream is a name with a priority. */
#include "cu_stream.h"

#include <stdlib.h>

#include "cu_functions.h"

enum { PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };

static bool is_default(CUstream stream) {
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

static struct cu_stream *find(CUstream stream) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_STREAM, stream);
}

CUresult cu_stream_check(CUstream stream) {
    return is_default(stream) || find(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void cu_stream_free(struct cu_stream *stream) {
    for (struct cu_stream **link = &stream->context->streams; *link; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    }
    cu_handle_free(&cu_root()->handles, stream->handle);
    free(stream);
}

CUresult do_cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority) {
    struct cu_root *root = cu_root();
    if (!handle || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->handle = cu_handle_new(&root->handles, CU_KIND_STREAM, stream);
    if (!stream->handle) {
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->context = cu_current();
    stream->flags = flags;
    /* A priority out of range is moved to the nearer end, as documented. */
    stream->priority = priority > PRIORITY_LEAST      ? PRIORITY_LEAST
                       : priority < PRIORITY_GREATEST ? PRIORITY_GREATEST
                                                      : priority;
    stream->id = ++root->next_id;
    stream->next = stream->context->streams;
    stream->context->streams = stream;
    *handle = stream->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuStreamCreate(CUstream *handle, unsigned int flags) {
    return do_cuStreamCreateWithPriority(handle, flags, PRIORITY_LEAST);
}

CUresult do_cuStreamDestroy_v2(CUstream handle) {
    struct cu_stream *stream = find(handle);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    cu_stream_free(stream);
    return CUDA_SUCCESS;
}

CUresult do_cuStreamDestroy(CUstream handle) {
    return do_cuStreamDestroy_v2(handle);
}

CUresult do_cuStreamQuery(CUstream stream) {
    return cu_stream_check(stream);
}

CUresult do_cuStreamSynchronize(CUstream stream) {
    return cu_stream_check(stream);
}

CUresult do_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    if (flags > 1) /* 1: an external event of a graph */
        return CUDA_ERROR_INVALID_VALUE;
    if (!cu_handle_get(&cu_root()->handles, CU_KIND_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    return cu_stream_check(stream);
}

CUresult do_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user_data,
                                unsigned int flags) {
    if (!callback || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult code = cu_stream_check(stream);
    if (code == CUDA_SUCCESS)
        callback(stream, CUDA_SUCCESS, user_data);
    return code;
}

CUresult do_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user_data) {
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult code = cu_stream_check(stream);
    if (code == CUDA_SUCCESS)
        function(user_data);
    return code;
}

CUresult do_cuStreamGetFlags(CUstream handle, unsigned int *flags) {
    const struct cu_stream *stream = find(handle);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = stream ? stream->flags : CU_STREAM_DEFAULT;
    return cu_stream_check(handle);
}

CUresult do_cuStreamGetPriority(CUstream handle, int *priority) {
    const struct cu_stream *stream = find(handle);
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream ? stream->priority : PRIORITY_LEAST;
    return cu_stream_check(handle);
}

/* The default streams have numbers of their own, above all others. */
CUresult do_cuStreamGetId(CUstream handle, unsigned long long *id) {
    const struct cu_stream *stream = find(handle);
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = stream ? stream->id : UINT64_MAX - (handle == CU_STREAM_PER_THREAD);
    return cu_stream_check(handle);
}

CUresult do_cuStreamGetCtx(CUstream handle, CUcontext *context) {
    const struct cu_stream *stream = find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = stream ? stream->context->handle : cu_current()->handle;
    return cu_stream_check(handle);
}

CUresult do_cuStreamGetCtx_v2(CUstream handle, CUcontext *context, CUgreenCtx *green) {
    CUresult code = do_cuStreamGetCtx(handle, context);
    if (green)
        *green = NULL;
    return code;
}

CUresult do_cuStreamGetDevice(CUstream handle, CUdevice *device) {
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return cu_stream_check(handle);
}

CUresult do_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cu_stream_check(handle);
}
