#ifndef SILTWIN_CTA_H
#define SILTWIN_CTA_H

#include <stdbool.h>
#include <stdint.h>

#include "async.h"
#include "global_memory.h"
#include "mbarrier.h"
#include "ptx_words.h"
#include "tmem.h"

struct exec_launch;
struct warp;
struct xinsn;

enum {
    SHARED_FIRST = 0x400,        /* user shared memory starts here (H200 observation 31) */
    SHARED_RESERVED_END = 0x120, /* of that, what the system uses: %reserved_smem_offset_end */
    SHARED_RANK_BIT = 24,        /* shared::cluster address = rank << 24 | offset, observation 32 */
};

/* One running CTA, as operations see it. */
struct cta {
    const struct exec_launch *launch;
    struct global_memory *memory;
    uint64_t index; /* linear in the grid */
    uint32_t ctaid[3];
    uint32_t thread_count, warp_count;
    struct warp *warps;
    uint8_t *shared;                       /* host bytes of shared addresses 0 .. shared_end */
    uint32_t shared_end;                   /* first shared address past the CTA's memory */
    struct async_queue *async;             /* asynchronous operations in flight */
    struct tmem *tmem;                     /* Tensor Memory of the SM, NULL below sm_100 */
    struct tmem_allocator *tmem_allocator; /* of the SM */
    struct tmem_cta tmem_cta;              /* this CTA's part; `cta` is its slot on the SM */
    struct cta_state *state;               /* the scheduler's: mbarriers, named barriers, faults */
};

/* Host bytes of a shared address range, for asynchronous units; NULL when it runs past the CTA's
 * memory (an H200 ends with 700, observation 50). */
uint8_t *cta_shared(const struct cta *cta, uint64_t address, uint64_t size_bytes);

/* The mbarrier object at a shared address (its state lives apart from the bytes, observation 11).
 * With `create` one is made when there is none; else NULL. Valid until the next create. */
struct mbarrier *cta_mbarrier(struct cta *cta, uint32_t address, bool create);

/* Every change of an mbarrier's state goes through here afterwards: wakes the groups that wait on
 * it, keeps who arrived in this phase for the hang report, tells the observer. `w`, `x` and `lane`
 * say who did it; w NULL: an asynchronous unit on behalf of operation `op`. */
void cta_mbarrier_changed(struct cta *cta, uint32_t address, uint64_t phase_before, struct warp *w,
                          const struct xinsn *x, unsigned lane, const struct async_op *op);

/* complete_tx of a unit on behalf of `op`: bytes land on the mbarrier at `address`. False after
 * having recorded the fault (no object there, more bytes than owed ...). */
bool cta_complete_tx(struct cta *cta, const struct async_op *op, uint32_t address, uint32_t bytes);
/* The arrive of tcgen05.commit and cp.async.mbarrier.arrive, on behalf of `op`. */
bool cta_unit_arrive(struct cta *cta, const struct async_op *op, uint32_t address, uint32_t count);

/* Storage of one thread for a unit: zeroed at first use, lives as long as the CTA runs. Always ask
 * with the same size for the same kind. NULL without memory. */
enum thread_data {
    THREAD_BULK_GROUPS,
    THREAD_CP_ASYNC,
    THREAD_TCGEN05_ST,
    THREAD_TCGEN05_MMA,
    THREAD_WGMMA,
    THREAD_MMA_WARP,
    THREAD_DATA_COUNT
};
void *cta_thread_data(struct cta *cta, enum thread_data kind, uint32_t warp, unsigned lane,
                      uint32_t size_bytes);

/* Fault found by an asynchronous operation; blamed on the instruction that issued it. Returns
 * false. */
bool cta_fault(struct cta *cta, const struct async_op *op, enum fault_kind kind, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* Host bytes of a global range for a unit, NULL after having recorded fault 700. */
uint8_t *cta_global(struct cta *cta, const struct async_op *op, uint64_t address,
                    uint64_t size_bytes);

#endif
