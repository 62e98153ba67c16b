/* Host memory that the device can reach, and what can be asked of a pointer. */
#include <string.h>

#include "cu_functions.h"
#include "cu_memory.h"

CUresult do_cuMemHostAlloc(void **host, size_t bytes, unsigned int flags) {
    const unsigned legal =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!host || bytes == 0 || (flags & ~legal))
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_allocation *allocation = NULL;
    CUresult code = cu_allocation_new(bytes, CU_MEMORY_HOST, &allocation);
    if (code == CUDA_SUCCESS) {
        allocation->flags = flags;
        *host = allocation->host;
    }
    return code;
}

CUresult do_cuMemAllocHost_v2(void **host, size_t bytes) {
    return do_cuMemHostAlloc(host, bytes, 0);
}

/* NULL is freed without effect (H200). */
CUresult do_cuMemFreeHost(void *host) {
    if (!host)
        return CUDA_SUCCESS;
    struct cu_allocation *allocation = cu_allocation_at_host(host);
    if (!allocation || allocation->host != host)
        return CUDA_ERROR_INVALID_VALUE;
    cu_allocation_free(allocation);
    return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags) {
    const struct cu_allocation *allocation = cu_allocation_at_host(host);
    if (!address || flags != 0 || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    *address = allocation->address + (uint64_t)((uint8_t *)host - allocation->host);
    return CUDA_SUCCESS;
}

/* Every host allocation is mapped, asked for or not (unified addressing). */
CUresult do_cuMemHostGetFlags(unsigned int *flags, void *host) {
    const struct cu_allocation *allocation = cu_allocation_at_host(host);
    if (!flags || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = allocation->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

CUresult do_cuMemHostRegister_v2(void *host, size_t bytes, unsigned int flags) {
    (void)flags;
    if (!host || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return cu_unsupported("cuMemHostRegister: registered host memory is not modelled");
}

CUresult do_cuMemHostUnregister(void *host) {
    return host ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags) {
    if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    return cu_unsupported("cuMemAllocManaged: managed memory is not modelled");
}

/* Pointers */

static CUresult host_pointer(const struct cu_allocation *allocation, CUdeviceptr offset,
                             void *data) {
    if (allocation->kind != CU_MEMORY_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *(void **)data = allocation->host + offset;
    return CUDA_SUCCESS;
}

/* The size of each answer is documented with its attribute. */
static CUresult get_attribute(void *data, CUpointer_attribute attribute,
                              const struct cu_allocation *allocation, CUdeviceptr offset) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = allocation->context->handle; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data =
            allocation->kind == CU_MEMORY_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = allocation->address + offset;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return host_pointer(allocation, offset, data);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(int *)data = 1; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = allocation->id; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)data = 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = allocation->address; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = allocation->size_bytes; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(int *)data = 1; break;
    default:
        if (attribute < CU_POINTER_ATTRIBUTE_CONTEXT || (int)attribute > 21)
            return CUDA_ERROR_INVALID_VALUE;
        return cu_unsupported("cuPointerGetAttribute: attribute %d is not modelled",
                              (int)attribute);
    }
    return CUDA_SUCCESS;
}

/* The allocation behind an address of either side, and the offset in it. */
static const struct cu_allocation *find(CUdeviceptr address, CUdeviceptr *offset) {
    const struct cu_allocation *allocation = cu_allocation_at(address);
    if (allocation) {
        *offset = address - allocation->address;
        return allocation;
    }
    allocation = cu_allocation_at_host((const void *)(uintptr_t)address);
    if (allocation)
        *offset = address - (uintptr_t)allocation->host;
    return allocation;
}

CUresult do_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
    CUdeviceptr offset = 0;
    const struct cu_allocation *allocation = find(address, &offset);
    if (!data || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    return get_attribute(data, attribute, allocation, offset);
}

/* Bytes of the answer to an attribute. */
static size_t answer_bytes(CUpointer_attribute attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED: return sizeof(int);
    default: return sizeof(void *);
    }
}

/* As documented: what an address does not have is answered with zeros, and the call succeeds. */
CUresult do_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                   CUdeviceptr address) {
    CUdeviceptr offset = 0;
    const struct cu_allocation *allocation = find(address, &offset);
    if (!attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (!data[i])
            return CUDA_ERROR_INVALID_VALUE;
        CUresult code = allocation ? get_attribute(data[i], attributes[i], allocation, offset)
                                   : CUDA_ERROR_INVALID_VALUE;
        if (code == CUDA_ERROR_NOT_SUPPORTED)
            return code;
        if (code != CUDA_SUCCESS)
            memset(data[i], 0, answer_bytes(attributes[i]));
    }
    return CUDA_SUCCESS;
}
