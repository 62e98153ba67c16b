/* Declarations: registers, variables of every space, and formal parameters. */
#include <string.h>

#include "bits.h"
#include "ptx_syntax.h"

/* A kernel's registers live in one index space; this many are beyond any program. */
enum { MAX_REGS = 1 << 18, MAX_DIMS = 8, MAX_ALIGN = 1 << 16 };
static const uint64_t MAX_VARIABLE_BYTES = UINT64_C(1) << 40;

bool ptx_parse_type(struct ptx_parser *p, const char *what, enum ptx_type *type) {
    *type = PTX_TYPE_NONE;
    if (p->token.kind == TOKEN_WORD)
        *type = ptx_type_find(p->token.start + 1, p->token.length - 1);
    if (*type == PTX_TYPE_NONE)
        return ptx_expected(p, what);
    return true;
}

/* The types that .reg takes (ptxas 13.0 refuses .bf16, .bf16x2, .tf32, .b1). */
static bool is_register_type(enum ptx_type type) {
    switch (type) {
    case PTX_PRED:
    case PTX_B8:
    case PTX_U8:
    case PTX_S8:
    case PTX_B16:
    case PTX_B32:
    case PTX_B64:
    case PTX_B128:
    case PTX_U16:
    case PTX_U32:
    case PTX_U64:
    case PTX_S16:
    case PTX_S32:
    case PTX_S64:
    case PTX_F16:
    case PTX_F16X2:
    case PTX_F32:
    case PTX_F64: return true;
    default: return false;
    }
}

static bool is_memory_type(enum ptx_type type) {
    return (is_register_type(type) && type != PTX_PRED) || type == PTX_BF16 || type == PTX_BF16X2;
}

/* .v2 or .v4 of a declaration; 1 without. */
static unsigned take_vector(struct ptx_parser *p) {
    return ptx_take_word(p, ".v2") ? 2 : ptx_take_word(p, ".v4") ? 4 : 1;
}

static bool append_reg(struct ptx_parser *p, const char *text, enum ptx_type type, uint32_t line) {
    struct ir_func *func = &p->func;
    func->regs = ptx_grow(p, func->regs, func->reg_count, &p->reg_capacity, sizeof *func->regs);
    if (func->regs == NULL) {
        func->reg_count = 0;
        return false;
    }
    func->regs[func->reg_count++] =
        (struct ir_reg){.name = text, .type = (uint8_t)type, .line = line};
    return true;
}

static bool append_vector(struct ptx_parser *p, const struct ptx_name *name, enum ptx_type type,
                          unsigned elements, uint32_t line) {
    static const char *const suffixes[] = {".x", ".y", ".z", ".w"};
    for (unsigned i = 0; i < elements; i++) {
        char *text = arena_alloc(p->arena, name->length + 3, 1);
        if (text == NULL)
            return ptx_no_memory(p);
        memcpy(text, name->text, name->length);
        memcpy(text + name->length, suffixes[i], 3);
        if (!append_reg(p, text, type, line))
            return false;
    }
    return true;
}

static bool add_regs(struct ptx_parser *p, struct ptx_name *name, enum ptx_type type,
                     unsigned elements, struct ptx_place place) {
    int32_t first = (int32_t)p->func.reg_count;
    if (p->func.reg_count + elements > MAX_REGS) {
        ptx_error(p, place, NULL, "a function declares more than %d registers", MAX_REGS);
        return false;
    }
    struct ptx_decl *decl =
        ptx_declare(p, name, elements > 1 ? DECL_VECTOR : DECL_REG, first, place);
    if (decl == NULL)
        return false;
    decl->elements = (uint8_t)elements;
    return elements > 1 ? append_vector(p, name, type, elements, place.line)
                        : append_reg(p, name->text, type, place.line);
}

