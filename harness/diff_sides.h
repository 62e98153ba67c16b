#ifndef SILTWIN_DIFF_SIDES_H
#define SILTWIN_DIFF_SIDES_H

#include "diff.h"
#include "diff_track.h"

/* One launch on both sides, while its events are compared (diff_stream.c), and where its threads
 * part (diff_event.c says it). */

enum parting_kind { DIFFER_VALUE, DIFFER_PLACE, DIFFER_END_A, DIFFER_END_B };

/* Where a thread's events part. */
struct parting {
    enum parting_kind kind;
    enum diff_class class;
    uint32_t epoch;  /* 2 * barriers passed, and 1 for a wait */
    size_t a, b;     /* items of the tracks; of DIFFER_END the one behind the last */
    size_t index;    /* of the event in its thread */
    uint32_t thread; /* of the CTA */
    uint32_t from;   /* sources that each value which differs may be computed from */
};

struct diff_sides {
    struct diff *d;
    const struct stream *a, *b;
    struct diff_track a_track, b_track, *again;
    size_t again_count;
    unsigned a_target, b_target; /* 90 for sm_90a */
    int64_t *b_place;            /* of each place of a, -1: none */
    struct parting *partings;
    size_t count, capacity;
    uint64_t threads;
    uint32_t seen;           /* sources that were seen to differ, and DIFF_UNSTABLE_BIT */
    uint32_t seen_epoch[32]; /* of each, the least */
    bool no_memory;
};

/* Whether value `i` of two events of one place has other bits, or points elsewhere. */
bool diff_value_differs(const struct diff_sides *s, const struct stream_event *a,
                        const struct stream_event *b, uint32_t i);
/* What each value of the two events is: `classes` has one a value. Counts what is no finding. */
void diff_value_classes(struct diff_sides *s, const struct parting *at, uint32_t *seen,
                        enum diff_class *classes);
/* Says the first of the partings of the gravest class, and ends in a finding or a note. */
void diff_report_partings(struct diff_sides *s);
/* "launch 1, cta 0, warp 0, lane 3, visit 2: k.ptx:7:1: ": where an event is. */
void diff_event_place(const struct diff_track *track, size_t item, struct strbuf *out);

#endif
