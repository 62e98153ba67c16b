/* The first event in which two records differ. Threads are aligned by launch, CTA and number, their
 * events by place and visit. Of the threads' first differences that one is first which fewer
 * passed barriers precede; among those of one barrier, what is no wait comes before a wait, whose
 * outcome is made by others. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff.h"
#include "message.h"
#include "stream.h"

enum kind { DIFFER_VALUE, DIFFER_PLACE, DIFFER_END_A, DIFFER_END_B };

/* Where a thread's events part. */
struct parting {
    enum kind kind;
    uint32_t epoch; /* 2 * barriers passed, and 1 for a wait */
    uint32_t cta, thread;
    size_t a, b;  /* events; of DIFFER_END the one behind the last */
    size_t index; /* of the event in its thread */
};

struct sides {
    struct diff *d;
    const struct stream *a, *b, *again;
    size_t again_count;
    int64_t *b_place; /* of each place of a, -1: none */
    struct parting *partings;
    size_t count, capacity;
    uint64_t threads;
    bool no_memory;
};

static bool same_place(const struct stream_place *x, const struct stream_place *y) {
    return x->line == y->line && x->column == y->column && x->value_count == y->value_count &&
           !strcmp(x->probe, y->probe) && !strcmp(x->module, y->module) &&
           !strcmp(x->entry, y->entry);
}

static bool is_wait(const struct stream_place *place) {
    return !strncmp(place->text, "mbarrier.t", 10) || !strncmp(place->text, "bar", 3);
}

/* The event of that thread, place and visit in another run of b's machine. */
static const struct stream_event *find(const struct stream *s, const struct stream_event *event) {
    size_t low = 0, high = s->event_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct stream_event *m = &s->events[middle];
        if (m->cta < event->cta || (m->cta == event->cta && m->thread < event->thread))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->event_count && s->events[low].cta == event->cta &&
           s->events[low].thread == event->thread;
         low++)
        if (s->events[low].place == event->place && s->events[low].visit == event->visit)
            return &s->events[low];
    return NULL;
}

static bool varies(const struct sides *s, const struct stream_event *b, uint32_t value) {
    for (size_t i = 0; i < s->again_count; i++) {
        const struct stream_event *other = find(&s->again[i], b);
        const struct stream_value *v = &s->b->places[b->place].values[value];
        if (!other || stream_word(v, other) != stream_word(v, b))
            return true;
    }
    return false;
}

/* Whether value `i` of two events of one place differs in a way that counts. */
static bool value_differs(const struct sides *s, const struct stream_event *a,
                          const struct stream_event *b, uint32_t i) {
    const struct stream_value *x = &s->a->places[a->place].values[i];
    const struct stream_value *y = &s->b->places[b->place].values[i];
    int64_t p, q;
    const char *m = stream_pointer(s->a, a, i, &p), *n = stream_pointer(s->b, b, i, &q);
    if (m && n)
        return strcmp(m, n) || p != q;
    return m || n || stream_word(x, a) != stream_word(y, b);
}

static bool events_differ(struct sides *s, const struct stream_event *a,
                          const struct stream_event *b) {
    const struct stream_place *place = &s->a->places[a->place];
    bool differ = (a->flags ^ b->flags) & STREAM_OPEN;
    for (uint32_t i = 0; i < place->value_count; i++) {
        if (!value_differs(s, a, b, i))
            continue;
        if (place->values[i].legal)
            s->d->legal++;
        else if (s->again_count && varies(s, b, i))
            s->d->unstable++;
        else
            differ = true;
    }
    return differ;
}

static void part(struct sides *s, const struct parting *parting) {
    if (s->count == s->capacity) {
        const size_t wanted = s->capacity ? 2 * s->capacity : 64;
        struct parting *grown = realloc(s->partings, wanted * sizeof *grown);
        if (!grown) {
            s->no_memory = true;
            return;
        }
        s->partings = grown;
        s->capacity = wanted;
    }
    s->partings[s->count++] = *parting;
}

