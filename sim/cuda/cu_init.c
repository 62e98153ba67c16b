/* Initialisation, version, error texts, entry points by name. */
#include "cu_functions.h"

#include <stdlib.h>
#include <string.h>

#include "cu_absent.h"
#include "cu_root.h"

CUresult do_cuInit(unsigned int flags) {
    struct cu_root *root = cu_root();
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (root->initialised)
        return CUDA_SUCCESS;
    if (!root->model) {
        const char *name = getenv("SILTWIN_DEVICE");
        root->model = device_model_find(name && *name ? name : "b200");
        if (!root->model) {
            cu_log("SILTWIN_DEVICE=%s: the models are b200, h200 and h100", name);
            return CUDA_ERROR_NO_DEVICE;
        }
    }
    root->initialised = true;
    return CUDA_SUCCESS;
}

CUresult do_cuDriverGetVersion(int *version) {
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CU_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult code;
    const char *name, *text;
} results[] = {
#define CU_RESULT(name, value, text) {name, #name, text},
#include "cuda_results.def"
#undef CU_RESULT
};

/* Index in `results`, -1 for an unknown number. */
static int find_result(CUresult code) {
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].code == code)
            return (int)i;
    return -1;
}

CUresult do_cuGetErrorName(CUresult error, const char **name) {
    int index = find_result(error);
    if (name)
        *name = index < 0 ? NULL : results[index].name;
    return name && index >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGetErrorString(CUresult error, const char **text) {
    int index = find_result(error);
    if (text)
        *text = index < 0 ? NULL : results[index].text;
    return text && index >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The private tables that NVIDIA's own runtime asks for are not public interface; an H200's driver
 * answers an unknown id with 1. */
CUresult do_cuGetExportTable(const void **table, const CUuuid *id) {
    (void)id;
    if (table)
        *table = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}
