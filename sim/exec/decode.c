#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "cta.h"
#include "float_add.h"
#include "liveness.h"
#include "wgmma_touch.h"

/* Decoding of one kernel: which functions and variables it reaches, where its shared variables
 * live, and every instruction with its operands and the function that runs it.
 *
 *   frame of a function:  | registers, 32 lanes each | hidden registers | lane 0's parameters | ...
 * |
 */

enum { UNIT_BYTES = 4 * WARP_LANES };

exec_fn *decode_unsupported(struct decode *d, const struct xinsn *x, const char *format, ...) {
    va_list args;
    strbuf_printf(d->log, "%s:%u:%u: error: not modelled: ", d->module->file, x->ir->line,
                  x->ir->column);
    va_start(args, format);
    strbuf_vprintf(d->log, format, args);
    va_end(args);
    strbuf_puts(d->log, "\n");
    ptx_print_line(d->module, x->ir->line, x->ir->column, d->log);
    d->failed = true;
    return NULL;
}

/* Puts a function of the module on the image's list. */
static void reach_func(struct decoder *d, int32_t index) {
    if (index < 0 || d->func_of_module[index] >= 0)
        return;
    const struct ir_func *func = &d->base.module->funcs[index];
    d->func_of_module[index] = (int32_t)d->kernel->func_count;
    struct xfunc *added = &d->kernel->funcs[d->kernel->func_count++];
    added->ir = func;
    added->module_index = index;
}

static void reach_operand(struct decoder *d, const struct ir_operand *op) {
    if (op->kind == IR_FUNC)
        reach_func(d, op->index);
    if (op->kind == IR_SYMBOL)
        d->symbol_used[op->index] = true;
    unsigned count = op->kind == IR_ADDRESS                           ? 1
                     : op->kind == IR_PAIR                            ? 2
                     : op->kind == IR_VECTOR || op->kind == IR_TENSOR ? op->elem_count
                                                                      : 0;
    for (unsigned i = 0; i < count; i++)
        reach_operand(d, &op->elems[i]);
}

/* Functions whose address stands in an initialised variable can be called by any indirect call. */
static void reach_tables(struct decoder *d) {
    for (uint32_t i = 0; i < d->base.module->symbol_count; i++) {
        const struct ir_symbol *symbol = &d->base.module->symbols[i];
        for (uint32_t r = 0; r < symbol->relocation_count; r++)
            if (symbol->relocations[r].symbol < 0)
                reach_func(d, symbol->relocations[r].func);
    }
}

/* .calltargets; a .callprototype has none. */
static void reach_list(struct decoder *d, const struct ir_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        reach_func(d, list->targets[i]);
}

static void reach_all(struct decoder *d, int32_t entry) {
    reach_func(d, entry);
    reach_tables(d);
    for (uint32_t i = 0; i < d->kernel->func_count; i++) {
        const struct ir_func *func = d->kernel->funcs[i].ir;
        for (uint32_t n = 0; n < func->insn_count; n++)
            for (unsigned k = 0; k < func->insns[n].operand_count; k++) {
                const struct ir_operand *op = &func->insns[n].operands[k];
                reach_operand(d, op);
                if (op->kind == IR_LIST && func->insns[n].form != ISA_brx_idx)
                    reach_list(d, &func->lists[op->index]);
            }
    }
}

static bool is_shared(const struct ir_symbol *symbol) {
    return symbol->space == SPACE_SHARED || symbol->space == SPACE_SHARED_CLUSTER;
}

/* Static variables from 0x400 in declaration order, then the dynamic memory at the alignment of its
 * names (H200 observation 31). Only variables that the kernel reaches take room. */
