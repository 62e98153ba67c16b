/* Modules from PTX text. Whatever the driver's compiler says goes through the two JIT log buffers,
 * so that a mistake in a kernel reads the same way for both drivers. */
#include "module.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 64 * 1024 };

/* Joins the error and the information log; NULL when out of memory. */
static char *join_logs(const char *errors, const char *info) {
    size_t bytes = strlen(errors) + strlen(info) + 2;
    char *log = malloc(bytes);
    if (log)
        snprintf(log, bytes, "%s%s%s", errors, *errors && *info ? "\n" : "", info);
    return log;
}

static CUresult load_with_logs(struct module *module, const char *text, char *errors, char *info) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_GENERATE_LINE_INFO};
    void *values[] = {errors, (void *)(uintptr_t)LOG_BYTES, info, (void *)(uintptr_t)LOG_BYTES,
                      (void *)(uintptr_t)1};
    return module->driver->cuModuleLoadDataEx(&module->handle, text, 5, options, values);
}

bool module_load(const struct driver *driver, const char *text, struct module *module,
                 struct host_error *error) {
    *module = (struct module){.driver = driver};
    char *errors = calloc(2, LOG_BYTES);
    if (!errors) {
        result_message(error, "out of memory");
        return false;
    }
    char *info = errors + LOG_BYTES;
    CUresult code = load_with_logs(module, text, errors, info);
    /* The driver may fill the whole buffer. */
    errors[LOG_BYTES - 1] = info[LOG_BYTES - 1] = '\0';
    module->log = join_logs(errors, info);
    free(errors);
    if (code != CUDA_SUCCESS)
        module->handle = NULL;
    return result_check(error, "cuModuleLoadDataEx", code);
}

CUfunction module_function(const struct module *module, const char *name,
                           struct host_error *error) {
    CUfunction function = NULL;
    CUresult code = module->driver->cuModuleGetFunction(&function, module->handle, name);
    if (code == CUDA_SUCCESS)
        return function;
    result_describe(error, "cuModuleGetFunction", code, name);
    return NULL;
}

bool module_global(const struct module *module, const char *name, CUdeviceptr *address,
                   size_t *bytes, struct host_error *error) {
    CUresult code = module->driver->cuModuleGetGlobal(address, bytes, module->handle, name);
    if (code == CUDA_SUCCESS)
        return true;
    result_describe(error, "cuModuleGetGlobal", code, name);
    return false;
}

void module_unload(struct module *module) {
    if (module->handle)
        module->driver->cuModuleUnload(module->handle);
    free(module->log);
    memset(module, 0, sizeof *module);
}
