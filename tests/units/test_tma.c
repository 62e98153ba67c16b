#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "support.h"
#include "tma.h"
#include "tma_rows.h"

/* Loads: oracle tma/README.md. */
enum {
    LOAD_SHARED_BYTES = 64 << 10,
    LOAD_SHARED_END = TMA_LOAD_TILE + (16 << 10), /* of the launch's own memory */
};
static const uint64_t buffer_address = UINT64_C(0x7f0000000000);

struct load_counts {
    size_t plain, interleaved, faulted, other_byte_count, read_early;
};

/* Runs a load into `shared`; returns the end of what it touched. */
static uint32_t run_load(struct tma_walk *walk, const uint8_t *buffer, uint8_t *shared) {
    struct tma_step step;
    uint32_t end = 0, rows = 0;
    while (tma_next(walk, &step)) {
        uint64_t offset = step.global_address - buffer_address;
        cr_assert(step.valid_bytes == 0 || (offset < TMA_LOAD_BUFFER_BYTES &&
                                            step.valid_bytes <= TMA_LOAD_BUFFER_BYTES - offset));
        end = step.shared_end > end ? step.shared_end : end;
        if (step.shared_end <= LOAD_SHARED_BYTES)
            tma_step_load(walk, &step, shared, step.valid_bytes > 0 ? buffer + offset : NULL);
        rows++;
    }
    cr_assert_eq(rows, walk->row_count);
    return end;
}

struct load_columns {
    struct tma_columns map;
    size_t dst_offset, expect_bytes, sync, completed, smem_hex;
};

static void check_load_row(const struct csv *csv, const struct load_columns *c,
                           const uint8_t *buffer, uint8_t *shared, struct load_counts *counts) {
    struct tmap map = tma_row_map(csv, &c->map, buffer_address);
    struct tmap_finding findings[TMAP_FINDINGS_MAX];
    struct tma_request request = {.kind = TMA_LOAD,
                                  .rank = map.rank,
                                  .shared_address =
                                      TMA_LOAD_TILE + (uint32_t)csv_int(csv, c->dst_offset)};
    struct tma_walk walk;
    tma_row_coords(csv, &c->map, request.coords);
    cr_assert_eq(tmap_check(&map, TMAP_SM_90, findings), 0);
    cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK, "row %zu", csv_rows(csv));
    memset(shared, 0xee, LOAD_SHARED_BYTES);
    uint32_t end = run_load(&walk, buffer, shared);
    if (csv_int(csv, c->sync) == 700) { /* observation 50 */
        cr_assert(end > LOAD_SHARED_END, "row %zu ends at %x", csv_rows(csv), end);
        counts->faulted++;
        return;
    }
    cr_assert(end <= LOAD_SHARED_END, "row %zu ends at %x", csv_rows(csv), end);
    size_t missing, different = tma_compare_dump(shared, request.shared_address,
                                                 csv_text(csv, c->smem_hex), &missing);
    bool same_count = walk.box_bytes == (uint64_t)csv_int(csv, c->expect_bytes);
    if (same_count)
        cr_assert_eq(csv_int(csv, c->completed), 1);
    /* Where the row expected too few bytes the phase could end with the copy still under way. */
    cr_assert(different == 0 ||
                  (!same_count && different == missing && csv_int(csv, c->completed) == 1),
              "row %zu: %zu bytes differ", csv_rows(csv), different);
    counts->read_early += different != 0;
    counts->other_byte_count += !same_count;
    counts->plain += map.interleave == TMAP_INTERLEAVE_NONE;
    counts->interleaved += map.interleave != TMAP_INTERLEAVE_NONE;
}

Test(tma, all_silicon_loads) {
    struct csv *csv = csv_open("tma/hw-H200-load.csv.gz");
    struct load_columns c = {.dst_offset = csv_column(csv, "dst_offset"),
                             .expect_bytes = csv_column(csv, "expect_bytes"),
                             .sync = csv_column(csv, "sync"),
                             .completed = csv_column(csv, "completed"),
                             .smem_hex = csv_column(csv, "smem_hex")};
    struct load_counts counts = {0};
    uint8_t *buffer = tma_load_buffer(), *shared = malloc(LOAD_SHARED_BYTES);
    tma_columns_find(csv, TMA_TABLE_LOAD, &c.map);
    while (csv_next(csv))
        check_load_row(csv, &c, buffer, shared, &counts);
    cr_assert_eq(csv_rows(csv), 3000);
    cr_assert_eq(counts.plain, 2712);
    cr_assert_eq(counts.interleaved, 283);
    cr_assert_eq(counts.faulted, 5);
    cr_assert_eq(counts.read_early, 1);
    report_rows("tma/hw-H200-load.csv.gz without interleave", counts.plain);
    report_rows("tma/hw-H200-load.csv.gz with interleave", counts.interleaved);
    report_rows("tma/hw-H200-load.csv.gz that fault", counts.faulted);
    report_rows("tma/hw-H200-load.csv.gz whose expect_bytes were not the box (data only)",
                counts.other_byte_count);
    csv_close(csv);
    free(buffer);
    free(shared);
}

