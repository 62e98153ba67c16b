#include "schedule.h"

#include "hash.h"

/* Threads of one warp that are at different places. A warp is a short list of groups (place, frame,
 * lanes). The group that is deepest in calls and lowest in the text runs, up to the place of the
 * next one, and groups that meet become one; so diverged lanes come together again. A group that
 * uses up its turn (it may spin on what another group will write) lets the others run. */

static bool same_frame(const struct frame *a, const struct frame *b) {
    return a == b || (a->func == b->func && a->return_pc == b->return_pc &&
                      a->parent == b->parent && a->local_base == b->local_base);
}

/* Whether a waiting group may be joined by others: not when it has arrived at a barrier. */
static bool can_join(const struct group *group) {
    return group->wait.kind == WAIT_NONE || group->wait.kind == WAIT_LANES ||
           group->wait.kind == WAIT_MBARRIER;
}

/* The registers of lanes that called the same function from the same place go into one frame. */
static void join_frames(struct frame *into, struct frame *from, uint32_t lanes) {
    const struct xfunc *func = into->func;
    for (uint32_t i = 0; i < func->ir->reg_count; i++) {
        if (func->reg_bits[i] == 0)
            continue;
        uint8_t *a = into->regs + func->reg_offset[i], *b = from->regs + func->reg_offset[i];
        if (func->reg_bits[i] == 1) {
            uint32_t *to = (uint32_t *)(void *)a;
            *to = (*to & ~lanes) | (*(uint32_t *)(void *)b & lanes);
            continue;
        }
        uint32_t bytes = func->reg_bits[i] <= 32 ? 4 : 8;
        for (uint32_t left = lanes; left != 0; left &= left - 1) {
            uint32_t at = (uint32_t)__builtin_ctz(left) * bytes;
            __builtin_memcpy(a + at, b + at, bytes);
            if (func->reg_bits[i] == 128)
                __builtin_memcpy(a + 256 + at, b + 256 + at, bytes);
        }
    }
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        uint32_t at =
            func->param_offset_bytes + (uint32_t)__builtin_ctz(left) * func->param_lane_bytes;
        __builtin_memcpy(into->regs + at, from->regs + at, func->param_lane_bytes);
    }
    into->lanes |= lanes;
    frame_leave(from, lanes);
}

static void merge_groups(struct warp_sched *s) {
    for (uint32_t i = 0; i < s->group_count; i++)
        for (uint32_t k = i + 1; k < s->group_count; k++) {
            struct group *a = &s->groups[i], *b = &s->groups[k];
            if (a->pc != b->pc || !same_frame(a->frame, b->frame) || !can_join(a) || !can_join(b))
                continue;
            if (a->frame != b->frame)
                join_frames(a->frame, b->frame, b->lanes);
            a->lanes |= b->lanes;
            a->wait.kind = WAIT_NONE;
            *b = s->groups[--s->group_count];
            k--;
        }
}

static bool can_run(const struct cta_state *state, const struct group *group) {
    return group->wait.kind == WAIT_NONE || group->seen_changes != state->changes ||
           (group->wait.kind == WAIT_MBARRIER && group->seen_expire != state->expire);
}

/* Whether `a` should run before `b`: the favoured lanes first, or the longest waiting when a group
 * has used up its turn, else the deepest and lowest. */
static bool runs_first(const struct warp_sched *s, const struct group *a, const struct group *b) {
    if (s->rotate)
        return a->turn < b->turn;
    if (((a->lanes ^ b->lanes) & s->favoured) != 0 && !(a->lanes & b->lanes & s->favoured))
        return (a->lanes & s->favoured) != 0;
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return a->pc < b->pc;
}

/* The group to run next; NULL when all wait. */
static struct group *pick_group(struct warp *w) {
    struct warp_sched *s = w->sched;
    struct group *best = NULL;
    for (uint32_t i = 0; i < s->group_count; i++) {
        struct group *group = &s->groups[i];
        if (can_run(w->cta->state, group) && (best == NULL || runs_first(s, group, best)))
            best = group;
    }
    if (best == NULL)
        return NULL;
    if (s->rotate)
        s->favoured = best->lanes;
    s->rotate = false;
    best->turn = ++s->turn;
    s->running = (uint32_t)(best - s->groups);
    return best;
}

