/* Device and host allocations.
 *
 *   allocations: [ struct cu_allocation * sorted by guest address ]
 *
 * Contents live in the executor's global memory. A host allocation is a device allocation too,
 * whose backing bytes the program gets to see; its device address differs from its host address.
 *
 * Not modelled: managed memory and registered host memory, whose one address must be valid for both
 * sides. */
#include "cu_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu_functions.h"
#include "cu_stream.h"

struct cu_allocations {
    struct cu_allocation **sorted;
    size_t count, capacity;
    uint64_t next_id;
    uint64_t device_end; /* no device allocation ever reached this address */
};

enum { PITCH_ALIGN_BYTES = 512, HOST_ALIGN_BYTES = 4096, FIRST_CAPACITY = 64 };

/* Number of allocations that begin at or below `address`. */
static size_t count_below(const struct cu_allocations *all, uint64_t address) {
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->sorted[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cu_allocation *cu_allocation_at(uint64_t address) {
    const struct cu_allocations *all = cu_root()->allocations;
    size_t below = all ? count_below(all, address) : 0;
    if (below == 0)
        return NULL;
    struct cu_allocation *allocation = all->sorted[below - 1];
    return address - allocation->address < allocation->size_bytes ? allocation : NULL;
}

struct cu_allocation *cu_allocation_at_host(const void *host) {
    struct cu_allocation *allocation = cu_allocation_at((uint64_t)(uintptr_t)host);
    return allocation && allocation->kind != CU_MEMORY_DEVICE ? allocation : NULL;
}

static struct cu_allocations *table(void) {
    struct cu_root *root = cu_root();
    if (!root->allocations)
        root->allocations = calloc(1, sizeof *root->allocations);
    return root->allocations;
}

static bool insert(struct cu_allocation *allocation) {
    struct cu_allocations *all = table();
    if (!all)
        return false;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : FIRST_CAPACITY;
        struct cu_allocation **sorted = realloc(all->sorted, capacity * sizeof *sorted);
        if (!sorted)
            return false;
        all->sorted = sorted;
        all->capacity = capacity;
    }
    size_t at = count_below(all, allocation->address);
    memmove(&all->sorted[at + 1], &all->sorted[at], (all->count - at) * sizeof *all->sorted);
    all->sorted[at] = allocation;
    all->count++;
    allocation->id = ++all->next_id;
    return true;
}

/* Device memory is the host's, touched when it is allocated: more than the host has would end the
 * process. */
static bool host_has_room(size_t bytes) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t used = global_memory_used_bytes(cu_memory());
    if (pages <= 0 || page_bytes <= 0)
        return true;
    uint64_t host_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    if (used <= host_bytes && bytes <= host_bytes - used)
        return true;
    cu_log("an allocation of %zu bytes beside %llu in use: the host has %llu", bytes,
           (unsigned long long)used, (unsigned long long)host_bytes);
    return false;
}

/* Places the allocation in device memory; false when there is no room. */
static bool place(struct cu_allocation *allocation, void *host) {
    struct global_memory *memory = cu_memory();
    size_t bytes = allocation->size_bytes;
    if (allocation->kind != CU_MEMORY_REGISTERED && !host_has_room(bytes))
        return false;
    if (allocation->kind == CU_MEMORY_DEVICE) {
        if (allocation->address)
            return global_memory_alloc_at(memory, allocation->address, bytes);
        allocation->address = global_memory_alloc(memory, bytes);
        return allocation->address != 0;
    }
    if (allocation->kind == CU_MEMORY_HOST) {
        size_t padded = (bytes + HOST_ALIGN_BYTES - 1) & ~(size_t)(HOST_ALIGN_BYTES - 1);
        host = padded >= bytes ? aligned_alloc(HOST_ALIGN_BYTES, padded) : NULL;
    }
    allocation->address = (uint64_t)(uintptr_t)host;
    if (host && global_memory_map(memory, allocation->address, bytes, host))
        return true;
    if (allocation->kind == CU_MEMORY_HOST)
        free(host);
    return false;
}

/* Takes it out of device memory. */
static void unplace(const struct cu_allocation *allocation) {
    global_memory_free(cu_memory(), allocation->address);
    if (allocation->kind == CU_MEMORY_HOST)
        free((void *)(uintptr_t)allocation->address);
}

