#include <string.h>

#include "grid.h"
#include "hash.h"

/* A set of CTAs that run together, in turn, on one host thread: one CTA at a time, the CTAs of one
 * SM, or all that the device holds. It ends when all have ended, one faults, or none can go on. */

enum {
    SLICE_STEPS = 2048,    /* of a warp */
    IDLE_ROUNDS = 64,      /* without a side effect, then spinning lanes are taken to wait */
    ASYNC_PATIENCE = 4096, /* rounds that an operation stays queued while others work */
    PASS_STEPS = 256,      /* what an idle pass counts at least against the budget */
    EXPIRE_MAX = 200000,   /* times that waits are made to give up before there is no verdict */
};

static bool is_running(const struct cta *cta) {
    return cta->state != NULL && cta->state->live_warps > 0;
}

/* One slice for each warp. False: fault. */
static bool cta_round(struct cta *cta) {
    struct cta_state *state = cta->state;
    /* Another CTA of the SM may have freed Tensor Memory. */
    if (state->progressed || (cta->tmem != NULL && state->run->ctas_per_sm > 1))
        cta_changed(cta);
    state->progressed = false;
    uint32_t first = async_first_warp(cta);
    for (uint32_t i = 0; i < cta->warp_count; i++) {
        struct warp *w = &cta->warps[(first + i) % cta->warp_count];
        if (w->live == 0)
            continue;
        enum warp_end end = warp_run(w, SLICE_STEPS);
        if (end == WARP_FAULT)
            return false;
        if (end == WARP_DONE) {
            state->live_warps--;
            state->progressed = true;
        }
        if (!async_maybe_complete(cta))
            return false;
    }
    return true;
}

/* What a turn did. */
struct turn {
    bool fine, advanced, progressed;
};

/* The CTA's rounds until it stands still or its turn is over. Operations in flight take effect when
 * nothing else of the CTA can happen. */
static struct turn cta_turn(struct cta *cta, uint32_t rounds) {
    struct cta_state *state = cta->state;
    struct turn turn = {.fine = true};
    while (rounds-- > 0 && state->live_warps > 0) {
        uint64_t steps = state->steps;
        if (!cta_round(cta)) {
            turn.fine = false;
            return turn;
        }
        bool advanced = state->steps != steps;
        turn.advanced |= advanced;
        turn.progressed |= state->progressed;
        state->idle_rounds = state->progressed ? 0 : state->idle_rounds + 1;
        bool still =
            !advanced || state->idle_rounds >= IDLE_ROUNDS || ++state->patience >= ASYNC_PATIENCE;
        if (still && async_pending(cta)) {
            state->idle_rounds = state->patience = 0;
            turn.progressed = true;
            if (!async_complete_one(cta)) {
                turn.fine = false;
                return turn;
            }
        } else if (!state->progressed) {
            break;
        }
    }
    return turn;
}

static bool finish(struct cta_set *set, struct cta *cta) {
    bool fine = async_complete_all(cta);
    if (fine)
        fine = cta_finish_tmem(cta);
    cta_end(cta);
    set->active--;
    if (fine && set->finished != NULL)
        set->finished(set->ctx);
    return fine;
}

static bool fail(struct cta_set *set) {
    fault_source(set->run, set->fault);
    report_fault(set->run, set->fault, set->report);
    return false;
}

static bool start(struct cta_set *set, struct cta *cta) {
    if (cta->state == NULL && !cta_create(cta, set->run)) {
        cta_destroy(cta);
        set->fault->kind = FAULT_NO_MEMORY;
        strcpy(set->fault->reason, "no host memory for a CTA");
        return false;
    }
    cta->state->fault = set->fault;
    cta->state->observer = set->run->launch->observer;
    cta->state->observer_ctx = set->observer_ctx;
    cta->state->idle_rounds = cta->state->patience = 0;
    set_give_tmem(set, (uint32_t)(cta - set->slots), set->next);
    if (!cta_begin(cta, set->next++))
        return false;
    set->active++;
    return true;
}