static void place_shared(struct decoder *d) {
    const struct ir_module *module = d->base.module;
    struct exec_kernel *kernel = d->kernel;
    uint64_t at = SHARED_FIRST, dynamic_align = 1;
    kernel->shared = arena_array(d->base.arena, module->symbol_count, sizeof *kernel->shared);
    if (kernel->shared == NULL) {
        d->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < module->symbol_count; i++) {
        const struct ir_symbol *symbol = &module->symbols[i];
        if (!is_shared(symbol) || !d->symbol_used[i])
            continue;
        uint64_t align = symbol->align_bytes > 0 ? symbol->align_bytes : 1;
        if (symbol->is_extern) {
            dynamic_align = align > dynamic_align ? align : dynamic_align;
            continue;
        }
        at = bits_align_up(at, align);
        d->shared_address[i] = (uint32_t)at;
        kernel->shared[kernel->shared_count++] = (struct xshared){(int32_t)i, (uint32_t)at};
        at += symbol->size_bytes;
    }
    kernel->info.static_smem_bytes = (uint32_t)(at - SHARED_FIRST);
    kernel->dynamic_base = (uint32_t)bits_align_up(at, dynamic_align);
    for (uint32_t i = 0; i < module->symbol_count; i++)
        if (is_shared(&module->symbols[i]) && d->symbol_used[i] && module->symbols[i].is_extern) {
            d->shared_address[i] = kernel->dynamic_base;
            kernel->shared[kernel->shared_count++] =
                (struct xshared){(int32_t)i, kernel->dynamic_base};
        }
}

static bool is_formal_of_entry(const struct ir_func *func, uint32_t symbol) {
    for (uint32_t i = 0; func->is_entry && i < func->param_count; i++)
        if (!func->params[i].in_register && func->params[i].index == (int32_t)symbol)
            return true;
    return false;
}

/* Places of a kernel's parameters. They are aligned in the constant bank that holds the block, not
 * in the block: on an H200 a first parameter of alignment 64 lies at byte 48 (observation 17). */
static void place_params(struct decoder *d, const struct ir_func *entry) {
    const uint32_t base = d->base.sm >= 100 ? 0x380 : 0x210; /* as ptxas 13.0 lays the bank out */
    uint64_t at = base;
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const int32_t index = entry->params[i].index;
        const struct ir_symbol *symbol = &d->base.module->symbols[index];
        at = bits_align_up(at, symbol->align_bytes > 0 ? symbol->align_bytes : 1);
        d->param_offset[index] = (uint32_t)at - base;
        at += symbol->size_bytes;
    }
    d->kernel->info.param_bytes = (uint32_t)at - base;
    d->kernel->info.param_base = base;
}

/* Places of the function's own .local and .param variables. */
static void place_variables(struct decoder *d, struct xfunc *func) {
    const struct ir_module *module = d->base.module;
    uint64_t local = 0, param = 0;
    for (uint32_t i = 0; i < module->symbol_count; i++) {
        const struct ir_symbol *symbol = &module->symbols[i];
        if (symbol->func != func->module_index)
            continue;
        uint64_t align = symbol->align_bytes > 0 ? symbol->align_bytes : 1;
        if (symbol->space == SPACE_LOCAL) {
            local = bits_align_up(local, align);
            d->local_address[i] = (uint32_t)local;
            local += symbol->size_bytes;
        } else if (symbol->space == SPACE_PARAM && !is_formal_of_entry(func->ir, i)) {
            param = bits_align_up(param, align);
            d->param_offset[i] = (uint32_t)param;
            param += symbol->size_bytes;
        }
    }
    func->local_bytes = (uint32_t)bits_align_up(local, 16);
    func->param_lane_bytes = (uint32_t)bits_align_up(param, 16);
}

/* Which registers of the function may not share storage; NULL for none. */
static const bool *kept_registers(struct decoder *d, const struct ir_func *func) {
    if (d->kept->count == 0)
        return NULL;
    bool *kept = arena_array(&d->scratch, func->reg_count, sizeof *kept);
    d->no_memory |= kept == NULL;
    for (uint32_t i = 0; kept != NULL && i < func->reg_count; i++)
        for (uint32_t k = 0; k < d->kept->count && !kept[i]; k++)
            kept[i] = strcmp(func->regs[i].name, d->kept->names[k]) == 0;
    return kept;
}

