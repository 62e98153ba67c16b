#ifndef SILTWIN_CU_MEMORY_H
#define SILTWIN_CU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cu_root.h"

enum cu_memory_kind {
    CU_MEMORY_DEVICE,
    CU_MEMORY_HOST, /* cuMemHostAlloc: the host sees `host`, kernels see `address` */
};

/* One allocation that a program made through the API. */
struct cu_allocation {
    uint64_t address; /* guest */
    uint64_t size_bytes;
    uint8_t *host;
    enum cu_memory_kind kind;
    unsigned flags; /* of cuMemHostAlloc */
    uint64_t id;
    struct cu_context *context;
};

/* The allocation that holds the device address, or the host address of a host allocation. */
struct cu_allocation *cu_allocation_at(uint64_t address);
struct cu_allocation *cu_allocation_at_host(const void *host);

/* Makes one in the current context; the codes of cuMemAlloc. */
CUresult cu_allocation_new(size_t bytes, enum cu_memory_kind kind, struct cu_allocation **out);
void cu_allocation_free(struct cu_allocation *allocation);
void cu_allocations_free_of(const struct cu_context *context);

/* Host bytes of a range of device memory (allocations and module variables); NULL when it is not
 * wholly inside one. */
uint8_t *cu_device_bytes(CUdeviceptr address, size_t bytes);
/* The same for an address of either side, as unified addressing has it: what is no device address
 * is taken for the program's own memory. */
uint8_t *cu_unified_bytes(CUdeviceptr address, size_t bytes);

#endif
