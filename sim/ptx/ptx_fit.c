/* The operands of a statement against the rows that its mnemonic fits: how many there are, what
 * each may be, register types by width and kind (PTX manual: operand types; operand size exceeding
 * instruction-type size), immediates turned into bits of the operand's type. */
#include <stdio.h>
#include <string.h>

#include "ptx_fit.h"

static bool refuse(const struct ptx_fit *f, const struct ptx_raw *raw, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(const struct ptx_fit *f, const struct ptx_raw *raw, const char *format, ...) {
    va_list args;
    va_start(args, format);
    f->misfit->where = raw;
    vsnprintf(f->misfit->what, sizeof f->misfit->what, format, args);
    va_end(args);
    return false;
}

static enum ptx_type twice(enum ptx_type type) {
    switch (type) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    case PTX_S32: return PTX_S64;
    case PTX_B16: return PTX_B32;
    case PTX_B32: return PTX_B64;
    case PTX_B64: return PTX_B128;
    default: return type;
    }
}

enum ptx_type ptx_item_type(const struct ptx_match *match, const struct isa_item *item) {
    if (item->type_group < 0)
        return (enum ptx_type)item->fixed_type;
    enum ptx_type type = (enum ptx_type)match->by_group[item->type_group];
    return item->twice ? twice(type) : type;
}

/* Untyped registers go with every type of their width, signedness does not matter, and a
 * floating-point register holds only its own type. */
static bool kinds_agree(enum ptx_type reg, enum ptx_type type) {
    enum ptx_type_class a = ptx_type_class(reg), b = ptx_type_class(type);
    if (a == PTX_CLASS_PRED || b == PTX_CLASS_PRED)
        return a == b;
    if (a == PTX_CLASS_BITS || b == PTX_CLASS_BITS || reg == type)
        return true;
    if (a == PTX_CLASS_FLOAT)
        return false;
    if (a == PTX_CLASS_PACKED)
        return false;
    return type != PTX_F32 && type != PTX_F64 && type != PTX_F16;
}

static bool fit_register(const struct ptx_fit *f, enum ptx_type type, bool wider_ok,
                         const struct ptx_raw *raw) {
    enum ptx_type reg = (enum ptx_type)f->p->func.regs[raw->index].type;
    unsigned have = ptx_type_bits(reg), want = ptx_type_bits(type);
    if (raw->indexed)
        return refuse(f, raw, "an offset stands only in an address");
    bool is_exact = type == PTX_BF16 || type == PTX_BF16X2 || type == PTX_TF32;
    bool wide = wider_ok && !is_exact && have > want && want > 1 &&
                ptx_type_class(reg) != PTX_CLASS_FLOAT &&
                (ptx_type_class(type) != PTX_CLASS_FLOAT || ptx_type_class(reg) == PTX_CLASS_BITS);
    if ((have == want || wide) && kinds_agree(reg, type))
        return true;
    return refuse(f, raw, "register '%s' is .%s, the operand is .%s", raw->name->text,
                  ptx_type_text(reg), ptx_type_text(type));
}

static bool allowed_value(const struct isa_item *item, int64_t value) {
    if (item->value_rule == ISA_VALUE_MULTIPLE)
        return value % item->values[0] == 0;
    if (item->value_rule == ISA_VALUE_RANGE)
        return value >= item->values[0] && value <= item->values[1] &&
               (item->value_count < 3 || value % item->values[2] == 0);
    for (unsigned i = 0; i < item->value_count; i++)
        if (value == item->values[i])
            return true;
    return item->value_rule == ISA_VALUE_FREE;
}

void ptx_raw_constant(const struct ptx_raw *raw, struct ptx_constant *c) {
    *c = (struct ptx_constant){.kind = raw->kind, .is_unsigned = raw->is_unsigned};
    if (raw->kind == RAW_FLOAT)
        c->number = raw->number;
    else
        c->value = raw->value;
}