/* One thread: events a0..a1-1 against b0..b1-1. */
static void walk(struct sides *s, size_t a0, size_t a1, size_t b0, size_t b1) {
    const struct stream_event *some = a0 < a1 ? &s->a->events[a0] : &s->b->events[b0];
    struct parting p = {.cta = some->cta, .thread = some->thread};
    uint32_t passed = 0;
    bool parted = false;
    for (; a0 + p.index < a1 && b0 + p.index < b1; p.index++) {
        const struct stream_event *a = &s->a->events[a0 + p.index];
        const struct stream_event *b = &s->b->events[b0 + p.index];
        const bool same = s->b_place[a->place] == (int64_t)b->place && a->visit == b->visit;
        s->d->events++;
        if (!same || events_differ(s, a, b)) {
            p.kind = same ? DIFFER_VALUE : DIFFER_PLACE;
            p.epoch = 2 * passed + is_wait(&s->a->places[a->place]);
            parted = true;
            break;
        }
        passed += is_wait(&s->a->places[a->place]);
    }
    p.a = a0 + p.index;
    p.b = b0 + p.index;
    if (!parted && p.a == a1 && p.b == b1)
        return;
    if (!parted) {
        p.kind = p.a == a1 ? DIFFER_END_A : DIFFER_END_B;
        const struct stream_place *place = p.a == a1 ? &s->b->places[s->b->events[p.b].place]
                                                     : &s->a->places[s->a->events[p.a].place];
        p.epoch = 2 * passed + is_wait(place);
    }
    part(s, &p);
}

static size_t thread_end(const struct stream *s, size_t at) {
    size_t end = at;
    while (end < s->event_count && s->events[end].cta == s->events[at].cta &&
           s->events[end].thread == s->events[at].thread)
        end++;
    return end;
}

static int compare_threads(const struct stream_event *a, const struct stream_event *b) {
    if (a->cta != b->cta)
        return a->cta < b->cta ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void walk_all(struct sides *s) {
    size_t i = 0, k = 0;
    while (i < s->a->event_count || k < s->b->event_count) {
        int order = 0;
        if (i == s->a->event_count)
            order = 1;
        else if (k == s->b->event_count)
            order = -1;
        else
            order = compare_threads(&s->a->events[i], &s->b->events[k]);
        const size_t a1 = order <= 0 ? thread_end(s->a, i) : i;
        const size_t b1 = order >= 0 ? thread_end(s->b, k) : k;
        walk(s, i, a1, k, b1);
        s->threads++;
        i = a1;
        k = b1;
    }
}

static bool precedes(const struct parting *x, const struct parting *y) {
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch;
    if (x->cta != y->cta)
        return x->cta < y->cta;
    if (x->index != y->index)
        return x->index < y->index;
    return x->thread < y->thread;
}

/* Lanes of the same warp that part at the same place and visit. */
static uint32_t lanes_with(const struct sides *s, const struct parting *first) {
    uint32_t lanes = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct parting *p = &s->partings[i];
        bool same =
            p->cta == first->cta && p->thread / 32 == first->thread / 32 && p->kind == first->kind;
        if (same && p->kind != DIFFER_END_A)
            same = s->a->events[p->a].place == s->a->events[first->a].place &&
                   s->a->events[p->a].visit == s->a->events[first->a].visit;
        if (same && p->kind == DIFFER_END_A)
            same = s->b->events[p->b].place == s->b->events[first->b].place &&
                   s->b->events[p->b].visit == s->b->events[first->b].visit;
        lanes |= (uint32_t)same << p->thread % 32;
    }
    return lanes;
}

static void describe_values(const struct sides *s, const struct parting *p, struct strbuf *out) {
    const struct stream_event *a = &s->a->events[p->a], *b = &s->b->events[p->b];
    const struct stream_place *x = &s->a->places[a->place];
    enum { MOST = 8 };
    unsigned said = 0, left = 0;
    for (uint32_t i = 0; i < x->value_count; i++) {
        if (!value_differs(s, a, b, i) || x->values[i].legal)
            continue;
        if (said == MOST) {
            left++;
            continue;
        }
        strbuf_puts(out, "\n    ");
        stream_value_name(x, a, i, out);
        strbuf_puts(out, ": ");
        stream_value_text(s->a, a, i, out);
        strbuf_printf(out, " in %s, ", s->d->a_name);
        stream_value_text(s->b, b, i, out);
        strbuf_printf(out, " in %s", s->d->b_name);
        said++;
    }
    if (left)
        strbuf_printf(out, "\n    and %u more values", left);
    if ((a->flags ^ b->flags) & STREAM_OPEN)
        strbuf_printf(out, "\n    still waiting in %s when the launch ended",
                      a->flags & STREAM_OPEN ? s->d->a_name : s->d->b_name);
}

