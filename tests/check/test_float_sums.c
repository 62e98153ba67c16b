/* The observer of floating-point sums, fed with events. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "float_sums.h"

static struct float_sums *sums;
static struct float_sum seen[64];
static unsigned seen_count;

static void begin(void) {
    sums = float_sums_create();
    cr_assert_not_null(sums);
    seen_count = 0;
}

static void end(void) {
    float_sums_destroy(sums);
}

static void add_f32(uint64_t address, uint32_t count, const float *before, const float *operand) {
    struct float_sums_launch launch = {.sums = sums};
    struct observer observer;
    const struct event event = {.kind = EVENT_FLOAT_ADD,
                                .float_add = {EVENT_F32, 4 * count, address,
                                              (const uint8_t *)before, (const uint8_t *)operand}};
    float_sums_observe(&launch, &observer);
    cr_assert_eq(observer.kinds, 1u << EVENT_FLOAT_ADD);
    void *worker = observer.worker_begin(observer.ctx, 0);
    observer.event(worker, &event);
    observer.worker_end(observer.ctx, worker);
}

static void keep(void *ctx, const struct float_sum *sum) {
    (void)ctx;
    seen[seen_count++] = *sum;
}

Test(float_sums, counts_and_magnitudes, .init = begin, .fini = end) {
    const float before[2] = {-2, 0}, first[2] = {1, 3}, second[2] = {-5, 0.5F};
    add_f32(0x7e8000000ffc, 2, before, first); /* over the border of two pages */
    add_f32(0x7e8000000ffc, 2, before, second);
    float_sums_visit(sums, 0x7e8000000000, 8192, keep, NULL);
    cr_assert_eq(seen_count, 2);
    cr_assert_eq(seen[0].address, 0x7e8000000ffc);
    cr_assert_eq(seen[1].address, 0x7e8000001000);
    cr_assert_eq(seen[0].count, 2);
    cr_assert_eq(seen[0].type, EVENT_F32);
    /* What stood there counts once; rounding is upward and small. */
    cr_assert(seen[0].magnitude >= 8 && seen[0].magnitude < 8.00001);
    cr_assert(seen[1].magnitude >= 3.5 && seen[1].magnitude < 3.50001);
    cr_assert(float_sums_complete(sums));
    seen_count = 0;
    float_sums_visit(sums, 0x7e8000001000, 4, keep, NULL);
    cr_assert_eq(seen_count, 1);
    float_sums_visit(sums, 0x7e8000001004, 4096, keep, NULL);
    cr_assert_eq(seen_count, 1);
}

Test(float_sums, many_pages_and_numbers_that_are_none, .init = begin, .fini = end) {
    const float zero = 0, one = 1, bad = NAN;
    for (uint64_t page = 0; page < 1000; page++)
        add_f32(0x1000 * (page * 7919 % 1000), 1, &zero, page == 5 ? &bad : &one);
    for (uint64_t page = 0; page < 1000; page++) {
        seen_count = 0;
        float_sums_visit(sums, 0x1000 * (page * 7919 % 1000), 0x1000, keep, NULL);
        cr_assert_eq(seen_count, 1);
        cr_assert_eq(seen[0].count, 1);
        cr_assert_eq(isinf(seen[0].magnitude) != 0, page == 5);
    }
}
