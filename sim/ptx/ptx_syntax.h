#ifndef SILTWIN_PTX_SYNTAX_H
#define SILTWIN_PTX_SYNTAX_H

#include "ptx_parser.h"

/* The parts of the parser, one file each. Those that return bool have reported the error when they
 * return false. */

/* Operands against the rows of the mnemonic; fills form, words and operands. */
bool ptx_check_insn(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                    struct ptx_place place, struct ir_insn *insn);
/* ptx_call.c: a call's arguments against the formals of a named callee. */
bool ptx_check_call(struct ptx_parser *p, const struct ir_insn *insn, struct ptx_place place);

/* ptx_body.c */
bool ptx_parse_body(struct ptx_parser *p);

/* ptx_func.c */
bool ptx_parse_func(struct ptx_parser *p, bool is_entry, bool is_extern, bool is_visible);

/* ptx_var.c */
enum ptx_linkage { LINK_NONE, LINK_EXTERN, LINK_VISIBLE, LINK_WEAK, LINK_COMMON };
bool ptx_parse_reg(struct ptx_parser *p);
bool ptx_parse_variable(struct ptx_parser *p, enum ptx_space space, enum ptx_linkage linkage);
/* .param in a parameter list: everything up to ',' or ')'. */
bool ptx_parse_formal(struct ptx_parser *p, bool of_entry, bool is_result,
                      struct ir_formal *formal);
struct ir_symbol *ptx_add_symbol(struct ptx_parser *p, int32_t *index);
bool ptx_parse_type(struct ptx_parser *p, const char *what, enum ptx_type *type);

/* ptx_init.c */
bool ptx_parse_initialiser(struct ptx_parser *p, struct ir_symbol *symbol, const uint64_t *dims,
                           unsigned dim_count, bool open);

/* ptx_target.c */
bool ptx_parse_version(struct ptx_parser *p);
bool ptx_parse_target(struct ptx_parser *p);
/* Whether the module's .version and .target allow the row; a text that says what is needed. */
bool ptx_target_allows(const struct ir_module *module, const struct isa_pattern *pattern);

/* ptx_near.c */
/* The word of `count` that is nearest to the text of `length` bytes, NULL when none is near. */
const char *ptx_nearest(const char *text, unsigned length, const char *(*word)(unsigned index),
                        unsigned count);

#endif
