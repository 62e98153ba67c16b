#ifndef SILTWIN_LIVENESS_H
#define SILTWIN_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "ir.h"

/* Storage for the virtual registers of a function. A unit is 4 bytes for each of the 32 lanes; 8-,
 * 16- and 32-bit registers take one, 64-bit ones two (at a multiple of two), .b128 four (at a
 * multiple of four). Predicates have numbers of their own, one mask word each. */
struct reg_slots {
    uint32_t *unit; /* by register: its first unit, or the number of a predicate */
    uint32_t unit_count, pred_count;
    uint32_t max_live_units; /* most units that hold a needed value at one instruction */
};

enum { REG_NO_SLOT = UINT32_MAX }; /* unit of a register that no instruction names */

/* What may be relied on:
 * - the registers that one instruction names never share storage, so a destination may be written
 *   while sources are still read;
 * - a register that a thread may read before it writes it (guarded writes count as no write) has
 * its storage alone from the function's first instruction on, so that it keeps what was put there
 * at the start;
 * - formals in registers have their storage from the first instruction, results for the whole
 *   function.
 * An instruction must write only the lanes that execute it. False when the host has no memory left.
 */
bool liveness_slots(struct arena *arena, const struct ir_func *func, struct reg_slots *out);
/* The same, but the registers with `kept[register]` have their storage alone in the whole function,
 * so that they can be looked at anywhere. `kept` NULL: none. */
bool liveness_slots_keeping(struct arena *arena, const struct ir_func *func, const bool *kept,
                            struct reg_slots *out);

#endif