/* Registers share storage by liveness; predicates stand behind the others, a word each. */
static void place_registers(struct decoder *d, struct xfunc *func) {
    const struct ir_func *ir = func->ir;
    struct reg_slots slots;
    func->reg_offset = arena_array(d->base.arena, ir->reg_count, sizeof *func->reg_offset);
    func->reg_bits = arena_array(d->base.arena, ir->reg_count, 1);
    if (func->reg_offset == NULL || func->reg_bits == NULL ||
        !liveness_slots_keeping(&d->scratch, ir, kept_registers(d, ir), &slots)) {
        d->no_memory = true;
        return;
    }
    uint32_t pred_offset = slots.unit_count * UNIT_BYTES;
    for (uint32_t i = 0; i < ir->reg_count; i++) {
        if (slots.unit[i] == REG_NO_SLOT)
            continue;
        unsigned bits = ptx_type_bits(ir->regs[i].type);
        func->reg_bits[i] = (uint8_t)bits;
        func->reg_offset[i] =
            bits == 1 ? pred_offset + slots.unit[i] * 4 : slots.unit[i] * UNIT_BYTES;
    }
    func->register_bytes =
        (uint32_t)bits_align_up(pred_offset + slots.pred_count * 4, FRAME_ALIGN_BYTES);
    if (slots.max_live_units > d->max_live_units)
        d->max_live_units = slots.max_live_units;
    d->reg_offset = func->reg_offset;
    d->reg_bits = func->reg_bits;
}

static struct xformal *place_formals(struct decoder *d, const struct ir_formal *formals,
                                     uint32_t count) {
    struct xformal *placed = arena_array(d->base.arena, count, sizeof *placed);
    if (placed == NULL) {
        d->no_memory = true;
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        int32_t index = formals[i].index;
        placed[i].in_register = formals[i].in_register;
        if (formals[i].in_register) {
            placed[i].offset_bytes = d->reg_offset[index];
            placed[i].bits = d->reg_bits[index];
        } else {
            placed[i].offset_bytes = d->param_offset[index];
            placed[i].size_bytes = (uint32_t)d->base.module->symbols[index].size_bytes;
        }
    }
    return placed;
}

/* Places everything of the function, so that calls to it can be decoded. */
static void place_func(struct decoder *d, struct xfunc *func) {
    place_variables(d, func);
    place_registers(d, func);
    if (d->no_memory)
        return;
    func->params = place_formals(d, func->ir->params, func->ir->param_count);
    func->results = place_formals(d, func->ir->results, func->ir->result_count);
}

static void decode_insn(struct decoder *d, struct xinsn *x, const struct ir_insn *insn) {
    x->ir = insn;
    x->guard_offset_bytes = UINT32_MAX;
    if (insn->guard >= 0) {
        x->guard_offset_bytes = d->reg_offset[insn->guard];
        x->guard_negated = insn->guard_negated;
    }
    decode_operands(d, x);
    if (d->no_memory)
        return;
    x->run = op_table[insn->form](&d->base, x);
}

/* The end of a function's text: returns, at the place of its last instruction. */
static void decode_end(struct decoder *d, struct xfunc *func) {
    const struct ir_func *ir = func->ir;
    struct ir_insn *end = arena_array(d->base.arena, 1, sizeof *end);
    if (end == NULL) {
        d->no_memory = true;
        return;
    }
    end->line = ir->insn_count > 0 ? ir->insns[ir->insn_count - 1].line : ir->line;
    end->column = ir->insn_count > 0 ? ir->insns[ir->insn_count - 1].column : ir->column;
    end->guard = -1;
    end->loc_file = -1;
    func->insns[ir->insn_count] = (struct xinsn){.run = ir->is_defined ? op_fall_off : op_undefined,
                                                 .ir = end,
                                                 .data = ir,
                                                 .guard_offset_bytes = UINT32_MAX};
}

static void decode_func(struct decoder *d, struct xfunc *func) {
    d->func = func;
    d->base.func = func->ir;
    d->reg_offset = func->reg_offset;
    d->reg_bits = func->reg_bits;
    d->local_capacity = 0;
    d->frame_bytes = func->register_bytes;
    for (uint32_t i = 0; i < func->ir->insn_count && !d->no_memory; i++)
        decode_insn(d, &func->insns[i], &func->ir->insns[i]);
    decode_end(d, func);
    if (!d->no_memory && !d->base.failed && !wgmma_touch_wrap(d->base.arena, func))
        d->no_memory = true;
    func->param_offset_bytes = d->frame_bytes;
    func->frame_bytes = (uint32_t)bits_align_up(
        d->frame_bytes + WARP_LANES * func->param_lane_bytes, FRAME_ALIGN_BYTES);
}

