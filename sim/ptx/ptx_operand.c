/* Operands as they are written: registers, constants, addresses, vectors, pairs. What an operand
 * must be is the row's business (ptx_check.c). */
#include <string.h>

#include "ptx_parser.h"

struct ptx_place ptx_raw_place(const struct ptx_raw *raw) {
    return (struct ptx_place){raw->line, raw->column, raw->length};
}

static void begin(const struct ptx_parser *p, struct ptx_raw *raw) {
    *raw = (struct ptx_raw){
        .line = p->token.line, .column = p->token.column, .length = p->token.length};
}

/* `count` places for elements; NULL when the statement has too many. */
static struct ptx_raw *take_elements(struct ptx_parser *p, uint32_t count) {
    if (PTX_MAX_RAW - p->raw_count < count) {
        ptx_error(p, ptx_here(p), NULL, "a statement has more than %d operands", PTX_MAX_RAW);
        return NULL;
    }
    struct ptx_raw *elems = &p->raw[p->raw_count];
    p->raw_count += count;
    return elems;
}

static bool parse_constant_operand(struct ptx_parser *p, struct ptx_raw *out) {
    struct ptx_constant c;
    const char *start = p->token.start;
    if (!ptx_parse_constant(p, &c))
        return false;
    out->kind = c.kind;
    out->is_unsigned = c.is_unsigned;
    out->value = c.value;
    if (c.kind == RAW_FLOAT)
        out->number = c.number;
    if (p->token.line == out->line && p->token.start > start) {
        out->length = (uint32_t)(p->token.start - start);
        while (out->length > 1 && start[out->length - 1] == ' ')
            out->length--;
    }
    return true;
}

/* .x .y .z .w behind a name; 4 when there is none. */
static bool parse_component(struct ptx_parser *p, uint8_t *component) {
    static const char letters[] = "xyzwrgba";
    *component = 4;
    if (p->token.kind != TOKEN_WORD)
        return true;
    const char *letter = p->token.length == 2 ? strchr(letters, p->token.start[1]) : NULL;
    if (letter == NULL)
        return ptx_expected(p, "a component .x .y .z or .w");
    *component = (uint8_t)((letter - letters) % 4);
    ptx_next(p);
    return true;
}

/* A register that was declared with .v2 or .v4: its elements are registers. */
static bool expand_vector(struct ptx_parser *p, const struct ptx_decl *decl, struct ptx_raw *out) {
    if (out->component < 4) {
        out->kind = RAW_REG;
        out->index = decl->index + out->component;
        if (out->component < decl->elements)
            return true;
        ptx_error(p, ptx_raw_place(out), NULL, "'%s' has %u elements", decl->name->text,
                  decl->elements);
        return false;
    }
    out->kind = RAW_VECTOR;
    out->elem_count = decl->elements;
    out->elems = take_elements(p, decl->elements);
    if (out->elems == NULL)
        return false;
    for (unsigned i = 0; i < decl->elements; i++) {
        out->elems[i] = *out;
        out->elems[i].kind = RAW_REG;
        out->elems[i].elem_count = 0;
        out->elems[i].elems = NULL;
        out->elems[i].index = decl->index + (int32_t)i;
    }
    return true;
}

static bool resolve_name(struct ptx_parser *p, struct ptx_raw *out) {
    const struct ptx_decl *decl = out->name->decl;
    if (decl != NULL && decl->kind == DECL_VECTOR)
        return expand_vector(p, decl, out);
    if (out->component < 4 && (decl != NULL || out->name->sreg < 0)) {
        ptx_error(p, ptx_raw_place(out), NULL, "'%s' has no components", out->name->text);
        return false;
    }
    if (decl == NULL && out->name->sreg >= 0) {
        out->kind = RAW_SREG;
        out->index = out->name->sreg;
        return true;
    }
    if (decl == NULL) {
        out->kind = RAW_NAME;
        return true;
    }
    out->kind = decl->kind == DECL_REG      ? RAW_REG
                : decl->kind == DECL_SYMBOL ? RAW_SYMBOL
                                            : RAW_FUNC;
    out->index = decl->index;
    return true;
}

/* sym[i]: in an array of bytes the index counts bytes. Whether it counts bytes or elements of a
 * wider type is not known from any source at hand. */
static bool parse_index(struct ptx_parser *p, struct ptx_raw *out) {
    struct ptx_place place = ptx_here(p);
    int64_t index;
    ptx_next(p);
    if (!ptx_parse_integer(p, &index) || !ptx_expect(p, ']', "']'"))
        return false;
    const struct ir_symbol *symbol = &p->module->symbols[out->index];
    if (index != 0 && ptx_type_bits((enum ptx_type)symbol->type) != 8) {
        ptx_error_status(p, STATUS_UNSUPPORTED, place,
                         "write [name+bytes] instead: manual variables#array-declarations",
                         "an index into an array of elements wider than a byte");
        return false;
    }
    out->indexed = true;
    out->value = index;
    return true;
}

/* A name, its component, index or offset. */
static bool parse_reference(struct ptx_parser *p, struct ptx_raw *out) {
    begin(p, out);
    out->name = p->token.name;
    ptx_next(p);
    if (!parse_component(p, &out->component) || !resolve_name(p, out))
        return false;
    if (out->kind == RAW_SYMBOL && p->token.kind == '[')
        return parse_index(p, out);
    if (p->token.kind != '+')
        return true;
    if (out->kind != RAW_SYMBOL && out->kind != RAW_REG && out->kind != RAW_NAME)
        return ptx_expected(p, "',' or ';'");
    ptx_next(p);
    if (!ptx_parse_integer(p, &out->value))
        return false;
    out->indexed = true;
    return true;
}

