/* A launch's probes at run time. */
#include "probe_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "probe_race.h"
#include "probe_wait.h"
#include "stream.h"

static bool allocate(struct probe_part *probes, const struct driver *driver, CUdeviceptr *address,
                     struct host_error *error) {
    void *host = NULL;
    if (!driver->cuMemHostAlloc || !driver->cuMemHostGetDevicePointer || !driver->cuMemFreeHost) {
        result_message(error, "this driver has no mapped host memory, which probes need");
        return false;
    }
    const unsigned portable_and_mapped = 3;
    if (!RESULT_CHECK(error, driver, cuMemHostAlloc,
                      (&host, probes->layout.bytes, portable_and_mapped)))
        return false;
    memset(host, 0, probes->layout.bytes);
    probes->bytes = host;
    return RESULT_CHECK(error, driver, cuMemHostGetDevicePointer, (address, host, 0));
}

/* A tmem probe waits for its own load, and so for the kernel's. */
static void say_hidden(const struct probe_part *probes, const struct run *run,
                       const struct probe_site *site) {
    enum { MOST = 8 };
    uint32_t loads[MOST];
    struct arena scratch = {0};
    struct strbuf text = {0};
    const struct ir_func *func = &probes->layout.plan->ir->funcs[site->func];
    const uint32_t count = probe_wait_hidden(&scratch, func, site->insn, loads, MOST);
    strbuf_printf(&text, "probe %s adds tcgen05.wait::ld at line %u, which hides ",
                  run->trace->probes.items[site->probe].name, func->insns[site->insn].line);
    if (count == UINT32_MAX)
        strbuf_puts(&text, "a wait that the kernel lacks before it");
    else if (!count)
        strbuf_puts(&text, "nothing: no tcgen05.ld of the kernel is under way there");
    else
        strbuf_puts(&text, "that the kernel has not waited there for the tcgen05.ld of line");
    for (uint32_t i = 0; count != UINT32_MAX && i < count && i < MOST; i++)
        strbuf_printf(&text, "%s %u", i ? "," : "", func->insns[loads[i]].line);
    if (count != UINT32_MAX && count > MOST)
        strbuf_printf(&text, " and %u more", count - MOST);
    printf("%s\n", strbuf_text(&text));
    strbuf_free(&text);
    arena_free(&scratch);
}

static void say_size(const struct probe_part *probes, const struct run *run) {
    const struct probe_plan *plan = probes->layout.plan;
    if (run->options->quiet || run->options->json)
        return;
    printf("launch %u: probes take %.3g MiB\n", probes->layout.launch->number,
           (double)probes->layout.bytes / 1048576);
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (plan->specs[plan->sites[i].probe].kind == PROBE_TMEM &&
            !plan->specs[plan->sites[i].probe].sim &&
            probes->layout.regions[plan->sites[i].probe].ctas &&
            plan->sites[i].func == probes->layout.func)
            say_hidden(probes, run, &plan->sites[i]);
    fflush(stdout);
}

static bool begin_rewritten(struct probe_part *probes, struct run *run,
                            const struct trace_launch *launch, struct host_error *error) {
    const struct driver *driver = &run->machine->driver;
    const struct trace *trace = run->trace;
    CUdeviceptr address = 0, symbol;
    uint64_t globals[PROBE_MAX_PROBES] = {0};
    size_t bytes;
    probes->bytes = NULL;
    probe_layout_make(&probes->layout, trace, launch, trace->modules.items[launch->module].plan);
    if (!probes->layout.plan)
        return true;
    if (probes->layout.bytes) {
        say_size(probes, run);
        if (!allocate(probes, driver, &address, error))
            return false;
        for (uint32_t p = 0; p < trace->probes.count; p++) {
            const struct trace_address at = {OBJECT_BUFFER, trace->probes.items[p].buffer,
                                             (int64_t)trace->probes.items[p].global_offset_bytes};
            if (trace->probes.items[p].spec.kind == PROBE_GLOBAL)
                globals[p] = run_memory_address(&run->memory, &at);
        }
        probe_layout_head(&probes->layout, globals, probes->bytes);
    }
    if (!machine_windows(run->machine, error) ||
        !module_global(&run->memory.modules[launch->module], PROBE_SYMBOL, &symbol, &bytes,
                       error) ||
        !RESULT_CHECK(error, driver, cuMemcpyHtoD, (symbol, &address, sizeof address)))
        return false;
    if (probes->bytes)
        probes->race = probe_race_begin(run, &probes->layout, false, NULL);
    return true;
}

