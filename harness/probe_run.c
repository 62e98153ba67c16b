/* A launch's probes at run time. */
#include "probe_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "probe_flow.h"
#include "probe_wait.h"
#include "stream.h"

/* The bytes of a stream as they grow. */
struct events {
    struct probe_run *probes;
    struct run *run;
    json_t *objects;
    uint8_t *bytes;
    size_t size, capacity;
    uint64_t threads_lost;
    const struct trace_probe *lost_by;
    bool no_memory;
};

/* An event of a thread, while they are put in order. */
struct hit {
    uint32_t cta, thread, sequence, place, visit, flags;
    uint64_t at; /* of its slot */
    const uint8_t *params;
};

static uint32_t get32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t get64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static bool allocate(struct probe_run *probes, const struct driver *driver, CUdeviceptr *address,
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
static void say_hidden(const struct probe_run *probes, const struct run *run,
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

static void say_size(const struct probe_run *probes, const struct run *run) {
    const struct probe_plan *plan = probes->layout.plan;
    if (run->options->quiet || run->options->json)
        return;
    printf("launch %u: probes take %.3g MiB\n", probes->layout.launch->number,
           (double)probes->layout.bytes / 1048576);
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (plan->specs[plan->sites[i].probe].kind == PROBE_TMEM &&
            probes->layout.regions[plan->sites[i].probe].ctas &&
            plan->sites[i].func == probes->layout.func)
            say_hidden(probes, run, &plan->sites[i]);
    fflush(stdout);
}

bool probe_run_begin(struct probe_run *probes, struct run *run, const struct trace_launch *launch,
                     struct host_error *error) {
    const struct driver *driver = &run->machine->driver;
    const struct trace *trace = run->trace;
    CUdeviceptr address = 0, symbol;
    uint64_t globals[PROBE_MAX_PROBES] = {0};
    size_t bytes;
    probes->bytes = NULL;
    probes->race = NULL;
    probe_layout_make(&probes->layout, trace, launch);
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
        probes->race = probe_race_begin(run, &probes->layout);
    return true;
}

/* ---- addresses ---- */

static uint64_t object_word(struct events *e, const char *prefix, const char *name,
                            int64_t offset) {
    struct strbuf text = {0};
    strbuf_printf(&text, "%s%s", prefix, name);
    size_t i = 0;
    while (i < json_array_size(e->objects) &&
           strcmp(json_string_value(json_array_get(e->objects, i)), strbuf_text(&text)))
        i++;
    if (i == json_array_size(e->objects))
        json_array_append_new(e->objects, json_string(strbuf_text(&text)));
    strbuf_free(&text);
    return (uint64_t)(i + 1) << 48 | ((uint64_t)offset & ((UINT64_C(1) << 48) - 1));
}

/* The address as an object and an offset, where it points into one. */
static uint64_t translate(struct events *e, uint64_t address, const uint8_t *params) {
    const struct run_memory *m = &e->run->memory;
    const struct trace *trace = e->run->trace;
    for (uint32_t i = 0; i < trace->buffers.count; i++) {
        const uint64_t first = m->buffers[i].memory.address + m->buffers[i].span_at;
        const uint64_t guard = trace->buffers.items[i].guard;
        if (address >= first - guard &&
            address < first + trace->buffers.items[i].span_bytes + guard)
            return object_word(e, "", trace->buffers.items[i].name, (int64_t)(address - first));
    }
    for (uint32_t i = 0; i < trace->maps.count; i++)
        if (m->maps[i].encoded && address - m->maps[i].memory.address < sizeof(CUtensorMap))
            return object_word(e, "", trace->maps.items[i].name,
                               (int64_t)(address - m->maps[i].memory.address));
    for (uint32_t i = 0; i < trace->globals.count; i++)
        if (m->globals[i] && address - m->globals[i] < trace->globals.items[i].size)
            return object_word(e, "", trace->globals.items[i].symbol,
                               (int64_t)(address - m->globals[i]));
    const struct windows *windows = &e->run->machine->windows;
    if (address - windows->shared < WINDOW_SHARED_BYTES)
        return object_word(e, "generic ", "shared", (int64_t)(address - windows->shared));
    if (address - windows->local < WINDOW_LOCAL_BYTES)
        return object_word(e, "generic ", "local", (int64_t)(address - windows->local));
    const struct probe_plan *plan = e->probes->layout.plan;
    const struct ir_func *func = &plan->ir->funcs[e->probes->layout.func];
    const struct ir_symbol *param;
    for (uint32_t n = 0; (param = probe_map_param(plan->ir, func, n)); n++) {
        const uint64_t first = get64(params + 8 * n);
        if (first && address - first < param->size_bytes)
            return object_word(e, "param ", param->name, (int64_t)(address - first));
    }
    return address & ((UINT64_C(1) << 48) - 1);
}

/* ---- events ---- */

static bool reserve(struct events *e, size_t more) {
    if (e->size + more <= e->capacity)
        return true;
    const size_t wanted = 2 * (e->size + more);
    uint8_t *grown = realloc(e->bytes, wanted);
    if (!grown)
        return e->no_memory = true, false;
    e->bytes = grown;
    e->capacity = wanted;
    return true;
}

/* Registers hold addresses too, and no two machines put a buffer at the same place. */
static bool may_point(const struct probe_value *value) {
    const enum ptx_type_class class = ptx_type_class((enum ptx_type)value->type);
    return value->role == PROBE_PLAIN && ptx_type_bits((enum ptx_type)value->type) == 64 &&
           (class == PTX_CLASS_BITS || class == PTX_CLASS_UINT || class == PTX_CLASS_SINT);
}

static void put_event(struct events *e, const struct hit *hit) {
    const struct probe_site *site = &e->probes->layout.plan->sites[hit->place];
    const uint32_t words = (site->slot_bytes - PROBE_SLOT_HEAD_BYTES) / 8;
    uint32_t head[6] = {hit->cta, hit->thread, hit->place, hit->visit, hit->flags, words};
    if (!reserve(e, sizeof head + 8 * (size_t)words))
        return;
    e->size += sizeof head;
    uint8_t *payload = e->bytes + e->size;
    memcpy(payload, e->probes->bytes + hit->at + PROBE_SLOT_HEAD_BYTES, 8 * (size_t)words);
    e->size += 8 * (size_t)words;
    for (uint32_t i = 0; i < site->value_count; i++) {
        const struct probe_value *value = &site->values[i];
        const bool address = value->role == PROBE_ADDRESS || value->role == PROBE_MAP;
        if (value->constant || (!address && !(i < STREAM_MAX_POINTERS && may_point(value))))
            continue;
        const uint64_t word = translate(e, get64(payload + value->offset_bytes), hit->params);
        if (!address && !(word >> 48))
            continue;
        memcpy(payload + value->offset_bytes, &word, sizeof word);
        head[4] |= address ? 0 : (uint32_t)STREAM_POINTER << i;
    }
    memcpy(payload - sizeof head, head, sizeof head);
}

static int by_program_order(const void *a, const void *b) {
    const struct hit *x = a, *y = b;
    if (x->cta != y->cta)
        return x->cta < y->cta ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

struct hits {
    struct hit *items;
    size_t count, capacity;
};

static bool add_hit(struct hits *hits, const struct hit *hit) {
    if (hits->count == hits->capacity) {
        const size_t wanted = hits->capacity ? 2 * hits->capacity : 256;
        struct hit *grown = realloc(hits->items, wanted * sizeof *grown);
        if (!grown)
            return false;
        hits->items = grown;
        hits->capacity = wanted;
    }
    hits->items[hits->count++] = *hit;
    return true;
}

/* The slots of one site of one thread. */
static bool collect_site(struct events *e, struct hits *hits, struct hit hit, uint64_t thread_at) {
    const struct probe_layout *layout = &e->probes->layout;
    const struct probe_site *site = &layout->plan->sites[hit.place];
    const struct probe_spec *spec = &layout->plan->specs[site->probe];
    const struct trace_probe *probe = &e->run->trace->probes.items[site->probe];
    const uint64_t at = thread_at + site->offset_bytes;
    const uint32_t visits = get32(e->probes->bytes + at);
    const uint64_t sequence_at =
        layout->sequence_at +
        4 * ((uint64_t)(hit.cta - layout->first_cta) * layout->threads + hit.thread);
    if (!probe->bounded && visits > spec->skip + spec->keep) {
        e->threads_lost++;
        e->lost_by = probe;
    }
    for (uint32_t k = 0; k < spec->keep; k++) {
        hit.at = at + PROBE_SITE_HEAD_BYTES + (uint64_t)k * site->slot_bytes;
        const uint8_t *slot = e->probes->bytes + hit.at;
        hit.sequence = get32(slot);
        hit.visit = get32(slot + 4);
        if (!hit.sequence)
            continue;
        /* A failed poll counts when its thread has recorded nothing after it. */
        hit.flags = hit.visit >= visits ? STREAM_OPEN : 0;
        if (hit.flags && hit.sequence != get32(e->probes->bytes + sequence_at) + 1)
            continue;
        if (probe_race_found(e->probes->race, hit.place, hit.cta))
            hit.flags |= STREAM_UNORDERED;
        if (!add_hit(hits, &hit))
            return false;
    }
    return true;
}

static bool collect(struct events *e, struct hits *hits) {
    const struct probe_layout *layout = &e->probes->layout;
    for (uint32_t p = 0; p < e->run->trace->probes.count; p++) {
        const struct probe_region *region = &layout->regions[p];
        const uint64_t threads =
            region->thread_bytes ? (uint64_t)region->ctas * region->warps * region->lanes : 0;
        for (uint64_t i = 0; i < threads; i++) {
            const uint64_t at = region->offset_bytes + i * region->thread_bytes;
            struct hit hit = {.params = e->probes->bytes + at};
            probe_layout_thread(layout, region, i, &hit.cta, &hit.thread);
            for (uint32_t s = 0; hit.thread < layout->threads && s < layout->plan->site_count;
                 s++) {
                const struct probe_site *site = &layout->plan->sites[s];
                if (site->probe != p ||
                    (site->func != layout->func && layout->plan->ir->funcs[site->func].is_entry))
                    continue;
                hit.place = s;
                if (!collect_site(e, hits, hit, at))
                    return false;
            }
        }
    }
    if (hits->count)
        qsort(hits->items, hits->count, sizeof *hits->items, by_program_order);
    return true;
}

/* ---- description ---- */

static json_t *sources_json(uint32_t set) {
    json_t *list = json_array();
    for (int why = 1; why < PROBE_WHY_COUNT; why++)
        if (set >> why & 1)
            json_array_append_new(list, json_string(probe_why_word((enum probe_why)why)));
    return list;
}

static json_t *value_json(const struct probe_value *value, const char *buffer) {
    json_t *json =
        json_pack("{s:s, s:s}", "name", buffer && value->role == PROBE_BYTES ? buffer : value->name,
                  "type", ptx_type_text((enum ptx_type)value->type));
    if (value->constant)
        json_object_set_new(json, "bits", json_sprintf("0x%" PRIx64, value->bits));
    else
        json_object_set_new(json, "offset", json_integer(value->offset_bytes));
    if (value->role == PROBE_ADDRESS || value->role == PROBE_MAP)
        json_object_set_new(json, "role", json_string("address"));
    if (value->role == PROBE_BYTES)
        json_object_set_new(json, "role", json_string("bytes"));
    if (value->output)
        json_object_set_new(json, "output", json_true());
    if (value->key)
        json_object_set_new(json, "key", json_true());
    if (value->why)
        json_object_set_new(json, "why", json_string(probe_why_word((enum probe_why)value->why)));
    if (value->from)
        json_object_set_new(json, "from", sources_json(value->from));
    if (value->from_line)
        json_object_set_new(json, "from_line", json_integer(value->from_line));
    if (value->approx)
        json_object_set_new(json, "approx", json_string(value->approx));
    return json;
}

/* The instruction as the text has it, blanks and comments made one blank, long register lists
 * cut. */
static json_t *insn_text(const struct ir_module *ir, const struct ir_insn *insn) {
    enum { LIST_BYTES = 40, TEXT_BYTES = 200 };
    const char *at = ir->text, *end = ir->text + ir->text_length;
    for (uint32_t line = 1; line < insn->line && at < end; line++)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    struct strbuf text = {0};
    bool blank = false;
    size_t list = 0; /* where a list in braces began, 0: in none */
    for (at += insn->column - 1; at < end && *at != ';' && text.length < TEXT_BYTES; at++) {
        if (*at == '/' && at + 1 < end && at[1] == '/')
            while (at + 1 < end && at[1] != '\n')
                at++;
        if (*at == ' ' || *at == '\n' || *at == '\t' || *at == '/') {
            blank = true;
            continue;
        }
        const bool cut = list && text.length - list > LIST_BYTES;
        if (cut && *at != '}')
            continue;
        if (cut)
            strbuf_puts(&text, "...");
        else if (blank)
            strbuf_puts(&text, " ");
        blank = false;
        strbuf_append(&text, at, 1);
        list = *at == '{' ? text.length : *at == '}' ? 0 : list;
    }
    json_t *json = json_string(strbuf_text(&text));
    strbuf_free(&text);
    return json ? json : json_string("");
}

static json_t *place_json(const struct probe_layout *layout, const struct probe_site *site) {
    static const char *const kinds[] = {"event", "regs", "smem", "global", "tmem"};
    const struct ir_func *func = &layout->plan->ir->funcs[site->func];
    const struct ir_insn *insn = &func->insns[site->insn];
    const struct trace_probe *probe = &layout->trace->probes.items[site->probe];
    const struct probe_spec *spec = &probe->spec;
    const char *buffer =
        spec->kind == PROBE_GLOBAL   ? layout->trace->buffers.items[probe->buffer].name
        : spec->kind == PROBE_SHARED ? "smem"
                                     : NULL; /* the values have names of their own */
    json_t *values = json_array();
    for (uint32_t i = 0; i < site->value_count; i++)
        json_array_append_new(values, value_json(&site->values[i], buffer));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:i, s:o}", "probe", probe->name, "kind",
        kinds[spec->kind], "module", layout->trace->modules.items[layout->launch->module].name,
        "file", layout->trace->modules.items[layout->launch->module].file->name, "entry",
        func->name, "line", (int)insn->line, "column", (int)insn->column, "text",
        insn_text(layout->plan->ir, insn), "words",
        (int)((site->slot_bytes - PROBE_SLOT_HEAD_BYTES) / 8), "values", values);
    if (spec->unit_bytes) {
        json_object_set_new(
            json, "first_byte",
            json_integer((json_int_t)(spec->begin_bytes + probe->global_offset_bytes)));
        json_object_set_new(json, "bytes", json_integer(spec->end_bytes - spec->begin_bytes));
        json_object_set_new(json, "unit_bytes", json_integer(spec->unit_bytes));
        json_object_set_new(json, "first_lane", json_integer(spec->first_lane));
        json_object_set_new(json, "lanes", json_integer(spec->lanes));
    }
    return json;
}

static struct probe_given all_given(const struct probe_layout *layout) {
    struct probe_given all = {0};
    for (uint32_t f = 0; f < layout->plan->ir->func_count; f++)
        if (f == layout->func || !layout->plan->ir->funcs[f].is_entry) {
            const struct probe_given *given = &layout->plan->given[f];
            all.global |= given->global;
            all.others |= given->others;
            all.branches |= given->branches;
            all.between_ctas = all.between_ctas || given->between_ctas;
        }
    return all;
}

static json_t *stream_json(const struct events *e) {
    const struct probe_layout *layout = &e->probes->layout;
    json_t *places = json_array();
    for (uint32_t i = 0; i < layout->plan->site_count; i++)
        json_array_append_new(places, place_json(layout, &layout->plan->sites[i]));
    const struct probe_given given = all_given(layout);
    json_t *given_json =
        json_pack("{s:o, s:o, s:o}", "global", sources_json(given.global), "others",
                  sources_json(given.others), "branches", sources_json(given.branches));
    return json_pack("{s:i, s:i, s:O, s:o, s:o, s:b, s:b}", "launch", (int)layout->launch->number,
                     "block", (int)layout->threads, "objects", e->objects, "places", places,
                     "given", given_json, "silent", !given.between_ctas, "overflow",
                     e->threads_lost > 0);
}

static void report_lost(const struct events *e) {
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "no verdict: probe %s overflowed in launch %u: more than %u hits, %" PRIu64
                  " times; ask for fewer, or write keep N or last N",
                  e->lost_by->name, e->probes->layout.launch->number, e->lost_by->spec.keep,
                  e->threads_lost);
    e->run->no_verdict = true;
    run_finding(e->run, &e->lost_by->place, "probe.overflow", strbuf_text(&text), NULL);
    strbuf_free(&text);
}

