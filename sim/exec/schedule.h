#ifndef SILTWIN_SCHEDULE_H
#define SILTWIN_SCHEDULE_H

#include "cta.h"
#include "image.h"
#include "warp.h"

/* The scheduler's own state of warps and CTAs: op_control.c and op_sync.c see it, other operations
 * do not. */

/* Registers and stack of one call of a function, for the lanes that made it together. */
struct frame {
    struct frame *parent;
    const struct xfunc *func;
    const struct xinsn *return_pc; /* in the parent's function */
    uint32_t depth;                /* 0: the entry */
    uint32_t lanes;                /* that have not returned */
    uint32_t local_base;           /* local address of its first variable */
    uint8_t *regs;                 /* func->frame_bytes */
};

/* Lanes of a warp that are at one place. */
struct group {
    const struct xinsn *pc;
    struct frame *frame;
    uint32_t lanes;
    struct wait wait;      /* kind WAIT_NONE: it can run */
    uint32_t seen_changes; /* cta_state.changes at its last try */
    uint64_t turn;         /* when it was picked last, to rotate */
    uint32_t seen_expire;  /* cta_state.expire at its last try */
};

enum { RANGES_KEPT = 8 };

struct move {
    uint32_t lanes;
    const struct xinsn *pc;
    struct frame *frame;
};

struct warp_sched {
    struct group groups[WARP_LANES];
    uint32_t group_count;
    uint32_t running; /* group index */
    const struct xinsn
        *run_start; /* first instruction since `steps` of the CTA was brought up to date */
    uint64_t turn;
    uint64_t slice_cost; /* extra steps that polls count against the time slice */
    bool rotate;         /* pick the group that waits longest */
    uint32_t favoured;   /* lanes of the group so picked: first for this slice */
    const struct global_range *ranges[RANGES_KEPT]; /* allocations of late, by instruction */
    /* Where STEP_JUMP sends lanes. Lanes of the mask that are in no move have exited. */
    struct move moves[WARP_LANES];
    uint32_t move_count;
    /* Local memory: `local_bytes` for each lane. */
    uint8_t *local;
    uint32_t local_bytes;
};

enum { NAMED_BARRIERS = 16, MAX_WARPS = 32, ARRIVALS_KEPT = 8, CALL_DEPTH_MAX = 1024 };

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

/* frame.c. frame_push: NULL with a fault recorded. */
struct frame *frame_push(struct warp *w, const struct xinsn *x, const struct xfunc *func,
                         struct frame *parent, const struct xinsn *return_pc, uint32_t lanes);
/* The lanes leave the frame; the last ones free it. */
void frame_leave(struct frame *frame, uint32_t lanes);
/* Leaves the frame and all that called it. */
void frame_leave_all(struct frame *frame, uint32_t lanes);

/* group.c */
enum warp_end {
    WARP_BLOCKED, /* no group can run */
    WARP_SLICE,   /* its time is over, it can go on */
    WARP_DONE,    /* all lanes have exited */
    WARP_FAULT,
};
/* Picks, merges and runs groups until the warp blocks, ends, or `slice` instructions have run. */
enum warp_end warp_run(struct warp *w, uint64_t slice);
/* Runs one group from its place; in interp.c. `stop`: give up there (NULL: never). */
enum group_end { GROUP_STOP, GROUP_SLICE, GROUP_WAIT, GROUP_MOVED, GROUP_FAULT };
/* `several`: the warp has other groups, give up at each jump. *mask: lanes that wait or moved. */
enum group_end group_run(struct warp *w, struct group *group, const struct xinsn *stop,
                         bool several, uint64_t slice, uint32_t *mask);
/* Hash of all that decides what the warp does next, memory apart. */
uint64_t warp_hash(const struct warp *w);

/* cta_state.c */
bool cta_begin(struct cta *cta, uint64_t index);
void cta_end(struct cta *cta);
struct mbarrier_entry *cta_mbarrier_entry(struct cta *cta, uint32_t address);

/* Whatever a group could wait for may have changed. */
static inline void cta_changed(struct cta *cta) {
    cta->state->changes++;
}

#endif
