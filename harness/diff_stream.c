/* Where the events of two records part. Threads are aligned by launch, group (a CTA, or the key
 * that a probe names) and number, their events by place and visit. Differences of a class that is
 * none of ours are counted and passed; at the first other one a thread has parted. Of the threads'
 * partings that one is first which fewer passed barriers precede; among those of one barrier, what
 * is no wait comes before a wait, whose outcome is made by others. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff_sides.h"
#include "diff_spin.h"
#include "diff_store.h"
#include "message.h"

static bool same_place(const struct stream_place *x, const struct stream_place *y) {
    return x->line == y->line && x->column == y->column && x->value_count == y->value_count &&
           x->key_count == y->key_count && x->bytes == y->bytes && x->unit_bytes == y->unit_bytes &&
           x->first_byte == y->first_byte && x->lanes == y->lanes &&
           x->first_lane == y->first_lane && !strcmp(x->kind, y->kind) &&
           !strcmp(x->probe, y->probe) && !strcmp(x->module, y->module) &&
           !strcmp(x->entry, y->entry);
}

static bool is_wait(const struct stream_place *place) {
    return !strncmp(place->text, "mbarrier.t", 10) || !strncmp(place->text, "bar", 3);
}

static void part(struct diff_sides *s, const struct parting *parting) {
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

/* ---- one event ---- */

/* The stored value differs: then so do these bytes, as that class says. */
static void note_store(struct diff_sides *s, const struct stream_event *event,
                       const enum diff_class *classes) {
    const struct stream_place *place = &s->a->places[event->place];
    enum diff_class gravest = DIFF_EQUAL;
    for (uint32_t i = 0; i < place->value_count; i++)
        if (place->values[i].role == STREAM_PLAIN && classes[i] < gravest)
            gravest = classes[i];
    if (gravest < DIFF_EQUAL && !diff_stores_differ(&s->d->stores, s->a, event, gravest))
        s->no_memory = true;
}

/* The gravest class of two events of one place; p->from becomes the sources that each value which
 * differs has. */
static enum diff_class compare_events(struct diff_sides *s, struct parting *p, uint32_t *seen) {
    const struct stream_event *a = diff_track_event(&s->a_track, p->a);
    const struct stream_event *b = diff_track_event(&s->b_track, p->b);
    const struct stream_place *x = &s->a->places[a->place], *y = &s->b->places[b->place];
    enum diff_class gravest = (a->flags ^ b->flags) & STREAM_OPEN ? DIFF_DIFFERS : DIFF_EQUAL;
    p->from = gravest == DIFF_EQUAL ? UINT32_MAX : 0;
    if ((a->flags | b->flags) & STREAM_UNORDERED)
        return DIFF_UNORDERED;
    enum diff_class few[64], *classes = few;
    if (x->value_count > sizeof few / sizeof *few)
        classes = calloc(x->value_count, sizeof *classes);
    if (!classes) {
        s->no_memory = true;
        return gravest;
    }
    diff_value_classes(s, p, seen, classes);
    for (uint32_t i = 0; i < x->value_count; i++) {
        gravest = classes[i] < gravest ? classes[i] : gravest;
        if (classes[i] == DIFF_DIFFERS)
            p->from &= x->values[i].approx ? 0 : x->values[i].from | y->values[i].from;
    }
    note_store(s, a, classes);
    if (classes != few)
        free(classes);
    return gravest;
}

/* ---- one thread ---- */

static const struct stream_place *place_of(const struct diff_track *t, size_t item) {
    return &t->stream->places[diff_track_event(t, item)->place];
}

/* What is no longer the same instruction, or is not reached on one side. */
static void part_ways(struct diff_sides *s, struct parting *p, enum parting_kind kind,
                      uint32_t passed, uint32_t seen) {
    const bool end_a = kind == DIFFER_END_A;
    const uint32_t branches = s->a->given.branches | s->b->given.branches;
    p->kind = kind;
    p->epoch =
        2 * passed + is_wait(end_a ? place_of(&s->b_track, p->b) : place_of(&s->a_track, p->a));
    p->class = branches & seen ? DIFF_DOWNSTREAM : DIFF_DIFFERS;
    p->from = branches;
    part(s, p);
}

