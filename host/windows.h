#ifndef SILTWIN_WINDOWS_H
#define SILTWIN_WINDOWS_H

#include <stdint.h>

#include "driver.h"

/* Where shared and local memory lie among generic addresses: the generic address of shared and of
 * local address 0. Each process has its own (H200 observation 31). */
struct windows {
    uint64_t shared, local;
};

/* What of a window can be addressed: shared addresses carry a CTA's rank in bits 24 and up
 * (H200 observation 32), a thread has at most 16 MiB of local memory (seen in fffdb8, the top of
 * it). */
enum { WINDOW_SHARED_BYTES = 1 << 28, WINDOW_LOCAL_BYTES = 1 << 24 };

/* Asks the device with a small kernel of its own, and waits for it. */
bool windows_read(const struct driver *driver, struct windows *windows, struct host_error *error);

#endif
