/* Results of driver calls as names and sentences. Both tables come from the ABI's list, so an error
 * reads the same whichever driver returned it. */
#include "result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    CUresult code;
    const char *name, *text;
} results[] = {
#define CU_RESULT(name, value, text) {name, #name, text},
#include "cuda_results.def"
#undef CU_RESULT
};

enum { RESULT_COUNT = sizeof results / sizeof results[0] };

const char *result_name(CUresult code) {
    for (int i = 0; i < RESULT_COUNT; i++)
        if (results[i].code == code)
            return results[i].name;
    return NULL;
}

bool result_from_name(const char *name, CUresult *code) {
    static const char *const prefixes[] = {"", "CUDA_", "CUDA_ERROR_"};
    for (int i = 0; i < RESULT_COUNT; i++) {
        for (int p = 0; p < 3; p++) {
            size_t skip = strlen(prefixes[p]);
            if (strncmp(results[i].name, prefixes[p], skip) == 0 &&
                strcmp(results[i].name + skip, name) == 0) {
                *code = results[i].code;
                return true;
            }
        }
    }
    return false;
}

void result_describe(struct host_error *error, const char *call, CUresult code,
                     const char *detail) {
    if (!error)
        return;
    const char *name = "unknown result", *text = "not in the documented list";
    for (int i = 0; i < RESULT_COUNT; i++) {
        if (results[i].code == code) {
            name = results[i].name;
            text = results[i].text;
        }
    }
    error->code = code;
    error->call = call;
    snprintf(error->text, sizeof error->text, "%s failed: %s (%d): %s%s%s", call, name, (int)code,
             text, detail ? ": " : "", detail ? detail : "");
}

void result_message(struct host_error *error, const char *format, ...) {
    if (!error)
        return;
    va_list args;
    va_start(args, format);
    error->code = CUDA_SUCCESS;
    error->call = NULL;
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
}

bool result_check(struct host_error *error, const char *call, CUresult code) {
    if (code == CUDA_SUCCESS)
        return true;
    result_describe(error, call, code, NULL);
    return false;
}
