/* Modules: PTX text through the front end into the executor, with its kernels as functions. */
#include "cu_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cu_functions.h"
#include "cu_image.h"

enum { SMEM_WITHOUT_OPT_IN_BYTES = 48 * 1024, CARVEOUT_DEFAULT = -1 };

static CUresult result_of(enum status status) {
    switch (status) {
    case STATUS_OK: return CUDA_SUCCESS;
    case STATUS_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case STATUS_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case STATUS_SYNTAX:
    case STATUS_INVALID:
    case STATUS_NOT_FOUND:
    case STATUS_IO: break;
    }
    return CUDA_ERROR_INVALID_PTX;
}

struct cu_module *cu_module_find(CUmodule handle) {
    return cu_handle_get(&cu_root()->handles, CU_KIND_MODULE, handle);
}

struct cu_function *cu_module_function(struct cu_module *module, const char *name) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(exec_kernel_info(module->functions[i].kernel)->name, name) == 0)
            return &module->functions[i];
    return NULL;
}

/* What is left of 48 KiB; a kernel that declares more than that has opted in by it, and what is
 * left of the device's whole (H200: 48152 beside 1000 static bytes, 172448 beside 60000). */
static int first_max_dynamic_smem(const struct exec_kernel *kernel) {
    int static_bytes = (int)exec_kernel_info(kernel)->static_smem_bytes;
    int limit = static_bytes <= SMEM_WITHOUT_OPT_IN_BYTES
                    ? SMEM_WITHOUT_OPT_IN_BYTES
                    : (int)cu_root()->model->exec.smem_per_block_bytes;
    return limit - static_bytes;
}

static bool make_functions(struct cu_module *module) {
    struct cu_handles *handles = &cu_root()->handles;
    uint32_t count = 0;
    while (exec_module_kernel_at(module->exec, count))
        count++;
    module->functions = calloc(count ? count : 1, sizeof *module->functions);
    if (!module->functions)
        return false;
    module->function_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct cu_function *function = &module->functions[i];
        function->module = module;
        function->kernel = exec_module_kernel_at(module->exec, i);
        function->max_dynamic_smem_bytes = first_max_dynamic_smem(function->kernel);
        function->carveout = CARVEOUT_DEFAULT;
        function->handle = cu_handle_new(handles, CU_KIND_FUNCTION, function);
        if (!module->context)
            function->kernel_handle = cu_handle_new(handles, CU_KIND_KERNEL, function);
        if (!function->handle || (!module->context && !function->kernel_handle))
            return false;
    }
    return true;
}

static bool make_handles(struct cu_module *module) {
    struct cu_root *root = cu_root();
    module->handle = cu_handle_new(&root->handles, CU_KIND_MODULE, module);
    if (!module->context)
        module->library_handle = cu_handle_new(&root->handles, CU_KIND_LIBRARY, module);
    struct cu_module **list = module->context ? &module->context->modules : &root->libraries;
    module->next = *list;
    *list = module;
    return module->handle && (module->context || module->library_handle) && make_functions(module);
}

void cu_module_free(struct cu_module *module) {
    struct cu_root *root = cu_root();
    struct cu_module **link = module->context ? &module->context->modules : &root->libraries;
    for (; *link; link = &(*link)->next) {
        if (*link == module) {
            *link = module->next;
            break;
        }
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        cu_handle_free(&root->handles, module->functions[i].handle);
        cu_handle_free(&root->handles, module->functions[i].kernel_handle);
    }
    cu_handle_free(&root->handles, module->handle);
    cu_handle_free(&root->handles, module->library_handle);
    if (module->exec)
        exec_module_unload(module->exec);
    free(module->functions);
    free(module->file);
    free(module);
}

static double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Name of the text in messages; siltwinSimSetModuleName holds for one load. */
static char *take_file_name(const struct cu_load *load) {
    struct cu_thread *thread = cu_thread();
    const char *file = load->file ? load->file : "ptx";
    if (thread->module_name[0])
        file = thread->module_name;
    char *copy = strdup(file);
    thread->module_name[0] = '\0';
    return copy;
}

static CUresult load_text(struct cu_module *module, const struct cu_load *load,
                          struct strbuf *log) {
    const struct device_model *model = cu_root()->model;
    if (!module->file || !cu_memory())
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult code = cu_image_check(load->text, model, log);
    if (code != CUDA_SUCCESS)
        return code;
    struct ptx_source source = {
        .file = module->file, .text = load->text, .length = strlen(load->text)};
    return result_of(exec_module_load(cu_memory(), &model->exec, &source, &module->exec, log));
}

CUresult cu_module_load(const struct cu_load *load, struct cu_module **out) {
    if (!load->text)
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_module *module = calloc(1, sizeof *module);
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct strbuf log = {0};
    double start = milliseconds_now();
    module->file = take_file_name(load);
    module->context = load->context;
    CUresult code = load_text(module, load, &log);
    if (code == CUDA_SUCCESS && !make_handles(module))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (load->jit)
        cu_jit_write(load->jit, code != CUDA_SUCCESS, strbuf_text(&log),
                     milliseconds_now() - start);
    if (code != CUDA_SUCCESS) {
        if (!load->jit || !load->jit->error_log)
            cu_log("%s", strbuf_text(&log));
        cu_module_free(module);
    } else {
        *out = module;
    }
    strbuf_free(&log);
    return code;
}

char *cu_read_file(const char *path, CUresult *code) {
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        *code = path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
        return NULL;
    }
    struct strbuf bytes = {0};
    char block[4096];
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        strbuf_append(&bytes, block, got);
    bool failed = ferror(file) || bytes.truncated;
    fclose(file);
    char *text = failed ? NULL : strdup(strbuf_text(&bytes));
    strbuf_free(&bytes);
    *code = text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    return text;
}

static CUresult load_module(CUmodule *handle, const char *text, const char *file,
                            struct cu_jit *jit) {
    struct cu_load load = {.text = text, .file = file, .context = cu_current(), .jit = jit};
    struct cu_module *module = NULL;
    CUresult code = cu_module_load(&load, &module);
    if (code == CUDA_SUCCESS)
        *handle = module->handle;
    return code;
}

CUresult do_cuModuleLoad(CUmodule *handle, const char *path) {
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult code = CUDA_SUCCESS;
    char *text = cu_read_file(path, &code);
    if (text)
        code = load_module(handle, text, path, NULL);
    free(text);
    return code;
}

CUresult do_cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned int option_count,
                               CUjit_option *options, void **values) {
    struct cu_jit jit;
    CUresult code = cu_jit_read(&jit, option_count, options, values);
    if (code != CUDA_SUCCESS || !handle || !image)
        return CUDA_ERROR_INVALID_VALUE;
    return load_module(handle, image, NULL, option_count ? &jit : NULL);
}

CUresult do_cuModuleLoadData(CUmodule *handle, const void *image) {
    return do_cuModuleLoadDataEx(handle, image, 0, NULL, NULL);
}

CUresult do_cuModuleLoadFatBinary(CUmodule *handle, const void *image) {
    return do_cuModuleLoadDataEx(handle, image, 0, NULL, NULL);
}

CUresult do_cuModuleUnload(CUmodule handle) {
    struct cu_module *module = cu_module_find(handle);
    if (!module || !module->context) /* a library's module goes with the library */
        return CUDA_ERROR_INVALID_HANDLE;
    cu_module_free(module);
    return CUDA_SUCCESS;
}
