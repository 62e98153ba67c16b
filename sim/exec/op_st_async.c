/* st.async and red.async: stores and integer reductions to shared memory that complete on an
 * mbarrier (manual, "st.async", "red.async"). They are asynchronous but run in the generic proxy.
 * The mbarrier counts the bytes stored. Only the own CTA: clusters of more are not modelled. */
#include <string.h>

#include "copy_operands.h"

enum { VALUE_BYTES_MAX = 16 };

/* Payload of an operation. */
struct async_store {
    uint8_t value[VALUE_BYTES_MAX];
    uint32_t shared, size_bytes, mbarrier;
    bool reduces;
    enum tma_reduce_op reduce_op;
    enum tmap_type type;
};
_Static_assert(sizeof(struct async_store) <= ASYNC_PAYLOAD_BYTES, "payload fits");

static bool store_effect(struct cta *cta, struct async_op *op) {
    const struct async_store *store = (const struct async_store *)(const void *)op->payload.bytes;
    uint8_t *to = cta_shared(cta, store->shared, store->size_bytes);
    if (to == NULL) /* not 700 as elsewhere (conform_fault, group shared) */
        return cta_fault(cta, op, FAULT_LAUNCH_FAILED,
                         "shared address 0x%x is beyond the CTA's shared memory, which ends at "
                         "0x%x",
                         store->shared, cta->shared_end);
    if (store->reduces)
        tma_reduce(store->reduce_op, store->type, to, store->value, store->size_bytes);
    else
        memcpy(to, store->value, store->size_bytes);
    return cta_complete_tx(cta, op, store->mbarrier, store->size_bytes);
}

static void read_value(struct warp *w, const struct xop *op, unsigned lane, unsigned elem_bytes,
                       struct async_store *store) {
    unsigned count = op->kind == XOP_VECTOR ? op->elem_count : 1;
    for (unsigned i = 0; i < count; i++) {
        uint64_t word = xop_lane(w, op->kind == XOP_VECTOR ? &op->elems[i] : op, lane);
        memcpy(store->value + i * elem_bytes, &word, elem_bytes);
    }
    store->size_bytes = count * elem_bytes;
}

static bool issue(struct warp *w, const struct xinsn *x, unsigned lane) {
    enum ptx_type type = (enum ptx_type)x->ir->types[0];
    unsigned elem_bytes = ptx_type_bits(type) / 8;
    struct async_store store = {.type = copy_reduce_type(type)};
    store.reduces = copy_reduce_op(x->ir, &store.reduce_op);
    read_value(w, &x->ops[1], lane, elem_bytes, &store);
    if (!copy_shared_address(w, x, &x->ops[0], SPACE_SHARED_CLUSTER, lane, store.size_bytes,
                             &store.shared) ||
        !copy_mbarrier_address(w, x, &x->ops[2], SPACE_SHARED_CLUSTER, lane, &store.mbarrier) ||
        !copy_in_cluster(w, x, lane))
        return false;
    struct async_op *op = async_new(w->cta, w, x, lane, store_effect);
    if (op == NULL)
        return false;
    memcpy(op->payload.bytes, &store, sizeof store);
    op->signal_address = store.mbarrier;
    op->writes_address = store.shared;
    op->writes_bytes = store.size_bytes;
    return async_issue(w->cta, op);
}

static enum step async_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        if (!issue(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

exec_select op_st_async, op_red_async;
exec_fn *op_st_async(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return async_fn;
}
exec_fn *op_red_async(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return async_fn;
}
