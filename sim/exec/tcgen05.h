#ifndef SILTWIN_TCGEN05_H
#define SILTWIN_TCGEN05_H

#include "aligned.h"
#include "cta.h"
#include "warp.h"

/* What the three files of tcgen05 instructions share. */

/* Checks that columns first .. first + count - 1 are allocated to this CTA. What silicon does with
 * others is unknown; here it is fault 715 with the reason. */
bool tcgen05_columns(struct warp *w, const struct xinsn *x, uint32_t lanes, uint32_t first,
                     uint32_t count);
/* The same for a unit at work. */
bool tcgen05_unit_columns(struct cta *cta, const struct async_op *op, uint32_t first,
                          uint32_t count);

/* Tells the observer about an access to Tensor Memory. */
void tcgen05_tell(struct warp *w, const struct xinsn *x, uint32_t lanes, enum event_access access,
                  uint32_t first_lane, uint32_t lane_count, uint32_t first_column,
                  uint32_t column_count);

#endif
