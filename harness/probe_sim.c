/* [sim] probes. The words and cursors are kept as the code of a rewritten probe keeps them
 * (probe_rewrite.h), so that both give the same stream:
 *
 *   REACH   what an instruction reads goes to `pending`, of this thread and site; what is recorded
 *           before the instruction is written at once
 *   DONE    with what it wrote it becomes a slot; a poll that failed leaves the cursor
 *
 * Lanes that wait at an instruction may be told again with others that came: `state` knows them. */
#include "probe_sim.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

enum { STATE_NONE, STATE_RECORDS, STATE_PASSES /* `when` does not hold */ };

struct pending {
    uint64_t begin; /* step at which the thread came */
    uint32_t visit;
    uint8_t state;
    bool kept; /* the visit has a slot */
    uint8_t unused[2];
};

static uint32_t get32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void put32(uint8_t *bytes, uint32_t value) {
    memcpy(bytes, &value, sizeof value);
}

/* ---- one thread at one site ---- */

struct visit {
    struct probe_sim *sim;
    const struct siltwin_watch_hit *hit;
    const struct probe_site *site;
    const struct probe_spec *spec;
    uint32_t lane, thread;
    uint8_t *base;           /* the thread's words of this probe */
    struct pending *pending; /* its values behind it */
};

/* False when the probe does not observe the thread. */
static bool visit_of(struct probe_sim *sim, const struct siltwin_watch_hit *hit, uint32_t site,
                     uint32_t lane, struct visit *v) {
    const struct probe_layout *layout = &sim->part.layout;
    *v = (struct visit){.sim = sim,
                        .hit = hit,
                        .site = &layout->plan->sites[site],
                        .lane = lane,
                        .thread = hit->warp * 32 + lane};
    const uint32_t p = v->site->probe;
    const struct probe_region *region = &layout->regions[p];
    uint64_t index;
    if (!region->thread_bytes || !probe_layout_find(layout, region, hit->cta, v->thread, &index))
        return false;
    v->spec = &layout->plan->specs[p];
    v->base = sim->part.bytes + region->offset_bytes + index * region->thread_bytes;
    v->pending = (struct pending *)(void *)(sim->pending + sim->pending_at[p] +
                                            index * sim->pending_bytes[p] + sim->site_at[site]);
    return true;
}

static void unreadable(struct visit *v) {
    v->sim->unreadable++;
    v->sim->unreadable_by = &v->sim->part.layout.trace->probes.items[v->site->probe];
}

/* Operand and element of the instruction that the value comes from; operand -1: a register by
 * name. */
static void source_of(const struct visit *v, const struct probe_value *value, int32_t *operand,
                      int32_t *element) {
    const struct ir_func *func = &v->sim->part.layout.plan->ir->funcs[v->site->func];
    const struct ir_insn *insn = &func->insns[v->site->insn];
    *operand = *element = -1;
    for (unsigned i = 0; i < insn->operand_count; i++) {
        const struct ir_operand *op = &insn->operands[i];
        for (unsigned k = 0; k < op->elem_count; k++)
            if (&op->elems[k] == value->operand) {
                *operand = (int32_t)i;
                *element = (int32_t)k;
            }
        if (op == value->operand)
            *operand = (int32_t)i;
    }
}

static bool read_value(struct visit *v, const struct probe_value *value, uint64_t words[2]) {
    const struct machine *machine = v->sim->run->machine;
    const struct ir_func *func = &v->sim->part.layout.plan->ir->funcs[v->site->func];
    int32_t operand, element;
    source_of(v, value, &operand, &element);
    if (operand >= 0)
        return !machine->watch_operand(v->hit, v->lane, (uint32_t)operand, element, words);
    return value->operand->kind == IR_REG &&
           !machine->watch_register(v->hit, v->lane, func->regs[value->operand->index].name, words);
}