/* The bytes that all lanes read at the event's place and visit; NULL when there are none. */
static uint8_t *all_bytes(const struct stream *s, const struct stream_event *event, uint32_t size) {
    const struct stream_place *place = &s->places[event->place];
    uint8_t *bytes = calloc(size, 1);
    for (size_t k = 0; bytes && k < s->event_count; k++) {
        const struct stream_event *e = &s->events[k];
        if (e->cta != event->cta || e->place != event->place || e->visit != event->visit)
            continue;
        for (uint32_t i = 0; i < place->value_count; i++) {
            const uint32_t at = stream_value_byte(place, e, i) - place->first_byte;
            const uint32_t word = (uint32_t)stream_word(&place->values[i], e);
            if (at + sizeof word <= size)
                memcpy(bytes + at, &word, sizeof word);
        }
    }
    return bytes;
}

/* Shared memory in another order: seen as lines of 128 bytes, of 2-byte elements. */
static void describe_memory(const struct sides *s, const struct parting *p, struct strbuf *out) {
    enum { LINE_BYTES = 128 };
    const struct stream_event *a = &s->a->events[p->a], *b = &s->b->events[p->b];
    const struct stream_place *place = &s->a->places[a->place];
    const uint32_t size = place->bytes;
    if (!place->unit_bytes || size % LINE_BYTES || size < 8 * LINE_BYTES)
        return;
    const struct trace_buffer shape = {.type = ELEM_B16,
                                       .rank = 2,
                                       .dims = {size / LINE_BYTES, LINE_BYTES / 2},
                                       .strides = {LINE_BYTES / 2, 1},
                                       .elems = size / 2,
                                       .span_bytes = size};
    uint8_t *x = all_bytes(s->a, a, size), *y = all_bytes(s->b, b, size);
    struct strbuf how = {0};
    if (x && y && diff_arrangement(&shape, x, &shape, y, &how)) {
        strbuf_printf(out, "\n  what lies there is a rearrangement, in lines of 128 bytes: %s",
                      strbuf_text(&how));
        diff_deciding_lines(s->d, strcmp(place->kind, "smem") == 0, out);
    }
    strbuf_free(&how);
    free(x);
    free(y);
}

static void describe(const struct sides *s, const struct parting *p, struct strbuf *out) {
    const bool end_a = p->kind == DIFFER_END_A;
    const struct stream *stream = end_a ? s->b : s->a;
    const struct stream_event *event = end_a ? &s->b->events[p->b] : &s->a->events[p->a];
    const struct stream_place *place = &stream->places[event->place];
    strbuf_printf(out, "first difference: launch %u, cta %u, warp %u, lanes 0x%08x, visit %u\n",
                  stream->launch, p->cta, p->thread / 32, lanes_with(s, p), event->visit);
    strbuf_printf(out, "  %s:%u:%u: %s", place->file, place->line, place->column, place->text);
    if (p->kind == DIFFER_VALUE) {
        describe_values(s, p, out);
        describe_memory(s, p, out);
    } else if (p->kind == DIFFER_PLACE) {
        const struct stream_event *other = &s->b->events[p->b];
        const struct stream_place *there = &s->b->places[other->place];
        strbuf_printf(out, "\n    here %s; %s comes to %s:%u: %s, visit %u", s->d->a_name,
                      s->d->b_name, there->file, there->line, there->text, other->visit);
    } else {
        strbuf_printf(out, "\n    not reached in %s", end_a ? s->d->a_name : s->d->b_name);
    }
    enum { BEFORE = 3 };
    strbuf_printf(out, "\n  %s",
                  p->index ? "the last events that agreed:"
                           : "no event of this thread precedes it");
    for (size_t k = p->index > BEFORE ? p->index - BEFORE : 0; k < p->index; k++) {
        strbuf_puts(out, "\n    ");
        stream_event_text(s->a, &s->a->events[p->a - p->index + k], 0, out);
    }
    strbuf_printf(out, "\n  %zu of %llu threads differ", s->count, (unsigned long long)s->threads);
}