/* Digits of `number`; how many there are. */
static uint32_t write_number(char *out, uint32_t number) {
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (uint32_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    return count;
}

/* name<count>: name0 .. name(count-1) */
static bool add_reg_range(struct ptx_parser *p, const struct ptx_name *name, enum ptx_type type,
                          unsigned elements, struct ptx_place place) {
    char text[256];
    uint64_t count = p->token.bits; /* a literal: in an expression, '>' would be an operator */
    if (p->token.kind != TOKEN_INT || count > MAX_REGS)
        return ptx_expected(p, "a number of registers");
    ptx_next(p);
    if (!ptx_expect(p, '>', "'>'"))
        return false;
    if (name->length > sizeof text - 16) {
        ptx_error(p, place, NULL, "a name with <count> is longer than %zu", sizeof text - 16);
        return false;
    }
    memcpy(text, name->text, name->length);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t length = name->length + write_number(text + name->length, (uint32_t)i);
        struct ptx_name *one = ptx_names_intern(&p->lexer.names, text, length);
        if (one == NULL)
            return ptx_no_memory(p);
        if (!add_regs(p, one, type, elements, place))
            return false;
    }
    return true;
}

bool ptx_parse_reg(struct ptx_parser *p) {
    enum ptx_type type;
    unsigned elements = take_vector(p);
    if (!ptx_parse_type(p, "a register type", &type))
        return false;
    if (!is_register_type(type) || (elements > 1 && type == PTX_PRED)) {
        ptx_error(p, ptx_here(p), "manual: state-spaces-types-and-variables, fundamental-types",
                  "'.%s' is no type of a register", ptx_type_text(type));
        return false;
    }
    ptx_next(p);
    if (elements == 1)
        elements = take_vector(p);
    do {
        struct ptx_place place = ptx_here(p);
        if (p->token.kind != TOKEN_NAME)
            return ptx_expected(p, "a register name");
        struct ptx_name *name = p->token.name;
        ptx_next(p);
        if (ptx_take(p, '<')) {
            if (!add_reg_range(p, name, type, elements, place))
                return false;
        } else if (!add_regs(p, name, type, elements, place)) {
            return false;
        }
    } while (ptx_take(p, ','));
    return ptx_expect(p, ';', "',' or ';'");
}

struct ir_symbol *ptx_add_symbol(struct ptx_parser *p, int32_t *index) {
    struct ir_module *module = p->module;
    module->symbols = ptx_grow(p, module->symbols, module->symbol_count, &p->symbol_capacity,
                               sizeof *module->symbols);
    if (module->symbols == NULL) {
        module->symbol_count = 0;
        return NULL;
    }
    *index = (int32_t)module->symbol_count++;
    module->symbols[*index] = (struct ir_symbol){.func = p->func_index};
    return &module->symbols[*index];
}

static bool parse_align(struct ptx_parser *p, uint32_t *align) {
    struct ptx_place place = ptx_here(p);
    uint64_t value;
    if (!ptx_parse_count(p, MAX_ALIGN, "an alignment", &value))
        return false;
    *align = (uint32_t)value;
    if (bits_is_power_of_two(value))
        return true;
    ptx_error(p, place, NULL, "an alignment must be a power of two");
    return false;
}

/* .attribute(.managed), .attribute(.unified(a, b)) */
static bool parse_attribute(struct ptx_parser *p) {
    struct ptx_place place = ptx_here(p);
    if (!ptx_expect(p, '(', "'('"))
        return false;
    if (ptx_at_word(p, ".unified")) {
        ptx_error_status(p, STATUS_UNSUPPORTED, place, "manual: variable-attributes",
                         ".attribute(.unified)");
        return false;
    }
    return (ptx_take_word(p, ".managed") || ptx_expected(p, ".managed")) &&
           ptx_expect(p, ')', "')'");
}

struct declarator {
    uint32_t align;
    unsigned elements;
    enum ptx_type type;
    bool open; /* [] */
    uint64_t dims[MAX_DIMS];
    unsigned dim_count;
};

/* Alignment, attribute, vector and type words, in any order. */
static bool parse_declarator_head(struct ptx_parser *p, struct declarator *d) {
    *d = (struct declarator){.elements = 1};
    while (d->type == PTX_TYPE_NONE || p->token.kind == TOKEN_WORD) {
        struct ptx_place place = ptx_here(p);
        if (ptx_take_word(p, ".align")) {
            if (!parse_align(p, &d->align))
                return false;
        } else if (ptx_take_word(p, ".attribute")) {
            if (!parse_attribute(p))
                return false;
        } else if (ptx_at_word(p, ".v2") || ptx_at_word(p, ".v4")) {
            d->elements = take_vector(p);
        } else if (ptx_at_word(p, ".ptr") && d->type != PTX_TYPE_NONE) {
            break;
        } else {
            if (!ptx_parse_type(p, "a type", &d->type))
                return false;
            if (!is_memory_type(d->type)) {
                ptx_error(p, place, NULL, "a variable cannot have type '.%s'",
                          ptx_type_text(d->type));
                return false;
            }
            ptx_next(p);
        }
    }
    if (d->align == 0)
        d->align = ptx_type_bits(d->type) / 8 * d->elements;
    return true;
}

