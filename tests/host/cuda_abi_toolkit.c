/* The toolkit's side of test_cuda_abi: compiled with <cuda.h> where it is installed, and therefore
 * without our own header, whose names are the same. */
#include "cuda_abi_facts.h"

#ifdef SILTWIN_CUDA_TOOLKIT
#define __CUDA_API_VERSION_INTERNAL /* the function types of first symbols, too */
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

static const struct abi_fact facts[] = {
#include "cuda_abi_facts.def"
};

const struct abi_fact *toolkit_facts(size_t *count) {
    *count = sizeof facts / sizeof facts[0];
    return facts;
}

/* The type in cudaTypedefs.h carries name and version, so a wrong version does not compile. */
static const struct {
    const char *row;
    int same;
} signatures[] = {
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    {#symbol, _Generic((PFN_##name##_v##since)0, CUresult(*) params : 1, default : 0)},
#include "driver_api.def"
#include "driver_api_gpu.def"
#undef DRIVER_FN
};

const char *toolkit_signature_mismatch(size_t *checked) {
    *checked = sizeof signatures / sizeof signatures[0];
    for (size_t i = 0; i < *checked; i++)
        if (!signatures[i].same)
            return signatures[i].row;
    return NULL;
}
#else
const struct abi_fact *toolkit_facts(size_t *count) {
    *count = 0;
    return NULL;
}

const char *toolkit_signature_mismatch(size_t *checked) {
    *checked = 0;
    return NULL;
}
#endif
