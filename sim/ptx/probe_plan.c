/* Which operands and results of an instruction a probe records, and where its words lie.
 *
 *   thread   head | site | site ...            sites of device functions first, then those of one
 * entry site     visits | slot 0 | slot 1 ...      `keep` slots slot     sequence, visit | value |
 * value   in the order of the operands
 *
 * Not recorded: what is the same in every run (special registers that are read, symbols, labels),
 * accumulators that are written later (wgmma), and mbarrier tokens, whose bits depend on the order
 * of arrival. */
#include <string.h>

#include "isa_match.h"
#include "probe_flow.h"
#include "probe_rewrite.h"

struct planner {
    struct arena *arena;
    const struct probe_plan *plan;
    struct probe_site *site;
    const struct ir_func *func;
    const struct ir_insn *insn;
    struct strbuf *error;
    uint32_t capacity;
    enum status status;
};

static bool fail(struct planner *p, enum status status) {
    p->status = status;
    return false;
}

static bool add(struct planner *p, const struct probe_value *value) {
    struct probe_site *site = p->site;
    if (site->value_count == p->capacity) {
        const uint32_t wanted = p->capacity ? 2 * p->capacity : 8;
        struct probe_value *grown = arena_array(p->arena, wanted, sizeof *grown);
        if (!grown)
            return fail(p, STATUS_NO_MEMORY);
        if (site->value_count)
            memcpy(grown, site->values, site->value_count * sizeof *grown);
        site->values = grown;
        p->capacity = wanted;
    }
    struct probe_value *added = &site->values[site->value_count++];
    *added = *value;
    if (!value->constant) {
        added->offset_bytes = site->slot_bytes;
        site->slot_bytes += 8;
    }
    return true;
}

/* "NAMEsuffix" in the arena. */
static const char *named(struct planner *p, const char *name, size_t length, const char *format,
                         unsigned number) {
    struct strbuf text = {0};
    strbuf_append(&text, name, length);
    strbuf_printf(&text, format, number);
    const char *copy = text.truncated ? NULL : arena_strdup(p->arena, strbuf_text(&text));
    strbuf_free(&text);
    if (!copy)
        p->status = STATUS_NO_MEMORY;
    return copy;
}

static bool add_register(struct planner *p, struct probe_value value, const struct ir_operand *op) {
    const enum ptx_type own = (enum ptx_type)p->func->regs[op->index].type;
    value.operand = op;
    if (ptx_type_bits((enum ptx_type)value.type) != ptx_type_bits(own) ||
        ptx_type_class((enum ptx_type)value.type) == PTX_CLASS_BITS)
        value.type = (uint8_t)own;
    if (ptx_type_bits(own) != 128)
        return add(p, &value);
    const char *name = value.name;
    value.type = PTX_B64;
    value.name = named(p, name, strlen(name), ".lo", 0);
    if (!value.name || !add(p, &value))
        return false;
    value.name = named(p, name, strlen(name), ".hi", 0);
    return value.name && add(p, &value);
}

static bool add_operand(struct planner *p, struct probe_value value, const struct ir_operand *op) {
    const char *name = value.name;
    switch (op->kind) {
    case IR_REG: return add_register(p, value, op);
    case IR_IMM:
        value.constant = true;
        value.bits = (uint64_t)op->imm;
        return add(p, &value);
    case IR_VECTOR:
    case IR_PAIR:
        for (unsigned i = 0; i < op->elem_count; i++) {
            value.name = named(p, name, strlen(name), op->kind == IR_PAIR ? ".%u" : "[%u]", i);
            if (!value.name || !add_operand(p, value, &op->elems[i]))
                return false;
        }
        return true;
    default: return true;
    }
}

static bool add_address(struct planner *p, struct probe_value value, const struct ir_operand *op,
                        enum ptx_space space) {
    const bool tensor = op->kind == IR_TENSOR;
    const struct ir_operand *base = &op->elems[0];
    if (space == SPACE_PARAM || space == SPACE_LOCAL || space == SPACE_CONST)
        return true;
    value.operand = op;
    value.type = PTX_B64;
    if (space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER)
        value.type = PTX_B32;
    else
        value.role = tensor ? PROBE_MAP : PROBE_ADDRESS;
    if (base->kind == IR_IMM) {
        value.constant = true;
        value.bits = (uint64_t)(base->imm + (tensor ? 0 : op->imm));
    }
    if (!add(p, &value))
        return false;
    for (unsigned i = 1; tensor && i < op->elem_count; i++) {
        struct probe_value coordinate = {.name = named(p, "", 0, "c%u", i - 1), .type = PTX_S32};
        if (!coordinate.name || !add_operand(p, coordinate, &op->elems[i]))
            return false;
    }
    return true;
}

