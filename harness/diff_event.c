/* Says where threads part: the place, the values, what agreed before. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff_bound.h"
#include "diff_sides.h"

static bool precedes(const struct diff_sides *s, const struct parting *x, const struct parting *y) {
    if (x->class != y->class)
        return x->class < y->class;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch;
    const bool x_b = x->kind == DIFFER_END_A, y_b = y->kind == DIFFER_END_A;
    struct diff_group p = (x_b ? s->b_track.items[x->b] : s->a_track.items[x->a]).group;
    struct diff_group q = (y_b ? s->b_track.items[y->b] : s->a_track.items[y->a]).group;
    p.thread = q.thread = 0;
    const int order = diff_group_compare(&p, &q);
    if (order)
        return order < 0;
    if (x->index != y->index)
        return x->index < y->index;
    return x->thread < y->thread;
}

/* The track and the item that a parting is about. */
static const struct diff_track *where(const struct diff_sides *s, const struct parting *p,
                                      size_t *item) {
    *item = p->kind == DIFFER_END_A ? p->b : p->a;
    return p->kind == DIFFER_END_A ? &s->b_track : &s->a_track;
}

/* Lanes of the same warp that part at the same place and visit. */
static uint32_t lanes_with(const struct diff_sides *s, const struct parting *first) {
    uint32_t lanes = 0;
    size_t item, other;
    const struct diff_track *t = where(s, first, &item);
    for (size_t i = 0; i < s->count; i++) {
        const struct parting *p = &s->partings[i];
        if (p->kind != first->kind || p->class != first->class ||
            p->thread / 32 != first->thread / 32 || where(s, p, &other) != t)
            continue;
        struct diff_group x = t->items[item].group, y = t->items[other].group;
        x.thread = y.thread = 0;
        if (!diff_group_compare(&x, &y) && t->items[item].visit == t->items[other].visit &&
            diff_track_event(t, item)->place == diff_track_event(t, other)->place)
            lanes |= UINT32_C(1) << p->thread % 32;
    }
    return lanes;
}

void diff_event_place(const struct diff_track *t, size_t item, struct strbuf *out) {
    const struct stream_event *event = diff_track_event(t, item);
    const struct stream_place *place = &t->stream->places[event->place];
    strbuf_printf(out, "launch %u, ", t->stream->launch);
    diff_track_text(t, item, out);
    strbuf_printf(out, ", warp %u, lane %u, visit %u, %s:%u:%u: ", event->thread / 32,
                  event->thread % 32, t->items[item].visit, place->file, place->line,
                  place->column);
}

/* Why an approximate result is not excused, or where an uncertain value may come from. */
static void describe_reason(const struct diff_sides *s, const struct stream_place *place,
                            const struct stream_value *x, const struct stream_value *y,
                            struct strbuf *out) {
    bool ftz;
    const struct diff_bound *bound = x->approx ? diff_bound_find(x->approx, &ftz) : NULL;
    if (bound && diff_bound_is_exact(bound, s->a_target) &&
        diff_bound_is_exact(bound, s->b_target)) {
        strbuf_printf(out, "\n      %s is simulated bit for bit for this machine", x->approx);
    } else if (bound) {
        strbuf_printf(out, "\n      not within the bound of %s: ", x->approx);
        diff_bound_text(bound, out);
    }
    for (int why = 1; why < PROBE_WHY_COUNT; why++)
        if ((x->from | y->from) >> why & 1 && why != PROBE_WHY_APPROX &&
            probe_why_when((enum probe_why)why) == PROBE_WHY_SEEN) {
            strbuf_printf(out, "\n      may come from %s", probe_why_text((enum probe_why)why));
            if (x->from_line)
                strbuf_printf(out, " (%s:%u)", place->file, x->from_line);
            strbuf_puts(out, ": probe that too, or name a key");
            break;
        }
}

static void describe_values(const struct diff_sides *s, const struct parting *p,
                            struct strbuf *out) {
    const struct stream_event *a = diff_track_event(&s->a_track, p->a);
    const struct stream_event *b = diff_track_event(&s->b_track, p->b);
    const struct stream_place *x = &s->a->places[a->place], *y = &s->b->places[b->place];
    enum { MOST = 8 };
    unsigned said = 0, left = 0;
    for (uint32_t i = 0; i < x->value_count; i++) {
        if (!diff_value_differs(s, a, b, i) || x->values[i].why || y->values[i].why)
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
        describe_reason(s, x, &x->values[i], &y->values[i], out);
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
            if (place->values[i].role != STREAM_BYTES)
                continue;
            const uint32_t at = stream_value_byte(place, e, i) - place->first_byte;
            const uint32_t word = (uint32_t)stream_word(&place->values[i], e);
            if (at + sizeof word <= size)
                memcpy(bytes + at, &word, sizeof word);
        }
    }
    return bytes;
}

