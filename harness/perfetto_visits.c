/* From the events of a stream that has no timeline to slices: an event is as long as any other, and
 * stands where its thread's count of events is. Lanes that count alike are one slice. */
#include <stdlib.h>

#include "perfetto_chart.h"

struct visit {
    uint32_t cta, warp, place, visit, lane;
    uint64_t nth;
    bool open;
};

static int by_order(const void *a, const void *b) {
    const struct visit *x = a, *y = b;
    if (x->cta != y->cta)
        return x->cta < y->cta ? -1 : 1;
    if (x->warp != y->warp)
        return x->warp < y->warp ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->visit != y->visit)
        return x->visit < y->visit ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static bool same(const struct visit *x, const struct visit *y) {
    return x->cta == y->cta && x->warp == y->warp && x->nth == y->nth && x->place == y->place &&
           x->visit == y->visit;
}

void chart_visits(struct chart *chart) {
    const struct stream *stream = chart->stream;
    struct visit *visits = malloc((stream->event_count + 1) * sizeof *visits);
    uint64_t nth = 0;
    if (!visits) {
        chart->no_memory = true;
        return;
    }
    for (size_t i = 0; i < stream->event_count; i++) {
        const struct stream_event *e = &stream->events[i];
        const bool first = i == 0 || e[-1].cta != e->cta || e[-1].thread != e->thread;
        nth = first ? 0 : nth + 1;
        visits[i] = (struct visit){.cta = e->cta,
                                   .warp = e->thread / 32,
                                   .place = e->place,
                                   .visit = e->visit,
                                   .lane = e->thread % 32,
                                   .nth = nth,
                                   .open = e->flags & STREAM_OPEN};
    }
    if (stream->event_count)
        qsort(visits, stream->event_count, sizeof *visits, by_order);
    for (size_t i = 0, end; i < stream->event_count; i = end) {
        const struct visit *v = &visits[i];
        struct chart_slice slice = {.cta = v->cta,
                                    .group = CHART_WARP,
                                    .number = v->warp,
                                    .begin = v->nth,
                                    .end = v->nth + 1,
                                    .place = v->place,
                                    .visit = v->visit,
                                    .warp = v->warp,
                                    .open = v->open};
        for (end = i; end < stream->event_count && same(v, &visits[end]); end++)
            slice.lanes |= UINT32_C(1) << visits[end].lane;
        chart_add(chart, &slice);
    }
    free(visits);
}
