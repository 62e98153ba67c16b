/* Copies in all directions. They are done when the call returns, the asynchronous ones too. A range
 * that no allocation holds whole is an invalid value, as on an H200. */
#include <string.h>

#include "cu_functions.h"
#include "cu_memory.h"
#include "cu_stream.h"

static CUresult move(void *to, const void *from, size_t bytes) {
    if (!to || !from)
        return CUDA_ERROR_INVALID_VALUE;
    memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult do_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return bytes == 0 ? CUDA_SUCCESS
                      : move(cu_unified_bytes(to, bytes), cu_unified_bytes(from, bytes), bytes);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    return bytes == 0 ? CUDA_SUCCESS : move(cu_device_bytes(to, bytes), from, bytes);
}

CUresult do_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    return bytes == 0 ? CUDA_SUCCESS : move(to, cu_device_bytes(from, bytes), bytes);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return bytes == 0 ? CUDA_SUCCESS
                      : move(cu_device_bytes(to, bytes), cu_device_bytes(from, bytes), bytes);
}

CUresult do_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemcpy(to, from, bytes) : code;
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemcpyHtoD_v2(to, from, bytes) : code;
}

CUresult do_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemcpyDtoH_v2(to, from, bytes) : code;
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? do_cuMemcpyDtoD_v2(to, from, bytes) : code;
}

/* Two dimensions */

struct side {
    CUmemorytype type;
    CUdeviceptr address; /* of either kind */
    size_t x_bytes, y, pitch_bytes;
};

/* Host bytes of the rectangle's first byte; NULL when the rectangle is not all there. */
static uint8_t *rectangle(const struct side *side, size_t width_bytes, size_t height) {
    size_t skip, span;
    if (side->pitch_bytes < width_bytes && height > 1)
        return NULL;
    if (__builtin_mul_overflow(side->y, side->pitch_bytes, &skip) ||
        __builtin_add_overflow(skip, side->x_bytes, &skip) ||
        __builtin_mul_overflow(height - 1, side->pitch_bytes, &span) ||
        __builtin_add_overflow(span, width_bytes, &span))
        return NULL;
    CUdeviceptr first = side->address + skip;
    if (side->address == 0)
        return NULL;
    if (side->type == CU_MEMORYTYPE_HOST)
        return (uint8_t *)(uintptr_t)first;
    return side->type == CU_MEMORYTYPE_DEVICE ? cu_device_bytes(first, span)
                                              : cu_unified_bytes(first, span);
}

static bool type_good(CUmemorytype type) {
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
           type == CU_MEMORYTYPE_UNIFIED;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy) {
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY || copy->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return cu_unsupported("cuMemcpy2D: arrays are not modelled");
    if (!type_good(copy->srcMemoryType) || !type_good(copy->dstMemoryType))
        return CUDA_ERROR_INVALID_VALUE;
    if (copy->WidthInBytes == 0 || copy->Height == 0)
        return CUDA_SUCCESS;
    struct side from = {copy->srcMemoryType, copy->srcDevice, copy->srcXInBytes, copy->srcY,
                        copy->srcPitch};
    struct side to = {copy->dstMemoryType, copy->dstDevice, copy->dstXInBytes, copy->dstY,
                      copy->dstPitch};
    if (from.type == CU_MEMORYTYPE_HOST)
        from.address = (CUdeviceptr)(uintptr_t)copy->srcHost;
    if (to.type == CU_MEMORYTYPE_HOST)
        to.address = (CUdeviceptr)(uintptr_t)copy->dstHost;
    const uint8_t *source = rectangle(&from, copy->WidthInBytes, copy->Height);
    uint8_t *target = rectangle(&to, copy->WidthInBytes, copy->Height);
    if (!source || !target)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < copy->Height; row++)
        memmove(target + row * to.pitch_bytes, source + row * from.pitch_bytes, copy->WidthInBytes);
    return CUDA_SUCCESS;
}

CUresult do_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    return copy_2d(copy);
}

CUresult do_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) {
    return copy_2d(copy);
}

CUresult do_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? copy_2d(copy) : code;
}