bool ptx_raw_is_constant(const struct ptx_raw *raw) {
    return raw->kind == RAW_INT || raw->kind == RAW_FLOAT || raw->kind == RAW_F32_BITS ||
           raw->kind == RAW_F64_BITS;
}

static bool fit_constant(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                         const struct ptx_raw *raw) {
    struct ptx_constant c;
    uint64_t bits;
    ptx_raw_constant(raw, &c);
    if (item->output)
        return refuse(f, raw, "the destination must be a register");
    if (item->register_only)
        return refuse(f, raw, "a constant cannot stand here: a register is needed");
    const char *wrong = ptx_constant_bits(&c, type, &bits);
    if (wrong != NULL)
        return refuse(f, raw, "%s", wrong);
    if (raw->kind != RAW_INT || allowed_value(item, raw->value))
        return true;
    const int64_t *v = item->values;
    if (item->value_rule == ISA_VALUE_MULTIPLE)
        return refuse(f, raw, "the value must be a multiple of %lld", (long long)v[0]);
    if (item->value_rule == ISA_VALUE_RANGE && item->value_count > 2)
        return refuse(f, raw, "the value must be from %lld to %lld, a multiple of %lld",
                      (long long)v[0], (long long)v[1], (long long)v[2]);
    if (item->value_rule == ISA_VALUE_RANGE)
        return refuse(f, raw, "the value must be from %lld to %lld", (long long)v[0],
                      (long long)v[1]);
    return refuse(f, raw, "the value must be %lld%s", (long long)v[0],
                  item->value_count > 1 ? " or one of the others that the manual lists" : "");
}

/* %tid and its like are read with .u16 too (ptxas 13.0). */
static bool fit_special(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                        const struct ptx_raw *raw) {
    enum ptx_type have = ptx_sreg_type((enum ptx_sreg)raw->index);
    enum ptx_type_class class = ptx_type_class(type);
    if (!item->special_ok)
        return refuse(f, raw, "special register '%s' cannot stand here: move it first",
                      raw->name->text);
    if (raw->component == 4 && ptx_sreg_components((enum ptx_sreg)raw->index) > 1)
        return refuse(f, raw, "'%s' needs a component .x .y or .z", raw->name->text);
    if (raw->component < 4 && ptx_sreg_components((enum ptx_sreg)raw->index) == 1)
        return refuse(f, raw, "'%s' has no components", raw->name->text);
    bool fits = have == PTX_PRED ? type == PTX_PRED
                                 : class != PTX_CLASS_PRED && class != PTX_CLASS_FLOAT &&
                                       (ptx_type_bits(have) == ptx_type_bits(type) ||
                                        (ptx_type_bits(have) == 32 && ptx_type_bits(type) == 16));
    return fits || refuse(f, raw, "'%s' is .%s, the operand is .%s", raw->name->text,
                          ptx_type_text(have), ptx_type_text(type));
}

static bool fit_symbol(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                       const struct ptx_raw *raw) {
    unsigned bits = ptx_type_bits(type);
    enum ptx_type_class class = ptx_type_class(type);
    if (!item->symbol_ok)
        return refuse(f, raw, "'%s' is an address, a register is needed: move it first",
                      raw->name->text);
    if ((bits == 32 || bits == 64) && class != PTX_CLASS_FLOAT && class != PTX_CLASS_PACKED)
        return true;
    return refuse(f, raw, "an address needs a 32- or 64-bit type, not .%s", ptx_type_text(type));
}

