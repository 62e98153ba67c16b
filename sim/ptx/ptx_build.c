/* Operands that fit a row, as decoded form: immediates become bits of their operand's type,
 * addresses base and offset, labels uses to be resolved at the end of their block. */
#include <string.h>

#include "ptx_fit.h"

static bool build(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                  const struct ptx_raw *raw, struct ir_operand *out);

static bool build_elements(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                           const struct ptx_raw *raw, struct ir_operand *out) {
    out->elem_count = raw->elem_count;
    out->elems = arena_array(f->p->arena, raw->elem_count, sizeof *out->elems);
    if (out->elems == NULL)
        return ptx_no_memory(f->p);
    for (unsigned i = 0; i < raw->elem_count; i++)
        if (!build(f, item, type, &raw->elems[i], &out->elems[i]))
            return false;
    return true;
}

/* [base + offset], {map, coordinates...} */
static bool build_address(const struct ptx_fit *f, const struct ptx_raw *raw,
                          struct ir_operand *out) {
    static const struct isa_item any = {.type_group = -1};
    const struct ptx_raw *base = raw->kind == RAW_SYMBOL ? raw : &raw->elems[0];
    unsigned coordinates = raw->kind == RAW_TENSOR ? raw->elems[1].elem_count : 0;
    out->kind = raw->kind == RAW_TENSOR ? IR_TENSOR : IR_ADDRESS;
    out->elem_count = (uint16_t)(1 + coordinates);
    out->elems = arena_array(f->p->arena, out->elem_count, sizeof *out->elems);
    if (out->elems == NULL)
        return ptx_no_memory(f->p);
    if (!build(f, &any, PTX_B64, base, &out->elems[0]))
        return false;
    if (base->kind != RAW_INT)
        out->imm = base->value;
    out->elems[0].imm = base->kind == RAW_INT ? base->value : 0;
    for (unsigned i = 0; i < coordinates; i++)
        if (!build(f, &any, PTX_S32, &raw->elems[1].elems[i], &out->elems[1 + i]))
            return false;
    return true;
}

static bool build_pair(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                       const struct ptx_raw *raw, struct ir_operand *out) {
    out->kind = IR_PAIR;
    out->elem_count = 2;
    out->elems = arena_array(f->p->arena, 2, sizeof *out->elems);
    if (out->elems == NULL)
        return ptx_no_memory(f->p);
    return build(f, item, type, &raw->elems[0], &out->elems[0]) &&
           build(f, item, PTX_PRED, &raw->elems[1], &out->elems[1]);
}

static bool build_label(const struct ptx_fit *f, const struct isa_item *item,
                        const struct ptx_raw *raw, struct ir_operand *out) {
    bool list = item->kind == ISA_ITEM_LIST;
    out->kind = list ? IR_LIST : IR_LABEL;
    return ptx_use_label(f->p, raw->name, list, &out->index, ptx_raw_place(raw));
}

static bool build_constant(const struct ptx_raw *raw, enum ptx_type type, struct ir_operand *out) {
    struct ptx_constant c;
    uint64_t bits = (uint64_t)raw->value;
    ptx_raw_constant(raw, &c);
    if (type != PTX_TYPE_NONE)
        ptx_constant_bits(&c, type, &bits);
    out->kind = IR_IMM;
    out->imm = (int64_t)bits;
    return true;
}

/* A function must have a body by the end of the module. */
static bool note_func_use(struct ptx_parser *p, const struct ptx_raw *raw) {
    if (p->module->funcs[raw->index].is_defined)
        return true;
    for (const struct ptx_func_use *use = p->func_uses; use != NULL; use = use->next)
        if (use->func == raw->index)
            return true;
    struct ptx_func_use *use = arena_alloc(&p->scratch, sizeof *use, _Alignof(struct ptx_func_use));
    if (use == NULL)
        return ptx_no_memory(p);
    *use = (struct ptx_func_use){raw->index, ptx_raw_place(raw), p->func_uses};
    p->func_uses = use;
    return true;
}

static bool build(const struct ptx_fit *f, const struct isa_item *item, enum ptx_type type,
                  const struct ptx_raw *raw, struct ir_operand *out) {
    *out = (struct ir_operand){.negated = raw->negated,
                               .component = raw->component,
                               .index = raw->index,
                               .column = raw->column};
    if (ptx_raw_is_constant(raw))
        return build_constant(raw, type, out);
    switch (raw->kind) {
    case RAW_REG: out->kind = IR_REG; return true;
    case RAW_SREG: out->kind = IR_SREG; return true;
    case RAW_SINK: out->kind = IR_SINK; return true;
    case RAW_FUNC: out->kind = IR_FUNC; return note_func_use(f->p, raw);
    case RAW_SYMBOL:
        out->kind = IR_SYMBOL;
        out->imm = raw->value;
        return true;
    case RAW_PAIR: return build_pair(f, item, type, raw, out);
    case RAW_ARGS: out->kind = IR_VECTOR; return build_elements(f, item, PTX_TYPE_NONE, raw, out);
    default:
        out->kind = IR_VECTOR;
        if (item->list == ISA_LIST_PACK)
            type = ptx_pack_type(type, raw->elem_count);
        return build_elements(f, item, type, raw, out);
    }
}

static bool build_item(const struct ptx_fit *f, const struct isa_item *item,
                       const struct ptx_raw *raw, struct ir_operand *out) {
    switch (item->kind) {
    case ISA_ITEM_ADDRESS:
    case ISA_ITEM_TENSOR:
        *out = (struct ir_operand){.column = raw->column};
        return build_address(f, raw, out);
    case ISA_ITEM_LABEL:
    case ISA_ITEM_LIST:
        *out = (struct ir_operand){.column = raw->column};
        return build_label(f, item, raw, out);
    default:
        return build(f, item, ptx_item_type(f->match, item), ptx_raw_unbraced(f, item, raw), out);
    }
}

bool ptx_build_insn(const struct ptx_fit *f, const int8_t chosen[ISA_MAX_ITEMS],
                    struct ir_insn *insn) {
    const struct isa_pattern *pattern = f->match->pattern;
    const struct isa_words *words = &f->mnemonic->words;
    insn->form = (uint16_t)pattern->form;
    insn->type_count = words->type_count;
    insn->qual_count = words->qual_count;
    memcpy(insn->types, words->types, sizeof insn->types);
    memcpy(insn->quals, words->quals, sizeof insn->quals);
    insn->operand_count = pattern->item_count;
    insn->operands = arena_array(f->p->arena, pattern->item_count, sizeof *insn->operands);
    if (insn->operands == NULL)
        return ptx_no_memory(f->p);
    for (unsigned i = 0; i < pattern->item_count; i++)
        if (chosen[i] >= 0 &&
            !build_item(f, &pattern->items[i], &f->p->operands[chosen[i]], &insn->operands[i]))
            return false;
    return true;
}
