/* Constant expressions: 64-bit integers with C's operators, signed unless an operand has a U
 * suffix, exceeds the signed range or is cast (PTX manual: constant-expressions). A floating-point
 * literal stands alone, with a sign at most. */
#include "bits.h"
#include "ptx_parser.h"

static bool parse_binary(struct ptx_parser *p, struct ptx_constant *left, int least, int nested);

enum { MAX_NESTED = 60, WARP_SIZE = 32 };

static bool is_integer(struct ptx_parser *p, const struct ptx_constant *c, struct ptx_place place) {
    if (c->kind == RAW_INT)
        return true;
    ptx_error(p, place, NULL, "only integers may stand in a constant expression");
    return false;
}

static bool parse_cast(struct ptx_parser *p, struct ptx_constant *out, bool *is_cast) {
    *is_cast = p->token.kind == TOKEN_WORD;
    if (!*is_cast)
        return true;
    out->is_unsigned = ptx_at_word(p, ".u64");
    if (!out->is_unsigned && !ptx_at_word(p, ".s64"))
        return ptx_expected(p, "a cast to .s64 or .u64");
    ptx_next(p);
    return ptx_expect(p, ')', "')'");
}

static bool parse_unary(struct ptx_parser *p, struct ptx_constant *out, int nested);

static bool parse_parenthesis(struct ptx_parser *p, struct ptx_constant *out, int nested) {
    bool is_cast;
    struct ptx_constant type = {0};
    ptx_next(p);
    if (!parse_cast(p, &type, &is_cast))
        return false;
    struct ptx_place place = ptx_here(p);
    if (is_cast) {
        if (!parse_unary(p, out, nested + 1) || !is_integer(p, out, place))
            return false;
        out->is_unsigned = type.is_unsigned;
        return true;
    }
    if (!parse_unary(p, out, nested + 1) || !parse_binary(p, out, 0, nested + 1))
        return false;
    return ptx_expect(p, ')', "')'");
}

static bool parse_literal(struct ptx_parser *p, struct ptx_constant *out) {
    const struct ptx_token *token = &p->token;
    *out = (struct ptx_constant){.kind = RAW_INT, .is_unsigned = token->is_unsigned};
    if (token->kind == TOKEN_FLOAT) {
        out->kind = RAW_FLOAT;
        out->number = token->number;
    } else if (token->kind == TOKEN_F32_BITS || token->kind == TOKEN_F64_BITS) {
        out->kind = token->kind == TOKEN_F32_BITS ? RAW_F32_BITS : RAW_F64_BITS;
        out->value = (int64_t)token->bits;
    } else if (token->kind == TOKEN_INT) {
        out->value = (int64_t)token->bits;
    } else if (ptx_at_word(p, "WARP_SZ")) {
        out->value = WARP_SIZE;
    } else {
        return ptx_expected(p, "a constant");
    }
    ptx_next(p);
    return true;
}

static bool parse_unary(struct ptx_parser *p, struct ptx_constant *out, int nested) {
    int op = p->token.kind;
    struct ptx_place place = ptx_here(p);
    if (nested > MAX_NESTED) {
        ptx_error(p, place, NULL, "expression is nested too deep");
        return false;
    }
    if (op == '(')
        return parse_parenthesis(p, out, nested);
    if (op != '-' && op != '+' && op != '~' && op != '!')
        return parse_literal(p, out);
    ptx_next(p);
    if (p->token.kind == TOKEN_NAME && !ptx_at_word(p, "WARP_SZ")) {
        ptx_error(p, place, NULL, "an operand cannot be negated here: '%s' is not a constant",
                  p->token.name->text);
        return false;
    }
    if (!parse_unary(p, out, nested + 1))
        return false;
    if (out->kind == RAW_FLOAT && (op == '-' || op == '+')) {
        out->number = op == '-' ? -out->number : out->number;
        return true;
    }
    if (!is_integer(p, out, place))
        return false;
    uint64_t value = (uint64_t)out->value;
    if (op == '-')
        out->value = (int64_t)(0 - value);
    else if (op == '~')
        out->value = (int64_t)~value;
    else if (op == '!')
        *out = (struct ptx_constant){.kind = RAW_INT, .value = value == 0};
    return true;
}

