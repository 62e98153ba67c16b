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

uint64_t warp_window(const struct warp *w, enum ptx_space space) {
    switch (space) {
    case SPACE_SHARED:
    case SPACE_SHARED_CLUSTER: return SHARED_WINDOW;
    case SPACE_LOCAL: return LOCAL_WINDOW;
    case SPACE_PARAM: return PARAM_WINDOW + w->cta->launch->kernel->info.param_base;
    case SPACE_CONST: return CONST_WINDOW;
    default: return 0;
    }
}

enum ptx_space warp_generic(const struct warp *w, uint64_t address, uint64_t *in_space) {
    const uint64_t high = ~UINT64_C(0xffffffff);
    *in_space = address & ~high;
    switch (address & high) {
    case SHARED_WINDOW: return SPACE_SHARED;
    case LOCAL_WINDOW:
        if (*in_space < LOCAL_WINDOW_BYTES)
            return SPACE_LOCAL;
        *in_space = address;
        return SPACE_GLOBAL;
    case PARAM_WINDOW:
        *in_space = (uint32_t)(*in_space - w->cta->launch->kernel->info.param_base);
        return SPACE_PARAM;
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

enum { PARAM_BANK_BYTES = 1 << 16 };

/* Beyond the constants of a module and beyond the bank of the parameters a load gives 0 and is no
 * fault; nothing stores there. */
static uint8_t *zeros(unsigned size_bytes) {
    static const uint64_t block[2];
    return size_bytes > sizeof block ? NULL : (uint8_t *)(uintptr_t)block;
}

static uint8_t *const_bytes(const struct exec_kernel *kernel, uint64_t address,
                            unsigned size_bytes) {
    uint8_t *bytes = in_bank(kernel->const_bank, kernel->const_bank_bytes, address, size_bytes);
    return bytes != NULL ? bytes : zeros(size_bytes);
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
    case SPACE_CONST: return const_bytes(kernel, address, size_bytes);
    case SPACE_PARAM:
        if (address >= PARAM_BANK_BYTES)
            return zeros(size_bytes);
        return in_bank(cta->state->run->params, kernel->info.param_bytes, address, size_bytes);
    default: return global_bytes(w, address, size_bytes);
    }
}

enum fault_kind warp_absent_cta(const struct warp *w, uint64_t rank) {
    bool possible = w->cta->launch->explicit_cluster && rank < CLUSTER_CTAS_MOST;
    return possible ? FAULT_LAUNCH_FAILED : FAULT_ILLEGAL_INSTRUCTION;
}

/* False with a fault for an address that belongs to another space, or to a CTA that there is not:
 * both before anything else is looked at (traces/silicon/observations.md, faults). */
static bool address_names_space(struct warp *w, const struct xinsn *x, unsigned lane,
                                enum ptx_space space, uint64_t address) {
    uint64_t within;
    enum ptx_space window = space == SPACE_GLOBAL ? warp_generic(w, address, &within) : space;
    if (window != space && (window == SPACE_SHARED || window == SPACE_LOCAL)) {
        warp_fault(w, x, FAULT_ADDRESS_SPACE, UINT32_C(1) << lane,
                   "0x%llx of lane %u is an address of %s memory, the instruction is one of global "
                   "memory",
                   (unsigned long long)address, lane, ptx_space_text(window));
        return false;
    }
    if ((space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER) &&
        address >> SHARED_RANK_BIT != 0) {
        warp_fault(w, x, warp_absent_cta(w, address >> SHARED_RANK_BIT), UINT32_C(1) << lane,
                   "shared address 0x%llx of lane %u names CTA %llu of a cluster, which there is "
                   "not",
                   (unsigned long long)address, lane,
                   (unsigned long long)(address >> SHARED_RANK_BIT));
        return false;
    }
    return true;
}

uint8_t *warp_memory(struct warp *w, const struct xinsn *x, unsigned lane, enum ptx_space space,
                     uint64_t address, unsigned size_bytes, unsigned align_bytes) {
    uint64_t named = address, place = address; /* of which the alignment counts */
    if (space == SPACE_PARAM)
        place += w->cta->launch->kernel->info.param_base;
    uint64_t beside = align_bytes > 1 ? place & (align_bytes - 1) : 0;
    if (space == SPACE_GENERIC)
        space = warp_generic(w, address, &address);
    if (!address_names_space(w, x, lane, space, address))
        return NULL;
    uint8_t *bytes = space_bytes(w, lane, space, address - beside, size_bytes);
    if (bytes == NULL)
        warp_fault(w, x, FAULT_ILLEGAL_ADDRESS, UINT32_C(1) << lane,
                   "lane %u: no %s memory of %u bytes at 0x%llx", lane, ptx_space_text(space),
                   size_bytes, (unsigned long long)named);
    else if (beside != 0)
        warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
                   "address 0x%llx of lane %u is not a multiple of %u", (unsigned long long)named,
                   lane, align_bytes);
    return beside == 0 ? bytes : NULL;
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
