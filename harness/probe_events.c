/* From the buffer that probes wrote to the events of a stream, in program order of each thread. */
#include "probe_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

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

/* ---- addresses ---- */

static uint64_t object_word(struct probe_events *e, const char *prefix, const char *name,
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
static uint64_t translate(struct probe_events *e, uint64_t address, const uint8_t *params) {
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
    const struct probe_plan *plan = e->part->layout.plan;
    const struct ir_func *func = &plan->ir->funcs[e->part->layout.func];
    const struct ir_symbol *param;
    for (uint32_t n = 0; (param = probe_map_param(plan->ir, func, n)); n++) {
        const uint64_t first = get64(params + 8 * n);
        if (first && address - first < param->size_bytes)
            return object_word(e, "param ", param->name, (int64_t)(address - first));
    }
    return address & ((UINT64_C(1) << 48) - 1);
}

/* ---- events ---- */

static bool reserve(struct probe_events *e, size_t more) {
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

static void put_event(struct probe_events *e, const struct hit *hit) {
    const struct probe_site *site = &e->part->layout.plan->sites[hit->place];
    const uint32_t words = (site->slot_bytes - PROBE_SLOT_HEAD_BYTES) / 8;
    uint32_t head[6] = {hit->cta, hit->thread, hit->place, hit->visit, hit->flags, words};
    if (!reserve(e, sizeof head + 8 * (size_t)words))
        return;
    e->size += sizeof head;
    uint8_t *payload = e->bytes + e->size;
    memcpy(payload, e->part->bytes + hit->at + PROBE_SLOT_HEAD_BYTES, 8 * (size_t)words);
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
static bool collect_site(struct probe_events *e, struct hits *hits, struct hit hit,
                         uint64_t thread_at) {
    const struct probe_layout *layout = &e->part->layout;
    const struct probe_site *site = &layout->plan->sites[hit.place];
    const struct probe_spec *spec = &layout->plan->specs[site->probe];
    const struct trace_probe *probe = &e->run->trace->probes.items[site->probe];
    const uint64_t at = thread_at + site->offset_bytes;
    const uint32_t visits = get32(e->part->bytes + at);
    const uint64_t sequence_at =
        layout->sequence_at +
        4 * ((uint64_t)(hit.cta - layout->first_cta) * layout->threads + hit.thread);
    if (!probe->bounded && visits > spec->skip + spec->keep) {
        e->threads_lost++;
        e->lost_by = probe;
    }
    for (uint32_t k = 0; k < spec->keep; k++) {
        hit.at = at + PROBE_SITE_HEAD_BYTES + (uint64_t)k * site->slot_bytes;
        const uint8_t *slot = e->part->bytes + hit.at;
        hit.sequence = get32(slot);
        hit.visit = get32(slot + 4);
        if (!hit.sequence)
            continue;
        /* A failed poll counts when its thread has recorded nothing after it. */
        hit.flags = hit.visit >= visits ? STREAM_OPEN : 0;
        if (hit.flags && hit.sequence != get32(e->part->bytes + sequence_at) + 1)
            continue;
        if (probe_race_found(e->part->race, hit.place, hit.cta))
            hit.flags |= STREAM_UNORDERED;
        if (!add_hit(hits, &hit))
            return false;
    }
    return true;
}

static bool collect(struct probe_events *e, struct hits *hits) {
    const struct probe_layout *layout = &e->part->layout;
    for (uint32_t p = 0; p < e->run->trace->probes.count; p++) {
        const struct probe_region *region = &layout->regions[p];
        const uint64_t threads =
            region->thread_bytes ? (uint64_t)region->ctas * region->warps * region->lanes : 0;
        for (uint64_t i = 0; i < threads; i++) {
            const uint64_t at = region->offset_bytes + i * region->thread_bytes;
            struct hit hit = {.params = e->part->bytes + at};
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

bool probe_events_gather(struct probe_events *e) {
    struct hits hits = {0};
    bool ok = collect(e, &hits);
    for (size_t i = 0; ok && i < hits.count; i++)
        put_event(e, &hits.items[i]);
    free(hits.items);
    return ok && !e->no_memory;
}