/* Registers that are read (`output` false) or written, into the words of a slot. */
static void read_values(struct visit *v, bool output, uint8_t *payload) {
    const struct ir_func *func = &v->sim->part.layout.plan->ir->funcs[v->site->func];
    for (uint32_t i = 0; i < v->site->value_count; i++) {
        const struct probe_value *value = &v->site->values[i];
        uint64_t words[2] = {0, 0};
        if (value->constant || value->role == PROBE_BYTES || value->output != output)
            continue;
        if (!read_value(v, value, words))
            unreadable(v);
        memcpy(payload + value->offset_bytes, &words[0], sizeof words[0]);
        if (value->operand->kind == IR_REG &&
            ptx_type_bits((enum ptx_type)func->regs[value->operand->index].type) == 128)
            memcpy(payload + v->site->values[++i].offset_bytes, &words[1], sizeof words[1]);
    }
}

/* This lane's turns of the memory that the warp reads together. */
static void read_memory(struct visit *v, uint8_t *payload) {
    const struct machine *machine = v->sim->run->machine;
    const struct probe_spec *spec = v->spec;
    const uint32_t unit = spec->unit_bytes, turn = unit * spec->lanes;
    const uint32_t bytes = spec->end_bytes - spec->begin_bytes;
    for (uint32_t at = (v->lane - spec->first_lane) * unit; at < bytes; at += turn) {
        int code;
        if (spec->kind == PROBE_SHARED)
            code = machine->watch_shared(v->hit, spec->begin_bytes + at, unit, payload);
        else if (spec->kind == PROBE_GLOBAL)
            code = machine->watch_global(
                v->hit, v->sim->globals[v->site->probe] + spec->begin_bytes + at, unit, payload);
        else
            code = machine->watch_tmem(v->hit, spec->tmem_lane + at / unit, spec->tmem_column,
                                       spec->tmem_columns, (uint32_t *)(void *)payload);
        if (code)
            unreadable(v);
        payload += unit;
    }
}

/* Tells those reads to who looks for races. */
static void tell_reads(struct visit *v, uint32_t site) {
    const struct probe_spec *spec = v->spec;
    const uint32_t unit = spec->unit_bytes, turn = unit * spec->lanes;
    const uint32_t bytes = spec->end_bytes - spec->begin_bytes;
    uint64_t first = v->sim->globals[v->site->probe];
    uint32_t shared = 0;
    if (!v->sim->part.race || spec->kind == PROBE_TMEM)
        return;
    if (spec->kind == PROBE_SHARED && !v->sim->run->machine->watch_shared_first(v->hit, &shared))
        first = shared;
    for (uint32_t at = (v->lane - spec->first_lane) * unit; at < bytes; at += turn)
        probe_race_read(v->sim->part.race, v->hit->cta, v->hit->warp, site,
                        first + spec->begin_bytes + at, unit);
}

static bool when_holds(struct visit *v) {
    const struct probe_spec *spec = v->spec;
    const struct ir_func *func = &v->sim->part.layout.plan->ir->funcs[v->site->func];
    uint64_t words[2] = {0, 0};
    if (!spec->when_reg)
        return true;
    if (v->sim->run->machine->watch_register(v->hit, v->lane, spec->when_reg, words))
        unreadable(v);
    uint32_t reg = func->reg_count - 1;
    while (reg > 0 && (func->regs[reg].line > func->insns[v->site->insn].line ||
                       strcmp(func->regs[reg].name, spec->when_reg) != 0))
        reg--;
    const enum ptx_type type = (enum ptx_type)func->regs[reg].type;
    const unsigned bits = ptx_type_bits(type), shift = bits < 64 ? 64 - bits : 0;
    if (bits > 1 && (ptx_type_class(type) == PTX_CLASS_SINT || spec->when_value < 0)) {
        const int64_t a = (int64_t)(words[0] << shift) >> shift, b = spec->when_value;
        const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
        return holds[spec->when_compare];
    }
    const uint64_t a = words[0], b = (uint64_t)spec->when_value;
    const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return holds[spec->when_compare];
}

/* Whether the failed poll is in the slot already. */
static bool same_poll(const struct visit *v, const uint8_t *slot, uint32_t sequence,
                      const uint8_t *payload) {
    if (get32(slot) != sequence)
        return false;
    for (uint32_t i = 0; i < v->site->value_count; i++) {
        const struct probe_value *value = &v->site->values[i];
        if (!value->constant && !value->output &&
            memcmp(slot + PROBE_SLOT_HEAD_BYTES + value->offset_bytes,
                   payload + value->offset_bytes, 8) != 0)
            return false;
    }
    return true;
}

