#ifndef SILTWIN_BUFFER_H
#define SILTWIN_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "driver.h"

/* A piece of device memory. */
struct buffer {
    const struct driver *driver;
    CUdeviceptr address; /* at least 256-byte aligned */
    size_t bytes;
    size_t mapped_bytes, reserved_bytes; /* of buffer_map, else 0 */
};

/* Allocates; the contents are undefined. `bytes` must not be 0. */
bool buffer_alloc(const struct driver *driver, size_t bytes, struct buffer *buffer,
                  struct host_error *error);

/* The least range of addresses that buffer_map reserves: an H200's driver (13.0) takes small ones,
 * 2 MiB for instance, out of a pool of its own whatever was wanted, and 32 MiB where it was asked
 * to. */
enum { BUFFER_RESERVE_BYTES = 64 << 20 };

/* As buffer_alloc, on `device`, through the driver's virtual memory (CUDA Driver API, Virtual
 * Memory Management): at `wanted` when that range of addresses is free, else where the driver
 * chooses. What follows the buffer, beyond the driver's granularity (2 MiB on an H200), is not
 * mapped. A driver without these functions gives what buffer_alloc gives. */
bool buffer_map(const struct driver *driver, CUdevice device, CUdeviceptr wanted, size_t bytes,
                struct buffer *buffer, struct host_error *error);

/* Copies `bytes` to or from the buffer at `offset_bytes`; a range that leaves the buffer is refused
 * here, since a driver would only see a neighbour's memory. */
bool buffer_upload(const struct buffer *buffer, size_t offset_bytes, const void *from, size_t bytes,
                   struct host_error *error);
bool buffer_download(const struct buffer *buffer, size_t offset_bytes, void *to, size_t bytes,
                     struct host_error *error);

/* Repeats an element of `elem_bytes` (1, 2 or 4) over the range; offset and size are multiples of
 * it. */
bool buffer_fill(const struct buffer *buffer, size_t offset_bytes, size_t bytes, unsigned value,
                 size_t elem_bytes, struct host_error *error);

/* Copies between two buffers of one driver, which may be the same when the ranges are apart. */
struct buffer_copy_desc {
    const struct buffer *to, *from;
    size_t to_offset_bytes, from_offset_bytes;
    size_t bytes;
};
bool buffer_copy(const struct buffer_copy_desc *copy, struct host_error *error);

/* Frees; a zeroed buffer is fine. */
void buffer_free(struct buffer *buffer);

#endif
