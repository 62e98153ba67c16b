/* Writes charts as Chrome JSON trace events: metadata first, then slices (ph X) and flows (s, f) by
 * rising ts. */
#include "perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "perfetto_chart.h"

enum { MOST_VALUES = 24 };

struct writer {
    struct strbuf *out;
    const struct chart *chart;
    bool steps, any, no_memory;
    uint64_t first_pid; /* process of CTA 0 of this chart */
    uint64_t first_flow;
};

static void put(struct writer *w, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text) {
        strbuf_puts(w->out, w->any ? ",\n" : "\n");
        strbuf_puts(w->out, text);
        w->any = true;
    }
    w->no_memory = w->no_memory || !text;
    free(text);
    json_decref(json);
}

static void put_meta(struct writer *w, const char *what, uint64_t pid, uint32_t tid,
                     const char *key, json_t *value) {
    put(w, json_pack("{s:s, s:s, s:I, s:I, s:{s:o}}", "ph", "M", "name", what, "pid",
                     (json_int_t)pid, "tid", (json_int_t)tid, "args", key, value));
}

static uint64_t pid_of(const struct writer *w, uint32_t cta) {
    return w->first_pid + cta;
}

static void put_process(struct writer *w, uint32_t cta) {
    const uint64_t pid = pid_of(w, cta);
    put_meta(w, "process_name", pid, 0, "name",
             json_sprintf("launch %u cta %u, axis: %s", w->chart->stream->launch, cta,
                          w->steps ? "the simulator's steps (1 step shown as 1 us)"
                                   : "each thread's order of visits, no clock (1 visit as 1 us)"));
    put_meta(w, "process_sort_index", pid, 0, "sort_index", json_integer((json_int_t)pid));
}

static void put_track(struct writer *w, const struct chart_track *t, uint32_t tid) {
    struct strbuf name = {0};
    if (t->group == CHART_WARP)
        strbuf_printf(&name, "warp %u", t->number);
    else if (t->group == CHART_UNIT)
        strbuf_puts(&name, chart_unit_name(t->number));
    else
        strbuf_printf(&name, "mbarrier 0x%x", t->number);
    if (t->row)
        strbuf_printf(&name, t->group == CHART_WARP ? " (lanes apart, %u)" : " (%u)", t->row + 1);
    put_meta(w, "thread_name", pid_of(w, t->cta), tid, "name", json_string(strbuf_text(&name)));
    put_meta(w, "thread_sort_index", pid_of(w, t->cta), tid, "sort_index", json_integer(tid));
    strbuf_free(&name);
}

static void put_tracks(struct writer *w) {
    const struct chart *c = w->chart;
    for (size_t i = 0; i < c->track_count; i++) {
        if (i == 0 || c->tracks[i - 1].cta != c->tracks[i].cta)
            put_process(w, c->tracks[i].cta);
        put_track(w, &c->tracks[i], (uint32_t)i + 1);
    }
}

/* ---- slices ---- */

/* Values of the event of the first lane, the first ones. */
static void add_values(const struct writer *w, const struct chart_slice *s, json_t *args) {
    const struct stream *stream = w->chart->stream;
    const struct stream_place *place = &stream->places[s->place];
    const uint32_t thread = s->warp * 32 + (uint32_t)__builtin_ctz(s->lanes | 1u << 31);
    const struct stream_event *event = chart_event(stream, s->cta, thread, s->place, s->visit);
    for (uint32_t i = 0; event && i < place->value_count && i < MOST_VALUES; i++) {
        struct strbuf name = {0}, value = {0};
        stream_value_name(place, event, i, &name);
        stream_value_text(stream, event, i, &value);
        json_object_set_new(args, strbuf_text(&name), json_string(strbuf_text(&value)));
        strbuf_free(&name);
        strbuf_free(&value);
    }
    if (event && place->value_count > MOST_VALUES)
        json_object_set_new(args, "more values", json_integer(place->value_count - MOST_VALUES));
}

static json_t *args_of(const struct writer *w, const struct chart_slice *s) {
    json_t *args = json_object();
    if (s->open)
        json_object_set_new(args, "over", json_string("not when the launch ended"));
    if (s->place == TIMELINE_NONE) {
        json_object_set_new(args, "phase", json_integer((json_int_t)s->id));
        return args;
    }
    const struct stream_place *place = &w->chart->stream->places[s->place];
    json_object_set_new(args, "instruction", json_string(place->text));
    json_object_set_new(args, "place",
                        json_sprintf("%s:%u:%u", place->file, place->line, place->column));
    json_object_set_new(args, "lanes", json_sprintf("0x%08x", s->lanes));
    if (s->group == CHART_UNIT) {
        json_object_set_new(args, "operation", json_integer((json_int_t)s->id));
        json_object_set_new(args, "warp", json_integer(s->warp));
        return args;
    }
    json_object_set_new(args, "probe", json_string(place->probe));
    json_object_set_new(args, "visit", json_integer(s->visit));
    add_values(w, s, args);
    return args;
}

/* The words of the instruction up to its operands. */
static json_t *name_of(const struct writer *w, const struct chart_slice *s) {
    static const char *const open[] = {"", " (still waiting)", " (not complete)"};
    const char *end = open[s->open ? (s->group == CHART_WARP ? 1 : 2) : 0];
    if (s->place == TIMELINE_NONE)
        return json_sprintf("phase %" PRIu64 "%s", s->id, end);
    const char *text = w->chart->stream->places[s->place].text;
    return json_sprintf("%.*s%s", (int)strcspn(text, " "), text, end);
}

