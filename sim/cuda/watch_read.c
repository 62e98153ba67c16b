/* What a watch's callback can read: registers, operands, memory, as the warp of its hit sees them
 * at that moment. */
#include <string.h>

#include "cta.h"
#include "cu_root.h"
#include "watch_hit.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED siltwin_sim_set_watch siltwinSimSetWatch;
EXPORTED siltwin_sim_watch_register siltwinSimWatchRegister;
EXPORTED siltwin_sim_watch_operand siltwinSimWatchOperand;
EXPORTED siltwin_sim_watch_param siltwinSimWatchParam;
EXPORTED siltwin_sim_watch_global siltwinSimWatchGlobal;
EXPORTED siltwin_sim_watch_shared siltwinSimWatchShared;
EXPORTED siltwin_sim_watch_shared_first siltwinSimWatchSharedFirst;
EXPORTED siltwin_sim_watch_tmem siltwinSimWatchTmem;

int siltwinSimSetWatch(const struct siltwin_sim_watch *watch) {
    struct siltwin_sim_watch wanted = {0};
    if (watch && watch->struct_bytes < sizeof watch->struct_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (watch)
        memcpy(&wanted, watch,
               watch->struct_bytes < sizeof wanted ? watch->struct_bytes : sizeof wanted);
    if (wanted.point_count && (!wanted.points || !wanted.hit))
        return CUDA_ERROR_INVALID_VALUE;
    cu_enter(CU_SCOPE_ANYTIME);
    struct watch *made = wanted.point_count ? watch_create(&wanted) : NULL;
    if (wanted.point_count && !made)
        return (int)cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    watch_free(cu_root()->watch);
    cu_root()->watch = made;
    return (int)cu_leave(CUDA_SUCCESS);
}

static const struct watch_hit *inside(const struct siltwin_watch_hit *hit) {
    return (const struct watch_hit *)(const void *)hit;
}

/* The warp of a hit at REACH or DONE, else NULL. */
static const struct warp *warp_of(const struct siltwin_watch_hit *hit) {
    const bool step = hit->moment == SILTWIN_WATCH_REACH || hit->moment == SILTWIN_WATCH_DONE;
    return step ? inside(hit)->event->state : NULL;
}

/* The same while its registers are those of the instruction's function. */
static const struct warp *warp_with_registers(const struct siltwin_watch_hit *hit) {
    const bool left = hit->moment == SILTWIN_WATCH_DONE && inside(hit)->event->step.left;
    return left ? NULL : warp_of(hit);
}

/* A register's value in one lane; a predicate is 0 or 1. */
static void read_value(const struct warp *w, const struct xop *op, unsigned lane,
                       uint64_t value[2]) {
    value[1] = 0;
    if (op->bits == 1)
        value[0] = *xop_u32(w, op) >> lane & 1;
    else
        value[0] = xop_lane(w, op, lane);
    if (op->bits == 128)
        value[1] = xop_u64(w, op)[WARP_LANES + lane];
}

int siltwinSimWatchRegister(const struct siltwin_watch_hit *hit, uint32_t lane, const char *name,
                            uint64_t value[2]) {
    const struct warp *w = warp_with_registers(hit);
    if (!w)
        return CUDA_ERROR_ILLEGAL_STATE;
    const struct watch_launch *launch = inside(hit)->launch;
    const struct siltwin_watch_point *point = &launch->watch->points[hit->point];
    const struct xfunc *func = watch_func_of(launch, inside(hit)->event->insn);
    bool asked = false;
    for (uint32_t i = 0; i < point->register_count && !asked; i++)
        asked = !strcmp(point->registers[i], name);
    for (uint32_t i = func->ir->reg_count; asked && lane < WARP_LANES && i-- > 0;) {
        if (func->ir->regs[i].line > point->line || strcmp(func->ir->regs[i].name, name) != 0)
            continue;
        if (!func->reg_bits[i])
            return CUDA_ERROR_INVALID_VALUE;
        const struct xop op = {
            .kind = XOP_VALUE, .bits = func->reg_bits[i], .offset_bytes = func->reg_offset[i]};
        read_value(w, &op, lane, value);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static bool is_param(const struct watch_launch *launch, const struct ir_operand *op) {
    return op->kind == IR_SYMBOL && launch->kernel->module->symbols[op->index].space == SPACE_PARAM;
}

/* The generic address of the block of parameters. */
static uint64_t param_window(const struct watch_launch *launch) {
    return PARAM_WINDOW + launch->kernel->info.param_base;
}

int siltwinSimWatchOperand(const struct siltwin_watch_hit *hit, uint32_t lane, uint32_t operand,
                           int32_t element, uint64_t value[2]) {
    const struct warp *w = warp_with_registers(hit);
    if (!w)
        return CUDA_ERROR_ILLEGAL_STATE;
    const struct xinsn *insn = inside(hit)->event->insn;
    if (operand >= insn->ir->operand_count || lane >= WARP_LANES)
        return CUDA_ERROR_INVALID_VALUE;
    const struct xop *op = &insn->ops[operand];
    const struct ir_operand *ir = &insn->ir->operands[operand];
    uint64_t offset = 0;
    if (element < 0 && (op->kind == XOP_ADDRESS || op->kind == XOP_TENSOR)) {
        offset = op->kind == XOP_ADDRESS ? (uint64_t)op->imm : 0;
        element = 0;
    }
    if (element >= 0) {
        if ((uint32_t)element >= op->elem_count)
            return CUDA_ERROR_INVALID_VALUE;
        op = &op->elems[element];
        ir = &ir->elems[element];
    }
    if (op->kind != XOP_VALUE)
        return CUDA_ERROR_INVALID_VALUE;
    read_value(w, op, lane, value);
    value[0] +=
        offset + (is_param(inside(hit)->launch, ir) ? param_window(inside(hit)->launch) : 0);
    return CUDA_SUCCESS;
}

int siltwinSimWatchParam(const struct siltwin_watch_hit *hit, const char *name, uint64_t *address) {
    const struct exec_kernel *kernel = inside(hit)->launch->kernel;
    const struct ir_func *entry = kernel->funcs[0].ir;
    for (uint32_t i = 0; i < entry->param_count; i++) {
        const struct ir_symbol *symbol = &kernel->module->symbols[entry->params[i].index];
        if (strcmp(symbol->name, name) != 0)
            continue;
        *address = param_window(inside(hit)->launch) + kernel->info.params[i].offset_bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static int give(const uint8_t *from, uint32_t bytes, void *to) {
    if (!from)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, from, bytes);
    return CUDA_SUCCESS;
}

int siltwinSimWatchGlobal(const struct siltwin_watch_hit *hit, uint64_t address, uint32_t bytes,
                          void *to) {
    const struct warp *w = warp_of(hit);
    if (!w)
        return CUDA_ERROR_ILLEGAL_STATE;
    return give(global_memory_host(w->cta->memory, address, bytes), bytes, to);
}

int siltwinSimWatchSharedFirst(const struct siltwin_watch_hit *hit, uint32_t *address) {
    const struct exec_kernel *kernel = inside(hit)->launch->kernel;
    *address = kernel->shared_count ? kernel->shared[0].address : (uint32_t)SHARED_FIRST;
    return CUDA_SUCCESS;
}

int siltwinSimWatchShared(const struct siltwin_watch_hit *hit, uint32_t offset_bytes,
                          uint32_t bytes, void *to) {
    const struct warp *w = warp_of(hit);
    if (!w)
        return CUDA_ERROR_ILLEGAL_STATE;
    uint32_t first;
    siltwinSimWatchSharedFirst(hit, &first);
    return give(cta_shared(w->cta, (uint64_t)first + offset_bytes, bytes), bytes, to);
}

int siltwinSimWatchTmem(const struct siltwin_watch_hit *hit, uint32_t lane, uint32_t first_column,
                        uint32_t columns, uint32_t *to) {
    const struct warp *w = warp_of(hit);
    if (!w)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!w->cta->tmem || lane >= TMEM_LANES || first_column > TMEM_COLUMNS ||
        columns > TMEM_COLUMNS - first_column)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, &w->cta->tmem->cell[lane][first_column], columns * sizeof *to);
    return CUDA_SUCCESS;
}
