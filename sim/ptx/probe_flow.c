/* What the values of a function depend on: reaching definitions, then sources along them.
 *
 *   mov.u32 %a, %clock;     a source: {clock}
 *   add.u32 %b, %a, 1;      {clock}: the definition of %a that reaches it is a source
 *   @%p mov.u32 %b, 0;      guarded, so the add reaches what follows too
 *
 * Each instruction has the set of sources that its results may depend on: its own, and those of all
 * definitions that reach what it reads. Sets grow until nothing changes. Registers with one
 * definition, as compilers make them, need no search; others are searched backward block by block.
 */
#include "probe_flow.h"

#include <stdio.h>
#include <string.h>

#include "isa_match.h"
#include "probe_source.h"

struct edge {
    uint32_t def; /* an instruction whose result the other one may read */
    uint32_t next;
};

enum { NO_EDGE = UINT32_MAX };

struct probe_flow {
    struct arena *arena;
    const struct ir_func *func;
    uint16_t **outputs;           /* by form: bit i: operand i is written */
    uint32_t *defs, *def_first;   /* by register: its definitions, ascending */
    uint32_t *preds, *pred_first; /* by instruction: branches that go there */
    uint32_t *begin;              /* by instruction: the first one of its block */
    uint32_t *seen, mark;         /* by instruction: beginnings that this search has come to */
    uint32_t *stack, stack_count; /* of a search */
    uint32_t *found, found_count; /* definitions that it found */
    bool *cut;                    /* by register */
    struct edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t *reads;  /* by instruction: its first edge */
    uint32_t *from;   /* by instruction: set of sources */
    uint32_t *origin; /* by instruction: an instruction that is one of them */
    struct arena *names;
    bool no_memory;
};

/* ---- what it names ---- */

static uint16_t outputs_of(struct probe_flow *f, const struct ir_insn *insn) {
    if (!f->outputs[insn->form]) {
        struct arena scratch = {0};
        struct isa_pattern pattern;
        uint16_t *mask = arena_alloc(f->arena, sizeof *mask, _Alignof(uint16_t));
        if (!mask || isa_compile(&scratch, (enum isa_form)insn->form, &pattern)) {
            f->no_memory = true;
            arena_free(&scratch);
            return 0;
        }
        for (unsigned i = 0; i < pattern.item_count; i++)
            *mask = (uint16_t)(*mask | (unsigned)(pattern.items[i].output || pattern.items[i].async)
                                           << i);
        arena_free(&scratch);
        f->outputs[insn->form] = mask;
    }
    return *f->outputs[insn->form];
}

typedef void visit(struct probe_flow *f, uint32_t insn, int32_t reg);

static void visit_operand(struct probe_flow *f, uint32_t insn, const struct ir_operand *op,
                          visit *each) {
    if (op->kind == IR_REG)
        each(f, insn, op->index);
    for (unsigned i = 0; i < op->elem_count; i++)
        visit_operand(f, insn, &op->elems[i], each);
}

static void visit_written(struct probe_flow *f, uint32_t index, visit *each) {
    const struct ir_insn *insn = &f->func->insns[index];
    const uint16_t outputs = outputs_of(f, insn);
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (outputs >> i & 1)
            visit_operand(f, index, &insn->operands[i], each);
}

static void visit_read(struct probe_flow *f, uint32_t index, visit *each) {
    const struct ir_insn *insn = &f->func->insns[index];
    const uint16_t outputs = outputs_of(f, insn);
    if (insn->guard >= 0)
        each(f, index, insn->guard);
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (!(outputs >> i & 1))
            visit_operand(f, index, &insn->operands[i], each);
}

static void count_def(struct probe_flow *f, uint32_t insn, int32_t reg) {
    (void)insn;
    f->def_first[reg + 1]++;
}

