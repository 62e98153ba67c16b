/* The class of each value of an event that differs. What decides, in this order:
 *   - the value itself: a clock, an id, what an atomic found (why); or that it may be computed from
 *     what machines disagree about anyway;
 *   - whether the machine repeats it (--repeat);
 *   - a result of an approximate instruction: its documented bound, where the simulator does not
 *     give that machine's very bits anyway;
 *   - a result whose operands differ: it follows from them;
 *   - what it may be computed from, when that was seen to differ in this thread before.
 * What is left differs. */
#include "diff_bound.h"
#include "diff_sides.h"

#include <string.h>

bool diff_value_differs(const struct diff_sides *s, const struct stream_event *a,
                        const struct stream_event *b, uint32_t i) {
    const struct stream_value *x = &s->a->places[a->place].values[i];
    const struct stream_value *y = &s->b->places[b->place].values[i];
    int64_t p, q;
    const char *m = stream_pointer(s->a, a, i, &p), *n = stream_pointer(s->b, b, i, &q);
    if (m && n)
        return strcmp(m, n) || p != q;
    return m || n || stream_word(x, a) != stream_word(y, b);
}

/* What is compared of one event. */
struct pair {
    struct diff_sides *s;
    const struct parting *at;
    const struct stream_event *a, *b;
    const struct stream_place *x, *y;
    uint32_t *seen;
    enum diff_class operands; /* the gravest class of what the instruction reads */
    enum probe_why because;   /* of these, when it is DIFF_LEGAL */
};

static bool varies(const struct pair *p, uint32_t value) {
    const struct diff_item *item = &p->s->b_track.items[p->at->b];
    const struct stream_value *v = &p->y->values[value];
    for (size_t i = 0; i < p->s->again_count; i++) {
        const struct stream_event *other =
            diff_track_find(&p->s->again[i], &item->group, p->b->place, item->visit);
        if (!other || stream_word(v, other) != stream_word(v, p->b))
            return true;
    }
    return false;
}

/* The result and its operands a and b; d[0] and d[1] of a vector have a[0] and a[1]. */
static struct diff_result result(const struct stream_place *place, const struct stream_event *event,
                                 uint32_t value) {
    static const char *const names[DIFF_BOUND_OPERANDS] = {"a", "b"};
    struct diff_result r = {.word = stream_word(&place->values[value], event)};
    for (uint32_t i = 0; place->values[value].output && i < place->value_count; i++)
        for (int k = 0; k < DIFF_BOUND_OPERANDS; k++)
            if (!place->values[i].output && !place->values[i].key &&
                !strcmp(place->values[i].name, names[k])) {
                r.operands[k] = stream_word(&place->values[i], event);
                r.known[k] = true;
            }
    return r;
}

static bool within_bound(const struct pair *p, uint32_t value) {
    const struct stream_value *x = &p->x->values[value], *y = &p->y->values[value];
    bool ftz;
    if (!x->approx || !y->approx || strcmp(x->approx, y->approx) != 0)
        return false;
    const struct diff_bound *bound = diff_bound_find(x->approx, &ftz);
    if (!bound ||
        (diff_bound_is_exact(bound, p->s->a_target) && diff_bound_is_exact(bound, p->s->b_target)))
        return false;
    const struct diff_result a = result(p->x, p->a, value), b = result(p->y, p->b, value);
    return diff_bound_holds(bound, ftz, &a, &b);
}

/* The first source of a set that makes a difference legal, given what was seen to differ. */
static enum probe_why legal_source(uint32_t from, uint32_t seen) {
    for (int why = 1; why < PROBE_WHY_COUNT; why++) {
        const enum probe_why_when when = probe_why_when((enum probe_why)why);
        if ((from >> why & 1) && why != PROBE_WHY_APPROX &&
            (when == PROBE_WHY_ALWAYS || (when == PROBE_WHY_SEEN && (seen >> why & 1))))
            return (enum probe_why)why;
    }
    return PROBE_WHY_NONE;
}

