/* Kernel launches. The kernel has run when the call returns; as on silicon the call itself succeeds
 * when the kernel faults, and the context carries the error from then on (H200 observations 34-37).
 *
 *   function, sizes, attributes -> checks -> parameter block -> exec_run -> sticky error, report */
#include "cu_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cu_event.h"
#include "cu_fault.h"
#include "cu_functions.h"
#include "cu_stream.h"
#include "event_lines.h"
#include "watch.h"

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Keeps how the launch ended, for siltwinSimLastFault and siltwinSimLastReport. */
static void keep_fault(const struct cu_launch *launch, const struct fault *fault,
                       struct strbuf *report) {
    struct cu_last_fault *last = &cu_root()->last;
    struct cu_fault_row row = cu_fault_row(fault->kind);
    strbuf_free(&last->report);
    *last = (struct cu_last_fault){.end = row.end,
                                   .result = row.result,
                                   .fault = *fault,
                                   .report = *report,
                                   .launch = cu_root()->launches};
    snprintf(last->kernel, sizeof last->kernel, "%s",
             exec_kernel_info(launch->function->kernel)->name);
    /* The module may be unloaded before anyone asks. */
    snprintf(last->file, sizeof last->file, "%s", fault->file ? fault->file : "");
    last->fault.file = fault->file ? last->file : NULL;
    snprintf(last->source_file, sizeof last->source_file, "%s",
             fault->source_file ? fault->source_file : "");
    last->fault.source_file = fault->source_file ? last->source_file : NULL;
}

static struct exec_launch prepare(const struct cu_launch *launch, const uint8_t *block) {
    struct cu_root *root = cu_root();
    struct exec_launch run = {
        .kernel = launch->function->kernel,
        .device = &root->model->exec,
        .memory = cu_memory(),
        .explicit_cluster = launch->explicit_cluster,
        .dynamic_smem_bytes = launch->dynamic_smem_bytes,
        .params = block,
        .policy = (enum completion_policy)root->run.policy,
        .policy_seed = root->run.policy_seed,
        .pattern_seed = root->run.pattern_seed,
        .jobs = root->run.jobs,
        .resident = root->run.resident,
        .idle_budget = root->run.idle_budget,
        .grid_id = root->launches,
        .progress = root->progress,
        .progress_ctx = root->progress_ctx,
    };
    for (int i = 0; i < 3; i++) {
        run.grid[i] = launch->grid[i];
        run.block[i] = launch->block[i];
        run.cluster[i] = launch->explicit_cluster ? launch->cluster[i] : 1;
    }
    return run;
}

/* The observers that were asked for, as one; kinds 0: none. */
static void observe(const struct cu_launch *launch, struct float_sums_launch *sums,
                    struct event_lines *lines, struct observer *observer) {
    struct cu_root *root = cu_root();
    if (root->stats_on)
        stats_observe(&root->stats, observer);
    if (root->float_sums && exec_kernel_info(launch->function->kernel)->adds_floats) {
        *sums = (struct float_sums_launch){.sums = root->float_sums, .next = *observer};
        float_sums_observe(sums, observer);
    }
    if (!root->events)
        return;
    *lines = (struct event_lines){.sink = root->events,
                                  .ctx = root->events_ctx,
                                  .kinds = root->event_kinds,
                                  .launch = root->launches,
                                  .file = launch->function->module->file,
                                  .next = *observer};
    event_lines_observe(lines, observer);
}

/* Watches the launch too; what was asked for before is told as well. False: no memory. */
static bool begin_watch(const struct cu_launch *launch, struct watch_launch *watched,
                        struct observer *observer, struct exec_launch *run) {
    const struct cu_function *function = launch->function;
    *watched = (struct watch_launch){0};
    if (!cu_root()->watch)
        return true;
    if (!watch_launch_begin(watched, cu_root()->watch, function->module->exec, function->kernel,
                            function->module->file))
        return false;
    watched->launch = cu_root()->launches;
    watched->next = *observer;
    watch_observe(watched, observer);
    run->kernel = watched->kernel;
    return true;
}

/* What a grid barrier works on, in device memory, for as long as a cooperative launch runs: four
 * words, 16 (their bytes), 0 (the barrier: cooperative groups count there), 1 and 0. %envreg1 is
 * the upper half of its address, %envreg2 the lower (seen on an H200). False: no memory. */