static bool undeclared(struct ptx_parser *p, const struct ptx_raw *raw) {
    ptx_error(p, ptx_raw_place(raw), NULL, "'%s' is not declared", raw->name->text);
    return false;
}

/* Inside an address: a register or symbol with an offset, or a constant. */
static bool parse_base(struct ptx_parser *p, struct ptx_raw *out) {
    if (p->token.kind != TOKEN_NAME || ptx_at_word(p, "WARP_SZ")) {
        begin(p, out);
        return parse_constant_operand(p, out);
    }
    if (!parse_reference(p, out))
        return false;
    return out->kind != RAW_NAME || undeclared(p, out);
}

static bool parse_element(struct ptx_parser *p, struct ptx_raw *out) {
    begin(p, out);
    if (ptx_take(p, '_')) {
        out->kind = RAW_SINK;
        return true;
    }
    if (p->token.kind != TOKEN_NAME || ptx_at_word(p, "WARP_SZ"))
        return parse_constant_operand(p, out);
    if (!parse_reference(p, out))
        return false;
    if (out->kind == RAW_NAME)
        return undeclared(p, out);
    if (out->kind == RAW_REG && out->indexed) {
        ptx_error(p, ptx_raw_place(out), NULL, "an offset stands only in an address");
        return false;
    }
    if (out->kind == RAW_VECTOR) {
        ptx_error(p, ptx_raw_place(out), NULL, "a vector cannot be an element of a vector");
        return false;
    }
    return true;
}

/* Elements up to `close`; the opening token is current. They are collected at the end of the pool
 * and may take further places themselves only by error. */
static bool parse_elements(struct ptx_parser *p, int close, struct ptx_raw *out) {
    uint32_t first = p->raw_count;
    p->brace_depth += close == '}';
    ptx_next(p);
    while (p->token.kind != close) {
        struct ptx_raw *elem = take_elements(p, 1);
        if (elem == NULL || !parse_element(p, elem))
            return false;
        if (p->token.kind != close &&
            !ptx_expect(p, ',', close == '}' ? "',' or '}'" : "',' or ')'"))
            return false;
    }
    out->elems = &p->raw[first];
    out->elem_count = (uint16_t)(p->raw_count - first);
    p->brace_depth -= close == '}';
    ptx_next(p);
    if (out->elem_count == 0 && close == '}') {
        ptx_error(p, ptx_raw_place(out), NULL, "a vector has no elements");
        return false;
    }
    return true;
}

static bool parse_vector(struct ptx_parser *p, struct ptx_raw *out) {
    begin(p, out);
    out->kind = RAW_VECTOR;
    return parse_elements(p, '}', out);
}

static bool parse_address(struct ptx_parser *p, struct ptx_raw *out) {
    out->kind = RAW_ADDRESS;
    struct ptx_raw *elems = take_elements(p, 2);
    if (elems == NULL)
        return false;
    out->elems = elems;
    out->elem_count = 1;
    ptx_next(p);
    if (!parse_base(p, &elems[0]))
        return false;
    if (p->token.kind == ',') {
        if (elems[0].indexed) {
            ptx_error(p, ptx_raw_place(&elems[0]), "manual: tensor-operands",
                      "the address of a tensor map takes no offset");
            return false;
        }
        ptx_next(p);
        if (p->token.kind != '{')
            return ptx_expected(p, "'{' and the tensor's coordinates");
        if (!parse_vector(p, &elems[1]))
            return false;
        out->kind = RAW_TENSOR;
        out->elem_count = 2;
    }
    return ptx_expect(p, ']', "'+' with an offset, or ']'");
}

static bool parse_pair(struct ptx_parser *p, struct ptx_raw *out) {
    struct ptx_raw *elems = take_elements(p, 2);
    if (elems == NULL)
        return false;
    elems[0] = *out;
    out->kind = RAW_PAIR;
    out->elem_count = 2;
    out->elems = elems;
    ptx_next(p);
    return parse_element(p, &elems[1]);
}

static bool parse_negated(struct ptx_parser *p, struct ptx_raw *out) {
    struct ptx_raw bang = *out;
    ptx_next(p);
    if (!parse_reference(p, out))
        return false;
    out->column = bang.column;
    out->negated = true;
    if (out->kind == RAW_REG && !out->indexed)
        return true;
    ptx_error(p, ptx_raw_place(out), NULL, "only a predicate register can be negated");
    return false;
}

/* '!' in front of a name is the negation of a predicate, else an operator of an expression. */
static bool negates_name(struct ptx_parser *p) {
    const char *next = ptx_lex_peek(&p->lexer);
    return p->token.kind == '!' &&
           (*next == '%' || *next == '$' || *next == '_' ||
            (ptx_lex_is_name_char(*next) && !(*next >= '0' && *next <= '9')));
}

bool ptx_parse_operand(struct ptx_parser *p, bool call, struct ptx_raw *out) {
    begin(p, out);
    switch (p->token.kind) {
    case '{': return parse_vector(p, out);
    case '[': return parse_address(p, out);
    case '_':
        out->kind = RAW_SINK;
        ptx_next(p);
        return p->token.kind != '|' || parse_pair(p, out);
    case '(':
        if (!call)
            break;
        out->kind = RAW_ARGS;
        return parse_elements(p, ')', out);
    case '!':
        if (negates_name(p))
            return parse_negated(p, out);
        break;
    case TOKEN_NAME:
        if (ptx_at_word(p, "WARP_SZ"))
            break;
        if (!parse_reference(p, out))
            return false;
        return p->token.kind != '|' || parse_pair(p, out);
    default: break;
    }
    return parse_constant_operand(p, out);
}
