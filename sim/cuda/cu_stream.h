#ifndef SILTWIN_CU_STREAM_H
#define SILTWIN_CU_STREAM_H

#include "cu_root.h"

struct cu_stream {
    CUstream handle;
    struct cu_context *context;
    unsigned flags;
    int priority;
    unsigned long long id;
    struct cu_stream *next;
};

/* CUDA_SUCCESS for a stream that exists or one of the default streams, else 400. */
CUresult cu_stream_check(CUstream stream);
void cu_stream_free(struct cu_stream *stream);

#endif
