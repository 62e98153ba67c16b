#ifndef SILTWIN_PERFETTO_CHART_H
#define SILTWIN_PERFETTO_CHART_H

#include "stream.h"
#include "timeline.h"

/* Slices and flows of one stream, before they are written. */

enum chart_group { CHART_WARP, CHART_UNIT, CHART_BARRIER };

struct chart_slice {
    uint32_t cta;
    enum chart_group group;
    uint32_t number; /* warp; unit (chart_unit_name); address of the mbarrier */
    uint64_t begin, end;
    uint32_t place; /* TIMELINE_NONE: of an mbarrier */
    uint32_t visit, lanes;
    uint32_t warp;  /* who issued an operation */
    uint64_t id;    /* of an operation; phase of an mbarrier */
    bool open;      /* not over when the launch ended */
    uint32_t track; /* made by chart_place: the thread's number in its CTA */
};

/* From one slice to a later one. */
struct chart_flow {
    size_t from, to;
    uint64_t from_at, to_at;
};

struct chart_track {
    uint32_t cta, number, row; /* row: the nth track of the same warp, unit or mbarrier */
    enum chart_group group;
};

struct chart {
    const struct stream *stream;
    struct chart_slice *slices;
    size_t slice_count, slice_capacity;
    struct chart_flow *flows;
    size_t flow_count, flow_capacity;
    struct chart_track *tracks; /* by CTA, then as numbered */
    size_t track_count;
    bool no_memory;
};

/* Index of the new slice, SIZE_MAX without memory. */
size_t chart_add(struct chart *chart, const struct chart_slice *slice);
void chart_connect(struct chart *chart, size_t from, uint64_t from_at, size_t to, uint64_t to_at);
/* From the order of what happened, and from the events of a stream that has none. */
void chart_steps(struct chart *chart, const struct timeline *timeline);
void chart_visits(struct chart *chart);
/* Gives each slice a track on which no other overlaps it. */
void chart_place(struct chart *chart);
void chart_free(struct chart *chart);

/* The asynchronous unit that runs an instruction's operations. */
uint32_t chart_unit(const char *text);
const char *chart_unit_name(uint32_t unit);
/* The event of that thread, place and visit, NULL for none. */
const struct stream_event *chart_event(const struct stream *stream, uint32_t cta, uint32_t thread,
                                       uint32_t place, uint32_t visit);

#endif
