/* Events. Everything before an event is done when it is recorded, so its time is the host's clock
 * at that moment: no time of a GPU is modelled. */
#include "cu_event.h"

#include <stdlib.h>
#include <time.h>

#include "cu_functions.h"
#include "cu_stream.h"

static struct cu_event *find(CUevent handle) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_EVENT, handle);
}

void cu_event_free(struct cu_event *event) {
    for (struct cu_event **link = &event->context->events; *link; link = &(*link)->next) {
        if (*link == event) {
            *link = event->next;
            break;
        }
    }
    cu_handle_free(&cu_root()->handles, event->handle);
    free(event);
}

CUresult do_cuEventCreate(CUevent *handle, unsigned int flags) {
    struct cu_root *root = cu_root();
    const unsigned legal = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!handle || (flags & ~legal))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
        return cu_unsupported("cuEventCreate: events between processes are not modelled");
    struct cu_event *event = calloc(1, sizeof *event);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->handle = cu_handle_new(&root->handles, CU_KIND_EVENT, event);
    if (!event->handle) {
        free(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->context = cu_current();
    event->flags = flags;
    event->next = event->context->events;
    event->context->events = event;
    *handle = event->handle;
    return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy_v2(CUevent handle) {
    struct cu_event *event = find(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    cu_event_free(event);
    return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy(CUevent handle) {
    return do_cuEventDestroy_v2(handle);
}

bool cu_event_record(CUevent handle) {
    struct cu_event *event = find(handle);
    if (!event)
        return false;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    event->recorded = true;
    return true;
}

CUresult do_cuEventRecord(CUevent handle, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    if (code != CUDA_SUCCESS)
        return code;
    return cu_event_record(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags) {
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : do_cuEventRecord(handle, stream);
}

/* An event that was never recorded counts as done (H200). */
CUresult do_cuEventQuery(CUevent handle) {
    return find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuEventSynchronize(CUevent handle) {
    return find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle) {
    const struct cu_event *start = find(start_handle), *end = find(end_handle);
    if (!milliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    if (!start || !end || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = (float)(1e3 * (end->seconds - start->seconds));
    return CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}

CUresult do_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    return elapsed(milliseconds, start, end);
}
