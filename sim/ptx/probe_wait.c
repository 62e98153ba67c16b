/* Which tcgen05.ld may still be under way at an instruction: backward from it along every path,
 * each until its first tcgen05.wait::ld. */
#include "probe_wait.h"

#include <string.h>

#include "probe_source.h"

struct walk {
    const struct ir_func *func;
    bool *seen;      /* by instruction: its end was come to */
    bool *is_target; /* by instruction: a branch goes there */
    uint32_t *stack; /* instructions whose end is to be looked at */
    uint32_t count;
};

static void find_targets(struct walk *w) {
    for (uint32_t i = 0; i < w->func->insn_count; i++) {
        const struct ir_insn *insn = &w->func->insns[i];
        if (insn->form == ISA_bra)
            w->is_target[insn->operands[0].index] = true;
        if (insn->form != ISA_brx_idx)
            continue;
        const struct ir_list *list = &w->func->lists[insn->operands[1].index];
        for (uint32_t k = 0; k < list->count; k++)
            w->is_target[list->targets[k]] = true;
    }
}

static bool goes_to(const struct ir_func *func, const struct ir_insn *insn, uint32_t to) {
    if (insn->form == ISA_bra)
        return (uint32_t)insn->operands[0].index == to;
    if (insn->form != ISA_brx_idx)
        return false;
    const struct ir_list *list = &func->lists[insn->operands[1].index];
    for (uint32_t i = 0; i < list->count; i++)
        if ((uint32_t)list->targets[i] == to)
            return true;
    return false;
}

static void come_to(struct walk *w, uint32_t insn) {
    if (!w->seen[insn])
        w->stack[w->count++] = insn;
    w->seen[insn] = true;
}

/* All that a thread may have run just before `insn`. */
static void before(struct walk *w, uint32_t insn) {
    const struct ir_insn *insns = w->func->insns;
    if (insn > 0) {
        const struct ir_insn *last = &insns[insn - 1];
        if (!probe_source_leaves(last) || last->guard >= 0)
            come_to(w, insn - 1);
    }
    for (uint32_t i = 0; w->is_target[insn] && i < w->func->insn_count; i++)
        if (goes_to(w->func, &insns[i], insn))
            come_to(w, i);
}

static bool is_load(const struct ir_insn *insn) {
    return !strncmp(isa_row((enum isa_form)insn->form)->opcode, "tcgen05.ld", 10);
}

uint32_t probe_wait_hidden(struct arena *scratch, const struct ir_func *func, uint32_t insn,
                           uint32_t *loads, uint32_t most) {
    struct walk w = {.func = func};
    uint32_t found = 0;
    w.seen = arena_array(scratch, func->insn_count + 1u, sizeof *w.seen);
    w.stack = arena_array(scratch, func->insn_count + 1u, sizeof *w.stack);
    w.is_target = arena_array(scratch, func->insn_count + 1u, sizeof *w.is_target);
    bool *hidden = arena_array(scratch, func->insn_count + 1u, sizeof *hidden);
    if (!w.seen || !w.stack || !w.is_target || !hidden)
        return UINT32_MAX;
    find_targets(&w);
    before(&w, insn);
    while (w.count) {
        const uint32_t at = w.stack[--w.count];
        if (func->insns[at].form == ISA_tcgen05_wait_ld && func->insns[at].guard < 0)
            continue;
        hidden[at] = is_load(&func->insns[at]);
        before(&w, at);
    }
    for (uint32_t i = 0; i < func->insn_count; i++)
        if (hidden[i]) {
            if (found < most)
                loads[found] = i;
            found++;
        }
    return found;
}
