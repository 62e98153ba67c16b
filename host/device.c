/* A device: its identity, and the primary context in which everything else lives. */
#include "device.h"

#include <string.h>

static bool device_identify(struct device *device, struct host_error *error) {
    const struct driver *driver = device->driver;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device->compute_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->sm_count},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!RESULT_CHECK(error, driver, cuDeviceGetAttribute,
                          (wanted[i].value, wanted[i].attribute, device->handle)))
            return false;
    return RESULT_CHECK(error, driver, cuDeviceGetName,
                        (device->name, sizeof device->name, device->handle));
}

bool device_open(const struct driver *driver, int ordinal, struct device *device,
                 struct host_error *error) {
    memset(device, 0, sizeof *device);
    device->driver = driver;
    int count = 0;
    if (!RESULT_CHECK(error, driver, cuDeviceGetCount, (&count)))
        return false;
    if (ordinal < 0 || ordinal >= count) {
        result_message(error, "there is no device %d: %s has %d", ordinal, driver->path, count);
        return false;
    }
    return RESULT_CHECK(error, driver, cuDeviceGet, (&device->handle, ordinal)) &&
           device_identify(device, error) &&
           RESULT_CHECK(error, driver, cuDevicePrimaryCtxRetain,
                        (&device->context, device->handle)) &&
           device_make_current(device, error);
}

bool device_make_current(const struct device *device, struct host_error *error) {
    return RESULT_CHECK(error, device->driver, cuCtxSetCurrent, (device->context));
}

bool device_synchronize(const struct device *device, struct host_error *error) {
    return RESULT_CHECK(error, device->driver, cuCtxSynchronize, ());
}

void device_close(struct device *device) {
    if (device->context) {
        device->driver->cuCtxSetCurrent(NULL);
        device->driver->cuDevicePrimaryCtxRelease(device->handle);
    }
    memset(device, 0, sizeof *device);
}
