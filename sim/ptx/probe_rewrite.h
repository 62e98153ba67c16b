#ifndef SILTWIN_PROBE_REWRITE_H
#define SILTWIN_PROBE_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "ir.h"
#include "status.h"
#include "strbuf.h"

/* Probes: code put into a PTX text so that the kernel writes down what it saw. The text stays on
 * its lines. A module symbol, PROBE_SYMBOL, holds the address of a buffer (0: nothing is written):
 *
 *   0   u64 offset of the sequence numbers | u32 first CTA | u32 CTAs | u32 threads of a CTA
 *       there: u32 a thread, its next sequence number, by linear CTA and linear thread
 *   64 + PROBE_HEAD_BYTES * p   of probe p, u32 each but for the first and the last:
 *       u64 offset of its threads, u32 bytes of a thread, 0, box x y z, x pitch, xy pitch,
 *       first CTA, CTAs, first warp, warps, first lane, lanes, 0, u64 address (PROBE_GLOBAL)
 *       A CTA is observed when its coordinates are below the box and x + y * pitch + z * pitch,
 *       less the first, is below the number of CTAs.
 *   a thread: u64 generic address of each parameter that may hold a tensor map, then its sites
 *   a site:   u32 visits (up to one more than are kept), 0 0 0, then slots
 *   a slot:   u32 sequence number + 1 (0: never written), u32 visit, 0 0, u64 a value
 *
 * A thread writes only what is its own, under a predicate and with no branch, so nothing that was
 * converged diverges. A poll (mbarrier test_wait, try_wait) that fails leaves the cursor where it
 * is: the next one overwrites it. */

#define PROBE_SYMBOL "siltwin_probe"
enum {
    PROBE_HEAD_AT = 64,
    PROBE_HEAD_BYTES = 80,
    PROBE_MAP_PARAMS = 8,
    PROBE_THREAD_HEAD_BYTES = 8 * PROBE_MAP_PARAMS,
    PROBE_SITE_HEAD_BYTES = 16,
    PROBE_SLOT_HEAD_BYTES = 16,
    PROBE_MAX_PROBES = 64,
    PROBE_MAX_REGS = 64,
    PROBE_MAX_KEYS = 4,
    PROBE_MAX_COLUMNS = 128,
    PROBE_MAX_MEMORY_BYTES = 128 << 10,
    PROBE_SIM_MAX_BYTES = 256 << 10 /* of a probe on the simulator only: all of Tensor Memory */
};

enum probe_kind { PROBE_EVENT, PROBE_REGS, PROBE_SHARED, PROBE_GLOBAL, PROBE_TMEM };

enum probe_role {
    PROBE_PLAIN,
    PROBE_ADDRESS, /* global or generic: may point into a buffer */
    PROBE_MAP,     /* of a tensor map: in memory or among the parameters */
    PROBE_BYTES,   /* 4 bytes of memory */
};

enum probe_compare { PROBE_EQ, PROBE_NE, PROBE_LT, PROBE_LE, PROBE_GT, PROBE_GE };

/* What a probe records, and when. */
struct probe_spec {
    enum probe_kind kind;
    const char *regs[PROBE_MAX_REGS];
    uint32_t reg_count;
    const char *keys[PROBE_MAX_KEYS]; /* registers whose values name what an event belongs to */
    uint32_t key_count;
    const char *when_reg; /* NULL: always */
    enum probe_compare when_compare;
    int64_t when_value;
    uint32_t skip, keep; /* hits left out, hits kept */
    bool last;           /* the last `keep` instead of the first */
    bool sim;            /* on the simulator only: nothing is rewritten for it */
    /* PROBE_SHARED: bytes begin..end-1 behind the first shared variable; PROBE_GLOBAL: behind the
     * address of its head. The lanes first_lane .. first_lane + lanes - 1 share them by turns of
     * `unit_bytes` (4 or 16). */
    uint32_t begin_bytes, end_bytes, unit_bytes, first_lane, lanes;
    /* PROBE_TMEM: the columns of a thread's own lane, warp w sees lanes 32 * (w % 4) and up. The
     * load is .sync.aligned: it stands before an instruction that is so too and has no guard. With
     * `sim` one warp reads all lanes, anywhere: its lanes first_lane and up take them by turns, a
     * lane's columns being `unit_bytes`. */
    uint32_t tmem_lane, tmem_lanes, tmem_column, tmem_columns;
};

struct probe_value {
    const char *name; /* of the operand in the manual's syntax, or the register */
    uint8_t type;     /* enum ptx_type */
    uint8_t role;     /* enum probe_role */
    bool constant;    /* `bits` is its value; it has no word in a slot */
    bool output;
    bool key;           /* of spec.keys: events are aligned by it */
    uint8_t why;        /* enum probe_why (probe_flow.h): machines may disagree about it; 0: not */
    uint32_t from;      /* bits 1 << enum probe_why: what it may be computed from ... */
    uint32_t from_line; /* ... and the line of one of these, 0: none */
    const char *approx; /* "ex2.approx.ftz.f32": it is the result of that, NULL: not */
    uint64_t bits;
    uint32_t offset_bytes; /* in a slot, behind its head */
    const struct ir_operand *operand;
};

/* An instruction that a probe watches. The first three are given, the rest is made. */
struct probe_site {
    uint32_t probe, func, insn;
    struct probe_value *values;
    uint32_t value_count;
    uint32_t slot_bytes, offset_bytes; /* offset in a thread */
    bool poll;
    bool before; /* all is recorded before the instruction runs */
};

/* Sources (bits 1 << enum probe_why) that values depend on which a function hands to global memory,
 * to other memory, threads or units, and that decide where it branches. */
struct probe_given {
    uint32_t global, others, branches;
    bool between_ctas; /* its CTAs may wait for each other */
};

struct probe_plan {
    const struct ir_module *ir;
    const struct probe_spec *specs;
    uint32_t spec_count;
    struct probe_site *sites; /* by func, then insn, then probe */
    uint32_t site_count;
    struct probe_given *given; /* made: by function */
};

/* Fills the sites in. STATUS_INVALID with a sentence in `error` when something cannot be probed
 * (*bad_site is the site), STATUS_NO_MEMORY. Strings live in `arena`. */
enum status probe_plan_make(struct arena *arena, struct probe_plan *plan, uint32_t *bad_site,
                            struct strbuf *error);

/* Bytes that probe `probe` keeps for a thread of entry `func`: 0 when it has no site there. */
uint32_t probe_thread_bytes(const struct probe_plan *plan, uint32_t probe, uint32_t func);

/* The nth parameter of an entry that may hold a tensor map (128 bytes or more), n below
 * PROBE_MAP_PARAMS; NULL when it has no such. Where a parameter lies is the driver's affair, so
 * each is asked for its address. */
const struct ir_symbol *probe_map_param(const struct ir_module *ir, const struct ir_func *func,
                                        uint32_t n);

/* The shared variable that offsets of shared-memory probes count from: the first one that function
 * `func` of the module sees; NULL when it sees none. */
const struct ir_symbol *probe_first_shared(const struct ir_module *ir, uint32_t func);

/* Appends the text with the code of all sites put in. `plan->ir` is the module of that very text.
 * No spec of its sites may be `sim`. STATUS_INVALID when the text has names of its own that begin
 * like ours. */
enum status probe_rewrite(const struct probe_plan *plan, const char *text, size_t length,
                          struct strbuf *out);

#endif
