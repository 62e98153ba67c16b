/* tcgen05: allocation of Tensor Memory, commit, fences and waits (manual, "Tensorcore 5th
 * Generation Family Instructions"; tcgen05.md sections 3, 9, 10). One-CTA clusters: the
 * cta_group::2 forms are refused when the module is decoded. */
#include "tcgen05.h"

#include <string.h>

#include "int_lanes.h"
#include "tmem.h"

bool tcgen05_columns(struct warp *w, const struct xinsn *x, uint32_t lanes, uint32_t first,
                     uint32_t count) {
    enum tmem_error error =
        tmem_check_columns(w->cta->tmem_allocator, w->cta->tmem_cta.cta, first, count);
    if (error != TMEM_OK)
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, lanes,
                   "Tensor Memory columns %u to %u: %s (what silicon does then is not known)",
                   first, first + count - 1, tmem_error_text(error));
    return error == TMEM_OK;
}

bool tcgen05_unit_columns(struct cta *cta, const struct async_op *op, uint32_t first,
                          uint32_t count) {
    enum tmem_error error =
        tmem_check_columns(cta->tmem_allocator, cta->tmem_cta.cta, first, count);
    return error == TMEM_OK ||
           cta_fault(cta, op, FAULT_ILLEGAL_INSTRUCTION,
                     "Tensor Memory columns %u to %u when the operation takes effect: %s (what "
                     "silicon does then is not known)",
                     first, first + count - 1, tmem_error_text(error));
}

void tcgen05_tell(struct warp *w, const struct xinsn *x, uint32_t lanes, enum event_access access,
                  uint32_t first_lane, uint32_t lane_count, uint32_t first_column,
                  uint32_t column_count) {
    if (!warp_observed(w, EVENT_TMEM_ACCESS))
        return;
    struct event event = {.kind = EVENT_TMEM_ACCESS};
    event.tmem.access = access;
    event.tmem.first_lane = first_lane;
    event.tmem.lane_count = lane_count;
    event.tmem.first_column = first_column;
    event.tmem.column_count = column_count;
    warp_event(w, x, lanes, &event);
}

static enum step tmem_fault(struct warp *w, const struct xinsn *x, enum tmem_error error) {
    return warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, w->live,
                      "%s (which code silicon ends with is not known)", tmem_error_text(error));
}

/* The address goes to shared memory with an ordinary store of the generic proxy. */
static enum step alloc_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint32_t columns = xop_u32(w, &x->ops[1])[lane], address;
    enum tmem_error error =
        tmem_alloc(w->cta->tmem_allocator, &w->cta->tmem_cta, columns, &address);
    if (error == TMEM_WAIT_ROOM || error == TMEM_WAIT_PERMIT) {
        w->wait.kind = WAIT_TMEM_ALLOC;
        w->wait.detail = columns;
        return STEP_WAIT;
    }
    if (error != TMEM_OK)
        return tmem_fault(w, x, error);
    enum ptx_space space = ir_space(x->ir, 0);
    uint8_t *slot = warp_memory(w, x, lane, space, warp_address(w, &x->ops[0], space, lane), 4, 4);
    if (slot == NULL)
        return STEP_FAULT;
    memcpy(slot, &address, sizeof address);
    warp_progress(w);
    return STEP_NEXT;
}
ONE_SELECT(tcgen05_alloc, alloc_fn)

static enum step dealloc_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    unsigned lane = (unsigned)__builtin_ctz(mask);
    enum tmem_error error =
        tmem_dealloc(w->cta->tmem_allocator, &w->cta->tmem_cta, xop_u32(w, &x->ops[0])[lane],
                     xop_u32(w, &x->ops[1])[lane]);
    if (error != TMEM_OK)
        return tmem_fault(w, x, error);
    warp_progress(w);
    return STEP_NEXT;
}
ONE_SELECT(tcgen05_dealloc, dealloc_fn)

static enum step relinquish_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    tmem_relinquish(w->cta->tmem_allocator, &w->cta->tmem_cta);
    warp_progress(w);
    return STEP_NEXT;
}
ONE_SELECT(tcgen05_relinquish, relinquish_fn)

/* The fences order asynchronous tcgen05 operations around a synchronisation of threads: mma, cp and
 * commit of one thread follow another's. They wait for nothing. */
static enum step fence_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    if (x->ir->form == ISA_tcgen05_fence_before)
        async_release_tensor(w->cta, w->index, mask);
    else
        async_acquire_tensor(w->cta, w->index);
    return STEP_NEXT;
}
ONE_SELECT(tcgen05_fence, fence_fn)

/* tcgen05.commit: one arrival on the mbarrier when everything this thread has issued before is
 * done; it follows that in the thread's queue of tensor operations. */
static bool commit_effect(struct cta *cta, struct async_op *op) {
    return cta_unit_arrive(cta, op, op->signal_address, 1);
}
static enum step commit_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_space space = ir_space(x->ir, 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t bit = UINT32_C(1) << lane;
        uint64_t address = warp_address(w, &x->ops[0], space, lane);
        if (space == SPACE_GENERIC) {
            enum ptx_space found = warp_generic(w, address, &address);
            if (found != SPACE_SHARED && found != SPACE_SHARED_CLUSTER)
                return warp_fault(w, x, FAULT_ADDRESS_SPACE, bit,
                                  "the mbarrier's generic address 0x%llx is not in the shared "
                                  "window; a 32-bit shared address needs .shared::cluster",
                                  (unsigned long long)address);
        }
        if (x->ops[1].kind != XOP_NONE && xop_lane(w, &x->ops[1], lane) != 1)
            return warp_fault(w, x, FAULT_UNSUPPORTED, bit,
                              "multicast mask 0x%llx names other CTAs than rank 0 of a one-CTA "
                              "cluster",
                              (unsigned long long)xop_lane(w, &x->ops[1], lane));
        struct async_op *op = async_new(w->cta, w, x, lane, commit_effect);
        if (op == NULL)
            return STEP_FAULT;
        op->pipe = ASYNC_TENSOR;
        op->signal_address = (uint32_t)address;
        if (!async_issue(w->cta, op))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}
ONE_SELECT(tcgen05_commit, commit_fn)
