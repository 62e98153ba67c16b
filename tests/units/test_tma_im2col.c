/* im2col copies: the walk of the bounding box, by hand. Random maps are compared with an H200 in
 * tests/exec/test_conformance.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "tma.h"

enum { OUTSIDE = -1 };

/* N H W C = 2 2 3 8 of f16, 16 bytes a pixel, densely packed. */
static struct tmap nhwc_map(void) {
    return (struct tmap){.global_address = 0x10000,
                         .mode = TMAP_IM2COL,
                         .type = TMAP_FLOAT16,
                         .rank = 4,
                         .dim_elems = {8, 3, 2, 2},
                         .stride_bytes = {0, 16, 48, 96},
                         .element_stride = {1, 1, 1, 1},
                         .lower_corner = {-1, -1},
                         .upper_corner = {0, 0},
                         .channels = 8,
                         .pixels = 6};
}

/* Pixel index (n * 2 + h) * 3 + w of each row, or OUTSIDE. */
static void check_pixels(const struct tmap *map, const struct tma_request *request,
                         const int *pixels) {
    struct tma_walk walk;
    struct tma_step step;
    uint32_t rows = 0;
    cr_assert_eq(tma_begin(&walk, map, request), TMA_OK);
    cr_assert_eq(walk.box_bytes, 16 * map->pixels);
    for (; tma_next(&walk, &step); rows++) {
        if (pixels[rows] == OUTSIDE) {
            cr_assert_eq(step.valid_bytes, 0, "row %u", rows);
            continue;
        }
        cr_assert_eq(step.valid_bytes, 16, "row %u", rows);
        cr_assert_eq(step.global_address, 0x10000 + 16 * (uint64_t)pixels[rows], "row %u: %llx",
                     rows, (unsigned long long)step.global_address);
        cr_assert_eq(step.shared_address, request->shared_address + 16 * rows);
    }
    cr_assert_eq(rows, map->pixels);
}

static struct tma_request load_at(int32_t w, int32_t h, int32_t n) {
    return (struct tma_request){.kind = TMA_LOAD,
                                .mode = TMAP_IM2COL,
                                .rank = 4,
                                .coords = {0, w, h, n},
                                .shared_address = 0x400};
}

Test(tma_im2col, walks_w_then_h_then_n) {
    struct tmap map = nhwc_map();
    map.pixels = 16;
    static const int pixels[16] = {OUTSIDE, 3,       4,       5,       /* n 0: h 1 */
                                   OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE, /* n 1: h -1 */
                                   OUTSIDE, 6,       7,       8,       OUTSIDE, 9, 10, 11};
    struct tma_request request = load_at(-1, 1, 0);
    check_pixels(&map, &request, pixels);
}

Test(tma_im2col, offsets_move_the_pixel_and_not_the_box) {
    struct tmap map = nhwc_map();
    struct tma_request request = load_at(1, -1, 0);
    request.offsets[0] = 1;
    request.offsets[1] = 1;
    static const int expected[6] = {2, OUTSIDE, 3, 4, 5, OUTSIDE};
    check_pixels(&map, &request, expected);
}

Test(tma_im2col, element_strides_step_and_wrap_to_the_lower_corner) {
    struct tmap map = nhwc_map();
    map.element_stride[1] = 2;
    struct tma_request request = load_at(0, 0, 1);
    /* W 0, 2, then back to -1, 1 in the next H; then behind the last N. */
    static const int pixels[6] = {6, 8, OUTSIDE, 10, OUTSIDE, OUTSIDE};
    check_pixels(&map, &request, pixels);
}

/* 8 bits each in 4 dimensions; 5 in 5, where what is too large spills into the next. */
Test(tma_im2col, offsets_have_few_bits) {
    struct tmap map = nhwc_map();
    struct tma_request request = load_at(0, 0, 0);
    struct tma_walk walk;
    request.offsets[0] = 256 + 2;
    request.offsets[1] = 65535;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
    cr_assert_eq(walk.request.offsets[0], 2);
    cr_assert_eq(walk.request.offsets[1], 255);
    map.rank = request.rank = 5;
    map.dim_elems[3] = map.dim_elems[4] = 1;
    map.element_stride[4] = 1;
    request.offsets[0] = 32 + 3;
    request.offsets[1] = 1;
    request.offsets[2] = 32 + 4;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
    cr_assert_eq(walk.request.offsets[0], 3);
    cr_assert_eq(walk.request.offsets[1], 2);
    cr_assert_eq(walk.request.offsets[2], 4);
}

