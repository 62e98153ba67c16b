/* See copy_operands.h. */
#include "copy_operands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_group.h"
#include "exec.h"

struct copy_shared_rule {
    enum ptx_space space;
    uint32_t align_bytes;
    bool in_memory; /* judged before the alignment */
};

/* The three rules in the order in which they are looked at. */
static bool shared_address(struct warp *w, const struct xinsn *x, const struct xop *op,
                           const struct copy_shared_rule *rule, unsigned lane, uint32_t *address) {
    uint64_t a = warp_address(w, op, rule->space, lane);
    uint32_t bit = UINT32_C(1) << lane;
    if (rule->space == SPACE_GENERIC && warp_generic(w, a, &a) != SPACE_SHARED) {
        warp_fault(w, x, FAULT_ADDRESS_SPACE, bit,
                   "0x%" PRIx64 " is a generic address outside shared memory", a);
        return false;
    }
    if (a >> SHARED_RANK_BIT != 0) {
        warp_fault(w, x, warp_absent_cta(w, a >> SHARED_RANK_BIT), bit,
                   "shared address 0x%" PRIx64 " names CTA %u of a cluster, which there is not", a,
                   (unsigned)(a >> SHARED_RANK_BIT));
        return false;
    }
    if (rule->in_memory && a - a % rule->align_bytes >= w->cta->shared_end) {
        warp_fault(w, x, FAULT_ILLEGAL_ADDRESS, bit,
                   "shared address 0x%" PRIx64
                   " is beyond the CTA's shared memory, which ends at 0x%x",
                   a, w->cta->shared_end);
        return false;
    }
    if (a % rule->align_bytes != 0) {
        warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, bit,
                   "shared address 0x%" PRIx64 " must be a multiple of %u", a, rule->align_bytes);
        return false;
    }
    *address = (uint32_t)a;
    return true;
}

bool copy_shared_address(struct warp *w, const struct xinsn *x, const struct xop *op,
                         enum ptx_space space, unsigned lane, uint32_t align_bytes,
                         uint32_t *address) {
    struct copy_shared_rule rule = {space, align_bytes, false};
    return shared_address(w, x, op, &rule, lane, address);
}

bool copy_shared_start(struct warp *w, const struct xinsn *x, const struct xop *op,
                       enum ptx_space space, unsigned lane, uint32_t align_bytes,
                       uint32_t *address) {
    uint64_t a = warp_address(w, op, space, lane);
    struct copy_shared_rule rule = {space, align_bytes, (uint32_t)a <= COPY_UNIT_ADDRESS_MAX};
    return shared_address(w, x, op, &rule, lane, address);
}

bool copy_unit_mbarrier(struct warp *w, const struct xinsn *x, const struct xop *op,
                        enum ptx_space space, unsigned lane, uint32_t *address) {
    uint64_t a = warp_address(w, op, space, lane);
    bool outside = a >> SHARED_RANK_BIT == 0 && a > COPY_UNIT_ADDRESS_MAX;
    return outside ? copy_shared_address(w, x, op, space, lane, MBARRIER_BYTES, address)
                   : copy_mbarrier_address(w, x, op, space, lane, address);
}

bool copy_mbarrier_address(struct warp *w, const struct xinsn *x, const struct xop *op,
                           enum ptx_space space, unsigned lane, uint32_t *address) {
    struct copy_shared_rule rule = {space, MBARRIER_BYTES, true};
    return shared_address(w, x, op, &rule, lane, address) &&
           warp_memory(w, x, lane, SPACE_SHARED, *address, MBARRIER_BYTES, MBARRIER_BYTES) != NULL;
}

bool copy_in_cluster(struct warp *w, const struct xinsn *x, unsigned lane) {
    if (w->cta->launch->explicit_cluster)
        return true;
    warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, UINT32_C(1) << lane,
               "this instruction needs a launch with cluster dimensions: give the kernel "
               ".reqnctapercluster or the launch a cluster attribute, 1 1 1 will do");
    return false;
}

enum step copy_mbarrier_fault(struct warp *w, const struct xinsn *x, unsigned lane,
                              uint32_t address, const struct mbarrier *object,
                              enum mbarrier_outcome outcome) {
    return warp_fault(w, x, FAULT_LAUNCH_FAILED, UINT32_C(1) << lane,
                      "mbarrier at shared address 0x%x: %s (phase %" PRIu64
                      ", %u of %u arrivals pending, tx-count %d)",
                      address, mbarrier_outcome_text(outcome), object->phase, object->pending,
                      object->expected, object->tx_count);
}

uint8_t *copy_shared_bytes(struct cta *cta, const struct async_op *op, uint32_t address,
                           uint32_t size_bytes) {
    uint8_t *bytes = size_bytes == 0 ? cta->shared : cta_shared(cta, address, size_bytes);
    if (bytes == NULL)
        cta_fault(cta, op, FAULT_ILLEGAL_ADDRESS,
                  "shared addresses 0x%x to 0x%" PRIx64
                  " of the copy are beyond the CTA's shared memory, which ends at 0x%x",
                  address, (uint64_t)address + size_bytes, cta->shared_end);
    return bytes;
}

