/* Sums by element, in pages of global memory that a hash table finds.
 *
 *   slots:  [ page number | page * ]  open addressing
 *   page:   4 KiB of memory, one cell for each possible element of 2 bytes: type, count, magnitude
 *
 * Not modelled: order that matters in other ways (exchange, compare and swap, minimum of NaNs). */
#include "float_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { PAGE_BYTES = 4096, CELL_BYTES = 2, CELLS = PAGE_BYTES / CELL_BYTES, FIRST_SLOTS = 64 };

struct cell {
    float magnitude; /* rounded up a little */
    uint32_t count;
    uint8_t type;
};

struct page {
    uint64_t number;
    struct cell cells[CELLS];
};

struct float_sums {
    struct page **slots;
    uint64_t slot_count, page_count;
    bool incomplete;
};

struct float_sums *float_sums_create(void) {
    return calloc(1, sizeof(struct float_sums));
}

void float_sums_destroy(struct float_sums *sums) {
    if (sums == NULL)
        return;
    for (uint64_t i = 0; i < sums->slot_count; i++)
        free(sums->slots[i]);
    free(sums->slots);
    free(sums);
}

static struct page **slot_of(struct page **slots, uint64_t slot_count, uint64_t number) {
    uint64_t at = hash_mix64(number) & (slot_count - 1);
    while (slots[at] != NULL && slots[at]->number != number)
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow(struct float_sums *sums) {
    const uint64_t wanted = sums->slot_count ? 2 * sums->slot_count : FIRST_SLOTS;
    struct page **slots = calloc(wanted, sizeof(struct page *));
    if (slots == NULL)
        return false;
    for (uint64_t i = 0; i < sums->slot_count; i++)
        if (sums->slots[i] != NULL)
            *slot_of(slots, wanted, sums->slots[i]->number) = sums->slots[i];
    free(sums->slots);
    sums->slots = slots;
    sums->slot_count = wanted;
    return true;
}

static struct page *page_for(struct float_sums *sums, uint64_t number) {
    if (2 * (sums->page_count + 1) > sums->slot_count && !grow(sums))
        return NULL;
    struct page **slot = slot_of(sums->slots, sums->slot_count, number);
    if (*slot == NULL) {
        *slot = calloc(1, sizeof **slot);
        if (*slot == NULL)
            return NULL;
        (*slot)->number = number;
        sums->page_count++;
    }
    return *slot;
}

static float magnitude_up(double magnitude) {
    return isfinite(magnitude) ? nextafterf((float)magnitude, INFINITY) : INFINITY;
}

static void add(struct float_sums *sums, const struct event *event) {
    const uint32_t size = event_float_bytes(event->float_add.type);
    for (uint32_t at = 0; at < event->float_add.bytes; at += size) {
        const uint64_t address = event->float_add.address + at;
        struct page *page = page_for(sums, address / PAGE_BYTES);
        if (page == NULL) {
            sums->incomplete = true;
            return;
        }
        struct cell *cell = &page->cells[address % PAGE_BYTES / CELL_BYTES];
        double more = fabs(event_float_value(event->float_add.type, event->float_add.operand + at));
        if (cell->count == 0)
            more += fabs(event_float_value(event->float_add.type, event->float_add.before + at));
        cell->type = (uint8_t)event->float_add.type;
        cell->magnitude = magnitude_up((double)cell->magnitude + more);
        cell->count += cell->count < UINT32_MAX;
    }
}

static void *worker_begin(void *ctx, uint32_t worker_index) {
    struct float_sums_launch *launch = ctx;
    if (launch->next.kinds)
        launch->next_worker = launch->next.worker_begin(launch->next.ctx, worker_index);
    return launch;
}

static void worker_event(void *worker_ctx, const struct event *event) {
    struct float_sums_launch *launch = worker_ctx;
    if (event->kind == EVENT_FLOAT_ADD)
        add(launch->sums, event);
    if (launch->next.kinds >> event->kind & 1)
        launch->next.event(launch->next_worker, event);
}

static void worker_end(void *ctx, void *worker_ctx) {
    struct float_sums_launch *launch = worker_ctx;
    (void)ctx;
    if (launch->next.kinds)
        launch->next.worker_end(launch->next.ctx, launch->next_worker);
}

void float_sums_observe(struct float_sums_launch *launch, struct observer *observer) {
    *observer = (struct observer){
        .ctx = launch,
        .kinds = 1u << EVENT_FLOAT_ADD | launch->next.kinds,
        .worker_begin = worker_begin,
        .event = worker_event,
        .worker_end = worker_end,
    };
}

bool float_sums_complete(const struct float_sums *sums) {
    return !sums->incomplete;
}

static void visit_page(const struct page *page, uint64_t first, uint64_t end, float_sums_each *each,
                       void *ctx) {
    for (uint32_t i = 0; i < CELLS; i++) {
        const struct cell *cell = &page->cells[i];
        const uint64_t address = page->number * PAGE_BYTES + i * CELL_BYTES;
        if (cell->count > 0 && address >= first && address < end)
            each(ctx, &(struct float_sum){address, (enum event_float)cell->type, cell->count,
                                          (double)cell->magnitude});
    }
}

void float_sums_visit(const struct float_sums *sums, uint64_t address, uint64_t bytes,
                      float_sums_each *each, void *ctx) {
    const uint64_t end = address + bytes;
    for (uint64_t n = address / PAGE_BYTES; sums->slot_count > 0 && n * PAGE_BYTES < end; n++) {
        const struct page *page = *slot_of(sums->slots, sums->slot_count, n);
        if (page != NULL)
            visit_page(page, address, end, each, ctx);
    }
}
