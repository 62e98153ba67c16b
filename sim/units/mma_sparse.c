/* Sparse A, two of four. The unit that is kept or dropped has 16 bits for elements of 32 and 16, 8
 * bits for elements of 8 and 4: so a tf32 element is two units and two s4 elements are one. A
 * nibble of metadata names the two kept units of a group of four, i0 in its low bits and i1 above:
 *
 *      A as stored     a0 a1        a2 a3        ...
 *      nibble          i1=3 i0=1    i1=2 i0=0
 *      meets of B      b1 b3        b4 b6        ...   other b are no part of the sum
 *
 * i0 < i1 is what the manual asks for (for tf32: both halves of an element). Silicon does not
 * check: each kept unit meets the unit that its index names, whatever the other names, and a tf32
 * element of B that is put together from two halves is what those bits say.
 *
 * A register of metadata, lanes 4g .. 4g+3, rows g and g+8, by groups of a row:
 *
 *      4               lane 4g+F         nibbles 0-3 row g, 4-7 row g+8
 *      8, 16-bit unit  lane 4g+2F+h      the same, groups 4h .. 4h+3
 *      8, 8-bit unit   lane 4g+2F+r      nibbles 0-7 row g+8r
 *      16              lane 4g+2h+r      nibbles 0-7 row g+8r, groups 8h .. 8h+7
 *
 * F the selector, h and r 0 or 1. Functions: mma_sparse_place (metadata), _row (its meaning), _pick
 * (of B). Facts: manual, "Sparse matrix storage"; H200 (traces/silicon/observations.md). */
#include "mma_sparse.h"

#include <string.h>

enum { NIBBLES = 8, GROUP = 4 };

uint32_t mma_sparse_unit_bytes(const struct mma_sparse *form) {
    return form->element_bits >= 16 ? 2 : 1;
}

uint32_t mma_sparse_kept(const struct mma_sparse *form) {
    return form->k * form->element_bits / 8 / mma_sparse_unit_bytes(form) / 2;
}

uint32_t mma_sparse_groups(const struct mma_sparse *form) {
    return mma_sparse_kept(form) / 2;
}

uint32_t mma_sparse_selectors(const struct mma_sparse *form) {
    return 2 * NIBBLES / mma_sparse_groups(form);
}

struct mma_sparse_place mma_sparse_place(const struct mma_sparse *form, uint32_t row,
                                         uint32_t group) {
    uint32_t quad = 4 * (row % 8), upper = row / 8, selector = form->selector;
    struct mma_sparse_place by_half = {quad, group % 4 + 4 * upper};
    struct mma_sparse_place by_row = {quad + upper, group % NIBBLES};
    switch (mma_sparse_groups(form)) {
    case 4: by_half.lane += selector; return by_half;
    case 8:
        by_half.lane += 2 * selector + group / 4;
        by_row.lane += 2 * selector;
        return mma_sparse_unit_bytes(form) == 2 ? by_half : by_row;
    default: by_row.lane += 2 * (group / NIBBLES); return by_row;
    }
}

void mma_sparse_row(const struct mma_sparse *form, const uint32_t metadata[MMA_SPARSE_LANES],
                    uint32_t row, uint8_t kept[MMA_SPARSE_KEPT_MAX]) {
    uint32_t groups = mma_sparse_groups(form);
    for (uint32_t group = 0; group < groups; group++) {
        struct mma_sparse_place at = mma_sparse_place(form, row, group);
        uint32_t nibble = metadata[at.lane] >> (4 * at.nibble) & 15;
        kept[2 * group] = (uint8_t)(GROUP * group + (nibble & 3));
        kept[2 * group + 1] = (uint8_t)(GROUP * group + (nibble >> 2));
    }
}

void mma_sparse_pick(const struct mma_sparse *form, const uint8_t *column,
                     const uint8_t kept[MMA_SPARSE_KEPT_MAX], uint8_t *out) {
    uint32_t count = mma_sparse_kept(form), bytes = mma_sparse_unit_bytes(form);
    for (uint32_t i = 0; i < count; i++)
        memcpy(out + i * bytes, column + kept[i] * bytes, bytes);
}
