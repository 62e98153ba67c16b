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

/* What cuTensorMapEncodeIm2col takes in place of a box. Corners are innermost spatial dimension
 * first: W, H, D. */
struct tensormap_im2col {
    int lower_corner[3], upper_corner[3];
    cuuint32_t channels, pixels; /* of one copy: channelsPerPixel and pixelsPerColumn */
};

/* Encodes an im2col map; `desc`'s box is not looked at. CUDA_ERROR_NOT_SUPPORTED where the driver
 * lacks the function. */
CUresult tensormap_encode_im2col(const struct driver *driver, const struct tensormap_desc *desc,
                                 const struct tensormap_im2col *im2col, CUtensorMap *map);

/* Points an encoded map at another address. CUDA_ERROR_NOT_SUPPORTED where the driver lacks the
 * function. */
CUresult tensormap_set_address(const struct driver *driver, CUtensorMap *map, CUdeviceptr address);

#endif
