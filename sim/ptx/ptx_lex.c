/* The lexer. PTX text is ASCII; tokens need no blanks between them; names are letters, digits, _, $
 * and a leading %. Numbers: decimal, octal, 0x, 0b, U suffix; decimal floating point; 0f and 0d
 * with the bits in hexadecimal (PTX manual: integer-constants, floating-point-constants). */
#include "ptx_lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_words.h"

enum { CLASS_NAME_START = 1, CLASS_NAME = 2, CLASS_DIGIT = 4, CLASS_BLANK = 8 };

#define L (CLASS_NAME_START | CLASS_NAME)
#define D (CLASS_NAME | CLASS_DIGIT)
static const uint8_t char_class[256] = {
    [' '] = CLASS_BLANK,
    ['\t'] = CLASS_BLANK,
    ['\r'] = CLASS_BLANK,
    ['\n'] = CLASS_BLANK,
    ['\f'] = CLASS_BLANK,
    ['\v'] = CLASS_BLANK,
    ['0'] = D,
    ['1'] = D,
    ['2'] = D,
    ['3'] = D,
    ['4'] = D,
    ['5'] = D,
    ['6'] = D,
    ['7'] = D,
    ['8'] = D,
    ['9'] = D,
    ['_'] = L,
    ['$'] = L,
    ['%'] = CLASS_NAME_START,
    ['a'] = L,
    ['b'] = L,
    ['c'] = L,
    ['d'] = L,
    ['e'] = L,
    ['f'] = L,
    ['g'] = L,
    ['h'] = L,
    ['i'] = L,
    ['j'] = L,
    ['k'] = L,
    ['l'] = L,
    ['m'] = L,
    ['n'] = L,
    ['o'] = L,
    ['p'] = L,
    ['q'] = L,
    ['r'] = L,
    ['s'] = L,
    ['t'] = L,
    ['u'] = L,
    ['v'] = L,
    ['w'] = L,
    ['x'] = L,
    ['y'] = L,
    ['z'] = L,
    ['A'] = L,
    ['B'] = L,
    ['C'] = L,
    ['D'] = L,
    ['E'] = L,
    ['F'] = L,
    ['G'] = L,
    ['H'] = L,
    ['I'] = L,
    ['J'] = L,
    ['K'] = L,
    ['L'] = L,
    ['M'] = L,
    ['N'] = L,
    ['O'] = L,
    ['P'] = L,
    ['Q'] = L,
    ['R'] = L,
    ['S'] = L,
    ['T'] = L,
    ['U'] = L,
    ['V'] = L,
    ['W'] = L,
    ['X'] = L,
    ['Y'] = L,
    ['Z'] = L,
};
#undef L
#undef D

static inline uint8_t class_of(char ch) {
    return char_class[(unsigned char)ch];
}

bool ptx_lex_is_name_char(char ch) {
    return (class_of(ch) & CLASS_NAME) != 0;
}

static struct ptx_name_slot *free_slot(struct ptx_name_slot *slots, uint32_t count, uint32_t hash) {
    uint32_t at = hash & (count - 1);
    while (slots[at].name != NULL)
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool grow_slots(struct ptx_names *names) {
    uint32_t count = names->slot_count == 0 ? 1024 : names->slot_count * 4;
    struct ptx_name_slot *slots = arena_array(names->scratch, count, sizeof *slots);
    if (slots == NULL || count > UINT32_MAX / 8)
        return false;
    for (uint32_t i = 0; i < names->slot_count; i++)
        if (names->slots[i].name != NULL)
            *free_slot(slots, count, names->slots[i].hash) = names->slots[i];
    names->slots = slots;
    names->slot_count = count;
    return true;
}

static struct ptx_name *new_name(struct ptx_names *names, const char *text, uint32_t length,
                                 uint32_t hash) {
    struct ptx_name *name = arena_alloc(names->scratch, sizeof *name, 64);
    char *copy = arena_strndup(names->keep, text, length);
    if (name == NULL || copy == NULL)
        return NULL;
    *name = (struct ptx_name){.text = copy, .length = length, .hash = hash, .sreg = -1};
    memcpy(name->start, text, length < sizeof name->start ? length : sizeof name->start);
    if (length > 1 && text[0] == '%')
        name->sreg = (int16_t)ptx_sreg_find(text + 1, length - 1);
    *free_slot(names->slots, names->slot_count, hash) = (struct ptx_name_slot){name, hash};
    names->count++;
    return name;
}

struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, uint32_t length) {
    char start[sizeof(((struct ptx_name *)0)->start)] = {0};
    uint32_t hash = 0;
    for (uint32_t i = 0; i < length; i++)
        hash =
            hash * 31 + (unsigned char)text[i]; /* registers of near numbers are near in memory */
    if (names->count >= names->slot_count / 2 && !grow_slots(names))
        return NULL;
    memcpy(start, text, length < sizeof start ? length : sizeof start);
    const struct ptx_name_slot *slots = names->slots;
    for (uint32_t at = hash & (names->slot_count - 1); slots[at].name != NULL;
         at = (at + 1) & (names->slot_count - 1)) {
        struct ptx_name *name = slots[at].name;
        if (slots[at].hash == hash && name->length == length &&
            memcmp(name->start, start, sizeof start) == 0 &&
            (length <= sizeof start || memcmp(name->text, text, length) == 0))
            return name;
    }
    return new_name(names, text, length, hash);
}