static bool fit_scalar(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                       const struct ptx_raw *raw) {
    if (raw->negated && !item->negatable)
        return refuse(f, raw, "a predicate cannot be negated here");
    if (item->sink_only && raw->kind != RAW_SINK)
        return refuse(f, raw, "only '_' can stand here");
    if (ptx_raw_is_constant(raw))
        return fit_constant(f, item, type, raw);
    if (item->immediate_only)
        return refuse(f, raw, "a constant is needed here");
    switch (raw->kind) {
    case RAW_REG: return fit_register(f, type, item->wider_ok, raw);
    case RAW_SINK: return item->sink_ok || refuse(f, raw, "'_' cannot stand here");
    case RAW_SREG: return fit_special(f, item, type, raw);
    case RAW_SYMBOL:
    case RAW_FUNC: return fit_symbol(f, item, type, raw);
    case RAW_NAME: return refuse(f, raw, "'%s' is not declared", raw->name->text);
    case RAW_VECTOR: return refuse(f, raw, "a vector cannot stand here");
    case RAW_PAIR: return refuse(f, raw, "a second destination behind '|' cannot stand here");
    case RAW_ARGS: return refuse(f, raw, "a list in parentheses cannot stand here");
    default: return refuse(f, raw, "an address in brackets cannot stand here");
    }
}

/* The number that follows x in a .xN qualifier. */
static unsigned times_count(const struct isa_words *words) {
    static const struct {
        uint16_t qual;
        uint8_t count;
    } quals[] = {{QUAL_X1, 1},   {QUAL_X2, 2},   {QUAL_X4, 4},   {QUAL_X8, 8},
                 {QUAL_X16, 16}, {QUAL_X32, 32}, {QUAL_X64, 64}, {QUAL_X128, 128}};
    for (unsigned i = 0; i < words->qual_count; i++)
        for (unsigned k = 0; k < sizeof quals / sizeof quals[0]; k++)
            if (words->quals[i] == quals[k].qual)
                return quals[k].count;
    return 1;
}

static unsigned vector_count(const struct isa_words *words) {
    for (unsigned i = 0; i < words->qual_count; i++) {
        if (words->quals[i] == QUAL_V2)
            return 2;
        if (words->quals[i] == QUAL_V4)
            return 4;
        if (words->quals[i] == QUAL_V8)
            return 8;
    }
    return 1;
}

static bool fit_elements(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                         const struct ptx_raw *raw, unsigned count) {
    if (raw->kind == RAW_SREG && item->special_ok && raw->component == 4 &&
        ptx_sreg_components((enum ptx_sreg)raw->index) == count)
        return true;
    if (raw->kind != RAW_VECTOR)
        return refuse(f, raw, "a vector in braces is needed here");
    if (count != 0 && raw->elem_count != count)
        return refuse(f, raw, "the vector has %u elements, %u are needed", raw->elem_count, count);
    for (unsigned i = 0; i < raw->elem_count; i++)
        if (!fit_scalar(f, item, type, &raw->elems[i]))
            return false;
    return true;
}

/* The type of the elements that make up a value of `type`. */
enum ptx_type ptx_pack_type(enum ptx_type type, unsigned count) {
    switch (count == 0 ? 0 : ptx_type_bits(type) / count) {
    case 8: return PTX_B8;
    case 16: return PTX_B16;
    case 32: return PTX_B32;
    case 64: return PTX_B64;
    default: return PTX_TYPE_NONE;
    }
}

static bool fit_pack(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                     const struct ptx_raw *raw) {
    if (raw->kind != RAW_VECTOR)
        return refuse(f, raw, "a vector in braces is needed here");
    enum ptx_type element = ptx_pack_type(type, raw->elem_count);
    if ((raw->elem_count != 2 && raw->elem_count != 4) || element == PTX_TYPE_NONE)
        return refuse(f, raw, "2 or 4 elements are needed that make up .%s", ptx_type_text(type));
    return fit_elements(f, item, element, raw, raw->elem_count);
}

static bool fit_pair(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                     const struct ptx_raw *raw) {
    struct isa_item second = {.output = true, .sink_ok = item->sink_ok};
    if (raw->kind != RAW_PAIR)
        return refuse(f, raw, "a second destination is needed: d|p");
    return fit_scalar(f, item, type, &raw->elems[0]) &&
           fit_scalar(f, &second, PTX_PRED, &raw->elems[1]);
}

