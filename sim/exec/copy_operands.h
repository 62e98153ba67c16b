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

/* The same for an mbarrier operand; bounds are checked. */
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

/* The bulk copy joins the open bulk group of its thread: sets op->owner; false without memory. */
bool copy_join_group(struct cta *cta, struct async_op *op, uint64_t *group);
/* It has read its source and made its writes. */
void copy_leave_group(struct cta *cta, const struct async_op *op, uint64_t group);

/* Tells the observers of one TMA instruction that moves `bytes` of global memory. */
void copy_tell(struct warp *w, const struct xinsn *x, unsigned lane, enum event_access access,
               uint64_t bytes);

/* Reduction that the qualifiers name; false when they name none. */
bool copy_reduce_op(const struct ir_insn *insn, enum tma_reduce_op *op);
/* Element type of a bulk reduction as the tensor map's numbering has it. */
enum tmap_type copy_reduce_type(enum ptx_type type);

#endif
