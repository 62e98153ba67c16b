#ifndef SILTWIN_WARP_H
#define SILTWIN_WARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "event.h"
#include "fault.h"
#include "ir.h"
#include "strbuf.h"

/* What the semantics of instructions (op_*.c) work with: a decoded instruction, the registers of a
 * warp, its memory. Registers are stored by register: 8-, 16- and 32-bit ones as uint32_t[32] (zero
 * above their width), 64-bit ones as uint64_t[32], b128 as uint64_t[2][32] (low words first),
 * predicates as one uint32_t mask. An immediate is a register too, in the kernel's constant area,
 * with all lanes alike, so an operation never asks which of the two it has. */

enum { WARP_LANES = 32 };
#define LANES_ALL UINT32_C(0xffffffff)

struct warp;
struct cta;
struct xinsn;

enum xop_kind {
    XOP_NONE,    /* optional operand that was not written */
    XOP_VALUE,   /* register or immediate */
    XOP_SINK,    /* _ */
    XOP_ADDRESS, /* elems[0] is the base value, `imm` the byte offset added to it */
    XOP_TENSOR,  /* elems[0] the map's address, elems[1..] coordinates */
    XOP_VECTOR,  /* elems */
    XOP_PAIR,    /* elems[0] | elems[1] */
    XOP_SREG,    /* special register `imm` (enum ptx_sreg), `component` */
    XOP_LABEL,   /* `imm`: instruction index */
    XOP_FUNC,    /* `imm`: function index of the kernel image */
    XOP_LIST,    /* `imm`: list index */
};

struct xop {
    uint8_t kind; /* enum xop_kind */
    uint8_t base; /* 0: the frame's registers, 1: the kernel's constants */
    uint8_t bits; /* width of the register: 1, 8, 16, 32, 64, 128 */
    uint8_t component;
    bool negated;      /* source predicate */
    bool is_immediate; /* then `imm` has the bits too */
    uint16_t elem_count;
    uint32_t offset_bytes; /* from the base */
    int64_t imm;
    const struct xop *elems;
};

enum step {
    STEP_NEXT,   /* done: the lanes go on behind the instruction */
    STEP_YIELD,  /* done: and now let others run (a poll that found nothing, nanosleep) */
    STEP_BRANCH, /* done: the lanes go to the instruction that x->data points to */
    STEP_JUMP,   /* done: the operation moved the lanes itself (schedule.h) */
    STEP_WAIT,   /* not done: try again when what warp->wait names has changed */
    STEP_FAULT,  /* a fault was recorded with warp_fault */
};

/* Runs the instruction for the lanes of `mask` (never empty; guard already applied). */
typedef enum step exec_fn(struct warp *w, const struct xinsn *x, uint32_t mask);

struct xinsn {
    exec_fn *run;
    const struct ir_insn *ir;
    const struct xop *ops;       /* ir->operand_count of them */
    const void *data;            /* what the selector prepared */
    uint32_t guard_offset_bytes; /* predicate's place in the frame; UINT32_MAX without a guard */
    bool guard_negated;
};

/* State of decoding one kernel, for selectors. */
struct decode {
    struct arena *arena; /* of the module; for xinsn.data */
    const struct ir_module *module;
    const struct ir_func *func;
    struct strbuf *log;
    uint16_t sm;
    bool failed; /* an error was logged */
};

/* A selector picks the function for one instruction from its types and qualifiers, when the module
 * is decoded. NULL after decode_unsupported. x->ir and x->ops are set; it may set x->data. */