static bool parse_dims(struct ptx_parser *p, struct declarator *d, uint64_t *size_bytes) {
    uint64_t elements = d->elements;
    struct ptx_place place = ptx_here(p);
    d->dim_count = 0;
    d->open = false;
    while (ptx_take(p, '[')) {
        if (d->dim_count == MAX_DIMS) {
            ptx_error(p, place, NULL, "an array has more than %d dimensions", MAX_DIMS);
            return false;
        }
        uint64_t dim = 0;
        if (p->token.kind == ']' && d->dim_count == 0)
            d->open = true;
        else if (!ptx_parse_count(p, MAX_VARIABLE_BYTES, "an array size", &dim))
            return false;
        if (!ptx_expect(p, ']', "']'"))
            return false;
        d->dims[d->dim_count++] = dim;
        if (dim != 0 && elements > MAX_VARIABLE_BYTES / dim) {
            ptx_error(p, place, NULL, "the array is too large");
            return false;
        }
        elements *= d->dim_count == 1 && d->open ? 1 : dim;
    }
    *size_bytes = d->open ? 0 : elements * (ptx_type_bits(d->type) / 8);
    return true;
}

/* An earlier .extern declaration of the same name gives way to the definition. */
static struct ir_symbol *declare_variable(struct ptx_parser *p, struct ptx_name *name,
                                          struct ptx_place place, bool *fresh) {
    struct ptx_decl *old = name->decl;
    *fresh = true;
    if (p->depth == 0 && old != NULL && old->kind == DECL_SYMBOL &&
        p->module->symbols[old->index].is_extern) {
        *fresh = false;
        return &p->module->symbols[old->index];
    }
    int32_t index;
    if (!ptx_declare(p, name, DECL_SYMBOL, (int32_t)p->module->symbol_count, place))
        return NULL;
    return ptx_add_symbol(p, &index);
}

/* Static shared memory of a kernel: 227 KiB (ptxas 13.0 takes 232448 bytes, not 232449). */
static bool count_shared(struct ptx_parser *p, const struct ir_symbol *symbol,
                         struct ptx_place place) {
    enum { MAX_SHARED_BYTES = 232448 };
    uint64_t bytes = symbol->size_bytes;
    if (p->func_index >= 0) {
        p->shared_bytes = bits_align_up(p->shared_bytes, symbol->align_bytes) + symbol->size_bytes;
        bytes = p->shared_bytes;
    }
    if (bytes <= MAX_SHARED_BYTES)
        return true;
    ptx_error(p, place, NULL, "more than %d bytes of shared memory", MAX_SHARED_BYTES);
    return false;
}

static bool check_variable(struct ptx_parser *p, const struct ir_symbol *symbol,
                           const struct declarator *d, struct ptx_place place) {
    if (symbol->is_extern && symbol->space == SPACE_SHARED && p->func_index >= 0) {
        ptx_error(p, place, NULL, ".extern .shared stands at module level only");
        return false;
    }
    if (p->token.kind == '=' &&
        (symbol->is_extern || (symbol->space != SPACE_GLOBAL && symbol->space != SPACE_CONST))) {
        ptx_error(p, ptx_here(p), "manual: variables, initializers",
                  "only .global and .const variables have initialisers");
        return false;
    }
    if (d->open && !symbol->is_extern && p->token.kind != '=') {
        ptx_error(p, place, NULL, "an array without a size needs .extern or an initialiser");
        return false;
    }
    return symbol->space != SPACE_SHARED || symbol->is_extern || count_shared(p, symbol, place);
}

