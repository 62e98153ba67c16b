#ifndef SILTWIN_SCHEDULE_H
#define SILTWIN_SCHEDULE_H

#include "cta_state.h"
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

enum { RANGES_KEPT = 8, CALL_DEPTH_MAX = 1024 };

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

#endif