static void report(struct sides *s) {
    const struct parting *first = &s->partings[0];
    struct strbuf text = {0};
    for (size_t i = 1; i < s->count; i++)
        if (precedes(&s->partings[i], first))
            first = &s->partings[i];
    describe(s, first, &text);
    const bool end_a = first->kind == DIFFER_END_A;
    const struct stream *stream = end_a ? s->b : s->a;
    const struct stream_event *event = end_a ? &s->b->events[first->b] : &s->a->events[first->a];
    const struct stream_place *place = &stream->places[event->place];
    json_t *more =
        json_pack("{s:i, s:i, s:i, s:o, s:s, s:o, s:i}", "launch", (int)stream->launch, "cta",
                  (int)first->cta, "warp", (int)(first->thread / 32), "lanes",
                  json_sprintf("0x%08x", lanes_with(s, first)), "probe", place->probe, "ptx",
                  json_sprintf("%s:%u:%u", place->file, place->line, place->column), "visit",
                  (int)event->visit);
    diff_found(s->d, "diff.event", place->probe, strbuf_text(&text), more);
    strbuf_free(&text);
}

static void compare(struct sides *s) {
    s->b_place = calloc(s->a->place_count + 1, sizeof *s->b_place);
    for (uint32_t i = 0; s->b_place && i < s->a->place_count; i++) {
        s->b_place[i] = -1;
        for (uint32_t k = 0; k < s->b->place_count; k++)
            if (same_place(&s->a->places[i], &s->b->places[k]))
                s->b_place[i] = k;
    }
    if (s->b_place)
        walk_all(s);
    if (!s->b_place || s->no_memory)
        diff_no_verdict(s->d, "no memory to compare the events");
    else if (s->count)
        report(s);
    if (s->a->overflow || s->b->overflow)
        diff_no_verdict(s->d, "a probe overflowed: events are missing");
    free(s->b_place);
    free(s->partings);
}

static bool open_stream(struct diff *d, const struct record *record, uint32_t launch,
                        struct stream *stream) {
    const char *why;
    for (size_t i = 0; i < record->stream_count; i++) {
        const struct record_stream *stored = &record->streams[i];
        if (json_integer_value(json_object_get(stored->json, "launch")) != launch)
            continue;
        if (stream_read(stored->json, stored->bytes, stored->size, stream, &why))
            return true;
        stream_free(stream);
        diff_no_verdict(d, why);
        return false;
    }
    return false;
}

static void compare_launch(struct diff *d, uint32_t launch, const struct record_stream *stored) {
    struct stream a = {0}, b = {0}, *again = calloc(d->again_count + 1, sizeof *again);
    const char *why;
    struct sides s = {.d = d, .a = &a, .b = &b, .again = again};
    while (again && s.again_count < d->again_count &&
           open_stream(d, &d->again[s.again_count], launch, &again[s.again_count]))
        s.again_count++;
    if (!stream_read(stored->json, stored->bytes, stored->size, &a, &why))
        diff_no_verdict(d, why);
    else if (open_stream(d, d->b, launch, &b))
        compare(&s);
    else
        diff_no_verdict(d, "only one of the records has the events of a launch");
    stream_free(&a);
    stream_free(&b);
    for (size_t i = 0; again && i < d->again_count; i++)
        stream_free(&again[i]);
    free(again);
}

void diff_streams(struct diff *d) {
    for (size_t i = 0; i < d->a->stream_count && d->status != EXIT_DIFFERENT; i++)
        compare_launch(
            d, (uint32_t)json_integer_value(json_object_get(d->a->streams[i].json, "launch")),
            &d->a->streams[i]);
    if (d->b->stream_count > d->a->stream_count)
        diff_no_verdict(d, "only one of the records has the events of a launch");
}
