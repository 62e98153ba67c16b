#ifndef SILTWIN_CONFORM_IM2COL_H
#define SILTWIN_CONFORM_IM2COL_H

#include "conform_tma.h"

/* A legal im2col map whose tensor fits `tensor_bytes` and whose columns take at most `shared_bytes`
 * of shared memory; `row` is left empty. No interleave. */
struct conform_tma_case conform_im2col_map_of(struct conform_random *random, uint32_t tensor_bytes,
                                              uint32_t shared_bytes);

#endif
