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
    CUresult code = cu_allocation_new(bytes, CU_MEMORY_HOST, NULL, &allocation);
    if (code == CUDA_SUCCESS) {
        allocation->flags = flags;
        *host = (void *)(uintptr_t)allocation->address;
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
    if (!allocation || allocation->kind != CU_MEMORY_HOST ||
        allocation->address != (uint64_t)(uintptr_t)host)
        return CUDA_ERROR_INVALID_VALUE;
    cu_allocation_free(allocation);
    return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags) {
    const struct cu_allocation *allocation = cu_allocation_at_host(host);
    if (!address || flags != 0 || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)host;
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
    const unsigned legal = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                           CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!host || bytes == 0 || (flags & ~legal))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return cu_unsupported("cuMemHostRegister: memory of another device is not modelled");
    struct cu_allocation *allocation = NULL;
    if (cu_allocation_at((uint64_t)(uintptr_t)host) ||
        cu_allocation_at((uint64_t)(uintptr_t)host + bytes - 1))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    CUresult code = cu_allocation_new(bytes, CU_MEMORY_REGISTERED, host, &allocation);
    if (code == CUDA_SUCCESS)
        allocation->flags = flags;
    return code;
}

CUresult do_cuMemHostRegister(void *host, size_t bytes, unsigned int flags) {
    return do_cuMemHostRegister_v2(host, bytes, flags);
}

CUresult do_cuMemHostUnregister(void *host) {
    struct cu_allocation *allocation = cu_allocation_at_host(host);
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    if (!allocation || allocation->kind != CU_MEMORY_REGISTERED ||
        allocation->address != (uint64_t)(uintptr_t)host)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    cu_allocation_free(allocation);
    return CUDA_SUCCESS;
}

CUresult do_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags) {
    if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    return cu_unsupported("cuMemAllocManaged: managed memory is not modelled");
}

/* Pointers */

/* The size of each answer is documented with its attribute. */
static CUresult get_attribute(void *data, CUpointer_attribute attribute,
                              const struct cu_allocation *allocation, CUdeviceptr address) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = allocation->context->handle; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data =
            allocation->kind == CU_MEMORY_DEVICE ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = address; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (allocation->kind == CU_MEMORY_DEVICE) {
            *(void **)data = NULL; /* written, although the call fails (H200) */
            return CUDA_ERROR_INVALID_VALUE;
        }
        *(void **)data = (void *)(uintptr_t)address;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(int *)data = 0; break;
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

CUresult do_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
    const struct cu_allocation *allocation = cu_allocation_at(address);
    if (!data || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    return get_attribute(data, attribute, allocation, address);
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

/* What an address does not have is answered with zeros, and the call succeeds; an address that is
 * no allocation is taken for the program's own memory and is its own host pointer (H200). */
CUresult do_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                   CUdeviceptr address) {
    const struct cu_allocation *allocation = cu_allocation_at(address);
    if (!attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (!data[i])
            return CUDA_ERROR_INVALID_VALUE;
        CUresult code = allocation ? get_attribute(data[i], attributes[i], allocation, address)
                                   : CUDA_ERROR_INVALID_VALUE;
        if (code == CUDA_ERROR_NOT_SUPPORTED)
            return code;
        if (code != CUDA_SUCCESS)
            memset(data[i], 0, answer_bytes(attributes[i]));
        if (!allocation && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
            *(void **)data[i] = (void *)(uintptr_t)address;
    }
    return CUDA_SUCCESS;
}
