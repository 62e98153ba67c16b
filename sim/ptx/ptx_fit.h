#ifndef SILTWIN_PTX_FIT_H
#define SILTWIN_PTX_FIT_H

#include "ptx_parser.h"

/* One statement against one row that its mnemonic fits. */

/* Why an operand does not fit. */
struct ptx_misfit {
    const struct ptx_raw *where;
    char what[160];
    unsigned depth; /* operands that did fit */
};

struct ptx_fit {
    struct ptx_parser *p;
    const struct ptx_mnemonic *mnemonic;
    const struct ptx_match *match;
    struct ptx_misfit *misfit;
};

/* Gives each of the row's operand items an operand of the statement: chosen[i] is its index, or -1
 * for an item that is left out. False, with *misfit filled, when they do not fit. */
bool ptx_fit(const struct ptx_fit *f, int8_t chosen[ISA_MAX_ITEMS]);
/* The type of an item's operand. */
enum ptx_type ptx_item_type(const struct ptx_match *match, const struct isa_item *item);
/* The type of `count` elements that make up a value of `type`. */
enum ptx_type ptx_pack_type(enum ptx_type type, unsigned count);
/* The operand as it counts: where a .vN could stand and does not, one element in braces is that
 * element (ld, st and ldu of ptxas 13.0; Triton writes so). Not in mov: ptxas takes it there, but
 * an H200 gave 8080801 for the 1 in {%r}. */
const struct ptx_raw *ptx_raw_unbraced(const struct ptx_fit *f, const struct isa_item *item,
                                       const struct ptx_raw *raw);
/* Whether the operand as written is a constant, and the constant. */
bool ptx_raw_is_constant(const struct ptx_raw *raw);
void ptx_raw_constant(const struct ptx_raw *raw, struct ptx_constant *constant);
/* Writes the instruction's decoded form (ptx_build.c). False without memory. */
bool ptx_build_insn(const struct ptx_fit *f, const int8_t chosen[ISA_MAX_ITEMS],
                    struct ir_insn *insn);

#endif