struct store_memory {
    uint8_t shared[TMA_STORE_SHARED_FIRST + TMA_STORE_SHARED_BYTES];
    uint8_t global[TMA_STORE_BYTES];
    uint8_t want[TMA_STORE_BYTES];
};

static void run_store(struct tma_walk *walk, struct store_memory *m) {
    struct tma_step step;
    while (tma_next(walk, &step)) {
        if (step.valid_bytes == 0)
            continue;
        uint64_t offset = step.global_address - buffer_address;
        cr_assert(offset + step.valid_bytes <= sizeof m->global);
        cr_assert(step.shared_end <= sizeof m->shared);
        if (walk->request.kind == TMA_STORE)
            tma_step_store(walk, &step, m->shared, m->global + offset);
        else
            tma_step_reduce(walk, &step, m->shared, m->global + offset);
    }
}

Test(tma, all_silicon_stores_and_reductions) {
    struct csv *csv = csv_open("tma/hw-H200-store.csv.gz");
    struct tma_columns columns;
    tma_columns_find(csv, TMA_TABLE_STORE, &columns);
    size_t row_case = csv_column(csv, "case"), op = csv_column(csv, "op");
    size_t src = csv_column(csv, "src_offset"), changed = csv_column(csv, "changed");
    size_t stores = 0, reductions = 0;
    struct store_memory *m = malloc(sizeof *m);
    while (csv_next(csv)) {
        struct tmap map = tma_row_map(csv, &columns, buffer_address);
        struct tma_walk walk;
        struct tma_request request = {.rank = map.rank,
                                      .shared_address =
                                          TMA_STORE_SHARED_FIRST + (uint32_t)csv_int(csv, src)};
        bool reduces = tma_row_reduces(csv_text(csv, op), &request.reduce_op);
        request.kind = reduces ? TMA_REDUCE : TMA_STORE;
        tma_row_coords(csv, &columns, request.coords);
        tma_store_contents((uint32_t)csv_int(csv, row_case), map.type,
                           m->shared + TMA_STORE_SHARED_FIRST, m->global);
        memcpy(m->want, m->global, sizeof m->want);
        cr_assert_eq(tma_begin(&walk, &map, &request), TMA_OK, "row %zu", csv_rows(csv));
        run_store(&walk, m);
        tma_apply_runs(csv_text(csv, changed), m->want);
        cr_assert_eq(memcmp(m->global, m->want, sizeof m->want), 0, "row %zu", csv_rows(csv));
        stores += !reduces;
        reductions += reduces;
    }
    cr_assert_eq(csv_rows(csv), 2000);
    cr_assert_eq(stores, 1540);
    cr_assert_eq(reductions, 460);
    report_rows("tma/hw-H200-store.csv.gz stores", stores);
    report_rows("tma/hw-H200-store.csv.gz reductions", reductions);
    csv_close(csv);
    free(m);
}

static struct tmap square_map(void) {
    return (struct tmap){.global_address = buffer_address,
                         .type = TMAP_BFLOAT16,
                         .rank = 2,
                         .dim_elems = {256, 64},
                         .stride_bytes = {0, 512},
                         .box_elems = {64, 8},
                         .element_stride = {1, 1},
                         .swizzle = SWIZZLE_128B};
}

