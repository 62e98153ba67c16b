/* Live ranges and storage of registers.
 *
 *   text order:   0 . . . def a . . use a . . . branch . . .   one interval per register: from the
 *   register a            [===============]                    first to the last instruction at
 * which register b                            [=======]            it is live or named
 *
 * Blocks, then backward dataflow over bit sets of the registers that more than one block names (a
 * register of one block needs no set), then intervals, then a linear scan that gives each interval
 * the lowest free unit.
 *
 * Divergence needs nothing more than this. Storage is per lane: lanes that are in different arms of
 * a branch use the same unit in different lanes, and a lane's own path is an ordinary path through
 * the graph. So two registers may share a unit when no single thread needs both at once, as on a
 * scalar machine; what must hold is that an instruction writes only its active lanes. A guarded
 * instruction may leave its destination as it was, so it counts as a reader of it too. */
#include "liveness.h"

#include <string.h>

#include "isa_match.h"

/* Sets beyond this size are not built; registers of several blocks are then live everywhere. */
static const uint64_t MAX_SET_BYTES = UINT64_C(64) << 20;

enum { NOT_GLOBAL = UINT32_MAX };

struct block {
    uint32_t first, end; /* instructions */
    uint32_t pred_first, pred_count;
    bool queued;
};

struct live {
    struct arena scratch;
    const struct ir_func *func;
    uint16_t **outputs; /* by form: bit i: item i is written; [1]: asynchronously. On first use */
    uint32_t *block_of; /* by instruction */
    struct block *blocks;
    uint32_t block_count;
    uint32_t *preds;
    uint32_t *start, *last; /* by register: its interval; start > last: not named */
    uint32_t *home;         /* by register: block that names it, + 1; 0 none */
    uint32_t *global;       /* by register: its bit, or NOT_GLOBAL */
    uint32_t global_count, words;
    uint64_t *use, *def, *in; /* by block */
};

/* ------------------------------------------------------------------ what an instruction names */

static bool output_items(struct live *l, unsigned form, const uint16_t **items) {
    if (l->outputs[form] == NULL) {
        struct isa_pattern *pattern =
            arena_alloc(&l->scratch, sizeof *pattern, _Alignof(struct isa_pattern));
        uint16_t *mask = arena_alloc(&l->scratch, 2 * sizeof *mask, _Alignof(uint16_t));
        if (pattern == NULL || mask == NULL ||
            isa_compile(&l->scratch, (enum isa_form)form, pattern) != NULL)
            return false;
        for (unsigned i = 0; i < pattern->item_count; i++) {
            mask[0] = (uint16_t)(mask[0] | (unsigned)pattern->items[i].output << i);
            mask[1] = (uint16_t)(mask[1] | (unsigned)pattern->items[i].async << i);
        }
        l->outputs[form] = mask;
    }
    *items = l->outputs[form];
    return true;
}

/* Called for each register that an instruction names. */
typedef void visit_reg(struct live *l, uint32_t insn, int32_t reg, bool written);

static void visit_operand(struct live *l, uint32_t insn, const struct ir_operand *operand,
                          bool written, visit_reg *visit, bool want_written) {
    if (operand->kind == IR_REG && written == want_written)
        visit(l, insn, operand->index, written);
    bool address = operand->kind == IR_ADDRESS || operand->kind == IR_TENSOR;
    for (unsigned i = 0; i < operand->elem_count; i++)
        visit_operand(l, insn, &operand->elems[i], written && !address, visit, want_written);
}

/* Reads first, then writes. */
static bool visit_insn(struct live *l, uint32_t index, visit_reg *visit) {
    const struct ir_insn *insn = &l->func->insns[index];
    const uint16_t *items;
    if (!output_items(l, insn->form, &items))
        return false;
    uint16_t outputs = items[0];
    if (insn->guard >= 0)
        visit(l, index, insn->guard, false);
    for (unsigned i = 0; i < insn->operand_count; i++)
        visit_operand(l, index, &insn->operands[i], outputs >> i & 1, visit, false);
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (outputs >> i & 1)
            visit_operand(l, index, &insn->operands[i], true, visit, true);
    return true;
}

/* ------------------------------------------------------------------ control flow */

static bool ends_thread(const struct ir_insn *insn) {
    return insn->form == ISA_ret || insn->form == ISA_exit || insn->form == ISA_trap;
}

