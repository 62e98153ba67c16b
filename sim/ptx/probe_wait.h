#ifndef SILTWIN_PROBE_WAIT_H
#define SILTWIN_PROBE_WAIT_H

#include "arena.h"
#include "ir.h"

/* Loads from Tensor Memory (tcgen05.ld) for which no tcgen05.wait::ld stands on some path to
 * instruction `insn`, in the order of the text: a wait that is put in front of it hides that the
 * kernel has none. Their indices go to `loads` (at most `most`); the number of all, or UINT32_MAX
 * without memory. */
uint32_t probe_wait_hidden(struct arena *scratch, const struct ir_func *func, uint32_t insn,
                           uint32_t *loads, uint32_t most);

#endif