/* One line for all [sim] probes of a trace that runs on a GPU. */
static void say_skipped(struct run *run) {
    struct strbuf names = {0};
    if (run->skipped_said)
        return;
    run->skipped_said = true;
    for (uint32_t p = 0; p < run->trace->probes.count; p++)
        if (run->trace->probes.items[p].spec.sim)
            strbuf_printf(&names, " %s", run->trace->probes.items[p].name);
    progress_clear(run->progress);
    message_warning("skipped on a GPU, for they are [sim] probes:%s", strbuf_text(&names));
    strbuf_free(&names);
}

bool probe_run_begin(struct probe_run *probes, struct run *run, const struct trace_launch *launch,
                     struct host_error *error) {
    const struct trace_module *module = &run->trace->modules.items[launch->module];
    *probes = (struct probe_run){0};
    if (!begin_rewritten(&probes->rewritten, run, launch, error))
        return false;
    if (!module->sim_plan)
        return true;
    if (run->machine->gpu) {
        say_skipped(run);
        return true;
    }
    if (!machine_windows(run->machine, error) || !probe_sim_begin(&probes->sim, run, launch, error))
        return false;
    if (probes->sim.part.bytes) {
        say_size(&probes->sim.part, run);
        probes->sim.part.race =
            probe_race_begin(run, &probes->sim.part.layout, true, probes->rewritten.race);
    }
    return true;
}

static void report_lost(const struct probe_events *e) {
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "no verdict: probe %s overflowed in launch %u: more than %u hits, %" PRIu64
                  " times; ask for fewer, or write keep N or last N",
                  e->lost_by->name, e->part->layout.launch->number, e->lost_by->spec.keep,
                  e->threads_lost);
    e->run->no_verdict = true;
    run_finding(e->run, &e->lost_by->place, "probe.overflow", strbuf_text(&text), NULL);
    strbuf_free(&text);
}

static void report_unreadable(struct run *run, const struct probe_sim *sim) {
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "no verdict: probe %s found nothing to read %" PRIu64 " times in launch %u: its "
                  "bytes lie beyond the memory that there is",
                  sim->unreadable_by->name, sim->unreadable, sim->part.layout.launch->number);
    run->no_verdict = true;
    run_finding(run, &sim->unreadable_by->place, "probe.unreadable", strbuf_text(&text), NULL);
    strbuf_free(&text);
}

/* `timeline` may be NULL. */
static void keep_stream(struct probe_events *e, struct timeline *timeline) {
    struct run *run = e->run;
    struct run_stream *grown =
        realloc(run->streams, (run->stream_count + 1) * sizeof *run->streams);
    json_t *json = grown ? probe_describe(e) : NULL;
    if (grown)
        run->streams = grown;
    if (!json)
        return;
    struct run_stream *stream = &grown[run->stream_count++];
    *stream = (struct run_stream){json, e->bytes, e->size, NULL, 0};
    e->bytes = NULL;
    if (!timeline)
        return;
    if (timeline->cut) {
        json_object_set_new(json, "cut", json_true());
        message_warning("the timeline of launch %u has only its first %zu events",
                        e->part->layout.launch->number, timeline->count);
    }
    stream->time = (uint8_t *)timeline->rows;
    stream->time_size = timeline->count * sizeof *timeline->rows;
    *timeline = (struct timeline){0};
}

