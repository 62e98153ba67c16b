#ifndef SILTWIN_WATCH_H
#define SILTWIN_WATCH_H

#include <stdint.h>

/* Watch points of the simulated driver: places in a kernel's text at which a callback sees what the
 * threads see, while the kernel stays as it is. The names are looked up as those of siltwin_sim.h.
 *
 * While a watch is set, launches run on one host thread and tell the callback everything in the
 * order in which it happens, so two runs tell the same. A step is one instruction of a warp, one
 * asynchronous operation that took effect, or one phase of an mbarrier that completed; steps are
 * counted through a launch. */

struct siltwin_watch_point {
    const char *file;      /* of the module, as siltwinSimSetModuleName gave it */
    uint32_t line, column; /* of an instruction in the text that was loaded: its opcode, not its
                              guard */
    const char *const *registers; /* those that siltwinSimWatchRegister is asked for here */
    uint32_t register_count;
};

enum siltwin_watch_moment {
    /* Lanes came to the point and the instruction has not run. Where they wait at it and others
     * join them they are told again, together. */
    SILTWIN_WATCH_REACH,
    SILTWIN_WATCH_DONE,     /* it ran for `lanes`, which go on */
    SILTWIN_WATCH_ISSUE,    /* it queued the asynchronous operation `id` */
    SILTWIN_WATCH_COMPLETE, /* operation `id` took effect */
    /* An operation on the mbarrier at `address`: by the point's instruction, or by operation `id`
     * of it; or by any other when phases completed. */
    SILTWIN_WATCH_MBARRIER,
};

struct siltwin_watch_hit {
    uint32_t struct_bytes;
    uint32_t moment; /* enum siltwin_watch_moment */
    uint64_t launch; /* 1, 2, ... in the process */
    uint64_t step;
    uint32_t point;     /* index; UINT32_MAX: none of them */
    uint32_t cta;       /* linear index in the grid */
    uint32_t warp;      /* of the CTA; UINT32_MAX: a unit */
    uint32_t lanes;     /* mask */
    uint32_t running;   /* REACH: those whose guard holds */
    uint32_t address;   /* MBARRIER: in shared memory */
    uint32_t completed; /* MBARRIER: phases */
    uint32_t pending;   /* MBARRIER: arrivals that the phase lacks, after the operation */
    int32_t tx_bytes;   /* MBARRIER: bytes that it lacks */
    uint32_t reserved;
    uint64_t phase; /* MBARRIER: after the operation */
    uint64_t id;    /* in its CTA: 1, 2, ... in the order of issue; MBARRIER: 0 for a thread */
};
typedef void siltwin_watch_hit_fn(void *ctx, const struct siltwin_watch_hit *hit);

struct siltwin_sim_watch {
    uint32_t struct_bytes;
    uint32_t point_count;
    const struct siltwin_watch_point *points; /* copied */
    siltwin_watch_hit_fn *hit;
    void *ctx;
};
/* siltwinSimSetWatch: for the launches from now on; NULL or no points: none. Points that no
 * instruction of a launch fits are not hit. A CUresult. */
typedef int siltwin_sim_set_watch(const struct siltwin_sim_watch *watch);

/* The rest is called from the callback alone, with its own `hit`. 0, or a CUresult: 1 (what is
 * asked for is not there), 401 (not at this moment: registers at REACH and DONE, and at DONE not
 * behind an instruction that leaves the function; memory at REACH and DONE). */

/* siltwinSimWatchRegister: register `name` of a lane, low word first. Where a name is declared more
 * than once it is the last above the point. */
typedef int siltwin_sim_watch_register(const struct siltwin_watch_hit *hit, uint32_t lane,
                                       const char *name, uint64_t value[2]);
/* siltwinSimWatchOperand: operand 0, 1, ... of the instruction in the order written, or element
 * `element` of it (of a vector, a pair, a tensor's coordinates behind its map); -1: itself. An
 * address is the sum of base and offset; that of a kernel parameter is generic. A predicate is what
 * its register holds, with or without a ! before it. */
typedef int siltwin_sim_watch_operand(const struct siltwin_watch_hit *hit, uint32_t lane,
                                      uint32_t operand, int32_t element, uint64_t value[2]);
/* siltwinSimWatchParam: generic address of a parameter of the kernel. */
typedef int siltwin_sim_watch_param(const struct siltwin_watch_hit *hit, const char *name,
                                    uint64_t *address);
/* siltwinSimWatchGlobal, siltwinSimWatchShared: memory as the lanes see it; shared memory of the
 * CTA from `offset_bytes` behind the first variable that the kernel uses. */
typedef int siltwin_sim_watch_global(const struct siltwin_watch_hit *hit, uint64_t address,
                                     uint32_t bytes, void *to);
typedef int siltwin_sim_watch_shared(const struct siltwin_watch_hit *hit, uint32_t offset_bytes,
                                     uint32_t bytes, void *to);
/* siltwinSimWatchSharedFirst: the shared address of that variable. */
typedef int siltwin_sim_watch_shared_first(const struct siltwin_watch_hit *hit, uint32_t *address);
/* siltwinSimWatchTmem: `columns` words of one lane (0 to 127) of Tensor Memory. */
typedef int siltwin_sim_watch_tmem(const struct siltwin_watch_hit *hit, uint32_t lane,
                                   uint32_t first_column, uint32_t columns, uint32_t *to);

#endif
