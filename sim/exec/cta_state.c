#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "grid.h"
#include "hash.h"

/* A running CTA: shared memory, mbarrier objects, storage of units, and the services that
 * asynchronous operations use. One struct serves a host thread for CTA after CTA. */

bool cta_create(struct cta *cta, struct run *run) {
    memset(cta, 0, sizeof *cta);
    cta->launch = run->launch;
    cta->memory = run->launch->memory;
    cta->thread_count = run->thread_count;
    cta->warp_count = run->warp_count;
    cta->shared_end = run->shared_end;
    cta->shared = aligned_alloc(1024, bits_align_up(run->shared_end, 1024));
    cta->warps = calloc(run->warp_count, sizeof *cta->warps);
    cta->state = calloc(1, sizeof *cta->state);
    struct warp_sched *scheds = calloc(run->warp_count, sizeof *scheds);
    if (!cta->shared || !cta->warps || !cta->state || !scheds || !async_create(cta)) {
        free(scheds);
        return false;
    }
    cta->state->run = run;
    for (uint32_t i = 0; i < run->warp_count; i++)
        cta->warps[i] = (struct warp){
            .base = {NULL, (uint8_t *)(uintptr_t)run->kernel->constants},
            .cta = cta,
            .index = i,
            .sched = &scheds[i],
        };
    return true;
}

static void free_frames(struct cta *cta) {
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        struct warp_sched *s = cta->warps[i].sched;
        for (uint32_t g = 0; g < s->group_count; g++)
            frame_leave_all(s->groups[g].frame, s->groups[g].lanes);
        s->group_count = 0;
    }
}

static void free_thread_data(struct cta_state *state) {
    for (int i = 0; i < THREAD_DATA_COUNT; i++) {
        free(state->thread_data[i]);
        state->thread_data[i] = NULL;
    }
}

void cta_destroy(struct cta *cta) {
    if (cta->state != NULL) {
        free_frames(cta);
        free_thread_data(cta->state);
        free(cta->state->mbarriers);
        free(cta->state->mbarrier_index);
    }
    if (cta->warps != NULL && cta->warps[0].sched != NULL) {
        for (uint32_t i = 0; i < cta->warp_count; i++)
            free(cta->warps[i].sched->local);
        free(cta->warps[0].sched);
    }
    async_destroy(cta);
    free(cta->warps);
    free(cta->shared);
    free(cta->state);
    memset(cta, 0, sizeof *cta);
}

static void place_cta(struct cta *cta, uint64_t index) {
    const struct exec_launch *launch = cta->launch;
    struct cta_state *state = cta->state;
    cta->index = index;
    cta->ctaid[0] = (uint32_t)(index % launch->grid[0]);
    cta->ctaid[1] = (uint32_t)(index / launch->grid[0] % launch->grid[1]);
    cta->ctaid[2] = (uint32_t)(index / launch->grid[0] / launch->grid[1]);
    for (int i = 0; i < 3; i++)
        state->cluster_ctaid[i] = cta->ctaid[i] % launch->cluster[i];
    state->smid = (uint32_t)(index / state->run->ctas_per_sm % launch->device->sm_count);
}

static bool begin_warp(struct warp *w) {
    struct cta *cta = w->cta;
    const struct exec_kernel *kernel = cta->launch->kernel;
    uint32_t threads = cta->thread_count - w->index * WARP_LANES;
    w->live = threads >= WARP_LANES ? LANES_ALL : (UINT32_C(1) << threads) - 1;
    w->wait.kind = WAIT_NONE;
    w->last_range = NULL;
    struct warp_sched *s = w->sched;
    /* What an earlier CTA left in local memory depends on the host thread. */
    free(s->local);
    s->local = NULL;
    s->local_bytes = 0;
    s->move_count = 0;
    s->rotate = false;
    s->favoured = 0;
    s->turn = 0;
    memset(s->ranges, 0, sizeof s->ranges);
    struct frame *frame =
        frame_push(w, kernel->funcs[0].insns, &kernel->funcs[0], NULL, NULL, w->live);
    if (frame == NULL)
        return false;
    s->groups[0] = (struct group){.pc = kernel->funcs[0].insns, .frame = frame, .lanes = w->live};
    s->group_count = 1;
    return true;
}

static void tell(struct cta *cta, struct event *event) {
    const struct observer *observer = cta->state->observer;
    if (observer == NULL || (observer->kinds >> event->kind & 1) == 0)
        return;
    event->cta_index = cta->index;
    observer->event(cta->state->observer_ctx, event);
}