static enum ptx_type item_type(const struct isa_item *item, const struct ir_insn *insn) {
    if (item->type_group < 0)
        return (enum ptx_type)item->fixed_type;
    const unsigned group = (unsigned)item->type_group;
    return (enum ptx_type)(group < insn->type_count ? insn->types[group] : PTX_TYPE_NONE);
}

static bool is_token(const struct ir_insn *insn, const struct isa_item *item) {
    return !strncmp(isa_row((enum isa_form)insn->form)->opcode, "mbarrier.", 9) &&
           item->name_length == 5 && !memcmp(item->name, "state", 5);
}

static bool add_item(struct planner *p, const struct isa_item *item, const struct ir_operand *op) {
    const struct ir_insn *insn = p->insn;
    struct probe_value value = {.output = item->output};
    if (item->async || is_token(insn, item) || op->kind == IR_NONE)
        return true;
    value.name = arena_strndup(p->arena, item->name, item->name_length);
    if (!value.name)
        return fail(p, STATUS_NO_MEMORY);
    value.type = (uint8_t)item_type(item, insn);
    if (item->kind == ISA_ITEM_VALUE)
        return add_operand(p, value, op);
    if (item->kind != ISA_ITEM_ADDRESS && item->kind != ISA_ITEM_TENSOR)
        return true;
    enum ptx_space space = (enum ptx_space)item->space;
    if (item->space == ISA_SPACE_OF_QUALS)
        space = ir_space(insn, item->space_index);
    else if (item->space == ISA_SPACE_TMEM)
        space = SPACE_SHARED; /* 32 bits, the same on both machines */
    if (op->kind == IR_ADDRESS || op->kind == IR_TENSOR)
        return add_address(p, value, op, item->kind == ISA_ITEM_TENSOR ? SPACE_GENERIC : space);
    return add_operand(p, value, op);
}

static bool plan_event(struct planner *p) {
    struct isa_pattern pattern;
    if (isa_compile(p->arena, (enum isa_form)p->insn->form, &pattern))
        return fail(p, STATUS_NO_MEMORY);
    for (unsigned i = 0; i < p->insn->operand_count && i < pattern.item_count; i++)
        if (!add_item(p, &pattern.items[i], &p->insn->operands[i]))
            return false;
    return true;
}

/* The register of that name that is declared last before the instruction: names may come again in
 * inner blocks. */
static int32_t find_register(const struct planner *p, const char *name) {
    for (uint32_t i = p->func->reg_count; i-- > 0;)
        if (p->func->regs[i].line <= p->insn->line && !strcmp(p->func->regs[i].name, name))
            return (int32_t)i;
    strbuf_printf(p->error, "%s has no register %s at line %u", p->func->name, name, p->insn->line);
    return -1;
}

static bool plan_register(struct planner *p, const char *name, bool key) {
    struct ir_operand *op = arena_alloc(p->arena, sizeof *op, _Alignof(struct ir_operand));
    if (!op)
        return fail(p, STATUS_NO_MEMORY);
    *op = (struct ir_operand){.kind = IR_REG, .index = find_register(p, name)};
    if (op->index < 0)
        return fail(p, STATUS_INVALID);
    const enum ptx_type type = (enum ptx_type)p->func->regs[op->index].type;
    if (key && ptx_type_bits(type) > 64) {
        strbuf_printf(p->error, "%s has more than 64 bits, too many for a key", name);
        return fail(p, STATUS_INVALID);
    }
    const struct probe_value value = {.name = name, .type = (uint8_t)type, .key = key};
    return add_register(p, value, op);
}

static bool plan_regs(struct planner *p, const struct probe_spec *spec) {
    for (uint32_t i = 0; i < spec->reg_count; i++)
        if (!plan_register(p, spec->regs[i], false))
            return false;
    return true;
}

/* Behind the values, which may be packed. */
static bool plan_keys(struct planner *p, const struct probe_spec *spec) {
    p->site->slot_bytes = (p->site->slot_bytes + 7) & ~UINT32_C(7);
    for (uint32_t i = 0; i < spec->key_count; i++)
        if (!plan_register(p, spec->keys[i], true))
            return false;
    return true;
}

const struct ir_symbol *probe_first_shared(const struct ir_module *ir, uint32_t func) {
    for (uint32_t i = 0; i < ir->symbol_count; i++) {
        const struct ir_symbol *symbol = &ir->symbols[i];
        if (symbol->space == SPACE_SHARED && (symbol->func < 0 || symbol->func == (int32_t)func))
            return symbol;
    }
    return NULL;
}

