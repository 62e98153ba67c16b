#ifndef SILTWIN_RESULT_H
#define SILTWIN_RESULT_H

#include <stdbool.h>

#include "cuda_abi.h"

/* What went wrong in a call through a driver. A zeroed struct is "nothing yet"; only a failing
 * function writes to it. */
struct host_error {
    CUresult code;    /* what the driver returned; CUDA_SUCCESS when no driver call failed */
    const char *call; /* name of that driver function, NULL when none was reached */
    char text[600];   /* one sentence for people, without a newline at its end */
};

/* Name of a result, as "CUDA_ERROR_INVALID_VALUE"; an unknown
 * number gives NULL. Needs no driver. */
const char *result_name(CUresult code);

/* The result of that name, with or without its "CUDA_" or "CUDA_ERROR_" ("INVALID_VALUE"); false
 * when there is none. */
bool result_from_name(const char *name, CUresult *code);

/* Writes "CALL failed: NAME (number): text" to `error`, `detail` (may be NULL) behind it. */
void result_describe(struct host_error *error, const char *call, CUresult code, const char *detail);

/* Writes a message that is not about a driver call; code and call stay zero. */
void result_message(struct host_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True when `driver->function(...)` succeeded, else `error` says what failed:
 *     if (!RESULT_CHECK(error, driver, cuMemFree, (address)))
 *         return false; */
#define RESULT_CHECK(error, driver, function, args)                                                \
    result_check((error), #function, (driver)->function args)
bool result_check(struct host_error *error, const char *call, CUresult code);

#endif