static bool is_branch(const struct ir_insn *insn) {
    return insn->form == ISA_bra || insn->form == ISA_brx_idx;
}

static bool falls_through(const struct ir_insn *insn) {
    return insn->guard >= 0 || !(is_branch(insn) || ends_thread(insn));
}

/* Target number `n` of a branch; false when there are fewer. */
static bool branch_target(const struct ir_func *func, const struct ir_insn *insn, uint32_t n,
                          uint32_t *target) {
    if (insn->form == ISA_bra) {
        *target = (uint32_t)insn->operands[0].index;
        return n == 0;
    }
    if (insn->form != ISA_brx_idx)
        return false;
    const struct ir_list *list = &func->lists[insn->operands[1].index];
    if (n >= list->count)
        return false;
    *target = (uint32_t)list->targets[n];
    return true;
}

static bool make_blocks(struct live *l) {
    const struct ir_func *func = l->func;
    uint32_t count = func->insn_count, target;
    uint8_t *leads = arena_array(&l->scratch, count + 1u, 1);
    l->block_of = arena_array(&l->scratch, count + 1u, sizeof *l->block_of);
    if (leads == NULL || l->block_of == NULL)
        return false;
    leads[0] = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct ir_insn *insn = &func->insns[i];
        for (uint32_t n = 0; branch_target(func, insn, n, &target); n++)
            leads[target] = 1;
        if (is_branch(insn) || ends_thread(insn))
            leads[i + 1] = 1;
    }
    for (uint32_t i = 0; i < count; i++)
        l->block_count += leads[i];
    l->blocks = arena_array(&l->scratch, l->block_count + 1u, sizeof *l->blocks);
    if (l->blocks == NULL)
        return false;
    for (uint32_t i = 0, b = 0; i < count; i++) {
        b += leads[i];
        if (leads[i])
            l->blocks[b - 1].first = i;
        l->blocks[b - 1].end = i + 1;
        l->block_of[i] = b - 1;
    }
    return true;
}

/* Successor number `n` of a block; false when there are fewer. The end of the text is none. */
static bool successor(const struct live *l, uint32_t block, uint32_t n, uint32_t *next) {
    const struct ir_func *func = l->func;
    uint32_t at = l->blocks[block].end, target;
    const struct ir_insn *insn = &func->insns[at - 1];
    if (falls_through(insn) && at < func->insn_count) {
        if (n == 0) {
            *next = l->block_of[at];
            return true;
        }
        n--;
    }
    /* a target at the end of the text has no block */
    for (uint32_t k = 0; branch_target(func, insn, k, &target); k++) {
        if (target >= func->insn_count)
            continue;
        if (n-- == 0) {
            *next = l->block_of[target];
            return true;
        }
    }
    return false;
}

static bool link_blocks(struct live *l) {
    uint32_t edges = 0, next;
    for (uint32_t b = 0; b < l->block_count; b++)
        for (uint32_t n = 0; successor(l, b, n, &next); n++, edges++)
            l->blocks[next].pred_count++;
    l->preds = arena_array(&l->scratch, edges, sizeof *l->preds);
    if (l->preds == NULL)
        return false;
    for (uint32_t b = 0, at = 0; b < l->block_count; b++) {
        l->blocks[b].pred_first = at;
        at += l->blocks[b].pred_count;
        l->blocks[b].pred_count = 0;
    }
    for (uint32_t b = 0; b < l->block_count; b++)
        for (uint32_t n = 0; successor(l, b, n, &next); n++)
            l->preds[l->blocks[next].pred_first + l->blocks[next].pred_count++] = b;
    return true;
}

/* ------------------------------------------------------------------ intervals */

static void extend(struct live *l, uint32_t reg, uint32_t insn) {
    if (insn < l->start[reg])
        l->start[reg] = insn;
    if (l->start[reg] > l->last[reg] || insn > l->last[reg])
        l->last[reg] = insn;
}

/* A register is local when one block names it and writes it before reading it. */
static void note_name(struct live *l, uint32_t insn, int32_t index, bool written) {
    uint32_t reg = (uint32_t)index, home = l->block_of[insn] + 1;
    bool kills = written && l->func->insns[insn].guard < 0;
    extend(l, reg, insn);
    bool first = l->home[reg] == 0;
    if (first)
        l->home[reg] = home;
    if (l->global[reg] == NOT_GLOBAL && (l->home[reg] != home || (first && !kills)))
        l->global[reg] = l->global_count++;
}

