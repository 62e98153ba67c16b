/* Copies of 4, 8 or 16 bytes a thread: cp.async, its groups, cp.async.mbarrier.arrive (manual,
 * "Data Movement and Conversion Instructions: cp.async"). They run in the generic proxy. One
 * operation carries the lanes of half a warp; the operations of a warp complete in the order of
 * issue, which the manual allows. */
#include <inttypes.h>
#include <string.h>

#include "bulk_group.h"
#include "copy_operands.h"

enum { LANES_PER_OP = 16 };

/* Payload: lane i of the operation copies copied[i] bytes and fills up to size[i] with zero. */
struct cp_async {
    uint8_t *to[LANES_PER_OP];
    const uint8_t *from[LANES_PER_OP];
    uint64_t group[LANES_PER_OP];
    uint8_t lane[LANES_PER_OP], size[LANES_PER_OP], copied[LANES_PER_OP];
    uint32_t count;
};
_Static_assert(sizeof(struct cp_async) <= ASYNC_PAYLOAD_BYTES, "payload fits");

/* Per thread. */
struct cp_async_thread {
    struct bulk_group groups;
    uint64_t last_id; /* of lane 0: newest operation of the warp */
};

static struct cp_async_thread *thread_of(struct cta *cta, uint32_t warp, unsigned lane) {
    return cta_thread_data(cta, THREAD_CP_ASYNC, warp, lane, sizeof(struct cp_async_thread));
}

static bool copy_effect(struct cta *cta, struct async_op *op) {
    const struct cp_async *copy = (const struct cp_async *)(const void *)op->payload.bytes;
    for (uint32_t i = 0; i < copy->count; i++) {
        if (copy->copied[i] > 0)
            memcpy(copy->to[i], copy->from[i], copy->copied[i]);
        memset(copy->to[i] + copy->copied[i], 0, (size_t)copy->size[i] - copy->copied[i]);
        struct cp_async_thread *thread = thread_of(cta, op->warp, copy->lane[i]);
        bulk_group_read(&thread->groups, copy->group[i]);
        bulk_group_complete(&thread->groups, copy->group[i]);
    }
    return true;
}

/* Adds one lane. The operands are [d], [s], size{, src_size or ignore}. */
static bool add_lane(struct warp *w, const struct xinsn *x, unsigned lane, struct cp_async *copy) {
    uint32_t i = copy->count, size = (uint32_t)x->ops[2].imm, copied = size;
    struct cp_async_thread *thread = thread_of(w->cta, w->index, lane);
    if (thread == NULL) {
        warp_fault(w, x, FAULT_NO_MEMORY, UINT32_C(1) << lane, "no host memory for cp.async");
        return false;
    }
    const struct xop *third = &x->ops[3];
    if (x->ir->form == ISA_cp_async_ca_ignore || x->ir->form == ISA_cp_async_cg_ignore)
        copied = xop_pred(w, third) >> lane & 1 ? 0 : size;
    else if (third->kind != XOP_NONE && xop_lane(w, third, lane) < size)
        copied = (uint32_t)xop_lane(w, third, lane);
    copy->to[i] = warp_memory(w, x, lane, SPACE_SHARED,
                              warp_address(w, &x->ops[0], SPACE_SHARED, lane), size, size);
    if (copy->to[i] == NULL)
        return false;
    copy->from[i] = NULL;
    if (copied > 0) {
        uint64_t address = warp_address(w, &x->ops[1], SPACE_GLOBAL, lane);
        if (address % size != 0) { /* a source is judged so, mapped or not */
            warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
                       "source address 0x%" PRIx64 " of cp.async is not a multiple of %u", address,
                       size);
            return false;
        }
        copy->from[i] = warp_memory(w, x, lane, SPACE_GLOBAL, address, copied, 1);
        if (copy->from[i] == NULL)
            return false;
    }
    copy->group[i] = bulk_group_add(&thread->groups);
    copy->lane[i] = (uint8_t)lane;
    copy->size[i] = (uint8_t)size;
    copy->copied[i] = (uint8_t)copied;
    copy->count++;
    return true;
}

/* The one range that the lanes write, where each begins at the end of the one before. */
static void note_range(const struct cta *cta, struct async_op *op) {
    const struct cp_async *copy = (const struct cp_async *)(const void *)op->payload.bytes;
    uint32_t bytes = copy->size[0];
    for (uint32_t i = 1; i < copy->count; bytes += copy->size[i++])
        if (copy->to[i] != copy->to[i - 1] + copy->size[i - 1])
            return;
    op->writes_address = (uint32_t)(copy->to[0] - cta->shared);
    op->writes_bytes = bytes;
}

