/* Device memory and the copies in and out of it, every range checked against its buffer. */
#include "buffer.h"

#include <string.h>

static bool inside(const struct buffer *buffer, size_t offset_bytes, size_t bytes,
                   struct host_error *error) {
    if (offset_bytes <= buffer->bytes && bytes <= buffer->bytes - offset_bytes)
        return true;
    result_message(error, "%zu bytes at offset %zu are not inside a buffer of %zu bytes", bytes,
                   offset_bytes, buffer->bytes);
    return false;
}

bool buffer_alloc(const struct driver *driver, size_t bytes, struct buffer *buffer,
                  struct host_error *error) {
    *buffer = (struct buffer){.driver = driver, .bytes = bytes};
    if (RESULT_CHECK(error, driver, cuMemAlloc, (&buffer->address, bytes)))
        return true;
    *buffer = (struct buffer){0};
    return false;
}

/* Backs the reserved range with memory of the device that it may read and write. */
static bool back(const struct buffer *buffer, const CUmemAllocationProp *prop,
                 struct host_error *error) {
    const struct driver *driver = buffer->driver;
    const CUmemAccessDesc access = {prop->location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t bytes = buffer->mapped_bytes;
    CUmemGenericAllocationHandle handle;
    if (!RESULT_CHECK(error, driver, cuMemCreate, (&handle, bytes, prop, 0)))
        return false;
    const bool mapped =
        RESULT_CHECK(error, driver, cuMemMap, (buffer->address, bytes, 0, handle, 0));
    driver->cuMemRelease(handle); /* the mapping keeps the memory */
    if (mapped && RESULT_CHECK(error, driver, cuMemSetAccess, (buffer->address, bytes, &access, 1)))
        return true;
    if (mapped)
        driver->cuMemUnmap(buffer->address, bytes);
    return false;
}

bool buffer_map(const struct driver *driver, CUdevice device, CUdeviceptr wanted, size_t bytes,
                struct buffer *buffer, struct host_error *error) {
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    size_t granularity;
    if (!driver->cuMemAddressReserve || !driver->cuMemAddressFree || !driver->cuMemCreate ||
        !driver->cuMemRelease || !driver->cuMemMap || !driver->cuMemUnmap ||
        !driver->cuMemSetAccess || !driver->cuMemGetAllocationGranularity ||
        driver->cuMemGetAllocationGranularity(&granularity, &prop,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
        granularity == 0 || bytes > SIZE_MAX - granularity)
        return buffer_alloc(driver, bytes, buffer, error);
    *buffer = (struct buffer){.driver = driver, .bytes = bytes};
    buffer->mapped_bytes = (bytes + granularity - 1) / granularity * granularity;
    buffer->reserved_bytes =
        buffer->mapped_bytes > BUFFER_RESERVE_BYTES ? buffer->mapped_bytes : BUFFER_RESERVE_BYTES;
    if (!RESULT_CHECK(error, driver, cuMemAddressReserve,
                      (&buffer->address, buffer->reserved_bytes, 0, wanted, 0))) {
        *buffer = (struct buffer){0};
        return false;
    }
    if (back(buffer, &prop, error))
        return true;
    driver->cuMemAddressFree(buffer->address, buffer->reserved_bytes);
    *buffer = (struct buffer){0};
    return false;
}

bool buffer_upload(const struct buffer *buffer, size_t offset_bytes, const void *from, size_t bytes,
                   struct host_error *error) {
    return inside(buffer, offset_bytes, bytes, error) &&
           (bytes == 0 || RESULT_CHECK(error, buffer->driver, cuMemcpyHtoD,
                                       (buffer->address + offset_bytes, from, bytes)));
}

bool buffer_download(const struct buffer *buffer, size_t offset_bytes, void *to, size_t bytes,
                     struct host_error *error) {
    return inside(buffer, offset_bytes, bytes, error) &&
           (bytes == 0 || RESULT_CHECK(error, buffer->driver, cuMemcpyDtoH,
                                       (to, buffer->address + offset_bytes, bytes)));
}

bool buffer_fill(const struct buffer *buffer, size_t offset_bytes, size_t bytes, unsigned value,
                 size_t elem_bytes, struct host_error *error) {
    if (!inside(buffer, offset_bytes, bytes, error))
        return false;
    if ((elem_bytes != 1 && elem_bytes != 2 && elem_bytes != 4) || bytes % elem_bytes != 0) {
        result_message(error, "cannot fill %zu bytes with elements of %zu", bytes, elem_bytes);
        return false;
    }
    if (bytes == 0)
        return true;
    CUdeviceptr to = buffer->address + offset_bytes;
    if (elem_bytes == 1)
        return RESULT_CHECK(error, buffer->driver, cuMemsetD8, (to, (unsigned char)value, bytes));
    if (elem_bytes == 2)
        return RESULT_CHECK(error, buffer->driver, cuMemsetD16,
                            (to, (unsigned short)value, bytes / 2));
    return RESULT_CHECK(error, buffer->driver, cuMemsetD32, (to, value, bytes / 4));
}

bool buffer_copy(const struct buffer_copy_desc *copy, struct host_error *error) {
    return inside(copy->to, copy->to_offset_bytes, copy->bytes, error) &&
           inside(copy->from, copy->from_offset_bytes, copy->bytes, error) &&
           (copy->bytes == 0 ||
            RESULT_CHECK(error, copy->to->driver, cuMemcpyDtoD,
                         (copy->to->address + copy->to_offset_bytes,
                          copy->from->address + copy->from_offset_bytes, copy->bytes)));
}

void buffer_free(struct buffer *buffer) {
    if (buffer->address && buffer->mapped_bytes) {
        buffer->driver->cuMemUnmap(buffer->address, buffer->mapped_bytes);
        buffer->driver->cuMemAddressFree(buffer->address, buffer->reserved_bytes);
    } else if (buffer->address) {
        buffer->driver->cuMemFree(buffer->address);
    }
    memset(buffer, 0, sizeof *buffer);
}
