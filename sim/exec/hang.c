#include <stdio.h>

#include "grid.h"

/* What the user reads when a launch ends badly: the place and reason of a fault; for a hang every
 * barrier in the wait and every warp that waits. */

const char *fault_text(enum fault_kind kind) {
    static const char *const text[] = {
        [FAULT_NONE] = "no fault",
        [FAULT_ILLEGAL_ADDRESS] = "illegal address",
        [FAULT_MISALIGNED_ADDRESS] = "misaligned address",
        [FAULT_ILLEGAL_INSTRUCTION] = "illegal instruction",
        [FAULT_ADDRESS_SPACE] = "invalid address space",
        [FAULT_INVALID_PC] = "invalid program counter",
        [FAULT_LAUNCH_FAILED] = "launch failed",
        [FAULT_ASSERT] = "assertion failed",
        [FAULT_TENSOR_MEMORY_LEAK] = "Tensor Memory leak",
        [FAULT_HANG] = "hang",
        [FAULT_BUDGET] = "instruction budget used up",
        [FAULT_UNSUPPORTED] = "not modelled",
        [FAULT_NO_MEMORY] = "out of host memory",
    };
    return text[kind];
}

/* The PTX line of the instruction, and the source line that it came from where .loc says. */
static void print_place(const struct ir_module *module, const struct ir_insn *insn,
                        struct strbuf *out) {
    ptx_print_line(module, insn->line, insn->column, out);
    if (insn->loc_file >= 0 && (uint32_t)insn->loc_file < module->file_count)
        strbuf_printf(out, "    from %s:%u\n", module->files[insn->loc_file], insn->loc_line);
}

static const struct ir_insn *insn_at(const struct exec_kernel *kernel, uint32_t line,
                                     uint32_t column) {
    for (uint32_t f = 0; f < kernel->func_count; f++) {
        const struct ir_func *func = kernel->funcs[f].ir;
        for (uint32_t i = 0; i < func->insn_count; i++)
            if (func->insns[i].line == line && func->insns[i].column == column)
                return &func->insns[i];
    }
    return NULL;
}

void report_fault(const struct run *run, const struct fault *fault, struct strbuf *out) {
    if (fault->file != NULL)
        strbuf_printf(out, "%s:%u:%u: ", fault->file, fault->line, fault->column);
    strbuf_printf(out, "error: %s: %s\n", fault_text(fault->kind), fault->reason);
    const struct ir_insn *insn =
        fault->file == NULL ? NULL : insn_at(run->kernel, fault->line, fault->column);
    if (insn != NULL)
        print_place(run->kernel->module, insn, out);
    strbuf_printf(out, "  kernel %s, cta (%u,%u,%u), warp %u, lanes 0x%08x\n",
                  run->kernel->info.name, fault->cta[0], fault->cta[1], fault->cta[2], fault->warp,
                  fault->lanes);
}

static void print_arrivals(const struct mbarrier_entry *entry, struct strbuf *out) {
    if (entry->arrival_count == 0) {
        strbuf_puts(out, "    nobody arrived in this phase\n");
        return;
    }
    uint32_t kept =
        entry->arrival_count < ARRIVALS_KEPT ? entry->arrival_count : (uint32_t)ARRIVALS_KEPT;
    if (kept == entry->arrival_count)
        strbuf_puts(out, "    arrived in this phase:\n");
    else
        strbuf_printf(out, "    %u operations in this phase, the last %u:\n", entry->arrival_count,
                      kept);
    for (uint32_t i = 0; i < kept; i++) {
        const struct mbarrier_arrival *a =
            &entry->arrivals[(entry->arrival_count - kept + i) % ARRIVALS_KEPT];
        uint32_t line = a->insn == NULL ? 0 : a->insn->ir->line;
        const char *opcode = a->insn == NULL ? "?" : isa_row(a->insn->ir->form)->opcode;
        if (a->warp == UINT32_MAX)
            strbuf_printf(out, "      completion of line %u: %s\n", line, opcode);
        else
            strbuf_printf(out, "      warp %u lane %u at line %u: %s\n", a->warp, a->lane, line,
                          opcode);
    }
}

/* Whether a group of the CTA waits for that barrier. */
static bool is_awaited(const struct cta *cta, uint32_t address) {
    for (uint32_t k = 0; k < cta->warp_count; k++)
        for (uint32_t g = 0; g < cta->warps[k].sched->group_count; g++) {
            const struct wait *wait = &cta->warps[k].sched->groups[g].wait;
            if (wait->kind == WAIT_MBARRIER && wait->address == address)
                return true;
        }
    return false;
}

