/* Opens a CUDA driver: the only dlopen of the project.
 *
 *   dlopen(path) -> dlsym("cuGetProcAddress_v2", else "cuGetProcAddress") -> one query per row of
 *   driver_api.def, with the version in which that row's ABI appeared -> cuDriverGetVersion ->
 * cuInit
 *
 * The version in the query chooses the ABI, so a newer driver whose function of the same name takes
 * other arguments is never called with ours. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult get_proc_v1(const char *, void **, int, cuuint64_t);
typedef CUresult get_proc_v2(const char *, void **, int, cuuint64_t,
                             CUdriverProcAddressQueryResult *);

struct lookup {
    get_proc_v1 *v1;
    get_proc_v2 *v2;
};

/* Rows whose answer fills a field. */
struct wanted {
    const char *name;
    int since;
    bool required;
    size_t field_offset;
};

#define WANTED_REQUIRED(name, since) {#name, since, true, offsetof(struct driver, name)},
#define WANTED_OPTIONAL(name, since) {#name, since, false, offsetof(struct driver, name)},
#define WANTED_OTHER(name, since)
static const struct wanted wanted[] = {
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args) WANTED_##need(name, since)
#include "driver_api.def"
#include "driver_api_gpu.def"
#undef DRIVER_FN
};

static bool find_lookup(void *library, struct lookup *lookup) {
    /* POSIX promises that a void pointer from dlsym holds a function address. */
    void *v2 = dlsym(library, "cuGetProcAddress_v2"), *v1 = dlsym(library, "cuGetProcAddress");
    memcpy(&lookup->v2, &v2, sizeof v2);
    memcpy(&lookup->v1, &v1, sizeof v1);
    return v2 || v1;
}

static void *find_function(const struct lookup *lookup, const struct wanted *want) {
    void *function = NULL;
    CUresult code =
        lookup->v2
            ? lookup->v2(want->name, &function, want->since, CU_GET_PROC_ADDRESS_DEFAULT, NULL)
            : lookup->v1(want->name, &function, want->since, CU_GET_PROC_ADDRESS_DEFAULT);
    return code == CUDA_SUCCESS ? function : NULL;
}

static bool fill_table(struct driver *driver, struct host_error *error) {
    struct lookup lookup = {0};
    if (!find_lookup(driver->library, &lookup)) {
        result_message(error, "%s has no cuGetProcAddress: not a CUDA driver, or older than 11.3",
                       driver->path);
        return false;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *function = find_function(&lookup, &wanted[i]);
        if (!function && wanted[i].required) {
            result_message(error, "%s lacks %s (since CUDA %d.%d)", driver->path, wanted[i].name,
                           wanted[i].since / 1000, wanted[i].since % 1000 / 10);
            return false;
        }
        memcpy((char *)driver + wanted[i].field_offset, &function, sizeof function);
    }
    return true;
}

bool driver_open(struct driver *driver, const char *path, struct host_error *error) {
    memset(driver, 0, sizeof *driver);
    driver->path = strdup(path ? path : "libcuda.so.1");
    if (!driver->path) {
        result_message(error, "out of memory");
        return false;
    }
    driver->library = dlopen(driver->path, RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        result_message(error, "cannot load the driver: %s", dlerror());
        driver_close(driver);
        return false;
    }
    if (!fill_table(driver, error) ||
        !RESULT_CHECK(error, driver, cuDriverGetVersion, (&driver->version)) ||
        !RESULT_CHECK(error, driver, cuInit, (0))) {
        driver_close(driver);
        return false;
    }
    return true;
}

void *driver_extension(const struct driver *driver, const char *name) {
    return dlsym(driver->library, name);
}

void *driver_library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *driver_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void driver_library_close(void *library) {
    if (library)
        dlclose(library);
}

void driver_close(struct driver *driver) {
    if (driver->library)
        dlclose(driver->library);
    free(driver->path);
    memset(driver, 0, sizeof *driver);
}
