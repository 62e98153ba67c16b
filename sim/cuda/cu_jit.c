/* JIT options of module loads: the two log buffers and the compile time. The others tune a compiler
 * and are taken without effect. */
#include <stdint.h>
#include <string.h>

#include "cu_module.h"

CUresult cu_jit_read(struct cu_jit *jit, unsigned count, const CUjit_option *options,
                     void **values) {
    *jit = (struct cu_jit){0};
    if (count > 0 && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch (options[i]) {
        case CU_JIT_ERROR_LOG_BUFFER: jit->error_log = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER: jit->info_log = values[i]; break;
        case CU_JIT_WALL_TIME: jit->wall_time = &values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error_size = &values[i];
            jit->error_bytes = (uint32_t)(uintptr_t)values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info_size = &values[i];
            jit->info_bytes = (uint32_t)(uintptr_t)values[i];
            break;
        default:
            if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
                return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

static void write_log(char *buffer, size_t bytes, void **size, const char *log) {
    size_t length = strlen(log);
    if (!buffer || bytes == 0)
        length = 0;
    else if (length >= bytes)
        length = bytes - 1;
    if (buffer && bytes > 0) {
        memcpy(buffer, log, length);
        buffer[length] = '\0';
    }
    if (size)
        *size = (void *)(uintptr_t)length;
}

void cu_jit_write(struct cu_jit *jit, bool failed, const char *log, double milliseconds) {
    write_log(jit->error_log, jit->error_bytes, jit->error_size, failed ? log : "");
    write_log(jit->info_log, jit->info_bytes, jit->info_size, failed ? "" : log);
    if (jit->wall_time) {
        float time = (float)milliseconds;
        *jit->wall_time = NULL;
        memcpy(jit->wall_time, &time, sizeof time);
    }
}
