/* Barriers among the threads of a CTA, and fences (manual, "Parallel Synchronization and
 * Communication Instructions"; sm_70 and later: a barrier waits for each thread, and counts by
 * warps). Every memory access of a warp happens at once and in order, so a fence has nothing to
 * do. */
#include "decode.h"
#include "schedule.h"

/* Lanes of a warp that must come before it counts. */
static bool warp_arrived(const struct cta *cta, const struct named_barrier *barrier, uint32_t i) {
    uint32_t live = cta->warps[i].live, arrived = barrier->arrived[i];
    return arrived != 0 && (live & ~arrived) == 0;
}

/* Without a thread count all warps that still run must come; exited ones are not missed. */
static bool is_complete(const struct cta *cta, const struct named_barrier *barrier) {
    uint32_t threads = 0;
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        if (warp_arrived(cta, barrier, i))
            threads += WARP_LANES;
        else if (barrier->threads == 0 && cta->warps[i].live != 0)
            return false;
    }
    return barrier->threads == 0 || threads >= barrier->threads;
}

static void complete(struct warp *w, const struct xinsn *x, struct named_barrier *barrier,
                     uint32_t id) {
    struct event event = {.kind = EVENT_BARRIER, .barrier = {id, barrier->threads}};
    barrier->results[barrier->generation & 1] = barrier->so_far;
    barrier->generation++;
    barrier->active = false;
    for (uint32_t i = 0; i < MAX_WARPS; i++)
        barrier->arrived[i] = 0;
    cta_changed(w->cta);
    warp_progress(w);
    warp_event(w, x, w->group, &event);
}

/* The operands a and b, the same in all lanes. False with a fault. */
static bool read_operands(struct warp *w, const struct xinsn *x, const struct xop *a,
                          const struct xop *b, uint32_t mask, uint32_t *id, uint32_t *threads) {
    unsigned first = (unsigned)__builtin_ctz(mask);
    *id = (uint32_t)xop_lane(w, a, first);
    *threads = b->kind == XOP_VALUE ? (uint32_t)xop_lane(w, b, first) : 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (xop_lane(w, a, lane) != *id ||
            (b->kind == XOP_VALUE && xop_lane(w, b, lane) != *threads)) {
            warp_fault(w, x, FAULT_UNSUPPORTED, mask,
                       "the lanes of a warp name different barriers or thread counts");
            return false;
        }
    }
    if (*threads % WARP_LANES != 0) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, mask,
                   "barrier %u with %u threads: a thread count is a multiple of 32", *id, *threads);
        return false;
    }
    *id %= NAMED_BARRIERS; /* the lowest four bits (tests/isa/bar_number.ptx) */
    if (*threads <= MAX_WARPS * WARP_LANES && (b->kind != XOP_VALUE || *threads > 0))
        return true;
    warp_fault(w, x, FAULT_UNSUPPORTED, mask,
               "barrier %u with %u threads: a thread count is 32 to 1024; what the GPU does "
               "otherwise is not known",
               *id, *threads);
    return false;
}

/* Counts the lanes in. False with a fault for what the manual leaves undefined. */
static bool arrive(struct warp *w, const struct xinsn *x, struct named_barrier *barrier,
                   uint32_t id, uint32_t threads, uint32_t mask) {
    if (barrier->active && barrier->threads != threads) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, mask,
                   "barrier %u is in use with another thread count (%u, here %u)", id,
                   barrier->threads, threads);
        return false;
    }
    if ((barrier->arrived[w->index] & mask) != 0) {
        warp_fault(w, x, FAULT_UNSUPPORTED, mask,
                   "a second operation on barrier %u before the first one's round is complete; "
                   "the manual leaves the outcome undefined",
                   id);
        return false;
    }
    if (!barrier->active)
        barrier->so_far = (struct barrier_result){0, true, false};
    barrier->active = true;
    barrier->threads = threads;
    barrier->arrived[w->index] |= mask;
    warp_progress(w);
    return true;
}

