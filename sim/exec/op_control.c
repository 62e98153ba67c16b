/* Branches, calls, returns, exit, traps (manual, "Control Flow Instructions" and "Miscellaneous
 * Instructions"). A call gives the lanes a frame of their own; a return takes them back to the
 * caller's. */
#include <string.h>

#include "decode.h"
#include "schedule.h"

static struct frame *frame_of(const struct warp *w) {
    return w->sched->groups[w->sched->running].frame;
}

static void move_lanes(struct warp *w, uint32_t lanes, const struct xinsn *pc,
                       struct frame *frame) {
    w->sched->moves[w->sched->move_count++] = (struct move){lanes, pc, frame};
}

static struct xfunc *func_of(struct decode *d) {
    return ((struct decoder *)(void *)d)->func;
}

static enum step branch(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)w, (void)x, (void)mask;
    return STEP_BRANCH;
}

exec_select op_bra;
exec_fn *op_bra(struct decode *d, struct xinsn *x) {
    x->data = func_of(d)->insns + x->ops[0].imm;
    return branch;
}

/* Instruction of an index operand beyond the list: undefined in the manual, a fault here. */
static enum step branch_index(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct xfunc *func = frame_of(w)->func;
    const struct ir_list *list = &func->ir->lists[x->ops[1].imm];
    for (uint32_t left = mask; left != 0;) {
        uint64_t index = xop_lane(w, &x->ops[0], (unsigned)__builtin_ctz(left));
        uint32_t lanes = 0;
        for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (xop_lane(w, &x->ops[0], lane) == index)
                lanes |= UINT32_C(1) << lane;
        }
        if (index >= list->count) {
            w->sched->move_count = 0;
            return warp_fault(w, x, FAULT_INVALID_PC, lanes,
                              "index %llu, but the list has %u targets", (unsigned long long)index,
                              list->count);
        }
        move_lanes(w, lanes, func->insns + list->targets[index], frame_of(w));
        left &= ~lanes;
    }
    return STEP_JUMP;
}

exec_select op_brx_idx;
exec_fn *op_brx_idx(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return branch_index;
}

/* One value from the caller's register, immediate or .param variable into the callee's formal, or
 * back: the lanes of `mask`. */
static void copy_formal(const struct warp *w, const struct xformal *formal, struct frame *callee,
                        const struct xop *op, const struct frame *caller, uint32_t mask,
                        bool to_callee) {
    struct warp in_callee = *w;
    in_callee.base[0] = callee->regs;
    struct xop there = {
        .kind = XOP_VALUE, .bits = formal->bits, .offset_bytes = formal->offset_bytes};
    if (op->kind == XOP_SINK)
        return;
    if (formal->in_register && formal->bits == 1) {
        if (to_callee)
            xop_set_pred(&in_callee, &there, mask, xop_pred(w, op));
        else
            xop_set_pred(w, op, mask, xop_pred(&in_callee, &there));
        return;
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (!formal->in_register) {
            uint8_t *a = caller->regs + caller->func->param_offset_bytes +
                         lane * caller->func->param_lane_bytes + (uint32_t)op->imm;
            uint8_t *b = callee->regs + callee->func->param_offset_bytes +
                         lane * callee->func->param_lane_bytes + formal->offset_bytes;
            memcpy(to_callee ? b : a, to_callee ? a : b, formal->size_bytes);
            continue;
        }
        const struct xop *from = to_callee ? op : &there, *to = to_callee ? &there : op;
        const struct warp *from_w = to_callee ? w : &in_callee, *to_w = to_callee ? &in_callee : w;
        xop_set_lane(to_w, to, lane, xop_lane(from_w, from, lane));
        if (to->bits == 128 && from->bits == 128)
            xop_u64(to_w, to)[WARP_LANES + lane] = xop_u64(from_w, from)[WARP_LANES + lane];
    }
}

/* Which operands of a call are what; a call without results or arguments has fewer. */
struct call {
    const struct xop *results, *callee, *args, *list;
};

static const struct call *find_parts(struct decode *d, const struct xinsn *x) {
    struct call *call = arena_array(d->arena, 1, sizeof *call);
    for (unsigned i = 0; call != NULL && i < x->ir->operand_count; i++) {
        const struct xop *op = &x->ops[i];
        if (op->kind == XOP_FUNC || op->kind == XOP_VALUE)
            call->callee = op;
        else if (op->kind == XOP_VECTOR && call->callee == NULL)
            call->results = op;
        else if (op->kind == XOP_VECTOR)
            call->args = op;
        else if (op->kind == XOP_LIST)
            call->list = op;
    }
    return call;
}

static uint32_t count_of(const struct xop *list) {
    return list == NULL ? 0 : list->elem_count;
}

