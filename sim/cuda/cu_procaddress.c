/* cuGetProcAddress: name and version to entry point.
 *
 * A name may have several rows in driver_api.def; the newest ABI that is not newer than the version
 * asked for is the answer. Names that are only exported as absent functions have no known version:
 * any finds them, as the real driver has them.
 *
 * The two ABIs differ as an H200's driver showed: the 12.0 one returns success and NULL for a name
 * or version without a function, the 11.3 one returns 500 and leaves the pointer alone. A version
 * above the driver's, or unknown flags: 1 from both. */
#include <string.h>

#include "cu_absent.h"
#include "cu_functions.h"
#include "cu_root.h"

typedef void generic_fn(void);

#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args) CUresult symbol params;
#include "driver_api.def"
#undef DRIVER_FN

/* The per-thread variant is another name of the same function (cu_entry.c), so one pointer serves
 * both. */
static const struct {
    const char *name;
    int since;
    generic_fn *function;
} rows[] = {
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    {#name, since, (generic_fn *)(void (*)(void))symbol},
#include "driver_api.def"
#undef DRIVER_FN
};

static CUdriverProcAddressQueryResult find(const char *name, int version, generic_fn **function) {
    int best = -1;
    bool known = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        known = true;
        if (rows[i].since <= version && (best < 0 || rows[i].since > rows[best].since))
            best = (int)i;
    }
    if (best >= 0) {
        *function = rows[best].function;
        return CU_GET_PROC_ADDRESS_SUCCESS;
    }
    size_t count = 0;
    const struct cu_absent *absent = cu_absent_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(absent[i].symbol, name) == 0 && (!known || version >= 2000)) {
            *function = (generic_fn *)absent[i].function;
            return CU_GET_PROC_ADDRESS_SUCCESS;
        }
    }
    return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

static bool arguments_good(const char *name, void **function, int version, cuuint64_t flags) {
    const cuuint64_t legal =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return name && function && version <= CU_DRIVER_VERSION && (flags & ~legal) == 0;
}

CUresult do_cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
    if (!arguments_good(name, function, version, flags))
        return CUDA_ERROR_INVALID_VALUE;
    generic_fn *found = NULL;
    if (find(name, version, &found) != CU_GET_PROC_ADDRESS_SUCCESS)
        return CUDA_ERROR_NOT_FOUND;
    memcpy(function, &found, sizeof found);
    return CUDA_SUCCESS;
}

CUresult do_cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status) {
    if (!arguments_good(name, function, version, flags))
        return CUDA_ERROR_INVALID_VALUE;
    generic_fn *found = NULL;
    CUdriverProcAddressQueryResult result = find(name, version, &found);
    memcpy(function, &found, sizeof found);
    if (status)
        *status = result;
    return CUDA_SUCCESS;
}