/* def_first[r] is where the next definition of r goes, until all are there. */
static void put_def(struct probe_flow *f, uint32_t insn, int32_t reg) {
    f->defs[f->def_first[reg]++] = insn;
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

static bool find_defs(struct probe_flow *f) {
    const struct ir_func *func = f->func;
    f->def_first = arena_array(f->arena, func->reg_count + 1u, sizeof *f->def_first);
    if (!f->def_first)
        return false;
    for (uint32_t i = 0; i < func->insn_count; i++)
        visit_written(f, i, count_def);
    add_up(f->def_first, func->reg_count);
    f->defs = arena_array(f->arena, f->def_first[func->reg_count] + 1u, sizeof *f->defs);
    f->found = arena_array(f->arena, f->def_first[func->reg_count] + 1u, sizeof *f->found);
    if (!f->defs || !f->found)
        return false;
    for (uint32_t i = 0; i < func->insn_count; i++)
        visit_written(f, i, put_def);
    move_back(f->def_first, func->reg_count);
    return !f->no_memory;
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

static bool goes_away(const struct ir_insn *insn) {
    return insn->form == ISA_bra || insn->form == ISA_brx_idx || insn->form == ISA_ret ||
           insn->form == ISA_exit || insn->form == ISA_trap;
}

static bool find_branches(struct probe_flow *f) {
    const struct ir_func *func = f->func;
    const uint32_t count = func->insn_count;
    f->begin = arena_array(f->arena, count + 1u, sizeof *f->begin);
    f->seen = arena_array(f->arena, count + 1u, sizeof *f->seen);
    f->pred_first = arena_array(f->arena, count + 2u, sizeof *f->pred_first);
    if (!f->begin || !f->seen || !f->pred_first)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < target_count(func, &func->insns[i]); n++)
            f->pred_first[target(func, &func->insns[i], n) + 1]++;
    for (uint32_t i = 1; i <= count; i++)
        f->begin[i] = f->pred_first[i + 1] || goes_away(&func->insns[i - 1]) ? i : f->begin[i - 1];
    add_up(f->pred_first, count + 1);
    f->preds = arena_array(f->arena, f->pred_first[count + 1] + 1u, sizeof *f->preds);
    f->stack = arena_array(f->arena, f->pred_first[count + 1] + count + 1u, sizeof *f->stack);
    if (!f->preds || !f->stack)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < target_count(func, &func->insns[i]); n++)
            f->preds[f->pred_first[target(func, &func->insns[i], n)]++] = i;
    move_back(f->pred_first, count + 1);
    return true;
}

/* ---- definitions that reach a place ---- */

/* The search goes on at the ends of all that comes before instruction `at`, the first of a block.
 */
static void enter_before(struct probe_flow *f, uint32_t at) {
    if (f->seen[at] == f->mark)
        return;
    f->seen[at] = f->mark;
    for (uint32_t k = f->pred_first[at]; k < f->pred_first[at + 1]; k++)
        f->stack[f->stack_count++] = f->preds[k] + 1;
    const struct ir_insn *before = at ? &f->func->insns[at - 1] : NULL;
    if (before && (before->guard >= 0 || !goes_away(before)))
        f->stack[f->stack_count++] = at;
}

