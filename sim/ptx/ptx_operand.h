#ifndef SILTWIN_PTX_OPERAND_H
#define SILTWIN_PTX_OPERAND_H

#include "ptx_scope.h"
#include "ptx_words.h"
#include <stdbool.h>
#include <stdint.h>

/* Operands and constants as they are written. */

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

struct ptx_constant {
    uint8_t kind; /* RAW_INT, RAW_FLOAT, RAW_F32_BITS or RAW_F64_BITS */
    bool is_unsigned;
    union {
        int64_t value;
        double number;
    };
};
bool ptx_parse_constant(struct ptx_parser *p, struct ptx_constant *out);
/* A constant expression that is an integer. */
bool ptx_parse_integer(struct ptx_parser *p, int64_t *value);
/* An integer from 0 to `limit`. */
bool ptx_parse_count(struct ptx_parser *p, uint64_t limit, const char *what, uint64_t *value);

/* Bits of a constant in a variable or operand of `type`; a text that says why not, or NULL. */
const char *ptx_constant_bits(const struct ptx_constant *constant, enum ptx_type type,
                              uint64_t *bits);

/* One operand; `call`: a list in parentheses may be one. */
bool ptx_parse_operand(struct ptx_parser *p, bool call, struct ptx_raw *out);
struct ptx_place ptx_raw_place(const struct ptx_raw *raw);

#endif
