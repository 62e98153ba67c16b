#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bits.h"
#include "grid.h"
#include "hash.h"

/* A launch. CTAs of a kernel that cannot pass values between CTAs run one after the other on every
 * host thread; the CTAs of one that can share one thread and take turns. Either way the outcome
 * does not depend on the number of threads: the first fault is the one of the lowest CTA. */

enum {
    IDLE_BUDGET = 1 << 28, /* warp instructions */
    SM_CTAS =
        32, /* resident CTAs, threads, shared memory of an SM (compute capability 9.0, 10.0) */
    SM_THREADS = 2048,
    SM_SHARED_BYTES = 233472,
    TURN_ROUNDS = 64,
};

void run_fill_pattern(const struct run *run, uint64_t stream, void *bytes, size_t size) {
    uint64_t seed = hash_mix64(run->launch->pattern_seed ^ hash_mix64(stream));
    uint8_t *at = bytes;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = hash_mix64(seed + i);
        memcpy(at + i, &word, size - i < 8 ? size - i : 8);
    }
}

const uint8_t *run_frame_pattern(const struct run *run, const struct xfunc *func) {
    return run->frame_patterns[func - run->kernel->funcs];
}

/* A new frame: garbage in every register, but no bits above a register's width. */
static uint8_t *make_frame_pattern(const struct run *run, const struct xfunc *func) {
    uint8_t *pattern = aligned_alloc(FRAME_ALIGN_BYTES, func->frame_bytes + FRAME_ALIGN_BYTES);
    if (pattern == NULL)
        return NULL;
    run_fill_pattern(run, (uint64_t)func->module_index, pattern, func->frame_bytes);
    for (uint32_t i = 0; i < func->ir->reg_count; i++) {
        uint32_t mask = (UINT32_C(1) << (func->reg_bits[i] & 31)) - 1;
        uint32_t *lanes = (uint32_t *)(void *)(pattern + func->reg_offset[i]);
        for (unsigned lane = 0;
             func->reg_bits[i] > 1 && func->reg_bits[i] < 32 && lane < WARP_LANES; lane++)
            lanes[lane] &= mask;
    }
    return pattern;
}

static bool make_patterns(struct run *run) {
    run->frame_patterns = calloc(run->kernel->func_count, sizeof *run->frame_patterns);
    if (run->frame_patterns == NULL)
        return false;
    for (uint32_t i = 0; i < run->kernel->func_count; i++) {
        run->frame_patterns[i] = make_frame_pattern(run, &run->kernel->funcs[i]);
        if (run->frame_patterns[i] == NULL)
            return false;
    }
    return true;
}

static void free_patterns(struct run *run) {
    for (uint32_t i = 0; run->frame_patterns != NULL && i < run->kernel->func_count; i++)
        free(run->frame_patterns[i]);
    free(run->frame_patterns);
}

/* CTAs that an SM holds at once. */
static uint32_t occupancy(const struct run *run) {
    uint64_t shared = bits_align_up(run->shared_end, 128); /* the system's 1 KiB is in it */
    uint64_t count = SM_CTAS;
    if (SM_THREADS / (run->warp_count * WARP_LANES) < count)
        count = SM_THREADS / (run->warp_count * WARP_LANES);
    if (SM_SHARED_BYTES / shared < count)
        count = SM_SHARED_BYTES / shared;
    return count > 0 ? (uint32_t)count : 1;
}

/* What the host threads share. */
struct pool {
    struct run *run;
    pthread_mutex_t lock;
    uint64_t next_cta, ctas_done;
    _Atomic uint64_t failed_cta; /* first of the lowest failed set; changed under the lock */
    uint32_t set_ctas;           /* CTAs that run together */
    struct fault fault;
    struct strbuf report;
};

struct worker {
    struct pool *pool;
    struct cta_set set;
    uint64_t first; /* CTA of the running set */
    pthread_t thread;
    bool started;
    struct fault fault;
    struct strbuf report;
};

static bool is_cancelled(void *ctx) {
    struct worker *worker = ctx;
    return worker->pool->failed_cta < worker->first;
}