/* Waits for the round. True when it is over. */
static bool round_over(struct warp *w, const struct xinsn *x, struct named_barrier *barrier,
                       uint32_t id, uint32_t generation) {
    if (barrier->generation == generation && is_complete(w->cta, barrier))
        complete(w, x, barrier, id);
    if (barrier->generation != generation)
        return true;
    w->wait = (struct wait){.kind = WAIT_BARRIER, .address = id, .detail = generation};
    return false;
}

static enum step bar_sync(struct warp *w, const struct xinsn *x, uint32_t mask) {
    struct named_barrier *barriers = w->cta->state->barriers;
    if (w->wait.kind == WAIT_BARRIER)
        return round_over(w, x, &barriers[w->wait.address], w->wait.address,
                          (uint32_t)w->wait.detail)
                   ? STEP_NEXT
                   : STEP_WAIT;
    uint32_t id, threads;
    if (!read_operands(w, x, &x->ops[0], &x->ops[1], mask, &id, &threads) ||
        !arrive(w, x, &barriers[id], id, threads, mask))
        return STEP_FAULT;
    return round_over(w, x, &barriers[id], id, barriers[id].generation) ? STEP_NEXT : STEP_WAIT;
}

exec_select op_bar_sync;
exec_fn *op_bar_sync(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return bar_sync;
}

static enum step bar_arrive(struct warp *w, const struct xinsn *x, uint32_t mask) {
    struct named_barrier *barriers = w->cta->state->barriers;
    uint32_t id, threads;
    if (!read_operands(w, x, &x->ops[0], &x->ops[1], mask, &id, &threads) ||
        !arrive(w, x, &barriers[id], id, threads, mask))
        return STEP_FAULT;
    if (is_complete(w->cta, &barriers[id]))
        complete(w, x, &barriers[id], id);
    return STEP_NEXT;
}

exec_select op_bar_arrive;
exec_fn *op_bar_arrive(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return bar_arrive;
}

static void give_result(struct warp *w, const struct xinsn *x, uint32_t mask,
                        const struct barrier_result *result) {
    const struct xop *d = &x->ops[0];
    if (d->bits == 1) {
        bool value = ir_has(x->ir, QUAL_AND) ? result->all : result->any;
        xop_set_pred(w, d, mask, value ? LANES_ALL : 0);
        return;
    }
    for (uint32_t left = mask; left != 0; left &= left - 1)
        xop_set_lane(w, d, (unsigned)__builtin_ctz(left), result->count);
}

/* d, a{, b}, c: the predicate of every thread goes into the result of all. */
static enum step bar_red(struct warp *w, const struct xinsn *x, uint32_t mask) {
    struct named_barrier *barriers = w->cta->state->barriers;
    uint32_t id = w->wait.address, generation = (uint32_t)w->wait.detail;
    if (w->wait.kind != WAIT_BARRIER) {
        uint32_t threads;
        if (!read_operands(w, x, &x->ops[1], &x->ops[2], mask, &id, &threads) ||
            !arrive(w, x, &barriers[id], id, threads, mask))
            return STEP_FAULT;
        generation = barriers[id].generation;
        uint32_t set = xop_pred(w, &x->ops[3]) & mask;
        barriers[id].so_far.count += (uint32_t)__builtin_popcount(set);
        barriers[id].so_far.all &= set == mask;
        barriers[id].so_far.any |= set != 0;
    }
    if (!round_over(w, x, &barriers[id], id, generation))
        return STEP_WAIT;
    give_result(w, x, mask, &barriers[id].results[generation & 1]);
    return STEP_NEXT;
}

exec_select op_bar_red;
exec_fn *op_bar_red(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return bar_red;
}

static enum step bar_warp_sync(struct warp *w, const struct xinsn *x, uint32_t mask);

