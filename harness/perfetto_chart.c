/* Slices and their tracks. Slices of one warp, unit or mbarrier that overlap (lanes of a warp that
 * went apart, several copies under way) get tracks side by side. */
#include "perfetto_chart.h"

#include <stdlib.h>
#include <string.h>

static bool grow(void **items, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : 256;
    void *grown = realloc(*items, wanted * item_bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

size_t chart_add(struct chart *chart, const struct chart_slice *slice) {
    void *items = chart->slices;
    if (!grow(&items, chart->slice_count, &chart->slice_capacity, sizeof *slice)) {
        chart->no_memory = true;
        return SIZE_MAX;
    }
    chart->slices = items;
    chart->slices[chart->slice_count] = *slice;
    return chart->slice_count++;
}

void chart_connect(struct chart *chart, size_t from, uint64_t from_at, size_t to, uint64_t to_at) {
    void *items = chart->flows;
    if (from == SIZE_MAX || to == SIZE_MAX)
        return;
    if (!grow(&items, chart->flow_count, &chart->flow_capacity, sizeof *chart->flows)) {
        chart->no_memory = true;
        return;
    }
    chart->flows = items;
    chart->flows[chart->flow_count++] = (struct chart_flow){from, to, from_at, to_at};
}

void chart_free(struct chart *chart) {
    free(chart->slices);
    free(chart->flows);
    free(chart->tracks);
}

/* ---- tracks ---- */

static int compare_groups(const struct chart_slice *x, const struct chart_slice *y) {
    if (x->cta != y->cta)
        return x->cta < y->cta ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_group(const void *a, const void *b) {
    const struct chart_slice *x = *(struct chart_slice *const *)a;
    const struct chart_slice *y = *(struct chart_slice *const *)b;
    const int groups = compare_groups(x, y);
    if (groups)
        return groups;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x < y ? -1 : x > y; /* in the order in which they were added */
}

/* The slices first .. end - 1 of one group: each goes to the first row that is free. */
static bool place_group(struct chart *chart, struct chart_slice **slices, size_t count,
                        uint64_t *row_end) {
    const size_t first_track = chart->track_count;
    for (size_t i = 0; i < count; i++) {
        size_t row = 0;
        while (first_track + row < chart->track_count && row_end[row] > slices[i]->begin)
            row++;
        if (first_track + row == chart->track_count)
            chart->tracks[chart->track_count++] = (struct chart_track){.cta = slices[i]->cta,
                                                                       .number = slices[i]->number,
                                                                       .row = (uint32_t)row,
                                                                       .group = slices[i]->group};
        row_end[row] = slices[i]->end;
        slices[i]->track = (uint32_t)(first_track + row);
    }
    return true;
}

void chart_place(struct chart *chart) {
    const size_t count = chart->slice_count;
    struct chart_slice **order = malloc((count + 1) * sizeof *order);
    uint64_t *row_end = malloc((count + 1) * sizeof *row_end);
    chart->tracks = malloc((count + 1) * sizeof *chart->tracks);
    if (!order || !row_end || !chart->tracks) {
        chart->no_memory = true;
        free(order);
        free(row_end);
        return;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = &chart->slices[i];
    if (count)
        qsort(order, count, sizeof *order, by_group);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !compare_groups(order[i], order[end]); end++)
            ;
        place_group(chart, order + i, end - i, row_end);
    }
    free(order);
    free(row_end);
}

/* ---- names ---- */

static const struct {
    const char *begins, *has, *name;
} units[] = {
    {"cp.reduce.async.bulk.tensor", NULL, "TMA reductions"},
    {"cp.reduce.async.bulk", NULL, "bulk reductions"},
    {"cp.async.bulk.prefetch", NULL, "prefetches"},
    {"cp.async.bulk.tensor", ".global.shared::", "TMA stores"},
    {"cp.async.bulk.tensor", NULL, "TMA loads"},
    {"cp.async.bulk", ".global.shared::", "bulk stores"},
    {"cp.async.bulk", NULL, "bulk loads"},
    {"cp.async", NULL, "cp.async"},
    {"tcgen05.commit", NULL, "tensor core commits"},
    {"tcgen05.mma", NULL, "tensor core"},
    {"wgmma", NULL, "tensor core"},
    {"tcgen05", NULL, "Tensor Memory"},
    {"", NULL, "other operations"},
};

uint32_t chart_unit(const char *text) {
    uint32_t i = 0;
    while (strncmp(text, units[i].begins, strlen(units[i].begins)) != 0 ||
           (units[i].has && !strstr(text, units[i].has)))
        i++;
    return i;
}

const char *chart_unit_name(uint32_t unit) {
    return units[unit].name;
}

const struct stream_event *chart_event(const struct stream *stream, uint32_t cta, uint32_t thread,
                                       uint32_t place, uint32_t visit) {
    size_t low = 0, high = stream->event_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct stream_event *e = &stream->events[middle];
        if (e->cta < cta || (e->cta == cta && e->thread < thread))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < stream->event_count && stream->events[low].cta == cta &&
           stream->events[low].thread == thread;
         low++)
        if (stream->events[low].place == place && stream->events[low].visit == visit)
            return &stream->events[low];
    return NULL;
}
