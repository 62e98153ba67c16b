/* A call's arguments against the formals of a function that is named: how many, and how large. */
#include "ptx_syntax.h"

static uint64_t formal_bytes(const struct ir_module *module, const struct ir_func *callee,
                             const struct ir_formal *formal, bool is_self,
                             const struct ir_func *self) {
    const struct ir_reg *regs = is_self ? self->regs : callee->regs;
    if (formal->in_register)
        return (ptx_type_bits((enum ptx_type)regs[formal->index].type) + 7) / 8;
    return module->symbols[formal->index].size_bytes;
}

/* 0: a constant or `_`, of any size. */
static uint64_t argument_bytes(const struct ptx_parser *p, const struct ir_operand *arg) {
    if (arg->kind == IR_REG)
        return (ptx_type_bits((enum ptx_type)p->func.regs[arg->index].type) + 7) / 8;
    if (arg->kind == IR_SYMBOL)
        return p->module->symbols[arg->index].size_bytes;
    return 0;
}

static bool check_list(struct ptx_parser *p, const struct ir_func *callee,
                       const struct ir_operand *args, const struct ir_formal *formals,
                       uint32_t count, const char *what, struct ptx_place place) {
    uint32_t given = args == NULL || args->kind == IR_NONE ? 0 : args->elem_count;
    if (given != count) {
        ptx_error(p, place, "manual: control-flow-instructions-call",
                  "'%s' has %u %s, the call gives %u", callee->name, count, what, given);
        return false;
    }
    bool is_self = callee == &p->module->funcs[p->func_index];
    for (uint32_t i = 0; i < count; i++) {
        const struct ir_operand *arg = &args->elems[i];
        uint64_t want = formal_bytes(p->module, callee, &formals[i], is_self, &p->func);
        uint64_t have = argument_bytes(p, arg);
        if (have == 0 || want == 0 || have == want)
            continue;
        place.column = arg->column;
        place.length = 1;
        ptx_error(p, place, "manual: control-flow-instructions-call",
                  "the argument has %llu bytes, '%s' takes %llu here", (unsigned long long)have,
                  callee->name, (unsigned long long)want);
        return false;
    }
    return true;
}

bool ptx_check_call(struct ptx_parser *p, const struct ir_insn *insn, struct ptx_place place) {
    const struct ir_operand *results = NULL, *callee = NULL, *args = NULL;
    for (unsigned i = 0; i < insn->operand_count; i++) {
        const struct ir_operand *operand = &insn->operands[i];
        if (operand->kind == IR_FUNC || operand->kind == IR_REG)
            callee = operand;
        else if (operand->kind == IR_VECTOR && callee == NULL)
            results = operand;
        else if (operand->kind == IR_VECTOR)
            args = operand;
    }
    if (callee == NULL || callee->kind != IR_FUNC)
        return true; /* through an address: what it names is known when it runs */
    const struct ir_func *func = &p->module->funcs[callee->index];
    if (func->is_entry) {
        ptx_error(p, place, "manual: control-flow-instructions-call", "'%s' is an .entry",
                  func->name);
        return false;
    }
    return check_list(p, func, results, func->results, func->result_count, "results", place) &&
           check_list(p, func, args, func->params, func->param_count, "parameters", place);
}
