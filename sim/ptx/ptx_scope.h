#ifndef SILTWIN_PTX_SCOPE_H
#define SILTWIN_PTX_SCOPE_H

#include "ptx_lex.h"
#include <stdbool.h>
#include <stdint.h>

/* What names mean: declarations and labels, and the blocks they belong to. */

struct ptx_parser;

/* Where a message points. */
struct ptx_place {
    uint32_t line, column, length;
};

enum ptx_decl_kind { DECL_REG, DECL_VECTOR, DECL_SYMBOL, DECL_FUNC };

struct ptx_decl {
    uint8_t kind;     /* enum ptx_decl_kind */
    uint8_t elements; /* DECL_VECTOR: registers index .. index + elements - 1 */
    bool is_input;    /* a parameter that the body may not write */
    uint32_t depth;   /* of its scope */
    int32_t index;
    struct ptx_name *name;
    struct ptx_decl *outer;      /* what it shadows */
    struct ptx_decl *scope_next; /* declared before it in the same scope */
};

struct ptx_label {
    struct ptx_name *name;
    uint32_t depth;
    bool is_list;  /* names a .branchtargets, .calltargets or .callprototype */
    int32_t index; /* instruction, or list */
    struct ptx_label *outer, *scope_next;
};

/* A use of a label that may be defined later in its scope or an enclosing one. */
struct ptx_label_use {
    struct ptx_name *name;
    int32_t *target;
    bool wants_list;
    uint32_t line, column;
    struct ptx_label_use *next;
};

struct ptx_scope {
    struct ptx_decl *decls;
    struct ptx_label *labels;
    struct ptx_label_use *uses;
    uint32_t line, column; /* of its brace */
};

bool ptx_scope_push(struct ptx_parser *p);
bool ptx_scope_pop(struct ptx_parser *p);
struct ptx_decl *ptx_declare(struct ptx_parser *p, struct ptx_name *name, enum ptx_decl_kind kind,
                             int32_t index, struct ptx_place place);
bool ptx_define_label(struct ptx_parser *p, struct ptx_name *name, bool is_list, int32_t index,
                      struct ptx_place place);
bool ptx_use_label(struct ptx_parser *p, struct ptx_name *name, bool wants_list, int32_t *target,
                   struct ptx_place place);

#endif