/* The slot of this hit and the cursors behind it. `passed`: no failed poll. */
static void keep(struct visit *v, const uint8_t *payload, bool passed) {
    const struct probe_layout *layout = &v->sim->part.layout;
    const struct probe_spec *spec = v->spec;
    uint8_t *cursor = v->base + v->site->offset_bytes;
    uint8_t *sequence_at =
        v->sim->part.bytes + layout->sequence_at +
        4 * ((uint64_t)(v->hit->cta - layout->first_cta) * layout->threads + v->thread);
    const uint32_t visits = get32(cursor), sequence = get32(sequence_at) + 1;
    uint32_t at = visits - spec->skip;
    bool kept = spec->last ? visits >= spec->skip : at < spec->keep;
    at = spec->last ? at % spec->keep : at;
    if (kept) {
        uint8_t *slot = cursor + PROBE_SITE_HEAD_BYTES + (uint64_t)at * v->site->slot_bytes;
        if (passed || !same_poll(v, slot, sequence, payload)) {
            put32(slot, sequence);
            put32(slot + 4, visits);
            memcpy(slot + PROBE_SLOT_HEAD_BYTES, payload,
                   v->site->slot_bytes - PROBE_SLOT_HEAD_BYTES);
        }
        if (passed)
            put32(sequence_at, sequence);
    }
    if (passed && (spec->last || visits <= spec->skip + spec->keep))
        put32(cursor, visits + 1);
    v->pending->visit = visits;
    v->pending->kept = kept;
}

/* ---- moments ---- */

/* Where the driver put the parameters that may hold tensor maps: first words of a thread. */
static void note_params(struct visit *v) {
    const struct probe_layout *layout = &v->sim->part.layout;
    const struct ir_func *func = &layout->plan->ir->funcs[layout->func];
    const struct ir_symbol *param;
    uint64_t address = 0;
    for (uint32_t n = 0; (param = probe_map_param(layout->plan->ir, func, n)); n++)
        if (!v->sim->run->machine->watch_param(v->hit, param->name, &address))
            memcpy(v->base + 8 * n, &address, sizeof address);
}

static void reach(struct visit *v) {
    struct pending *pending = v->pending;
    const bool again = pending->state != STATE_NONE;
    if (!pending->begin)
        pending->begin = v->hit->step;
    if (again && v->site->before)
        return;
    note_params(v);
    pending->state = when_holds(v) ? STATE_RECORDS : STATE_PASSES;
    if (pending->state == STATE_PASSES) {
        pending->begin = 0;
        return;
    }
    const size_t bytes = v->site->slot_bytes - PROBE_SLOT_HEAD_BYTES;
    uint8_t *payload = v->site->before ? calloc(1, bytes + 1) : (uint8_t *)(pending + 1);
    if (!payload) {
        unreadable(v);
        return;
    }
    if (v->spec->unit_bytes)
        read_memory(v, payload);
    read_values(v, false, payload);
    if (v->site->before) {
        keep(v, payload, true);
        free(payload);
    }
}

static bool outcome(struct visit *v) {
    uint64_t words[2] = {0, 0};
    if (v->sim->run->machine->watch_operand(v->hit, v->lane, 0, -1, words))
        unreadable(v);
    return words[0];
}

/* False when the thread polls on: it is still at its wait. */
static bool done(struct visit *v) {
    struct pending *pending = v->pending;
    bool passed = true;
    if (!v->site->before) {
        passed = !v->site->poll || outcome(v);
        if (pending->state == STATE_RECORDS) {
            read_values(v, true, (uint8_t *)(pending + 1));
            keep(v, (uint8_t *)(pending + 1), passed);
        }
    }
    return passed;
}

static struct timeline_row row_of(const struct siltwin_watch_hit *hit, enum timeline_kind kind,
                                  uint32_t place) {
    return (struct timeline_row){.step = hit->step,
                                 .begin = hit->step,
                                 .id = hit->id,
                                 .phase = hit->phase,
                                 .kind = kind,
                                 .cta = hit->cta,
                                 .warp = hit->warp,
                                 .lanes = hit->lanes,
                                 .place = place,
                                 .address = hit->address,
                                 .completed = hit->completed};
}