static void put_slice(struct writer *w, const struct chart_slice *s) {
    static const char *const categories[] = {"warp", "operation", "mbarrier"};
    put(w, json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:o}", "ph", "X", "name", name_of(w, s),
                     "cat", categories[s->group], "pid", (json_int_t)pid_of(w, s->cta), "tid",
                     (json_int_t)s->track + 1, "ts", (json_int_t)s->begin, "dur",
                     (json_int_t)(s->end - s->begin), "args", args_of(w, s)));
}

static void put_flow(struct writer *w, size_t index, bool finish) {
    const struct chart_flow *flow = &w->chart->flows[index];
    const struct chart_slice *s = &w->chart->slices[finish ? flow->to : flow->from];
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "ph", finish ? "f" : "s", "name", "leads to", "cat",
        "flow", "id", (json_int_t)(w->first_flow + index), "pid", (json_int_t)pid_of(w, s->cta),
        "tid", (json_int_t)s->track + 1, "ts", (json_int_t)(finish ? flow->to_at : flow->from_at));
    if (finish)
        json_object_set_new(json, "bp", json_string("e"));
    put(w, json);
}

/* ---- by rising ts ---- */

struct entry {
    uint64_t at;
    uint8_t order; /* slices, then beginnings of flows, then their ends */
    size_t index;
};

static int by_time(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void put_events(struct writer *w) {
    const struct chart *c = w->chart;
    const size_t count = c->slice_count + 2 * c->flow_count;
    struct entry *entries = malloc((count + 1) * sizeof *entries);
    size_t n = 0;
    if (!entries) {
        w->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->slice_count; i++)
        entries[n++] = (struct entry){c->slices[i].begin, 0, i};
    for (size_t i = 0; i < c->flow_count; i++) {
        entries[n++] = (struct entry){c->flows[i].from_at, 1, i};
        entries[n++] = (struct entry){c->flows[i].to_at, 2, i};
    }
    if (n)
        qsort(entries, n, sizeof *entries, by_time);
    for (size_t i = 0; i < n && !w->no_memory; i++)
        if (entries[i].order == 0)
            put_slice(w, &c->slices[entries[i].index]);
        else
            put_flow(w, entries[i].index, entries[i].order == 2);
    free(entries);
}

/* ---- the document ---- */

/* One stream. `*pid` and `*flow` go on behind what it used. */
static bool put_stream(struct writer *w, const struct record_stream *stored, uint64_t *pid,
                       struct strbuf *error) {
    struct stream stream;
    struct timeline timeline = {0};
    struct chart chart = {.stream = &stream};
    const char *why = NULL;
    uint32_t last_cta = 0;
    bool ok = stream_read(stored->json, stored->bytes, stored->size, &stream, &why);
    if (ok && stored->time &&
        !timeline_read(stored->time, stored->time_size, stream.place_count, &timeline)) {
        why = "a stream's timeline is wrong";
        ok = false;
    }
    w->chart = &chart;
    w->steps = stored->time;
    w->first_pid = *pid;
    if (ok && w->steps)
        chart_steps(&chart, &timeline);
    else if (ok)
        chart_visits(&chart);
    if (ok)
        chart_place(&chart);
    if (ok && !chart.no_memory) {
        put_tracks(w);
        put_events(w);
    }
    for (size_t i = 0; i < chart.slice_count; i++)
        last_cta = chart.slices[i].cta > last_cta ? chart.slices[i].cta : last_cta;
    *pid += (uint64_t)last_cta + 1;
    w->first_flow += chart.flow_count;
    w->no_memory = w->no_memory || chart.no_memory;
    if (!ok)
        strbuf_printf(error, "not a whole record: %s", why);
    w->chart = NULL;
    timeline_free(&timeline);
    chart_free(&chart);
    stream_free(&stream);
    return ok;
}

static json_t *other_data(const struct record *record) {
    bool steps = false, visits = false;
    const char *on = json_string_value(json_object_get(record->head, "on"));
    const char *device = json_string_value(json_object_get(record->head, "device_name"));
    for (size_t i = 0; i < record->stream_count; i++) {
        steps = steps || record->streams[i].time;
        visits = visits || !record->streams[i].time;
    }
    json_t *json = json_pack("{s:s, s:s, s:s}", "made_by", "siltwin show --perfetto", "on",
                             on ? on : "?", "device", device ? device : "?");
    if (steps)
        json_object_set_new(
            json, "steps",
            json_string(
                "steps of the simulator: an instruction of a warp, an operation that took "
                "effect, or a phase that completed; 1 step is shown as 1 us and is no time"));
    if (visits)
        json_object_set_new(json, "order_of_visits",
                            json_string("each thread's own count of events; there is no clock, and "
                                        "threads are not ordered among each other; 1 visit is "
                                        "shown as 1 us"));
    return json;
}

bool perfetto_write(const struct record *record, struct strbuf *out, struct strbuf *error) {
    struct writer w = {.out = out};
    uint64_t pid = 1;
    if (!record->stream_count) {
        strbuf_puts(error, "the record has no events to show: add a probe to its trace, such as "
                           "'probe E event of mbarrier.* cp.async.bulk* tcgen05.* wgmma.* [sim]', "
                           "and record it again");
        return false;
    }
    json_t *other = other_data(record);
    char *text = json_dumps(other, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(other);
    strbuf_printf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":%s,\"traceEvents\":[",
                  text ? text : "{}");
    free(text);
    for (size_t i = 0; i < record->stream_count; i++)
        if (!put_stream(&w, &record->streams[i], &pid, error))
            return false;
    strbuf_puts(out, "\n]}\n");
    if (!w.no_memory && !out->truncated)
        return true;
    strbuf_puts(error, "no memory for the trace");
    return false;
}
