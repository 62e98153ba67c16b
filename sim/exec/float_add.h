#ifndef SILTWIN_FLOAT_ADD_H
#define SILTWIN_FLOAT_ADD_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "ptx_words.h"
#include "tma_reduce.h"

/* EVENT_FLOAT_ADD: floating-point sums in global memory, whose rounding depends on the order in
 * which threads and units come. */

/* Whether adding that type is a floating-point addition, and of what. */
bool float_add_ptx(enum ptx_type type, enum event_float *elem);
bool float_add_tmap(enum tma_reduce_op op, enum tmap_type type, enum event_float *elem);

/* Whether anybody wants to know. */
bool float_add_observed(const struct cta *cta);
/* `before` are the bytes in memory at `address`, `operand` what is added to them. */
void float_add_tell(struct cta *cta, enum event_float elem, uint64_t address, const uint8_t *before,
                    const uint8_t *operand, uint32_t bytes);

#endif