static bool gather(struct events *e) {
    struct hits hits = {0};
    bool ok = collect(e, &hits);
    for (size_t i = 0; ok && i < hits.count; i++)
        put_event(e, &hits.items[i]);
    free(hits.items);
    return ok && !e->no_memory;
}

static void keep_stream(struct events *e) {
    struct run *run = e->run;
    struct run_stream *grown =
        realloc(run->streams, (run->stream_count + 1) * sizeof *run->streams);
    json_t *json = grown ? stream_json(e) : NULL;
    if (grown)
        run->streams = grown;
    if (json) {
        grown[run->stream_count++] = (struct run_stream){json, e->bytes, e->size};
        e->bytes = NULL;
    }
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
static void print_last(const struct events *e, unsigned limit) {
    struct stream stream;
    const char *why;
    json_t *json = stream_json(e);
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

static void take_events(struct probe_run *probes, struct run *run, bool failed) {
    enum { LAST_EVENTS = 16 };
    struct events e = {.probes = probes, .run = run, .objects = json_array()};
    if (gather(&e)) {
        if (failed)
            print_last(&e, LAST_EVENTS);
        keep_stream(&e);
        if (e.threads_lost)
            report_lost(&e);
    } else {
        run->no_verdict = true;
        run_finding(run, &probes->layout.launch->place, "probe.no_memory",
                    "no verdict: no memory for the events of the probes", NULL);
    }
    json_decref(e.objects);
    free(e.bytes);
}

void probe_run_rescue(struct probe_run *probes, struct run *run) {
    if (probes->bytes)
        take_events(probes, run, true);
}

void probe_run_end(struct probe_run *probes, struct run *run, bool failed) {
    if (!probes->bytes)
        return;
    probe_race_end(probes->race, run);
    take_events(probes, run, failed);
    probe_race_report(probes->race, run);
    probe_race_free(probes->race);
    run->machine->driver.cuMemFreeHost(probes->bytes);
    probes->bytes = NULL;
}