/* The barriers that groups wait for; where none waits by name but lanes poll, all there are. */
static void print_mbarriers(const struct cta *cta, struct strbuf *out) {
    bool any = false;
    for (uint32_t i = 0; i < cta->state->mbarrier_count; i++)
        any |= is_awaited(cta, cta->state->mbarriers[i].address);
    for (uint32_t i = 0; i < cta->state->mbarrier_count; i++) {
        const struct mbarrier_entry *entry = &cta->state->mbarriers[i];
        if (any ? !is_awaited(cta, entry->address) : entry->object.expected == 0)
            continue;
        strbuf_puts(out, "  mbarrier ");
        image_print_shared(cta->launch->kernel, entry->address, out);
        strbuf_printf(out,
                      " of cta (%u,%u,%u): phase %llu, pending arrivals %u of %u, pending bytes "
                      "%d",
                      cta->ctaid[0], cta->ctaid[1], cta->ctaid[2],
                      (unsigned long long)entry->object.phase, entry->object.pending,
                      entry->object.expected, entry->object.tx_count);
        if (entry->object.tx_count != 0)
            strbuf_printf(out, " (announced %llu, delivered %llu)",
                          (unsigned long long)entry->announced_bytes,
                          (unsigned long long)entry->delivered_bytes);
        strbuf_puts(out, "\n");
        print_arrivals(entry, out);
    }
}

static void print_wait(const struct cta *cta, const struct wait *wait, struct strbuf *out) {
    const struct named_barrier *barrier = &cta->state->barriers[wait->address % NAMED_BARRIERS];
    uint32_t arrived = 0;
    switch (wait->kind) {
    case WAIT_NONE: strbuf_puts(out, "runs"); return;
    case WAIT_MBARRIER:
        strbuf_puts(out, "waits for mbarrier ");
        image_print_shared(cta->launch->kernel, wait->address, out);
        if (wait->by_token)
            strbuf_printf(out, ", phase of a token, parity %u", wait->parity);
        else
            strbuf_printf(out, ", parity %u", wait->parity);
        return;
    case WAIT_BARRIER:
        for (uint32_t i = 0; i < cta->warp_count; i++)
            arrived += (uint32_t)__builtin_popcount(barrier->arrived[i]);
        strbuf_printf(out, "waits at barrier %u: %u of %u threads arrived", wait->address, arrived,
                      barrier->threads > 0 ? barrier->threads : cta->thread_count);
        return;
    case WAIT_LANES:
        strbuf_printf(out, "waits for lanes 0x%08x of its warp", (uint32_t)wait->detail);
        return;
    case WAIT_BULK_GROUP:
        strbuf_printf(out, "waits for copy groups, all but %u", wait->address);
        return;
    case WAIT_TMEM_ALLOC: strbuf_puts(out, "waits for room in Tensor Memory"); return;
    case WAIT_TMEM: strbuf_puts(out, "waits for accesses to Tensor Memory"); return;
    case WAIT_ASYNC: strbuf_puts(out, "waits for an asynchronous operation"); return;
    case WAIT_CLUSTER: strbuf_puts(out, "waits at the cluster barrier"); return;
    }
}

/* Whether two warps stand at the same place for the same reason, all lanes of each together. */
static bool is_alike(const struct warp *a, const struct warp *b) {
    const struct group *x = &a->sched->groups[0], *y = &b->sched->groups[0];
    return a->live != 0 && b->live != 0 && a->sched->group_count == 1 &&
           b->sched->group_count == 1 && x->pc == y->pc && x->lanes == y->lanes &&
           x->wait.kind == y->wait.kind && x->wait.address == y->wait.address &&
           x->wait.parity == y->wait.parity;
}

/* Warps first to last, which are alike. */
static void print_warps(const struct cta *cta, uint32_t first, uint32_t last, struct strbuf *out) {
    const struct ir_module *module = cta->launch->kernel->module;
    const struct warp *w = &cta->warps[first];
    for (uint32_t g = 0; g < w->sched->group_count; g++) {
        const struct group *group = &w->sched->groups[g];
        const struct ir_insn *insn = group->pc->ir;
        strbuf_printf(out, "%s:%u:%u: cta (%u,%u,%u) ", module->file, insn->line, insn->column,
                      cta->ctaid[0], cta->ctaid[1], cta->ctaid[2]);
        if (first == last)
            strbuf_printf(out, "warp %u lanes 0x%08x ", first, group->lanes);
        else
            strbuf_printf(out, "warps %u to %u lanes 0x%08x: each ", first, last, group->lanes);
        print_wait(cta, &group->wait, out);
        strbuf_puts(out, "\n");
        print_place(module, insn, out);
    }
}

