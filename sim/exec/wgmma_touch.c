#include "wgmma_touch.h"

#include <string.h>

#include "arena.h"
#include "isa.h"

static bool is_wgmma(const struct ir_insn *insn) {
    return strncmp(isa_row((enum isa_form)insn->form)->opcode, "wgmma.", 6) == 0;
}

/* Sets `value` for the registers that the operand names; with `value` false: whether one is set. */
static bool visit(const struct ir_operand *operand, bool *registers, bool value) {
    bool any = false;
    if (operand->kind == IR_REG) {
        registers[operand->index] |= value;
        return registers[operand->index];
    }
    for (unsigned i = 0; i < operand->elem_count; i++)
        any |= visit(&operand->elems[i], registers, value);
    return any;
}

static enum step touch(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xinsn *inner = x->data;
    if (w->wgmma_in_flight && !wgmma_settled(w))
        return STEP_WAIT;
    return inner->run(w, inner, mask);
}

static bool wrap(struct arena *arena, struct xinsn *x) {
    struct xinsn *inner = arena_alloc(arena, sizeof *inner, _Alignof(struct xinsn));
    if (inner == NULL)
        return false;
    *inner = *x;
    x->run = touch;
    x->data = inner;
    return true;
}

bool wgmma_touch_wrap(struct arena *arena, struct xfunc *func) {
    const struct ir_func *ir = func->ir;
    bool *in_d = NULL;
    for (uint32_t i = 0; i < ir->insn_count; i++) {
        const struct ir_insn *insn = &ir->insns[i];
        if (!is_wgmma(insn) || insn->operand_count == 0 || insn->operands[0].kind != IR_VECTOR)
            continue;
        if (in_d == NULL)
            in_d = arena_array(arena, ir->reg_count, sizeof *in_d);
        if (in_d == NULL)
            return false;
        visit(&insn->operands[0], in_d, true);
    }
    for (uint32_t i = 0; in_d != NULL && i < ir->insn_count; i++) {
        const struct ir_insn *insn = &ir->insns[i];
        bool touches = false;
        for (unsigned k = 0; k < insn->operand_count; k++)
            touches |= visit(&insn->operands[k], in_d, false);
        if (touches && !is_wgmma(insn) && func->insns[i].run != NULL &&
            !wrap(arena, &func->insns[i]))
            return false;
    }
    return true;
}