/* A time slice is over. After one in text order comes one for the group that waits longest. */
static enum warp_end end_slice(struct warp_sched *s) {
    s->rotate = s->group_count > 1 && s->favoured == 0;
    s->favoured = 0;
    return WARP_SLICE;
}

/* The next place above the group's where another group stands. */
static const struct xinsn *next_stop(const struct warp_sched *s, const struct group *group) {
    const struct xinsn *stop = NULL;
    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct xinsn *pc = s->groups[i].pc;
        if (pc > group->pc && (stop == NULL || pc < stop))
            stop = pc;
    }
    return stop;
}

static void add_group(struct warp_sched *s, struct group group) {
    s->groups[s->group_count++] = group;
}

/* Takes the lanes of `mask` out of the running group and puts them where the moves say. Lanes in no
 * move have exited; lanes outside the mask go on behind the instruction. */
static void apply_moves(struct warp *w, uint32_t mask) {
    struct warp_sched *s = w->sched;
    struct group old = s->groups[s->running];
    s->groups[s->running] = s->groups[--s->group_count];
    if ((old.lanes & ~mask) != 0)
        add_group(s, (struct group){.pc = old.pc + 1,
                                    .frame = old.frame,
                                    .lanes = old.lanes & ~mask,
                                    .turn = old.turn});
    uint32_t moved = 0;
    for (uint32_t i = 0; i < s->move_count; i++) {
        const struct move *move = &s->moves[i];
        moved |= move->lanes;
        add_group(
            s, (struct group){
                   .pc = move->pc, .frame = move->frame, .lanes = move->lanes, .turn = old.turn});
    }
    s->move_count = 0;
    uint32_t gone = mask & ~moved;
    if (gone != 0) {
        w->live &= ~gone;
        cta_changed(w->cta);
    }
}

/* The lanes of `mask` wait at the instruction; others of the group go on. */
static void apply_wait(struct warp *w, uint32_t mask) {
    struct warp_sched *s = w->sched;
    struct group *group = &s->groups[s->running];
    if (group->lanes != mask)
        add_group(s, (struct group){.pc = group->pc + 1,
                                    .frame = group->frame,
                                    .lanes = group->lanes & ~mask,
                                    .turn = group->turn});
    group->lanes = mask;
    group->wait = w->wait;
    group->seen_changes = w->cta->state->changes;
    group->seen_expire = w->cta->state->expire;
}

enum warp_end warp_run(struct warp *w, uint64_t slice) {
    struct warp_sched *s = w->sched;
    struct cta_state *state = w->cta->state;
    uint64_t limit = state->steps + slice;
    s->slice_cost = 0;
    for (;;) {
        if (s->group_count > 1)
            merge_groups(s);
        if (w->live == 0)
            return WARP_DONE;
        if (state->steps + s->slice_cost >= limit)
            return end_slice(s);
        struct group *group = pick_group(w);
        if (group == NULL)
            return WARP_BLOCKED;
        bool several = s->group_count > 1;
        w->wait_expired = group->wait.kind == WAIT_MBARRIER && group->seen_expire != state->expire;
        uint32_t mask = 0;
        switch (group_run(w, group, several ? next_stop(s, group) : NULL, several,
                          limit - state->steps - s->slice_cost, &mask)) {
        case GROUP_STOP: break;
        case GROUP_SLICE: return end_slice(s);
        case GROUP_WAIT: apply_wait(w, mask); break;
        case GROUP_MOVED: apply_moves(w, mask); break;
        case GROUP_FAULT: return WARP_FAULT;
        }
    }
}

uint64_t warp_hash(const struct warp *w) {
    const struct warp_sched *s = w->sched;
    uint64_t hash = w->live;
    for (uint32_t i = 0; i < s->group_count; i++) {
        const struct group *group = &s->groups[i];
        uint64_t place[2] = {(uint64_t)(uintptr_t)group->pc, group->lanes};
        hash = hash_bytes(hash, place, sizeof place);
        for (const struct frame *f = group->frame; f != NULL; f = f->parent)
            hash = hash_bytes(hash, f->regs, f->func->frame_bytes);
    }
    return hash;
}
