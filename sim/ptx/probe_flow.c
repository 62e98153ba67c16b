/* What the values of a function depend on: sources, along the definitions that reach each value.
 *
 *   mov.u32 %a, %clock;     a source: {clock}
 *   add.u32 %b, %a, 1;      {clock}: the definition of %a that reaches it is a source
 *   @%p mov.u32 %b, 0;      guarded, so the add reaches what follows too
 *
 * Each instruction has the set of sources that its results may depend on: its own, and those of all
 * definitions that reach what it reads. Sets grow until nothing changes. */
#include "probe_flow.h"

#include <stdio.h>
#include <string.h>

#include "probe_graph.h"
#include "probe_source.h"

struct probe_flow {
    struct probe_graph graph;
    struct arena *arena;
    const struct ir_func *func;
    bool *cut;        /* by register */
    bool *recorded;   /* by instruction: a probe takes its result */
    uint32_t *from;   /* by instruction: set of sources */
    uint32_t *origin; /* by instruction: an instruction that is one of them */
    bool no_memory;
};

/* ---- fused multiply-adds ---- */

/* What ptxas 13.0 fuses, as machine code for sm_90a shows: an unrounded product that is unguarded,
 * not saturated and stands in the sum's block, when every use of it is such a sum. Moves and neg
 * may stand between. A product that something else needs as well is made on its own, and that
 * something may be a probe. */

static bool passes_on(const struct ir_insn *insn) {
    const char *opcode = isa_row((enum isa_form)insn->form)->opcode;
    return insn->guard < 0 && insn->operand_count > 1 && insn->operands[1].kind == IR_REG &&
           (insn->form == ISA_mov || !strcmp(opcode, "neg"));
}

/* The product that operand `reg` of `at` is, through moves and neg. */
static uint32_t product_of(struct probe_flow *f, int32_t reg, uint32_t at) {
    enum { MOST_STEPS = 16 };
    for (unsigned i = 0; i < MOST_STEPS; i++) {
        at = probe_graph_only(&f->graph, reg, at);
        if (at == PROBE_GRAPH_NONE || !passes_on(&f->func->insns[at]))
            return at;
        reg = f->func->insns[at].operands[1].index;
    }
    return PROBE_GRAPH_NONE;
}

static bool fits(const struct probe_flow *f, uint32_t product, uint32_t sum) {
    const struct ir_insn *x = &f->func->insns[product], *y = &f->func->insns[sum];
    return probe_source_fusible(x, true) && probe_source_fusible(y, false) && x->guard < 0 &&
           x->types[0] == y->types[0] && ir_has(x, QUAL_FTZ) == ir_has(y, QUAL_FTZ) &&
           product < sum && f->graph.begin[product] == f->graph.begin[sum];
}

/* Whether all that reads the result of `at` are sums that fit, each with one operand of it. */
static bool all_fit(const struct probe_flow *f, uint32_t product, uint32_t at, unsigned depth) {
    enum { MOST_STEPS = 16 };
    const struct probe_graph *g = &f->graph;
    if (f->recorded[at] || depth == MOST_STEPS)
        return false;
    for (uint32_t i = g->reader_first[at]; i < g->reader_first[at + 1]; i++) {
        const uint32_t reader = g->readers[i];
        if (i > g->reader_first[at] && g->readers[i - 1] == reader)
            return false;
        if (passes_on(&f->func->insns[reader]) ? !all_fit(f, product, reader, depth + 1)
                                               : !fits(f, product, reader))
            return false;
    }
    return true;
}

static bool is_fused(struct probe_flow *f, uint32_t index) {
    const struct ir_insn *sum = &f->func->insns[index];
    if (!probe_source_fusible(sum, false))
        return false;
    for (unsigned i = 1; i < sum->operand_count; i++) {
        const uint32_t product = sum->operands[i].kind == IR_REG
                                     ? product_of(f, sum->operands[i].index, index)
                                     : PROBE_GRAPH_NONE;
        if (product != PROBE_GRAPH_NONE && fits(f, product, index) &&
            all_fit(f, product, product, 0))
            return true;
    }
    return false;
}

/* ---- sets of sources ---- */

