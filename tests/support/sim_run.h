#ifndef SILTWIN_SIM_RUN_H
#define SILTWIN_SIM_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "exec.h"

/* Runs PTX text on the executor, without a driver around it. Any trouble but a fault of the kernel
 * ends the test program with a message. */
struct sim_run {
    struct global_memory *memory;
    struct exec_device device;
    struct exec_module *module;
    struct fault fault;
    struct strbuf report;
};

/* A device of compute capability 9.0 or 10.0 (sm 90 or 100) with `text` loaded. */
struct sim_run sim_run_open(unsigned sm, const char *text);
void sim_run_close(struct sim_run *run);

/* Guest address of a new buffer with a copy of `bytes` (zeros when NULL). */
uint64_t sim_run_buffer(struct sim_run *run, const void *bytes, size_t size_bytes);
/* Its host bytes. */
void *sim_run_host(struct sim_run *run, uint64_t address, size_t size_bytes);

struct sim_run_launch {
    const char *kernel; /* NULL: the module's first */
    uint32_t grid, block;
    uint32_t dynamic_smem_bytes;
    const uint64_t *params; /* 64-bit parameters, in order */
    size_t param_count;
    enum completion_policy policy;
    uint64_t policy_seed;
    uint32_t jobs; /* 0: one */
};
/* STATUS_OK or, after a fault (run->fault, run->report), STATUS_INVALID. */
enum status sim_run_launch(struct sim_run *run, const struct sim_run_launch *launch);
/* The same, and any fault ends the test program. */
void sim_run_ok(struct sim_run *run, const struct sim_run_launch *launch);

#endif