/* Operand of that name as it was recorded; `none` when there is no such. */
static uint64_t recorded(const struct visit *v, const char *name, uint64_t none) {
    for (uint32_t i = 0; i < v->site->value_count; i++) {
        const struct probe_value *value = &v->site->values[i];
        uint64_t word;
        if (strcmp(value->name, name) != 0)
            continue;
        if (value->constant)
            return value->bits;
        memcpy(&word, (const uint8_t *)(v->pending + 1) + value->offset_bytes, sizeof word);
        return word;
    }
    return none;
}

/* Lanes that came together and see the same visit are one row. */
static void add_row(struct timeline *timeline, struct timeline_row *row, const struct visit *v) {
    const struct pending *pending = v->pending;
    const bool wait = v->site->poll && v->spec->kind == PROBE_EVENT;
    const uint32_t address = wait ? (uint32_t)recorded(v, "a", 0) : 0;
    if (row->lanes &&
        (row->begin != pending->begin || row->visit != pending->visit || row->address != address)) {
        timeline_add(timeline, row);
        row->lanes = 0;
    }
    row->begin = pending->begin;
    row->visit = pending->visit;
    row->address = address;
    row->id = wait ? (recorded(v, "parity", UINT64_MAX) + 1) & 3 : 0;
    row->lanes |= UINT32_C(1) << v->lane;
}

static void reach_site(struct probe_sim *sim, const struct siltwin_watch_hit *hit, uint32_t site) {
    const struct probe_site *s = &sim->part.layout.plan->sites[site];
    const bool guarded = sim->part.layout.plan->specs[s->probe].kind == PROBE_EVENT || s->poll;
    for (uint32_t left = guarded ? hit->running : hit->lanes; left; left &= left - 1) {
        struct visit v;
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (!visit_of(sim, hit, site, lane, &v))
            continue;
        const bool first = v.pending->state == STATE_NONE;
        reach(&v);
        if (first && v.spec->unit_bytes && v.pending->state == STATE_RECORDS && v.pending->kept)
            tell_reads(&v, site);
        /* Where its guard does not hold the lane goes on at once. */
        if (!(hit->running >> lane & 1))
            *v.pending = (struct pending){0};
    }
}

static void done_site(struct probe_sim *sim, const struct siltwin_watch_hit *hit, uint32_t site) {
    struct timeline_row row = row_of(hit, TIMELINE_RAN, site);
    row.lanes = 0;
    for (uint32_t left = hit->lanes; left; left &= left - 1) {
        struct visit v;
        if (!visit_of(sim, hit, site, (uint32_t)__builtin_ctz(left), &v) ||
            v.pending->state == STATE_NONE)
            continue;
        if (!done(&v)) {
            v.pending->state = STATE_NONE; /* `begin` stays: it waits since then */
            continue;
        }
        if (v.pending->state == STATE_RECORDS && v.pending->kept)
            add_row(&sim->timeline, &row, &v);
        *v.pending = (struct pending){0};
    }
    if (row.lanes)
        timeline_add(&sim->timeline, &row);
}

/* An asynchronous operation of the first event probe that observes who issued it. */
static void operation(struct probe_sim *sim, const struct siltwin_watch_hit *hit,
                      enum timeline_kind kind) {
    const struct probe_plan *plan = sim->part.layout.plan;
    const uint32_t end = sim->first_site[hit->point + 1];
    for (uint32_t i = sim->first_site[hit->point]; i < end; i++) {
        struct visit v;
        if (plan->specs[plan->sites[i].probe].kind != PROBE_EVENT ||
            !visit_of(sim, hit, i, (uint32_t)__builtin_ctz(hit->lanes), &v))
            continue;
        const struct timeline_row row = row_of(hit, kind, i);
        timeline_add(&sim->timeline, &row);
        return;
    }
}

