#ifndef SILTWIN_DEVICE_H
#define SILTWIN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "driver.h"

/* A device and its primary context. */
struct device {
    const struct driver *driver;
    CUdevice handle;
    CUcontext context;
    char name[256];
    int compute_major, compute_minor;
    int sm_count;
};

/* Opens device `ordinal`: reads what it is, retains its primary context and makes it current in
 * this thread. */
bool device_open(const struct driver *driver, int ordinal, struct device *device,
                 struct host_error *error);

/* Makes the context current in the calling thread. */
bool device_make_current(const struct device *device, struct host_error *error);

/* Waits for all work. An error of a kernel that ran before shows here, and is sticky. */
bool device_synchronize(const struct device *device, struct host_error *error);

/* Releases the primary context; with the last release its memory and modules are gone. */
void device_close(struct device *device);

#endif
