/* Devices: there is one, number 0, behind the model that was chosen. */
#include <stdio.h>
#include <string.h>

#include "cu_functions.h"
#include "cu_root.h"

enum { DEVICE_COUNT = 1, ATTRIBUTE_LAST = 147 };

CUresult do_cuDeviceGetCount(int *count) {
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = DEVICE_COUNT;
    return CUDA_SUCCESS;
}

CUresult do_cuDeviceGet(CUdevice *device, int ordinal) {
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (ordinal < 0 || ordinal >= DEVICE_COUNT)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult check(const void *out, CUdevice device) {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* A name that does not fit is cut, as the real driver cuts it. */
CUresult do_cuDeviceGetName(char *name, int length, CUdevice device) {
    CUresult code = check(name, device);
    if (code == CUDA_SUCCESS && length <= 0)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "%s", cu_root()->model->full_name);
    return code;
}

CUresult do_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult code = check(value, device);
    if (code != CUDA_SUCCESS)
        return code;
    int number = (int)attribute;
    if (number < 1 || number > ATTRIBUTE_LAST)
        return CUDA_ERROR_INVALID_VALUE;
    const struct device_model *model = cu_root()->model;
    if (device_model_value(model, number, value))
        return CUDA_SUCCESS;
    return cu_unsupported("cuDeviceGetAttribute: %s (%d) of a %s is not known",
                          device_attribute_name(number), number, model->name);
}

CUresult do_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    CUresult code = check(bytes, device);
    if (code != CUDA_SUCCESS)
        return code;
    const struct device_model *model = cu_root()->model;
    if (model->memory_bytes == 0)
        return cu_unsupported("cuDeviceTotalMem: the memory of a %s is not known", model->name);
    *bytes = model->memory_bytes;
    return CUDA_SUCCESS;
}

/* The same for every process, so that records of two runs are alike. */
static CUresult get_uuid(CUuuid *uuid, CUdevice device) {
    CUresult code = check(uuid, device);
    if (code == CUDA_SUCCESS) {
        char text[32];
        snprintf(text, sizeof text, "siltwin-%-8s", cu_root()->model->name);
        memcpy(uuid->bytes, text, sizeof uuid->bytes);
    }
    return code;
}

CUresult do_cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    return get_uuid(uuid, device);
}

CUresult do_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    return get_uuid(uuid, device);
}

CUresult do_cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    CUresult code = minor ? check(major, device) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        *major = cu_root()->model->exec.sm / 10;
        *minor = cu_root()->model->exec.sm % 10;
    }
    return code;
}

CUresult do_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    CUresult code = check(can, device);
    if (code == CUDA_SUCCESS)
        code = check(can, peer);
    if (code == CUDA_SUCCESS)
        *can = 0; /* a device is no peer of itself, and there is no other */
    return code;
}