/* Whether an event probe observes something of the CTA. */
static bool observes_cta(const struct probe_sim *sim, uint32_t cta) {
    const struct probe_layout *layout = &sim->part.layout;
    uint64_t index;
    for (uint32_t p = 0; p < layout->trace->probes.count; p++) {
        const struct probe_region *region = &layout->regions[p];
        if (region->thread_bytes && layout->plan->specs[p].kind == PROBE_EVENT &&
            probe_layout_find(layout, region, cta, region->first_warp * 32 + region->first_lane,
                              &index))
            return true;
    }
    return false;
}

static void barrier(struct probe_sim *sim, const struct siltwin_watch_hit *hit) {
    uint32_t place = TIMELINE_NONE;
    if (!observes_cta(sim, hit->cta))
        return;
    if (hit->point != UINT32_MAX)
        place = sim->first_site[hit->point];
    const struct timeline_row row = row_of(hit, TIMELINE_BARRIER, place);
    timeline_add(&sim->timeline, &row);
}

static void on_hit(void *ctx, const struct siltwin_watch_hit *hit) {
    struct probe_sim *sim = ctx;
    sim->last_step = hit->step;
    if (hit->moment == SILTWIN_WATCH_ISSUE)
        operation(sim, hit, TIMELINE_ISSUED);
    else if (hit->moment == SILTWIN_WATCH_COMPLETE)
        operation(sim, hit, TIMELINE_COMPLETED);
    else if (hit->moment == SILTWIN_WATCH_MBARRIER)
        barrier(sim, hit);
    if (hit->moment != SILTWIN_WATCH_REACH && hit->moment != SILTWIN_WATCH_DONE)
        return;
    const uint32_t first = sim->first_site[hit->point], end = sim->first_site[hit->point + 1];
    for (uint32_t i = first; i < end && hit->moment == SILTWIN_WATCH_REACH; i++)
        reach_site(sim, hit, i);
    for (uint32_t i = end; i-- > first && hit->moment == SILTWIN_WATCH_DONE;)
        done_site(sim, hit, i); /* the code of several probes is nested: the last one ends first */
}

/* ---- a launch ---- */

/* One point for all sites of an instruction. */
static bool make_points(struct probe_sim *sim, const struct trace_module *module) {
    const struct probe_plan *plan = module->sim_plan;
    uint32_t names = 0;
    for (uint32_t i = 0; i < plan->site_count; i++)
        names += plan->specs[plan->sites[i].probe].reg_count + PROBE_MAX_KEYS + 1;
    sim->points = calloc(plan->site_count, sizeof *sim->points);
    sim->first_site = calloc(plan->site_count + 1, sizeof *sim->first_site);
    sim->registers = calloc(names + 1, sizeof *sim->registers);
    if (!sim->points || !sim->first_site || !sim->registers)
        return false;
    names = 0;
    for (uint32_t i = 0; i < plan->site_count; i++) {
        const struct probe_site *site = &plan->sites[i];
        const struct probe_spec *spec = &plan->specs[site->probe];
        if (i == 0 || site[-1].func != site->func || site[-1].insn != site->insn) {
            sim->first_site[sim->point_count] = i;
            sim->points[sim->point_count++] = (struct siltwin_watch_point){
                .file = module->file->shown,
                .line = plan->ir->funcs[site->func].insns[site->insn].line,
                .column = module->sim_columns[i],
                .registers = sim->registers + names};
        }
        struct siltwin_watch_point *point = &sim->points[sim->point_count - 1];
        const uint32_t before = names;
        for (uint32_t k = 0; k < spec->reg_count; k++)
            sim->registers[names++] = spec->regs[k];
        for (uint32_t k = 0; k < spec->key_count; k++)
            sim->registers[names++] = spec->keys[k];
        if (spec->when_reg)
            sim->registers[names++] = spec->when_reg;
        point->register_count += names - before;
    }
    sim->first_site[sim->point_count] = plan->site_count;
    return true;
}