static struct bulk_group *groups_of(struct cta *cta, const struct async_op *op) {
    return cta_thread_data(cta, THREAD_BULK_GROUPS, op->warp, op->lane, sizeof(struct bulk_group));
}

static struct async_op *new_part(struct warp *w, const struct xinsn *x, unsigned lane,
                                 async_effect *effect, enum async_owner_kind owner,
                                 const struct copy_store *payload, size_t payload_bytes) {
    struct async_op *op = async_new(w->cta, w, x, lane, effect);
    if (op == NULL)
        return NULL;
    memcpy(op->payload.bytes, payload, payload_bytes);
    op->owner = async_owner(owner, w->index, lane);
    return op;
}

/* Reading and writing apart; frees the staging memory unless the writing part has it. */
static bool issue_parts(struct warp *w, const struct xinsn *x, unsigned lane,
                        const struct copy_store_effects *effects, const struct copy_store *payload,
                        size_t payload_bytes) {
    struct async_op *read =
        new_part(w, x, lane, effects->read, ASYNC_OWNER_BULK_READ, payload, payload_bytes);
    uint64_t read_id = read != NULL ? read->id : 0;
    struct async_op *write = NULL;
    if (read != NULL && async_issue(w->cta, read))
        write = new_part(w, x, lane, effects->write, ASYNC_OWNER_BULK, payload, payload_bytes);
    if (write == NULL) {
        free(payload->staging);
        return false;
    }
    write->owned = payload->staging;
    write->after = read_id;
    return async_issue(w->cta, write);
}

bool copy_issue_store(struct warp *w, const struct xinsn *x, unsigned lane,
                      const struct copy_store_effects *effects, struct copy_store *payload,
                      size_t payload_bytes, uint32_t staging_bytes) {
    struct cta *cta = w->cta;
    struct bulk_group *groups =
        cta_thread_data(cta, THREAD_BULK_GROUPS, w->index, lane, sizeof(struct bulk_group));
    bool staged = cta->launch->policy != POLICY_EAGER;
    payload->staging = staged ? malloc((size_t)staging_bytes + 1) : NULL;
    if (groups == NULL || (staged && payload->staging == NULL)) {
        free(payload->staging);
        warp_fault(w, x, FAULT_NO_MEMORY, UINT32_C(1) << lane, "no host memory for a bulk store");
        return false;
    }
    payload->group = bulk_group_add(groups);
    if (!staged) {
        struct async_op *op =
            new_part(w, x, lane, effects->both, ASYNC_OWNER_BULK, payload, payload_bytes);
        return op != NULL && async_issue(cta, op);
    }
    return issue_parts(w, x, lane, effects, payload, payload_bytes);
}

void copy_store_read(struct cta *cta, const struct async_op *op, uint64_t group) {
    bulk_group_read(groups_of(cta, op), group);
}

void copy_store_written(struct cta *cta, const struct async_op *op, uint64_t group) {
    bulk_group_complete(groups_of(cta, op), group);
}

void copy_tell(struct warp *w, const struct xinsn *x, unsigned lane, enum event_access access,
               uint64_t bytes) {
    if (!warp_observed(w, EVENT_TENSOR_COPY))
        return;
    struct event event = {.kind = EVENT_TENSOR_COPY,
                          .tensor = {.access = access, .boxes = 1, .bytes = bytes}};
    warp_event(w, x, UINT32_C(1) << lane, &event);
}

bool copy_reduce_op(const struct ir_insn *insn, enum tma_reduce_op *op) {
    static const struct {
        enum ptx_qual qual;
        enum tma_reduce_op op;
    } rows[] = {{QUAL_ADD, TMA_REDUCE_ADD}, {QUAL_MIN, TMA_REDUCE_MIN}, {QUAL_MAX, TMA_REDUCE_MAX},
                {QUAL_INC, TMA_REDUCE_INC}, {QUAL_DEC, TMA_REDUCE_DEC}, {QUAL_AND, TMA_REDUCE_AND},
                {QUAL_OR, TMA_REDUCE_OR},   {QUAL_XOR, TMA_REDUCE_XOR}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ir_has(insn, rows[i].qual)) {
            *op = rows[i].op;
            return true;
        }
    }
    return false;
}

enum tmap_type copy_reduce_type(enum ptx_type type) {
    switch (type) {
    case PTX_S32: return TMAP_INT32;
    case PTX_U64:
    case PTX_B64: return TMAP_UINT64;
    case PTX_S64: return TMAP_INT64;
    case PTX_F16: return TMAP_FLOAT16;
    case PTX_BF16: return TMAP_BFLOAT16;
    case PTX_F32: return TMAP_FLOAT32;
    case PTX_F64: return TMAP_FLOAT64;
    default: return TMAP_UINT32;
    }
}