bool cta_begin(struct cta *cta, uint64_t index) {
    struct cta_state *state = cta->state;
    place_cta(cta, index);
    state->steps = state->clock_reads = 0;
    state->progressed = true;
    state->changes = 1;
    state->expire = 0;
    state->live_warps = cta->warp_count;
    memset(state->barriers, 0, sizeof state->barriers);
    memset(state->cluster_arrived, 0, sizeof state->cluster_arrived);
    run_fill_pattern(state->run, index << 8, cta->shared, cta->shared_end);
    memset(cta->shared, 0, SHARED_FIRST);
    async_begin(cta);
    for (uint32_t i = 0; i < cta->warp_count; i++)
        if (!begin_warp(&cta->warps[i]))
            return false;
    struct event event = {.kind = EVENT_CTA_BEGIN, .warp = UINT32_MAX};
    tell(cta, &event);
    return true;
}

void cta_end(struct cta *cta) {
    struct cta_state *state = cta->state;
    struct event event = {.kind = EVENT_CTA_END, .warp = UINT32_MAX};
    tell(cta, &event);
    free_frames(cta);
    free_thread_data(state);
    for (uint32_t i = 0; i < state->mbarrier_count; i++)
        state->mbarrier_index[state->mbarriers[i].address / MBARRIER_BYTES] = 0;
    state->mbarrier_count = 0;
}

uint8_t *cta_shared(const struct cta *cta, uint64_t address, uint64_t size_bytes) {
    if (address > cta->shared_end || cta->shared_end - address < size_bytes)
        return NULL;
    return cta->shared + address;
}

struct mbarrier_entry *cta_mbarrier_entry(struct cta *cta, uint32_t address) {
    struct cta_state *state = cta->state;
    if (state->mbarrier_index == NULL || address >= cta->shared_end)
        return NULL;
    uint16_t place = state->mbarrier_index[address / MBARRIER_BYTES];
    return place == 0 ? NULL : &state->mbarriers[place - 1];
}

static struct mbarrier_entry *add_mbarrier(struct cta *cta, uint32_t address) {
    struct cta_state *state = cta->state;
    if (address >= cta->shared_end)
        return NULL;
    if (state->mbarrier_index == NULL)
        state->mbarrier_index = calloc(cta->shared_end / MBARRIER_BYTES + 1, sizeof(uint16_t));
    if (state->mbarrier_count == state->mbarrier_capacity) {
        uint32_t capacity = state->mbarrier_capacity * 2 + 16;
        struct mbarrier_entry *grown =
            realloc(state->mbarriers, capacity * sizeof *state->mbarriers);
        if (grown == NULL)
            return NULL;
        state->mbarriers = grown;
        state->mbarrier_capacity = capacity;
    }
    if (state->mbarrier_index == NULL)
        return NULL;
    struct mbarrier_entry *entry = &state->mbarriers[state->mbarrier_count++];
    memset(entry, 0, sizeof *entry);
    entry->address = address;
    state->mbarrier_index[address / MBARRIER_BYTES] = (uint16_t)state->mbarrier_count;
    return entry;
}

struct mbarrier *cta_mbarrier(struct cta *cta, uint32_t address, bool create) {
    struct mbarrier_entry *entry = cta_mbarrier_entry(cta, address);
    if (entry == NULL && create)
        entry = add_mbarrier(cta, address);
    if (entry == NULL)
        return NULL;
    /* What was invalidated lives on in its eight bytes: the next operation takes it from there. */
    if (!entry->object.live) {
        uint64_t word;
        memcpy(&word, cta->shared + address, sizeof word);
        mbarrier_from_word(word, &entry->object);
        entry->object.live = true;
    }
    return &entry->object;
}

/* Bytes announced and delivered in the running phase, from what the operation did to tx_count. */
static void count_bytes(struct mbarrier_entry *entry, bool new_phase) {
    int64_t change = (int64_t)entry->object.tx_count - (new_phase ? 0 : entry->last_tx_count);
    if (new_phase)
        entry->announced_bytes = entry->delivered_bytes = 0;
    if (change > 0)
        entry->announced_bytes += (uint64_t)change;
    else
        entry->delivered_bytes += (uint64_t)-change;
    entry->last_tx_count = entry->object.tx_count;
}

