#ifndef SILTWIN_CU_MEMORY_H
#define SILTWIN_CU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cu_root.h"

enum cu_memory_kind {
    CU_MEMORY_DEVICE,
    CU_MEMORY_HOST,       /* cuMemHostAlloc */
    CU_MEMORY_REGISTERED, /* cuMemHostRegister: the program's own */
};

/* One allocation that a program made through the API. */
struct cu_allocation {
    uint64_t address; /* guest; of host memory the host address itself (H200) */
    uint64_t size_bytes;
    enum cu_memory_kind kind;
    unsigned flags; /* of cuMemHostAlloc */
    uint64_t id;
    struct cu_context *context;
};

/* The allocation that holds the address, NULL for none. */
struct cu_allocation *cu_allocation_at(uint64_t address);
/* The same for a host address of host memory. */
struct cu_allocation *cu_allocation_at_host(const void *host);

/* Makes one in the current context; the codes of cuMemAlloc. `host` is the memory to register, NULL
 * for the other kinds. */
CUresult cu_allocation_new(size_t bytes, enum cu_memory_kind kind, void *host,
                           struct cu_allocation **out);
/* A device allocation at a guest address of the caller's choice. */
CUresult cu_allocation_new_at(uint64_t address, size_t bytes);
void cu_allocation_free(struct cu_allocation *allocation);
/* The table itself, once every context has ended. */
void cu_allocations_destroy(void);
void cu_allocations_free_of(const struct cu_context *context);

/* Host bytes of a range of device memory (allocations and module variables); NULL when it is not
 * wholly inside one. */
uint8_t *cu_device_bytes(CUdeviceptr address, size_t bytes);
/* The same for an address of either side, as unified addressing has it: what is no device address
 * is taken for the program's own memory. */
uint8_t *cu_unified_bytes(CUdeviceptr address, size_t bytes);

#endif
