#ifndef SILTWIN_ALIGNED_H
#define SILTWIN_ALIGNED_H

#include "warp.h"

/* For .sync.aligned forms: true when all live lanes of the warp execute the instruction together.
 * Else *step is what to return: STEP_WAIT until they have come, or a fault when a guard keeps some
 * away, which the manual forbids. */
bool warp_aligned(struct warp *w, const struct xinsn *x, uint32_t mask, enum step *step);

#endif
