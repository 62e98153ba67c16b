#ifndef SILTWIN_IR_INSN_H
#define SILTWIN_IR_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "isa.h"
#include "ptx_words.h"

/* Instructions and operands of a parsed module. */

enum ir_operand_kind {
    IR_NONE,    /* an optional operand that was not written */
    IR_REG,     /* register `index` of the function */
    IR_IMM,     /* `imm`: bits of the operand's type, zero above */
    IR_SREG,    /* special register `index` (enum ptx_sreg), `component` */
    IR_SYMBOL,  /* address of module symbol `index`, plus `imm` bytes */
    IR_FUNC,    /* function `index` of the module: its address, or the callee */
    IR_ADDRESS, /* [elems[0] + imm]; elems[0] is IR_REG, IR_SYMBOL or IR_IMM */
    IR_TENSOR,  /* [elems[0], {elems[1], ...}]: a tensor map's address and its coordinates */
    IR_VECTOR,  /* {elems...}; also the argument and result lists of call */
    IR_PAIR,    /* elems[0] | elems[1]; either may be IR_SINK */
    IR_SINK,    /* _ */
    IR_LABEL,   /* instruction `index` of the function (may be insn_count: the end) */
    IR_LIST,    /* .branchtargets, .calltargets or .callprototype `index` of the function */
};

struct ir_operand {
    uint8_t kind;      /* enum ir_operand_kind */
    bool negated;      /* !p */
    uint8_t component; /* of a special register: 0..3 for .x .y .z .w; 4: the whole vector */
    uint16_t elem_count;
    int32_t index;
    uint32_t column; /* of its first character, from 1 */
    int64_t imm;
    struct ir_operand *elems;
};

enum { IR_MAX_TYPES = 4, IR_MAX_QUALS = 14 };

struct ir_insn {
    uint16_t form; /* enum isa_form */
    uint8_t type_count;
    uint8_t qual_count;
    uint8_t types[IR_MAX_TYPES]; /* enum ptx_type, in the order written */
    uint16_t
        quals[IR_MAX_QUALS]; /* enum ptx_qual, in the order written, without opcode and types */
    int32_t guard;           /* predicate register, -1 without a guard */
    bool guard_negated;      /* @!p */
    uint8_t operand_count;   /* as many as the row's operand list has */
    uint32_t line, column;   /* of the mnemonic in the PTX text, from 1 */
    int32_t loc_file;        /* of the last .loc: index into ir_module.files, -1 for none */
    uint32_t loc_line;
    struct ir_operand *operands;
};

/* Whether the qualifier was written. */
static inline bool ir_has(const struct ir_insn *insn, enum ptx_qual qual) {
    for (unsigned i = 0; i < insn->qual_count; i++)
        if (insn->quals[i] == qual)
            return true;
    return false;
}

/* The first state space word of the instruction (SPACE_GENERIC when it has none); `nth` 1 asks for
 * the second, as in cp.async.bulk.global.shared::cta. */
enum ptx_space ir_space(const struct ir_insn *insn, unsigned nth);
/* The space that a state space word names; SPACE_GENERIC for any other word. */
enum ptx_space ir_qual_space(enum ptx_qual qual);
/* 1, 2, 4 or 8: the .vN qualifier. */
unsigned ir_vector_count(const struct ir_insn *insn);

#endif
