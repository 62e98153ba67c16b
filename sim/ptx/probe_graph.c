/* Reaching definitions of a function's registers: for each instruction, the instructions whose
 * results it may read. Registers with one definition, as compilers make them, need no search;
 * others are searched backward block by block. A guarded definition does not end the search. */
#include "probe_graph.h"

#include <string.h>

#include "isa_match.h"
#include "probe_source.h"

/* ---- what an instruction names ---- */

static uint16_t outputs_of(struct probe_graph *g, const struct ir_insn *insn) {
    if (!g->outputs[insn->form]) {
        struct arena scratch = {0};
        struct isa_pattern pattern;
        uint16_t *mask = arena_alloc(g->arena, sizeof *mask, _Alignof(uint16_t));
        if (!mask || isa_compile(&scratch, (enum isa_form)insn->form, &pattern)) {
            g->no_memory = true;
            arena_free(&scratch);
            return 0;
        }
        for (unsigned i = 0; i < pattern.item_count; i++)
            *mask = (uint16_t)(*mask | (unsigned)(pattern.items[i].output || pattern.items[i].async)
                                           << i);
        arena_free(&scratch);
        g->outputs[insn->form] = mask;
    }
    return *g->outputs[insn->form];
}

typedef void visit(struct probe_graph *g, uint32_t insn, int32_t reg);

static void visit_operand(struct probe_graph *g, uint32_t insn, const struct ir_operand *op,
                          visit *each) {
    if (op->kind == IR_REG)
        each(g, insn, op->index);
    for (unsigned i = 0; i < op->elem_count; i++)
        visit_operand(g, insn, &op->elems[i], each);
}

static void visit_written(struct probe_graph *g, uint32_t index, visit *each) {
    const struct ir_insn *insn = &g->func->insns[index];
    const uint16_t outputs = outputs_of(g, insn);
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (outputs >> i & 1)
            visit_operand(g, index, &insn->operands[i], each);
}

static void visit_read(struct probe_graph *g, uint32_t index, visit *each) {
    const struct ir_insn *insn = &g->func->insns[index];
    const uint16_t outputs = outputs_of(g, insn);
    if (insn->guard >= 0)
        each(g, index, insn->guard);
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (!(outputs >> i & 1))
            visit_operand(g, index, &insn->operands[i], each);
}

static void count_def(struct probe_graph *g, uint32_t insn, int32_t reg) {
    (void)insn;
    g->def_first[reg + 1]++;
}

/* def_first[r] is where the next definition of r goes, until all are there. */
static void put_def(struct probe_graph *g, uint32_t insn, int32_t reg) {
    g->defs[g->def_first[reg]++] = insn;
}

/* Counts in first[1..count] become beginnings in first[0..count]. */
static void add_up(uint32_t *first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        first[i + 1] += first[i];
}

/* Beginnings that were moved on to their ends go back. */
static void move_back(uint32_t *first, uint32_t count) {
    for (uint32_t i = count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static bool find_defs(struct probe_graph *g) {
    const struct ir_func *func = g->func;
    g->def_first = arena_array(g->arena, func->reg_count + 1u, sizeof *g->def_first);
    if (!g->def_first)
        return false;
    for (uint32_t i = 0; i < func->insn_count; i++)
        visit_written(g, i, count_def);
    add_up(g->def_first, func->reg_count);
    g->defs = arena_array(g->arena, g->def_first[func->reg_count] + 1u, sizeof *g->defs);
    g->found = arena_array(g->arena, g->def_first[func->reg_count] + 1u, sizeof *g->found);
    if (!g->defs || !g->found)
        return false;
    for (uint32_t i = 0; i < func->insn_count; i++)
        visit_written(g, i, put_def);
    move_back(g->def_first, func->reg_count);
    return !g->no_memory;
}

/* ---- control flow ---- */

static uint32_t target_count(const struct ir_func *func, const struct ir_insn *insn) {
    if (insn->form == ISA_bra)
        return 1;
    return insn->form == ISA_brx_idx ? func->lists[insn->operands[1].index].count : 0;
}

static uint32_t target(const struct ir_func *func, const struct ir_insn *insn, uint32_t n) {
    return (uint32_t)(insn->form == ISA_bra ? insn->operands[0].index
                                            : func->lists[insn->operands[1].index].targets[n]);
}

static bool find_branches(struct probe_graph *g) {
    const struct ir_func *func = g->func;
    const uint32_t count = func->insn_count;
    g->begin = arena_array(g->arena, count + 1u, sizeof *g->begin);
    g->seen = arena_array(g->arena, count + 1u, sizeof *g->seen);
    g->pred_first = arena_array(g->arena, count + 2u, sizeof *g->pred_first);
    if (!g->begin || !g->seen || !g->pred_first)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < target_count(func, &func->insns[i]); n++)
            g->pred_first[target(func, &func->insns[i], n) + 1]++;
    for (uint32_t i = 1; i <= count; i++)
        g->begin[i] =
            g->pred_first[i + 1] || probe_source_leaves(&func->insns[i - 1]) ? i : g->begin[i - 1];
    add_up(g->pred_first, count + 1);
    g->preds = arena_array(g->arena, g->pred_first[count + 1] + 1u, sizeof *g->preds);
    g->stack = arena_array(g->arena, g->pred_first[count + 1] + count + 1u, sizeof *g->stack);
    if (!g->preds || !g->stack)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < target_count(func, &func->insns[i]); n++)
            g->preds[g->pred_first[target(func, &func->insns[i], n)]++] = i;
    move_back(g->pred_first, count + 1);
    return true;
}

