#ifndef SILTWIN_CU_ABSENT_H
#define SILTWIN_CU_ABSENT_H

#include <stddef.h>

#include "cuda_abi.h"

/* A driver function that is exported but not modelled. Its arguments are never looked at. */
typedef CUresult cu_absent_fn(void);
struct cu_absent {
    const char *symbol;
    cu_absent_fn *function;
};

/* All of them, sorted by symbol. */
const struct cu_absent *cu_absent_list(size_t *count);

#endif
