#ifndef SILTWIN_GRID_H
#define SILTWIN_GRID_H

#include "schedule.h"

/* What one launch shares between its host threads: read only while they run. */
struct run {
    const struct exec_launch *launch;
    const struct exec_kernel *kernel;
    const uint8_t *params;
    uint8_t **frame_patterns; /* by function of the image: what a new frame holds */
    uint32_t thread_count, warp_count;
    uint64_t cta_count;
    uint32_t shared_end;
    uint32_t ctas_per_sm; /* that share Tensor Memory */
    uint64_t idle_budget;
};

/* Fills bytes with the launch's pattern; `stream` makes places differ. */
void run_fill_pattern(const struct run *run, uint64_t stream, void *bytes, size_t size);
const uint8_t *run_frame_pattern(const struct run *run, const struct xfunc *func);

/* Runs CTAs [first, end) of the grid, at most `slots` at a time. `turn_rounds`: how long one goes
 * on before the next. False when one faulted: `fault`, `report`. */
struct cta_set {
    struct run *run;
    struct cta *slots; /* slot_count of them, made by cta_create */
    uint32_t slot_count;
    uint64_t next, end;
    struct sm *sms;
    uint32_t used_slots; /* that ever held a CTA */
    uint32_t active;
    uint32_t turn_rounds;
    bool (*cancelled)(void *ctx); /* asked between rounds */
    void (*finished)(void *ctx);  /* told of each CTA that ended well, NULL: not */
    void *ctx;
    struct fault *fault;
    struct strbuf *report;
    void *observer_ctx;
    bool one_more; /* start one CTA after each pass, not all at once */
    /* Passes without a side effect, and the state that is compared to find a hang. */
    uint64_t idle_steps, idle_passes, saved_hash, saved_pass;
    uint32_t expirations;
};
bool set_run(struct cta_set *set);
/* sm.c: Tensor Memory for the slots, when the kernel uses it. */
bool set_create_sms(struct cta_set *set);
void set_destroy_sms(struct cta_set *set);
void set_give_tmem(struct cta_set *set, uint32_t slot, uint64_t cta_index);

/* Room for a CTA of this launch; it serves one after the other. False without memory. */
bool cta_create(struct cta *cta, struct run *run);
void cta_destroy(struct cta *cta);
/* Tensor Memory of an ended CTA: false with a fault when it still holds columns. */
bool cta_finish_tmem(struct cta *cta);

/* async_queue.c: what the scheduler does with the queue. */
bool async_create(struct cta *cta);
void async_destroy(struct cta *cta);
void async_begin(struct cta *cta);
bool async_pending(const struct cta *cta);
/* Lets one operation take effect: the one that a waiting group depends on, else the oldest. */
bool async_complete_one(struct cta *cta);
/* Under POLICY_RANDOM: perhaps lets some operation take effect. */
bool async_maybe_complete(struct cta *cta);
/* Warp that a round begins with: under POLICY_RANDOM any. */
uint32_t async_first_warp(struct cta *cta);
bool async_complete_all(struct cta *cta);
void async_report(const struct cta *cta, struct strbuf *out);

/* hang.c */
void report_fault(const struct run *run, const struct fault *fault, struct strbuf *out);
void report_hang(const struct cta_set *set, struct strbuf *out);
/* Puts the place, the reason to wait and its numbers of the first warp that stands still into the
 * set's fault. */
void hang_place(const struct cta_set *set);
/* Adds what .loc says of the fault's instruction. */
void fault_source(const struct run *run, struct fault *fault);
const char *fault_text(enum fault_kind kind);

#endif
