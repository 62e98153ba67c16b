/* Warp collectives through PTX: every row of tests/oracle/warp/hw-H200-collectives.csv.gz. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"
#include "support.h"

enum { MAX_ROWS = 256, LANES = 32 };

static const char *const frame =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 masks, .param .u64 as, .param .u64 bs, .param .u64 cs,\n"
    "                  .param .u64 ds, .param .u64 ps) {\n"
    "  .reg .pred %%in, %%q, %%p;\n"
    "  .reg .b32 %%lane, %%row, %%mask, %%bit, %%a, %%b, %%c, %%d, %%pw, %%at;\n"
    "  .reg .b64 %%base, %%off;\n"
    "  mov.u32 %%lane, %%tid.x;\n  mov.u32 %%row, %%ctaid.x;\n"
    "  ld.param.u64 %%base, [masks];\n  mul.wide.u32 %%off, %%row, 4;\n"
    "  add.u64 %%base, %%base, %%off;\n  ld.global.u32 %%mask, [%%base];\n"
    "  shr.u32 %%bit, %%mask, %%lane;\n  and.b32 %%bit, %%bit, 1;\n"
    "  setp.eq.u32 %%in, %%bit, 0;\n  @%%in bra DONE;\n"
    "  mad.lo.u32 %%at, %%row, 32, %%lane;\n  mul.wide.u32 %%off, %%at, 4;\n"
    "  ld.param.u64 %%base, [as];\n  add.u64 %%base, %%base, %%off;\n"
    "  ld.global.u32 %%a, [%%base];\n"
    "  ld.param.u64 %%base, [bs];\n  add.u64 %%base, %%base, %%off;\n"
    "  ld.global.u32 %%b, [%%base];\n"
    "  ld.param.u64 %%base, [cs];\n  add.u64 %%base, %%base, %%off;\n"
    "  ld.global.u32 %%c, [%%base];\n"
    "  mov.u32 %%d, 0;\n  setp.ne.u32 %%p, 0, 0;\n  setp.ne.u32 %%q, %%a, 0;\n"
    "  %s\n"
    "  selp.u32 %%pw, 1, 0, %%p;\n"
    "  ld.param.u64 %%base, [ds];\n  add.u64 %%base, %%base, %%off;\n"
    "  st.global.u32 [%%base], %%d;\n"
    "  ld.param.u64 %%base, [ps];\n  add.u64 %%base, %%base, %%off;\n"
    "  st.global.u32 [%%base], %%pw;\n"
    "DONE:\n  ret;\n}\n";

static const struct {
    const char *form, *text;
} forms[] = {
    {"shfl.sync.up.b32", "shfl.sync.up.b32 %d|%p, %a, %b, %c, %mask;"},
    {"shfl.sync.down.b32", "shfl.sync.down.b32 %d|%p, %a, %b, %c, %mask;"},
    {"shfl.sync.bfly.b32", "shfl.sync.bfly.b32 %d|%p, %a, %b, %c, %mask;"},
    {"shfl.sync.idx.b32", "shfl.sync.idx.b32 %d|%p, %a, %b, %c, %mask;"},
    {"vote.sync.all.pred", "vote.sync.all.pred %p, %q, %mask;"},
    {"vote.sync.any.pred", "vote.sync.any.pred %p, %q, %mask;"},
    {"vote.sync.uni.pred", "vote.sync.uni.pred %p, %q, %mask;"},
    {"vote.sync.ballot.b32", "vote.sync.ballot.b32 %d, %q, %mask;"},
    {"match.any.sync.b32", "match.any.sync.b32 %d, %a, %mask;"},
    {"match.all.sync.b32", "match.all.sync.b32 %d|%p, %a, %mask;"},
    {"redux.sync.add.s32", "redux.sync.add.s32 %d, %a, %mask;"},
    {"redux.sync.add.u32", "redux.sync.add.u32 %d, %a, %mask;"},
    {"redux.sync.min.s32", "redux.sync.min.s32 %d, %a, %mask;"},
    {"redux.sync.min.u32", "redux.sync.min.u32 %d, %a, %mask;"},
    {"redux.sync.max.s32", "redux.sync.max.s32 %d, %a, %mask;"},
    {"redux.sync.max.u32", "redux.sync.max.u32 %d, %a, %mask;"},
    {"redux.sync.and.b32", "redux.sync.and.b32 %d, %a, %mask;"},
    {"redux.sync.or.b32", "redux.sync.or.b32 %d, %a, %mask;"},
    {"redux.sync.xor.b32", "redux.sync.xor.b32 %d, %a, %mask;"},
    {"elect.sync", "elect.sync %d|%p, %mask;"},
    {"activemask.b32", "activemask.b32 %d;"},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

struct rows {
    size_t count;
    uint32_t mask[MAX_ROWS], a[MAX_ROWS][LANES], b[MAX_ROWS][LANES], c[MAX_ROWS][LANES];
    uint32_t d[MAX_ROWS][LANES];
    char p[MAX_ROWS][LANES + 1];
};

/* "1f - 3": a word per lane, '-' or nothing where there is none. */
static void read_lanes(const char *text, uint32_t words[LANES]) {
    for (unsigned lane = 0; lane < LANES; lane++) {
        char *end = (char *)text;
        words[lane] = 0;
        if (*text == '-')
            end++;
        else if (*text != '\0')
            words[lane] = (uint32_t)strtoul(text, &end, 16);
        text = *end == ' ' ? end + 1 : end;
    }
}