/* Whether the instruction can see or make a value of another CTA's in global memory while both run:
 * then the order of CTAs matters, and they share one host thread. */
static bool insn_communicates(const struct ir_insn *insn) {
    const char *opcode = isa_row(insn->form)->opcode;
    enum ptx_space space = ir_space(insn, 0);
    bool elsewhere = space == SPACE_GENERIC || space == SPACE_GLOBAL;
    if (strncmp(opcode, "atom", 4) == 0 ||
        (strncmp(opcode, "red", 3) == 0 && strncmp(opcode, "redux", 5) != 0))
        return elsewhere;
    if (strncmp(opcode, "cp.reduce", 9) == 0)
        return space == SPACE_GLOBAL;
    if (strncmp(opcode, "multimem", 8) == 0 || strncmp(opcode, "clusterlaunchcontrol", 20) == 0)
        return true;
    if (strncmp(opcode, "ld", 2) != 0 || strncmp(opcode, "ldmatrix", 8) == 0)
        return false;
    bool strong = ir_has(insn, QUAL_ACQUIRE) || ir_has(insn, QUAL_VOLATILE) ||
                  ir_has(insn, QUAL_RELAXED) || ir_has(insn, QUAL_CV);
    return elsewhere && strong && !ir_has(insn, QUAL_CTA);
}

/* Whether it may add floating-point numbers in global memory; a tensor map says its type later. */
static bool insn_adds_floats(const struct ir_insn *insn) {
    const char *opcode = isa_row(insn->form)->opcode;
    enum event_float elem;
    if (!ir_has(insn, QUAL_ADD) || !insn_communicates(insn))
        return false;
    return strncmp(opcode, "cp.reduce.async.bulk.tensor", 27) == 0 ||
           float_add_ptx((enum ptx_type)insn->types[0], &elem);
}

/* What ptxas would roughly need: what is alive at once and a few for addresses, in eights. */
static uint32_t estimate_registers(uint32_t max_live_units) {
    uint32_t count = (uint32_t)bits_align_up(max_live_units + 4, 8);
    return count < 255 ? count : 255;
}

static void describe(struct decoder *d) {
    struct exec_kernel *kernel = d->kernel;
    const struct ir_func *entry = kernel->funcs[0].ir;
    struct exec_param *params = arena_array(d->base.arena, entry->param_count, sizeof *params);
    if (params == NULL) {
        d->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *symbol = &d->base.module->symbols[entry->params[i].index];
        params[i] = (struct exec_param){d->param_offset[entry->params[i].index],
                                        (uint32_t)symbol->size_bytes, symbol->align_bytes};
    }
    kernel->info.name = entry->name;
    kernel->info.params = params;
    kernel->info.param_count = entry->param_count;
    kernel->info.local_bytes = kernel->funcs[0].local_bytes;
    kernel->info.registers = estimate_registers(d->max_live_units);
    kernel->info.directives = &entry->directives;
    for (uint32_t f = 0; f < kernel->func_count; f++)
        for (uint32_t i = 0; i < kernel->funcs[f].ir->insn_count; i++) {
            const struct ir_insn *insn = &kernel->funcs[f].ir->insns[i];
            kernel->communicates |= insn_communicates(insn);
            kernel->info.adds_floats |= insn_adds_floats(insn);
            kernel->uses_tmem |= strncmp(isa_row(insn->form)->opcode, "tcgen05", 7) == 0;
        }
}

/* All instructions stand in one array, so that places of any two functions compare. */
static void place_insns(struct decoder *d) {
    size_t total = 0;
    for (uint32_t i = 0; i < d->kernel->func_count; i++)
        total += d->kernel->funcs[i].ir->insn_count + 1;
    struct xinsn *insns = arena_alloc(d->base.arena, total * sizeof *insns, 64);
    if (insns == NULL) {
        d->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < d->kernel->func_count; i++) {
        d->kernel->funcs[i].insns = insns;
        insns += d->kernel->funcs[i].ir->insn_count + 1;
    }
}