void cta_mbarrier_changed(struct cta *cta, uint32_t address, uint64_t phase_before, struct warp *w,
                          const struct xinsn *x, unsigned lane, const struct async_op *op) {
    struct mbarrier_entry *entry = cta_mbarrier_entry(cta, address);
    cta_changed(cta);
    cta->state->progressed = true;
    if (entry == NULL)
        return;
    bool completed = entry->object.phase != phase_before;
    bool is_init = x != NULL && x->ir->form == ISA_mbarrier_init;
    count_bytes(entry, completed || is_init);
    if (completed || is_init)
        entry->arrival_count = 0;
    else
        entry->arrivals[entry->arrival_count++ % ARRIVALS_KEPT] =
            (struct mbarrier_arrival){op != NULL ? op->insn : x, w != NULL ? w->index : UINT32_MAX,
                                      op != NULL ? op->lane : lane};
    struct event event = {
        .kind = EVENT_MBARRIER,
        .warp = w != NULL ? w->index : UINT32_MAX,
        .lanes = w != NULL ? UINT32_C(1) << lane : 0,
        .insn = op != NULL ? op->insn : x,
        .state = w,
        .mbarrier = {.address = address,
                     .phase = entry->object.phase,
                     .pending = entry->object.pending,
                     .tx_count = entry->object.tx_count,
                     .completed = (uint32_t)(entry->object.phase - phase_before),
                     .async_id = op != NULL ? op->id : 0},
    };
    tell(cta, &event);
}

static bool unit_outcome(struct cta *cta, const struct async_op *op, uint32_t address,
                         uint64_t phase_before, enum mbarrier_outcome outcome) {
    if (mbarrier_is_fault(outcome)) {
        struct strbuf name = {0};
        image_print_shared(cta->launch->kernel, address, &name);
        cta_fault(cta, op, FAULT_LAUNCH_FAILED, "mbarrier %s: %s", strbuf_text(&name),
                  mbarrier_outcome_text(outcome));
        strbuf_free(&name);
        return false;
    }
    cta_mbarrier_changed(cta, address, phase_before, NULL, NULL, 0, op);
    return true;
}

bool cta_complete_tx(struct cta *cta, const struct async_op *op, uint32_t address, uint32_t bytes) {
    struct mbarrier none = {0};
    struct mbarrier *object = cta_mbarrier(cta, address, false);
    object = object != NULL ? object : &none;
    uint64_t before = object->phase;
    return unit_outcome(cta, op, address, before, mbarrier_complete_tx(object, bytes));
}

bool cta_unit_arrive(struct cta *cta, const struct async_op *op, uint32_t address, uint32_t count) {
    struct mbarrier none = {0};
    struct mbarrier *object = cta_mbarrier(cta, address, false);
    object = object != NULL ? object : &none;
    uint64_t before = object->phase;
    return unit_outcome(cta, op, address, before, mbarrier_arrive(object, count));
}

bool cta_fault(struct cta *cta, const struct async_op *op, enum fault_kind kind, const char *format,
               ...) {
    struct fault *fault = cta->state->fault;
    if (fault->kind != FAULT_NONE)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(fault->reason, sizeof fault->reason, format, args);
    va_end(args);
    fault->kind = kind;
    for (int i = 0; i < 3; i++)
        fault->cta[i] = cta->ctaid[i];
    if (op != NULL) {
        fault->warp = op->warp;
        fault->lanes = UINT32_C(1) << (op->lane & 31);
        fault->file = cta->launch->kernel->module->file;
        fault->line = op->insn->ir->line;
        fault->column = op->insn->ir->column;
    }
    return false;
}

uint8_t *cta_global(struct cta *cta, const struct async_op *op, uint64_t address,
                    uint64_t size_bytes) {
    uint8_t *bytes = global_memory_host(cta->memory, address, size_bytes);
    if (bytes == NULL)
        cta_fault(cta, op, FAULT_ILLEGAL_ADDRESS, "no global memory of %llu bytes at 0x%llx",
                  (unsigned long long)size_bytes, (unsigned long long)address);
    return bytes;
}

void *cta_thread_data(struct cta *cta, enum thread_data kind, uint32_t warp, unsigned lane,
                      uint32_t size_bytes) {
    struct cta_state *state = cta->state;
    if (state->thread_data[kind] == NULL) {
        state->thread_data[kind] = calloc((size_t)cta->warp_count * WARP_LANES, size_bytes);
        state->thread_data_bytes[kind] = size_bytes;
    }
    if (state->thread_data[kind] == NULL)
        return NULL;
    return (uint8_t *)state->thread_data[kind] +
           ((size_t)warp * WARP_LANES + lane) * state->thread_data_bytes[kind];
}