static int precedence(int op) {
    switch (op) {
    case '?': return 1;
    case TOKEN_OR: return 2;
    case TOKEN_AND: return 3;
    case '|': return 4;
    case '^': return 5;
    case '&': return 6;
    case TOKEN_EQUAL:
    case TOKEN_NOT_EQUAL: return 7;
    case '<':
    case '>':
    case TOKEN_LESS_EQUAL:
    case TOKEN_GREATER_EQUAL: return 8;
    case TOKEN_SHIFT_LEFT:
    case TOKEN_SHIFT_RIGHT: return 9;
    case '+':
    case '-': return 10;
    case '*':
    case '/':
    case '%': return 11;
    default: return 0;
    }
}

static int64_t shift(int op, int64_t left, uint64_t count, bool is_unsigned) {
    bool negative = !is_unsigned && left < 0;
    if (count > 63)
        return op == TOKEN_SHIFT_RIGHT && negative ? -1 : 0;
    if (op == TOKEN_SHIFT_LEFT)
        return (int64_t)((uint64_t)left << count);
    uint64_t shifted = (uint64_t)left >> count;
    return (int64_t)(negative && count > 0 ? shifted | ~(~UINT64_C(0) >> count) : shifted);
}

static int compare(int64_t left, int64_t right, bool is_unsigned) {
    if (is_unsigned)
        return ((uint64_t)left > (uint64_t)right) - ((uint64_t)left < (uint64_t)right);
    return (left > right) - (left < right);
}

/* `right` is not zero. */
static int64_t divide(int op, int64_t left, int64_t right, bool is_unsigned) {
    if (is_unsigned)
        return (int64_t)(op == '/' ? (uint64_t)left / (uint64_t)right
                                   : (uint64_t)left % (uint64_t)right);
    if (right == -1)
        return op == '/' ? (int64_t)(0 - (uint64_t)left) : 0;
    return op == '/' ? left / right : left % right;
}

static void apply(int op, struct ptx_constant *left, const struct ptx_constant *right) {
    bool is_unsigned = left->is_unsigned || right->is_unsigned;
    int64_t a = left->value, b = right->value;
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    int order = compare(a, b, is_unsigned);
    left->is_unsigned = is_unsigned;
    switch (op) {
    case '+': left->value = (int64_t)(ua + ub); return;
    case '-': left->value = (int64_t)(ua - ub); return;
    case '*': left->value = (int64_t)(ua * ub); return;
    case '/':
    case '%': left->value = divide(op, a, b, is_unsigned); return;
    case '&': left->value = a & b; return;
    case '|': left->value = a | b; return;
    case '^': left->value = a ^ b; return;
    case TOKEN_SHIFT_LEFT:
    case TOKEN_SHIFT_RIGHT: left->value = shift(op, a, ub, left->is_unsigned); return;
    case '<': left->value = order < 0; break;
    case '>': left->value = order > 0; break;
    case TOKEN_LESS_EQUAL: left->value = order <= 0; break;
    case TOKEN_GREATER_EQUAL: left->value = order >= 0; break;
    case TOKEN_EQUAL: left->value = order == 0; break;
    case TOKEN_NOT_EQUAL: left->value = order != 0; break;
    case TOKEN_AND: left->value = a != 0 && b != 0; break;
    default: left->value = a != 0 || b != 0; break;
    }
    left->is_unsigned = false;
}

static bool parse_conditional(struct ptx_parser *p, struct ptx_constant *left, int nested) {
    struct ptx_constant yes, no;
    if (!parse_unary(p, &yes, nested + 1) || !parse_binary(p, &yes, 1, nested + 1) ||
        !ptx_expect(p, ':', "':'") || !parse_unary(p, &no, nested + 1) ||
        !parse_binary(p, &no, 1, nested + 1))
        return false;
    *left = left->value != 0 ? yes : no;
    return true;
}