/* Frames that a call made before it failed. */
static void drop_moves(struct warp *w) {
    for (uint32_t i = 0; i < w->sched->move_count; i++)
        frame_leave(w->sched->moves[i].frame, w->sched->moves[i].lanes);
    w->sched->move_count = 0;
}

/* The lanes enter the function. */
static bool enter(struct warp *w, const struct xinsn *x, const struct xfunc *func, uint32_t lanes) {
    const struct call *call = x->data;
    if (count_of(call->args) != func->ir->param_count ||
        count_of(call->results) != func->ir->result_count) {
        warp_fault(w, x, FAULT_INVALID_PC, lanes, "%s takes %u arguments and gives %u results",
                   func->ir->name, func->ir->param_count, func->ir->result_count);
        return false;
    }
    struct frame *caller = frame_of(w);
    struct frame *callee = frame_push(w, x, func, caller, x + 1, lanes);
    if (callee == NULL)
        return false;
    for (uint32_t i = 0; i < func->ir->param_count; i++)
        copy_formal(w, &func->params[i], callee, &call->args->elems[i], caller, lanes, true);
    move_lanes(w, lanes, func->insns, callee);
    return true;
}

static enum step call_direct(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct call *call = x->data;
    const struct xfunc *func = &w->cta->launch->kernel->funcs[call->callee->imm];
    return enter(w, x, func, mask) ? STEP_JUMP : STEP_FAULT;
}

static enum step call_indirect(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct call *call = x->data;
    for (uint32_t left = mask; left != 0;) {
        uint64_t address = xop_lane(w, call->callee, (unsigned)__builtin_ctz(left));
        uint32_t lanes = 0;
        for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (xop_lane(w, call->callee, lane) == address)
                lanes |= UINT32_C(1) << lane;
        }
        const struct xfunc *func = image_func_at(w->cta->launch->kernel, address);
        if (func == NULL)
            warp_fault(w, x, FAULT_INVALID_PC, lanes, "no function has address 0x%llx",
                       (unsigned long long)address);
        if (func == NULL || !enter(w, x, func, lanes)) {
            drop_moves(w);
            return STEP_FAULT;
        }
        left &= ~lanes;
    }
    return STEP_JUMP;
}

exec_select op_call;
exec_fn *op_call(struct decode *d, struct xinsn *x) {
    const struct call *call = find_parts(d, x);
    x->data = call;
    if (call == NULL || call->callee == NULL)
        return decode_unsupported(d, x, "this form of call");
    return call->callee->kind == XOP_FUNC ? call_direct : call_indirect;
}

/* ret in the entry ends the lanes. */
static enum step leave_func(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)x;
    struct frame *frame = frame_of(w), *parent = frame->parent;
    if (parent == NULL) {
        frame_leave(frame, mask);
        return STEP_JUMP;
    }
    const struct xinsn *back = frame->return_pc;
    const struct call *call = (back - 1)->data;
    w->base[0] = parent->regs;
    for (uint32_t i = 0; i < frame->func->ir->result_count; i++)
        copy_formal(w, &frame->func->results[i], frame, &call->results->elems[i], parent, mask,
                    false);
    frame_leave(frame, mask);
    move_lanes(w, mask, back, parent);
    return STEP_JUMP;
}

enum step op_fall_off(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return leave_func(w, x, mask);
}

exec_select op_ret;
exec_fn *op_ret(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return leave_func;
}

static enum step exit_lanes(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)x;
    frame_leave_all(frame_of(w), mask);
    return STEP_JUMP;
}

exec_select op_exit;
exec_fn *op_exit(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return exit_lanes;
}

/* The device runtime's functions have no PTX body. */
enum step op_undefined(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct ir_func *func = x->data;
    const struct xinsn *call = frame_of(w)->return_pc - 1;
    if (strcmp(func->name, "__assertfail") == 0)
        return warp_fault(w, call, FAULT_ASSERT, mask, "the kernel called __assertfail");
    return warp_fault(w, call, FAULT_UNSUPPORTED, mask, "call of %s, which has no body here",
                      func->name);
}

/* trap and brkpt end an H200's kernel with 719 (H200 observation 36). */
static enum step trap(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return warp_fault(w, x, FAULT_LAUNCH_FAILED, mask, "the kernel reached %s",
                      isa_row(x->ir->form)->opcode);
}

exec_select op_trap;
exec_fn *op_trap(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return trap;
}

exec_select op_brkpt;
exec_fn *op_brkpt(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return trap;
}

/* Time is not modelled: sleeping lets others run. */
static enum step sleep_lanes(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)w, (void)x, (void)mask;
    return STEP_YIELD;
}

exec_select op_nanosleep;
exec_fn *op_nanosleep(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return sleep_lanes;
}

/* Performance monitors are not modelled: the event goes nowhere. */
static enum step nothing(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)w, (void)x, (void)mask;
    return STEP_NEXT;
}

exec_select op_pmevent;
exec_fn *op_pmevent(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return nothing;
}
