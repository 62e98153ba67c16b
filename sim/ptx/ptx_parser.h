#ifndef SILTWIN_PTX_PARSER_H
#define SILTWIN_PTX_PARSER_H

#include "ptx.h"
#include "ptx_lex.h"
#include "ptx_mnemonic.h"
#include "ptx_operand.h"
#include "ptx_scope.h"

/* What the files of the front end share while a module is parsed. Functions that return bool have
 * reported the error when they return false. */

enum { PTX_MAX_RAW = 1024, PTX_MAX_OPERANDS = 16, PTX_MAX_DEPTH = 200, PTX_MAX_ERRORS = 100 };

struct ptx_alias {
    int32_t alias, aliasee;
    struct ptx_alias *next;
};

/* The first use of a function that had no body then. */
struct ptx_func_use {
    int32_t func;
    struct ptx_place place;
    struct ptx_func_use *next;
};

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
    bool wants_debug, has_debug;
    struct ptx_alias *aliases;
    struct ptx_func_use *func_uses;

    struct ptx_scope scopes[PTX_MAX_DEPTH];
    uint32_t depth;      /* index of the innermost scope; 0: module */
    struct ir_func func; /* the one being parsed */
    int32_t func_index;  /* -1 at module scope */
    uint32_t reg_capacity, insn_capacity, list_capacity;
    uint64_t total_regs; /* of all functions so far */
    int32_t loc_file;
    uint32_t loc_line;
    uint64_t shared_bytes; /* of the function's own .shared variables */

    struct ptx_raw raw[PTX_MAX_RAW]; /* elements of the statement's operands */
    uint32_t raw_count;
    struct ptx_raw operands[PTX_MAX_OPERANDS];
    uint32_t operand_count;
    int brace_depth; /* open braces of the operand being parsed */
};

/* ptx_message.c */
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

/* ptx_parse.c: helpers on the token stream, and directives that stand anywhere */
void ptx_next(struct ptx_parser *p);
bool ptx_take(struct ptx_parser *p, int kind);
bool ptx_expect(struct ptx_parser *p, int kind, const char *what);
bool ptx_at_word(const struct ptx_parser *p, const char *word);
bool ptx_take_word(struct ptx_parser *p, const char *word);
/* Behind the next ';' or before the '}' that closes the scope. */
void ptx_recover(struct ptx_parser *p);
/* Room for one more item of a growing array in the scratch arena; NULL without memory. */
void *ptx_grow(struct ptx_parser *p, void *items, uint32_t count, uint32_t *capacity, size_t size);
/* A copy in the module's arena of what has grown. */
void *ptx_keep(struct ptx_parser *p, const void *items, uint32_t count, size_t size);
bool ptx_parse_pragma(struct ptx_parser *p);
bool ptx_parse_loc(struct ptx_parser *p);
bool ptx_parse_file(struct ptx_parser *p);

#endif
