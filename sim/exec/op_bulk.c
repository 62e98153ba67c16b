/* One-dimensional bulk copies and reductions: cp.async.bulk, cp.reduce.async.bulk, their groups and
 * prefetch (manual, "Data Movement and Conversion Instructions: Bulk copy"). Addresses are
 * multiples of 16, else 716. A size is cut to a multiple of 16: what is left over is neither copied
 * nor counted, and less than 16 bytes copy nothing and complete nothing (seen on an H200,
 * traces/silicon/observations.md 1 to 3). */
#include <inttypes.h>
#include <string.h>

#include "bulk_group.h"
#include "copy_operands.h"
#include "float_add.h"

enum { BULK_ALIGN_BYTES = 16 };

/* Payload of an operation. */
struct bulk_copy {
    struct copy_store store; /* of copies to global memory */
    uint64_t global;
    uint32_t shared, shared_source;
    uint32_t size_bytes;
    uint32_t mbarrier;
    uint16_t byte_mask; /* of each 16 bytes, .cp_mask */
    bool reduces;
    bool outside; /* a shared address that the unit has not: nothing moves */
    enum tma_reduce_op reduce_op;
    enum tmap_type type;
};
_Static_assert(sizeof(struct bulk_copy) <= ASYNC_PAYLOAD_BYTES, "payload fits");

static struct bulk_copy *copy_of(struct async_op *op) {
    return (struct bulk_copy *)(void *)op->payload.bytes;
}

/* Bytes that a lane's size operand makes the unit move. */
static void read_size(struct warp *w, const struct xop *size, unsigned lane,
                      struct bulk_copy *copy) {
    uint32_t bytes = (uint32_t)xop_lane(w, size, lane);
    copy->size_bytes = bytes - bytes % BULK_ALIGN_BYTES;
}

/* A shared address; read_size has gone before. */
static bool read_shared(struct warp *w, const struct xinsn *x, const struct xop *op,
                        enum ptx_space space, unsigned lane, struct bulk_copy *copy,
                        uint32_t *address) {
    bool good = copy->size_bytes > 0
                    ? copy_shared_start(w, x, op, space, lane, BULK_ALIGN_BYTES, address)
                    : copy_shared_address(w, x, op, space, lane, BULK_ALIGN_BYTES, address);
    copy->outside = copy->outside || *address > COPY_UNIT_ADDRESS_MAX;
    return good;
}

static bool read_global(struct warp *w, const struct xinsn *x, const struct xop *op, unsigned lane,
                        struct bulk_copy *copy) {
    copy->global = warp_address(w, op, SPACE_GLOBAL, lane);
    if (copy->global % BULK_ALIGN_BYTES == 0)
        return true;
    warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
               "global address 0x%" PRIx64 " of a bulk copy must be a multiple of 16",
               copy->global);
    return false;
}

/* .multicast::cluster: in a cluster of one CTA only bit 0 of the mask names a CTA. */
static bool mask_is_own(struct warp *w, const struct xinsn *x, const struct xop *mask,
                        unsigned lane) {
    if (mask->kind == XOP_NONE || (uint16_t)xop_lane(w, mask, lane) == 1)
        return true;
    warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
               "multicast to CTA mask 0x%x: only 1, the own CTA, is modelled",
               (unsigned)(uint16_t)xop_lane(w, mask, lane));
    return false;
}

static bool load_effect(struct cta *cta, struct async_op *op) {
    const struct bulk_copy *copy = copy_of(op);
    uint8_t *to = copy_shared_bytes(cta, op, copy->shared, copy->size_bytes);
    if (to == NULL)
        return false;
    if (copy->size_bytes > 0) {
        const uint8_t *from = cta_global(cta, op, copy->global, copy->size_bytes);
        if (from == NULL)
            return false;
        memcpy(to, from, copy->size_bytes);
    }
    return cta_complete_tx(cta, op, copy->mbarrier, copy->size_bytes);
}

static bool shared_effect(struct cta *cta, struct async_op *op) {
    const struct bulk_copy *copy = copy_of(op);
    uint8_t *to = copy_shared_bytes(cta, op, copy->shared, copy->size_bytes);
    const uint8_t *from = copy_shared_bytes(cta, op, copy->shared_source, copy->size_bytes);
    if (to == NULL || from == NULL)
        return false;
    memmove(to, from, copy->size_bytes);
    return cta_complete_tx(cta, op, copy->mbarrier, copy->size_bytes);
}