static bool is_last(const struct stream *s, size_t i) {
    return i + 1 == s->event_count || s->events[i + 1].cta != s->events[i].cta ||
           s->events[i + 1].thread != s->events[i].thread;
}

static bool same_event(const struct stream *s, const struct stream_event *x,
                       const struct stream_event *y) {
    return x->cta == y->cta && x->thread / 32 == y->thread / 32 && x->place == y->place &&
           x->visit == y->visit && x->flags == y->flags &&
           !memcmp(x->words, y->words, 8 * (size_t)s->places[x->place].words);
}

/* The last events of threads, when a launch did not end; lanes that saw the same are one line. */
static void print_last(const struct probe_events *e, unsigned limit) {
    struct stream stream;
    const char *why;
    json_t *json = probe_describe(e);
    const bool ok = stream_read(json, e->bytes, e->size, &stream, &why);
    if (ok && stream.event_count)
        message_note("the last events that probes saw:");
    for (size_t i = 0; ok && i < stream.event_count && limit; i++) {
        const struct stream_event *event = &stream.events[i];
        uint32_t lanes = 0;
        bool said = !is_last(&stream, i);
        for (size_t k = i; k-- > 0 && !said && stream.events[k].cta == event->cta;)
            said = is_last(&stream, k) && same_event(&stream, event, &stream.events[k]);
        for (size_t k = i; k < stream.event_count && !said && stream.events[k].cta == event->cta;
             k++)
            if (is_last(&stream, k) && same_event(&stream, event, &stream.events[k]))
                lanes |= UINT32_C(1) << stream.events[k].thread % 32;
        if (said)
            continue;
        struct strbuf text = {0};
        stream_event_text(&stream, event, lanes, &text);
        fprintf(stderr, "  %s\n", strbuf_text(&text));
        strbuf_free(&text);
        limit--;
    }
    stream_free(&stream);
    json_decref(json);
}

static void take_events(const struct probe_part *part, struct run *run, struct timeline *timeline,
                        bool failed) {
    enum { LAST_EVENTS = 16 };
    struct probe_events e = {.part = part, .run = run, .sim = timeline, .objects = json_array()};
    if (part->bytes && probe_events_gather(&e)) {
        if (failed)
            print_last(&e, LAST_EVENTS);
        keep_stream(&e, timeline);
        if (e.threads_lost)
            report_lost(&e);
    } else if (part->bytes) {
        run->no_verdict = true;
        run_finding(run, &part->layout.launch->place, "probe.no_memory",
                    "no verdict: no memory for the events of the probes", NULL);
    }
    json_decref(e.objects);
    free(e.bytes);
}

void probe_run_rescue(struct probe_run *probes, struct run *run) {
    /* The simulator may still be writing to the timeline, and it moves as it grows. */
    struct timeline none = {.cut = true};
    take_events(&probes->rewritten, run, NULL, true);
    take_events(&probes->sim.part, run, &none, true);
}

void probe_run_end(struct probe_run *probes, struct run *run, bool failed) {
    probe_sim_stop(&probes->sim);
    probe_race_end(probes->rewritten.race, run);
    probe_race_end(probes->sim.part.race, run);
    take_events(&probes->rewritten, run, NULL, failed);
    take_events(&probes->sim.part, run, &probes->sim.timeline, failed);
    probe_race_report(probes->rewritten.race, run);
    probe_race_report(probes->sim.part.race, run);
    probe_race_free(probes->rewritten.race);
    probe_race_free(probes->sim.part.race);
    if (probes->sim.unreadable)
        report_unreadable(run, &probes->sim);
    if (probes->rewritten.bytes)
        run->machine->driver.cuMemFreeHost(probes->rewritten.bytes);
    probe_sim_free(&probes->sim);
    *probes = (struct probe_run){0};
}