/* Its own sources, before those of what it reads. */
static void begin_set(struct probe_flow *f, uint32_t index) {
    const struct ir_insn *insn = &f->func->insns[index];
    const enum probe_why own = probe_source_own(insn);
    uint32_t set = own ? 1u << own : 0;
    if (is_fused(f, index))
        set |= 1u << PROBE_WHY_CONTRACTION;
    if (probe_source_approximate(insn))
        set |= 1u << PROBE_WHY_APPROX;
    f->origin[index] = set ? index : PROBE_GRAPH_NONE;
    if (probe_source_meets_global(insn))
        set |= 1u << PROBE_WHY_GLOBAL;
    if (probe_source_meets_others(insn))
        set |= 1u << PROBE_WHY_OTHERS;
    f->from[index] = set;
}

/* Until nothing changes; definitions of registers that are cut keep the empty set. */
static void spread(struct probe_flow *f, const bool *is_cut) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->func->insn_count; i++) {
            uint32_t set = f->from[i];
            for (uint32_t e = f->graph.reads[i]; e != PROBE_GRAPH_NONE && !is_cut[i];
                 e = f->graph.edges[e].next) {
                const uint32_t def = f->graph.edges[e].def;
                set |= f->from[def];
                if (f->origin[i] == PROBE_GRAPH_NONE)
                    f->origin[i] = f->origin[def];
            }
            changed = changed || set != f->from[i];
            f->from[i] = set;
        }
    }
}

static bool find_sources(struct probe_flow *f) {
    const struct probe_graph *g = &f->graph;
    const uint32_t count = f->func->insn_count;
    bool *is_cut = arena_array(f->arena, count + 1u, sizeof *is_cut);
    f->from = arena_array(f->arena, count + 1u, sizeof *f->from);
    f->origin = arena_array(f->arena, count + 1u, sizeof *f->origin);
    if (!is_cut || !f->from || !f->origin)
        return false;
    for (uint32_t r = 0; r < f->func->reg_count; r++)
        for (uint32_t i = g->def_first[r]; f->cut[r] && i < g->def_first[r + 1]; i++)
            is_cut[g->defs[i]] = true;
    for (uint32_t i = 0; i < count; i++) {
        f->origin[i] = PROBE_GRAPH_NONE;
        if (!is_cut[i])
            begin_set(f, i);
    }
    spread(f, is_cut);
    return true;
}

/* Results that probes take by code of their own: each is needed beside what the kernel does with
 * it. */
static void find_recorded(struct probe_flow *f, const struct probe_plan *plan, uint32_t func) {
    for (uint32_t s = 0; s < plan->site_count; s++) {
        const struct probe_site *site = &plan->sites[s];
        if (site->func != func || plan->specs[site->probe].sim)
            continue;
        for (uint32_t i = 0; i < site->value_count; i++) {
            const struct probe_value *value = &site->values[i];
            if (!value->operand || value->operand->kind != IR_REG)
                continue;
            if (value->output)
                f->recorded[site->insn] = true;
            else
                probe_graph_search(&f->graph, value->operand->index, site->insn);
            for (uint32_t k = 0; !value->output && k < f->graph.found_count; k++)
                f->recorded[f->graph.found[k]] = true;
        }
    }
}

struct probe_flow *probe_flow_make(struct arena *arena, const struct probe_plan *plan,
                                   uint32_t func) {
    struct probe_flow *f = arena_alloc(arena, sizeof *f, _Alignof(struct probe_flow));
    if (!f)
        return NULL;
    *f = (struct probe_flow){.arena = arena, .func = &plan->ir->funcs[func]};
    f->cut = arena_array(arena, f->func->reg_count + 1u, sizeof *f->cut);
    f->recorded = arena_array(arena, f->func->insn_count + 1u, sizeof *f->recorded);
    if (!f->cut || !f->recorded || !probe_graph_make(&f->graph, arena, f->func))
        return NULL;
    for (uint32_t r = 0; r < f->func->reg_count; r++)
        for (uint32_t p = 0; p < plan->spec_count; p++)
            for (uint32_t i = 0; i < plan->specs[p].key_count; i++)
                f->cut[r] = f->cut[r] || !strcmp(f->func->regs[r].name, plan->specs[p].keys[i]);
    find_recorded(f, plan, func);
    return find_sources(f) ? f : NULL;
}