/* Interleaved: W and H are dimensions 0 and 1, a slice of channels dimension 2. */
Test(tma_im2col, interleaved_maps_have_their_channels_before_n) {
    struct tmap map = nhwc_map();
    map.interleave = TMAP_INTERLEAVE_16B;
    map.dim_elems[0] = 3;
    map.dim_elems[1] = 2;
    map.dim_elems[2] = 2;
    map.stride_bytes[1] = 48;
    map.stride_bytes[2] = 96;
    map.stride_bytes[3] = 192;
    map.channels = 16; /* two slices of 8: one is loaded all the same */
    struct tma_request request = load_at(0, 0, 0);
    request.coords[0] = -1;
    request.coords[1] = 0;
    request.coords[2] = 1;
    static const int pixels[6] = {OUTSIDE, 6, 7, 8, OUTSIDE, 9};
    check_pixels(&map, &request, pixels);
}

Test(tma_im2col, faults_as_on_an_h200) {
    struct tmap map = nhwc_map();
    struct tma_walk walk;
    struct tma_request request = load_at(-2, 0, 0);
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_OUTSIDE);
    request = load_at(3, 0, 0);
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_OUTSIDE);
    request = load_at(0, 2, 0);
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_OUTSIDE);
    request = load_at(0, 0, -1); /* images need not be there */
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
    request = load_at(0, 0, 2);
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
    request.coords[0] = 1;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_INNER_COORDINATE);
    request = load_at(0, 0, 0);
    request.rank = 3;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_RANK);
    request = load_at(0, 0, 0);
    request.mode = TMAP_TILED;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_MODE);
    request = load_at(0, 0, 0);
    request.shared_address = 0x440;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_SHARED_ALIGNMENT);
    request.kind = TMA_PREFETCH;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
}

/* A store writes through boxes inside the tensor only. */
Test(tma_im2col, stores_as_on_an_h200) {
    static const struct {
        int32_t lower, upper;
        enum tma_outcome outcome;
    } rows[] = {{0, 0, TMA_OK},
                {1, 0, TMA_OK},
                {0, -1, TMA_OK},
                {-1, 0, TMA_FAULT_IM2COL_STORE},
                {0, 1, TMA_FAULT_IM2COL_STORE},
                {-1, -1, TMA_FAULT_IM2COL_STORE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned d = 0; d < 2; d++) {
            struct tmap map = nhwc_map();
            struct tma_walk walk;
            struct tma_request request = load_at(1, 0, 0);
            map.lower_corner[0] = map.lower_corner[1] = 0;
            map.lower_corner[d] = d == 1 && rows[i].lower > 0 ? 0 : rows[i].lower;
            map.upper_corner[d] = rows[i].upper;
            request.kind = TMA_STORE;
            cr_assert_eq(tma_begin(&walk, &map, &request), rows[i].outcome, "row %zu, %u", i, d);
        }
    struct tmap map = nhwc_map();
    map.lower_corner[0] = map.lower_corner[1] = 0;
    struct tma_request request = load_at(2, 0, 0);
    request.kind = TMA_STORE;
    static const int pixels[6] = {2, 3, 4, 5, 6, 7};
    check_pixels(&map, &request, pixels);
    request.coords[3] = 1;
    static const int past[6] = {8, 9, 10, 11, OUTSIDE, OUTSIDE};
    check_pixels(&map, &request, past);
    struct tma_walk walk;
    request.coords[3] = -1;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_NEGATIVE_COORDINATE);
    request.coords[3] = 0;
    request.shared_address = 0x410;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_SHARED_ALIGNMENT);
    map.upper_corner[0] = 1; /* the box first */
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_FAULT_IM2COL_STORE);
}

Test(tma_im2col, a_row_ends_at_the_channels_of_the_tensor) {
    struct tmap map = nhwc_map();
    struct tma_request request = load_at(0, 0, 0);
    struct tma_walk walk;
    struct tma_step step;
    map.dim_elems[0] = 5;
    map.fill = TMAP_FILL_NAN;
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK);
    cr_assert(tma_next(&walk, &step));
    cr_assert_eq(step.valid_bytes, 10);
    uint8_t shared[0x420], global[16];
    memset(global, 0x11, sizeof global);
    memset(shared, 0xee, sizeof shared);
    tma_step_load(&walk, &step, shared, global);
    static const uint8_t row[16] = {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                    0x11, 0x11, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f};
    cr_assert_arr_eq(shared + 0x400, row, 16);
    cr_assert_eq(shared[0x410], 0xee);
}
