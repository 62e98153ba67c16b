#ifndef SILTWIN_IR_H
#define SILTWIN_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa.h"
#include "ptx_words.h"

/* A PTX module after parsing and checking: names are resolved to indices, immediates are bits of
 * their operand's type, each instruction names its row of isa.def. Everything lives in one arena
 * and is read only afterwards. */

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

struct ir_reg {
    const char *name;
    uint8_t type; /* enum ptx_type */
    uint32_t line;
};

/* A pointer inside an initialised variable. */
struct ir_relocation {
    uint64_t offset_bytes;
    int32_t symbol; /* index into ir_module.symbols, -1: a function */
    int32_t func;
    int64_t addend_bytes;
    bool generic; /* generic(symbol) */
};

struct ir_symbol {
    const char *name;
    uint8_t space;  /* enum ptx_space */
    uint8_t type;   /* element type */
    bool is_extern; /* .extern: dynamic shared memory for SPACE_SHARED */
    bool is_visible;
    int32_t func; /* function whose body or parameter list declares it, -1 at module scope */
    uint32_t align_bytes;
    uint64_t size_bytes;   /* 0 for [] */
    uint64_t offset_bytes; /* SPACE_PARAM of an entry: its offset in the parameter block */
    const uint8_t *init;   /* size_bytes bytes, or NULL */
    struct ir_relocation *relocations;
    uint32_t relocation_count;
    bool is_pointer; /* .ptr parameter */
    uint32_t line, column;
};

/* One formal of a .func: a register or a .param variable. */
struct ir_formal {
    bool in_register;
    int32_t index; /* register of the function, or module symbol */
};

/* .branchtargets: instruction indices; .calltargets: function indices; .callprototype: none, and
 * the byte sizes of its formals. */
struct ir_list {
    const char *name;
    int32_t *targets;
    uint32_t count;
    uint32_t *param_bytes, *result_bytes;
    uint32_t param_count, result_count;
};

/* Launch bounds and the like; 0 where not given. */
struct ir_directives {
    uint32_t maxntid[3], reqntid[3], reqnctapercluster[3];
    uint32_t maxnreg, minnctapersm, maxclusterrank;
    bool explicitcluster, blocksareclusters, noreturn;
};

struct ir_func {
    const char *name;
    bool is_entry, is_defined, is_visible;
    struct ir_directives directives;
    struct ir_formal *params;
    uint32_t param_count;
    struct ir_formal *results;
    uint32_t result_count;
    uint32_t param_bytes; /* of an entry: size of its parameter block */
    struct ir_reg *regs;
    uint32_t reg_count;
    struct ir_insn *insns;
    uint32_t insn_count;
    struct ir_list *lists;
    uint32_t list_count;
    uint32_t line, column;
};

struct ir_module {
    const char *file; /* name for messages */
    const char *text; /* the PTX text, kept to print lines */
    size_t text_length;
    uint16_t version;   /* 90 for .version 9.0 */
    uint16_t target;    /* 100 for sm_100a */
    char target_suffix; /* 'a', 'f' or 0 */
    struct ir_symbol *symbols;
    uint32_t symbol_count;
    struct ir_func *funcs;
    uint32_t func_count;
    const char **files; /* .file */
    uint32_t file_count;
};

/* Whether the qualifier was written. */
static inline bool ir_has(const struct ir_insn *insn, enum ptx_qual qual) {
    for (unsigned i = 0; i < insn->qual_count; i++)
        if (insn->quals[i] == qual)
            return true;
    return false;
}

/* Index of the entry or function of that name, -1 for none. */
int32_t ir_find_func(const struct ir_module *module, const char *name);
int32_t ir_find_symbol(const struct ir_module *module, const char *name);
/* The first state space word of the instruction (SPACE_GENERIC when it has none); `nth` 1 asks for
 * the second, as in cp.async.bulk.global.shared::cta. */
enum ptx_space ir_space(const struct ir_insn *insn, unsigned nth);
/* The space that a state space word names; SPACE_GENERIC for any other word. */
enum ptx_space ir_qual_space(enum ptx_qual qual);
/* 1, 2, 4 or 8: the .vN qualifier. */
unsigned ir_vector_count(const struct ir_insn *insn);

#endif
