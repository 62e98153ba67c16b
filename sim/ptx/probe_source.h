#ifndef SILTWIN_PROBE_SOURCE_H
#define SILTWIN_PROBE_SOURCE_H

#include <stdbool.h>

#include "ir.h"
#include "probe_flow.h"

/* Properties of one instruction, for probe_flow.c. */

/* Why machines may disagree about its results, apart from what it reads in registers, from fusing
 * and from approximation (PROBE_WHY_NONE: they agree). */
enum probe_why probe_source_own(const struct ir_insn *insn);
/* Whether it reads or writes global memory, by registers. */
bool probe_source_meets_global(const struct ir_insn *insn);
/* Whether other memory, other threads or units take part in it. */
bool probe_source_meets_others(const struct ir_insn *insn);
/* Branches, and what ends the thread. */
bool probe_source_leaves(const struct ir_insn *insn);
/* Whether CTAs of a grid can learn of each other by it, so that one may wait for another. */
bool probe_source_between_ctas(const struct ir_insn *insn);
/* Whether it may be the product (else the sum) that ptxas makes part of a fused multiply-add: an
 * unrounded mul (add, sub) of f16, bf16, f32, f64 or their packed forms; of f32x2 with .rn too
 * (seen in machine code of ptxas 13.0). */
bool probe_source_fusible(const struct ir_insn *insn, bool product);
/* .approx, and div.full. */
bool probe_source_approximate(const struct ir_insn *insn);

#endif
