#ifndef SILTWIN_WGMMA_TOUCH_H
#define SILTWIN_WGMMA_TOUCH_H

#include "image.h"

/* Makes every instruction of the decoded function that names a register of some wgmma's D, and is
 * no wgmma itself, wait first until the warp's wgmma instructions are done. ptxas does so: it puts
 * a wait in front ("C7517: warpgroup.wait is injected ... to allow use of registers defined by
 * GMMA"), and code that Triton makes for f16 accumulators counts on it. False without memory. */
bool wgmma_touch_wrap(struct arena *arena, struct xfunc *func);

/* Whether the wgmma instructions that this warp has issued are done, D in the registers; else what
 * the warp waits for is set (op_wgmma.c). */
bool wgmma_settled(struct warp *w);

#endif