static bool reduce_shared_effect(struct cta *cta, struct async_op *op) {
    const struct bulk_copy *copy = copy_of(op);
    uint8_t *to = copy_shared_bytes(cta, op, copy->shared, copy->size_bytes);
    const uint8_t *from = copy_shared_bytes(cta, op, copy->shared_source, copy->size_bytes);
    if (to == NULL || from == NULL)
        return false;
    tma_reduce(copy->reduce_op, copy->type, to, from, copy->size_bytes);
    return cta_complete_tx(cta, op, copy->mbarrier, copy->size_bytes);
}

/* What a copy to global memory does with its bytes. */
static bool write_bytes(struct cta *cta, struct async_op *op, const uint8_t *from) {
    const struct bulk_copy *copy = copy_of(op);
    if (copy->size_bytes == 0)
        return true;
    uint8_t *to = cta_global(cta, op, copy->global, copy->size_bytes);
    if (to == NULL)
        return false;
    if (copy->reduces) {
        enum event_float elem;
        if (float_add_tmap(copy->reduce_op, copy->type, &elem))
            float_add_tell(cta, elem, copy->global, to, from, copy->size_bytes);
        tma_reduce(copy->reduce_op, copy->type, to, from, copy->size_bytes);
    } else if (copy->byte_mask == 0xffff) {
        memcpy(to, from, copy->size_bytes);
    } else {
        for (uint32_t i = 0; i < copy->size_bytes; i++) {
            if (copy->byte_mask >> i % BULK_ALIGN_BYTES & 1)
                to[i] = from[i];
        }
    }
    return true;
}

static bool store_effect(struct cta *cta, struct async_op *op) {
    const struct bulk_copy *copy = copy_of(op);
    const uint8_t *from = copy_shared_bytes(cta, op, copy->shared_source, copy->size_bytes);
    if (from == NULL || !write_bytes(cta, op, from))
        return false;
    copy_store_read(cta, op, copy->store.group);
    copy_store_written(cta, op, copy->store.group);
    return true;
}

static bool read_effect(struct cta *cta, struct async_op *op) {
    const struct bulk_copy *copy = copy_of(op);
    const uint8_t *from = copy_shared_bytes(cta, op, copy->shared_source, copy->size_bytes);
    if (from == NULL)
        return false;
    memcpy(copy->store.staging, from, copy->size_bytes);
    copy_store_read(cta, op, copy->store.group);
    return true;
}

static bool write_effect(struct cta *cta, struct async_op *op) {
    if (!write_bytes(cta, op, op->owned))
        return false;
    copy_store_written(cta, op, copy_of(op)->store.group);
    return true;
}

/* xinsn.data: what the selector found out. */
struct bulk_insn {
    async_effect *effect; /* of copies that an mbarrier completes */
    enum ptx_space to, from;
    bool reduces;
    enum tma_reduce_op reduce_op;
    enum tmap_type type;
};

/* Copies that an mbarrier completes: [d], [s], size, [mbar]{, mask}{, policy}. */
static bool issue_load(struct warp *w, const struct xinsn *x, unsigned lane) {
    const struct bulk_insn *how = x->data;
    struct bulk_copy copy = {.reduce_op = how->reduce_op, .type = how->type};
    bool from_global = how->from == SPACE_GLOBAL;
    read_size(w, &x->ops[2], lane, &copy);
    bool good = read_shared(w, x, &x->ops[0], how->to, lane, &copy, &copy.shared) &&
                (from_global ? read_global(w, x, &x->ops[1], lane, &copy)
                             : read_shared(w, x, &x->ops[1], SPACE_SHARED, lane, &copy,
                                           &copy.shared_source)) &&
                copy_unit_mbarrier(w, x, &x->ops[3], how->to, lane, &copy.mbarrier) &&
                (from_global || copy_in_cluster(w, x, lane));
    if (!good || copy.outside || copy.mbarrier > COPY_UNIT_ADDRESS_MAX)
        return good;
    if (ir_has(x->ir, QUAL_MULTICAST_CLUSTER) && !mask_is_own(w, x, &x->ops[4], lane))
        return false;
    struct async_op *op = async_new(w->cta, w, x, lane, how->effect);
    if (op == NULL)
        return false;
    *copy_of(op) = copy;
    op->signal_address = copy.mbarrier;
    op->writes_address = copy.shared;
    op->writes_bytes = copy.size_bytes;
    if (from_global)
        copy_tell(w, x, lane, ACCESS_READ, copy.size_bytes);
    return async_issue(w->cta, op);
}

