#ifndef SILTWIN_COPY_OPERANDS_H
#define SILTWIN_COPY_OPERANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "async.h"
#include "cta.h"
#include "mbarrier.h"
#include "tma_reduce.h"
#include "warp.h"

/* What mbarrier and copy instructions share: operands that name shared memory, the group of a
 * store, the operation of a reduction. */

/* Shared address that `lane` names with an address operand of `space` (shared, shared::cluster, or
 * generic, then inside the shared window), a multiple of `align_bytes`. False with a fault
 * recorded: 716 for the alignment; an address of another CTA of a cluster is not modelled. Bounds
 * are left to whoever accesses the memory. */
bool copy_shared_address(struct warp *w, const struct xinsn *x, const struct xop *op,
                         enum ptx_space space, unsigned lane, uint32_t align_bytes,
                         uint32_t *address);

/* The same for the start of a bulk copy that moves something: beyond the CTA's shared memory it is
 * 700 before it is 716. The unit looks at 18 bits; where bits 18 to 23 are not 0 too, nothing is
 * judged but the alignment, and nothing is moved (traces/silicon/observations.md, misuse). */
enum { COPY_UNIT_ADDRESS_MAX = (1 << 18) - 1 };
bool copy_shared_start(struct warp *w, const struct xinsn *x, const struct xop *op,
                       enum ptx_space space, unsigned lane, uint32_t align_bytes,
                       uint32_t *address);

/* The same for the mbarrier of a copy. */
bool copy_unit_mbarrier(struct warp *w, const struct xinsn *x, const struct xop *op,
                        enum ptx_space space, unsigned lane, uint32_t *address);

/* The same for the operand of an mbarrier instruction; bounds are checked. */
bool copy_mbarrier_address(struct warp *w, const struct xinsn *x, const struct xop *op,
                           enum ptx_space space, unsigned lane, uint32_t *address);

/* Instructions that go from CTA to CTA (st.async, red.async, bulk copies and reductions from shared
 * to shared::cluster) need a launch with cluster dimensions, even for their own CTA: without them
 * an H200 ends with 715 (traces/silicon/observations.md 4). False with that fault recorded. */
bool copy_in_cluster(struct warp *w, const struct xinsn *x, unsigned lane);

/* Records that an operation on the mbarrier at `address` failed; STEP_FAULT. */
enum step copy_mbarrier_fault(struct warp *w, const struct xinsn *x, unsigned lane,
                              uint32_t address, const struct mbarrier *object,
                              enum mbarrier_outcome outcome);

/* Host bytes of a shared or global range for the effect of a copy; NULL with fault 700 recorded. */
uint8_t *copy_shared_bytes(struct cta *cta, const struct async_op *op, uint32_t address,
                           uint32_t size_bytes);

/* Copies to global memory, which a bulk group completes. Under eager one operation reads and
 * writes; else one reads the source into host memory and another, after it, writes: .read waits for
 * the first alone. The payload of all three effects begins with this. */
struct copy_store {
    uint64_t group;   /* of the thread */
    uint8_t *staging; /* of the reading effect: where the bytes go */
};
struct copy_store_effects {
    async_effect *both;
    async_effect *read;  /* calls copy_store_read at its end */
    async_effect *write; /* finds the bytes at op->owned; calls copy_store_written at its end */
};

/* Joins the thread's open bulk group and queues the operations. `payload` is copied, its head
 * filled in. False with a fault recorded. */
bool copy_issue_store(struct warp *w, const struct xinsn *x, unsigned lane,
                      const struct copy_store_effects *effects, struct copy_store *payload,
                      size_t payload_bytes, uint32_t staging_bytes);
void copy_store_read(struct cta *cta, const struct async_op *op, uint64_t group);
void copy_store_written(struct cta *cta, const struct async_op *op, uint64_t group);

/* Tells the observers of one TMA instruction that moves `bytes` of global memory. */
void copy_tell(struct warp *w, const struct xinsn *x, unsigned lane, enum event_access access,
               uint64_t bytes);

/* Reduction that the qualifiers name; false when they name none. */
bool copy_reduce_op(const struct ir_insn *insn, enum tma_reduce_op *op);
/* Element type of a bulk reduction as the tensor map's numbering has it. */
enum tmap_type copy_reduce_type(enum ptx_type type);

#endif
