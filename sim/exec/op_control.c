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

/* Where an argument, result or formal of a call is kept: a register (or constant) or bytes of a
 * lane's parameter area. */
struct place {
    struct warp view; /* the warp as the frame's function sees it */
    const struct frame *frame;
    struct xop reg;
    bool in_register;
    uint32_t offset_bytes, size_bytes;
};

static struct place place_of_formal(const struct warp *w, const struct xformal *formal,
                                    const struct frame *callee) {
    struct place place = {.view = *w, .frame = callee, .in_register = formal->in_register};
    place.view.base[0] = callee->regs;
    place.reg =
        (struct xop){.kind = XOP_VALUE, .bits = formal->bits, .offset_bytes = formal->offset_bytes};
    place.offset_bytes = formal->offset_bytes;
    place.size_bytes = formal->size_bytes;
    return place;
}

static struct place place_of_actual(const struct warp *w, const struct xop *op,
                                    const struct ir_operand *ir, const struct frame *caller) {
    struct place place = {.view = *w, .frame = caller, .in_register = ir->kind != IR_SYMBOL};
    place.view.base[0] = caller->regs;
    place.reg = *op;
    place.offset_bytes = (uint32_t)op->imm; /* a .param variable's place in the area */
    return place;
}

static uint8_t *param_bytes(const struct place *place, unsigned lane) {
    const struct frame *frame = place->frame;
    return frame->regs + frame->func->param_offset_bytes + lane * frame->func->param_lane_bytes +
           place->offset_bytes;
}

static void copy_lane(const struct place *to, const struct place *from, unsigned lane,
                      uint32_t size_bytes) {
    uint64_t words[2] = {0, 0};
    if (!to->in_register && !from->in_register) {
        memcpy(param_bytes(to, lane), param_bytes(from, lane), size_bytes);
        return;
    }
    if (from->in_register) {
        words[0] = xop_lane(&from->view, &from->reg, lane);
        if (from->reg.bits == 128)
            words[1] = xop_u64(&from->view, &from->reg)[WARP_LANES + lane];
    } else {
        memcpy(words, param_bytes(from, lane), size_bytes);
    }
    if (!to->in_register) {
        memcpy(param_bytes(to, lane), words, size_bytes);
        return;
    }
    xop_set_lane(&to->view, &to->reg, lane, words[0]);
    if (to->reg.bits == 128)
        xop_u64(&to->view, &to->reg)[WARP_LANES + lane] = words[1];
}

/* One value from the caller's argument into the callee's formal, or from a result's formal to the
 * caller: the lanes of `mask`. */
static void copy_formal(const struct place *formal, const struct place *actual, uint32_t mask,
                        bool to_callee) {
    const struct place *to = to_callee ? formal : actual, *from = to_callee ? actual : formal;
    if (actual->reg.kind == XOP_SINK)
        return;
    if (formal->in_register && formal->reg.bits == 1) {
        xop_set_pred(&to->view, &to->reg, mask, xop_pred(&from->view, &from->reg));
        return;
    }
    uint32_t size = formal->in_register ? formal->reg.bits / 8u : formal->size_bytes;
    if (actual->in_register && size > 16)
        size = 16;
    for (uint32_t left = mask; left != 0; left &= left - 1)
        copy_lane(to, from, (unsigned)__builtin_ctz(left), size);
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

/* The list as it stands in the IR, which tells a .param variable from a constant. */
static const struct ir_operand *actuals_of(const struct xinsn *x, const struct xop *list) {
    return &x->ir->operands[list - x->ops];
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
    for (uint32_t i = 0; i < func->ir->param_count; i++) {
        struct place formal = place_of_formal(w, &func->params[i], callee);
        struct place actual =
            place_of_actual(w, &call->args->elems[i], &actuals_of(x, call->args)->elems[i], caller);
        copy_formal(&formal, &actual, lanes, true);
    }
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
    for (uint32_t i = 0; i < frame->func->ir->result_count; i++) {
        struct place formal = place_of_formal(w, &frame->func->results[i], frame);
        struct place actual = place_of_actual(
            w, &call->results->elems[i], &actuals_of(back - 1, call->results)->elems[i], parent);
        copy_formal(&formal, &actual, mask, false);
    }
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
