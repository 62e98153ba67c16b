#ifndef SILTWIN_FLOAT_SUM_H
#define SILTWIN_FLOAT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"
#include "siltwin_sim.h"
#include "strbuf.h"

/* Sums that a kernel makes in global memory with atomics: two machines add in two orders, and each
 * order rounds in its own way. A record of the simulator holds, for every element that was summed,
 *
 *   offset_bytes u64 in the buffer's span | numbers added u32 | enum siltwin_sim_float u32 |
 *   sum of magnitudes f64                                                (the FSUM chunk, record.h)
 *
 * n numbers and what stood there make n additions; each order is within n u / (1 - n u) times the
 * sum of magnitudes of the exact sum, u half a unit in the last place of 1 (Higham, Accuracy and
 * Stability of Numerical Algorithms, 4.2), so two orders are within twice that. f32 atomics flush
 * subnormals: up to 2^-126 more for each operand and result. */

enum { FLOAT_SUM_BYTES = 24 };

/* Appends the entry of one element; `ctx` is a struct float_sum_sink. */
struct float_sum_sink {
    struct strbuf *bytes;
    uint64_t span_address;
};
siltwin_sim_float_sum float_sum_put;

/* Whether the element at `offset_bytes` of the span, `a` on one side and `b` on the other, is such
 * a sum in one of the records' buffers, of `size_bytes`, and may be both by the order of adding. */
bool float_sum_allows(const struct record_buffer *x, const struct record_buffer *y,
                      uint64_t offset_x, uint64_t offset_y, uint32_t size_bytes, const uint8_t *a,
                      const uint8_t *b);

#endif
