#ifndef SILTWIN_TEST_LIBCUDA_H
#define SILTWIN_TEST_LIBCUDA_H

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda_abi.h"
#include "siltwin_sim.h"

#ifndef SILTWIN_BUILD
#define SILTWIN_BUILD "build" /* where the build does not say, from the top of the tree */
#endif

/* The built libcuda.so.1 as a program sees it: every function of driver_api.def by its exported
 * symbol, and the simulator's own entry points. */
struct libcuda {
    void *library;
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args) CUresult(*symbol) params;
#include "driver_api.def"
#undef DRIVER_FN
    siltwin_sim_set_device *set_device;
    siltwin_sim_set_log *set_log;
    siltwin_sim_set_run *set_run;
    siltwin_sim_get_run *get_run;
    siltwin_sim_set_module_name *set_module_name;
    siltwin_sim_last_fault *last_fault;
    siltwin_sim_last_report *last_report;
    siltwin_sim_set_stats *set_stats;
    siltwin_sim_stats_last *stats;
    siltwin_sim_set_events *set_events;
    siltwin_sim_kernel_info *kernel_info;
};

static inline void libcuda_symbol(const struct libcuda *cu, const char *name, void *field) {
    void *symbol = dlsym(cu->library, name);
    cr_assert_not_null(symbol, "libcuda.so.1 lacks %s", name);
    memcpy(field, &symbol, sizeof symbol);
}

/* Loads the library with `device` as its model, not yet initialised. */
static inline struct libcuda libcuda_load(const char *device) {
    struct libcuda cu = {.library = dlopen(SILTWIN_BUILD "/sim/libcuda.so.1", RTLD_NOW)};
    cr_assert_not_null(cu.library, "%s", dlerror());
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    libcuda_symbol(&cu, #symbol, &cu.symbol);
#include "driver_api.def"
#undef DRIVER_FN
    libcuda_symbol(&cu, "siltwinSimSetDevice", &cu.set_device);
    libcuda_symbol(&cu, "siltwinSimSetLog", &cu.set_log);
    libcuda_symbol(&cu, "siltwinSimSetRun", &cu.set_run);
    libcuda_symbol(&cu, "siltwinSimGetRun", &cu.get_run);
    libcuda_symbol(&cu, "siltwinSimSetModuleName", &cu.set_module_name);
    libcuda_symbol(&cu, "siltwinSimLastFault", &cu.last_fault);
    libcuda_symbol(&cu, "siltwinSimLastReport", &cu.last_report);
    libcuda_symbol(&cu, "siltwinSimSetStats", &cu.set_stats);
    libcuda_symbol(&cu, "siltwinSimStats", &cu.stats);
    libcuda_symbol(&cu, "siltwinSimSetEvents", &cu.set_events);
    libcuda_symbol(&cu, "siltwinSimKernel", &cu.kernel_info);
    cr_assert_eq(cu.set_device(device), CUDA_SUCCESS);
    return cu;
}

/* Loads, initialises and makes the primary context current. */
static inline struct libcuda libcuda_start(const char *device) {
    struct libcuda cu = libcuda_load(device);
    CUcontext context = NULL;
    cr_assert_eq(cu.cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    cr_assert_eq(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
    return cu;
}

/* Log sink that keeps the lines, for tests of what is said. */
struct libcuda_lines {
    char text[8192];
    int count;
};

static inline void libcuda_keep_line(void *ctx, const char *line) {
    struct libcuda_lines *lines = ctx;
    size_t length = strlen(lines->text);
    snprintf(lines->text + length, sizeof lines->text - length, "%s\n", line);
    lines->count++;
}

#endif
