#ifndef SILTWIN_EVENT_H
#define SILTWIN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct xinsn;
struct warp;
struct cta;

/* What an observer can see of a launch. An event is built only when an observer asks for its kind;
 * with no observer attached the executor never looks further than one null pointer. */
enum event_kind {
    EVENT_CTA_BEGIN,
    EVENT_CTA_END,
    EVENT_INSN,           /* one instruction of a warp, before it runs */
    EVENT_GLOBAL_ACCESS,  /* address[], size_bytes per lane; local, const and param are not told */
    EVENT_SHARED_ACCESS,  /* address[] are shared addresses; size_bytes per lane */
    EVENT_MBARRIER,       /* an operation on an mbarrier, by a thread or by a completion */
    EVENT_ASYNC_ISSUE,    /* an asynchronous operation was queued */
    EVENT_ASYNC_COMPLETE, /* ... and took effect */
    EVENT_TENSOR_COPY,    /* one TMA instruction: boxes, bytes */
    EVENT_MMA,            /* one tcgen05.mma: m, n, k */
    EVENT_BARRIER,        /* bar.sync and the like: a warp arrived or left */
    EVENT_TMEM_ACCESS,    /* tcgen05.ld, st, cp: lanes, columns */
    EVENT_REACH, /* lanes came to an instruction, guard not applied. Told again when they waited at
                    it and others joined them */
    EVENT_DONE,  /* an instruction ran and its lanes go on */
    EVENT_FLOAT_ADD, /* floating-point numbers are about to be added to global memory, one
                        contiguous run of them */
    EVENT_KIND_COUNT
};

enum event_float { EVENT_F16, EVENT_BF16, EVENT_F32, EVENT_F64 };

enum event_access { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_ATOMIC = 3 };

struct event {
    enum event_kind kind;
    uint64_t cta_index;       /* linear index in the grid */
    uint32_t warp;            /* index in the CTA; UINT32_MAX for a unit */
    uint32_t lanes;           /* lanes that take part */
    const struct xinsn *insn; /* NULL where no instruction is at hand */
    const struct warp *state; /* registers and memory as the warp sees them now; NULL for a unit */
    union {
        struct {
            enum event_access access;
            uint32_t size_bytes;     /* per lane */
            const uint64_t *address; /* [32], of the lanes in `lanes` */
        } access;
        struct {
            uint32_t address; /* shared address of the object */
            uint64_t phase;   /* after the operation */
            uint32_t pending;
            int32_t tx_count;
            uint32_t completed; /* phases completed by this operation */
            uint64_t async_id;  /* of the asynchronous operation that did it, 0: a thread */
        } mbarrier;
        struct {
            uint32_t running; /* EVENT_REACH: lanes whose guard holds */
            bool left;        /* EVENT_DONE: the lanes left the function's registers (call, ret) */
        } step;
        struct {
            uint64_t id;                           /* unique in the CTA, in order of issue */
            uint32_t writes_address, writes_bytes; /* shared memory; 0 bytes: none, or several
                                                      ranges */
        } async;
        struct {
            enum event_access
                access; /* of global memory: READ a load, WRITE a store or reduction */
            uint32_t boxes;
            uint64_t bytes;
        } tensor;
        struct {
            uint32_t m, n, k;
        } mma;
        struct {
            enum event_access access;
            uint32_t first_lane, lane_count, first_column, column_count;
        } tmem;
        struct {
            uint32_t id, threads;
        } barrier;
        struct {
            enum event_float type;
            uint32_t bytes;
            uint64_t address;
            const uint8_t *before, *operand;
        } float_add;
    };
};

/* Bytes and value of an element of EVENT_FLOAT_ADD (float_add.c). */
uint32_t event_float_bytes(enum event_float type);
double event_float_value(enum event_float type, const uint8_t *bytes);

/* One observer of a launch. Host threads run CTAs side by side: each asks for a context of its own
 * with worker_begin, and gives it back with worker_end (called one at a time, in worker order). */
struct observer {
    void *ctx;
    uint32_t kinds; /* bit (1 << enum event_kind) for each kind wanted */
    void *(*worker_begin)(void *ctx, uint32_t worker_index);
    void (*event)(void *worker_ctx, const struct event *event);
    void (*worker_end)(void *ctx, void *worker_ctx);
};

#endif
