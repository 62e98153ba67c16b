#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "hash.h"

/* Asynchronous operations of a CTA: a list in the order of issue. An operation may take effect when
 * the one it follows has, and when none older of its warp stands in the same ordered pipe. Of
 * tensor operations it also waits for other warps' that were released by a fence before its own
 * warp's last acquiring fence (manual, "tcgen05.fence"; that the threads met in between is the
 * kernel's affair). */

struct async_queue {
    struct async_op *first, *last;
    struct async_op *unused;
    uint64_t next_id;
    uint64_t random; /* state of the generator of POLICY_RANDOM */
    uint64_t fences; /* counted, as the time of a fence */
    uint64_t acquired[MAX_WARPS];
    uint32_t count;
};

bool async_create(struct cta *cta) {
    cta->async = calloc(1, sizeof *cta->async);
    return cta->async != NULL;
}

static void free_list(struct async_op *op) {
    while (op != NULL) {
        struct async_op *next = op->next;
        free(op->owned);
        free(op);
        op = next;
    }
}

void async_destroy(struct cta *cta) {
    if (cta->async == NULL)
        return;
    free_list(cta->async->first);
    free_list(cta->async->unused);
    free(cta->async);
}

void async_begin(struct cta *cta) {
    struct async_queue *q = cta->async;
    free_list(q->first);
    q->first = q->last = NULL;
    q->count = 0;
    q->next_id = 1;
    q->fences = 0;
    memset(q->acquired, 0, sizeof q->acquired);
    q->random = hash_mix64(cta->launch->policy_seed ^ hash_mix64(cta->index));
}

bool async_pending(const struct cta *cta) {
    return cta->async->first != NULL;
}

struct async_op *async_new(struct cta *cta, const struct warp *w, const struct xinsn *x,
                           unsigned lane, async_effect *effect) {
    struct async_queue *q = cta->async;
    struct async_op *op = q->unused;
    if (op != NULL)
        q->unused = op->next;
    else
        op = malloc(sizeof *op);
    if (op == NULL) {
        cta_fault(cta, NULL, FAULT_NO_MEMORY, "no host memory for an asynchronous operation");
        return NULL;
    }
    op->effect = effect;
    op->pipe = ASYNC_FREE;
    op->signal_address = ASYNC_NO_SIGNAL;
    op->id = q->next_id++;
    op->after = 0;
    op->owner = 0;
    op->writes_address = op->writes_bytes = 0;
    op->owned = NULL;
    op->released = 0;
    op->acquired = q->acquired[w->index];
    op->warp = w->index;
    op->lane = lane;
    op->insn = x;
    op->next = NULL;
    return op;
}

static void tell(struct cta *cta, const struct async_op *op, enum event_kind kind) {
    const struct observer *observer = cta->state->observer;
    if (observer == NULL || (observer->kinds >> kind & 1) == 0)
        return;
    struct event event = {.kind = kind,
                          .cta_index = cta->index,
                          .warp = op->warp,
                          .lanes = UINT32_C(1) << op->lane,
                          .insn = op->insn,
                          .async = {op->id, op->writes_address, op->writes_bytes}};
    observer->event(cta->state->observer_ctx, &event);
}

static bool is_queued(const struct async_queue *q, uint64_t id) {
    for (const struct async_op *op = q->first; op != NULL; op = op->next)
        if (op->id == id)
            return true;
    return false;
}

bool async_done(const struct cta *cta, uint64_t id) {
    return id < cta->async->next_id && !is_queued(cta->async, id);
}

void async_release_tensor(struct cta *cta, uint32_t warp, uint32_t lanes) {
    struct async_queue *q = cta->async;
    q->fences++;
    for (struct async_op *op = q->first; op != NULL; op = op->next)
        if (op->pipe == ASYNC_TENSOR && op->warp == warp && (lanes >> op->lane & 1) &&
            op->released == 0)
            op->released = q->fences;
}

void async_acquire_tensor(struct cta *cta, uint32_t warp) {
    cta->async->acquired[warp] = ++cta->async->fences;
}

static bool fenced(const struct async_op *first, const struct async_op *second) {
    return second->pipe == ASYNC_TENSOR && first->released != 0 &&
           first->released < second->acquired;
}

/* The queued operation that must take effect before `op`, NULL for none. */
static struct async_op *blocker(const struct async_queue *q, const struct async_op *op) {
    for (struct async_op *other = q->first; other != op; other = other->next)
        if (other->id == op->after || fenced(other, op) ||
            (op->pipe != ASYNC_FREE && other->pipe == op->pipe && other->warp == op->warp))
            return other;
    return NULL;
}