/* Takes the next CTAs. False when none are left, or all that are left come after a fault. */
static bool take_set(struct worker *worker) {
    struct pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    uint64_t total = pool->run->cta_count;
    bool taken = pool->next_cta < total && pool->next_cta < pool->failed_cta;
    if (taken) {
        worker->first = worker->set.next = pool->next_cta;
        uint64_t left = total - pool->next_cta;
        pool->next_cta += left < pool->set_ctas ? left : pool->set_ctas;
        worker->set.end = pool->next_cta;
    }
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

static void count_cta(void *ctx) {
    struct worker *worker = ctx;
    struct pool *pool = worker->pool;
    const struct exec_launch *launch = pool->run->launch;
    pthread_mutex_lock(&pool->lock);
    pool->ctas_done++;
    if (launch->progress != NULL)
        launch->progress(launch->progress_ctx, pool->ctas_done, pool->run->cta_count);
    pthread_mutex_unlock(&pool->lock);
}

static void end_set(struct worker *worker, bool fine) {
    struct pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    if (!fine && worker->first < pool->failed_cta) {
        pool->failed_cta = worker->first;
        pool->fault = worker->fault;
        strbuf_free(&pool->report);
        pool->report = worker->report;
        worker->report = (struct strbuf){0};
    }
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *ctx) {
    struct worker *worker = ctx;
    while (take_set(worker)) {
        bool fine = set_run(&worker->set);
        end_set(worker, fine);
        if (!fine || worker->set.active > 0)
            break;
    }
    return NULL;
}

static bool worker_begin(struct worker *worker, struct pool *pool, uint32_t index, uint32_t slots) {
    const struct exec_launch *launch = pool->run->launch;
    worker->pool = pool;
    worker->set = (struct cta_set){
        .run = pool->run,
        .slots = calloc(slots, sizeof(struct cta)),
        .slot_count = slots,
        .turn_rounds = launch->resident > 1 ? 1 : TURN_ROUNDS,
        .one_more = launch->resident <= 1,
        .cancelled = is_cancelled,
        .finished = launch->progress != NULL ? count_cta : NULL,
        .ctx = worker,
        .fault = &worker->fault,
        .report = &worker->report,
    };
    if (launch->observer != NULL && launch->observer->worker_begin != NULL)
        worker->set.observer_ctx = launch->observer->worker_begin(launch->observer->ctx, index);
    return worker->set.slots != NULL && set_create_sms(&worker->set);
}

static void worker_end(struct worker *worker) {
    const struct observer *observer = worker->pool->run->launch->observer;
    for (uint32_t i = 0; worker->set.slots != NULL && i < worker->set.slot_count; i++)
        if (worker->set.slots[i].launch != NULL)
            cta_destroy(&worker->set.slots[i]);
    set_destroy_sms(&worker->set);
    free(worker->set.slots);
    strbuf_free(&worker->report);
    if (observer != NULL && observer->worker_end != NULL)
        observer->worker_end(observer->ctx, worker->set.observer_ctx);
}

static void run_workers(struct pool *pool, struct worker *workers, uint32_t count, uint32_t slots) {
    bool fine = true;
    for (uint32_t i = 0; i < count; i++)
        fine &= worker_begin(&workers[i], pool, i, slots);
    if (!fine) {
        pool->failed_cta = 0;
        pool->fault.kind = FAULT_NO_MEMORY;
        strcpy(pool->fault.reason, "no host memory for the launch");
    }
    for (uint32_t i = 1; fine && i < count; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    if (fine)
        work(&workers[0]);
    for (uint32_t i = 1; i < count; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
    for (uint32_t i = 0; i < count; i++)
        worker_end(&workers[i]);
}

static enum status run_pool(struct pool *pool, uint32_t jobs, uint32_t slots, struct fault *fault,
                            struct strbuf *report) {
    uint64_t sets = (pool->run->cta_count + pool->set_ctas - 1) / pool->set_ctas;
    uint32_t count = sets < jobs ? (uint32_t)sets : jobs;
    struct worker *workers = calloc(count, sizeof *workers);
    if (workers == NULL)
        return STATUS_NO_MEMORY;
    pthread_mutex_init(&pool->lock, NULL);
    run_workers(pool, workers, count, slots);
    pthread_mutex_destroy(&pool->lock);
    free(workers);
    if (pool->failed_cta == UINT64_MAX)
        return STATUS_OK;
    *fault = pool->fault;
    strbuf_puts(report, strbuf_text(&pool->report));
    strbuf_free(&pool->report);
    return fault->kind == FAULT_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INVALID;
}

static enum status run_grid(struct run *run, struct fault *fault, struct strbuf *report) {
    const struct exec_launch *launch = run->launch;
    uint32_t resident = launch->resident > 0 ? launch->resident : 1;
    uint32_t jobs = launch->jobs > 0 ? launch->jobs : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    struct pool pool = {.run = run, .failed_cta = UINT64_MAX, .set_ctas = resident};
    run->ctas_per_sm = resident;
    if (!run->kernel->communicates)
        return run_pool(&pool, jobs, resident, fault, report);
    if (launch->resident == 0 && !run->kernel->uses_tmem)
        run->ctas_per_sm = occupancy(run);
    uint64_t slots = (uint64_t)run->ctas_per_sm * launch->device->sm_count;
    slots = slots < run->cta_count ? slots : run->cta_count;
    pool.set_ctas = UINT32_MAX;
    return run_pool(&pool, 1, (uint32_t)slots, fault, report);
}

enum status exec_run(const struct exec_launch *launch, struct fault *fault, struct strbuf *report) {
    struct run run = {
        .launch = launch,
        .kernel = launch->kernel,
        .params = launch->params,
        .thread_count = launch->block[0] * launch->block[1] * launch->block[2],
        .cta_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
        .idle_budget = launch->idle_budget > 0 ? launch->idle_budget : IDLE_BUDGET,
    };
    *fault = (struct fault){.kind = FAULT_NONE};
    assert(run.thread_count > 0 && run.thread_count <= MAX_WARPS * WARP_LANES);
    run.warp_count = (run.thread_count + WARP_LANES - 1) / WARP_LANES;
    /* Shared memory is handed out in pieces of 128 bytes; an access beyond the last one faults. */
    run.shared_end = (uint32_t)bits_align_up(
        (uint64_t)run.kernel->dynamic_base + launch->dynamic_smem_bytes, 128);
    if ((uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1) {
        fault->kind = FAULT_UNSUPPORTED;
        strcpy(fault->reason, "clusters of more than one CTA");
        report_fault(&run, fault, report);
        return STATUS_INVALID;
    }
    enum status status = make_patterns(&run) ? run_grid(&run, fault, report) : STATUS_NO_MEMORY;
    free_patterns(&run);
    return status;
}
