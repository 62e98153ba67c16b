#include "schedule.h"

/* The interpreter loop: one group of lanes runs instruction after instruction until something makes
 * the scheduler look again. Straight-line code is counted when it ends, by the distance run. */

/* Lanes of the group for which the guard holds. */
static inline uint32_t guard_mask(const struct warp *w, const struct xinsn *x, uint32_t lanes) {
    if (x->guard_offset_bytes == UINT32_MAX)
        return lanes;
    uint32_t p = *(const uint32_t *)(const void *)(w->base[0] + x->guard_offset_bytes);
    return lanes & (x->guard_negated ? ~p : p);
}

static void tell_insn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    struct event event = {.kind = EVENT_INSN};
    warp_event(w, x, mask, &event);
}

static void tell_reach(struct warp *w, const struct xinsn *x, uint32_t lanes, uint32_t mask) {
    struct event event = {.kind = EVENT_REACH, .step.running = mask};
    warp_event(w, x, lanes, &event);
}

static void tell_done(struct warp *w, const struct xinsn *x, uint32_t mask, enum step step) {
    struct event event = {.kind = EVENT_DONE, .step.left = step == STEP_JUMP};
    if (step != STEP_WAIT && step != STEP_FAULT)
        warp_event(w, x, mask, &event);
}

/* Brings the step counter up to date: `next` is the first instruction that has not run. */
static inline void count_steps(struct warp *w, const struct xinsn *next) {
    w->cta->state->steps += (uint64_t)(next - w->sched->run_start);
    w->sched->run_start = next;
}

/* The branch of some lanes: the others go on behind it. */
static void move_branch(struct warp_sched *s, const struct xinsn *x, uint32_t mask) {
    s->moves[0] = (struct move){mask, x->data, s->groups[s->running].frame};
    s->move_count = 1;
}

/* Everything but STEP_NEXT and a branch of the whole group. */
static enum group_end leave(struct warp *w, struct group *group, const struct xinsn *pc,
                            enum step step, uint32_t mask) {
    count_steps(w, step == STEP_WAIT ? pc : pc + 1);
    group->pc = pc;
    switch (step) {
    case STEP_WAIT: return GROUP_WAIT;
    case STEP_FAULT: return GROUP_FAULT;
    case STEP_BRANCH: move_branch(w->sched, pc, mask); return GROUP_MOVED;
    case STEP_JUMP: return GROUP_MOVED;
    case STEP_NEXT:
    case STEP_YIELD: break;
    }
    group->pc = pc + 1;
    return step == STEP_YIELD ? GROUP_SLICE : GROUP_STOP;
}

/* The instruction that the group waits at, once more. */
static enum group_end run_again(struct warp *w, struct group *group, uint32_t *mask) {
    const struct xinsn *pc = group->pc;
    *mask = guard_mask(w, pc, group->lanes);
    w->wait = group->wait;
    enum step step = pc->run(w, pc, *mask);
    tell_done(w, pc, *mask, step);
    w->wait_expired = false;
    if (step != STEP_WAIT)
        group->wait.kind = WAIT_NONE;
    enum group_end end = leave(w, group, pc, step, *mask);
    w->wait.kind = end == GROUP_WAIT ? w->wait.kind : WAIT_NONE;
    return end;
}

static inline __attribute__((always_inline)) enum group_end
run_loop(struct warp *w, struct group *group, const struct xinsn *stop, bool several,
         uint64_t limit, uint32_t *out, bool observed) {
    const struct xinsn *pc = group->pc;
    const uint32_t lanes = group->lanes;
    for (;;) {
        uint32_t mask = guard_mask(w, pc, lanes);
        enum step step = STEP_NEXT;
        if (observed)
            tell_reach(w, pc, lanes, mask);
        if (mask != 0) {
            if (observed)
                tell_insn(w, pc, mask);
            step = pc->run(w, pc, mask);
            if (observed)
                tell_done(w, pc, mask, step);
        }
        if (__builtin_expect(step == STEP_NEXT, 1)) {
            if (++pc == stop)
                break;
            continue;
        }
        if (step != STEP_BRANCH || mask != lanes) {
            *out = mask;
            return leave(w, group, pc, step, mask);
        }
        count_steps(w, pc + 1);
        pc = pc->data;
        w->sched->run_start = pc;
        if (several)
            break;
        if (w->cta->state->steps + w->sched->slice_cost >= limit) {
            group->pc = pc;
            return GROUP_SLICE;
        }
    }
    count_steps(w, pc);
    group->pc = pc;
    return GROUP_STOP;
}

enum group_end group_run(struct warp *w, struct group *group, const struct xinsn *stop,
                         bool several, uint64_t slice, uint32_t *mask) {
    struct warp_sched *s = w->sched;
    w->base[0] = group->frame->regs;
    w->group = group->lanes;
    s->run_start = group->pc;
    if (group->wait.kind != WAIT_NONE)
        return run_again(w, group, mask);
    w->wait.kind = WAIT_NONE;
    uint64_t limit = w->cta->state->steps + s->slice_cost + slice;
    const struct observer *observer = w->cta->state->observer;
    const uint32_t of_insns = 1u << EVENT_INSN | 1u << EVENT_REACH | 1u << EVENT_DONE;
    if (observer != NULL && (observer->kinds & of_insns) != 0)
        return run_loop(w, group, stop, several, limit, mask, true);
    return run_loop(w, group, stop, several, limit, mask, false);
}