static void set_bit(uint64_t *set, uint32_t bit) {
    set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool has_bit(const uint64_t *set, uint32_t bit) {
    return set[bit / 64] >> bit % 64 & 1;
}

static void note_use_def(struct live *l, uint32_t insn, int32_t index, bool written) {
    uint32_t bit = l->global[index], block = l->block_of[insn];
    if (bit == NOT_GLOBAL)
        return;
    uint64_t *use = l->use + (size_t)block * l->words, *def = l->def + (size_t)block * l->words;
    bool kills = written && l->func->insns[insn].guard < 0;
    if (!kills && !has_bit(def, bit))
        set_bit(use, bit);
    if (kills)
        set_bit(def, bit);
}

/* in(b) = use(b) | (union of in(successors) & ~def(b)); whether it changed. */
static bool update_in(struct live *l, uint32_t b) {
    uint64_t *in = l->in + (size_t)b * l->words;
    const uint64_t *use = l->use + (size_t)b * l->words, *def = l->def + (size_t)b * l->words;
    uint32_t next;
    bool changed = false;
    for (uint32_t w = 0; w < l->words; w++) {
        changed |= (use[w] & ~in[w]) != 0;
        in[w] |= use[w];
    }
    for (uint32_t n = 0; successor(l, b, n, &next); n++) {
        const uint64_t *from = l->in + (size_t)next * l->words;
        for (uint32_t w = 0; w < l->words; w++) {
            uint64_t more = from[w] & ~def[w] & ~in[w];
            changed |= more != 0;
            in[w] |= more;
        }
    }
    return changed;
}

static bool solve(struct live *l) {
    uint32_t *queue = arena_array(&l->scratch, l->block_count, sizeof *queue);
    if (queue == NULL)
        return false;
    uint32_t count = 0;
    for (uint32_t b = 0; b < l->block_count; b++) {
        queue[count++] = b; /* the last block is taken first */
        l->blocks[b].queued = true;
    }
    while (count > 0) {
        uint32_t b = queue[--count];
        l->blocks[b].queued = false;
        if (!update_in(l, b))
            continue;
        for (uint32_t i = 0; i < l->blocks[b].pred_count; i++) {
            uint32_t pred = l->preds[l->blocks[b].pred_first + i];
            if (!l->blocks[pred].queued) {
                l->blocks[pred].queued = true;
                queue[count++] = pred;
            }
        }
    }
    return true;
}

/* Registers of `set` are live at instruction `insn`. */
static void extend_set(struct live *l, const uint64_t *set, const uint32_t *reg_of, uint32_t insn) {
    for (uint32_t w = 0; w < l->words; w++)
        for (uint64_t rest = set[w]; rest != 0; rest &= rest - 1)
            extend(l, reg_of[w * 64 + (uint32_t)__builtin_ctzll(rest)], insn);
}

static void extend_over_blocks(struct live *l, const uint32_t *reg_of) {
    uint32_t next;
    for (uint32_t b = 0; b < l->block_count; b++) {
        extend_set(l, l->in + (size_t)b * l->words, reg_of, l->blocks[b].first);
        for (uint32_t n = 0; successor(l, b, n, &next); n++)
            extend_set(l, l->in + (size_t)next * l->words, reg_of, l->blocks[b].end - 1);
    }
}

static void everywhere(struct live *l, uint32_t reg) {
    extend(l, reg, 0);
    extend(l, reg, l->func->insn_count == 0 ? 0 : l->func->insn_count - 1);
}

static bool solve_globals(struct live *l) {
    const struct ir_func *func = l->func;
    l->words = (l->global_count + 63) / 64;
    uint64_t set_words = (uint64_t)l->words * l->block_count;
    if (set_words * 3 * sizeof(uint64_t) > MAX_SET_BYTES) {
        for (uint32_t reg = 0; reg < func->reg_count; reg++)
            if (l->global[reg] != NOT_GLOBAL)
                everywhere(l, reg);
        return true;
    }
    uint32_t *reg_of = arena_array(&l->scratch, l->words * 64u, sizeof *reg_of);
    l->use = arena_array(&l->scratch, set_words, sizeof *l->use);
    l->def = arena_array(&l->scratch, set_words, sizeof *l->def);
    l->in = arena_array(&l->scratch, set_words, sizeof *l->in);
    if (reg_of == NULL || l->use == NULL || l->def == NULL || l->in == NULL)
        return false;
    for (uint32_t reg = 0; reg < func->reg_count; reg++)
        if (l->global[reg] != NOT_GLOBAL)
            reg_of[l->global[reg]] = reg;
    for (uint32_t i = 0; i < func->insn_count; i++)
        visit_insn(l, i, note_use_def);
    if (!solve(l))
        return false;
    extend_over_blocks(l, reg_of);
    return true;
}

static bool find_intervals(struct live *l) {
    const struct ir_func *func = l->func;
    for (uint32_t reg = 0; reg < func->reg_count; reg++) {
        l->start[reg] = UINT32_MAX;
        l->global[reg] = NOT_GLOBAL;
    }
    for (uint32_t i = 0; i < func->insn_count; i++)
        if (!visit_insn(l, i, note_name))
            return false;
    for (uint32_t i = 0; i < func->param_count; i++)
        if (func->params[i].in_register)
            extend(l, (uint32_t)func->params[i].index, 0);
    for (uint32_t i = 0; i < func->result_count; i++)
        if (func->results[i].in_register)
            everywhere(l, (uint32_t)func->results[i].index);
    return link_blocks(l) && solve_globals(l);
}

/* ------------------------------------------------------------------ storage */

static uint32_t reg_units(const struct ir_func *func, uint32_t reg) {
    unsigned bits = ptx_type_bits((enum ptx_type)func->regs[reg].type);
    return bits <= 32 ? 1 : bits / 32;
}

/* Free units, lowest first: bit u of the map is set while unit u is taken. */
struct pool {
    uint64_t *taken;
    uint32_t words, hint; /* all words below hint are full */
    uint32_t count;       /* units in use at most */
};

static uint32_t pool_take(struct pool *pool, uint32_t size) {
    static const uint64_t aligned[] = {0, ~UINT64_C(0), UINT64_C(0x5555555555555555), 0,
                                       UINT64_C(0x1111111111111111)};
    for (uint32_t w = pool->hint; w < pool->words; w++) {
        uint64_t free = ~pool->taken[w];
        if (size >= 2)
            free &= free >> 1;
        if (size == 4)
            free &= free >> 2;
        free &= aligned[size];
        if (pool->taken[w] == ~UINT64_C(0) && w == pool->hint)
            pool->hint++;
        if (free == 0)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(free);
        pool->taken[w] |= ((UINT64_C(1) << size) - 1) << bit;
        if (w * 64 + bit + size > pool->count)
            pool->count = w * 64 + bit + size;
        return w * 64 + bit;
    }
    return REG_NO_SLOT; /* cannot be: the pool has room for all */
}

static void pool_give(struct pool *pool, uint32_t unit, uint32_t size) {
    pool->taken[unit / 64] &= ~(((UINT64_C(1) << size) - 1) << unit % 64);
    if (unit / 64 < pool->hint)
        pool->hint = unit / 64;
}

/* Registers as a list per instruction: next[reg] behind head[insn]. */
static bool make_lists(struct live *l, const uint32_t *key, uint32_t **head, uint32_t **next) {
    uint32_t count = l->func->insn_count + 1;
    *head = arena_array(&l->scratch, count, sizeof **head);
    *next = arena_array(&l->scratch, l->func->reg_count, sizeof **next);
    if (*head == NULL || *next == NULL)
        return false;
    memset(*head, 0xff, count * sizeof **head);
    for (uint32_t reg = l->func->reg_count; reg-- > 0;) {
        if (l->start[reg] > l->last[reg])
            continue;
        (*next)[reg] = (*head)[key[reg]];
        (*head)[key[reg]] = reg;
    }
    return true;
}

static bool is_pred(const struct ir_func *func, uint32_t reg) {
    return func->regs[reg].type == PTX_PRED;
}

/* Registers in the order of their first instruction get the lowest units that are free; those whose
 * last instruction has passed give theirs back before. */
static bool scan(struct live *l, struct pool *units, struct pool *preds, struct reg_slots *out) {
    const struct ir_func *func = l->func;
    uint32_t *starts, *start_next, *ends, *end_next, live = 0;
    if (!make_lists(l, l->start, &starts, &start_next) || !make_lists(l, l->last, &ends, &end_next))
        return false;
    for (uint32_t i = 0; i <= func->insn_count; i++) {
        for (uint32_t reg = starts[i]; reg != UINT32_MAX; reg = start_next[reg]) {
            bool pred = is_pred(func, reg);
            uint32_t size = reg_units(func, reg);
            out->unit[reg] = pool_take(pred ? preds : units, size);
            live += pred ? 0 : size;
        }
        if (live > out->max_live_units)
            out->max_live_units = live;
        for (uint32_t reg = ends[i]; reg != UINT32_MAX; reg = end_next[reg]) {
            bool pred = is_pred(func, reg);
            pool_give(pred ? preds : units, out->unit[reg], reg_units(func, reg));
            live -= pred ? 0 : reg_units(func, reg);
        }
    }
    out->unit_count = units->count;
    out->pred_count = preds->count;
    return true;
}

static bool assign(struct live *l, struct reg_slots *out) {
    const struct ir_func *func = l->func;
    uint64_t total = 0;
    for (uint32_t reg = 0; reg < func->reg_count; reg++) {
        total += reg_units(func, reg);
        out->unit[reg] = REG_NO_SLOT;
    }
    /* alignment wastes at most as much again, and three units */
    struct pool units = {.words = (uint32_t)(total * 2 / 64 + 2)};
    struct pool preds = {.words = func->reg_count / 64 + 1};
    units.taken = arena_array(&l->scratch, units.words, sizeof *units.taken);
    preds.taken = arena_array(&l->scratch, preds.words, sizeof *preds.taken);
    return units.taken != NULL && preds.taken != NULL && scan(l, &units, &preds, out);
}

static void keep_for_ever(struct live *l, const struct ir_operand *operand) {
    if (operand->kind == IR_REG) {
        l->start[operand->index] = 0;
        l->last[operand->index] = l->func->insn_count;
    }
    for (unsigned i = 0; i < operand->elem_count; i++)
        keep_for_ever(l, &operand->elems[i]);
}

/* What an asynchronous operation writes must not be anybody else's before it has written. */
static bool keep_async_outputs(struct live *l) {
    for (uint32_t index = 0; index < l->func->insn_count; index++) {
        const struct ir_insn *insn = &l->func->insns[index];
        const uint16_t *items;
        if (!output_items(l, insn->form, &items))
            return false;
        for (unsigned i = 0; i < insn->operand_count; i++)
            if (items[1] >> i & 1)
                keep_for_ever(l, &insn->operands[i]);
    }
    return true;
}

static void keep_named(struct live *l, const bool *kept) {
    for (uint32_t reg = 0; kept != NULL && reg < l->func->reg_count; reg++)
        if (kept[reg]) {
            l->start[reg] = 0;
            l->last[reg] = l->func->insn_count;
        }
}

static bool compute(struct live *l, const bool *kept, struct reg_slots *out) {
    uint32_t regs = l->func->reg_count;
    l->outputs = arena_array(&l->scratch, ISA_COUNT, sizeof *l->outputs);
    l->start = arena_array(&l->scratch, regs, sizeof *l->start);
    l->last = arena_array(&l->scratch, regs, sizeof *l->last);
    l->home = arena_array(&l->scratch, regs, sizeof *l->home);
    l->global = arena_array(&l->scratch, regs, sizeof *l->global);
    if (l->outputs == NULL || l->start == NULL || l->last == NULL || l->home == NULL ||
        l->global == NULL)
        return false;
    if (!make_blocks(l) || !find_intervals(l) || !keep_async_outputs(l))
        return false;
    keep_named(l, kept);
    return assign(l, out);
}

bool liveness_slots(struct arena *arena, const struct ir_func *func, struct reg_slots *out) {
    return liveness_slots_keeping(arena, func, NULL, out);
}

bool liveness_slots_keeping(struct arena *arena, const struct ir_func *func, const bool *kept,
                            struct reg_slots *out) {
    struct live l = {.func = func};
    *out = (struct reg_slots){.unit = arena_array(arena, func->reg_count, sizeof *out->unit)};
    bool ok = out->unit != NULL && compute(&l, kept, out);
    arena_free(&l.scratch);
    return ok;
}