const struct ptx_raw *ptx_raw_unbraced(const struct ptx_fit *f, const struct isa_item *item,
                                       const struct ptx_raw *raw) {
    const bool one = item->list == ISA_LIST_VECTOR && raw->kind == RAW_VECTOR &&
                     raw->elem_count == 1 && raw->elems[0].kind != RAW_SINK &&
                     vector_count(&f->mnemonic->words) == 1;
    return one ? &raw->elems[0] : raw;
}

static bool fit_value(const struct ptx_fit *f, const struct isa_item *item,
                      const struct ptx_raw *raw) {
    enum ptx_type type = ptx_item_type(f->match, item);
    if (item->pair == ISA_PAIR_REQUIRED ||
        (item->pair == ISA_PAIR_OPTIONAL && raw->kind == RAW_PAIR))
        return fit_pair(f, item, type, raw);
    unsigned count;
    switch (item->list) {
    case ISA_LIST_VECTOR:
        count = vector_count(&f->mnemonic->words);
        return count == 1 ? fit_scalar(f, item, type, ptx_raw_unbraced(f, item, raw))
                          : fit_elements(f, item, type, raw, count);
    case ISA_LIST_ANY: return fit_elements(f, item, type, raw, 0);
    case ISA_LIST_COUNT: return fit_elements(f, item, type, raw, item->list_count);
    case ISA_LIST_TIMES:
        return fit_elements(f, item, type, raw,
                            item->list_count * times_count(&f->mnemonic->words));
    case ISA_LIST_PACK: return fit_pack(f, item, type, raw);
    default: return fit_scalar(f, item, type, raw);
    }
}

/* The space of the n-th address: the n-th space word, the last one where there are fewer. */
static unsigned address_space(const struct ptx_fit *f, const struct isa_item *item) {
    if (item->space != ISA_SPACE_OF_QUALS)
        return item->space;
    unsigned seen = 0;
    enum ptx_space space = SPACE_GENERIC;
    const struct isa_words *words = &f->mnemonic->words;
    for (unsigned i = 0; i < words->qual_count; i++) {
        enum ptx_space next = ir_qual_space((enum ptx_qual)words->quals[i]);
        if (next != SPACE_GENERIC && seen++ <= item->space_index)
            space = next;
    }
    return space;
}

/* A symbol's address is valid in its own space; that of a .global variable is generic too. */
static bool symbol_space_fits(unsigned space, enum ptx_space symbol) {
    if (space == SPACE_SHARED_CLUSTER)
        return symbol == SPACE_SHARED;
    if (space == SPACE_GENERIC)
        return symbol == SPACE_GLOBAL;
    return space == symbol;
}

static bool fit_base(const struct ptx_fit *f, unsigned space, const struct ptx_raw *base,
                     bool is_store) {
    if (base->kind == RAW_REG) {
        enum ptx_type reg = (enum ptx_type)f->p->func.regs[base->index].type;
        enum ptx_type_class class = ptx_type_class(reg);
        unsigned bits = ptx_type_bits(reg);
        bool needs_64 = space == SPACE_GENERIC || space == SPACE_GLOBAL;
        if (class != PTX_CLASS_BITS && class != PTX_CLASS_UINT && class != PTX_CLASS_SINT)
            return refuse(f, base, "register '%s' is .%s, no address", base->name->text,
                          ptx_type_text(reg));
        if (bits == 64 ? space == ISA_SPACE_TMEM : bits != 32 || needs_64)
            return refuse(f, base, "register '%s' has %u bits, this address needs %s",
                          base->name->text, bits,
                          needs_64                  ? "64"
                          : space == ISA_SPACE_TMEM ? "32"
                                                    : "32 or 64");
        return true;
    }
    if (base->kind == RAW_SYMBOL) {
        const struct ir_symbol *symbol = &f->p->module->symbols[base->index];
        if (!symbol_space_fits(space, (enum ptx_space)symbol->space))
            return refuse(f, base, "'%s' is a .%s variable, the instruction accesses %s memory",
                          base->name->text, ptx_space_text((enum ptx_space)symbol->space),
                          space == ISA_SPACE_TMEM ? "Tensor"
                                                  : ptx_space_text((enum ptx_space)space));
        if (is_store && space == SPACE_PARAM && base->name->decl->is_input)
            return refuse(f, base, "input parameter '%s' cannot be written", base->name->text);
        return true;
    }
    if (base->kind == RAW_INT && space == SPACE_LOCAL)
        return true;
    return refuse(f, base, "an address is a register or a variable, with an offset");
}

