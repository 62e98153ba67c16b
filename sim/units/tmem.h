#ifndef SILTWIN_TMEM_H
#define SILTWIN_TMEM_H

#include <stdbool.h>
#include <stdint.h>

/* Tensor Memory of one SM: 128 lanes x 512 columns x 32 bits, and the allocator of its columns. */
enum {
    TMEM_LANES = 128,
    TMEM_COLUMNS = 512,
    TMEM_ALLOC_UNIT = 32, /* columns; also the smallest allocation */
    TMEM_MAX_ALLOCATIONS = TMEM_COLUMNS / TMEM_ALLOC_UNIT,
    TMEM_WARP_LANES = 32, /* lanes that one warp may touch */
};

/* 256 KiB; the caller owns the storage. One lane's columns lie side by side, as a row of D and the
 * packed k of an A operand do. */
struct tmem {
    uint32_t cell[TMEM_LANES][TMEM_COLUMNS];
};

/* Every cell gets a word that depends on the seed and its place: Tensor Memory is undefined before
 * it is written. */
void tmem_fill_undefined(struct tmem *tmem, uint64_t seed);

/* Addresses: lane in bits 31:16, column in bits 15:0; plain integers to the program. */
static inline uint32_t tmem_address(uint32_t lane, uint32_t column) {
    return lane << 16 | column;
}
static inline uint32_t tmem_address_lane(uint32_t address) {
    return address >> 16;
}
static inline uint32_t tmem_address_column(uint32_t address) {
    return address & 0xffff;
}

/* First of the 32 lanes that warp `warp` of a CTA may touch. */
static inline uint32_t tmem_warp_first_lane(uint32_t warp) {
    return TMEM_WARP_LANES * (warp % 4);
}

enum tmem_error {
    TMEM_OK,
    TMEM_WAIT_ROOM,         /* not an error: alloc blocks until columns are freed */
    TMEM_WAIT_PERMIT,       /* not an error: alloc blocks until another CTA gives up the permit */
    TMEM_COLUMN_COUNT,      /* not a power of two from 32 to 512 */
    TMEM_ALLOC_GROWS,       /* larger than the CTA's allocation before */
    TMEM_RELINQUISHED,      /* alloc after relinquish_alloc_permit */
    TMEM_NOT_AN_ALLOCATION, /* dealloc of an address that no allocation has */
    TMEM_DEALLOC_COUNT,     /* dealloc of the right address with another column count */
    TMEM_OTHER_CTA,         /* the columns belong to another CTA */
    TMEM_NOT_ALLOCATED,     /* access to columns that no one allocated */
    TMEM_COLUMN_RANGE,      /* access past column 511 */
    TMEM_LANE_RANGE,        /* lane above 127 */
    TMEM_LANE_BASE,         /* lane not a base the shape or layout allows */
    TMEM_ERROR_COUNT,
};

const char *tmem_error_text(enum tmem_error error);

struct tmem_allocation {
    uint32_t cta; /* a name that the caller gives each resident CTA */
    uint16_t column;
    uint16_t column_count;
};

/* State of one SM's allocator; zeroed at first. */
struct tmem_allocator {
    struct tmem_allocation allocations[TMEM_MAX_ALLOCATIONS]; /* by column */
    uint32_t count;
    bool permit_held;
    uint32_t permit_cta;
};

/* What the allocator must know of one CTA; zeroed at its start. */
struct tmem_cta {
    uint32_t cta;
    bool relinquished;
    uint16_t last_column_count; /* 0 before the first allocation */
};

/* tcgen05.alloc: the first free run of columns, at a multiple of 32. TMEM_OK writes the address
 * (lane 0); TMEM_WAIT_* change nothing and mean try again; anything else is the program's mistake.
 * A CTA takes the permit at its first allocation and holds it until relinquish or exit. Manual:
 * tcgen05 "Tensor Memory allocation". Which free column silicon takes is not known; the first
 * allocation of an idle SM is at column 0 in everything published. */
enum tmem_error tmem_alloc(struct tmem_allocator *allocator, struct tmem_cta *cta,
                           uint32_t column_count, uint32_t *address);

/* tcgen05.dealloc: address and count of an earlier allocation of this CTA. */
enum tmem_error tmem_dealloc(struct tmem_allocator *allocator, const struct tmem_cta *cta,
                             uint32_t address, uint32_t column_count);

/* tcgen05.relinquish_alloc_permit. */
void tmem_relinquish(struct tmem_allocator *allocator, struct tmem_cta *cta);

/* The CTA has ended: frees what it left and gives up the permit. Returns the columns it left: more
 * than 0 is CUDA_ERROR_TENSOR_MEMORY_LEAK. */
uint32_t tmem_cta_exit(struct tmem_allocator *allocator, const struct tmem_cta *cta);

/* May this CTA touch columns column .. column+count-1? They must lie in its allocations. */
enum tmem_error tmem_check_columns(const struct tmem_allocator *allocator, uint32_t cta,
                                   uint32_t column, uint32_t count);

#endif
