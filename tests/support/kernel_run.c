/* See kernel_run.h. */
#include "kernel_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *what, const char *text) {
    fprintf(stderr, "%s\n%s\n", what, text);
    exit(99);
}

void kernel_open(struct kernel_run *run, uint16_t sm, const char *ptx) {
    *run = (struct kernel_run){
        .device = {
            .sm = sm, .sm_count = 132, .smem_per_block_bytes = 232448, .clock_khz = 1980000}};
    struct ptx_source source = {.file = "test.ptx", .text = ptx, .length = strlen(ptx)};
    struct strbuf log = {0};
    run->memory = global_memory_create(UINT64_C(1) << 32, 1);
    if (run->memory == NULL)
        give_up("no device memory", "");
    if (exec_module_load(run->memory, &run->device, &source, &run->module, &log) != STATUS_OK)
        give_up("the module does not load", strbuf_text(&log));
    strbuf_free(&log);
}

void kernel_close(struct kernel_run *run) {
    exec_module_unload(run->module);
    global_memory_destroy(run->memory);
    strbuf_free(&run->report);
}

uint64_t kernel_alloc(struct kernel_run *run, const void *bytes, size_t size_bytes) {
    uint64_t address = global_memory_alloc(run->memory, size_bytes);
    if (address == 0)
        give_up("no device memory", "");
    if (bytes != NULL)
        memcpy(kernel_bytes(run, address, size_bytes), bytes, size_bytes);
    return address;
}

uint8_t *kernel_bytes(struct kernel_run *run, uint64_t address, size_t size_bytes) {
    uint8_t *host = global_memory_host(run->memory, address, size_bytes);
    if (host == NULL)
        give_up("not a device address", "");
    return host;
}

static uint32_t at_least_one(uint32_t count) {
    return count == 0 ? 1 : count;
}

/* The block as the kernel wants it, of one whose fields lie as C lays them out. */
static uint8_t *laid_out(const struct exec_kernel_info *info, const char *name, const void *params,
                         size_t params_bytes) {
    uint8_t *block = calloc(1, info->param_bytes + 1);
    size_t at = 0;
    for (uint32_t i = 0; i < info->param_count; i++) {
        const struct exec_param *param = &info->params[i];
        at = (at + param->align_bytes - 1) / param->align_bytes * param->align_bytes;
        if (at + param->size_bytes > params_bytes)
            give_up("parameter block of another size", name);
        memcpy(block + param->offset_bytes, (const uint8_t *)params + at, param->size_bytes);
        at += param->size_bytes;
    }
    if (at != params_bytes)
        give_up("parameter block of another size", name);
    return block;
}

enum fault_kind kernel_launch(struct kernel_run *run, const char *name, struct kernel_shape shape,
                              const void *params, size_t params_bytes) {
    const struct exec_kernel *kernel = exec_module_kernel(run->module, name);
    if (kernel == NULL)
        give_up("no such entry", name);
    uint8_t *block = laid_out(exec_kernel_info(kernel), name, params, params_bytes);
    struct exec_launch launch = {.kernel = kernel,
                                 .device = &run->device,
                                 .memory = run->memory,
                                 .grid = {at_least_one(shape.grid), 1, 1},
                                 .block = {at_least_one(shape.block), 1, 1},
                                 .cluster = {1, 1, 1},
                                 .dynamic_smem_bytes = shape.dynamic_smem_bytes,
                                 .params = block,
                                 .policy = shape.policy,
                                 .policy_seed = shape.seed,
                                 .pattern_seed = shape.seed,
                                 .jobs = 1};
    strbuf_clear(&run->report);
    run->fault = (struct fault){.kind = FAULT_NONE};
    const enum status status = exec_run(&launch, &run->fault, &run->report);
    free(block);
    return status == STATUS_OK ? FAULT_NONE : run->fault.kind;
}