/* The last definition of a register before `at`, and not before `begin`. */
static bool last_def(const struct probe_flow *f, int32_t reg, uint32_t begin, uint32_t at,
                     uint32_t *def) {
    uint32_t low = f->def_first[reg], high = f->def_first[reg + 1];
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (f->defs[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == f->def_first[reg] || f->defs[low - 1] < begin)
        return false;
    *def = f->defs[low - 1];
    return true;
}

static void note_found(struct probe_flow *f, uint32_t def) {
    for (uint32_t i = 0; i < f->found_count; i++)
        if (f->found[i] == def)
            return;
    f->found[f->found_count++] = def;
}

/* found: the definitions of a register that a thread may have passed last when it comes to `at`. */
static void search(struct probe_flow *f, int32_t reg, uint32_t at) {
    const uint32_t first = f->def_first[reg], count = f->def_first[reg + 1] - first;
    f->found_count = f->stack_count = 0;
    if (count <= 1) {
        if (count)
            note_found(f, f->defs[first]);
        return;
    }
    f->mark++;
    if (f->begin[at] == at)
        enter_before(f, at);
    else
        f->stack[f->stack_count++] = at;
    while (f->stack_count) {
        uint32_t place = f->stack[--f->stack_count], def;
        const uint32_t begin = f->begin[place - 1];
        bool killed = false;
        while (!killed && last_def(f, reg, begin, place, &def)) {
            note_found(f, def);
            killed = f->func->insns[def].guard < 0;
            place = def;
        }
        if (!killed)
            enter_before(f, begin);
    }
}

/* ---- sets of sources ---- */

static void add_edges(struct probe_flow *f, uint32_t insn, int32_t reg) {
    search(f, reg, insn);
    for (uint32_t i = 0; i < f->found_count && !f->no_memory; i++) {
        if (f->edge_count == f->edge_capacity) {
            const uint32_t wanted = f->edge_capacity ? 2 * f->edge_capacity : 256;
            struct edge *grown = arena_array(f->arena, wanted, sizeof *grown);
            if (!grown) {
                f->no_memory = true;
                return;
            }
            if (f->edge_count)
                memcpy(grown, f->edges, f->edge_count * sizeof *grown);
            f->edges = grown;
            f->edge_capacity = wanted;
        }
        f->edges[f->edge_count] = (struct edge){f->found[i], f->reads[insn]};
        f->reads[insn] = f->edge_count++;
    }
}

/* Of a chain of plain register moves, the first one's source: the register `reg` as `at` reads it
 * is the result of that one instruction, or NO_EDGE when there are several. */
static uint32_t only_def(struct probe_flow *f, int32_t reg, uint32_t at) {
    enum { MOST_MOVES = 16 };
    for (unsigned i = 0; i < MOST_MOVES; i++) {
        search(f, reg, at);
        if (f->found_count != 1)
            return NO_EDGE;
        at = f->found[0];
        const struct ir_insn *insn = &f->func->insns[at];
        if (insn->form != ISA_mov || insn->guard >= 0 || insn->operands[1].kind != IR_REG)
            return at;
        reg = insn->operands[1].index;
    }
    return NO_EDGE;
}

/* A sum of a product that ptxas makes one fused multiply-add. */
static bool is_fused(struct probe_flow *f, uint32_t index) {
    const struct ir_insn *sum = &f->func->insns[index];
    if (!probe_source_fusible(sum, false))
        return false;
    for (unsigned i = 1; i < sum->operand_count; i++) {
        const uint32_t at =
            sum->operands[i].kind == IR_REG ? only_def(f, sum->operands[i].index, index) : NO_EDGE;
        const struct ir_insn *product = at == NO_EDGE ? NULL : &f->func->insns[at];
        if (product && probe_source_fusible(product, true) && product->types[0] == sum->types[0] &&
            ir_has(product, QUAL_FTZ) == ir_has(sum, QUAL_FTZ))
            return true;
    }
    return false;
}

/* Its own sources, before those of what it reads. */
static void begin_set(struct probe_flow *f, uint32_t index) {
    const struct ir_insn *insn = &f->func->insns[index];
    const enum probe_why own = probe_source_own(insn);
    uint32_t set = own ? 1u << own : 0;
    if (is_fused(f, index))
        set |= 1u << PROBE_WHY_CONTRACTION;
    if (probe_source_approximate(insn))
        set |= 1u << PROBE_WHY_APPROX;
    f->origin[index] = set ? index : NO_EDGE;
    if (probe_source_meets_global(insn))
        set |= 1u << PROBE_WHY_GLOBAL;
    if (probe_source_meets_others(insn))
        set |= 1u << PROBE_WHY_OTHERS;
    f->from[index] = set;
}

static void note_cut(struct probe_flow *f, uint32_t insn, int32_t reg) {
    if (f->cut[reg])
        f->from[insn] = UINT32_MAX; /* for the moment */
}

/* Until nothing changes; definitions of registers that are cut keep the empty set. */
static void spread(struct probe_flow *f, const bool *is_cut) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->func->insn_count; i++) {
            uint32_t set = f->from[i];
            for (uint32_t e = f->reads[i]; e != NO_EDGE && !is_cut[i]; e = f->edges[e].next) {
                const uint32_t def = f->edges[e].def;
                set |= f->from[def];
                if (f->origin[i] == NO_EDGE)
                    f->origin[i] = f->origin[def];
            }
            changed = changed || set != f->from[i];
            f->from[i] = set;
        }
    }
}

