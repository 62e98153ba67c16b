#ifndef SILTWIN_MMA_FRAGMENT_H
#define SILTWIN_MMA_FRAGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fragment.h"

/* Fragments of every dense shape of mma.sync and of wmma, as sums: the place of an element is that
 * of its lane plus that of its number in the lane. Pure maps. */

enum mma_fragment_role { MMA_FRAGMENT_A, MMA_FRAGMENT_B, MMA_FRAGMENT_C };

struct mma_fragment_shape {
    enum mma_fragment_role role; /* C: also D */
    bool repeated;               /* A and B of wmma on f16: 8 registers, whatever the shape */
    uint32_t m, n, k;
    uint32_t element_bits; /* 1, 4, 8, 16, 32, 64 */
};

/* "Major" is what lane/4 counts, "minor" what lane%4 counts. */
struct mma_fragment_step {
    uint8_t major, minor;
};

enum { MMA_FRAGMENT_STEPS = 3 };

struct mma_fragment {
    bool major_is_column;
    uint8_t registers; /* 32-bit ones, 64-bit ones for f64 */
    uint8_t elements;  /* per lane, repeated ones included */
    uint8_t run;       /* neighbours along the minor direction that a lane holds */
    /* what bit n of (element / run) adds; both 0: the elements are there twice */
    struct mma_fragment_step step[MMA_FRAGMENT_STEPS];
};

/* mma.sync: manual, "Matrix fragments for mma.mMnNkK". wmma: what an H200 does, the same for .row
 * and .col and for every state space (oracle warp/hw-H200-wmma-layouts). The m8n8k4 form of f16 is
 * not one of these: mma_fragment_quad. */
struct mma_fragment mma_fragment_find(const struct mma_fragment_shape *shape);

struct mma_fragment_step mma_fragment_lane(const struct mma_fragment *fragment, uint32_t lane);
struct mma_fragment_step mma_fragment_element(const struct mma_fragment *fragment,
                                              uint32_t element);
/* Row and column in the matrix: A m by k, B k by n, C m by n. */
struct fragment_place mma_fragment_place(const struct mma_fragment *fragment, uint32_t lane,
                                         uint32_t element);

/* mma.m8n8k4 with .f16 multiplicands: four products, one for lanes 4q..4q+3 and 16+4q..16+4q+3
 * each. Place of element i of the lane in the product of its quad pair; `column_major`: of A or B.
 * C and D have one layout for f16 and one for f32 (element_bits). */
struct fragment_place mma_fragment_quad(enum mma_fragment_role role, bool column_major,
                                        uint32_t element_bits, uint32_t lane, uint32_t i);

#endif
