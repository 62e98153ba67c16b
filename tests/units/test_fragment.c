#include <criterion/criterion.h>
#include <string.h>

#include "fragment.h"
#include "support.h"

Test(fragment, oracle_wgmma_d) {
    struct csv *csv = csv_open("wgmma_d_frag.csv.gz");
    size_t thread = csv_column(csv, "thread"), v = csv_column(csv, "v");
    size_t m = csv_column(csv, "m"), n = csv_column(csv, "n");
    while (csv_next(csv)) {
        struct fragment_place place =
            fragment_wgmma_d((uint32_t)csv_int(csv, thread), (uint32_t)csv_int(csv, v));
        cr_assert(place.row == csv_int(csv, m) && place.col == csv_int(csv, n), "row %zu",
                  csv_rows(csv));
    }
    report_rows("wgmma_d_frag.csv.gz", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 23552);
    csv_close(csv);
}

Test(fragment, oracle_wgmma_a) {
    struct csv *csv = csv_open("wgmma_a_frag.csv");
    size_t bits = csv_column(csv, "elem_bits"), thread = csv_column(csv, "thread");
    size_t reg = csv_column(csv, "reg"), sub = csv_column(csv, "sub");
    size_t m = csv_column(csv, "m"), k = csv_column(csv, "k");
    while (csv_next(csv)) {
        struct fragment_place place =
            fragment_wgmma_a((uint32_t)csv_int(csv, bits), (uint32_t)csv_int(csv, thread),
                             (uint32_t)csv_int(csv, reg), (uint32_t)csv_int(csv, sub));
        cr_assert(place.row == csv_int(csv, m) && place.col == csv_int(csv, k), "row %zu",
                  csv_rows(csv));
    }
    report_rows("wgmma_a_frag.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 3584);
    csv_close(csv);
}

static enum fragment_move move_of(const char *op, bool trans) {
    if (strcmp(op, "m8n8.b16") == 0)
        return trans ? FRAGMENT_M8N8_TRANS_B16 : FRAGMENT_M8N8_B16;
    if (strcmp(op, "ldmatrix.m16n16.b8") == 0)
        return FRAGMENT_LDMATRIX_M16N16_TRANS_B8;
    cr_assert_str_eq(op, "stmatrix.m16n8.b8");
    return FRAGMENT_STMATRIX_M16N8_TRANS_B8;
}

Test(fragment, oracle_ldsm_stsm) {
    struct csv *csv = csv_open("ldsm_stsm.csv");
    size_t op = csv_column(csv, "op"), trans = csv_column(csv, "trans");
    size_t thread = csv_column(csv, "thread"), reg = csv_column(csv, "reg");
    size_t sub = csv_column(csv, "sub"), bits = csv_column(csv, "elem_bits");
    size_t lane = csv_column(csv, "addr_thread"), element = csv_column(csv, "row_elem");
    while (csv_next(csv)) {
        enum fragment_move move = move_of(csv_text(csv, op), csv_int(csv, trans) != 0);
        cr_assert_eq(32 / fragment_move_elements(move), csv_int(csv, bits));
        struct fragment_source source =
            fragment_move_source(move, (uint32_t)csv_int(csv, thread), (uint32_t)csv_int(csv, reg),
                                 (uint32_t)csv_int(csv, sub));
        cr_assert(source.address_lane == csv_int(csv, lane) &&
                      source.element == csv_int(csv, element),
                  "row %zu", csv_rows(csv));
    }
    report_rows("ldsm_stsm.csv", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 2560);
    csv_close(csv);
}

/* Every element of D (64 x N) and of A (64 x 32 bytes) is held by one thread, once. */
Test(fragment, wgmma_is_bijective) {
    static unsigned char seen[64][256];
    for (uint32_t t = 0; t < 128; t++)
        for (uint32_t v = 0; v < 128; v++) {
            struct fragment_place p = fragment_wgmma_d(t, v);
            cr_assert_eq(seen[p.row][p.col]++, 0);
        }
    for (uint32_t bits = 8; bits <= 32; bits *= 2) {
        memset(seen, 0, sizeof seen);
        for (uint32_t t = 0; t < 128; t++)
            for (uint32_t i = 0; i < 128 / bits; i++) {
                struct fragment_place p = fragment_wgmma_a(bits, t, i * bits / 32, i % (32 / bits));
                cr_assert_lt(p.col, 256 / bits);
                cr_assert_eq(seen[p.row][p.col]++, 0);
            }
    }
}

/* mma.sync: both depths of K, and the manual's closed forms for m16n8k16 of f16. */
Test(fragment, mma_is_bijective) {
    for (uint32_t bits = 8; bits <= 32; bits *= 2)
        for (uint32_t a_regs = 2; a_regs <= 4; a_regs += 2) {
            unsigned char a[16][32] = {0}, b[32][8] = {0};
            uint32_t per_reg = 32 / bits, depth = a_regs * 64 / bits;
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t i = 0; i < a_regs * per_reg; i++) {
                    struct fragment_place p = fragment_mma_a(bits, lane, i / per_reg, i % per_reg);
                    cr_assert(p.row < 16 && p.col < depth && a[p.row][p.col]++ == 0);
                    if (i / per_reg < a_regs / 2) {
                        p = fragment_mma_b(bits, lane, i / per_reg, i % per_reg);
                        cr_assert(p.row < depth && p.col < 8 && b[p.row][p.col]++ == 0);
                    }
                }
        }
    unsigned char c[16][8] = {0};
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < 4; i++) {
            struct fragment_place p = fragment_mma_c(lane, i);
            cr_assert(p.row < 16 && p.col < 8 && c[p.row][p.col]++ == 0);
        }
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < 8; i++) {
            struct fragment_place p = fragment_mma_a(16, lane, i / 2, i % 2);
            cr_assert_eq(p.row, lane / 4 + 8 * (i / 2 % 2));
            cr_assert_eq(p.col, 2 * (lane % 4) + i % 2 + 8 * (i / 4));
        }
}