/* Whether the lane's answer is defined: a shuffle may read a lane that does not take part. */
static bool defined(const char *form, const struct rows *rows, size_t row, unsigned lane) {
    if (strncmp(form, "shfl", 4) != 0)
        return true;
    uint32_t b = rows->b[row][lane] & 31, c = rows->c[row][lane], segment = c >> 8 & 31;
    uint32_t first = lane & segment, last = first | (c & 31 & ~segment);
    int32_t from;
    bool ok;
    if (strstr(form, "up")) {
        from = (int32_t)lane - (int32_t)b;
        ok = from >= (int32_t)last;
    } else {
        from = strstr(form, "down")   ? (int32_t)(lane + b)
               : strstr(form, "bfly") ? (int32_t)(lane ^ b)
                                      : (int32_t)(first | (b & ~segment));
        ok = from <= (int32_t)last;
    }
    return !ok || (rows->mask[row] >> from & 1);
}

static size_t check_form(size_t index, const struct rows *rows) {
    char text[4096];
    snprintf(text, sizeof text, frame, forms[index].text);
    struct sim_run run = sim_run_open(90, text);
    size_t bytes = rows->count * LANES * 4, compared = 0;
    uint64_t params[6] = {
        sim_run_buffer(&run, rows->mask, rows->count * 4),
        sim_run_buffer(&run, rows->a, bytes),
        sim_run_buffer(&run, rows->b, bytes),
        sim_run_buffer(&run, rows->c, bytes),
        sim_run_buffer(&run, NULL, bytes),
        sim_run_buffer(&run, NULL, bytes),
    };
    sim_run_ok(&run, &(struct sim_run_launch){.grid = (uint32_t)rows->count,
                                              .block = LANES,
                                              .params = params,
                                              .param_count = 6});
    const uint32_t(*d)[LANES] = sim_run_host(&run, params[4], bytes);
    const uint32_t(*p)[LANES] = sim_run_host(&run, params[5], bytes);
    for (size_t row = 0; row < rows->count; row++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            if (!(rows->mask[row] >> lane & 1) || !defined(forms[index].form, rows, row, lane))
                continue;
            bool has_p = rows->p[row][lane] == '0' || rows->p[row][lane] == '1';
            cr_assert_eq(d[row][lane], rows->d[row][lane], "%s row %zu lane %u: %08x, silicon %08x",
                         forms[index].form, row, lane, d[row][lane], rows->d[row][lane]);
            cr_assert(!has_p || p[row][lane] == (uint32_t)(rows->p[row][lane] - '0'),
                      "%s row %zu lane %u: predicate %u", forms[index].form, row, lane,
                      p[row][lane]);
            compared++;
        }
    sim_run_close(&run);
    cr_assert_gt(compared, 0);
    return rows->count;
}

Test(op_warp, every_row_of_an_h200) {
    static struct rows all[FORM_COUNT];
    struct csv *csv = csv_open("warp/hw-H200-collectives.csv.gz");
    while (csv_next(csv)) {
        size_t i = 0;
        while (i < FORM_COUNT && strcmp(forms[i].form, csv_text(csv, 0)) != 0)
            i++;
        cr_assert_lt(i, FORM_COUNT, "no program for %s", csv_text(csv, 0));
        struct rows *rows = &all[i];
        size_t row = rows->count++;
        cr_assert_lt(row, MAX_ROWS);
        rows->mask[row] = (uint32_t)csv_hex(csv, 1);
        read_lanes(csv_text(csv, 2), rows->a[row]);
        read_lanes(csv_text(csv, 3), rows->b[row]);
        read_lanes(csv_text(csv, 4), rows->c[row]);
        read_lanes(csv_text(csv, 5), rows->d[row]);
        snprintf(rows->p[row], sizeof rows->p[row], "%s", csv_text(csv, 6));
    }
    size_t checked = 0;
    for (size_t i = 0; i < FORM_COUNT; i++)
        checked += check_form(i, &all[i]);
    cr_assert_eq(checked, csv_rows(csv));
    report_rows("warp/hw-H200-collectives.csv.gz", checked);
    csv_close(csv);
}

Test(op_warp, a_lane_outside_its_own_mask_is_reported) {
    char text[4096];
    snprintf(text, sizeof text, frame,
             "mov.u32 %mask, 2; shfl.sync.idx.b32 %d|%p, %a, 0, 31, %mask;");
    struct sim_run run = sim_run_open(90, text);
    uint32_t all = 1;
    uint64_t mask = sim_run_buffer(&run, &all, 4), words = sim_run_buffer(&run, NULL, 128);
    uint64_t params[6] = {mask, words, words, words, words, words};
    enum status status = sim_run_launch(
        &run,
        &(struct sim_run_launch){.grid = 1, .block = LANES, .params = params, .param_count = 6});
    cr_assert_eq(status, STATUS_INVALID);
    cr_assert_eq(run.fault.kind, FAULT_UNSUPPORTED);
    cr_assert(strstr(run.fault.reason, "membermask 0x00000002"), "%s", run.fault.reason);
    sim_run_close(&run);
}
