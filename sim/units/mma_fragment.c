/* Fragments of mma.sync and wmma. All but one shape are built from the 8-row core
 *
 *      major     minor: run elements a lane
 *        0      lane 0 | lane 1 | lane 2 | lane 3        run = 32 / element bits for A and B,
 *        1      lane 4 | ...                             1 for f64, 2 for C and D
 *        ...
 *        7      lane 28| ...    | lane 31
 *
 * and the next elements of a lane are copies of the core, moved by a step for each bit of their
 * number: down by 8, down by 16, or on by 4 runs. A counts rows in the major direction, B columns,
 * C rows; in m8n32k16 the tensor core multiplies the transposed matrices, so there C counts columns
 * and A and B change places.
 *
 * Facts: manual, "Matrix fragments for mma..."; H200 for wmma (oracle warp/hw-H200-wmma-layouts),
 * whose fragments the manual leaves open. The kept elements of a sparse A are in registers as those
 * of a dense A of half the K; metadata: mma_sparse.c. */
#include "mma_fragment.h"

#include <assert.h>

enum { WMMA_F16_REGISTERS = 8, QUAD_LANES = 4, HALF_WARP = 16 };

struct builder {
    struct mma_fragment *fragment;
    unsigned steps;
    uint32_t copies;
};

static void add_step(struct builder *b, uint32_t major, uint32_t minor) {
    assert(b->steps < MMA_FRAGMENT_STEPS);
    b->fragment->step[b->steps++] =
        (struct mma_fragment_step){.major = (uint8_t)major, .minor = (uint8_t)minor};
    b->copies *= 2;
}

/* A with its rows, or B with its columns, in the major direction. */
static void add_multiplicand(struct builder *b, bool rows_first, uint32_t rows, uint32_t k) {
    uint32_t run = b->fragment->run;
    if (rows == 32 || (rows == 16 && rows_first))
        add_step(b, 8, 0);
    for (uint32_t at = 4 * run; at < k; at *= 2)
        add_step(b, 0, at);
    if (rows == 16 && !rows_first)
        add_step(b, 8, 0);
    if (rows == 32)
        add_step(b, 16, 0);
}

static void add_accumulator(struct builder *b, uint32_t rows, uint32_t columns) {
    if (rows >= 16)
        add_step(b, 8, 0);
    if (rows == 32)
        add_step(b, 16, 0);
    if (columns == 16)
        add_step(b, 0, 8);
}

struct mma_fragment mma_fragment_find(const struct mma_fragment_shape *shape) {
    struct mma_fragment fragment = {0};
    struct builder b = {&fragment, 0, 1};
    bool exchanged = shape->n == 32;
    uint32_t bits = shape->element_bits, register_bits = bits == 64 ? 64 : 32;
    if (shape->role == MMA_FRAGMENT_C) {
        fragment.run = 2;
        fragment.major_is_column = exchanged;
        add_accumulator(&b, exchanged ? shape->n : shape->m, exchanged ? shape->m : shape->n);
    } else {
        bool is_a = shape->role == MMA_FRAGMENT_A;
        fragment.run = (uint8_t)(register_bits / bits);
        fragment.major_is_column = !is_a;
        add_multiplicand(&b, is_a, is_a ? shape->m : shape->n, shape->k);
    }
    fragment.elements = (uint8_t)(fragment.run * b.copies);
    fragment.registers = (uint8_t)(fragment.elements * bits / register_bits);
    if (shape->repeated && shape->role != MMA_FRAGMENT_C) {
        fragment.elements = WMMA_F16_REGISTERS * 2;
        fragment.registers = WMMA_F16_REGISTERS;
    }
    return fragment;
}

struct mma_fragment_step mma_fragment_lane(const struct mma_fragment *fragment, uint32_t lane) {
    return (struct mma_fragment_step){.major = (uint8_t)(lane / 4),
                                      .minor = (uint8_t)(fragment->run * (lane % 4))};
}

struct mma_fragment_step mma_fragment_element(const struct mma_fragment *fragment,
                                              uint32_t element) {
    uint32_t copy = element / fragment->run, major = 0, minor = element % fragment->run;
    for (unsigned i = 0; i < MMA_FRAGMENT_STEPS; i++)
        if (copy >> i & 1) {
            major += fragment->step[i].major;
            minor += fragment->step[i].minor;
        }
    return (struct mma_fragment_step){.major = (uint8_t)major, .minor = (uint8_t)minor};
}

struct fragment_place mma_fragment_place(const struct mma_fragment *fragment, uint32_t lane,
                                         uint32_t element) {
    struct mma_fragment_step a = mma_fragment_lane(fragment, lane),
                             b = mma_fragment_element(fragment, element);
    uint32_t major = a.major + b.major, minor = a.minor + b.minor;
    return fragment->major_is_column ? (struct fragment_place){.row = minor, .col = major}
                                     : (struct fragment_place){.row = major, .col = minor};
}

struct fragment_place mma_fragment_quad(enum mma_fragment_role role, bool column_major,
                                        uint32_t element_bits, uint32_t lane, uint32_t i) {
    uint32_t in_quad = lane % QUAD_LANES, half = 4 * (lane / HALF_WARP);
    if (role == MMA_FRAGMENT_C && element_bits == 32)
        return (struct fragment_place){.row = half + (lane & 1) + (i & 2),
                                       .col = (i & 4) + (lane & 2) + (i & 1)};
    if (role == MMA_FRAGMENT_C)
        return (struct fragment_place){.row = half + in_quad, .col = i};
    if (role == MMA_FRAGMENT_A)
        return column_major ? (struct fragment_place){.row = half + i, .col = in_quad}
                            : (struct fragment_place){.row = half + in_quad, .col = i};
    return column_major ? (struct fragment_place){.row = i, .col = half + in_quad}
                        : (struct fragment_place){.row = in_quad, .col = half + i};
}
