/* Counters from events made by hand: sectors of global memory and wavefronts of shared memory. */
#include <criterion/criterion.h>

#include "stats.h"

static struct stats_counters counters;
static struct observer observer;

static void access(enum event_kind kind, enum event_access how, uint32_t lanes, uint32_t size_bytes,
                   uint64_t base, uint64_t step) {
    uint64_t address[32];
    for (unsigned lane = 0; lane < 32; lane++)
        address[lane] = base + lane * step;
    struct event event = {.kind = kind, .lanes = lanes, .access = {how, size_bytes, address}};
    void *worker = observer.worker_begin(observer.ctx, 0);
    observer.event(worker, &event);
    observer.worker_end(observer.ctx, worker);
}

static void start(void) {
    stats_observe(&counters, &observer);
}

Test(stats, sectors, .init = start) {
    const struct siltwin_sim_stats *s = &counters.sums;
    access(EVENT_GLOBAL_ACCESS, ACCESS_READ, ~0u, 4, 0x1000, 4); /* 128 bytes in a row */
    cr_expect_eq(s->load_sectors, 4);
    cr_expect_eq(s->load_used_bytes, 128);
    access(EVENT_GLOBAL_ACCESS, ACCESS_WRITE, ~0u, 4, 0x1000, 512); /* a column */
    cr_expect_eq(s->store_sectors, 32);
    cr_expect_eq(s->store_used_bytes, 128);
    access(EVENT_GLOBAL_ACCESS, ACCESS_WRITE, 0xffff, 16, 0x1010, 32); /* half of each sector */
    cr_expect_eq(s->store_sectors, 32 + 16);
    cr_expect_eq(s->store_used_bytes, 128 + 256);
    access(EVENT_GLOBAL_ACCESS, ACCESS_READ, ~0u, 4, 0x1000, 0); /* all the same word */
    cr_expect_eq(s->load_sectors, 4 + 1);
    cr_expect_eq(s->load_used_bytes, 128 + 4);
    access(EVENT_GLOBAL_ACCESS, ACCESS_READ, 1, 16, 0x1018, 0); /* over a sector's end */
    cr_expect_eq(s->load_sectors, 5 + 2);
    cr_expect_eq(s->load_requests, 3);
    cr_expect_eq(s->store_requests, 2);
}

Test(stats, wavefronts, .init = start) {
    static const struct {
        uint32_t lanes, size_bytes;
        uint64_t step;
        uint64_t wavefronts, conflicts;
    } rows[] = {
        {~0u, 4, 4, 1, 0},     /* one word a bank */
        {~0u, 4, 0, 1, 0},     /* a broadcast */
        {~0u, 4, 8, 2, 1},     /* every second bank */
        {~0u, 4, 128, 32, 31}, /* one bank */
        {~0u, 2, 2, 1, 0},     /* halves of words */
        {~0u, 8, 8, 2, 0},     /* two halves of a warp */
        {~0u, 16, 16, 4, 0},   /* four quarters */
        {0xff, 16, 128, 8, 7}, /* eight rows of a row-major 128-byte tile */
        {0xff, 16, 144, 1, 0}, /* the same, rows 16 bytes further apart */
        {1, 4, 4, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stats_observe(&counters, &observer);
        access(EVENT_SHARED_ACCESS, ACCESS_READ, rows[i].lanes, rows[i].size_bytes, 0x400,
               rows[i].step);
        cr_expect_eq(counters.sums.shared_requests, 1);
        cr_expect_eq(counters.sums.shared_wavefronts, rows[i].wavefronts, "row %zu: %lu", i,
                     (unsigned long)counters.sums.shared_wavefronts);
        cr_expect_eq(counters.sums.shared_conflicts, rows[i].conflicts, "row %zu", i);
    }
}

Test(stats, units, .init = start) {
    void *a = observer.worker_begin(observer.ctx, 0), *b = observer.worker_begin(observer.ctx, 1);
    observer.event(a, &(struct event){.kind = EVENT_TENSOR_COPY, .tensor = {ACCESS_READ, 1, 8192}});
    observer.event(b, &(struct event){.kind = EVENT_TENSOR_COPY, .tensor = {ACCESS_WRITE, 1, 64}});
    observer.event(b, &(struct event){.kind = EVENT_MMA, .mma = {128, 256, 16}});
    observer.event(b, &(struct event){.kind = EVENT_MBARRIER, .mbarrier.completed = 1});
    observer.worker_end(observer.ctx, a);
    observer.worker_end(observer.ctx, b);
    cr_expect_eq(counters.sums.tma_instructions, 2);
    cr_expect_eq(counters.sums.tma_boxes, 2);
    cr_expect_eq(counters.sums.tma_load_bytes, 8192);
    cr_expect_eq(counters.sums.tma_store_bytes, 64);
    cr_expect_eq(counters.sums.mma_flop, 2 * 128 * 256 * 16);
    cr_expect_eq(counters.sums.mbarrier_phases, 1);
}

/* The class of an instruction is a counter between warp_instructions and the others. */
Test(stats, every_form_has_a_class, .init = start) {
    for (unsigned form = 0; form < ISA_COUNT; form++) {
        size_t offset = counters.class_offset[form];
        cr_expect(offset >= offsetof(struct siltwin_sim_stats, integer) &&
                  offset <= offsetof(struct siltwin_sim_stats, other));
    }
}