struct probe_given probe_flow_given(const struct probe_flow *f) {
    struct probe_given given = {0};
    for (uint32_t i = 0; i < f->func->insn_count; i++) {
        const struct ir_insn *insn = &f->func->insns[i];
        uint32_t set = 0;
        for (uint32_t e = f->graph.reads[i]; e != PROBE_GRAPH_NONE; e = f->graph.edges[e].next)
            set |= f->from[f->graph.edges[e].def];
        if (probe_source_meets_global(insn))
            given.global |= set;
        if (probe_source_meets_others(insn))
            given.others |= set;
        if (probe_source_leaves(insn))
            given.branches |= set;
        given.between_ctas = given.between_ctas || probe_source_between_ctas(insn);
    }
    return given;
}

/* ---- values of a probe ---- */

/* "ex2.approx.ftz.f32" */
static const char *approx_name(struct probe_flow *f, struct arena *arena,
                               const struct ir_insn *insn) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s%s.%s", isa_row((enum isa_form)insn->form)->opcode,
             ir_has(insn, QUAL_FULL) ? "full" : "approx", ir_has(insn, QUAL_FTZ) ? ".ftz" : "",
             ptx_type_text((enum ptx_type)insn->types[0]));
    const char *copy = arena_strdup(arena, name);
    f->no_memory = f->no_memory || !copy;
    return copy;
}

/* Why machines disagree about the very result of an instruction. */
static enum probe_why why_of(struct probe_flow *f, uint32_t index) {
    const struct ir_insn *insn = &f->func->insns[index];
    const enum probe_why own = probe_source_own(insn);
    if (own)
        return own;
    return is_fused(f, index) ? PROBE_WHY_CONTRACTION : PROBE_WHY_NONE;
}

static void set_from_def(struct probe_flow *f, struct probe_value *value, uint32_t def) {
    value->from |= f->from[def];
    if (!value->from_line && f->origin[def] != PROBE_GRAPH_NONE)
        value->from_line = f->func->insns[f->origin[def]].line;
}

static void set_register(struct probe_flow *f, struct arena *arena, struct probe_value *value,
                         int32_t reg, uint32_t at) {
    if (f->cut[reg])
        return;
    uint32_t def = at;
    if (!value->output) {
        def = probe_graph_only(&f->graph, reg, at);
        probe_graph_search(&f->graph, reg, at);
        for (uint32_t i = 0; i < f->graph.found_count; i++)
            set_from_def(f, value, f->graph.found[i]);
        /* Several definitions: it is such a result when all are. */
        const uint32_t count = f->graph.found_count;
        enum probe_why why = PROBE_WHY_NONE;
        for (uint32_t i = 0; i < count && def == PROBE_GRAPH_NONE; i++) {
            probe_graph_search(&f->graph, reg, at);
            const enum probe_why one = why_of(f, f->graph.found[i]);
            if (!one || (i && one != why)) {
                why = PROBE_WHY_NONE;
                break;
            }
            why = one;
        }
        value->why = (uint8_t)why;
    } else {
        set_from_def(f, value, at);
    }
    if (def == PROBE_GRAPH_NONE)
        return;
    value->why = (uint8_t)why_of(f, def);
    if (probe_source_approximate(&f->func->insns[def]))
        value->approx = approx_name(f, arena, &f->func->insns[def]);
}

bool probe_flow_site(struct probe_flow *f, struct arena *arena, struct probe_site *site) {
    for (uint32_t i = 0; i < site->value_count; i++) {
        struct probe_value *value = &site->values[i];
        const struct ir_operand *op = value->operand;
        if (op && op->kind != IR_REG)
            op = op->elem_count ? &op->elems[0] : NULL; /* an address: its base */
        if (op && op->kind == IR_REG)
            set_register(f, arena, value, op->index, site->insn);
        else if (value->role == PROBE_BYTES)
            value->from = 1u << PROBE_WHY_OTHERS;
    }
    return !f->no_memory;
}