static void keep_constants(struct decoder *d) {
    uint8_t *kept = arena_alloc(d->base.arena, d->constant_bytes, FRAME_ALIGN_BYTES);
    if (kept == NULL) {
        d->no_memory = true;
        return;
    }
    if (d->constant_bytes > 0)
        memcpy(kept, d->constants, d->constant_bytes);
    d->kernel->constants = kept;
}

static bool decode_alloc(struct decoder *d) {
    const struct ir_module *module = d->base.module;
    struct arena *arena = d->base.arena;
    d->kernel = arena_array(arena, 1, sizeof *d->kernel);
    d->func_of_module = arena_array(arena, module->func_count, sizeof *d->func_of_module);
    d->shared_address = arena_array(arena, module->symbol_count, sizeof *d->shared_address);
    d->param_offset = arena_array(arena, module->symbol_count, sizeof *d->param_offset);
    d->local_address = arena_array(arena, module->symbol_count, sizeof *d->local_address);
    d->symbol_used = arena_array(arena, module->symbol_count, sizeof *d->symbol_used);
    if (!d->kernel || !d->func_of_module || !d->shared_address || !d->param_offset ||
        !d->local_address || !d->symbol_used)
        return false;
    d->kernel->funcs = arena_array(arena, module->func_count, sizeof *d->kernel->funcs);
    for (uint32_t i = 0; i < module->func_count; i++)
        d->func_of_module[i] = -1;
    d->kernel->module = module;
    return d->kernel->funcs != NULL;
}

static void decode_all(struct decoder *d, int32_t func_index) {
    if (!decode_alloc(d)) {
        d->no_memory = true;
        return;
    }
    reach_all(d, func_index);
    place_shared(d);
    place_params(d, d->kernel->funcs[0].ir);
    for (uint32_t i = 0; i < d->kernel->func_count && !d->no_memory; i++)
        place_func(d, &d->kernel->funcs[i]);
    if (!d->no_memory)
        place_insns(d);
    for (uint32_t i = 0; i < d->kernel->func_count && !d->no_memory; i++)
        decode_func(d, &d->kernel->funcs[i]);
    if (!d->no_memory)
        keep_constants(d);
    if (!d->no_memory)
        describe(d);
}

struct exec_kernel *decode_kernel(struct arena *arena, const struct ir_module *module,
                                  int32_t func_index, const uint64_t *symbol_addresses, uint16_t sm,
                                  const struct decode_kept *kept, struct strbuf *log,
                                  enum status *status) {
    struct decoder d = {
        .base = {.arena = arena, .module = module, .log = log, .sm = sm},
        .symbol_addresses = symbol_addresses,
        .kept = kept,
    };
    decode_all(&d, func_index);
    free(d.constants);
    free(d.keys);
    arena_free(&d.scratch);
    *status = d.no_memory ? STATUS_NO_MEMORY : d.base.failed ? STATUS_UNSUPPORTED : STATUS_OK;
    return *status == STATUS_OK ? d.kernel : NULL;
}

const struct xfunc *image_func_at(const struct exec_kernel *kernel, uint64_t address) {
    if (address < CODE_WINDOW || (address - CODE_WINDOW) % CODE_STEP_BYTES != 0)
        return NULL;
    uint64_t index = (address - CODE_WINDOW) / CODE_STEP_BYTES;
    for (uint32_t i = 0; i < kernel->func_count; i++)
        if ((uint64_t)kernel->funcs[i].module_index == index)
            return &kernel->funcs[i];
    return NULL;
}

void image_print_shared(const struct exec_kernel *kernel, uint32_t address, struct strbuf *out) {
    const struct xshared *best = NULL;
    for (uint32_t i = 0; i < kernel->shared_count; i++)
        if (kernel->shared[i].address <= address &&
            (best == NULL || kernel->shared[i].address >= best->address))
            best = &kernel->shared[i];
    if (best != NULL)
        strbuf_printf(out, "%s+%u (0x%x)", kernel->module->symbols[best->symbol].name,
                      address - best->address, address);
    else
        strbuf_printf(out, "0x%x", address);
}
