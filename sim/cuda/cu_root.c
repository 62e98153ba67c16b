/* The process root and the thread's current context: the only writable data of the library. */
#include "cu_root.h"

#include <stdarg.h>
#include <stdio.h>

/* Where a model does not say how much memory it has, the simulated one is bounded by the guest
 * address space: 1 TiB. */
#define MEMORY_UNKNOWN_BYTES (UINT64_C(1) << 40)

static struct cu_root cuda_root = {
    .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    .run = {.struct_bytes = sizeof(struct siltwin_sim_run), .policy = SILTWIN_SIM_EAGER},
};

static _Thread_local struct cu_thread cuda_current;

struct cu_root *cu_root(void) {
    return &cuda_root;
}

struct cu_thread *cu_thread(void) {
    return &cuda_current;
}

static CUresult check_context(void) {
    if (cuda_current.depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct cu_context *context = cu_current();
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->sticky;
}

CUresult cu_enter(enum cu_scope scope) {
    pthread_mutex_lock(&cuda_root.lock);
    if (cuda_root.ended)
        return CUDA_ERROR_DEINITIALIZED;
    if (scope == CU_SCOPE_ANYTIME)
        return CUDA_SUCCESS;
    if (!cuda_root.initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    return scope == CU_SCOPE_CONTEXT ? check_context() : CUDA_SUCCESS;
}

CUresult cu_leave(CUresult code) {
    pthread_mutex_unlock(&cuda_root.lock);
    return code;
}

struct cu_context *cu_current(void) {
    if (cuda_current.depth == 0)
        return NULL;
    struct cu_context *context = cu_handle_get(&cuda_root.handles, CU_KIND_CONTEXT,
                                               cuda_current.stack[cuda_current.depth - 1]);
    return context && context->active ? context : NULL;
}

static void log_line(const char *format, va_list args) {
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    if (cuda_root.log)
        cuda_root.log(cuda_root.log_ctx, line);
    else
        fprintf(stderr, "siltwin libcuda: %s\n", line);
}

void cu_log(const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}

CUresult cu_unsupported(const char *format, ...) {
    va_list args;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
    return CUDA_ERROR_NOT_SUPPORTED;
}

struct global_memory *cu_memory(void) {
    if (!cuda_root.memory)
        cuda_root.memory = global_memory_create(
            cuda_root.model->memory_bytes ? cuda_root.model->memory_bytes : MEMORY_UNKNOWN_BYTES,
            cuda_root.run.pattern_seed);
    return cuda_root.memory;
}