static uint64_t set_hash(const struct cta_set *set) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < set->used_slots; i++) {
        const struct cta *cta = &set->slots[i];
        if (!is_running(cta))
            continue;
        hash = hash_mix64(hash) ^ cta->state->clock_reads;
        for (uint32_t k = 0; k < cta->warp_count; k++)
            if (cta->warps[k].live != 0)
                hash = hash_mix64(hash) ^ warp_hash(&cta->warps[k]);
    }
    return hash;
}

/* Makes every try_wait give up once. False when there is none. */
static bool expire_waits(struct cta_set *set) {
    bool any = false;
    for (uint32_t i = 0; i < set->used_slots; i++) {
        struct cta *cta = &set->slots[i];
        if (!is_running(cta))
            continue;
        cta->state->expire++;
        for (uint32_t k = 0; k < cta->warp_count; k++)
            for (uint32_t g = 0; g < cta->warps[k].sched->group_count; g++)
                any |= cta->warps[k].sched->groups[g].wait.kind == WAIT_MBARRIER;
    }
    return any;
}

static bool end_hang(struct cta_set *set, enum fault_kind kind, const char *reason) {
    set->fault->kind = kind;
    strcpy(set->fault->reason, reason);
    hang_place(set);
    fault_source(set->run, set->fault);
    report_hang(set, set->report);
    return false;
}

/* A pass over all CTAs had no side effect and nothing is in flight that could take effect. Memory
 * does not change any more, so when all places and registers come back with every wait having given
 * up in between, they will for ever. The state kept to compare with is renewed at growing
 * distances, so that a cycle of any length is found. */
static bool idle(struct cta_set *set, bool advanced, uint64_t steps) {
    set->idle_steps += steps > PASS_STEPS ? steps : (uint64_t)PASS_STEPS;
    set->idle_passes++;
    if (set->idle_steps >= set->run->idle_budget || set->expirations >= EXPIRE_MAX)
        return end_hang(set, FAULT_BUDGET,
                        "the kernel ran on and on without a side effect; no verdict");
    if (advanced && set->idle_passes % IDLE_ROUNDS != 0)
        return true;
    uint64_t hash = set_hash(set);
    if (set->saved_pass != 0 && hash == set->saved_hash)
        return end_hang(set, FAULT_HANG, "nothing can progress any more");
    if (!expire_waits(set) && !advanced)
        return end_hang(set, FAULT_HANG, "nothing can progress any more");
    set->expirations++;
    if (set->saved_pass == 0 || set->idle_passes >= 2 * set->saved_pass) {
        set->saved_pass = set->idle_passes;
        set->saved_hash = hash;
    }
    return true;
}

static void not_idle(struct cta_set *set) {
    set->idle_steps = set->idle_passes = set->saved_pass = 0;
    set->expirations = 0;
}

/* Starts as many CTAs as may run together: all at once when they share an SM, else one more after
 * each pass, so that the first ones end before memory fills with others. */
static bool start_some(struct cta_set *set, bool *started) {
    for (uint32_t i = 0; i < set->slot_count && set->next < set->end; i++) {
        if (is_running(&set->slots[i]))
            continue;
        if (!start(set, &set->slots[i]))
            return false;
        *started = true;
        if (i >= set->used_slots)
            set->used_slots = i + 1;
        if (set->one_more)
            break;
    }
    return true;
}

bool set_run(struct cta_set *set) {
    not_idle(set);
    while (set->active > 0 || set->next < set->end) {
        bool advanced = false, progressed = false;
        if (!start_some(set, &progressed))
            return fail(set);
        uint64_t steps = 0;
        for (uint32_t i = 0; i < set->used_slots; i++) {
            struct cta *cta = &set->slots[i];
            if (!is_running(cta))
                continue;
            uint64_t before = cta->state->steps;
            struct turn turn = cta_turn(cta, set->turn_rounds);
            if (!turn.fine)
                return fail(set);
            steps += cta->state->steps - before;
            advanced |= turn.advanced;
            progressed |= turn.progressed;
            if (!is_running(cta) && !finish(set, cta))
                return fail(set);
        }
        if (set->cancelled != NULL && set->cancelled(set->ctx))
            return true;
        if (progressed)
            not_idle(set);
        else if (!idle(set, advanced, steps))
            return false;
    }
    return true;
}
