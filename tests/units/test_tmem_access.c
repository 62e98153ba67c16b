#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "tmem_access.h"

static enum tmem_shape shape_of(const char *name) {
    static const char *const names[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
    for (enum tmem_shape shape = 0; shape < TMEM_SHAPE_COUNT; shape++)
        if (strcmp(name, names[shape]) == 0)
            return shape;
    cr_assert_fail("shape %s", name);
    return TMEM_32X32B;
}

static void check_loads(const char *path, bool packed) {
    struct csv *csv = csv_open(path);
    size_t shape = csv_column(csv, "shape"), num = csv_column(csv, "num");
    size_t thread = csv_column(csv, "thread"), reg = csv_column(csv, "reg");
    size_t lane = csv_column(csv, "lane"), column = csv_column(csv, packed ? "col_lo16" : "col");
    while (csv_next(csv)) {
        uint32_t n = (uint32_t)csv_int(csv, num);
        struct tmem_access access = {
            .shape = shape_of(csv_text(csv, shape)), .num = n, .packed = packed};
        if (access.shape == TMEM_16X32BX2)
            access.half_split_columns = packed ? 2 * n : n;
        cr_assert(tmem_access_num_is_legal(access.shape, n));
        struct tmem_cell cell =
            tmem_access_cell(&access, (uint32_t)csv_int(csv, thread), (uint32_t)csv_int(csv, reg));
        cr_assert(cell.lane == csv_int(csv, lane) && cell.column == csv_int(csv, column),
                  "%s row %zu", path, csv_rows(csv));
        if (packed)
            cr_assert_eq(cell.column + 1, csv_int(csv, csv_column(csv, "col_hi16")));
        cr_assert_lt(cell.column, tmem_access_columns(&access));
    }
    report_rows(path, csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 40672);
    csv_close(csv);
}

Test(tmem_access, oracle_ld) {
    check_loads("tmem_ld_32b.csv.gz", false);
}
Test(tmem_access, oracle_ld_pack16) {
    check_loads("tmem_ld_pack16.csv.gz", true);
}

/* Every form reads each cell of its rectangle once. */
Test(tmem_access, loads_are_bijective) {
    static const uint32_t max_num[] = {128, 128, 64, 32, 128};
    static unsigned char seen[32][512];
    for (enum tmem_shape shape = 0; shape < TMEM_SHAPE_COUNT; shape++)
        for (uint32_t num = 0; num <= 256; num++) {
            bool power = num != 0 && (num & (num - 1)) == 0;
            cr_assert_eq(tmem_access_num_is_legal(shape, num), power && num <= max_num[shape]);
            if (!tmem_access_num_is_legal(shape, num))
                continue;
            for (uint32_t packed = 0; packed < 2; packed++) {
                struct tmem_access access = {.shape = shape, .num = num, .packed = packed != 0};
                if (shape == TMEM_16X32BX2)
                    access.half_split_columns = num << packed;
                memset(seen, 0, sizeof seen);
                uint32_t registers = tmem_access_registers(shape, num);
                for (uint32_t t = 0; t < 32; t++)
                    for (uint32_t r = 0; r < registers; r++) {
                        struct tmem_cell cell = tmem_access_cell(&access, t, r);
                        cr_assert_lt(cell.lane, tmem_access_lanes(shape));
                        cr_assert_eq(seen[cell.lane][cell.column]++, 0);
                    }
                cr_assert_eq(32 * registers << packed,
                             tmem_access_lanes(shape) * tmem_access_columns(&access));
            }
        }
}

Test(tmem_access, warps_reach_their_lanes) {
    uint32_t lane;
    bool differs;
    for (uint32_t warp = 0; warp < 8; warp++)
        for (uint32_t named = 0; named < 256; named++) {
            uint32_t address = tmem_address(named, 5);
            bool whole = named % 32 == 0, half = named % 16 == 0;
            enum tmem_error error =
                tmem_access_first_lane(TMEM_32X32B, address, warp, &lane, &differs);
            cr_assert_eq(error, named >= 128 ? TMEM_LANE_RANGE : whole ? TMEM_OK : TMEM_LANE_BASE);
            error = tmem_access_first_lane(TMEM_16X256B, address, warp, &lane, &differs);
            cr_assert_eq(error, named >= 128 ? TMEM_LANE_RANGE : half ? TMEM_OK : TMEM_LANE_BASE);
            if (error == TMEM_OK) {
                cr_assert_eq(lane, warp % 4 * 32 + named % 32);
                cr_assert_eq(differs, named / 32 != warp % 4);
            }
        }
}

static struct tmem_mma_shape mma_shape(struct csv *csv) {
    size_t kind = csv_column(csv, "kind");
    return (struct tmem_mma_shape){
        .m = (uint32_t)csv_int(csv, csv_column(csv, "M")),
        .n = (uint32_t)csv_int(csv, csv_column(csv, "N")),
        .cta_group = (unsigned)csv_int(csv, csv_column(csv, "cta_group")),
        .ws = strcmp(csv_text(csv, kind), "ws") == 0,
    };
}

/* The run of row m that holds column n. */
static struct tmem_d_run run_of(const struct tmem_mma_shape *shape, uint32_t m, uint32_t n) {
    enum tmem_d_layout layout;
    struct tmem_d_run runs[4];
    cr_assert(tmem_d_layout(shape, &layout));
    uint32_t count = tmem_d_row(shape, layout, m, runs);
    for (uint32_t i = 0; i < count; i++)
        if (n >= runs[i].first_n && n < runs[i].first_n + runs[i].count)
            return runs[i];
    cr_assert_fail("column %u of row %u is nowhere", n, m);
    return runs[0];
}

Test(tmem_access, oracle_d_layout) {
    struct csv *csv = csv_open("umma_d_layout.csv");
    size_t m = csv_column(csv, "m"), begin = csv_column(csv, "n_begin");
    size_t end = csv_column(csv, "n_end"), cta = csv_column(csv, "cta");
    size_t lane = csv_column(csv, "lane"), column = csv_column(csv, "col_begin");
    size_t elements = 0;
    while (csv_next(csv)) {
        struct tmem_mma_shape shape = mma_shape(csv);
        for (int64_t n = csv_int(csv, begin); n < csv_int(csv, end); n++, elements++) {
            struct tmem_d_run run = run_of(&shape, (uint32_t)csv_int(csv, m), (uint32_t)n);
            cr_assert(run.cta == csv_int(csv, cta) && run.lane == csv_int(csv, lane));
            cr_assert_eq(run.column + n - run.first_n,
                         csv_int(csv, column) + n - csv_int(csv, begin));
        }
    }
    report_rows("umma_d_layout.csv", csv_rows(csv));
    printf("  (%zu elements)\n", elements);
    cr_assert_eq(csv_rows(csv), 5888);
    csv_close(csv);
}

Test(tmem_access, oracle_a_in_tmem) {
    struct csv *csv = csv_open("umma_a_tmem.csv.gz");
    size_t group = csv_column(csv, "cta_group"), bits = csv_column(csv, "elem_bits");
    size_t big_m = csv_column(csv, "M"), m = csv_column(csv, "m"), k = csv_column(csv, "k");
    size_t copy = csv_column(csv, "copy"), cta = csv_column(csv, "cta");
    size_t lane = csv_column(csv, "lane"), column = csv_column(csv, "col");
    size_t bit = csv_column(csv, "bit");
    while (csv_next(csv)) {
        struct tmem_mma_shape shape = {.m = (uint32_t)csv_int(csv, big_m),
                                       .n = 64,
                                       .cta_group = (unsigned)csv_int(csv, group)};
        cr_assert(tmem_a_is_known(&shape));
        struct tmem_a_place place =
            tmem_a_element(&shape, (uint32_t)csv_int(csv, bits), (uint32_t)csv_int(csv, m),
                           (uint32_t)csv_int(csv, k), (uint32_t)csv_int(csv, copy));
        cr_assert(place.cta == csv_int(csv, cta) && place.lane == csv_int(csv, lane) &&
                      place.column == csv_int(csv, column) && place.bit == csv_int(csv, bit),
                  "row %zu", csv_rows(csv));
    }
    report_rows("umma_a_tmem.csv.gz", csv_rows(csv));
    cr_assert_eq(csv_rows(csv), 39424);
    csv_close(csv);
}

static const struct {
    const char *name;
    enum tmem_cp_shape shape;
} copies[TMEM_CP_SHAPE_COUNT] = {
    {"128x256b", TMEM_CP_128X256B},
    {"128x128b", TMEM_CP_128X128B},
    {"4x256b", TMEM_CP_4X256B},
    {"64x128b.warpx2::02_13", TMEM_CP_64X128B_02_13},
    {"64x128b.warpx2::01_23", TMEM_CP_64X128B_01_23},
    {"32x128b.warpx4", TMEM_CP_32X128B_WARPX4},
};

/* Each row is one (source word, lane); the map names the same set, no more. The 32 rows of 4x256b
 * are compared too, and say no more than that we model it as CuTe does. */
Test(tmem_access, oracle_cp) {
    struct csv *csv = csv_open("tcgen05_cp.csv");
    size_t name = csv_column(csv, "shape"), row = csv_column(csv, "src_row");
    size_t word = csv_column(csv, "src_word"), lane = csv_column(csv, "lane");
    size_t column = csv_column(csv, "col"), of_shape[TMEM_CP_SHAPE_COUNT] = {0};
    while (csv_next(csv)) {
        size_t i = 0;
        while (i < TMEM_CP_SHAPE_COUNT && strcmp(copies[i].name, csv_text(csv, name)) != 0)
            i++;
        cr_assert_lt(i, TMEM_CP_SHAPE_COUNT);
        uint32_t lanes[4], hits = 0;
        uint32_t count = tmem_cp_lanes(copies[i].shape, (uint32_t)csv_int(csv, row), lanes);
        for (uint32_t j = 0; j < count; j++)
            hits += lanes[j] == csv_int(csv, lane);
        cr_assert_eq(hits, 1, "row %zu", csv_rows(csv));
        cr_assert_eq(csv_int(csv, word), csv_int(csv, column));
        cr_assert_lt(csv_int(csv, word), tmem_cp_words(copies[i].shape));
        of_shape[i]++;
    }
    report_rows("tcgen05_cp.csv", csv_rows(csv));
    printf("  (32 of them 4x256b, which the oracle itself does not vouch for)\n");
    cr_assert_eq(csv_rows(csv), 3104);
    cr_assert_eq(of_shape[TMEM_CP_4X256B], 32);
    for (size_t i = 0; i < TMEM_CP_SHAPE_COUNT; i++) {
        uint32_t lanes[4], cells = 0;
        for (uint32_t r = 0; r < tmem_cp_rows(copies[i].shape); r++)
            cells += tmem_cp_lanes(copies[i].shape, r, lanes) * tmem_cp_words(copies[i].shape);
        cr_assert_eq(of_shape[i], cells, "%s", copies[i].name);
    }
    csv_close(csv);
}

/* All legal shapes: every element of D has its own cell, and D takes the columns it says. */
Test(tmem_access, d_is_bijective) {
    static const struct tmem_mma_shape shapes[] = {
        {64, 0, 1, false, false},  {128, 0, 1, false, false}, {128, 0, 2, false, false},
        {256, 0, 2, false, false}, {32, 0, 1, true, false},   {64, 0, 1, true, false},
        {128, 0, 1, true, false},
    };
    static unsigned char seen[2][128][256];
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint32_t n = 16; n <= 256; n += 16) {
            struct tmem_mma_shape shape = shapes[i];
            enum tmem_d_layout layout;
            struct tmem_d_run runs[4];
            shape.n = n;
            cr_assert(tmem_d_layout(&shape, &layout));
            memset(seen, 0, sizeof seen);
            for (uint32_t m = 0; m < shape.m; m++) {
                uint32_t count = tmem_d_row(&shape, layout, m, runs), columns = 0;
                for (uint32_t r = 0; r < count; r++) {
                    cr_assert_eq(runs[r].first_n, columns);
                    for (uint32_t c = 0; c < runs[r].count; c++, columns++) {
                        cr_assert_lt(runs[r].column + c, tmem_d_columns(&shape, layout));
                        cr_assert_eq(seen[runs[r].cta][runs[r].lane][runs[r].column + c]++, 0);
                    }
                }
                cr_assert_eq(columns, n);
            }
        }
}

Test(tmem_access, unknown_places_are_not_given) {
    struct tmem_mma_shape sparse_pair = {128, 64, 2, false, true}, ws64 = {64, 64, 1, true, false};
    struct tmem_mma_shape ws32 = {32, 64, 1, true, false}, ws128 = {128, 64, 1, true, false};
    enum tmem_d_layout layout;
    cr_assert(!tmem_d_layout(&sparse_pair, &layout));
    cr_assert(!tmem_a_is_known(&sparse_pair));
    cr_assert(!tmem_a_is_known(&ws64) && !tmem_a_is_known(&ws32));
    cr_assert(tmem_a_is_known(&ws128));
    cr_assert_eq(tmem_d_check_lane(TMEM_D_F, tmem_address(16, 0)), TMEM_OK);
    cr_assert_eq(tmem_d_check_lane(TMEM_D_D, tmem_address(16, 0)), TMEM_LANE_BASE);
    cr_assert_eq(tmem_d_check_lane(TMEM_D_D, tmem_address(128, 0)), TMEM_LANE_RANGE);
}
