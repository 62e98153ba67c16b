#ifndef SILTWIN_PTX_LEX_H
#define SILTWIN_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Text to tokens, and the table of names. */

struct ptx_decl;
struct ptx_label;

/* An identifier, a whole mnemonic or an opcode: each distinct text has one. What it means at the
 * moment hangs on it, so a look-up is one hash of the text. One cache line. */
struct ptx_name {
    const char *text; /* zero-terminated */
    uint32_t length, hash;
    char start[16];          /* of the text, zeros behind it: most comparisons end here */
    struct ptx_decl *decl;   /* innermost declaration in force */
    struct ptx_label *label; /* latest label in a scope that is open */
    void *mnemonic;          /* struct ptx_mnemonic, once resolved */
    uint32_t row_list;       /* first row of that opcode */
    int16_t sreg;            /* enum ptx_sreg, -1 */
};

struct ptx_name_slot {
    struct ptx_name *name; /* NULL: free */
    uint32_t hash;
};

struct ptx_names {
    struct arena *scratch; /* of the parse */
    struct arena *keep;    /* of the module: the texts of names */
    struct ptx_name_slot *slots;
    uint32_t slot_count; /* a power of two, at most half of them taken */
    uint32_t count;
};

/* NULL when the host has no memory left. */
struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, uint32_t length);

/* A token is a character's own code for punctuation, else one of these. */
enum ptx_token_kind {
    TOKEN_END = 256,
    TOKEN_NAME,
    TOKEN_WORD, /* .name, the dot included */
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_F32_BITS, /* 0f... */
    TOKEN_F64_BITS, /* 0d... */
    TOKEN_STRING,   /* start and length without the quotes */
    TOKEN_SHIFT_LEFT,
    TOKEN_SHIFT_RIGHT,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_BAD, /* `problem` says why */
};

struct ptx_token {
    uint16_t kind;
    bool is_unsigned; /* TOKEN_INT: U suffix, or above the signed range */
    uint32_t length;
    uint32_t line, column; /* from 1 */
    const char *start;
    union {
        uint64_t bits; /* of an integer, or of 0f and 0d */
        double number;
        struct ptx_name *name;
        const char *problem;
    };
};

struct ptx_lexer {
    const char *at; /* the text ends with a zero byte at `end` */
    const char *end;
    const char *line_start;
    uint32_t line;
    struct ptx_names names;
    bool no_memory;
};

void ptx_lex(struct ptx_lexer *lexer, struct ptx_token *token);
/* Skips blanks and comments; the text from there on. */
const char *ptx_lex_peek(struct ptx_lexer *lexer);
/* Skips to the end of the line. */
void ptx_lex_skip_line(struct ptx_lexer *lexer);
bool ptx_lex_is_name_char(char ch);

#endif