/* At `address`, 0: wherever there is room. */
static CUresult allocation_new(uint64_t address, size_t bytes, enum cu_memory_kind kind, void *host,
                               struct cu_allocation **out) {
    struct cu_allocation *allocation = cu_memory() ? calloc(1, sizeof *allocation) : NULL;
    if (!allocation)
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->address = address;
    allocation->size_bytes = bytes;
    allocation->kind = kind;
    allocation->context = cu_current();
    if (!place(allocation, host)) {
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!insert(allocation)) {
        unplace(allocation);
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct cu_allocations *all = cu_root()->allocations;
    if (kind == CU_MEMORY_DEVICE && allocation->address + bytes > all->device_end)
        all->device_end = allocation->address + bytes;
    *out = allocation;
    return CUDA_SUCCESS;
}

CUresult cu_allocation_new(size_t bytes, enum cu_memory_kind kind, void *host,
                           struct cu_allocation **out) {
    return allocation_new(0, bytes, kind, host, out);
}

CUresult cu_allocation_new_at(uint64_t address, size_t bytes) {
    struct cu_allocation *allocation;
    if (address == 0 || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return allocation_new(address, bytes, CU_MEMORY_DEVICE, NULL, &allocation);
}

void cu_allocation_free(struct cu_allocation *allocation) {
    struct cu_allocations *all = cu_root()->allocations;
    size_t at = count_below(all, allocation->address) - 1;
    memmove(&all->sorted[at], &all->sorted[at + 1], (all->count - at - 1) * sizeof *all->sorted);
    all->count--;
    unplace(allocation);
    free(allocation);
}

void cu_allocations_free_of(const struct cu_context *context) {
    struct cu_allocations *all = cu_root()->allocations;
    for (size_t i = all ? all->count : 0; i-- > 0;)
        if (all->sorted[i]->context == context)
            cu_allocation_free(all->sorted[i]);
}

void cu_allocations_destroy(void) {
    struct cu_root *root = cu_root();
    if (root->allocations)
        free(root->allocations->sorted);
    free(root->allocations);
    root->allocations = NULL;
}

uint8_t *cu_device_bytes(CUdeviceptr address, size_t bytes) {
    return global_memory_host(cu_memory(), address, bytes);
}

uint8_t *cu_unified_bytes(CUdeviceptr address, size_t bytes) {
    const struct cu_allocations *all = cu_root()->allocations;
    if (global_memory_find(cu_memory(), address) ||
        (all && address >= GLOBAL_FIRST && address <= all->device_end))
        return cu_device_bytes(address, bytes);
    return (uint8_t *)(uintptr_t)address;
}

CUresult do_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    const struct device_model *model = cu_root()->model;
    if (model->memory_bytes == 0)
        return cu_unsupported("cuMemGetInfo: the memory of a %s is not known", model->name);
    uint64_t used = global_memory_used_bytes(cu_memory());
    if (free_bytes)
        *free_bytes = used < model->memory_bytes ? model->memory_bytes - used : 0;
    if (total_bytes)
        *total_bytes = model->memory_bytes;
    return CUDA_SUCCESS;
}

CUresult do_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    if (!address || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_allocation *allocation = NULL;
    CUresult code = cu_allocation_new(bytes, CU_MEMORY_DEVICE, NULL, &allocation);
    if (code == CUDA_SUCCESS)
        *address = allocation->address;
    return code;
}

CUresult do_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemAlloc_v2(address, bytes) : code;
}

CUresult do_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_bytes,
                               size_t height, unsigned int element_bytes) {
    size_t padded, total;
    if (!address || !pitch || width_bytes == 0 || height == 0 ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_add_overflow(width_bytes, PITCH_ALIGN_BYTES - 1, &padded))
        return CUDA_ERROR_INVALID_VALUE;
    padded &= ~(size_t)(PITCH_ALIGN_BYTES - 1);
    if (__builtin_mul_overflow(padded, height, &total))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult code = do_cuMemAlloc_v2(address, total);
    if (code == CUDA_SUCCESS)
        *pitch = padded;
    return code;
}

/* Address 0 is freed without effect; anything else must be the start of a device allocation. */
CUresult do_cuMemFree_v2(CUdeviceptr address) {
    if (address == 0)
        return CUDA_SUCCESS;
    struct cu_allocation *allocation = cu_allocation_at(address);
    if (!allocation || allocation->address != address || allocation->kind != CU_MEMORY_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    cu_allocation_free(allocation);
    return CUDA_SUCCESS;
}

CUresult do_cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemFree_v2(address) : code;
}

CUresult do_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
    const struct global_range *range = global_memory_find(cu_memory(), address);
    if (!range)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->address;
    if (bytes)
        *bytes = range->size_bytes;
    return CUDA_SUCCESS;
}
