/* Tensor maps: 128 bytes that only the driver may write. */
#include "tensormap.h"

#include <stdint.h>

CUresult tensormap_encode(const struct driver *driver, const struct tensormap_desc *desc,
                          CUtensorMap *map) {
    return driver->cuTensorMapEncodeTiled(
        map, desc->type, desc->rank, (void *)(uintptr_t)desc->address, desc->dim,
        desc->stride_bytes, desc->box, desc->element_stride, desc->interleave, desc->swizzle,
        desc->l2_promotion, desc->oob_fill);
}

CUresult tensormap_encode_im2col(const struct driver *driver, const struct tensormap_desc *desc,
                                 const struct tensormap_im2col *im2col, CUtensorMap *map) {
    if (!driver->cuTensorMapEncodeIm2col)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver->cuTensorMapEncodeIm2col(
        map, desc->type, desc->rank, (void *)(uintptr_t)desc->address, desc->dim,
        desc->stride_bytes, im2col->lower_corner, im2col->upper_corner, im2col->channels,
        im2col->pixels, desc->element_stride, desc->interleave, desc->swizzle, desc->l2_promotion,
        desc->oob_fill);
}

CUresult tensormap_set_address(const struct driver *driver, CUtensorMap *map, CUdeviceptr address) {
    if (!driver->cuTensorMapReplaceAddress)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver->cuTensorMapReplaceAddress(map, (void *)(uintptr_t)address);
}