static void new_line(struct ptx_lexer *lexer, const char *next) {
    lexer->line++;
    lexer->line_start = next;
}

/* Behind a block comment; an unclosed one ends with the text. */
static const char *skip_comment(struct ptx_lexer *lexer, const char *at) {
    for (at += 2; at < lexer->end; at++) {
        if (at[0] == '*' && at[1] == '/')
            return at + 2;
        if (at[0] == '\n')
            new_line(lexer, at + 1);
    }
    return at;
}

const char *ptx_lex_peek(struct ptx_lexer *lexer) {
    const char *at = lexer->at;
    for (;;) {
        if (class_of(*at) & CLASS_BLANK) {
            if (*at == '\n')
                new_line(lexer, at + 1);
            at++;
        } else if (at[0] == '/' && at[1] == '/') {
            while (at < lexer->end && *at != '\n')
                at++;
        } else if (at[0] == '/' && at[1] == '*') {
            at = skip_comment(lexer, at);
        } else {
            break;
        }
    }
    lexer->at = at;
    return at;
}

void ptx_lex_skip_line(struct ptx_lexer *lexer) {
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

static void bad(struct ptx_token *token, const char *problem) {
    token->kind = TOKEN_BAD;
    token->problem = problem;
}

static int digit_value(char ch) {
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    if (ch >= 'a' && ch <= 'f')
        return ch - 'a' + 10;
    if (ch >= 'A' && ch <= 'F')
        return ch - 'A' + 10;
    return 99;
}

/* Digits of `base` from `at`; false when they exceed 64 bits or there are none. */
static bool lex_digits(const char **at, unsigned base, uint64_t *value) {
    const char *start = *at;
    bool fits = true;
    *value = 0;
    for (; digit_value(**at) < (int)base; ++*at) {
        uint64_t digit = (uint64_t)digit_value(**at);
        fits &= *value <= (UINT64_MAX - digit) / base;
        *value = *value * base + digit;
    }
    return fits && *at > start;
}

/* 0f or 0d: exactly `count` hexadecimal digits. */
static const char *lex_float_bits(struct ptx_token *token, const char *at, unsigned count) {
    const char *start = at;
    uint64_t value;
    bool fits = lex_digits(&at, 16, &value);
    token->kind = count == 8 ? TOKEN_F32_BITS : TOKEN_F64_BITS;
    token->bits = value;
    if (!fits || (unsigned)(at - start) != count)
        bad(token, count == 8 ? "0f needs exactly 8 hexadecimal digits"
                              : "0d needs exactly 16 hexadecimal digits");
    return at;
}

static bool is_float_text(const char *at) {
    while (class_of(*at) & CLASS_DIGIT)
        at++;
    return *at == '.' || ((*at == 'e' || *at == 'E') &&
                          ((class_of(at[1]) & CLASS_DIGIT) ||
                           ((at[1] == '+' || at[1] == '-') && (class_of(at[2]) & CLASS_DIGIT))));
}

/* The C locale's strtod: the host program may have set another decimal point. */
static const char *lex_decimal(struct ptx_token *token, const char *at) {
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = (char *)(uintptr_t)at;
    token->kind = TOKEN_FLOAT;
    token->number = c_locale == (locale_t)0 ? strtod(at, &end) : strtod_l(at, &end, c_locale);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
    return end;
}

static const char *lex_integer(struct ptx_token *token, const char *at) {
    bool fits;
    token->kind = TOKEN_INT;
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        at += 2;
        fits = lex_digits(&at, 16, &token->bits);
    } else if (at[0] == '0' && (at[1] == 'b' || at[1] == 'B')) {
        at += 2;
        fits = lex_digits(&at, 2, &token->bits);
    } else {
        fits = lex_digits(&at, at[0] == '0' ? 8 : 10, &token->bits);
    }
    if (!fits) {
        bad(token, "integer has no digits or more than 64 bits");
        return at;
    }
    token->is_unsigned = token->bits > INT64_MAX;
    if (*at == 'U') {
        token->is_unsigned = true;
        at++;
    }
    return at;
}

