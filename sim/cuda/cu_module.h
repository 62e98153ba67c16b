#ifndef SILTWIN_CU_MODULE_H
#define SILTWIN_CU_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "cu_root.h"
#include "exec.h"

/* One kernel as the API sees it, and the attributes that a program set. */
struct cu_function {
    CUfunction handle;
    CUkernel kernel_handle; /* of a library's kernels, else NULL */
    struct cu_module *module;
    const struct exec_kernel *kernel;
    int max_dynamic_smem_bytes; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout, scheduling_policy;
    int non_portable_cluster;
    int required_cluster[3];
};

/* PTX text in device memory: a module of a context, or a library of the process. */
struct cu_module {
    CUmodule handle;
    CUlibrary library_handle;   /* NULL for a plain module */
    struct cu_context *context; /* NULL for a library */
    struct exec_module *exec;
    char *file;
    struct cu_function *functions;
    uint32_t function_count;
    struct cu_module *next;
};

/* The JIT options that matter here. Written back when the load is over. */
struct cu_jit {
    char *error_log, *info_log;
    size_t error_bytes, info_bytes;
    void **error_size, **info_size, **wall_time; /* where the results go, NULL: not wanted */
};

/* CUDA_ERROR_INVALID_VALUE for options that do not exist. */
CUresult cu_jit_read(struct cu_jit *jit, unsigned count, const CUjit_option *options,
                     void **values);
/* Copies `log` to the buffer for errors or information, cut to its size. */
void cu_jit_write(struct cu_jit *jit, bool failed, const char *log, double milliseconds);

/* Loads zero-terminated PTX text. `file` is its name in messages, NULL: siltwinSimSetModuleName's
 * or "ptx". With `context` NULL it becomes a library. */
struct cu_load {
    const char *text, *file;
    struct cu_context *context;
    struct cu_jit *jit; /* NULL: errors go to the log sink */
};
CUresult cu_module_load(const struct cu_load *load, struct cu_module **module);
void cu_module_free(struct cu_module *module);

/* Gives back the linker states that nobody destroyed (cu_link.c). */
void cu_link_free_all(void);

/* A file's bytes with a zero behind them, to be freed; NULL with *code set. */
char *cu_read_file(const char *path, CUresult *code);

/* NULL for no such handle. A CUkernel may stand for a CUfunction, as the API has it. */
struct cu_module *cu_module_find(CUmodule handle);
struct cu_function *cu_function_find(CUfunction handle);
/* The kernel of that name, NULL for none. */
struct cu_function *cu_module_function(struct cu_module *module, const char *name);

#endif
