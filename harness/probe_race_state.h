#ifndef SILTWIN_PROBE_RACE_STATE_H
#define SILTWIN_PROBE_RACE_STATE_H

#include "probe_race.h"

/* What is known while a launch is watched: probe_race.c sets it up and reports,
 * probe_race_events.c keeps it. */

enum {
    RACE_WARPS = 32,
    RACE_UNIT = 32,
    RACE_CLOCKS = 33,
    RACE_DOMAINS = 3,
    RACE_SHARED_BYTES = 256 << 10,
    RACE_WORDS = RACE_SHARED_BYTES / 4
};

/* The last access to 4 bytes. */
struct race_access {
    uint32_t clock; /* 0: none */
    uint32_t line, cta;
    uint32_t site; /* of a read */
    uint32_t who;  /* warp or RACE_UNIT */
};

/* The bytes that a global probe reads. */
struct race_range {
    uint64_t address;
    uint32_t words; /* 0: another kind of probe */
    struct race_access *reads, *writes;
};

struct race_operation {
    uint64_t id;
    uint32_t address, bytes, line;
};

struct race_cta {
    uint32_t index;
    uint32_t known[RACE_WARPS][RACE_CLOCKS], shared[RACE_DOMAINS][RACE_CLOCKS]; /* vector clocks */
    uint8_t waits[RACE_WARPS]; /* domains of the instruction that it is at */
    uint32_t unit_clock;
    struct race_access *reads, *writes; /* of shared memory, RACE_WORDS each; NULL: not watched */
    struct race_operation *operations;  /* under way */
    uint32_t operation_count, operation_capacity;
};

struct race_site {
    bool watched, unclear; /* a probe of memory's; the kernel loads on its line too */
    bool found;
    uint64_t address;
    uint32_t cta, written_line;
    uint32_t *ctas; /* where it races */
    uint32_t cta_count;
};

struct probe_race {
    const struct probe_layout *layout;
    struct probe_race *other; /* gets every line too, NULL: none */
    bool told;                /* reads come from probe_race_read, not from lines */
    struct race_site *sites;
    struct race_cta *ctas;
    uint32_t cta_count;
    struct race_range ranges[PROBE_MAX_PROBES];
    bool any_range, silent; /* a global probe; no CTA can wait for another */
    bool *strong;           /* by line of the text: loads and stores there are strong ones */
    uint32_t line_count;
    bool no_memory;
};

/* A line of the simulator; ctx is a struct probe_race. */
void probe_race_line(void *ctx, const char *text);

#endif