/* Items a0..a1-1 against b0..b1-1. */
static void walk(struct diff_sides *s, size_t a0, size_t a1, size_t b0, size_t b1) {
    struct parting p = {.thread = a0 < a1 ? s->a_track.items[a0].group.thread
                                          : s->b_track.items[b0].group.thread};
    uint32_t passed = 0, seen = 0;
    bool followed = false;
    for (; a0 + p.index < a1 && b0 + p.index < b1; p.index++) {
        p.a = a0 + p.index;
        p.b = b0 + p.index;
        const struct stream_event *a = diff_track_event(&s->a_track, p.a);
        const struct stream_event *b = diff_track_event(&s->b_track, p.b);
        const bool wait = is_wait(&s->a->places[a->place]);
        s->d->events++;
        if (s->b_place[a->place] != (int64_t)b->place ||
            s->a_track.items[p.a].visit != s->b_track.items[p.b].visit) {
            part_ways(s, &p, DIFFER_PLACE, passed, seen);
            return;
        }
        p.kind = DIFFER_VALUE;
        p.epoch = 2 * passed + wait;
        p.class = compare_events(s, &p, &seen);
        /* Of what only follows the first is enough; the thread goes on. */
        if (p.class == DIFF_DIFFERS || p.class == DIFF_UNORDERED ||
            (p.class == DIFF_DOWNSTREAM && !followed))
            part(s, &p);
        if (p.class == DIFF_DIFFERS)
            return;
        followed = followed || p.class == DIFF_DOWNSTREAM;
        passed += wait;
    }
    p.a = a0 + p.index;
    p.b = b0 + p.index;
    if (p.a < a1 || p.b < b1)
        part_ways(s, &p, p.a == a1 ? DIFFER_END_A : DIFFER_END_B, passed, seen);
}

static void walk_all(struct diff_sides *s) {
    size_t i = 0, k = 0;
    while (i < s->a_track.count || k < s->b_track.count) {
        int order = 0;
        if (i == s->a_track.count)
            order = 1;
        else if (k == s->b_track.count)
            order = -1;
        else
            order = diff_group_compare(&s->a_track.items[i].group, &s->b_track.items[k].group);
        const size_t a1 = order <= 0 ? diff_track_end(&s->a_track, i) : i;
        const size_t b1 = order >= 0 ? diff_track_end(&s->b_track, k) : k;
        walk(s, i, a1, k, b1);
        s->threads++;
        i = a1;
        k = b1;
    }
}

/* ---- what may follow from another thread's difference ---- */

/* Whether one of the sources in `set` was seen to differ before `epoch`. */
static bool seen_before(const struct diff_sides *s, uint32_t set, uint32_t epoch) {
    for (int bit = 0; bit < 32; bit++)
        if ((set & s->seen) >> bit & 1 && s->seen_epoch[bit] <= epoch)
            return true;
    return false;
}

/* A value that others made follows from what others saw, where that was handed to memory. */
static void forgive(struct diff_sides *s) {
    const uint32_t global = s->a->given.global | s->b->given.global | DIFF_UNSTABLE_BIT;
    const uint32_t others = s->a->given.others | s->b->given.others | DIFF_UNSTABLE_BIT;
    s->d->spread |= s->seen & (global | others);
    for (size_t i = 0; i < s->count; i++) {
        struct parting *p = &s->partings[i];
        if (p->class == DIFF_DIFFERS &&
            (((p->from >> PROBE_WHY_GLOBAL & 1) && seen_before(s, global, p->epoch)) ||
             ((p->from >> PROBE_WHY_OTHERS & 1) && seen_before(s, others, p->epoch))))
            p->class = DIFF_DOWNSTREAM;
    }
}

/* ---- a launch ---- */

static bool ambiguous(struct diff_sides *s, const struct diff_track *t, const char *name) {
    if (!t->ambiguous)
        return false;
    struct strbuf text = {0};
    strbuf_puts(&text, "the key does not tell CTAs apart: ");
    diff_track_text(t, (size_t)(t->ambiguous - t->items), &text);
    strbuf_printf(&text, " in %s is another CTA's too", name);
    diff_no_verdict(s->d, strbuf_text(&text));
    strbuf_free(&text);
    return true;
}