static bool parse_declared_name(struct ptx_parser *p, struct declarator *d, enum ptx_space space,
                                enum ptx_linkage linkage) {
    struct ptx_place place = ptx_here(p);
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, "a variable name");
    struct ptx_name *name = p->token.name;
    ptx_next(p);
    uint64_t size_bytes;
    bool fresh;
    if (!parse_dims(p, d, &size_bytes))
        return false;
    struct ir_symbol *symbol = declare_variable(p, name, place, &fresh);
    if (symbol == NULL)
        return false;
    *symbol = (struct ir_symbol){.name = name->text,
                                 .space = (uint8_t)space,
                                 .type = (uint8_t)d->type,
                                 .is_extern = linkage == LINK_EXTERN,
                                 .is_visible = linkage != LINK_NONE && linkage != LINK_EXTERN,
                                 .func = p->func_index,
                                 .align_bytes = d->align,
                                 .size_bytes = size_bytes,
                                 .line = place.line,
                                 .column = place.column};
    if (!check_variable(p, symbol, d, place))
        return false;
    if (!ptx_take(p, '='))
        return true;
    return ptx_parse_initialiser(p, symbol, d->dims, d->dim_count, d->open);
}

bool ptx_parse_variable(struct ptx_parser *p, enum ptx_space space, enum ptx_linkage linkage) {
    struct declarator d;
    if (p->token.kind == '[') {
        ptx_error_status(p, STATUS_UNSUPPORTED, ptx_here(p), "manual: constant-state-space",
                         "a .const bank");
        return false;
    }
    if (!parse_declarator_head(p, &d))
        return false;
    do {
        if (!parse_declared_name(p, &d, space, linkage))
            return false;
    } while (ptx_take(p, ','));
    return ptx_expect(p, ';', "',' or ';'");
}

/* .ptr {.space} {.align N} */
static bool parse_ptr(struct ptx_parser *p, struct ir_symbol *symbol) {
    static const char *const spaces[] = {".global", ".const", ".local", ".shared"};
    uint32_t align;
    symbol->is_pointer = true;
    for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (ptx_take_word(p, spaces[i]))
            break;
    return !ptx_take_word(p, ".align") || parse_align(p, &align);
}

static bool parse_register_formal(struct ptx_parser *p, struct ir_formal *formal) {
    enum ptx_type type;
    if (!ptx_parse_type(p, "a register type", &type))
        return false;
    if (!is_register_type(type)) {
        ptx_error(p, ptx_here(p), NULL, "'.%s' is no type of a register", ptx_type_text(type));
        return false;
    }
    ptx_next(p);
    struct ptx_place place = ptx_here(p);
    *formal = (struct ir_formal){.in_register = true, .index = (int32_t)p->func.reg_count};
    if (ptx_take(p, '_'))
        return append_reg(p, "_", type, place.line);
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, "a name");
    struct ptx_name *name = p->token.name;
    ptx_next(p);
    return add_regs(p, name, type, 1, place);
}

static bool parse_formal_name(struct ptx_parser *p, struct ir_symbol *symbol, bool is_input) {
    struct ptx_place place = ptx_here(p);
    symbol->line = place.line;
    symbol->column = place.column;
    if (ptx_take(p, '_')) {
        symbol->name = "_";
        return true;
    }
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, "a parameter name");
    symbol->name = p->token.name->text;
    int32_t index = (int32_t)(symbol - p->module->symbols);
    struct ptx_decl *decl = ptx_declare(p, p->token.name, DECL_SYMBOL, index, place);
    if (decl == NULL)
        return false;
    decl->is_input = is_input;
    ptx_next(p);
    return true;
}

bool ptx_parse_formal(struct ptx_parser *p, bool of_entry, bool is_result,
                      struct ir_formal *formal) {
    struct declarator d;
    if (!of_entry && ptx_take_word(p, ".reg"))
        return parse_register_formal(p, formal);
    if (!ptx_take_word(p, ".param"))
        return ptx_expected(p, of_entry ? ".param" : ".param or .reg");
    struct ptx_place place = ptx_here(p);
    if (!parse_declarator_head(p, &d))
        return false;
    if (d.elements > 1) {
        ptx_error(p, place, NULL, "a parameter cannot have a vector type");
        return false;
    }
    struct ir_symbol *symbol = ptx_add_symbol(p, &formal->index);
    if (symbol == NULL)
        return false;
    formal->in_register = false;
    if (ptx_take_word(p, ".ptr") && !parse_ptr(p, symbol))
        return false;
    symbol->space = SPACE_PARAM;
    symbol->type = (uint8_t)d.type;
    symbol->align_bytes = d.align;
    return parse_formal_name(p, symbol, !is_result) && parse_dims(p, &d, &symbol->size_bytes);
}
