#ifndef SILTWIN_IR_H
#define SILTWIN_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir_insn.h"
#include "ptx_words.h"

/* A PTX module after parsing and checking: names are resolved to indices, immediates are bits of
 * their operand's type, each instruction names its row of isa.def. Everything lives in one arena
 * and is read only afterwards. */

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

/* Index of the entry or function of that name, -1 for none. */
int32_t ir_find_func(const struct ir_module *module, const char *name);
int32_t ir_find_symbol(const struct ir_module *module, const char *name);

#endif