static void compare(struct diff_sides *s) {
    s->b_place = calloc(s->a->place_count + 1, sizeof *s->b_place);
    for (uint32_t i = 0; s->b_place && i < s->a->place_count; i++) {
        s->b_place[i] = -1;
        for (uint32_t k = 0; k < s->b->place_count; k++)
            if (same_place(&s->a->places[i], &s->b->places[k]))
                s->b_place[i] = k;
    }
    s->no_memory = !s->b_place || !diff_track_make(&s->a_track, s->a) ||
                   !diff_track_make(&s->b_track, s->b) || !diff_stores_add(&s->d->stores, s->a) ||
                   !diff_stores_add(&s->d->stores, s->b);
    if (!s->no_memory && !ambiguous(s, &s->a_track, s->d->a_name) &&
        !ambiguous(s, &s->b_track, s->d->b_name))
        walk_all(s);
    forgive(s);
    if (s->no_memory)
        diff_no_verdict(s->d, "no memory to compare the events");
    else if (s->count)
        diff_report_partings(s);
    if (s->a->overflow || s->b->overflow)
        diff_no_verdict(s->d, "a probe overflowed: events are missing");
    free(s->b_place);
    free(s->partings);
    diff_track_free(&s->a_track);
    diff_track_free(&s->b_track);
}

static bool is_sim(const struct record_stream *stored) {
    return json_is_true(json_object_get(stored->json, "sim"));
}

/* The record's stream of the same launch and the same sort of probes, NULL for none. */
static const struct record_stream *partner(const struct record *record,
                                           const struct record_stream *stored) {
    const json_int_t launch = json_integer_value(json_object_get(stored->json, "launch"));
    for (size_t i = 0; i < record->stream_count; i++)
        if (json_integer_value(json_object_get(record->streams[i].json, "launch")) == launch &&
            is_sim(&record->streams[i]) == is_sim(stored))
            return &record->streams[i];
    return NULL;
}

/* Reads the partner of `stored`. */
static bool open_partner(struct diff *d, const struct record *record,
                         const struct record_stream *stored, struct stream *stream) {
    const struct record_stream *found = partner(record, stored);
    const char *why;
    if (!found)
        return false;
    if (stream_read(found->json, found->bytes, found->size, stream, &why)) {
        diff_spin_mark(record, stream);
        return true;
    }
    stream_free(stream);
    diff_no_verdict(d, why);
    return false;
}

/* Only one record has the stream: of [sim] probes that is as it must be. */
static void lone_stream(struct diff *d, const struct record_stream *stored) {
    struct stream stream;
    const char *why;
    if (!is_sim(stored))
        diff_no_verdict(d, "only one of the records has the events of a launch");
    else if (stream_read(stored->json, stored->bytes, stored->size, &stream, &why))
        d->not_compared += stream.event_count;
    else
        diff_no_verdict(d, why);
    if (is_sim(stored))
        stream_free(&stream);
}

static unsigned target_of(const struct record *record) {
    const char *target = json_string_value(json_object_get(record->trace, "target"));
    return target && !strncmp(target, "sm_", 3) ? (unsigned)strtoul(target + 3, NULL, 10) : 0;
}

static void compare_launch(struct diff *d, const struct record_stream *stored) {
    struct stream a = {0}, b = {0}, *again = calloc(d->again_count + 1, sizeof *again);
    struct diff_track *tracks = calloc(d->again_count + 1, sizeof *tracks);
    const char *why;
    struct diff_sides s = {.d = d,
                           .a = &a,
                           .b = &b,
                           .again = tracks,
                           .a_target = target_of(d->a),
                           .b_target = target_of(d->b)};
    while (again && tracks && s.again_count < d->again_count &&
           open_partner(d, &d->again[s.again_count], stored, &again[s.again_count]) &&
           diff_track_make(&tracks[s.again_count], &again[s.again_count]))
        s.again_count++;
    if (!stream_read(stored->json, stored->bytes, stored->size, &a, &why))
        diff_no_verdict(d, why);
    else if (open_partner(d, d->b, stored, &b)) {
        diff_spin_mark(d->a, &a);
        compare(&s);
    }
    stream_free(&a);
    stream_free(&b);
    for (size_t i = 0; again && tracks && i < d->again_count; i++) {
        diff_track_free(&tracks[i]);
        stream_free(&again[i]);
    }
    free(tracks);
    free(again);
}

void diff_streams(struct diff *d) {
    for (size_t i = 0; i < d->a->stream_count && d->status != EXIT_DIFFERENT; i++)
        if (partner(d->b, &d->a->streams[i]))
            compare_launch(d, &d->a->streams[i]);
        else
            lone_stream(d, &d->a->streams[i]);
    for (size_t i = 0; i < d->b->stream_count; i++)
        if (!partner(d->a, &d->b->streams[i]))
            lone_stream(d, &d->b->streams[i]);
}