static bool is_store(const struct ptx_fit *f) {
    return strncmp(f->mnemonic->text, "st", 2) == 0 &&
           (f->mnemonic->text[2] == '.' || f->mnemonic->text[2] == 0);
}

/* Orders belong to memory that threads share, .mmio to global memory (ptxas 13.0). */
static bool order_fits(const struct ptx_fit *f, unsigned space, const struct ptx_raw *raw) {
    const struct isa_words *words = &f->mnemonic->words;
    bool own = space == SPACE_LOCAL || space == SPACE_CONST || space == SPACE_PARAM;
    bool global = space == SPACE_GLOBAL || space == SPACE_GENERIC;
    for (unsigned i = 0; i < words->qual_count; i++) {
        enum ptx_qual qual = (enum ptx_qual)words->quals[i];
        bool orders = qual == QUAL_VOLATILE || qual == QUAL_RELAXED || qual == QUAL_ACQUIRE ||
                      qual == QUAL_RELEASE;
        if ((orders && own) || (qual == QUAL_MMIO && !global))
            return refuse(f, raw, "'.%s' has no place with .%s memory", ptx_qual_text(qual),
                          ptx_space_text((enum ptx_space)space));
    }
    return true;
}

static bool fit_address(const struct ptx_fit *f, const struct isa_item *item,
                        const struct ptx_raw *raw) {
    unsigned space = address_space(f, item);
    if (!order_fits(f, space, raw))
        return false;
    if (raw->kind == RAW_SYMBOL && raw->indexed)
        return fit_base(f, space, raw, is_store(f));
    if (raw->kind != RAW_ADDRESS)
        return refuse(f, raw, "an address in brackets is needed here");
    return fit_base(f, space, &raw->elems[0], is_store(f));
}

/* How many coordinates the qualifiers ask for; 0: any number. */
static unsigned coordinate_count(const struct isa_words *words) {
    unsigned count = 0;
    for (unsigned i = 0; i < words->qual_count; i++) {
        switch (words->quals[i]) {
        case QUAL_TILE_GATHER4:
        case QUAL_TILE_SCATTER4: return 5;
        case QUAL_1D: count = 1; break;
        case QUAL_2D: count = 2; break;
        case QUAL_3D: count = 3; break;
        case QUAL_4D: count = 4; break;
        case QUAL_5D: count = 5; break;
        default: break;
        }
    }
    return count;
}

static bool fit_tensor(const struct ptx_fit *f, const struct ptx_raw *raw) {
    static const struct isa_item coordinate = {.type_group = -1};
    if (raw->kind != RAW_TENSOR)
        return refuse(f, raw, "a tensor map with coordinates is needed here: [map, {c0, c1}]");
    return fit_base(f, SPACE_GENERIC, &raw->elems[0], false) &&
           fit_elements(f, &coordinate, PTX_S32, &raw->elems[1],
                        coordinate_count(&f->mnemonic->words));
}

static bool fit_name(const struct ptx_fit *f, const struct ptx_raw *raw, const char *what) {
    if (raw->name != NULL && raw->component == 4 && !raw->negated && !raw->indexed &&
        raw->kind != RAW_ADDRESS && raw->kind != RAW_TENSOR && raw->kind != RAW_PAIR)
        return true;
    return refuse(f, raw, "%s is needed here", what);
}

