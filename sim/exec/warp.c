#include "warp.h"

#include <stdarg.h>
#include <stdio.h>

#include "grid.h"

/* What operations ask of their warp: memory of all spaces, faults, events. */

enum step warp_fault(struct warp *w, const struct xinsn *x, enum fault_kind kind, uint32_t lanes,
                     const char *format, ...) {
    struct fault *fault = w->cta->state->fault;
    if (fault->kind != FAULT_NONE)
        return STEP_FAULT;
    va_list args;
    va_start(args, format);
    vsnprintf(fault->reason, sizeof fault->reason, format, args);
    va_end(args);
    fault->kind = kind;
    fault->warp = w->index;
    fault->lanes = lanes;
    for (int i = 0; i < 3; i++)
        fault->cta[i] = w->cta->ctaid[i];
    if (x != NULL) {
        fault->file = w->cta->launch->kernel->module->file;
        fault->line = x->ir->line;
        fault->column = x->ir->column;
    }
    return STEP_FAULT;
}

static bool is_narrow(enum ptx_space space) {
    return space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER || space == SPACE_LOCAL;
}

uint64_t warp_address(const struct warp *w, const struct xop *op, enum ptx_space space,
                      unsigned lane) {
    uint64_t address = xop_lane(w, &op->elems[0], lane) + (uint64_t)op->imm;
    return is_narrow(space) ? (uint32_t)address : address;
}

enum ptx_space warp_generic(const struct warp *w, uint64_t address, uint64_t *in_space) {
    (void)w;
    const uint64_t high = ~UINT64_C(0xffffffff);
    *in_space = address & ~high;
    switch (address & high) {
    case SHARED_WINDOW: return SPACE_SHARED;
    case LOCAL_WINDOW: return SPACE_LOCAL;
    case PARAM_WINDOW: return SPACE_PARAM;
    case CONST_WINDOW: return SPACE_CONST;
    default: *in_space = address; return SPACE_GLOBAL;
    }
}

/* Bytes of a bank of `bank_bytes`, NULL past its end. */
static uint8_t *in_bank(const uint8_t *bank, uint64_t bank_bytes, uint64_t address,
                        unsigned size_bytes) {
    if (address > bank_bytes || bank_bytes - address < size_bytes)
        return NULL;
    return (uint8_t *)(uintptr_t)(bank + address);
}

static uint8_t *global_bytes(struct warp *w, uint64_t address, unsigned size_bytes) {
    const struct global_range *range = w->last_range;
    if (range == NULL || address < range->address ||
        address - range->address >= range->size_bytes) {
        range = global_memory_find(w->cta->memory, address);
        if (range == NULL)
            return NULL;
        w->last_range = range;
    }
    return in_bank(range->host, range->size_bytes, address - range->address, size_bytes);
}

static uint8_t *space_bytes(struct warp *w, unsigned lane, enum ptx_space space, uint64_t address,
                            unsigned size_bytes) {
    const struct cta *cta = w->cta;
    const struct exec_kernel *kernel = cta->launch->kernel;
    switch (space) {
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER: return cta_shared(cta, address, size_bytes);
    case SPACE_LOCAL:
        return w->sched->local_bytes == 0
                   ? NULL
                   : in_bank(w->sched->local + (size_t)lane * w->sched->local_bytes,
                             w->sched->local_bytes, address, size_bytes);
    case SPACE_CONST:
        return in_bank(kernel->const_bank, kernel->const_bank_bytes, address, size_bytes);
    case SPACE_PARAM:
        return in_bank(cta->state->run->params, kernel->info.param_bytes, address, size_bytes);
    default: return global_bytes(w, address, size_bytes);
    }
}

uint8_t *warp_memory(struct warp *w, const struct xinsn *x, unsigned lane, enum ptx_space space,
                     uint64_t address, unsigned size_bytes, unsigned align_bytes) {
    uint64_t named = address;
    if (space == SPACE_GENERIC)
        space = warp_generic(w, address, &address);
    if (align_bytes > 1 && (address & (align_bytes - 1)) != 0) {
        warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
                   "address 0x%llx of lane %u is not a multiple of %u", (unsigned long long)named,
                   lane, align_bytes);
        return NULL;
    }
    uint8_t *bytes = space_bytes(w, lane, space, address, size_bytes);
    if (bytes == NULL)
        warp_fault(w, x, FAULT_ILLEGAL_ADDRESS, UINT32_C(1) << lane,
                   "lane %u: no %s memory of %u bytes at 0x%llx", lane, ptx_space_text(space),
                   size_bytes, (unsigned long long)named);
    return bytes;
}

bool warp_has_lanes(struct warp *w, uint32_t needed) {
    uint32_t missing = needed & w->live & ~w->group;
    if (missing == 0)
        return true;
    w->wait = (struct wait){.kind = WAIT_LANES, .detail = missing};
    return false;
}

bool warp_observed(const struct warp *w, enum event_kind kind) {
    const struct observer *observer = w->cta->state->observer;
    return observer != NULL && (observer->kinds >> kind & 1) != 0;
}

void warp_event(struct warp *w, const struct xinsn *x, uint32_t lanes, struct event *event) {
    struct cta_state *state = w->cta->state;
    if (!warp_observed(w, event->kind))
        return;
    event->cta_index = w->cta->index;
    event->warp = w->index;
    event->lanes = lanes;
    event->insn = x;
    event->state = w;
    state->observer->event(state->observer_ctx, event);
}

void warp_progress(struct warp *w) {
    w->cta->state->progressed = true;
}