static bool plan_memory(struct planner *p, const struct probe_spec *spec) {
    const uint32_t turn = spec->unit_bytes * spec->lanes;
    const uint32_t turns = (spec->end_bytes - spec->begin_bytes + turn - 1) / turn;
    struct probe_site *site = p->site;
    if (spec->kind == PROBE_SHARED) {
        if (!probe_first_shared(p->plan->ir, site->func)) {
            strbuf_puts(p->error, "the function sees no shared variable");
            return fail(p, STATUS_INVALID);
        }
    }
    for (uint32_t i = 0; i < turns * (spec->unit_bytes / 4); i++) {
        const struct probe_value value = {.name = "bytes", .type = PTX_B32, .role = PROBE_BYTES};
        if (!add(p, &value))
            return false;
        struct probe_value *added = &site->values[site->value_count - 1];
        added->offset_bytes = 4 * i; /* packed */
    }
    site->slot_bytes = 4 * site->value_count;
    return true;
}

/* bar is barrier.sync.aligned under its old name. */
static bool is_aligned(const struct ir_insn *insn) {
    const char *opcode = isa_row((enum isa_form)insn->form)->opcode;
    return insn->guard < 0 && (ir_has(insn, QUAL_ALIGNED) || strstr(opcode, ".aligned") ||
                               !strncmp(opcode, "bar.", 4));
}

/* A warp reads Tensor Memory as one: the place must be where all its lanes are together anyway. */
static bool plan_tmem(struct planner *p, const struct probe_spec *spec) {
    uint32_t below = 0, above = 0;
    if (p->plan->ir->target < 100) {
        strbuf_puts(p->error, "there is no Tensor Memory before sm_100a");
        return fail(p, STATUS_INVALID);
    }
    if (spec->sim)
        return plan_memory(p, spec);
    for (uint32_t i = 0; i < p->func->insn_count; i++) {
        const struct ir_insn *insn = &p->func->insns[i];
        if (is_aligned(insn) && insn->line < p->insn->line)
            below = insn->line;
        if (is_aligned(insn) && insn->line > p->insn->line && !above)
            above = insn->line;
    }
    if (!is_aligned(p->insn)) {
        strbuf_printf(
            p->error,
            "a tmem probe stands before a .sync.aligned instruction without a guard, which "
            "line %u is not",
            p->insn->line);
        if (below)
            strbuf_printf(p->error, "; line %u above is", below);
        if (above)
            strbuf_printf(p->error, "; line %u below is", above);
        return fail(p, STATUS_INVALID);
    }
    for (uint32_t i = 0; i < spec->tmem_columns; i++) {
        const struct probe_value value = {.name = named(p, "", 0, "col%u", spec->tmem_column + i),
                                          .type = PTX_B32,
                                          .role = PROBE_BYTES};
        if (!value.name || !add(p, &value))
            return false;
        p->site->values[i].offset_bytes = 4 * i; /* packed */
    }
    p->site->slot_bytes = 4 * p->site->value_count;
    return true;
}

/* Control leaves by these; what they do is known before. */
static bool leaves(const char *opcode) {
    static const char *const words[] = {"bra", "brx.idx", "ret", "exit", "trap", "call"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(opcode, words[i]))
            return true;
    return false;
}

static bool plan_site(struct planner *p) {
    const struct probe_spec *spec = &p->plan->specs[p->site->probe];
    p->site->values = NULL;
    p->site->value_count = p->site->slot_bytes = p->capacity = 0;
    /* Memory is read where it stands; a loop of polls then counts each turn. */
    const char *opcode = isa_row((enum isa_form)p->insn->form)->opcode;
    p->site->poll = spec->kind <= PROBE_REGS && (!strncmp(opcode, "mbarrier.test_wait", 18) ||
                                                 !strncmp(opcode, "mbarrier.try_wait", 17));
    p->site->before = leaves(opcode) || (spec->kind != PROBE_EVENT && !p->site->poll);
    if (spec->when_reg) {
        const int32_t reg = find_register(p, spec->when_reg);
        if (reg < 0)
            return fail(p, STATUS_INVALID);
        const enum ptx_type_class class = ptx_type_class((enum ptx_type)p->func->regs[reg].type);
        if (class == PTX_CLASS_FLOAT || class == PTX_CLASS_PACKED) {
            strbuf_printf(p->error, "%s is no integer and no predicate", spec->when_reg);
            return fail(p, STATUS_INVALID);
        }
    }
    bool ok;
    if (spec->kind == PROBE_EVENT)
        ok = plan_event(p);
    else if (spec->kind == PROBE_TMEM)
        ok = plan_tmem(p, spec);
    else
        ok = spec->kind == PROBE_REGS ? plan_regs(p, spec) : plan_memory(p, spec);
    ok = ok && plan_keys(p, spec);
    const uint32_t bytes = PROBE_SLOT_HEAD_BYTES + p->site->slot_bytes;
    p->site->slot_bytes = (bytes + 15) & ~UINT32_C(15);
    return ok;
}

