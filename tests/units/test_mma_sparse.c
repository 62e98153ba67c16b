/* Sparse A: where its metadata is and what it keeps. What an H200 does with all of it is in
 * traces/silicon/h200/mma_sp.conf and wgmma_sp.conf (tests/exec/test_conformance.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "mma_sparse.h"

enum { FORMS = 8 };
static const struct {
    struct mma_sparse form;
    uint32_t groups, selectors;
} forms[FORMS] = {
    {{32, 8, 0}, 4, 4}, {{32, 16, 0}, 8, 2}, {{16, 16, 0}, 4, 4}, {{16, 32, 0}, 8, 2},
    {{8, 32, 0}, 8, 2}, {{8, 64, 0}, 16, 1}, {{4, 64, 0}, 8, 2},  {{4, 128, 0}, 16, 1},
};

/* The selectors share the nibbles of the warp's 32 registers out among themselves. */
Test(mma_sparse, every_nibble_has_one_use) {
    for (unsigned i = 0; i < FORMS; i++) {
        bool used[MMA_SPARSE_LANES][8] = {{false}};
        struct mma_sparse form = forms[i].form;
        size_t count = 0;
        cr_assert_eq(mma_sparse_groups(&form), forms[i].groups);
        cr_assert_eq(mma_sparse_selectors(&form), forms[i].selectors);
        for (; form.selector < forms[i].selectors; form.selector++)
            for (uint32_t row = 0; row < MMA_SPARSE_ROWS; row++)
                for (uint32_t group = 0; group < forms[i].groups; group++, count++) {
                    struct mma_sparse_place at = mma_sparse_place(&form, row, group);
                    cr_assert(at.lane < MMA_SPARSE_LANES && at.nibble < 8);
                    cr_assert_eq(at.lane / 4, row % 8);
                    cr_assert_not(used[at.lane][at.nibble]);
                    used[at.lane][at.nibble] = true;
                }
        cr_assert_eq(count, 256);
    }
}

Test(mma_sparse, places_by_hand) {
    static const struct {
        struct mma_sparse form;
        uint32_t row, group, lane, nibble;
    } places[] = {
        {{16, 16, 2}, 0, 0, 2, 0},  {{16, 16, 2}, 9, 1, 6, 5},  {{32, 8, 3}, 15, 3, 31, 7},
        {{16, 32, 0}, 1, 3, 4, 3},  {{16, 32, 0}, 1, 4, 5, 0},  {{16, 32, 1}, 8, 7, 3, 7},
        {{32, 16, 1}, 2, 2, 10, 2}, {{8, 64, 0}, 0, 7, 0, 7},   {{8, 64, 0}, 8, 7, 1, 7},
        {{8, 64, 0}, 3, 8, 14, 0},  {{4, 128, 0}, 9, 15, 7, 7}, {{8, 32, 1}, 8, 7, 3, 7},
        {{8, 32, 0}, 1, 4, 4, 4},   {{4, 64, 1}, 15, 0, 31, 0},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct mma_sparse_place at =
            mma_sparse_place(&places[i].form, places[i].row, places[i].group);
        cr_expect_eq(at.lane, places[i].lane, "place %zu: lane %u", i, at.lane);
        cr_expect_eq(at.nibble, places[i].nibble, "place %zu: nibble %u", i, at.nibble);
    }
}

/* One nibble in every place of the metadata: each index names a unit of its group, in order or not.
 * For tf32 4 and e are the first and the second of two elements. */
Test(mma_sparse, kept_units) {
    for (unsigned i = 0; i < FORMS; i++)
        for (uint32_t nibble = 0; nibble < 16; nibble++) {
            const struct mma_sparse *form = &forms[i].form;
            uint32_t metadata[MMA_SPARSE_LANES];
            uint8_t kept[MMA_SPARSE_KEPT_MAX];
            for (unsigned lane = 0; lane < MMA_SPARSE_LANES; lane++)
                metadata[lane] = nibble * 0x11111111u;
            mma_sparse_row(form, metadata, 5, kept);
            cr_assert_eq(mma_sparse_kept(form), 2 * forms[i].groups);
            for (uint32_t unit = 0; unit < mma_sparse_kept(form); unit++)
                cr_assert_eq(kept[unit], unit / 2 * 4 + (unit % 2 ? nibble / 4 : nibble % 4));
        }
}

/* Lanes that the selector does not name change nothing. */
Test(mma_sparse, other_lanes_are_not_read) {
    for (unsigned i = 0; i < FORMS; i++)
        for (struct mma_sparse form = forms[i].form; form.selector < forms[i].selectors;
             form.selector++)
            for (uint32_t row = 0; row < MMA_SPARSE_ROWS; row++) {
                uint32_t metadata[MMA_SPARSE_LANES];
                uint8_t kept[MMA_SPARSE_KEPT_MAX], again[MMA_SPARSE_KEPT_MAX];
                memset(metadata, 0xee, sizeof metadata);
                mma_sparse_row(&form, metadata, row, kept);
                for (uint32_t lane = 0; lane < MMA_SPARSE_LANES; lane++)
                    for (uint32_t nibble = 0; nibble < 8; nibble++) {
                        bool read = false;
                        for (uint32_t group = 0; group < forms[i].groups; group++) {
                            struct mma_sparse_place at = mma_sparse_place(&form, row, group);
                            read |= at.lane == lane && at.nibble == nibble;
                        }
                        metadata[lane] ^= UINT32_C(0xa) << (4 * nibble);
                        mma_sparse_row(&form, metadata, row, again);
                        cr_assert_eq(memcmp(kept, again, mma_sparse_kept(&form)) != 0, read);
                        metadata[lane] ^= UINT32_C(0xa) << (4 * nibble);
                    }
            }
}

Test(mma_sparse, picks_units_of_b) {
    uint8_t column[64], out[64], kept[MMA_SPARSE_KEPT_MAX];
    for (unsigned i = 0; i < sizeof column; i++)
        column[i] = (uint8_t)(0x10 + i * 3);
    for (unsigned f = 0; f < FORMS; f++) {
        const struct mma_sparse *form = &forms[f].form;
        uint32_t bytes = mma_sparse_unit_bytes(form), count = mma_sparse_kept(form);
        cr_assert_eq(bytes, form->element_bits >= 16 ? 2 : 1);
        cr_assert_eq(2 * count * bytes * 8, form->k * form->element_bits);
        for (uint32_t i = 0; i < count; i++)
            kept[i] = (uint8_t)(2 * i + i % 2);
        mma_sparse_pick(form, column, kept, out);
        for (uint32_t i = 0; i < count * bytes; i++)
            cr_assert_eq(out[i], column[kept[i / bytes] * bytes + i % bytes]);
    }
}
