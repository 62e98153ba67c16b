/* Fragments of mma.sync and wmma: against fragment.c where both know the shape, against what an
 * H200's wmma.load and wmma.store moved, and each element once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mma_fragment.h"
#include "support.h"

enum { LANES = 32, MAX_SIDE = 256 };

static bool same(struct fragment_place a, struct fragment_place b) {
    return a.row == b.row && a.col == b.col;
}

Test(mma_fragment, agrees_with_the_fragments_of_m16n8) {
    for (uint32_t bits = 8; bits <= 32; bits *= 2) {
        uint32_t k = 256 / bits, per_register = 32 / bits;
        struct mma_fragment_shape shape = {MMA_FRAGMENT_A, false, 16, 8, k, bits};
        struct mma_fragment a = mma_fragment_find(&shape);
        shape.role = MMA_FRAGMENT_B;
        struct mma_fragment b = mma_fragment_find(&shape);
        shape.role = MMA_FRAGMENT_C;
        shape.element_bits = 32;
        struct mma_fragment c = mma_fragment_find(&shape);
        cr_assert(a.registers == 4 && b.registers == 2 && c.registers == 4);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            for (uint32_t e = 0; e < a.elements; e++)
                cr_assert(same(mma_fragment_place(&a, lane, e),
                               fragment_mma_a(bits, lane, e / per_register, e % per_register)));
            for (uint32_t e = 0; e < b.elements; e++)
                cr_assert(same(mma_fragment_place(&b, lane, e),
                               fragment_mma_b(bits, lane, e / per_register, e % per_register)));
            for (uint32_t e = 0; e < 4; e++)
                cr_assert(same(mma_fragment_place(&c, lane, e), fragment_mma_c(lane, e)));
        }
    }
}

/* Every element of the matrix is held, as often as `times` says. */
static void check_cover(const struct mma_fragment_shape *shape, uint32_t registers,
                        uint32_t times) {
    static uint8_t seen[MAX_SIDE][MAX_SIDE];
    uint32_t rows = shape->role == MMA_FRAGMENT_B ? shape->k : shape->m;
    uint32_t columns = shape->role == MMA_FRAGMENT_A ? shape->k : shape->n;
    struct mma_fragment f = mma_fragment_find(shape);
    cr_assert_eq(f.registers, registers, "m%un%uk%u role %d: %u registers", shape->m, shape->n,
                 shape->k, shape->role, f.registers);
    memset(seen, 0, sizeof seen);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < f.elements; e++) {
            struct fragment_place at = mma_fragment_place(&f, lane, e);
            cr_assert(at.row < rows && at.col < columns);
            seen[at.row][at.col]++;
        }
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++)
            cr_assert_eq(seen[row][column], times);
}

