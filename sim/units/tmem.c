/* Tensor Memory and its allocator.
 *
 *              column 0   1   2  ...  511        each cell 32 bits
 *     lane 0                                     warp 0 of each four warps
 *      ...                                          lanes   0..31
 *     lane 127                                   warp 1: 32..63, warp 2: 64..95, warp 3: 96..127
 *
 * Allocator: a list of runs of columns, sorted by column, each with its CTA; one permit.
 *
 *     free permit --alloc--> held by CTA --relinquish, exit--> free permit
 *
 * Manual: tcgen05 "Tensor Memory", "Tensor Memory allocation" (PTX ISA 9.0). Not modelled: which
 * free columns silicon prefers (first fit here), and whether it really makes a second CTA wait for
 * the permit as the manual's words suggest (it does here, so that a kernel that never gives the
 * permit up is seen to hold others back). */
#include "tmem.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "bits.h"
#include "hash.h"

_Static_assert(sizeof(struct tmem) == 256 * 1024, "Tensor Memory is 256 KiB an SM");

static const char *const error_texts[TMEM_ERROR_COUNT] = {
    [TMEM_OK] = "no error",
    [TMEM_WAIT_ROOM] = "waits until enough Tensor Memory columns are free",
    [TMEM_WAIT_PERMIT] = "waits until another CTA of the SM relinquishes the allocation permit",
    [TMEM_COLUMN_COUNT] = "the number of columns must be a power of two from 32 to 512",
    [TMEM_ALLOC_GROWS] = "an allocation must not be larger than the CTA's allocation before it",
    [TMEM_RELINQUISHED] = "tcgen05.alloc after tcgen05.relinquish_alloc_permit of the same CTA",
    [TMEM_NOT_AN_ALLOCATION] = "no allocation begins at this Tensor Memory address",
    [TMEM_DEALLOC_COUNT] = "the allocation at this address has another number of columns",
    [TMEM_OTHER_CTA] = "these Tensor Memory columns are allocated to another CTA",
    [TMEM_NOT_ALLOCATED] = "these Tensor Memory columns are not allocated",
    [TMEM_COLUMN_RANGE] = "the access reaches past Tensor Memory column 511",
    [TMEM_LANE_RANGE] = "Tensor Memory has lanes 0 to 127",
    [TMEM_LANE_BASE] = "the address begins at a lane that this shape does not allow",
};

const char *tmem_error_text(enum tmem_error error) {
    assert((unsigned)error < TMEM_ERROR_COUNT);
    return error_texts[error];
}

void tmem_fill_undefined(struct tmem *tmem, uint64_t seed) {
    for (uint32_t lane = 0; lane < TMEM_LANES; lane++)
        for (uint32_t column = 0; column < TMEM_COLUMNS; column++)
            tmem->cell[lane][column] = (uint32_t)hash_mix64(seed ^ tmem_address(lane, column));
}

/* Index in the list and column of the first gap that holds `column_count`, false without one. */
static bool find_gap(const struct tmem_allocator *allocator, uint32_t column_count, uint32_t *index,
                     uint32_t *column) {
    *column = 0;
    for (*index = 0; *index < allocator->count; ++*index) {
        const struct tmem_allocation *next = &allocator->allocations[*index];
        if (next->column - *column >= column_count)
            return true;
        *column = (uint32_t)next->column + next->column_count;
    }
    return TMEM_COLUMNS - *column >= column_count;
}

enum tmem_error tmem_alloc(struct tmem_allocator *allocator, struct tmem_cta *cta,
                           uint32_t column_count, uint32_t *address) {
    if (!bits_is_power_of_two(column_count) || column_count < TMEM_ALLOC_UNIT ||
        column_count > TMEM_COLUMNS)
        return TMEM_COLUMN_COUNT;
    if (cta->relinquished)
        return TMEM_RELINQUISHED;
    if (cta->last_column_count != 0 && column_count > cta->last_column_count)
        return TMEM_ALLOC_GROWS;
    if (allocator->permit_held && allocator->permit_cta != cta->cta)
        return TMEM_WAIT_PERMIT;
    uint32_t index, column;
    if (!find_gap(allocator, column_count, &index, &column))
        return TMEM_WAIT_ROOM;
    struct tmem_allocation *place = &allocator->allocations[index];
    memmove(place + 1, place, (allocator->count - index) * sizeof *place);
    *place = (struct tmem_allocation){cta->cta, (uint16_t)column, (uint16_t)column_count};
    allocator->count++;
    allocator->permit_held = true;
    allocator->permit_cta = cta->cta;
    cta->last_column_count = (uint16_t)column_count;
    *address = tmem_address(0, column);
    return TMEM_OK;
}

static void remove_allocation(struct tmem_allocator *allocator, uint32_t index) {
    struct tmem_allocation *place = &allocator->allocations[index];
    allocator->count--;
    memmove(place, place + 1, (allocator->count - index) * sizeof *place);
}

enum tmem_error tmem_dealloc(struct tmem_allocator *allocator, const struct tmem_cta *cta,
                             uint32_t address, uint32_t column_count) {
    for (uint32_t i = 0; i < allocator->count; i++) {
        const struct tmem_allocation *allocation = &allocator->allocations[i];
        if (address != tmem_address(0, allocation->column))
            continue;
        if (allocation->cta != cta->cta)
            return TMEM_OTHER_CTA;
        if (allocation->column_count != column_count)
            return TMEM_DEALLOC_COUNT;
        remove_allocation(allocator, i);
        return TMEM_OK;
    }
    return TMEM_NOT_AN_ALLOCATION;
}

static void release_permit(struct tmem_allocator *allocator, uint32_t cta) {
    if (allocator->permit_cta == cta)
        allocator->permit_held = false;
}

void tmem_relinquish(struct tmem_allocator *allocator, struct tmem_cta *cta) {
    cta->relinquished = true;
    release_permit(allocator, cta->cta);
}

uint32_t tmem_cta_exit(struct tmem_allocator *allocator, const struct tmem_cta *cta) {
    uint32_t left = 0;
    for (uint32_t i = allocator->count; i-- > 0;) {
        if (allocator->allocations[i].cta != cta->cta)
            continue;
        left += allocator->allocations[i].column_count;
        remove_allocation(allocator, i);
    }
    release_permit(allocator, cta->cta);
    return left;
}

enum tmem_error tmem_check_columns(const struct tmem_allocator *allocator, uint32_t cta,
                                   uint32_t column, uint32_t count) {
    if (column >= TMEM_COLUMNS || count > TMEM_COLUMNS - column)
        return TMEM_COLUMN_RANGE;
    uint32_t end = column + count;
    for (uint32_t i = 0; i < allocator->count && column < end; i++) {
        const struct tmem_allocation *allocation = &allocator->allocations[i];
        uint32_t allocation_end = (uint32_t)allocation->column + allocation->column_count;
        if (column >= allocation_end)
            continue;
        if (column < allocation->column)
            return TMEM_NOT_ALLOCATED;
        if (allocation->cta != cta)
            return TMEM_OTHER_CTA;
        column = allocation_end;
    }
    return column < end ? TMEM_NOT_ALLOCATED : TMEM_OK;
}
