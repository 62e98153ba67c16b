/* Events by group and thread; see diff_track.h. */
#include "diff_track.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int diff_group_compare(const struct diff_group *x, const struct diff_group *y) {
    if (x->keyed != y->keyed)
        return x->keyed ? 1 : -1;
    if (x->key_count != y->key_count)
        return x->key_count < y->key_count ? -1 : 1;
    for (uint32_t i = 0; i < x->key_count; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Events are stored by CTA, thread and program order. */
static int by_group(const void *a, const void *b) {
    const struct diff_item *x = a, *y = b;
    const int order = diff_group_compare(&x->group, &y->group);
    return order ? order : x->event < y->event ? -1 : x->event > y->event;
}

static void set_group(const struct stream *s, const struct stream_event *event,
                      struct diff_group *group) {
    const struct stream_place *place = &s->places[event->place];
    *group = (struct diff_group){
        .keyed = place->key_count, .key_count = 1, .key = {event->cta}, .thread = event->thread};
    if (!place->key_count)
        return;
    group->key_count = 0;
    for (uint32_t i = 0; i < place->value_count && group->key_count < PROBE_MAX_KEYS; i++)
        if (place->values[i].key)
            group->key[group->key_count++] = stream_word(&place->values[i], event);
}

/* Visits of a keyed group begin anew; those of a CTA are the thread's own. */
static bool number_visits(struct diff_track *t) {
    uint32_t *visits = calloc(t->stream->place_count + 1, sizeof *visits);
    if (!visits)
        return false;
    for (size_t at = 0, end; at < t->count; at = end) {
        end = diff_track_end(t, at);
        for (size_t i = at; i < end; i++) {
            const struct stream_event *event = diff_track_event(t, i);
            t->items[i].visit = t->items[i].group.keyed ? visits[event->place]++ : event->visit;
            if (!t->ambiguous && event->cta != diff_track_event(t, at)->cta)
                t->ambiguous = &t->items[i];
        }
        for (size_t i = at; i < end; i++)
            visits[diff_track_event(t, i)->place] = 0;
    }
    free(visits);
    return true;
}

bool diff_track_make(struct diff_track *t, const struct stream *stream) {
    *t = (struct diff_track){.stream = stream};
    t->items = calloc(stream->event_count + 1, sizeof *t->items);
    if (!t->items)
        return false;
    for (size_t i = 0; i < stream->event_count; i++) {
        if (stream->places[stream->events[i].place].spin)
            continue;
        t->items[t->count].event = i;
        set_group(stream, &stream->events[i], &t->items[t->count++].group);
    }
    qsort(t->items, t->count, sizeof *t->items, by_group);
    return number_visits(t);
}

void diff_track_free(struct diff_track *t) {
    free(t->items);
    *t = (struct diff_track){0};
}

size_t diff_track_end(const struct diff_track *t, size_t at) {
    size_t end = at + 1;
    while (end < t->count && !diff_group_compare(&t->items[end].group, &t->items[at].group))
        end++;
    return end;
}

const struct stream_event *diff_track_event(const struct diff_track *t, size_t item) {
    return &t->stream->events[t->items[item].event];
}

const struct stream_event *diff_track_find(const struct diff_track *t,
                                           const struct diff_group *group, uint32_t place,
                                           uint32_t visit) {
    size_t low = 0, high = t->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (diff_group_compare(&t->items[middle].group, group) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->count && !diff_group_compare(&t->items[low].group, group); low++)
        if (t->items[low].visit == visit && diff_track_event(t, low)->place == place)
            return diff_track_event(t, low);
    return NULL;
}

void diff_track_text(const struct diff_track *t, size_t item, struct strbuf *out) {
    const struct stream_event *event = diff_track_event(t, item);
    const struct stream_place *place = &t->stream->places[event->place];
    for (uint32_t i = 0; i < place->value_count; i++)
        if (place->values[i].key)
            strbuf_printf(out, "%s=0x%" PRIx64 " ", place->values[i].name,
                          stream_word(&place->values[i], event));
    strbuf_printf(out, place->key_count ? "(cta %u)" : "cta %u", event->cta);
}