static bool make_buffers(struct probe_sim *sim) {
    const struct probe_layout *layout = &sim->part.layout;
    const struct probe_plan *plan = layout->plan;
    uint64_t at = 0;
    sim->site_at = calloc(plan->site_count + 1, sizeof *sim->site_at);
    if (!sim->site_at)
        return false;
    for (uint32_t i = 0; i < plan->site_count; i++) {
        const struct probe_site *site = &plan->sites[i];
        uint64_t *bytes = &sim->pending_bytes[site->probe];
        sim->site_at[i] = *bytes;
        *bytes += sizeof(struct pending) +
                  (site->before ? 0 : site->slot_bytes - (uint64_t)PROBE_SLOT_HEAD_BYTES);
    }
    for (uint32_t p = 0; p < layout->trace->probes.count; p++) {
        const struct probe_region *region = &layout->regions[p];
        sim->pending_at[p] = at;
        if (region->thread_bytes)
            at += (uint64_t)region->ctas * region->warps * region->lanes * sim->pending_bytes[p];
    }
    sim->pending = calloc(1, at + 1);
    sim->part.bytes = calloc(1, layout->bytes);
    return sim->pending && sim->part.bytes;
}

static bool start(struct probe_sim *sim, struct host_error *error) {
    const struct siltwin_sim_watch watch = {.struct_bytes = sizeof watch,
                                            .point_count = sim->point_count,
                                            .points = sim->points,
                                            .hit = on_hit,
                                            .ctx = sim};
    if (!sim->run->machine->set_watch(&watch))
        return true;
    result_message(error, "the simulator refuses the probes' places");
    return false;
}

bool probe_sim_begin(struct probe_sim *sim, const struct run *run,
                     const struct trace_launch *launch, struct host_error *error) {
    const struct trace *trace = run->trace;
    const struct trace_module *module = &trace->modules.items[launch->module];
    *sim = (struct probe_sim){.run = run};
    probe_layout_make(&sim->part.layout, trace, launch, module->sim_plan);
    if (!sim->part.layout.bytes)
        return true;
    for (uint32_t p = 0; p < trace->probes.count; p++) {
        const struct trace_address at = {OBJECT_BUFFER, trace->probes.items[p].buffer,
                                         (int64_t)trace->probes.items[p].global_offset_bytes};
        if (trace->probes.items[p].spec.kind == PROBE_GLOBAL)
            sim->globals[p] = run_memory_address(&run->memory, &at);
    }
    if (make_points(sim, module) && make_buffers(sim))
        return start(sim, error);
    result_message(error, "no memory for the probes");
    return false;
}

/* Threads that came to a place and did not pass it. */
static void add_waiting(struct probe_sim *sim, uint32_t site) {
    const struct probe_layout *layout = &sim->part.layout;
    const struct probe_region *region = &layout->regions[layout->plan->sites[site].probe];
    const uint64_t threads =
        region->thread_bytes ? (uint64_t)region->ctas * region->warps * region->lanes : 0;
    struct timeline_row row = {.step = sim->last_step, .kind = TIMELINE_WAITS, .place = site};
    for (uint64_t i = 0; i < threads; i++) {
        uint32_t cta, thread;
        struct visit v;
        probe_layout_thread(layout, region, i, &cta, &thread);
        const struct siltwin_watch_hit hit = {.cta = cta, .warp = thread / 32};
        if (!visit_of(sim, &hit, site, thread % 32, &v) || !v.pending->begin)
            continue;
        if (row.lanes && (row.cta != cta || row.warp != hit.warp)) {
            timeline_add(&sim->timeline, &row);
            row.lanes = 0;
        }
        row.cta = cta;
        row.warp = hit.warp;
        add_row(&sim->timeline, &row, &v);
    }
    if (row.lanes)
        timeline_add(&sim->timeline, &row);
}

void probe_sim_stop(struct probe_sim *sim) {
    if (!sim->part.bytes)
        return;
    sim->run->machine->set_watch(NULL);
    for (uint32_t i = 0; i < sim->part.layout.plan->site_count; i++)
        add_waiting(sim, i);
}

void probe_sim_free(struct probe_sim *sim) {
    free(sim->part.bytes);
    free(sim->points);
    free(sim->first_site);
    free(sim->registers);
    free(sim->pending);
    free(sim->site_at);
    timeline_free(&sim->timeline);
    *sim = (struct probe_sim){0};
}
