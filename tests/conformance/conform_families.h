#ifndef SILTWIN_CONFORM_FAMILIES_H
#define SILTWIN_CONFORM_FAMILIES_H

#include "conform.h"

/* Family NAME is conform_NAME.c: conform_NAME_run and conform_NAME_describe.
 * Cases of a batch and most bytes of a case: */
enum {
    CONFORM_WGMMA_CASES = 256,
    CONFORM_WGMMA_BYTES = 64 * 256 * 4,
};

#define CONFORM_FAMILY(name)                                                                       \
    bool conform_##name##_run(struct conform_batch *batch, struct host_error *error);              \
    void conform_##name##_describe(const struct conform_batch *batch, uint32_t index, char *text,  \
                                   size_t size);
CONFORM_FAMILY(wgmma)
#undef CONFORM_FAMILY

#endif
