#include "mem_access.h"

#include "decode.h"

/* Places of memory operands, lane by lane: every space, every check. op_mem.c has the fast ways. */

/* A .param name in the body of a function, other than the parameters of a kernel. */
static bool is_frame_param(const struct decode *d, const struct ir_operand *address) {
    if (address->kind != IR_ADDRESS || address->elems[0].kind != IR_SYMBOL)
        return !d->func->is_entry;
    for (uint32_t i = 0; d->func->is_entry && i < d->func->param_count; i++)
        if (!d->func->params[i].in_register && d->func->params[i].index == address->elems[0].index)
            return false;
    return true;
}

const struct mem_access *mem_prepare(struct decode *d, const struct xinsn *x, unsigned address,
                                     unsigned value) {
    struct mem_access *m = arena_array(d->arena, 1, sizeof *m);
    if (m == NULL)
        return NULL;
    const struct ir_insn *insn = x->ir;
    enum ptx_type type = insn->types[0];
    m->address = &x->ops[address];
    m->value = &x->ops[value];
    m->space = ir_space(insn, 0);
    m->in_frame = m->space == SPACE_PARAM && is_frame_param(d, &insn->operands[address]);
    m->is_signed = ptx_type_class(type) == PTX_CLASS_SINT;
    m->polls = ir_has(insn, QUAL_VOLATILE) || ir_has(insn, QUAL_ACQUIRE) ||
               ir_has(insn, QUAL_RELAXED) || ir_has(insn, QUAL_CV);
    m->elem_bytes = (uint8_t)(ptx_type_bits(type) / 8);
    m->elem_count = (uint8_t)ir_vector_count(insn);
    m->total_bytes = (uint8_t)(m->elem_bytes * m->elem_count);
    return m;
}

static uint8_t *frame_param(struct warp *w, const struct xinsn *x, const struct mem_access *m,
                            unsigned lane, uint64_t address) {
    const struct frame *frame = w->sched->groups[w->sched->running].frame;
    const struct xfunc *func = frame->func;
    if (address > func->param_lane_bytes || func->param_lane_bytes - address < m->total_bytes) {
        warp_fault(w, x, FAULT_ILLEGAL_ADDRESS, UINT32_C(1) << lane,
                   "no parameter memory of %u bytes at 0x%llx", m->total_bytes,
                   (unsigned long long)address);
        return NULL;
    }
    return frame->regs + func->param_offset_bytes + lane * func->param_lane_bytes + address;
}

/* Global and shared accesses are told apart: a generic one may be both. */
static void tell(struct warp *w, const struct xinsn *x, const struct mem_access *m, uint32_t mask,
                 enum event_access kind, const uint64_t address[WARP_LANES]) {
    uint64_t in_space[WARP_LANES];
    uint32_t shared = 0, global = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        enum ptx_space space = m->space;
        in_space[lane] = address[lane];
        if (space == SPACE_GENERIC)
            space = warp_generic(w, address[lane], &in_space[lane]);
        shared |= (uint32_t)(space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER) << lane;
        global |= (uint32_t)(space == SPACE_GLOBAL) << lane;
    }
    struct event event = {.access = {kind, m->total_bytes, in_space}};
    event.kind = EVENT_SHARED_ACCESS;
    if (shared != 0)
        warp_event(w, x, shared, &event);
    event.kind = EVENT_GLOBAL_ACCESS;
    if (global != 0)
        warp_event(w, x, global, &event);
}

bool mem_resolve(struct warp *w, const struct xinsn *x, const struct mem_access *m, uint32_t mask,
                 enum event_access kind, uint8_t *host[WARP_LANES]) {
    uint64_t address[WARP_LANES];
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        address[lane] = warp_address(w, m->address, m->space, lane);
        host[lane] = m->in_frame ? frame_param(w, x, m, lane, address[lane])
                                 : warp_memory(w, x, lane, m->space, address[lane], m->total_bytes,
                                               m->total_bytes);
        if (host[lane] == NULL)
            return false;
    }
    if (w->cta->state->observer != NULL)
        tell(w, x, m, mask, kind, address);
    return true;
}