/* Shared memory in another order: seen as lines of 128 bytes, of 2-byte elements. */
static void describe_memory(const struct diff_sides *s, const struct parting *p,
                            struct strbuf *out) {
    enum { LINE_BYTES = 128 };
    const struct stream_event *a = diff_track_event(&s->a_track, p->a);
    const struct stream_event *b = diff_track_event(&s->b_track, p->b);
    const struct stream_place *place = &s->a->places[a->place];
    const uint32_t size = place->bytes;
    if (!place->unit_bytes || place->tmem || size % LINE_BYTES || size < 8 * LINE_BYTES)
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

static void describe_kind(const struct diff_sides *s, const struct parting *p, struct strbuf *out) {
    if (p->class == DIFF_UNORDERED) {
        strbuf_puts(out, "\n    these bytes are written while they are read: not compared");
    } else if (p->kind == DIFFER_VALUE) {
        describe_values(s, p, out);
        describe_memory(s, p, out);
    } else if (p->kind == DIFFER_PLACE) {
        const struct stream_event *other = diff_track_event(&s->b_track, p->b);
        const struct stream_place *there = &s->b->places[other->place];
        strbuf_printf(out, "\n    here %s; %s comes to %s:%u: %s, visit %u", s->d->a_name,
                      s->d->b_name, there->file, there->line, there->text,
                      s->b_track.items[p->b].visit);
    } else {
        strbuf_printf(out, "\n    not reached in %s",
                      p->kind == DIFFER_END_A ? s->d->a_name : s->d->b_name);
    }
}

static void describe(const struct diff_sides *s, const struct parting *p, struct strbuf *out) {
    static const char *const names[] = {[DIFF_DIFFERS] = "first difference",
                                        [DIFF_UNORDERED] = "first race",
                                        [DIFF_DOWNSTREAM] = "first that follows from others"};
    enum { BEFORE = 3 };
    size_t item;
    const struct diff_track *t = where(s, p, &item);
    const struct stream_place *place = &t->stream->places[diff_track_event(t, item)->place];
    strbuf_printf(out, "%s: launch %u, ", names[p->class], t->stream->launch);
    diff_track_text(t, item, out);
    strbuf_printf(out, ", warp %u, lanes 0x%08x, visit %u\n  %s:%u:%u: %s", p->thread / 32,
                  lanes_with(s, p), t->items[item].visit, place->file, place->line, place->column,
                  place->text);
    describe_kind(s, p, out);
    strbuf_printf(out, "\n  %s",
                  p->index ? "the last events that agreed:"
                           : "no event of this thread precedes it");
    for (size_t k = p->index > BEFORE ? p->index - BEFORE : 0; k < p->index; k++) {
        strbuf_puts(out, "\n    ");
        stream_event_text(s->a, diff_track_event(&s->a_track, p->a - p->index + k), 0, out);
    }
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->partings[i].class == p->class;
    strbuf_printf(out, "\n  %zu of %llu threads", count, (unsigned long long)s->threads);
}

static void report(struct diff_sides *s, const struct parting *first) {
    struct strbuf text = {0};
    size_t item;
    const struct diff_track *t = where(s, first, &item);
    const struct stream_event *event = diff_track_event(t, item);
    const struct stream_place *place = &t->stream->places[event->place];
    describe(s, first, &text);
    json_t *more =
        json_pack("{s:i, s:i, s:i, s:o, s:s, s:o, s:i}", "launch", (int)t->stream->launch, "cta",
                  (int)event->cta, "warp", (int)(first->thread / 32), "lanes",
                  json_sprintf("0x%08x", lanes_with(s, first)), "probe", place->probe, "ptx",
                  json_sprintf("%s:%u:%u", place->file, place->line, place->column), "visit",
                  (int)t->items[item].visit);
    diff_found(s->d, first->class, "diff.event", place->probe, strbuf_text(&text), more);
    strbuf_free(&text);
}

void diff_report_partings(struct diff_sides *s) {
    const struct parting *first[DIFF_DOWNSTREAM + 1] = {0};
    for (size_t i = 0; i < s->count; i++) {
        const struct parting *p = &s->partings[i];
        const struct parting **least = &first[p->class];
        s->d->counts.of_class[p->class]++;
        if (!*least || precedes(s, p, *least))
            *least = p;
    }
    /* What follows from others is of interest when nothing graver is there. */
    if (first[DIFF_DIFFERS])
        report(s, first[DIFF_DIFFERS]);
    if (first[DIFF_UNORDERED])
        report(s, first[DIFF_UNORDERED]);
    if (first[DIFF_DOWNSTREAM] && !first[DIFF_DIFFERS])
        report(s, first[DIFF_DOWNSTREAM]);
}
