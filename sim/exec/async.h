#ifndef SILTWIN_ASYNC_H
#define SILTWIN_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

/* Asynchronous operations: queued when the instruction issues, they take effect later, when the
 * policy says. eager: at once. lazy: only when something that can observe the completion would be
 * stuck otherwise, and then the ones that the stuck waiter depends on, before all others. random:
 * anywhere between, from a seed.
 *
 * Order that every policy keeps: an operation completes after the one named by `after`, and
 * operations on the same ordered pipe (ASYNC_TENSOR: tcgen05.mma, cp and commit of one thread run
 * in issue order, tcgen05.md section 10) complete in the order of issue. Operations of that pipe
 * also follow those of another warp that tcgen05.fence::before_thread_sync and after_thread_sync
 * stand between. Everything else is free. */

struct cta;
struct warp;
struct xinsn;

enum async_pipe {
    ASYNC_FREE,   /* bulk and tensor copies, loads of cp.async: no order among them */
    ASYNC_TENSOR, /* tcgen05.mma, tcgen05.cp, tcgen05.commit: issue order */
    ASYNC_TMEM_LD,
    ASYNC_TMEM_ST,
};

enum { ASYNC_PAYLOAD_BYTES = 512, ASYNC_NO_SIGNAL = 0xffffffff };

struct async_op;
/* Does the effect of the operation. False after cta_fault. */
typedef bool async_effect(struct cta *cta, struct async_op *op);

struct async_op {
    async_effect *effect;
    enum async_pipe pipe;
    uint32_t signal_address; /* shared address of the mbarrier that completion signals, or
                                ASYNC_NO_SIGNAL: what lazy uses to find what a waiter depends on */
    uint64_t id;             /* set by async_new: 1, 2, ... in order of issue in the CTA */
    uint64_t after;          /* id of an operation that must complete first, 0: none */
    uint32_t writes_address; /* the shared memory that it will write, where that is one range: */
    uint32_t writes_bytes;   /* 0: none, or several */
    uint64_t owner;          /* key of whoever waits for it by count (async_owner), 0: nobody */
    uint64_t released;       /* time of the before_thread_sync fence behind it, 0: none yet */
    uint64_t acquired;       /* time of the after_thread_sync fence before it, 0: none */
    uint32_t warp, lane;     /* who issued it, and where */
    const struct xinsn *insn;
    union {
        uint8_t bytes[ASYNC_PAYLOAD_BYTES];
        uint64_t align;
    } payload;
    void *owned;           /* from malloc, or NULL: the queue frees it with the operation */
    struct async_op *next; /* the queue's own */
};

/* What waits for operations by count; a waiter puts the same key in wait.detail. */
enum async_owner_kind {
    ASYNC_OWNER_BULK = 1,
    ASYNC_OWNER_BULK_READ,
    ASYNC_OWNER_CP_ASYNC,
    ASYNC_OWNER_TMEM_LD,
    ASYNC_OWNER_TMEM_ST
};
static inline uint64_t async_owner(enum async_owner_kind kind, uint32_t warp, uint32_t lane) {
    return (uint64_t)kind << 32 | (uint64_t)warp << 8 | lane;
}

/* A new operation of that warp and lane, payload uninitialised. NULL (fault recorded) without
 * memory. */
struct async_op *async_new(struct cta *cta, const struct warp *w, const struct xinsn *x,
                           unsigned lane, async_effect *effect);
/* Queues it; under eager it takes effect before this returns. False when its effect faulted. */
bool async_issue(struct cta *cta, struct async_op *op);
/* tcgen05.fence::before_thread_sync and ::after_thread_sync of that warp's lanes. */
void async_release_tensor(struct cta *cta, uint32_t warp, uint32_t lanes);
void async_acquire_tensor(struct cta *cta, uint32_t warp);
/* Whether operation `id` has taken effect. */
bool async_done(const struct cta *cta, uint64_t id);
/* Makes operation `id` (and what it must follow) take effect now: for a dependence that the
 * hardware honours by itself. False when an effect faulted. */
bool async_force(struct cta *cta, uint64_t id);

#endif