/* Each move takes every element of its rows once, for each number of matrices. */
Test(fragment, moves_are_bijective) {
    for (enum fragment_move move = 0; move < FRAGMENT_MOVE_COUNT; move++) {
        uint32_t rows = fragment_move_rows(move), elements = fragment_move_elements(move);
        for (uint32_t matrices = 1; matrices * rows <= 32; matrices *= 2) {
            unsigned char seen[32][16] = {0};
            uint32_t count = 0;
            for (uint32_t lane = 0; lane < 32; lane++)
                for (uint32_t i = 0; i < matrices * fragment_move_registers(move) * elements; i++) {
                    struct fragment_source s =
                        fragment_move_source(move, lane, i / elements, i % elements);
                    cr_assert_lt(s.address_lane, matrices * rows);
                    cr_assert_lt(s.element, 4 * elements);
                    cr_assert_eq(seen[s.address_lane][s.element]++, 0);
                    count++;
                }
            cr_assert_eq(count, matrices * rows * 4 * elements);
        }
    }
}

/* ldmatrix.x4 over a 16x16 tile gives mma.sync's A fragment: lane l names row l%16, 8-column half
 * l/16. */
Test(fragment, ldmatrix_feeds_mma) {
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < 8; i++) {
            struct fragment_source s = fragment_move_source(FRAGMENT_M8N8_B16, lane, i / 2, i % 2);
            struct fragment_place p = fragment_mma_a(16, lane, i / 2, i % 2);
            cr_assert_eq(s.address_lane % 16, p.row);
            cr_assert_eq(s.address_lane / 16 * 8 + s.element, p.col);
        }
}

Test(fragment, movmatrix_transposes) {
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t sub = 0; sub < 2; sub++) {
            uint32_t source_sub;
            uint32_t source = fragment_movmatrix_source(lane, sub, &source_sub);
            struct fragment_source out = fragment_move_source(FRAGMENT_M8N8_B16, lane, 0, sub);
            struct fragment_source in =
                fragment_move_source(FRAGMENT_M8N8_B16, source, 0, source_sub);
            cr_assert(in.address_lane == out.element && in.element == out.address_lane);
        }
}

/* The six- and four-bit load puts 16 elements of a row into four lanes. */
Test(fragment, m8n16_rows) {
    struct fragment_source s = fragment_move_source(FRAGMENT_LDMATRIX_M8N16, 6, 2, 3);
    cr_assert(s.address_lane == 17 && s.element == 11);
}