/* Takes it out of the queue and does its effect. */
static bool take_effect(struct cta *cta, struct async_op *op) {
    struct async_queue *q = cta->async;
    struct async_op **link = &q->first, *before = NULL;
    while (*link != op) {
        before = *link;
        link = &before->next;
    }
    *link = op->next;
    if (q->last == op)
        q->last = before;
    q->count--;
    op->next = NULL;
    bool fine = op->effect(cta, op);
    tell(cta, op, EVENT_ASYNC_COMPLETE);
    free(op->owned);
    op->owned = NULL;
    op->next = q->unused;
    q->unused = op;
    cta_changed(cta);
    cta->state->progressed = true;
    return fine;
}

/* What stands first in the way of `op`, or `op` itself. */
static struct async_op *first_needed(const struct async_queue *q, struct async_op *op) {
    for (struct async_op *other = blocker(q, op); other != NULL; other = blocker(q, op))
        op = other;
    return op;
}

static struct async_op *find_op(const struct async_queue *q, uint64_t id) {
    struct async_op *op = q->first;
    while (op != NULL && op->id != id)
        op = op->next;
    return op;
}

bool async_force(struct cta *cta, uint64_t id) {
    for (;;) {
        struct async_op *op = find_op(cta->async, id);
        if (op == NULL)
            return true;
        if (!take_effect(cta, first_needed(cta->async, op)))
            return false;
    }
}

static uint64_t next_random(struct async_queue *q) {
    q->random += UINT64_C(0x9e3779b97f4a7c15);
    return hash_mix64(q->random);
}

/* A random operation, or what it must follow. */
static bool complete_random(struct cta *cta) {
    struct async_queue *q = cta->async;
    uint64_t nth = next_random(q) % q->count;
    struct async_op *op = q->first;
    while (nth-- > 0)
        op = op->next;
    return take_effect(cta, first_needed(q, op));
}

bool async_maybe_complete(struct cta *cta) {
    if (cta->launch->policy != POLICY_RANDOM || cta->async->count == 0 ||
        next_random(cta->async) % 4 != 0)
        return true;
    return complete_random(cta);
}

uint32_t async_first_warp(struct cta *cta) {
    if (cta->launch->policy != POLICY_RANDOM)
        return 0;
    return (uint32_t)(next_random(cta->async) % cta->warp_count);
}

bool async_issue(struct cta *cta, struct async_op *op) {
    struct async_queue *q = cta->async;
    if (q->last != NULL)
        q->last->next = op;
    else
        q->first = op;
    q->last = op;
    q->count++;
    cta->state->progressed = true;
    tell(cta, op, EVENT_ASYNC_ISSUE);
    if (cta->launch->policy == POLICY_EAGER)
        return async_force(cta, op->id);
    return async_maybe_complete(cta);
}

/* The oldest operation that a waiting group needs. */
static struct async_op *needed_by(const struct cta *cta, const struct wait *wait) {
    for (struct async_op *op = cta->async->first; op != NULL; op = op->next) {
        if (wait->kind == WAIT_MBARRIER && op->signal_address == wait->address)
            return op;
        if ((wait->kind == WAIT_BULK_GROUP || wait->kind == WAIT_TMEM) && op->owner == wait->detail)
            return op;
        if (wait->kind == WAIT_ASYNC && op->id == wait->detail)
            return op;
    }
    return NULL;
}

bool async_complete_one(struct cta *cta) {
    struct async_queue *q = cta->async;
    if (cta->launch->policy == POLICY_RANDOM)
        return complete_random(cta);
    struct async_op *op = NULL;
    for (uint32_t i = 0; i < cta->warp_count && op == NULL; i++) {
        const struct warp_sched *s = cta->warps[i].sched;
        for (uint32_t g = 0; g < s->group_count && op == NULL; g++)
            if (s->groups[g].wait.kind != WAIT_NONE)
                op = needed_by(cta, &s->groups[g].wait);
    }
    return take_effect(cta, first_needed(q, op != NULL ? op : q->first));
}

bool async_complete_all(struct cta *cta) {
    while (cta->async->first != NULL)
        if (!take_effect(cta, first_needed(cta->async, cta->async->first)))
            return false;
    return true;
}

void async_report(const struct cta *cta, struct strbuf *out) {
    for (const struct async_op *op = cta->async->first; op != NULL; op = op->next) {
        strbuf_printf(out, "  in flight: cta (%u,%u,%u) warp %u lane %u, line %u: ", cta->ctaid[0],
                      cta->ctaid[1], cta->ctaid[2], op->warp, op->lane, op->insn->ir->line);
        const struct exec_kernel *kernel = cta->launch->kernel;
        ptx_print_line(kernel->module, op->insn->ir->line, op->insn->ir->column, out);
    }
}
