/* What the vector engines share; mma_planes.h explains the method. */
#include "mma_planes.h"

#include "small_float.h"

const struct mma_byte_format mma_byte_formats[MMA_TYPE_COUNT] = {
    [MMA_TYPE_E5M2] = {0x7f, 0x80, 8, 8, false, 1},
    [MMA_TYPE_E4M3] = {0x7f, 0x80, 7, 8, true, 0x1p8f},
    [MMA_TYPE_E3M2] = {0x1f, 0x20, 8, 10, false, 0x1p12f},
    [MMA_TYPE_E2M3] = {0x1f, 0x20, 7, 10, false, 0x1p14f},
    [MMA_TYPE_E2M1] = {0x7, 0x8, 9, 12, false, 0x1p14f},
};

int mma_min_exponent(enum mma_type type) {
    return 1 - small_float_format(mma_format_of[type])->bias;
}
