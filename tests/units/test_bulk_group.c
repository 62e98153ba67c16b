#include <criterion/criterion.h>

#include "bulk_group.h"
#include "hash.h"

static void finish(struct bulk_group *g, uint64_t group) {
    bulk_group_read(g, group);
    bulk_group_complete(g, group);
}

Test(bulk_group, nothing_issued_never_waits) {
    struct bulk_group g = {0};
    cr_assert(bulk_group_waited(&g, 0, false));
    bulk_group_commit(&g);
    cr_assert(bulk_group_waited(&g, 0, true), "an empty group is complete");
}

Test(bulk_group, open_group_is_not_waited_for) {
    struct bulk_group g = {0};
    uint64_t a = bulk_group_add(&g);
    cr_assert(bulk_group_waited(&g, 0, false));
    cr_assert(!bulk_group_all_complete(&g));
    bulk_group_commit(&g);
    cr_assert(!bulk_group_waited(&g, 0, false));
    cr_assert(bulk_group_waited(&g, 1, false));
    finish(&g, a);
    cr_assert(bulk_group_waited(&g, 0, false));
    cr_assert(bulk_group_all_complete(&g));
}

Test(bulk_group, read_before_complete) {
    struct bulk_group g = {0};
    uint64_t a = bulk_group_add(&g);
    bulk_group_commit(&g);
    cr_assert(!bulk_group_waited(&g, 0, true));
    bulk_group_read(&g, a);
    cr_assert(bulk_group_waited(&g, 0, true));
    cr_assert(!bulk_group_waited(&g, 0, false));
    bulk_group_complete(&g, a);
    cr_assert(bulk_group_waited(&g, 0, false));
}

/* Against the rule itself: random groups of up to three copies that complete in random order. */
Test(bulk_group, random_orders_against_the_rule) {
    enum { GROUPS = 40 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct bulk_group g = {0};
        uint32_t left[GROUPS] = {0};
        uint64_t x = seed, committed = 0;
        for (int step = 0; step < 400; step++) {
            x = hash_mix64(x);
            uint64_t pick = (x >> 8) % (committed + 1);
            if (x % 4 == 0 && committed < GROUPS - 1) {
                bulk_group_commit(&g);
                committed++;
            } else if (x % 4 == 1 && left[committed] < 3) {
                cr_assert_eq(bulk_group_add(&g), committed);
                left[committed]++;
            } else if (left[pick] > 0) {
                finish(&g, pick);
                left[pick]--;
            }
            for (uint32_t n = 0; n < BULK_GROUP_RING - 1; n++) {
                bool done = true;
                for (uint64_t i = 0; i + n < committed; i++)
                    done = done && left[i] == 0;
                cr_assert_eq(bulk_group_waited(&g, n, false), done, "seed %d step %d n %u",
                             (int)seed, step, n);
            }
        }
    }
}
