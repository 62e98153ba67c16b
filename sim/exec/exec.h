#ifndef SILTWIN_EXEC_H
#define SILTWIN_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "event.h"
#include "fault.h"
#include "global_memory.h"
#include "ptx.h"
#include "status.h"
#include "strbuf.h"

/* The executor as sim/cuda sees it: modules of PTX text, kernels, launches. */

/* What of the device model the executor needs. */
struct exec_device {
    uint16_t sm; /* 90 or 100 */
    uint32_t sm_count;
    uint32_t smem_per_block_bytes; /* opt-in limit: 232448 */
    uint32_t clock_khz;
};

struct exec_module;
struct exec_kernel;

struct exec_param {
    uint32_t offset_bytes, size_bytes, align_bytes;
};

struct exec_kernel_info {
    const char *name;
    const struct exec_param *params;
    uint32_t param_count, param_bytes;
    uint32_t param_base; /* where their block begins in its constant bank: generic addresses of
                            parameters count from there */
    uint32_t static_smem_bytes; /* end of the static variables, from 0x400 */
    uint32_t const_bytes, local_bytes;
    uint32_t registers; /* our own estimate: most 32-bit registers alive at once, plus a few that
                           ptxas adds */
    const struct ir_directives *directives;
    bool adds_floats; /* may add floating-point numbers in global memory */
};

/* Parses, checks and decodes; places .global and .const variables in `memory`. Errors go to `log`
 * (JIT log text). STATUS_SYNTAX, STATUS_UNSUPPORTED, STATUS_INVALID, STATUS_NO_MEMORY. */
enum status exec_module_load(struct global_memory *memory, const struct exec_device *device,
                             const struct ptx_source *source, struct exec_module **module,
                             struct strbuf *log);
void exec_module_unload(struct exec_module *module);
const struct ir_module *exec_module_ir(const struct exec_module *module);
/* Kernel by name, NULL for none. It lives as long as the module. */
const struct exec_kernel *exec_module_kernel(const struct exec_module *module, const char *name);
/* The nth kernel in text order, NULL past the end. */
const struct exec_kernel *exec_module_kernel_at(const struct exec_module *module, uint32_t index);
/* Guest address and size of a .global or .const variable; false when there is none. */
bool exec_module_global(const struct exec_module *module, const char *name, uint64_t *address,
                        uint64_t *size_bytes);
const struct exec_kernel_info *exec_kernel_info(const struct exec_kernel *kernel);
/* The module's kernel decoded once more, into `arena`, with storage of its own for every register
 * that has one of these names: an observer can read it anywhere. Garbage that a program reads from
 * registers before it writes them may be another. NULL: no memory. */
const struct exec_kernel *exec_kernel_keeping(const struct exec_module *module,
                                              const struct exec_kernel *kernel,
                                              const char *const *names, uint32_t count,
                                              struct arena *arena);

enum completion_policy { POLICY_EAGER, POLICY_LAZY, POLICY_RANDOM };

struct exec_launch {
    const struct exec_kernel *kernel;
    const struct exec_device *device;
    struct global_memory *memory;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 1 1 1 without one */
    bool explicit_cluster;
    uint32_t dynamic_smem_bytes;
    const void *params; /* param_bytes of the kernel, copied */
    enum completion_policy policy;
    uint64_t policy_seed;  /* POLICY_RANDOM */
    uint64_t pattern_seed; /* contents of registers, shared memory, Tensor Memory at the start */
    uint32_t jobs;         /* host threads, 0: as many as the host has cores */
    uint32_t resident;     /* CTAs of one SM run together, 0: one at a time */
    uint64_t
        idle_budget; /* warp instructions without a side effect before FAULT_BUDGET, 0: default */
    uint64_t grid_id;
    uint64_t grid_workspace; /* of a cooperative launch: its address, in %envreg1 and 2; else 0 */
    const struct observer *observer; /* NULL: none */
    /* Called now and then with the share of the grid that is done; NULL: not. */
    void (*progress)(void *ctx, uint64_t ctas_done, uint64_t ctas_total);
    void *progress_ctx;
};

/* Runs the whole grid. STATUS_OK: every CTA ended. STATUS_INVALID: `fault` says how it ended and
 * `report` has the text for the user (place, PTX line, reason; for a hang, every waiting warp and
 * every barrier in the wait). */
enum status exec_run(const struct exec_launch *launch, struct fault *fault, struct strbuf *report);

#endif