typedef exec_fn *exec_select(struct decode *d, struct xinsn *x);
/* Logs "file:line:column: error: ..." as not modelled; returns NULL. */
exec_fn *decode_unsupported(struct decode *d, const struct xinsn *x, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a waiting group waits for; the hang report is made from it. At the first try of an
 * instruction warp->wait.kind is WAIT_NONE. An operation that returns STEP_WAIT fills it in; when
 * the same instruction is tried again it finds what it left there, so that it can tell "arrived
 * already" from "new". Lanes outside the operation's mask do not wait with it: they go on. Where
 * some lanes of a polling operation (try_wait) would pass, it must let all go on, the others with
 * false. */
enum wait_kind {
    WAIT_NONE,
    WAIT_MBARRIER,   /* address, parity: try_wait was false */
    WAIT_BARRIER,    /* bar.sync: id */
    WAIT_LANES,      /* .sync: lanes of the mask are elsewhere */
    WAIT_BULK_GROUP, /* cp.async.bulk.wait_group and cp.async.wait_group: count */
    WAIT_TMEM_ALLOC, /* tcgen05.alloc: no room */
    WAIT_TMEM,       /* tcgen05.wait::ld / ::st */
    WAIT_ASYNC,      /* any other asynchronous operation: id */
    WAIT_CLUSTER,    /* barrier.cluster.wait */
};

struct wait {
    enum wait_kind kind;
    uint32_t address; /* shared address of an mbarrier; barrier id; group count */
    bool by_token;
    uint32_t parity;
    uint64_t detail; /* lanes missing, operation id, ... */
};

/* The running group of lanes of a warp: what operations may touch. The scheduler's own state is
 * behind it (schedule.h). */
struct warp {
    uint8_t *base[2]; /* [0] registers of the running frame, [1] constants of the kernel */
    struct cta *cta;
    uint32_t index;       /* in the CTA */
    uint32_t live;        /* lanes that exist and have not exited */
    uint32_t group;       /* lanes of the running group (before the guard) */
    uint32_t carry;       /* the condition code of .cc forms, one bit a lane */
    struct wait wait;     /* set by an operation that returns STEP_WAIT */
    bool wgmma_in_flight; /* has issued wgmma that it did not wait for */
    bool wait_expired;    /* nothing else can run: a try_wait must return false now, not wait */
    const struct global_range *last_range; /* look-up cache of global accesses */
    struct warp_sched *sched;
};

static inline uint32_t *xop_u32(const struct warp *w, const struct xop *op) {
    return (uint32_t *)(void *)(w->base[op->base] + op->offset_bytes);
}
static inline uint64_t *xop_u64(const struct warp *w, const struct xop *op) {
    return (uint64_t *)(void *)(w->base[op->base] + op->offset_bytes);
}
static inline float *xop_f32(const struct warp *w, const struct xop *op) {
    return (float *)(void *)(w->base[op->base] + op->offset_bytes);
}
static inline double *xop_f64(const struct warp *w, const struct xop *op) {
    return (double *)(void *)(w->base[op->base] + op->offset_bytes);
}
/* Value of one lane, zero-extended, whatever the register's width (128 bits: the low word). */
static inline uint64_t xop_lane(const struct warp *w, const struct xop *op, unsigned lane) {
    return op->bits > 32 ? xop_u64(w, op)[lane] : xop_u32(w, op)[lane];
}
/* Writes a value of at most 64 bits, cut to the register's width. */
static inline void xop_set_lane(const struct warp *w, const struct xop *op, unsigned lane,
                                uint64_t value) {
    if (op->bits > 32)
        xop_u64(w, op)[lane] = value;
    else
        xop_u32(w, op)[lane] =
            (uint32_t)(op->bits == 32 ? value : value & ((UINT64_C(1) << op->bits) - 1));
}
/* Source predicate of all lanes, negation applied. */
static inline uint32_t xop_pred(const struct warp *w, const struct xop *op) {
    uint32_t bits = *xop_u32(w, op);
    return op->negated ? ~bits : bits;
}
/* Sets the predicate of the lanes in `mask` to their bits of `value`. A sink is allowed. */
static inline void xop_set_pred(const struct warp *w, const struct xop *op, uint32_t mask,
                                uint32_t value) {
    if (op->kind == XOP_VALUE) {
        uint32_t *p = xop_u32(w, op);
        *p = (*p & ~mask) | (value & mask);
    }
}

/* Records the fault (the launch's first one wins) and returns STEP_FAULT. */
enum step warp_fault(struct warp *w, const struct xinsn *x, enum fault_kind kind, uint32_t lanes,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Address that lane `lane` names with an XOP_ADDRESS: base plus offset, 32 bits wide for shared and
 * local spaces. */
uint64_t warp_address(const struct warp *w, const struct xop *op, enum ptx_space space,
                      unsigned lane);

/* Host bytes of [address, address + size_bytes) of `space`, as the lane sees them; generic
 * addresses are resolved by their window. Checks alignment to `align_bytes` and bounds. NULL after
 * having recorded the fault that an H200 ends with (observations 34, 35). Shared addresses: 0 to
 * 0x400 is the system's, readable and writable (38). */
uint8_t *warp_memory(struct warp *w, const struct xinsn *x, unsigned lane, enum ptx_space space,
                     uint64_t address, unsigned size_bytes, unsigned align_bytes);

/* The generic address of address 0 of a state space, 0 for global. */
uint64_t warp_window(const struct warp *w, enum ptx_space space);
/* What an access to a CTA that the cluster has not ends with: 719 where a launch with cluster
 * dimensions could have such a rank, else 715. */
enum { CLUSTER_CTAS_MOST = 16 };
enum fault_kind warp_absent_cta(const struct warp *w, uint64_t rank);

/* Resolves a generic address: the space it falls in, and the address there. */
enum ptx_space warp_generic(const struct warp *w, uint64_t address, uint64_t *in_space);

/* For operations on a whole membermask: true when every live lane of `needed` is in the running
 * group, else false with w->wait set (return STEP_WAIT). Lanes that can never come are a hang that
 * the scheduler reports. */
bool warp_has_lanes(struct warp *w, uint32_t needed);

/* Special register of all 32 lanes. */
void warp_read_sreg(struct warp *w, enum ptx_sreg sreg, unsigned component,
                    uint64_t values[WARP_LANES]);

/* True when an observer wants that kind of event. */
bool warp_observed(const struct warp *w, enum event_kind kind);
/* Fills in who and where, and hands the event on. */
void warp_event(struct warp *w, const struct xinsn *x, uint32_t lanes, struct event *event);

/* Says that the running instruction had a side effect another thread could see (store, arrive,
 * atomic, asynchronous operation): resets the idle budget. */
void warp_progress(struct warp *w);

#endif