/* Lanes of other groups that wait in a bar.warp.sync with the same membermask, and marks them as
 * released when `release`. */
static uint32_t partners(struct warp *w, uint32_t members, bool release) {
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < w->sched->group_count; i++) {
        struct group *group = &w->sched->groups[i];
        if (i == w->sched->running || group->wait.kind != WAIT_LANES ||
            group->pc->run != bar_warp_sync || group->wait.address != members)
            continue;
        lanes |= group->lanes;
        group->wait.by_token |= release;
    }
    return lanes;
}

/* The lanes of a membermask may come from different places in the program. A waiting group keeps
 * its membermask in wait.address, and wait.by_token says that the last partner has come. */
static enum step bar_warp_sync(struct warp *w, const struct xinsn *x, uint32_t mask) {
    if (w->wait.kind == WAIT_LANES && w->wait.by_token)
        return STEP_NEXT;
    uint32_t members = (uint32_t)xop_lane(w, &x->ops[0], (unsigned)__builtin_ctz(mask));
    uint32_t needed = 0;
    bool alike = true;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t own = (uint32_t)xop_lane(w, &x->ops[0], (unsigned)__builtin_ctz(left));
        alike &= own == members;
        needed |= own;
    }
    uint32_t there = mask | (alike ? partners(w, members, false) : 0);
    uint32_t missing = needed & w->live & ~there;
    if (missing != 0) {
        w->wait = (struct wait){.kind = WAIT_LANES, .address = members, .detail = missing};
        return STEP_WAIT;
    }
    if (alike && there != mask) {
        partners(w, members, true);
        cta_changed(w->cta);
    }
    return STEP_NEXT;
}

exec_select op_bar_warp_sync;
exec_fn *op_bar_warp_sync(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return bar_warp_sync;
}

/* barrier.cluster of a cluster with one CTA. A lane that is not in the mask of arrivals has not
 * arrived, or its phase is over. */
static void complete_cluster(struct cta *cta) {
    for (uint32_t i = 0; i < cta->warp_count; i++)
        if ((cta->warps[i].live & ~cta->state->cluster_arrived[i]) != 0)
            return;
    for (uint32_t i = 0; i < MAX_WARPS; i++)
        cta->state->cluster_arrived[i] = 0;
    cta->state->progressed = true;
    cta_changed(cta);
}

static enum step cluster_arrive(struct warp *w, const struct xinsn *x, uint32_t mask) {
    uint32_t *arrived = &w->cta->state->cluster_arrived[w->index];
    if ((*arrived & mask) != 0)
        return warp_fault(w, x, FAULT_UNSUPPORTED, mask,
                          "barrier.cluster.arrive twice without a wait in between; the manual "
                          "leaves the outcome undefined");
    *arrived |= mask;
    warp_progress(w);
    complete_cluster(w->cta);
    return STEP_NEXT;
}

exec_select op_barrier_cluster_arrive;
exec_fn *op_barrier_cluster_arrive(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return cluster_arrive;
}

static enum step cluster_wait(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)x;
    complete_cluster(w->cta);
    if ((w->cta->state->cluster_arrived[w->index] & mask) == 0)
        return STEP_NEXT;
    w->wait = (struct wait){.kind = WAIT_CLUSTER};
    return STEP_WAIT;
}

exec_select op_barrier_cluster_wait;
exec_fn *op_barrier_cluster_wait(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return cluster_wait;
}

static enum step fence(struct warp *w, const struct xinsn *x, uint32_t mask) {
    (void)w, (void)x, (void)mask;
    return STEP_NEXT;
}

/* Fences of every kind, and griddepcontrol: grids run one after the other. */
exec_select op_fence;
exec_fn *op_fence(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return fence;
}

/* Registers are not a scarce thing here. */
exec_select op_setmaxnreg;
exec_fn *op_setmaxnreg(struct decode *d, struct xinsn *x) {
    (void)d, (void)x;
    return fence;
}