/* ---- definitions that reach a place ---- */

/* The search goes on at the ends of all that comes before instruction `at`, the first of a block.
 */
static void enter_before(struct probe_graph *g, uint32_t at) {
    if (g->seen[at] == g->mark)
        return;
    g->seen[at] = g->mark;
    for (uint32_t k = g->pred_first[at]; k < g->pred_first[at + 1]; k++)
        g->stack[g->stack_count++] = g->preds[k] + 1;
    const struct ir_insn *before = at ? &g->func->insns[at - 1] : NULL;
    if (before && (before->guard >= 0 || !probe_source_leaves(before)))
        g->stack[g->stack_count++] = at;
}

/* The last definition of a register before `at`, and not before `begin`. */
static bool last_def(const struct probe_graph *g, int32_t reg, uint32_t begin, uint32_t at,
                     uint32_t *def) {
    uint32_t low = g->def_first[reg], high = g->def_first[reg + 1];
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (g->defs[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == g->def_first[reg] || g->defs[low - 1] < begin)
        return false;
    *def = g->defs[low - 1];
    return true;
}

static void note_found(struct probe_graph *g, uint32_t def) {
    for (uint32_t i = 0; i < g->found_count; i++)
        if (g->found[i] == def)
            return;
    g->found[g->found_count++] = def;
}

/* found: the definitions of a register that a thread may have passed last when it comes to `at`. */
void probe_graph_search(struct probe_graph *g, int32_t reg, uint32_t at) {
    const uint32_t first = g->def_first[reg], count = g->def_first[reg + 1] - first;
    g->found_count = g->stack_count = 0;
    if (count <= 1) {
        if (count)
            note_found(g, g->defs[first]);
        return;
    }
    g->mark++;
    if (g->begin[at] == at)
        enter_before(g, at);
    else
        g->stack[g->stack_count++] = at;
    while (g->stack_count) {
        uint32_t place = g->stack[--g->stack_count], def;
        const uint32_t begin = g->begin[place - 1];
        bool killed = false;
        while (!killed && last_def(g, reg, begin, place, &def)) {
            note_found(g, def);
            killed = g->func->insns[def].guard < 0;
            place = def;
        }
        if (!killed)
            enter_before(g, begin);
    }
}

static void add_edges(struct probe_graph *g, uint32_t insn, int32_t reg) {
    probe_graph_search(g, reg, insn);
    for (uint32_t i = 0; i < g->found_count && !g->no_memory; i++) {
        if (g->edge_count == g->edge_capacity) {
            const uint32_t wanted = g->edge_capacity ? 2 * g->edge_capacity : 256;
            struct probe_edge *grown = arena_array(g->arena, wanted, sizeof *grown);
            if (!grown) {
                g->no_memory = true;
                return;
            }
            if (g->edge_count)
                memcpy(grown, g->edges, g->edge_count * sizeof *grown);
            g->edges = grown;
            g->edge_capacity = wanted;
        }
        g->edges[g->edge_count] = (struct probe_edge){g->found[i], g->reads[insn]};
        g->reads[insn] = g->edge_count++;
    }
}

/* Of a chain of plain register moves, the first one's source: the register `reg` as `at` reads it
 * is the result of that one instruction, or PROBE_GRAPH_NONE when there are several. */
uint32_t probe_graph_only(struct probe_graph *g, int32_t reg, uint32_t at) {
    enum { MOST_MOVES = 16 };
    for (unsigned i = 0; i < MOST_MOVES; i++) {
        probe_graph_search(g, reg, at);
        if (g->found_count != 1)
            return PROBE_GRAPH_NONE;
        at = g->found[0];
        const struct ir_insn *insn = &g->func->insns[at];
        if (insn->form != ISA_mov || insn->guard >= 0 || insn->operands[1].kind != IR_REG)
            return at;
        reg = insn->operands[1].index;
    }
    return PROBE_GRAPH_NONE;
}

/* ---- the graph ---- */

/* Who reads a result: the edges the other way round. */
static bool find_readers(struct probe_graph *g) {
    const uint32_t count = g->func->insn_count;
    g->reader_first = arena_array(g->arena, count + 1u, sizeof *g->reader_first);
    g->readers = arena_array(g->arena, g->edge_count + 1u, sizeof *g->readers);
    if (!g->reader_first || !g->readers)
        return false;
    for (uint32_t e = 0; e < g->edge_count; e++)
        g->reader_first[g->edges[e].def + 1]++;
    add_up(g->reader_first, count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t e = g->reads[i]; e != PROBE_GRAPH_NONE; e = g->edges[e].next)
            g->readers[g->reader_first[g->edges[e].def]++] = i;
    move_back(g->reader_first, count);
    return true;
}

bool probe_graph_make(struct probe_graph *g, struct arena *arena, const struct ir_func *func) {
    *g = (struct probe_graph){.arena = arena, .func = func};
    g->outputs = arena_array(arena, ISA_COUNT, sizeof *g->outputs);
    g->reads = arena_array(arena, func->insn_count + 1u, sizeof *g->reads);
    if (!g->outputs || !g->reads || !find_defs(g) || !find_branches(g))
        return false;
    for (uint32_t i = 0; i < func->insn_count; i++) {
        g->reads[i] = PROBE_GRAPH_NONE;
        visit_read(g, i, add_edges);
    }
    return !g->no_memory && find_readers(g);
}
