#ifndef SILTWIN_PTX_PARSER_H
#define SILTWIN_PTX_PARSER_H

#include "isa_match.h"
#include "ptx.h"
#include "ptx_lex.h"

/* What the files of the front end share while a module is parsed. Functions that return bool have
 * reported the error when they return false. */

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

enum ptx_raw_kind {
    RAW_REG,
    RAW_INT,
    RAW_FLOAT,
    RAW_F32_BITS,
    RAW_F64_BITS,
    RAW_SREG,
    RAW_SYMBOL,
    RAW_FUNC,
    RAW_NAME, /* nothing that is declared: a label perhaps */
    RAW_ADDRESS,
    RAW_TENSOR,
    RAW_VECTOR,
    RAW_PAIR,
    RAW_SINK,
    RAW_ARGS, /* ( ... ) of a call */
};

/* An operand as written, before the row says what it must be. */
struct ptx_raw {
    uint8_t kind; /* enum ptx_raw_kind */
    uint8_t component;
    bool negated, is_unsigned, indexed; /* indexed: sym[i], an address without brackets */
    uint16_t elem_count;
    int32_t index;
    uint32_t line, column, length;
    union {
        int64_t value; /* of an integer, bits of a 0f or 0d literal, offset behind a symbol */
        double number;
    };
    struct ptx_name *name;
    struct ptx_raw *elems;
};

/* A mnemonic that fits one or several rows, or an error. */
struct ptx_match {
    const struct isa_pattern *pattern;
    uint8_t by_group[IR_MAX_TYPES];
};

struct ptx_mnemonic {
    const char *text;
    struct isa_words words;
    struct ptx_match *matches;
    uint32_t match_count;
    bool has_args;
    const char *error, *note; /* error: why no row takes it */
    enum status status;
    uint32_t error_offset, error_length; /* in the mnemonic's text */
};

enum { PTX_MAX_RAW = 1024, PTX_MAX_OPERANDS = 16, PTX_MAX_DEPTH = 200, PTX_MAX_ERRORS = 100 };

struct ptx_file_entry {
    uint64_t number;
    const char *name;
};

struct ptx_parser {
    struct arena *arena;  /* of the module */
    struct arena scratch; /* of the parse alone */
    struct strbuf *log;
    struct ir_module *module;
    struct ptx_lexer lexer;
    struct ptx_token token; /* the current one */
    struct ptx_names mnemonics, opcodes;
    uint32_t *next_row;            /* by form: next row of the same opcode */
    struct isa_pattern **patterns; /* by form: compiled on first use */
    enum status status;
    unsigned error_count;

    uint32_t symbol_capacity, func_capacity, file_capacity;
    struct ptx_file_entry *file_entries;
    struct ir_directives module_directives;
    bool wants_debug, has_debug;
    struct ptx_alias *aliases;

    struct ptx_scope scopes[PTX_MAX_DEPTH];
    uint32_t depth;      /* index of the innermost scope; 0: module */
    struct ir_func func; /* the one being parsed */
    int32_t func_index;  /* -1 at module scope */
    uint32_t reg_capacity, insn_capacity, list_capacity;
    int32_t loc_file;
    uint32_t loc_line;
    uint64_t shared_bytes; /* of the function's own .shared variables */

    struct ptx_raw raw[PTX_MAX_RAW]; /* elements of the statement's operands */
    uint32_t raw_count;
    struct ptx_raw operands[PTX_MAX_OPERANDS];
    uint32_t operand_count;
    int brace_depth; /* open braces of the operand being parsed */
};

struct ptx_alias {
    int32_t alias, aliasee;
    struct ptx_alias *next;
};

/* ptx_message.c */
struct ptx_place {
    uint32_t line, column, length;
};
struct ptx_place ptx_here(const struct ptx_parser *p);
/* Reports a syntax error: message, line, caret, and `note` (or NULL) below. */
void ptx_error(struct ptx_parser *p, struct ptx_place place, const char *note, const char *format,
               ...) __attribute__((format(printf, 4, 5)));
