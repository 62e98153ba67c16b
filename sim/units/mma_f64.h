#ifndef SILTWIN_MMA_F64_H
#define SILTWIN_MMA_F64_H

#include <stdint.h>

#include "num_round.h"

/* Double precision mma.sync and wmma, one output element: c + a[0]*b[0] + ... + a[k-1]*b[k-1], a
 * chain of fused multiply-adds in the order of k (oracle warp/hw-H200-warp-mma). NaN: where several
 * come together in a step, that of b goes before that of the sum so far, and that before a's; its
 * payload stays, it becomes quiet. An invalid operation gives fff8000000000000, not positive. Other
 * than the scalar fma, where the sum goes first (H200, traces/silicon/observations.md). */
uint64_t mma_f64_dot(const uint64_t *a, const uint64_t *b, uint32_t k, uint64_t c,
                     enum num_round round);

#endif
