#ifndef SILTWIN_DRIVER_H
#define SILTWIN_DRIVER_H

#include <stdbool.h>

#include "cuda_abi.h"
#include "result.h"

/* One CUDA driver: a loaded library and its functions, a field each (driver->cuMemAlloc). Nothing
 * above this table knows whether a GPU or the simulator stands behind it. The struct is filled by
 * driver_open and only read afterwards; it may be shared by threads. */

#define DRIVER_FIELD_REQUIRED(name, params) CUresult(*name) params;
#define DRIVER_FIELD_OPTIONAL(name, params) CUresult(*name) params;
#define DRIVER_FIELD_OTHER(name, params)

struct driver {
    void *library;
    char *path;  /* as given to the loader */
    int version; /* cuDriverGetVersion: 1000 * major + 10 * minor */
/* OPTIONAL functions are NULL where the driver lacks them. */
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    DRIVER_FIELD_##need(name, params)
#include "driver_api.def"
#include "driver_api_gpu.def"
#undef DRIVER_FN
};

/* Loads the library at `path` (NULL: the system's "libcuda.so.1"), fills the table through its
 * cuGetProcAddress and calls cuInit. False: `error` says what is missing (no library, a required
 * function, no device, a driver older than an ABI that is needed), and `driver` is empty. */
bool driver_open(struct driver *driver, const char *path, struct host_error *error);

/* A symbol of the library that is no part of the driver API, NULL when it has none of that name. */
void *driver_extension(const struct driver *driver, const char *name);

/* Other libraries that a machine may have (cuBLAS): NULL when there is none of that name. Closing
 * NULL is fine. */
void *driver_library_open(const char *name);
void *driver_library_symbol(void *library, const char *name);
void driver_library_close(void *library);

/* Unloads the library. Everything made through it must be gone. A zeroed struct is fine. */
void driver_close(struct driver *driver);

#endif