/* Queues behind the warp's earlier ones. */
static bool issue_in_order(struct warp *w, struct async_op *op) {
    struct cp_async_thread *first = thread_of(w->cta, w->index, 0);
    if (first == NULL)
        return cta_fault(w->cta, op, FAULT_NO_MEMORY, "no host memory for cp.async");
    op->after = first->last_id;
    op->owner = async_owner(ASYNC_OWNER_CP_ASYNC, w->index, 0);
    first->last_id = op->id;
    return async_issue(w->cta, op);
}

static enum step copy_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0;) {
        struct async_op *op = async_new(w->cta, w, x, (unsigned)__builtin_ctz(left), copy_effect);
        if (op == NULL)
            return STEP_FAULT;
        struct cp_async *copy = (struct cp_async *)(void *)op->payload.bytes;
        copy->count = 0;
        for (; left != 0 && copy->count < LANES_PER_OP; left &= left - 1) {
            if (!add_lane(w, x, (unsigned)__builtin_ctz(left), copy))
                return STEP_FAULT;
        }
        note_range(w->cta, op);
        if (!issue_in_order(w, op))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

exec_select op_cp_async, op_cp_async_ignore;
exec_fn *op_cp_async(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return copy_fn;
}
exec_fn *op_cp_async_ignore(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return copy_fn;
}

static enum step no_memory(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return warp_fault(w, x, FAULT_NO_MEMORY, mask, "no host memory for cp.async");
}

static enum step commit_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        struct cp_async_thread *thread = thread_of(w->cta, w->index, (unsigned)__builtin_ctz(left));
        if (thread == NULL)
            return no_memory(w, x, mask);
        bulk_group_commit(&thread->groups);
    }
    return STEP_NEXT;
}
exec_select op_cp_async_commit;
exec_fn *op_cp_async_commit(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return commit_fn;
}

static enum step wait_for(struct warp *w, const struct xinsn *x, uint32_t mask, bool all,
                          uint32_t count) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        struct cp_async_thread *thread = thread_of(w->cta, w->index, (unsigned)__builtin_ctz(left));
        if (thread == NULL)
            return no_memory(w, x, mask);
        if (all ? bulk_group_all_complete(&thread->groups)
                : bulk_group_waited(&thread->groups, count, false))
            continue;
        w->wait = (struct wait){.kind = WAIT_BULK_GROUP,
                                .address = count,
                                .detail = async_owner(ASYNC_OWNER_CP_ASYNC, w->index, 0)};
        return STEP_WAIT;
    }
    return STEP_NEXT;
}

static enum step wait_group_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return wait_for(w, x, mask, false, (uint32_t)x->ops[0].imm);
}
static enum step wait_all_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    return wait_for(w, x, mask, true, 0);
}
exec_select op_cp_async_wait_group, op_cp_async_wait_all;
exec_fn *op_cp_async_wait_group(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return wait_group_fn;
}
exec_fn *op_cp_async_wait_all(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return wait_all_fn;
}

/* Payload of the arrival that follows the copies. */
static bool arrive_effect(struct cta *cta, struct async_op *op) {
    return cta_unit_arrive(cta, op, op->signal_address, 1);
}

/* Without .noinc the pending count goes up now, so that the arrival is net zero. */
static bool track(struct warp *w, const struct xinsn *x, unsigned lane, uint32_t address) {
    struct mbarrier none = {0};
    struct mbarrier *object = cta_mbarrier(w->cta, address, false);
    object = object != NULL ? object : &none;
    uint64_t phase = object->phase;
    enum mbarrier_outcome outcome = mbarrier_track(object);
    if (mbarrier_is_fault(outcome)) {
        copy_mbarrier_fault(w, x, lane, address, object, outcome);
        return false;
    }
    cta_mbarrier_changed(w->cta, address, phase, w, x, lane, NULL);
    return true;
}

static enum step arrive_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    bool increments = !ir_has(x->ir, QUAL_NOINC);
    enum ptx_space space = ir_space(x->ir, 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t address;
        if (!copy_mbarrier_address(w, x, &x->ops[0], space, lane, &address))
            return STEP_FAULT;
        if (increments && !track(w, x, lane, address))
            return STEP_FAULT;
        struct async_op *op = async_new(w->cta, w, x, lane, arrive_effect);
        if (op == NULL)
            return STEP_FAULT;
        op->signal_address = address;
        if (!issue_in_order(w, op))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}
exec_select op_cp_async_mbarrier;
exec_fn *op_cp_async_mbarrier(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return arrive_fn;
}
