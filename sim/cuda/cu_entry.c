/* The exported functions of the driver API, one per row of driver_api.def:
 *
 *   take the lock -> is the library initialised? -> is there a living current context, without a
 *   sticky error? -> do_<symbol> -> give the lock back
 *
 * Launches and copies are done when their call returns, so a stream is never behind another and the
 * per-thread default stream (_ptsz, _ptds) is the same function. */
#include "cu_functions.h"
#include "cu_root.h"

#define EXPORTED __attribute__((visibility("default")))

#define VARIANT_PLAIN(symbol, params)
#define VARIANT_PTSZ(symbol, params)                                                               \
    EXPORTED CUresult symbol##_ptsz params __attribute__((alias(#symbol)));
#define VARIANT_PTDS(symbol, params)                                                               \
    EXPORTED CUresult symbol##_ptds params __attribute__((alias(#symbol)));

#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    EXPORTED CUresult symbol params {                                                              \
        CUresult code = cu_enter(CU_SCOPE_##scope);                                                \
        return cu_leave(code == CUDA_SUCCESS ? do_##symbol args : code);                           \
    }                                                                                              \
    VARIANT_##stream(symbol, params)
#include "driver_api.def"
#undef DRIVER_FN
