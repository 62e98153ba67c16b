#ifndef SILTWIN_CU_FUNCTIONS_H
#define SILTWIN_CU_FUNCTIONS_H

#include "cuda_abi.h"

/* What each function of the driver API does, without lock, scope check and export: do_cuMemAlloc_v2
 * is in the cu_*.c of its chapter and is called by the exported cuMemAlloc_v2 (cu_entry.c) once the
 * lock is held and the row's scope is satisfied. */
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    CUresult do_##symbol params;
#include "driver_api.def"
#undef DRIVER_FN

#endif