static void see(struct pair *p, unsigned bit) {
    struct diff_sides *s = p->s;
    *p->seen |= 1u << bit;
    if (!(s->seen >> bit & 1) || p->at->epoch < s->seen_epoch[bit])
        s->seen_epoch[bit] = p->at->epoch;
    s->seen |= 1u << bit;
}

static enum diff_class legal(struct pair *p, enum probe_why why) {
    see(p, why);
    p->s->d->counts.legal_by[why]++;
    p->because = why;
    return DIFF_LEGAL;
}

static enum diff_class classify(struct pair *p, uint32_t i) {
    const struct stream_value *x = &p->x->values[i], *y = &p->y->values[i];
    const uint32_t from = x->from | y->from;
    if (x->why || y->why)
        return legal(p, (enum probe_why)(x->why ? x->why : y->why));
    if (legal_source(from, 0))
        return legal(p, legal_source(from, 0));
    if (p->s->again_count && varies(p, i)) {
        see(p, 31);
        return DIFF_UNSTABLE;
    }
    if (within_bound(p, i)) {
        see(p, PROBE_WHY_APPROX);
        return DIFF_BOUNDED;
    }
    if (x->output && p->operands == DIFF_LEGAL)
        return legal(p, p->because);
    if (x->output && p->operands != DIFF_EQUAL)
        return DIFF_DOWNSTREAM;
    if (x->approx || y->approx)
        return DIFF_DIFFERS;
    const enum probe_why why = legal_source(from, *p->seen);
    if (why)
        return legal(p, why);
    return from & *p->seen & 1u << PROBE_WHY_APPROX ? DIFF_DOWNSTREAM : DIFF_DIFFERS;
}

/* Why the first value of a class is no finding. */
static void note(const struct pair *p, enum diff_class class, uint32_t i) {
    struct strbuf text = {0};
    bool ftz;
    if (p->s->d->first[class].length) {
        diff_noted(p->s->d, class, NULL);
        return;
    }
    diff_event_place(&p->s->a_track, p->at->a, &text);
    stream_value_name(p->x, p->a, i, &text);
    strbuf_puts(&text, ": ");
    stream_value_text(p->s->a, p->a, i, &text);
    strbuf_printf(&text, " in %s, ", p->s->d->a_name);
    stream_value_text(p->s->b, p->b, i, &text);
    strbuf_printf(&text, " in %s", p->s->d->b_name);
    const struct diff_bound *bound =
        class == DIFF_BOUNDED ? diff_bound_find(p->x->values[i].approx, &ftz) : NULL;
    if (bound) {
        strbuf_printf(&text, " (%s: ", p->x->values[i].approx);
        diff_bound_text(bound, &text);
        strbuf_puts(&text, ")");
    }
    if (class == DIFF_LEGAL)
        strbuf_printf(&text, " (%s)", probe_why_text(p->because));
    diff_noted(p->s->d, class, strbuf_text(&text));
    strbuf_free(&text);
}

void diff_value_classes(struct diff_sides *s, const struct parting *at, uint32_t *seen,
                        enum diff_class *classes) {
    struct pair p = {.s = s,
                     .at = at,
                     .a = diff_track_event(&s->a_track, at->a),
                     .b = diff_track_event(&s->b_track, at->b),
                     .seen = seen,
                     .operands = DIFF_EQUAL};
    p.x = &s->a->places[p.a->place];
    p.y = &s->b->places[p.b->place];
    for (int outputs = 0; outputs <= 1; outputs++)
        for (uint32_t i = 0; i < p.x->value_count; i++) {
            if (p.x->values[i].output != (bool)outputs)
                continue;
            classes[i] = DIFF_EQUAL;
            if (!diff_value_differs(s, p.a, p.b, i))
                continue;
            classes[i] = classify(&p, i);
            if (!outputs && classes[i] < p.operands)
                p.operands = classes[i];
            if (classes[i] > DIFF_DOWNSTREAM)
                note(&p, classes[i], i);
        }
}