static void print_cta(const struct cta *cta, struct strbuf *out) {
    print_mbarriers(cta, out);
    for (uint32_t first = 0, last; first < cta->warp_count; first = last + 1) {
        last = first;
        while (last + 1 < cta->warp_count && is_alike(&cta->warps[first], &cta->warps[last + 1]))
            last++;
        if (cta->warps[first].live != 0)
            print_warps(cta, first, last, out);
    }
    async_report(cta, out);
}

enum { CTAS_REPORTED = 4 };

void report_hang(const struct cta_set *set, struct strbuf *out) {
    strbuf_printf(out, "error: %s in kernel %s: %s\n", fault_text(set->fault->kind),
                  set->run->kernel->info.name, set->fault->reason);
    uint32_t reported = 0, running = 0;
    for (uint32_t i = 0; i < set->slot_count; i++) {
        const struct cta *cta = &set->slots[i];
        if (cta->state == NULL || cta->state->live_warps == 0)
            continue;
        running++;
        if (reported++ >= CTAS_REPORTED)
            continue;
        print_cta(cta, out);
    }
    if (running > CTAS_REPORTED)
        strbuf_printf(out, "  and %u more CTAs that run\n", running - CTAS_REPORTED);
    if (set->next < set->end)
        strbuf_printf(out, "  %llu CTAs have not started: %u run at a time\n",
                      (unsigned long long)(set->end - set->next), set->slot_count);
}

/* ---- the first one as fields ---- */

void fault_source(const struct run *run, struct fault *fault) {
    const struct ir_module *module = run->kernel->module;
    const struct ir_insn *insn =
        fault->file == NULL ? NULL : insn_at(run->kernel, fault->line, fault->column);
    if (insn == NULL || insn->loc_file < 0 || (uint32_t)insn->loc_file >= module->file_count)
        return;
    fault->source_file = module->files[insn->loc_file];
    fault->source_line = insn->loc_line;
}

static enum fault_scope scope_of(enum wait_kind kind) {
    switch (kind) {
    case WAIT_NONE: return SCOPE_NONE;
    case WAIT_LANES: return SCOPE_WARP;
    case WAIT_CLUSTER: return SCOPE_CLUSTER;
    default: return SCOPE_CTA;
    }
}

static void describe_wait(const struct cta *cta, const struct wait *wait, struct fault *fault) {
    struct strbuf text = {0};
    const struct mbarrier_entry *entry = NULL;
    fault->scope = scope_of(wait->kind);
    if (wait->kind == WAIT_MBARRIER) {
        entry = cta_mbarrier_entry((struct cta *)(uintptr_t)cta, wait->address);
        strbuf_puts(&text, "mbarrier ");
        image_print_shared(cta->launch->kernel, wait->address, &text);
    } else if (wait->kind == WAIT_BARRIER) {
        strbuf_printf(&text, "barrier %u", wait->address);
    } else if (wait->kind != WAIT_NONE) {
        print_wait(cta, wait, &text);
    }
    snprintf(fault->object, sizeof fault->object, "%s", strbuf_text(&text));
    strbuf_free(&text);
    fault->on_mbarrier = entry != NULL;
    if (entry == NULL)
        return;
    fault->phase = entry->object.phase;
    fault->parity = wait->parity;
    fault->pending = entry->object.pending;
    fault->expected = entry->object.expected;
    fault->pending_bytes = entry->object.tx_count;
}

/* The first group that waits; without one, the first that runs. */
static const struct group *first_group(const struct cta *cta, uint32_t *warp) {
    const struct group *found = NULL;
    for (uint32_t k = 0; k < cta->warp_count; k++)
        for (uint32_t g = 0; cta->warps[k].live != 0 && g < cta->warps[k].sched->group_count; g++) {
            const struct group *group = &cta->warps[k].sched->groups[g];
            if (found != NULL && (found->wait.kind != WAIT_NONE || group->wait.kind == WAIT_NONE))
                continue;
            found = group;
            *warp = k;
        }
    return found;
}

void hang_place(const struct cta_set *set) {
    struct fault *fault = set->fault;
    for (uint32_t i = 0; i < set->slot_count; i++) {
        const struct cta *cta = &set->slots[i];
        if (cta->state == NULL || cta->state->live_warps == 0)
            continue;
        const struct group *group = first_group(cta, &fault->warp);
        if (group == NULL)
            continue;
        for (int axis = 0; axis < 3; axis++)
            fault->cta[axis] = cta->ctaid[axis];
        fault->lanes = group->lanes;
        fault->file = cta->launch->kernel->module->file;
        fault->line = group->pc->ir->line;
        fault->column = group->pc->ir->column;
        describe_wait(cta, &group->wait, fault);
        return;
    }
}