/* Operators of precedence `least` and above behind `left`. */
static bool parse_binary(struct ptx_parser *p, struct ptx_constant *left, int least, int nested) {
    for (;;) {
        int op = p->token.kind, level = precedence(op);
        struct ptx_place place = ptx_here(p);
        if (level == 0 || level < least)
            return true;
        if (nested > MAX_NESTED) {
            ptx_error(p, place, NULL, "expression is nested too deep");
            return false;
        }
        if (!is_integer(p, left, place))
            return false;
        ptx_next(p);
        if (op == '?') {
            if (!parse_conditional(p, left, nested + 1))
                return false;
            continue;
        }
        struct ptx_constant right;
        if (!parse_unary(p, &right, nested + 1) ||
            !parse_binary(p, &right, level + 1, nested + 1) || !is_integer(p, &right, place))
            return false;
        if ((op == '/' || op == '%') && right.value == 0) {
            ptx_error(p, place, NULL, "division by zero in a constant expression");
            return false;
        }
        apply(op, left, &right);
    }
}

bool ptx_parse_constant(struct ptx_parser *p, struct ptx_constant *out) {
    return parse_unary(p, out, 0) && parse_binary(p, out, 0, 0);
}

bool ptx_parse_integer(struct ptx_parser *p, int64_t *value) {
    struct ptx_constant c;
    struct ptx_place place = ptx_here(p);
    if (!ptx_parse_constant(p, &c))
        return false;
    if (c.kind != RAW_INT) {
        ptx_error(p, place, NULL, "expected an integer");
        return false;
    }
    *value = c.value;
    return true;
}

bool ptx_parse_count(struct ptx_parser *p, uint64_t limit, const char *what, uint64_t *value) {
    struct ptx_place place = ptx_here(p);
    int64_t parsed;
    if (!ptx_parse_integer(p, &parsed))
        return false;
    *value = (uint64_t)parsed;
    if (*value <= limit)
        return true;
    ptx_error(p, place, NULL, "%s must be from 0 to %llu", what, (unsigned long long)limit);
    return false;
}

/* Rounds to nearest even, as the compiler does for a decimal literal. */
static uint64_t float_bits(double number, enum ptx_type type) {
    return type == PTX_F32 ? bits_from_f32((float)number) : bits_from_f64(number);
}

const char *ptx_constant_bits(const struct ptx_constant *constant, enum ptx_type type,
                              uint64_t *bits) {
    unsigned width = ptx_type_bits(type);
    enum ptx_type_class class = ptx_type_class(type);
    bool is_float = type == PTX_F32 || type == PTX_F64;
    if (width > 64)
        return "a constant has at most 64 bits";
    switch (constant->kind) {
    case RAW_INT:
        if (is_float)
            return "an integer cannot stand for a floating-point value: write 1.0 or 0f3F800000";
        if (class == PTX_CLASS_FLOAT || class == PTX_CLASS_PACKED || class == PTX_CLASS_NARROW)
            return "a constant of this type cannot be written here: move its bits into a register";
        *bits = class == PTX_CLASS_PRED ? (uint64_t)(constant->value != 0)
                                        : (uint64_t)constant->value & bits_mask(width);
        return NULL;
    case RAW_FLOAT:
        *bits = float_bits(constant->number, type);
        return is_float ? NULL : "a floating-point number cannot stand for this type";
    case RAW_F32_BITS:
        *bits = type == PTX_F64 ? bits_from_f64(bits_to_f32((uint32_t)constant->value))
                                : (uint64_t)constant->value;
        return is_float || type == PTX_B32 ? NULL : "0f stands for .f32, .f64 and .b32 only";
    default:
        *bits = type == PTX_F32 ? float_bits(bits_to_f64((uint64_t)constant->value), PTX_F32)
                                : (uint64_t)constant->value;
        return is_float || type == PTX_B64 ? NULL : "0d stands for .f64, .f32 and .b64 only";
    }
}