static const char *lex_number(struct ptx_token *token, const char *at) {
    const char *start = at;
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F'))
        at = lex_float_bits(token, at + 2, 8);
    else if (at[0] == '0' && (at[1] == 'd' || at[1] == 'D'))
        at = lex_float_bits(token, at + 2, 16);
    else if (is_float_text(at))
        at = lex_decimal(token, at);
    else
        at = lex_integer(token, at);
    if ((class_of(*at) & CLASS_NAME) && token->kind != TOKEN_BAD) {
        while (class_of(*at) & CLASS_NAME)
            at++;
        bad(token, "letters behind a number");
    }
    token->length = (uint32_t)(at - start);
    return at;
}

static const char *lex_string(struct ptx_token *token, const char *at, const char *end) {
    const char *start = at + 1;
    for (at = start; at < end && *at != '"' && *at != '\n'; at++)
        if (*at == '\\' && at + 1 < end && at[1] != '\n')
            at++;
    token->kind = TOKEN_STRING;
    token->start = start;
    token->length = (uint32_t)(at - start);
    if (at >= end || *at != '"') {
        bad(token, "string has no closing quote");
        return at;
    }
    return at + 1;
}

static const char *lex_name(struct ptx_lexer *lexer, struct ptx_token *token, const char *at) {
    const char *start = at++;
    while (class_of(*at) & CLASS_NAME)
        at++;
    token->length = (uint32_t)(at - start);
    if (token->length == 1 && (*start == '%' || *start == '_' || *start == '$')) {
        token->kind = (uint16_t)*start;
        if (*start == '$')
            bad(token, "a name is a letter, or _ $ % with more behind it");
        return at;
    }
    token->kind = TOKEN_NAME;
    token->name = ptx_names_intern(&lexer->names, start, token->length);
    if (token->name == NULL) {
        lexer->no_memory = true;
        bad(token, "no memory");
    }
    return at;
}

static const char *lex_punctuation(struct ptx_token *token, const char *at) {
    static const struct {
        char text[2];
        uint16_t kind;
    } doubles[] = {
        {"<<", TOKEN_SHIFT_LEFT},    {">>", TOKEN_SHIFT_RIGHT}, {"<=", TOKEN_LESS_EQUAL},
        {">=", TOKEN_GREATER_EQUAL}, {"==", TOKEN_EQUAL},       {"!=", TOKEN_NOT_EQUAL},
        {"&&", TOKEN_AND},           {"||", TOKEN_OR},
    };
    for (unsigned i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
        if (at[0] == doubles[i].text[0] && at[1] == doubles[i].text[1]) {
            token->kind = doubles[i].kind;
            token->length = 2;
            return at + 2;
        }
    }
    token->kind = (uint16_t)(unsigned char)*at;
    token->length = 1;
    if (*at < 33 || *at > 126)
        bad(token, "a character that PTX does not use");
    else if (strchr("{}[]()<>,;:@!+-*/%&|^~?=.", *at) == NULL)
        bad(token, "a character that has no place here");
    return at + 1;
}

void ptx_lex(struct ptx_lexer *lexer, struct ptx_token *token) {
    const char *at = ptx_lex_peek(lexer);
    token->start = at;
    token->line = lexer->line;
    token->column = (uint32_t)(at - lexer->line_start) + 1;
    token->is_unsigned = false;
    uint8_t class = class_of(*at);
    if (at >= lexer->end) {
        token->kind = TOKEN_END;
        token->length = 0;
    } else if (class & CLASS_NAME_START) {
        lexer->at = lex_name(lexer, token, at);
    } else if ((class & CLASS_DIGIT) || (*at == '.' && (class_of(at[1]) & CLASS_DIGIT))) {
        lexer->at = lex_number(token, at);
    } else if (*at == '.' && (class_of(at[1]) & CLASS_NAME)) {
        const char *end = at + 1;
        while (class_of(*end) & CLASS_NAME)
            end++;
        token->kind = TOKEN_WORD;
        token->length = (uint32_t)(end - at);
        lexer->at = end;
    } else if (*at == '"') {
        lexer->at = lex_string(token, at, lexer->end);
    } else {
        lexer->at = lex_punctuation(token, at);
    }
}
