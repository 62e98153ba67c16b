#ifndef SILTWIN_TENSORMAP_H
#define SILTWIN_TENSORMAP_H

#include <stdbool.h>

#include "driver.h"

/* Arguments of cuTensorMapEncodeTiled, in the API's order: dimension 0 is the innermost. */
struct tensormap_desc {
    CUtensorMapDataType type;
    unsigned rank; /* 1..5 */
    CUdeviceptr address;
    cuuint64_t dim[5];            /* elements */
    cuuint64_t stride_bytes[4];   /* of dimensions 1..4; dimension 0 is dense */
    cuuint32_t box[5];            /* elements */
    cuuint32_t element_stride[5]; /* 1 unless elements are skipped */
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion l2_promotion;
    CUtensorMapFloatOOBfill oob_fill;
};

/* Encodes a tensor map. The arguments are handed on unchecked: which of them are legal is the
 * driver's answer, and a trace may ask for the illegal ones. */
CUresult tensormap_encode(const struct driver *driver, const struct tensormap_desc *desc,
                          CUtensorMap *map);

/* Points an encoded map at another address. CUDA_ERROR_NOT_SUPPORTED where the driver lacks the
 * function. */
CUresult tensormap_set_address(const struct driver *driver, CUtensorMap *map, CUdeviceptr address);

#endif