static uint64_t site_bytes(const struct probe_plan *plan, const struct probe_site *site) {
    return PROBE_SITE_HEAD_BYTES + (uint64_t)plan->specs[site->probe].keep * site->slot_bytes;
}

/* Where a function's sites of a probe begin. Sites of entries share their place: only one entry
 * runs in a launch. */
static uint64_t place_sites(struct probe_plan *plan, uint32_t probe, bool entries) {
    uint64_t at = PROBE_THREAD_HEAD_BYTES;
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (plan->sites[i].probe == probe && !plan->ir->funcs[plan->sites[i].func].is_entry) {
            plan->sites[i].offset_bytes = (uint32_t)at;
            at += site_bytes(plan, &plan->sites[i]);
        }
    const uint64_t common = at;
    uint64_t most = at;
    for (uint32_t i = 0; entries && i < plan->site_count; i++) {
        struct probe_site *site = &plan->sites[i];
        if (site->probe != probe || !plan->ir->funcs[site->func].is_entry)
            continue;
        bool first = true;
        for (uint32_t k = 0; k < i && first; k++)
            first = plan->sites[k].probe != probe || plan->sites[k].func != site->func;
        at = first ? common : at;
        site->offset_bytes = (uint32_t)at;
        at += site_bytes(plan, site);
        most = at > most ? at : most;
    }
    return most;
}

/* Where the values of the sites come from, function by function. */
static bool follow_values(struct arena *arena, struct probe_plan *plan) {
    plan->given = arena_array(arena, plan->ir->func_count + 1u, sizeof *plan->given);
    if (!plan->given)
        return false;
    for (uint32_t f = 0; f < plan->ir->func_count; f++) {
        struct arena scratch = {0};
        struct probe_flow *flow = probe_flow_make(&scratch, plan, f);
        bool ok = flow;
        for (uint32_t i = 0; ok && i < plan->site_count; i++)
            ok = plan->sites[i].func != f || probe_flow_site(flow, arena, &plan->sites[i]);
        if (ok)
            plan->given[f] = probe_flow_given(flow);
        arena_free(&scratch);
        if (!ok)
            return false;
    }
    return true;
}

enum status probe_plan_make(struct arena *arena, struct probe_plan *plan, uint32_t *bad_site,
                            struct strbuf *error) {
    for (uint32_t i = 0; i < plan->site_count; i++) {
        struct probe_site *site = &plan->sites[i];
        const struct ir_func *func = &plan->ir->funcs[site->func];
        struct planner p = {.arena = arena,
                            .plan = plan,
                            .site = site,
                            .func = func,
                            .insn = &func->insns[site->insn],
                            .error = error};
        *bad_site = i;
        if (!plan_site(&p))
            return p.status;
    }
    if (!follow_values(arena, plan))
        return STATUS_NO_MEMORY;
    for (uint32_t probe = 0; probe < plan->spec_count; probe++)
        if (place_sites(plan, probe, true) > INT32_MAX) {
            strbuf_puts(error, "a thread would need more than 2 GiB for its hits");
            return STATUS_INVALID;
        }
    return STATUS_OK;
}

uint32_t probe_thread_bytes(const struct probe_plan *plan, uint32_t probe, uint32_t func) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < plan->site_count; i++) {
        const struct probe_site *site = &plan->sites[i];
        if (site->probe != probe || (site->func != func && plan->ir->funcs[site->func].is_entry))
            continue;
        const uint64_t site_end = site->offset_bytes + site_bytes(plan, site);
        end = site_end > end ? site_end : end;
    }
    return (uint32_t)end;
}

const struct ir_symbol *probe_map_param(const struct ir_module *ir, const struct ir_func *func,
                                        uint32_t n) {
    if (!func->is_entry || n >= PROBE_MAP_PARAMS || ir->version < 77) /* cvta.param */
        return NULL;
    for (uint32_t i = 0; i < func->param_count; i++) {
        const struct ir_symbol *symbol = &ir->symbols[func->params[i].index];
        if (symbol->size_bytes >= 128 && n-- == 0)
            return symbol;
    }
    return NULL;
}