/* Copies that a bulk group completes: [d], [s], size{, policy}{, mask}. */
static bool issue_store(struct warp *w, const struct xinsn *x, unsigned lane) {
    const struct bulk_insn *how = x->data;
    struct bulk_copy copy = {.reduces = how->reduces,
                             .reduce_op = how->reduce_op,
                             .type = how->type,
                             .byte_mask = 0xffff};
    read_size(w, &x->ops[2], lane, &copy);
    if (!read_shared(w, x, &x->ops[1], SPACE_SHARED, lane, &copy, &copy.shared_source) ||
        !read_global(w, x, &x->ops[0], lane, &copy))
        return false;
    if (copy.outside)
        return true;
    if (ir_has(x->ir, QUAL_CP_MASK))
        copy.byte_mask = (uint16_t)xop_lane(w, &x->ops[4], lane);
    static const struct copy_store_effects effects = {store_effect, read_effect, write_effect};
    copy_tell(w, x, lane, ACCESS_WRITE, copy.size_bytes);
    return copy_issue_store(w, x, lane, &effects, &copy.store, sizeof copy, copy.size_bytes);
}

static enum step load_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        if (!issue_load(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

static enum step store_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        if (!issue_store(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

static exec_fn *select_bulk(struct decode *d, struct xinsn *x, async_effect *effect, exec_fn *fn) {
    struct bulk_insn *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct bulk_insn));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    *how =
        (struct bulk_insn){.effect = effect, .to = ir_space(x->ir, 0), .from = ir_space(x->ir, 1)};
    how->reduces = copy_reduce_op(x->ir, &how->reduce_op);
    if (how->reduces)
        how->type = copy_reduce_type((enum ptx_type)x->ir->types[0]);
    x->data = how;
    return fn;
}

#define SELECT_BULK(name, effect, fn)                                                              \
    exec_select op_bulk_##name;                                                                    \
    exec_fn *op_bulk_##name(struct decode *d, struct xinsn *x) {                                   \
        return select_bulk(d, x, effect, fn);                                                      \
    }
SELECT_BULK(load, load_effect, load_fn)
SELECT_BULK(shared, shared_effect, load_fn)
SELECT_BULK(store, NULL, store_fn)
SELECT_BULK(reduce_shared, reduce_shared_effect, load_fn)
SELECT_BULK(reduce, NULL, store_fn)

/* A prefetch moves nothing that a program can see. */
static enum step prefetch_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        struct bulk_copy copy;
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (!read_global(w, x, &x->ops[0], lane, &copy))
            return STEP_FAULT;
    }
    return STEP_NEXT;
}
exec_select op_bulk_prefetch;
exec_fn *op_bulk_prefetch(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return prefetch_fn;
}

static struct bulk_group *groups_of(struct warp *w, unsigned lane) {
    return cta_thread_data(w->cta, THREAD_BULK_GROUPS, w->index, lane, sizeof(struct bulk_group));
}

static enum step commit_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        struct bulk_group *groups = groups_of(w, (unsigned)__builtin_ctz(left));
        if (groups == NULL)
            return warp_fault(w, x, FAULT_NO_MEMORY, mask, "no host memory for bulk groups");
        bulk_group_commit(groups);
    }
    return STEP_NEXT;
}
exec_select op_bulk_commit;
exec_fn *op_bulk_commit(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return commit_fn;
}

static enum step wait_group_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    bool reads_only = ir_has(x->ir, QUAL_READ);
    uint32_t count = (uint32_t)x->ops[0].imm;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        struct bulk_group *groups = groups_of(w, lane);
        if (groups == NULL)
            return warp_fault(w, x, FAULT_NO_MEMORY, mask, "no host memory for bulk groups");
        if (!bulk_group_waited(groups, count, reads_only)) {
            enum async_owner_kind owner = reads_only ? ASYNC_OWNER_BULK_READ : ASYNC_OWNER_BULK;
            w->wait = (struct wait){.kind = WAIT_BULK_GROUP,
                                    .address = count,
                                    .detail = async_owner(owner, w->index, lane)};
            return STEP_WAIT;
        }
    }
    return STEP_NEXT;
}
exec_select op_bulk_wait_group;
exec_fn *op_bulk_wait_group(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return wait_group_fn;
}
