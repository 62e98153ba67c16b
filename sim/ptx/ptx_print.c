/* The decoded form as PTX text again: opcode, qualifiers, types, operands. The text parses to the
 * same decoded form where the same names are declared; a label is written as $I<instruction index>,
 * since one name may mean several labels of a function. */
#include <inttypes.h>

#include "bits.h"
#include "isa_match.h"
#include "ptx.h"

struct printer {
    const struct ir_module *module;
    const struct ir_func *func;
    struct strbuf *out;
};

static void print_constant(const struct printer *p, const struct ir_operand *operand,
                           enum ptx_type type) {
    if (type == PTX_F32)
        strbuf_printf(p->out, "0f%08" PRIX64, (uint64_t)operand->imm);
    else if (type == PTX_F64)
        strbuf_printf(p->out, "0d%016" PRIX64, (uint64_t)operand->imm);
    else if (ptx_type_class(type) == PTX_CLASS_SINT)
        strbuf_printf(p->out, "%" PRId64,
                      bits_sign_extend((uint64_t)operand->imm, ptx_type_bits(type)));
    else if ((uint64_t)operand->imm < 65536)
        strbuf_printf(p->out, "%" PRIu64, (uint64_t)operand->imm);
    else
        strbuf_printf(p->out, "0x%" PRIX64, (uint64_t)operand->imm);
}

static void print_offset(const struct printer *p, int64_t offset) {
    if (offset != 0)
        strbuf_printf(p->out, "+%" PRId64, offset);
}

static void print_special(const struct printer *p, const struct ir_operand *operand) {
    enum ptx_sreg sreg = (enum ptx_sreg)operand->index;
    strbuf_printf(p->out, "%%%s", ptx_sreg_text(sreg));
    if (operand->component < 4)
        strbuf_printf(p->out, ".%c", "xyzw"[operand->component]);
}

static void print_operand(const struct printer *p, const struct ir_operand *operand,
                          enum ptx_type type, bool in_parentheses);

static void print_elements(const struct printer *p, const struct ir_operand *operand,
                           unsigned first, enum ptx_type type, const char *marks) {
    strbuf_printf(p->out, "%c", marks[0]);
    for (unsigned i = first; i < operand->elem_count; i++) {
        if (i > first)
            strbuf_puts(p->out, ", ");
        print_operand(p, &operand->elems[i], type, false);
    }
    strbuf_printf(p->out, "%c", marks[1]);
}

static void print_address(const struct printer *p, const struct ir_operand *operand) {
    strbuf_puts(p->out, "[");
    print_operand(p, &operand->elems[0], PTX_S64, false);
    print_offset(p, operand->imm);
    if (operand->kind == IR_TENSOR) {
        strbuf_puts(p->out, ", ");
        print_elements(p, operand, 1, PTX_S32, "{}");
    }
    strbuf_puts(p->out, "]");
}

static void print_operand(const struct printer *p, const struct ir_operand *operand,
                          enum ptx_type type, bool in_parentheses) {
    if (operand->negated)
        strbuf_puts(p->out, "!");
    switch ((enum ir_operand_kind)operand->kind) {
    case IR_NONE: break;
    case IR_REG: strbuf_puts(p->out, p->func->regs[operand->index].name); break;
    case IR_IMM: print_constant(p, operand, type); break;
    case IR_SREG: print_special(p, operand); break;
    case IR_SYMBOL:
        strbuf_puts(p->out, p->module->symbols[operand->index].name);
        print_offset(p, operand->imm);
        break;
    case IR_FUNC: strbuf_puts(p->out, p->module->funcs[operand->index].name); break;
    case IR_ADDRESS:
    case IR_TENSOR: print_address(p, operand); break;
    case IR_VECTOR: print_elements(p, operand, 0, type, in_parentheses ? "()" : "{}"); break;
    case IR_PAIR:
        print_operand(p, &operand->elems[0], type, false);
        strbuf_puts(p->out, "|");
        print_operand(p, &operand->elems[1], PTX_PRED, false);
        break;
    case IR_SINK: strbuf_puts(p->out, "_"); break;
    case IR_LABEL: strbuf_printf(p->out, "$I%" PRId32, operand->index); break;
    case IR_LIST: strbuf_puts(p->out, p->func->lists[operand->index].name); break;
    }
}

static enum ptx_type item_type(const struct isa_item *item, const uint8_t by_group[IR_MAX_TYPES]) {
    return (enum ptx_type)(item->type_group < 0 ? item->fixed_type : by_group[item->type_group]);
}

static void print_operands(const struct printer *p, const struct ir_insn *insn) {
    struct arena scratch = {0};
    struct isa_pattern pattern;
    struct isa_words words = {.qual_count = insn->qual_count, .type_count = insn->type_count};
    uint8_t by_group[IR_MAX_TYPES] = {0};
    unsigned where;
    bool first = true;
    for (unsigned i = 0; i < insn->qual_count; i++)
        words.quals[i] = insn->quals[i];
    for (unsigned i = 0; i < insn->type_count; i++)
        words.types[i] = insn->types[i];
    if (isa_compile(&scratch, (enum isa_form)insn->form, &pattern) == NULL)
        isa_match(&pattern, &words, by_group, &where);
    for (unsigned i = 0; i < insn->operand_count && i < pattern.item_count; i++) {
        if (insn->operands[i].kind == IR_NONE)
            continue;
        strbuf_puts(p->out, first ? " " : ", ");
        first = false;
        print_operand(p, &insn->operands[i], item_type(&pattern.items[i], by_group),
                      pattern.items[i].kind == ISA_ITEM_ARGS);
    }
    arena_free(&scratch);
}

void ptx_print_insn(const struct ir_module *module, const struct ir_func *func,
                    const struct ir_insn *insn, struct strbuf *out) {
    const struct printer p = {module, func, out};
    if (insn->guard >= 0)
        strbuf_printf(out, "@%s%s ", insn->guard_negated ? "!" : "", func->regs[insn->guard].name);
    strbuf_puts(out, isa_row((enum isa_form)insn->form)->opcode);
    for (unsigned i = 0; i < insn->qual_count; i++)
        strbuf_printf(out, ".%s", ptx_qual_text((enum ptx_qual)insn->quals[i]));
    for (unsigned i = 0; i < insn->type_count; i++)
        strbuf_printf(out, ".%s", ptx_type_text((enum ptx_type)insn->types[i]));
    print_operands(&p, insn);
    strbuf_puts(out, ";");
}