Test(tma, faults_as_on_an_h200) {
    struct tmap map = square_map();
    struct tma_walk walk;
    struct tma_request r = {.kind = TMA_LOAD, .rank = 2, .shared_address = 0x400};
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK);
    cr_assert_eq(walk.box_bytes, 1024);
    static const int32_t misaligned[] = {250, 4, 1, 300}; /* observation 6 */
    for (size_t i = 0; i < 4; i++) {
        r.coords[0] = misaligned[i];
        cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_INNER_COORDINATE);
    }
    r.coords[0] = -8;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK, "observation 5");
    r.kind = TMA_STORE;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_NEGATIVE_COORDINATE, "observation 54");
    r.coords[0] = 0;
    r.coords[1] = -1;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_NEGATIVE_COORDINATE);
    r.coords[1] = 0;
    r.shared_address = 0x440; /* observation 7 */
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_SHARED_ALIGNMENT);
    r.kind = TMA_PREFETCH;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK, "a prefetch has no shared address");
    r.rank = 3;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_RANK);
    cr_assert(!tma_is_fault(TMA_UNKNOWN_FLIP_8B) && !tma_is_fault(TMA_OK));
    cr_assert(tma_is_fault(TMA_FAULT_REDUCE_TYPE));
    for (int i = 0; i < TMA_OUTCOMES; i++)
        cr_assert_not_null(tma_outcome_text((enum tma_outcome)i));
}

/* H200 observation 56: the pairs that run, a string per operation in the order of enum tmap_type.
 */
Test(tma, reduction_types_as_on_an_h200) {
    static const char *const runs[] = {"..XXX.XXXXXXX...", "..XXXXX..X......", "..XXXXX..X......",
                                       "..X.............", "..X.............", "..XXX...........",
                                       "..XXX...........", "..XXX..........."};
    for (int op = TMA_REDUCE_ADD; op <= TMA_REDUCE_XOR; op++) {
        for (int type = 0; type < TMAP_TYPES; type++)
            cr_assert_eq(tma_reduce_runs((enum tma_reduce_op)op, (enum tmap_type)type),
                         runs[op][type] == 'X', "op %d type %d", op, type);
    }
    struct tmap map = square_map();
    struct tma_walk walk;
    struct tma_request r = {
        .kind = TMA_REDUCE, .reduce_op = TMA_REDUCE_AND, .rank = 2, .shared_address = 0x400};
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_REDUCE_TYPE);
    map.type = TMAP_TFLOAT32;
    map.box_elems[0] = 32;
    r.reduce_op = TMA_REDUCE_ADD;
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK);
}

static void check_add(enum tmap_type type, uint32_t old, uint32_t source, uint32_t want) {
    tma_reduce(TMA_REDUCE_ADD, type, (uint8_t *)&old, (const uint8_t *)&source, 4);
    cr_assert_eq(old, want, "type %d: %08x, not %08x", type, old, want);
}

/* Words that an H200 gave: tf32 sums are f32 sums, the FTZ types flush operands and results. */
Test(tma, adds_of_the_tf32_and_ftz_types) {
    check_add(TMAP_TFLOAT32, 0x007fffff, 0x00800000, 0x00ffffff);
    check_add(TMAP_TFLOAT32, 0x00000001, 0x8000284e, 0x8000284d);
    check_add(TMAP_TFLOAT32, 0x0608f97b, 0x80308cae, 0x0608f369);
    check_add(TMAP_FLOAT32_FTZ, 0x0bad7470, 0x00000001, 0x0bad7470);
    check_add(TMAP_FLOAT32_FTZ, 0x807fffff, 0x807fffff, 0x80000000);
    check_add(TMAP_FLOAT32_FTZ, 0x8a7061c4, 0x0a7061c5, 0x00000000);
    check_add(TMAP_TFLOAT32_FTZ, 0x8206fb59, 0x0206fb58, 0x80000000);
    check_add(TMAP_TFLOAT32_FTZ, 0x8005f7d4, 0x80000001, 0x80000000);
    check_add(TMAP_TFLOAT32_FTZ, 0x7fc12345, 0x3f800000, 0x7fffffff);
}