static bool find_sources(struct probe_flow *f) {
    const uint32_t count = f->func->insn_count;
    bool *is_cut = arena_array(f->arena, count + 1u, sizeof *is_cut);
    f->from = arena_array(f->arena, count + 1u, sizeof *f->from);
    f->origin = arena_array(f->arena, count + 1u, sizeof *f->origin);
    f->reads = arena_array(f->arena, count + 1u, sizeof *f->reads);
    if (!is_cut || !f->from || !f->origin || !f->reads)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        visit_written(f, i, note_cut);
        is_cut[i] = f->from[i];
        f->reads[i] = f->origin[i] = NO_EDGE;
        f->from[i] = 0;
        if (is_cut[i])
            continue;
        begin_set(f, i);
        visit_read(f, i, add_edges);
    }
    spread(f, is_cut);
    return !f->no_memory;
}

struct probe_flow *probe_flow_make(struct arena *arena, const struct ir_func *func,
                                   const char *const *cut, uint32_t cut_count) {
    struct probe_flow *f = arena_alloc(arena, sizeof *f, _Alignof(struct probe_flow));
    if (!f)
        return NULL;
    *f = (struct probe_flow){.arena = arena, .func = func};
    f->outputs = arena_array(arena, ISA_COUNT, sizeof *f->outputs);
    f->cut = arena_array(arena, func->reg_count + 1u, sizeof *f->cut);
    if (!f->outputs || !f->cut)
        return NULL;
    for (uint32_t r = 0; r < func->reg_count; r++)
        for (uint32_t i = 0; i < cut_count; i++)
            f->cut[r] = f->cut[r] || !strcmp(func->regs[r].name, cut[i]);
    return find_defs(f) && find_branches(f) && find_sources(f) ? f : NULL;
}

struct probe_given probe_flow_given(const struct probe_flow *f) {
    struct probe_given given = {0};
    for (uint32_t i = 0; i < f->func->insn_count; i++) {
        const struct ir_insn *insn = &f->func->insns[i];
        uint32_t set = 0;
        for (uint32_t e = f->reads[i]; e != NO_EDGE; e = f->edges[e].next)
            set |= f->from[f->edges[e].def];
        if (probe_source_meets_global(insn))
            given.global |= set;
        if (probe_source_meets_others(insn))
            given.others |= set;
        if (goes_away(insn))
            given.branches |= set;
        given.between_ctas = given.between_ctas || probe_source_between_ctas(insn);
    }
    return given;
}

/* ---- values of a probe ---- */

/* "ex2.approx.ftz.f32" */
static const char *approx_name(struct probe_flow *f, const struct ir_insn *insn) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s%s.%s", isa_row((enum isa_form)insn->form)->opcode,
             ir_has(insn, QUAL_FULL) ? "full" : "approx", ir_has(insn, QUAL_FTZ) ? ".ftz" : "",
             ptx_type_text((enum ptx_type)insn->types[0]));
    const char *copy = arena_strdup(f->names, name);
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
    if (!value->from_line && f->origin[def] != NO_EDGE)
        value->from_line = f->func->insns[f->origin[def]].line;
}

static void set_register(struct probe_flow *f, struct probe_value *value, int32_t reg,
                         uint32_t at) {
    if (f->cut[reg])
        return;
    uint32_t def = at;
    if (!value->output) {
        def = only_def(f, reg, at);
        search(f, reg, at);
        for (uint32_t i = 0; i < f->found_count; i++)
            set_from_def(f, value, f->found[i]);
        /* Several definitions: it is such a result when all are. */
        const uint32_t count = f->found_count;
        enum probe_why why = PROBE_WHY_NONE;
        for (uint32_t i = 0; i < count && def == NO_EDGE; i++) {
            search(f, reg, at);
            const enum probe_why one = why_of(f, f->found[i]);
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
    if (def == NO_EDGE)
        return;
    value->why = (uint8_t)why_of(f, def);
    if (probe_source_approximate(&f->func->insns[def]))
        value->approx = approx_name(f, &f->func->insns[def]);
}

bool probe_flow_site(struct probe_flow *f, struct arena *arena, struct probe_site *site) {
    f->names = arena;
    for (uint32_t i = 0; i < site->value_count; i++) {
        struct probe_value *value = &site->values[i];
        const struct ir_operand *op = value->operand;
        if (op && op->kind != IR_REG)
            op = op->elem_count ? &op->elems[0] : NULL; /* an address: its base */
        if (op && op->kind == IR_REG)
            set_register(f, value, op->index, site->insn);
        else if (value->role == PROBE_BYTES)
            value->from = 1u << PROBE_WHY_OTHERS;
    }
    return !f->no_memory;
}
