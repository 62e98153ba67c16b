/* Fills of device memory with 8-, 16- and 32-bit elements, in one row or in `height` rows that are
 * `pitch` bytes apart. The address must be a multiple of the element (H200: 1 otherwise). */
#include <string.h>

#include "cu_functions.h"
#include "cu_memory.h"
#include "cu_stream.h"

struct fill {
    CUdeviceptr to;
    size_t pitch_bytes, width_elems, height;
    uint32_t value;
    size_t elem_bytes;
};

static void fill_row(uint8_t *row, const struct fill *fill) {
    if (fill->elem_bytes == 1) {
        memset(row, (int)fill->value, fill->width_elems);
        return;
    }
    uint16_t half = (uint16_t)fill->value;
    const void *elem = fill->elem_bytes == 2 ? (const void *)&half : (const void *)&fill->value;
    for (size_t i = 0; i < fill->width_elems; i++)
        memcpy(row + i * fill->elem_bytes, elem, fill->elem_bytes);
}

static CUresult run(const struct fill *fill) {
    size_t width_bytes, span;
    if (fill->width_elems == 0 || fill->height == 0)
        return CUDA_SUCCESS;
    if (__builtin_mul_overflow(fill->width_elems, fill->elem_bytes, &width_bytes) ||
        __builtin_mul_overflow(fill->height - 1, fill->pitch_bytes, &span) ||
        __builtin_add_overflow(span, width_bytes, &span))
        return CUDA_ERROR_INVALID_VALUE;
    if (fill->height > 1 &&
        (fill->pitch_bytes < width_bytes || fill->pitch_bytes % fill->elem_bytes != 0))
        return CUDA_ERROR_INVALID_VALUE;
    uint8_t *bytes = fill->to % fill->elem_bytes == 0 ? cu_device_bytes(fill->to, span) : NULL;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < fill->height; row++)
        fill_row(bytes + row * fill->pitch_bytes, fill);
    return CUDA_SUCCESS;
}

static CUresult run_in(CUstream stream, const struct fill *fill) {
    CUresult code = cu_stream_check(stream);
    return code == CUDA_SUCCESS ? run(fill) : code;
}

CUresult do_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return run(&(struct fill){
        .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 1});
}

CUresult do_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return run_in(
        stream, &(struct fill){
                    .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 1});
}

CUresult do_cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                            size_t height) {
    return run(&(struct fill){to, pitch, width, height, value, 1});
}

CUresult do_cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                              size_t height, CUstream stream) {
    return run_in(stream, &(struct fill){to, pitch, width, height, value, 1});
}

CUresult do_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return run(&(struct fill){
        .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 2});
}

CUresult do_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return run_in(
        stream, &(struct fill){
                    .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 2});
}

CUresult do_cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                             size_t height) {
    return run(&(struct fill){to, pitch, width, height, value, 2});
}

CUresult do_cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                               size_t height, CUstream stream) {
    return run_in(stream, &(struct fill){to, pitch, width, height, value, 2});
}

CUresult do_cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    return run(&(struct fill){
        .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 4});
}

CUresult do_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return run_in(
        stream, &(struct fill){
                    .to = to, .width_elems = count, .height = 1, .value = value, .elem_bytes = 4});
}

CUresult do_cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                             size_t height) {
    return run(&(struct fill){to, pitch, width, height, value, 4});
}

CUresult do_cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                               size_t height, CUstream stream) {
    return run_in(stream, &(struct fill){to, pitch, width, height, value, 4});
}
