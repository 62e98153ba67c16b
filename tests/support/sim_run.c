/* See sim_run.h. */
#include "sim_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *what, const char *text) {
    fprintf(stderr, "%s: %s\n", what, text);
    exit(99);
}

struct sim_run sim_run_open(unsigned sm, const char *text) {
    struct sim_run run = {
        .memory = global_memory_create(UINT64_C(1) << 40, 1),
        .device = {.sm = (uint16_t)sm,
                   .sm_count = 4,
                   .smem_per_block_bytes = 232448,
                   .clock_khz = 1000000},
    };
    struct ptx_source source = {"test.ptx", text, strlen(text)};
    if (run.memory == NULL)
        give_up("memory", "cannot be created");
    if (exec_module_load(run.memory, &run.device, &source, &run.module, &run.report) != STATUS_OK)
        give_up("module", strbuf_text(&run.report));
    return run;
}

void sim_run_close(struct sim_run *run) {
    exec_module_unload(run->module);
    global_memory_destroy(run->memory);
    strbuf_free(&run->report);
}

uint64_t sim_run_buffer(struct sim_run *run, const void *bytes, size_t size_bytes) {
    uint64_t address = global_memory_alloc(run->memory, size_bytes);
    if (address == 0)
        give_up("buffer", "no room");
    void *host = sim_run_host(run, address, size_bytes);
    if (bytes != NULL)
        memcpy(host, bytes, size_bytes);
    else
        memset(host, 0, size_bytes);
    return address;
}

void *sim_run_host(struct sim_run *run, uint64_t address, size_t size_bytes) {
    void *host = global_memory_host(run->memory, address, size_bytes);
    if (host == NULL)
        give_up("buffer", "not an allocation");
    return host;
}

enum status sim_run_launch(struct sim_run *run, const struct sim_run_launch *how) {
    const struct exec_kernel *kernel = how->kernel ? exec_module_kernel(run->module, how->kernel)
                                                   : exec_module_kernel_at(run->module, 0);
    if (kernel == NULL)
        give_up("kernel", how->kernel ? how->kernel : "the module has none");
    if (exec_kernel_info(kernel)->param_bytes != how->param_count * 8)
        give_up("parameters", "not the kernel's number of 64-bit ones");
    struct exec_launch launch = {
        .kernel = kernel,
        .device = &run->device,
        .memory = run->memory,
        .grid = {how->grid, 1, 1},
        .block = {how->block, 1, 1},
        .cluster = {1, 1, 1},
        .dynamic_smem_bytes = how->dynamic_smem_bytes,
        .params = how->params,
        .policy = how->policy,
        .policy_seed = how->policy_seed,
        .pattern_seed = 1,
        .jobs = how->jobs ? how->jobs : 1,
    };
    strbuf_clear(&run->report);
    memset(&run->fault, 0, sizeof run->fault);
    return exec_run(&launch, &run->fault, &run->report);
}

void sim_run_ok(struct sim_run *run, const struct sim_run_launch *launch) {
    if (sim_run_launch(run, launch) != STATUS_OK)
        give_up("launch", strbuf_text(&run->report));
}