/* A callee: a function, or a register with a function's address. */
static bool fit_callee(const struct ptx_fit *f, const struct ptx_raw *raw) {
    if (raw->kind == RAW_FUNC)
        return true;
    if (raw->kind == RAW_REG)
        return fit_register(f, PTX_B64, false, raw);
    if (raw->kind == RAW_NAME)
        return refuse(f, raw, "function '%s' is not declared", raw->name->text);
    return refuse(f, raw, "a function is needed here");
}

static bool fit_args(const struct ptx_fit *f, const struct isa_item *item,
                     const struct ptx_raw *raw) {
    if (raw->kind != RAW_ARGS)
        return refuse(f, raw, "a list in parentheses is needed here");
    for (unsigned i = 0; i < raw->elem_count; i++) {
        const struct ptx_raw *arg = &raw->elems[i];
        bool is_param = arg->kind == RAW_SYMBOL && !arg->indexed &&
                        f->p->module->symbols[arg->index].space == SPACE_PARAM;
        bool is_value = arg->kind == RAW_REG ||
                        (!item->output && ptx_raw_is_constant(arg) && arg->kind != RAW_FLOAT) ||
                        (item->output && arg->kind == RAW_SINK);
        if (!is_param && !is_value)
            return refuse(
                f, arg,
                "an argument is a register, an integer, 0f or 0d bits, or a .param variable");
    }
    return true;
}

static bool fit_item(const struct ptx_fit *f, const struct isa_item *item,
                     const struct ptx_raw *raw) {
    switch (item->kind) {
    case ISA_ITEM_ADDRESS: return fit_address(f, item, raw);
    case ISA_ITEM_TENSOR: return fit_tensor(f, raw);
    case ISA_ITEM_LABEL: return fit_name(f, raw, "a label");
    case ISA_ITEM_LIST: return fit_name(f, raw, "the label of a list of targets");
    case ISA_ITEM_FUNC: return fit_callee(f, raw);
    case ISA_ITEM_ARGS: return fit_args(f, item, raw);
    default: return fit_value(f, item, raw);
    }
}

static bool has_qual(const struct ptx_mnemonic *mnemonic, uint16_t qual) {
    for (unsigned i = 0; i < mnemonic->words.qual_count; i++)
        if (mnemonic->words.quals[i] == qual)
            return true;
    return false;
}

/* Gives operand `at` and those behind it to item `i` and those behind it. chosen[i] is the operand
 * of item i, or -1. */
static bool arrange(const struct ptx_fit *f, unsigned at, unsigned i,
                    int8_t chosen[ISA_MAX_ITEMS]) {
    const struct isa_pattern *pattern = f->match->pattern;
    const struct ptx_parser *p = f->p;
    if (i == pattern->item_count) {
        if (at == p->operand_count)
            return true;
        if (at >= f->misfit->depth) {
            f->misfit->depth = at;
            refuse(f, &p->operands[at], "one operand too many");
        }
        return false;
    }
    const struct isa_item *item = &pattern->items[i];
    bool must = !item->optional || (item->only_with != 0 && has_qual(f->mnemonic, item->only_with));
    bool may = must || item->only_with == 0;
    if (may && at < p->operand_count) {
        struct ptx_misfit before = *f->misfit;
        if (fit_item(f, item, &p->operands[at])) {
            chosen[i] = (int8_t)at;
            *f->misfit = before;
            if (arrange(f, at + 1, i + 1, chosen))
                return true;
        } else if (at < before.depth) {
            *f->misfit = before; /* an arrangement that got further says more */
        } else {
            f->misfit->depth = at;
        }
    } else if (must && at >= f->misfit->depth) {
        f->misfit->depth = at;
        refuse(f, NULL, "an operand is missing: %.*s", item->name_length, item->name);
    }
    chosen[i] = -1;
    return !must && arrange(f, at, i + 1, chosen);
}

bool ptx_fit(const struct ptx_fit *f, int8_t chosen[ISA_MAX_ITEMS]) {
    return arrange(f, 0, 0, chosen);
}
