#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "tmem.h"

Test(tmem, undefined_words_depend_on_seed_and_place) {
    struct tmem *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    tmem_fill_undefined(a, 1);
    tmem_fill_undefined(b, 1);
    cr_assert_eq(memcmp(a, b, sizeof *a), 0);
    cr_assert_neq(a->cell[0][0], a->cell[0][1]);
    cr_assert_neq(a->cell[0][0], a->cell[1][0]);
    tmem_fill_undefined(b, 2);
    cr_assert_neq(memcmp(a, b, sizeof *a), 0);
    free(a);
    free(b);
}

Test(tmem, addresses) {
    cr_assert_eq(tmem_address(32, 256), 0x00200100);
    cr_assert_eq(tmem_address_lane(0x00600010), 96);
    cr_assert_eq(tmem_address_column(0x00600010), 16);
    for (uint32_t warp = 0; warp < 32; warp++)
        cr_assert_eq(tmem_warp_first_lane(warp), warp % 4 * 32);
}

Test(tmem, column_counts) {
    for (uint32_t n = 0; n < 1100; n++) {
        struct tmem_allocator allocator = {0};
        struct tmem_cta cta = {.cta = 9};
        uint32_t address = 77;
        bool legal = n == 32 || n == 64 || n == 128 || n == 256 || n == 512;
        cr_assert_eq(tmem_alloc(&allocator, &cta, n, &address),
                     legal ? TMEM_OK : TMEM_COLUMN_COUNT);
        cr_assert_eq(address, legal ? 0 : 77);
    }
}

Test(tmem, first_fit_and_neighbours) {
    struct tmem_allocator allocator = {0};
    struct tmem_cta a = {.cta = 1}, b = {.cta = 2};
    uint32_t at[4];
    cr_assert_eq(tmem_alloc(&allocator, &a, 128, &at[0]), TMEM_OK);
    cr_assert_eq(tmem_alloc(&allocator, &a, 256, &at[1]), TMEM_ALLOC_GROWS);
    cr_assert_eq(tmem_alloc(&allocator, &a, 128, &at[1]), TMEM_OK);
    cr_assert_eq(tmem_alloc(&allocator, &a, 64, &at[2]), TMEM_OK);
    cr_assert(at[0] == 0 && at[1] == 128 && at[2] == 256);
    cr_assert_eq(tmem_alloc(&allocator, &b, 64, &at[3]), TMEM_WAIT_PERMIT);
    tmem_relinquish(&allocator, &a);
    cr_assert_eq(tmem_alloc(&allocator, &a, 32, &at[3]), TMEM_RELINQUISHED);
    cr_assert_eq(tmem_alloc(&allocator, &b, 256, &at[3]), TMEM_WAIT_ROOM);
    cr_assert_eq(tmem_dealloc(&allocator, &a, at[1], 128), TMEM_OK);
    cr_assert_eq(tmem_alloc(&allocator, &b, 128, &at[3]), TMEM_OK);
    cr_assert_eq(at[3], 128);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 0, 128), TMEM_OK);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 0, 129), TMEM_OTHER_CTA);
    cr_assert_eq(tmem_check_columns(&allocator, 2, 128, 128), TMEM_OK);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 256, 64), TMEM_OK);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 256, 65), TMEM_NOT_ALLOCATED);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 480, 33), TMEM_COLUMN_RANGE);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 512, 0), TMEM_COLUMN_RANGE);
    cr_assert_eq(tmem_check_columns(&allocator, 1, 0, UINT32_MAX), TMEM_COLUMN_RANGE);
}

Test(tmem, dealloc_names_the_mistake) {
    struct tmem_allocator allocator = {0};
    struct tmem_cta a = {.cta = 1}, b = {.cta = 2};
    uint32_t at;
    cr_assert_eq(tmem_alloc(&allocator, &a, 64, &at), TMEM_OK);
    cr_assert_eq(tmem_dealloc(&allocator, &a, at + 32, 32), TMEM_NOT_AN_ALLOCATION);
    cr_assert_eq(tmem_dealloc(&allocator, &a, tmem_address(32, 0), 64), TMEM_NOT_AN_ALLOCATION);
    cr_assert_eq(tmem_dealloc(&allocator, &a, at, 32), TMEM_DEALLOC_COUNT);
    cr_assert_eq(tmem_dealloc(&allocator, &b, at, 64), TMEM_OTHER_CTA);
    cr_assert_eq(tmem_dealloc(&allocator, &a, at, 64), TMEM_OK);
    cr_assert_eq(tmem_dealloc(&allocator, &a, at, 64), TMEM_NOT_AN_ALLOCATION);
    for (enum tmem_error e = 0; e < TMEM_ERROR_COUNT; e++)
        cr_assert_gt(strlen(tmem_error_text(e)), 5);
}

Test(tmem, exit_counts_the_leak) {
    struct tmem_allocator allocator = {0};
    struct tmem_cta a = {.cta = 1}, b = {.cta = 2};
    uint32_t at;
    cr_assert_eq(tmem_alloc(&allocator, &a, 128, &at), TMEM_OK);
    cr_assert_eq(tmem_alloc(&allocator, &a, 32, &at), TMEM_OK);
    cr_assert_eq(tmem_cta_exit(&allocator, &b), 0);
    cr_assert_eq(tmem_alloc(&allocator, &b, 32, &at), TMEM_WAIT_PERMIT);
    cr_assert_eq(tmem_cta_exit(&allocator, &a), 160);
    cr_assert_eq(tmem_alloc(&allocator, &b, 512, &at), TMEM_OK);
    cr_assert_eq(tmem_dealloc(&allocator, &b, at, 512), TMEM_OK);
    cr_assert_eq(tmem_cta_exit(&allocator, &b), 0);
    cr_assert_eq(allocator.count, 0);
}

/* Random life against a plain map of the 16 units: never two owners, always the first gap. */
Test(tmem, random_against_a_map) {
    struct tmem_allocator allocator = {0};
    struct {
        uint32_t column, count, cta;
    } live[16];
    uint32_t map[16] = {0}, live_count = 0;
    for (uint64_t step = 0; step < 20000; step++) {
        uint64_t r = hash_mix64(step);
        if ((r & 1) != 0 && live_count > 0) {
            uint32_t pick = (uint32_t)(r >> 8) % live_count;
            struct tmem_cta owner = {.cta = live[pick].cta};
            cr_assert_eq(tmem_dealloc(&allocator, &owner, live[pick].column, live[pick].count),
                         TMEM_OK);
            for (uint32_t u = 0; u < live[pick].count / 32; u++)
                map[live[pick].column / 32 + u] = 0;
            live[pick] = live[--live_count];
            continue;
        }
        struct tmem_cta fresh = {.cta = 1 + (uint32_t)(r >> 16) % 5};
        uint32_t count = 32u << (r >> 8) % 5, units = count / 32, at = 0, want = 16;
        for (uint32_t u = 0; u + units <= 16 && want == 16; u++) {
            want = u;
            for (uint32_t v = 0; v < units; v++)
                if (map[u + v] != 0)
                    want = 16;
        }
        enum tmem_error error = tmem_alloc(&allocator, &fresh, count, &at);
        tmem_relinquish(&allocator, &fresh);
        cr_assert_eq(error, want == 16 ? TMEM_WAIT_ROOM : TMEM_OK);
        if (error != TMEM_OK)
            continue;
        cr_assert_eq(at, want * 32);
        for (uint32_t u = 0; u < units; u++)
            map[want + u] = fresh.cta;
        live[live_count].column = at;
        live[live_count].cta = fresh.cta;
        live[live_count++].count = count;
    }
}
