#ifndef SILTWIN_CTA_STATE_H
#define SILTWIN_CTA_STATE_H

#include "cta.h"
#include "fault.h"
#include "mbarrier.h"

/* The scheduler's own state of a CTA: barriers, time, what happened of late. */

enum { NAMED_BARRIERS = 16, MAX_WARPS = 32, ARRIVALS_KEPT = 8 };

/* What bar.red gives. */
struct barrier_result {
    uint32_t count;
    bool all, any;
};

/* A barrier of bar.sync. A warp counts when all its live lanes have come (each lane waits for
 * itself). */
struct named_barrier {
    bool active;
    uint32_t threads; /* asked by b, 0: the whole CTA */
    uint32_t generation;
    uint32_t arrived[MAX_WARPS];      /* lanes of each warp */
    struct barrier_result so_far;     /* of bar.red */
    struct barrier_result results[2]; /* of the last two generations */
};

struct mbarrier_arrival {
    const struct xinsn *insn;
    uint32_t warp; /* UINT32_MAX: a unit */
    uint32_t lane;
};

struct mbarrier_entry {
    uint32_t address;
    struct mbarrier object;
    struct mbarrier_arrival arrivals[ARRIVALS_KEPT]; /* of the running phase, the last ones */
    uint32_t arrival_count;
    uint64_t announced_bytes, delivered_bytes; /* in the running phase */
    int32_t last_tx_count;
};

struct run; /* grid.h */

struct cta_state {
    struct run *run;
    uint64_t clock_reads; /* a program that looks at the time may end by itself */
    uint64_t steps;       /* warp instructions so far: %clock */
    bool progressed;      /* a side effect since the scheduler looked last */
    uint32_t changes;     /* counts everything that could end a wait */
    uint32_t expire;      /* counts the times that every try_wait was made to give up */
    uint32_t live_warps;
    uint32_t idle_rounds, patience; /* rounds without a side effect; since an operation completed */
    struct fault *fault;            /* of this CTA; kind FAULT_NONE so far */
    struct named_barrier barriers[NAMED_BARRIERS];
    struct mbarrier_entry *mbarriers;
    uint16_t *mbarrier_index; /* by address / 8: place in mbarriers, plus one */
    uint32_t mbarrier_count, mbarrier_capacity;
    void *thread_data[THREAD_DATA_COUNT]; /* arrays by thread */
    uint32_t thread_data_bytes[THREAD_DATA_COUNT];
    uint32_t cluster_arrived[MAX_WARPS]; /* lanes at barrier.cluster in this phase */
    const struct observer *observer;
    void *observer_ctx;
    uint32_t cluster_ctaid[3], smid;
};

bool cta_begin(struct cta *cta, uint64_t index);
void cta_end(struct cta *cta);
struct mbarrier_entry *cta_mbarrier_entry(struct cta *cta, uint32_t address);

/* Whatever a group could wait for may have changed. */
static inline void cta_changed(struct cta *cta) {
    cta->state->changes++;
}

#endif