/* Of two NaN an f64 add keeps the source's, as it is. */
Test(tma, f64_adds_of_two_nan) {
    static const uint64_t rows[][2] = {
        {UINT64_C(0x7ffa1fc8a113b07b), UINT64_C(0x7ffbb5d176fa45cb)},
        {UINT64_C(0xfffbffe9cdbf8fb4), UINT64_C(0x7ff73803e3ae6d1f)},
        {UINT64_C(0x7ff6d60fa4b4ae6d), UINT64_C(0xfffc4fc64700c3ae)},
        {UINT64_C(0x7ff317af1e888d11), UINT64_C(0x7ff29241f4ac8d3d)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t word = rows[i][0];
        tma_reduce(TMA_REDUCE_ADD, TMAP_FLOAT64, (uint8_t *)&word, (const uint8_t *)&rows[i][1], 8);
        cr_assert_eq(word, rows[i][1]);
    }
}

/* Reductions keep what other instructions do not: f32 subnormals, f64 signalling NaN. */
Test(tma, reductions_keep_subnormals_and_nan) {
    static const uint32_t old32[4] = {0x00683c55, 0x80000001, 0x00800001, 0x00000000};
    static const uint32_t source32[4] = {0x004f153a, 0x80000001, 0x80800000, 0x80000001};
    static const uint32_t want32[4] = {0x00b7518f, 0x80000002, 0x00000001, 0x80000001};
    static const uint64_t old64[2] = {UINT64_C(0x7ff22d0200000000), UINT64_C(0x5f29b3b000000000)};
    static const uint64_t source64[2] = {UINT64_C(0x01f0701a00000000),
                                         UINT64_C(0xfff6bbec00000000)};
    uint32_t words[4];
    uint64_t longs[2];
    memcpy(words, old32, sizeof words);
    tma_reduce(TMA_REDUCE_ADD, TMAP_FLOAT32, (uint8_t *)words, (const uint8_t *)source32,
               sizeof words);
    cr_assert_eq(memcmp(words, want32, sizeof words), 0);
    memcpy(longs, old64, sizeof longs);
    tma_reduce(TMA_REDUCE_ADD, TMAP_FLOAT64, (uint8_t *)longs, (const uint8_t *)source64,
               sizeof longs);
    cr_assert_eq(longs[0], old64[0]);
    cr_assert_eq(longs[1], source64[1]);
}

/* H200 observation 29: tf32 rounding of a load, with NaN and Inf; ties go to even. */
Test(tma, loads_round_to_tf32) {
    static const uint32_t in[8] = {0x3f801000, 0xff800001, 0xff800000, 0x00000fff,
                                   0x3f803000, 0x3f801001, 0x3f802fff, 0};
    static const uint32_t want[8] = {0x3f800000, 0x7fffe000, 0xff800000, 0,
                                     0x3f804000, 0x3f802000, 0x3f802000, 0};
    struct tmap map = {.global_address = buffer_address,
                       .type = TMAP_TFLOAT32,
                       .rank = 1,
                       .dim_elems = {8},
                       .box_elems = {8},
                       .element_stride = {1}};
    struct tma_request r = {.kind = TMA_LOAD, .rank = 1};
    struct tma_walk walk;
    struct tma_step step;
    uint32_t out[8];
    cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK);
    cr_assert(tma_next(&walk, &step));
    tma_step_load(&walk, &step, (uint8_t *)out, (const uint8_t *)in);
    cr_assert_eq(memcmp(out, want, sizeof out), 0);
    cr_assert(!tma_next(&walk, &step));
}

/* Padded packed types: 8 or 12 bytes of every 16 in shared memory; the rest is not written. */
Test(tma, padded_types_leave_gaps) {
    uint8_t in[96], shared[128];
    for (uint32_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)i;
    for (uint32_t type = TMAP_16U4_ALIGN16B; type <= TMAP_16U6_ALIGN16B; type++) {
        uint32_t payload = type == TMAP_16U4_ALIGN16B ? 8 : 12;
        struct tmap map = {.global_address = buffer_address,
                           .type = type,
                           .rank = 1,
                           .dim_elems = {128},
                           .box_elems = {128},
                           .element_stride = {1},
                           .swizzle = SWIZZLE_128B};
        struct tma_request r = {.kind = TMA_LOAD, .rank = 1};
        struct tma_walk walk;
        struct tma_step step;
        cr_assert_eq(tma_begin(&walk, &map, &r), TMA_OK);
        cr_assert_eq(walk.box_bytes, 8 * payload);
        cr_assert(tma_next(&walk, &step));
        cr_assert_eq(step.valid_bytes, 8 * payload);
        memset(shared, 0xee, sizeof shared);
        tma_step_load(&walk, &step, shared, in);
        for (uint32_t i = 0; i < sizeof shared; i++)
            cr_assert_eq(shared[i], i % 16 < payload ? i / 16 * payload + i % 16 : 0xee);
        r.coords[0] = 64;
        cr_assert_eq(tma_begin(&walk, &map, &r), TMA_FAULT_INNER_COORDINATE);
        r.coords[0] = 0;
        r.kind = TMA_STORE;
        cr_assert_eq(tma_begin(&walk, &map, &r), TMA_UNKNOWN_PACKED_STORE);
    }
}
