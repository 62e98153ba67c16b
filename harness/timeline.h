#ifndef SILTWIN_TIMELINE_H
#define SILTWIN_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happened in a launch, in its order: the TIME chunk of a stream of [sim] probes, rows of 64
 * bytes. A step is one instruction of a warp, one asynchronous operation that took effect, or one
 * phase of an mbarrier that completed, counted through the launch (siltwin_watch.h); there is no
 * other time. Steps of successive rows never go back. */

enum timeline_kind {
    TIMELINE_RAN,       /* lanes ran the place's instruction, from `begin` to `step`. Of a wait for
                           an mbarrier: its address, and in `id` the parity plus one (0: not known) */
    TIMELINE_WAITS,     /* they came to it at `begin` and were still there at the end */
    TIMELINE_ISSUED,    /* the place's instruction queued operation `id` of the CTA */
    TIMELINE_COMPLETED, /* operation `id` took effect */
    TIMELINE_BARRIER,   /* something was done to the mbarrier at `address`: by operation `id`, or by
                           lanes (id 0); `completed` phases, `phase` is the one that runs then */
    TIMELINE_KIND_COUNT
};

enum { TIMELINE_MAX_ROWS = 1 << 19, TIMELINE_NONE = UINT32_MAX };

struct timeline_row {
    uint64_t step, begin, id, phase;
    uint32_t kind;  /* enum timeline_kind */
    uint32_t cta;   /* linear */
    uint32_t warp;  /* TIMELINE_NONE: a unit */
    uint32_t lanes; /* mask */
    uint32_t place; /* of the stream; TIMELINE_NONE: an instruction that is not probed */
    uint32_t visit; /* RAN, WAITS: of the first lane */
    uint32_t address, completed;
};

struct timeline {
    struct timeline_row *rows;
    size_t count, capacity;
    bool cut; /* there was more than TIMELINE_MAX_ROWS, or no memory for it */
};

void timeline_add(struct timeline *timeline, const struct timeline_row *row);
void timeline_free(struct timeline *timeline);
/* From a chunk's bytes, for a stream of so many places. False: they are no rows as above. */
bool timeline_read(const uint8_t *bytes, size_t size, uint32_t place_count,
                   struct timeline *timeline);

#endif
