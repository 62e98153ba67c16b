#ifndef SILTWIN_KERNEL_RUN_H
#define SILTWIN_KERNEL_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "exec.h"

/* Runs PTX text on the executor for a test: one module, its device memory, launches. Trouble that
 * is not part of a test ends it with a message. */
struct kernel_run {
    struct exec_device device;
    struct global_memory *memory;
    struct exec_module *module;
    struct fault fault; /* of the last launch */
    struct strbuf report;
};

/* `sm` 90 or 100. */
void kernel_open(struct kernel_run *run, uint16_t sm, const char *ptx);
void kernel_close(struct kernel_run *run);

/* Device memory, filled from `bytes` unless that is NULL. */
uint64_t kernel_alloc(struct kernel_run *run, const void *bytes, size_t size_bytes);
/* Its host bytes. */
uint8_t *kernel_bytes(struct kernel_run *run, uint64_t address, size_t size_bytes);

struct kernel_shape {
    uint32_t grid, block; /* x alone; 0 means 1 */
    uint32_t dynamic_smem_bytes;
    enum completion_policy policy;
    uint64_t seed;
};

/* Launches entry `name` with parameters that lie as C lays them out, their size is checked. Returns
 * the kind of fault it ended with. */
enum fault_kind kernel_launch(struct kernel_run *run, const char *name, struct kernel_shape shape,
                              const void *params, size_t params_bytes);

#endif