void ptx_error_status(struct ptx_parser *p, enum status status, struct ptx_place place,
                      const char *note, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool ptx_no_memory(struct ptx_parser *p);
/* "'add.u32'", "end of text" ... of the current token, for messages. */
void ptx_describe_token(const struct ptx_parser *p, char *buffer, size_t size);
/* "expected X, found Y" at the current token; false. */
bool ptx_expected(struct ptx_parser *p, const char *what);

/* ptx_parse.c: helpers on the token stream */
void ptx_next(struct ptx_parser *p);
bool ptx_take(struct ptx_parser *p, int kind);
bool ptx_expect(struct ptx_parser *p, int kind, const char *what);
bool ptx_at_word(const struct ptx_parser *p, const char *word);
bool ptx_take_word(struct ptx_parser *p, const char *word);
/* Behind the next ';' or before the '}' that closes the scope. */
void ptx_recover(struct ptx_parser *p);
/* Room for one more item of a growing array in the scratch arena; NULL without memory. */
/* A copy in the module's arena of what has grown. */
void *ptx_keep(struct ptx_parser *p, const void *items, uint32_t count, size_t size);
void *ptx_grow(struct ptx_parser *p, void *items, uint32_t count, uint32_t *capacity, size_t size);
bool ptx_parse_pragma(struct ptx_parser *p);
bool ptx_parse_loc(struct ptx_parser *p);
bool ptx_parse_file(struct ptx_parser *p);

/* ptx_scope.c */
bool ptx_scope_push(struct ptx_parser *p);
bool ptx_scope_pop(struct ptx_parser *p);
struct ptx_decl *ptx_declare(struct ptx_parser *p, struct ptx_name *name, enum ptx_decl_kind kind,
                             int32_t index, struct ptx_place place);
bool ptx_define_label(struct ptx_parser *p, struct ptx_name *name, bool is_list, int32_t index,
                      struct ptx_place place);
bool ptx_use_label(struct ptx_parser *p, struct ptx_name *name, bool wants_list, int32_t *target,
                   struct ptx_place place);

/* ptx_expr.c */
struct ptx_constant {
    uint8_t kind; /* RAW_INT, RAW_FLOAT, RAW_F32_BITS or RAW_F64_BITS */
    bool is_unsigned;
    union {
        int64_t value;
        double number;
    };
};
bool ptx_parse_constant(struct ptx_parser *p, struct ptx_constant *out);
/* The rest of an expression whose first operand was an integer, negated by `!` before it or not. */
bool ptx_parse_integer(struct ptx_parser *p, int64_t *value);
/* An integer from 0 to `limit`. */
bool ptx_parse_count(struct ptx_parser *p, uint64_t limit, const char *what, uint64_t *value);

/* ptx_operand.c */
bool ptx_parse_operand(struct ptx_parser *p, bool call, struct ptx_raw *out);
struct ptx_place ptx_raw_place(const struct ptx_raw *raw);

/* ptx_mnemonic.c */
bool ptx_index_rows(struct ptx_parser *p);
/* Scans the mnemonic whose first word is the current token; the current token is the one behind it
 * afterwards. NULL without memory. */
struct ptx_mnemonic *ptx_parse_mnemonic(struct ptx_parser *p);

/* ptx_check.c: operands against the rows of the mnemonic; appends nothing. */
bool ptx_check_insn(struct ptx_parser *p, const struct ptx_mnemonic *mnemonic,
                    struct ptx_place place, struct ir_insn *insn);
/* Bits of a constant in a variable or operand of `type`; a text that says why not, or NULL. */
const char *ptx_constant_bits(const struct ptx_constant *constant, enum ptx_type type,
                              uint64_t *bits);

/* ptx_call.c */
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