Test(mma_fragment, each_element_once) {
    static const struct {
        struct mma_fragment_shape shape;
        uint32_t registers, times;
    } cases[] = {
        {{MMA_FRAGMENT_A, false, 16, 8, 4, 64}, 2, 1},
        {{MMA_FRAGMENT_A, false, 16, 8, 16, 64}, 8, 1},
        {{MMA_FRAGMENT_B, false, 16, 8, 16, 64}, 4, 1},
        {{MMA_FRAGMENT_A, false, 8, 8, 16, 8}, 1, 1},
        {{MMA_FRAGMENT_A, false, 16, 8, 16, 8}, 2, 1},
        {{MMA_FRAGMENT_A, false, 16, 8, 64, 4}, 4, 1},
        {{MMA_FRAGMENT_B, false, 16, 8, 64, 4}, 2, 1},
        {{MMA_FRAGMENT_A, false, 16, 8, 256, 1}, 4, 1},
        {{MMA_FRAGMENT_B, false, 8, 8, 128, 1}, 1, 1},
        {{MMA_FRAGMENT_C, false, 8, 8, 32, 32}, 2, 1},
        {{MMA_FRAGMENT_C, false, 16, 8, 8, 16}, 2, 1},
        {{MMA_FRAGMENT_A, true, 16, 16, 16, 16}, 8, 2},
        {{MMA_FRAGMENT_A, true, 8, 32, 16, 16}, 8, 4},
        {{MMA_FRAGMENT_B, true, 8, 32, 16, 16}, 8, 1},
        {{MMA_FRAGMENT_C, false, 8, 32, 16, 16}, 4, 1},
        {{MMA_FRAGMENT_C, false, 32, 8, 16, 32}, 8, 1},
        {{MMA_FRAGMENT_B, false, 16, 16, 8, 32}, 4, 1},
        {{MMA_FRAGMENT_A, false, 8, 32, 16, 16}, 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_cover(&cases[i].shape, cases[i].registers, cases[i].times);
}

Test(mma_fragment, quad_pairs_hold_each_element_once) {
    for (unsigned role = MMA_FRAGMENT_A; role <= MMA_FRAGMENT_C; role++)
        for (unsigned variant = 0; variant < 2; variant++) {
            uint8_t seen[4][8][8] = {{{0}}};
            for (uint32_t lane = 0; lane < LANES; lane++)
                for (uint32_t i = 0; i < (role == MMA_FRAGMENT_C ? 8u : 4u); i++) {
                    struct fragment_place at =
                        mma_fragment_quad((enum mma_fragment_role)role, variant == 1,
                                          variant == 1 ? 16 : 32, lane, i);
                    cr_assert(at.row < 8 && at.col < 8);
                    seen[lane / 4 % 4][at.row][at.col]++;
                }
            for (unsigned quad = 0; quad < 4; quad++)
                for (unsigned row = 0; row < (role == MMA_FRAGMENT_B ? 4u : 8u); row++)
                    for (unsigned col = 0; col < (role == MMA_FRAGMENT_A ? 4u : 8u); col++)
                        cr_assert_eq(seen[quad][row][col], 1);
        }
}

static uint32_t bits_of(const char *type) {
    return strcmp(type, "b1") == 0                                 ? 1
           : strcmp(type, "s4") == 0 || strcmp(type, "u4") == 0    ? 4
           : strcmp(type, "s8") == 0 || strcmp(type, "u8") == 0    ? 8
           : strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? 16
           : strcmp(type, "f64") == 0                              ? 64
                                                                   : 32;
}

/* Loads list the memory element of every (register, lane, part of the register), stores the pairs
 * memory element : that number. */
static void check_row(const struct csv *csv) {
    struct mma_fragment_shape shape = {.repeated = strcmp(csv_text(csv, 4), "f16") == 0,
                                       .element_bits = bits_of(csv_text(csv, 4))};
    const char *operand = csv_text(csv, 1);
    shape.role = *operand == 'a'   ? MMA_FRAGMENT_A
                 : *operand == 'b' ? MMA_FRAGMENT_B
                                   : MMA_FRAGMENT_C;
    cr_assert_eq(sscanf(csv_text(csv, 3), "m%un%uk%u", &shape.m, &shape.n, &shape.k), 3);
    struct mma_fragment f = mma_fragment_find(&shape);
    cr_assert_eq(f.registers, csv_int(csv, 6));
    bool load = strcmp(csv_text(csv, 0), "load") == 0,
         by_row = strcmp(csv_text(csv, 2), "row") == 0;
    uint32_t stride = (uint32_t)csv_int(csv, 7), per_register = f.elements / f.registers, count = 0;
    for (const char *text = csv_text(csv, 8); *text != '\0'; count++) {
        char *end;
        uint32_t memory = (uint32_t)strtoul(text, &end, 10), number = count;
        if (!load)
            number = (uint32_t)strtoul(end + 1, &end, 10);
        uint32_t reg = number / per_register / LANES, lane = number / per_register % LANES;
        struct fragment_place at =
            mma_fragment_place(&f, lane, reg * per_register + number % per_register);
        uint32_t line = by_row ? at.row : at.col, in_line = by_row ? at.col : at.row;
        cr_assert_eq(line * stride + in_line, memory, "%s %s %s %s %s", csv_text(csv, 0), operand,
                     csv_text(csv, 2), csv_text(csv, 3), csv_text(csv, 4));
        text = *end == ' ' ? end + 1 : end;
    }
    cr_assert_eq(count, f.elements * LANES);
}

Test(mma_fragment, every_wmma_layout_of_an_h200) {
    struct csv *csv = csv_open("warp/hw-H200-wmma-layouts.csv.gz");
    while (csv_next(csv))
        check_row(csv);
    cr_assert_eq(csv_rows(csv), 342);
    report_rows("warp/hw-H200-wmma-layouts.csv.gz", csv_rows(csv));
    csv_close(csv);
}