static bool begin_workspace(const struct cu_launch *launch, struct exec_launch *run) {
    const uint32_t words[4] = {sizeof words, 0, 1, 0};
    if (!launch->cooperative)
        return true;
    run->grid_workspace = global_memory_alloc(run->memory, sizeof words);
    uint8_t *bytes = global_memory_host(run->memory, run->grid_workspace, sizeof words);
    if (bytes)
        memcpy(bytes, words, sizeof words);
    return bytes;
}

/* Runs the kernel; the result is that of the launch call. */
static CUresult execute(const struct cu_launch *launch, const uint8_t *block) {
    struct cu_root *root = cu_root();
    struct cu_context *context = cu_current();
    struct fault fault = {0};
    struct strbuf report = {0};
    root->launches++;
    struct exec_launch run = prepare(launch, block);
    struct float_sums_launch sums;
    struct event_lines lines;
    struct observer observer = {0};
    struct watch_launch watched;
    observe(launch, &sums, &lines, &observer);
    const bool watching = begin_watch(launch, &watched, &observer, &run);
    if (!watching || !begin_workspace(launch, &run)) {
        watch_launch_end(&watched);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (observer.kinds)
        run.observer = &observer;
    if (root->events || root->watch) /* one thread: they are told in the order of events */
        run.jobs = 1;
    double start = seconds_now();
    enum status status = exec_run(&run, &fault, &report);
    root->stats_seconds = seconds_now() - start;
    watch_launch_end(&watched);
    if (run.grid_workspace)
        global_memory_free(run.memory, run.grid_workspace);
    if (status == STATUS_OK) {
        strbuf_free(&report);
        return CUDA_SUCCESS;
    }
    if (fault.kind == FAULT_NONE) /* refused before a CTA ran */
        fault.kind = status == STATUS_NO_MEMORY ? FAULT_NO_MEMORY : FAULT_UNSUPPORTED;
    keep_fault(launch, &fault, &report);
    context->sticky = root->last.result;
    return CUDA_SUCCESS;
}

static CUresult launch_kernel(struct cu_launch *launch, CUfunction handle, CUstream stream) {
    launch->function = cu_function_find(handle);
    if (!launch->function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult code = cu_stream_check(stream);
    if (code == CUDA_SUCCESS)
        code = cu_launch_check(launch);
    if (code != CUDA_SUCCESS)
        return code;
    uint32_t bytes = exec_kernel_info(launch->function->kernel)->param_bytes;
    uint8_t *block = malloc(bytes ? bytes : 1);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = cu_launch_params(launch, block);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++)
        if (launch->events[i] && !cu_event_record(launch->events[i]))
            code = CUDA_ERROR_INVALID_HANDLE;
    if (code == CUDA_SUCCESS)
        code = execute(launch, block);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++)
        if (launch->events[i])
            cu_event_record(launch->events[i]);
    free(block);
    return code;
}

CUresult do_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                           unsigned int block_z, unsigned int dynamic_smem_bytes, CUstream stream,
                           void **params, void **extra) {
    struct cu_launch launch = {.grid = {grid_x, grid_y, grid_z},
                               .block = {block_x, block_y, block_z},
                               .dynamic_smem_bytes = dynamic_smem_bytes,
                               .params = params,
                               .extra = extra};
    return launch_kernel(&launch, function, stream);
}

CUresult do_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                      unsigned int grid_z, unsigned int block_x,
                                      unsigned int block_y, unsigned int block_z,
                                      unsigned int dynamic_smem_bytes, CUstream stream,
                                      void **params) {
    struct cu_launch launch = {.grid = {grid_x, grid_y, grid_z},
                               .block = {block_x, block_y, block_z},
                               .cooperative = true,
                               .dynamic_smem_bytes = dynamic_smem_bytes,
                               .params = params};
    return launch_kernel(&launch, function, stream);
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                             void **extra) {
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_launch launch = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                               .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                               .dynamic_smem_bytes = config->sharedMemBytes,
                               .params = params,
                               .extra = extra};
    CUresult code = cu_launch_attributes(&launch, config->attrs, config->numAttrs);
    return code == CUDA_SUCCESS ? launch_kernel(&launch, function, config->hStream) : code;
}
