/* Probes on the simulator only, as users see them: the kernel is loaded as it is, what they record
 * is what a rewritten kernel would write down, and more. Runs the built siltwin. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_events.h"
#include "probed_kernel.h"
#include "ptx.h"
#include "record.h"
#include "timeline.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(probe_sim, .init = make_folder, .fini = remove_folder);

static int siltwin(const char *arguments) {
    return workdir_siltwin(&dir, arguments);
}

#define CHECK(status, wanted, text, where)                                                         \
    cr_assert_eq(status, wanted, "status not %d\n%s%s", wanted, dir.output, dir.errors);           \
    cr_assert(strstr(where, text), "no \"%s\" in\n%s%s", text, dir.output, dir.errors)

static int run_probes(const char *probes, const char *options) {
    char trace[2048], arguments[256];
    workdir_write(&dir, "k.ptx", probed_kernel);
    snprintf(trace, sizeof trace,
             "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [128]  iota\n%s\n"
             "launch m.k grid 2 block 64 args &X\n",
             probes);
    workdir_write(&dir, "t.trace", trace);
    snprintf(arguments, sizeof arguments, "run t.trace -o t.rec %s", options);
    return siltwin(arguments);
}

static char *events(const char *probes) {
    cr_assert_eq(run_probes(probes, "--quiet"), 0, "%s%s", dir.output, dir.errors);
    cr_assert_eq(siltwin("show t.rec --events"), 0);
    return strdup(dir.output);
}

/* Each probe with and without [sim]: the same lines. */
Test(probe_sim, records_what_a_rewritten_kernel_writes) {
    static const char *const probes[] = {
        "probe P event of st.global* add.* cvt.* and.* shl.* mul.*",
        "probe P event of setp.eq.u32 cta 1 warp 1 lane 3..9",
        "probe P event of bra call ret bar.sync",
        "probe P event of bra warp 0 lane 3 last 2",
        "probe P regs %x %at %t %odd %h at m:18 warp 1 lane 2",
        "probe P regs %n %s %h at LOOP warp 0 lane 3 cta 1 keep 2",
        "probe P regs %n at m:11 lane 3..3 warp 0 last 2",
        "probe P regs %s at m:13 when %n==2 warp 0",
        "probe P regs %s at m:13 when %n>=2 warp 1 lane 5..31",
        "probe P regs %s at m:11 skip 3 warp 0 keep 5",
        "probe P regs %t at m:14 when %odd==1 warp 0 cta 0..1",
        "probe P event of add.u32 at m:4 warp 0 lane 3",
        "probe P smem 16..48 at m:18 by warp 1",
        "probe P smem 4..124 at m:20 by warp 1 lane 3..6",
        "probe P global X[3..8] at m:20 lane 0",
        "probe P global X[64..128] at m:20 cta 1 warp 1",
        "probe P event of st.shared* bar.sync\nprobe Q regs %t %x at m:17\nprobe R event of bar.*",
    };
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        char sim[1024] = "", *to = sim;
        for (const char *from = probes[i]; *from; from++) {
            if (*from == '\n')
                to = stpcpy(to, " [sim]");
            *to++ = *from;
        }
        strcpy(to, " [sim]");
        char *plain = events(probes[i]);
        cr_assert_gt(strlen(plain), 0, "%s", probes[i]);
        char *seen = events(sim);
        cr_expect_str_eq(seen, plain, "%s:\n%s\n%s", probes[i], seen, plain);
        free(plain);
        free(seen);
    }
}

/* The whole of a B200 kernel and of an H200 kernel with copies, mbarriers and a tensor core. */
static void write_ladder(const char *device, const char *mark) {
    char trace[4096];
    const bool b200 = !strcmp(device, "b200");
    snprintf(trace, sizeof trace,
             "siltwin 1\ndevice %s\nmodule mm sm_100a=%s/device/sm_100a/matmul_3_swizzle.ptx "
             "sm_90a=%s/device/sm_90a/matmul_3_swizzle.ptx\n"
             "buffer A bf16 [64][192] uniform(-1,1) seed 1\n"
             "buffer B bf16 [64][192] uniform(-1,1) seed 2\n"
             "buffer C bf16 [64][64] poison\ntensormap TA of A box [64][64] swizzle 128B\n"
             "tensormap TB of B box [64][64] swizzle 128B\n"
             "probe E event of mbarrier.* cp.async.bulk* %s bar.sync%s\n"
             "probe S smem 0..4096 at NEXT_K_TILE by warp 0 when %%phase==1%s\n"
             "launch mm.matmul_3_n64 grid 1 block 128 smem 17*1024+24 args TA TB &C 64 192\n"
             "expect C == matmul_nt(A, B) within 1 ulp\n",
             device, SILTWIN_ROOT, SILTWIN_ROOT, b200 ? "tcgen05.*" : "wgmma.*", mark, mark);
    workdir_write(&dir, "t.trace", trace);
}

Test(probe_sim, agrees_with_rewritten_kernels_of_the_ladder) {
    static const char *const devices[] = {"b200", "h200"}, *const policies[] = {"eager", "lazy",
                                                                                "random:7"};
    for (int d = 0; d < 2; d++)
        for (int p = 0; p < 3; p++) {
            char arguments[256], *seen[2];
            for (int sim = 0; sim < 2; sim++) {
                write_ladder(devices[d], sim ? " [sim]" : "");
                snprintf(arguments, sizeof arguments,
                         "run t.trace -o t.rec --quiet --policy %s --allow-path " SILTWIN_ROOT,
                         policies[p]);
                cr_assert_eq(siltwin(arguments), 0, "%s", dir.errors);
                cr_assert_eq(siltwin("show t.rec --events"), 0);
                seen[sim] = strdup(dir.output);
            }
            cr_expect_str_eq(seen[0], seen[1], "%s %s", devices[d], policies[p]);
            cr_expect(strstr(seen[1], "mbarrier.try_wait") && strstr(seen[1], "=&param "));
            free(seen[0]);
            free(seen[1]);
        }
}

Test(probe_sim, the_kernel_is_loaded_as_it_is) {
    cr_assert_eq(run_probes("", "--json --stats"), 0);
    const char *count = strstr(dir.output, "\"warp_instructions\"");
    cr_assert(count, "%s", dir.output);
    char *plain = strndup(count, strcspn(count, "\n"));
    CHECK(
        run_probes("probe E event of * [sim]\nprobe R regs %c %t at m:20 [sim]", "--json --stats"),
        0, plain, dir.output);
    free(plain);
    cr_assert_eq(siltwin("show t.rec --file m"), 0);
    cr_assert_str_eq(dir.output, probed_kernel);
    cr_assert_eq(siltwin("run t.trace --emit-ptx"), 0);
    cr_assert_str_eq(dir.output, probed_kernel);
    /* Nothing is disturbed, so nothing of that is said. */
    CHECK(siltwin("run t.trace"), 0, "as expected", dir.output);
    cr_assert_not(strstr(dir.output, "without"), "%s", dir.output);
}

/* %c and %h are dead where they are asked for, so that others could have their storage. */
Test(probe_sim, registers_that_nothing_reads_any_more) {
    char *seen = events("probe R regs %h %c %t at m:20 warp 1 lane 6 [sim]");
    cr_expect(strstr(seen, "%h=0x50c0 (38) %c=0x"), "%s", seen);
    free(seen);
    seen = events("probe R regs %h at m:20 warp 0 lane 6 [sim]\n"
                  "probe S regs %h at m:20 warp 0 lane 6");
    cr_expect(strstr(seen, "S m:20 visit 0 mov.u32 %n, %clock: %h=0x4600 (6)\n"), "%s", seen);
    cr_expect(strstr(seen, "R m:20 visit 0 mov.u32 %n, %clock: %h=0x4600 (6)\n"), "%s", seen);
    free(seen);
}

/* A place has two columns then: in the text as written and, behind a probe's code, as loaded. */
Test(probe_sim, beside_rewritten_probes) {
    char *both = events("probe E event of add.* st.* bar.sync\nprobe F event of add.* st.* [sim]\n"
                        "probe R regs %x at m:13 [sim]\nprobe Q regs %x at m:13");
    unsigned e = 0, f = 0;
    for (const char *at = both; (at = strstr(at, " E m:")); at++)
        e++;
    for (const char *at = both; (at = strstr(at, " F m:")); at++)
        f++;
    cr_expect_eq(e, f + 64, "bar.sync of two warps: %u %u", e, f);
    cr_expect(strstr(both, "R m:13 visit 1 add.u32 %s, %s, %n: %x=&X+0"), "%s", both);
    free(both);
    CHECK(siltwin("show t.rec"), 0, "places of [sim] probes\n", dir.output);
}

Test(probe_sim, tensor_memory_anywhere_and_all_of_it) {
    workdir_write(
        &dir, "k.ptx",
        ".version 8.8\n.target sm_100a\n.address_size 64\n.shared .align 4 .b32 place;\n"
        ".visible .entry k(.param .u64 x) { .reg .b32 %t, %a, %d; .reg .pred %p;\n"
        "mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\n"
        "@%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512;\n"
        "bar.sync 0; ld.shared.b32 %a, [place]; add.u32 %d, %t, 500; add.u32 %t, %a, 31;\n"
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%d}; tcgen05.wait::st.sync.aligned;\n"
        "bar.sync 0;\n"
        "add.u32 %d, %d, 1;\n" /* 11: not aligned */
        "bar.sync 0; @%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 512;\nret; }\n");
    static const char trace[] = "siltwin 1\nmodule m k.ptx\nbuffer X u32 [4]\n"
                                "probe T tmem lanes 3..127 cols 30..31 at m:11 warp 2 [sim]\n"
                                "probe A tmem lanes 0..127 cols 0..511 at m:11 warp 1 [sim]\n"
                                "launch m.k grid 1 block 128 args &X\n";
    workdir_write(&dir, "t.trace", trace);
    cr_assert_eq(siltwin("run t.trace -o t.rec --quiet"), 0, "%s", dir.errors);
    cr_assert_eq(siltwin("show t.rec --events"), 0);
    /* Lane 5 of the warp takes lanes 8, 40, 72 and 104. */
    const char *line = strstr(dir.output, "cta 0 warp 2 lane 5 T m:11");
    cr_assert(line, "%s", dir.output);
    cr_expect(strstr(line, "tmem[lane 8][col 31]=0x1fc "), "%.500s", line);
    cr_expect(strstr(line, "tmem[lane 104][col 31]=0x25c\n"), "%.500s", line);
    line = strstr(dir.output, "cta 0 warp 1 lane 31 A m:11");
    cr_assert(line);
    cr_expect(strstr(line, "tmem[lane 127][col 31]=0x273 "));
    cr_expect(strstr(line, "tmem[lane 127][col 511]="));
}

Test(probe_sim, wrong_statements_are_errors_with_a_place) {
    static const struct {
        const char *probe, *text;
        int status;
    } rows[] = {
        {"probe E event of wgmma.* [sim]", "t.trace:5:1: error: no instruction fits probe E", 2},
        {"probe R regs %nothing at m:11 [sim]", "k has no register %nothing at line 11", 2},
        {"probe T tmem lanes 0..127 cols 0..511 at m:18 [sim]", "no Tensor Memory before", 2},
        {"probe S smem 0..262148 at m:18 [sim]", "whole groups of 4 bytes", 2},
        {"probe S smem 0..262144 at m:18 lane 0 [sim]", "more than 131072 bytes for one lane", 2},
        {"probe S smem 0..262144 at m:18", "more than 131072 bytes", 2},
        {"probe T tmem lanes 0..127 cols 0..128 at m:18", "more than 128 columns", 2},
        {"probe E event of * keep 1000000 [sim]", "MiB, more than 256 MiB", 2},
        {"probe S smem 0..262144 at m:18 [sim]", "no verdict: probe S found nothing to read", 4},
        {"probe E event of setp.eq.u32 keep 2 [sim]", "", 0},
        {"probe E event of sub.u32 keep 1 [sim]", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int status = run_probes(rows[i].probe, "");
        cr_expect_eq(status, rows[i].status, "%s: %d\n%s", rows[i].probe, status, dir.errors);
        cr_expect(strstr(dir.errors, rows[i].text), "%s:\n%s", rows[i].probe, dir.errors);
    }
}

Test(probe_sim, too_many_hits_are_no_verdict) {
    workdir_write(&dir, "loop.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".visible .entry k() { .reg .b32 %n; .reg .pred %p; mov.u32 %n, 65;\n"
                  "L: sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra L; ret; }\n");
    workdir_write(&dir, "l.trace",
                  "siltwin 1\ndevice h200\nmodule m loop.ptx\n"
                  "probe E event of sub.u32 [sim]\nlaunch m.k grid 1 block 2\n");
    CHECK(siltwin("run l.trace"), 4,
          "l.trace:4:1: error: no verdict: probe E overflowed in launch 1: more than 64 hits, 2 "
          "times",
          dir.errors);
}

/* A GPU that is the simulator in disguise. */
static const char disguise[] = "LD_LIBRARY_PATH=" SILTWIN_BUILD "/sim SILTWIN_DEVICE=h200";

Test(probe_sim, a_gpu_leaves_them_out) {
    cr_assert_eq(run_probes("probe E event of st.global*\nprobe F event of bar.sync [sim]\n"
                            "probe G regs %t at m:20 [sim]",
                            "--quiet"),
                 0, "%s", dir.errors);
    CHECK(workdir_siltwin_with(&dir, disguise, "run t.trace --on gpu -o gpu.rec --quiet"), 0,
          "skipped on a GPU, for they are [sim] probes: F G\n", dir.errors);
    cr_assert_eq(siltwin("show gpu.rec --events"), 0);
    cr_assert(strstr(dir.output, " E m:18") && !strstr(dir.output, " F ") &&
                  !strstr(dir.output, " G "),
              "%s", dir.output);
    /* 64 of bar.sync and 64 of regs; the others agree. */
    CHECK(siltwin("diff t.rec gpu.rec"), 0, "equal: 1 buffer, 64 events\n", dir.output);
    CHECK(0, 0, "not compared: 128 events of [sim] probes, which only one record has\n",
          dir.output);
    CHECK(siltwin("diff gpu.rec t.rec --json"), 0, "\"not_compared\": 128", dir.output);
    CHECK(workdir_siltwin_with(&dir, disguise, "diff t.trace"), 0,
          "not compared: 128 events of [sim] probes", dir.output);
    cr_assert(strstr(dir.errors, "skipped on a GPU"), "%s", dir.errors);
}

Test(probe_sim, two_records_of_it_are_compared) {
    static const char probes[] = "probe R regs %s at m:13 [sim]";
    cr_assert_eq(run_probes(probes, "--quiet"), 0);
    cr_assert_eq(siltwin("run t.trace -o other.rec --quiet"), 0);
    CHECK(siltwin("diff t.rec other.rec"), 0, "events", dir.output);
    cr_assert_not(strstr(dir.output, "not compared"));
    char *text = strdup(probed_kernel);
    memcpy(strstr(text, "add.u32 %s, %s, %n;"), "add.u32 %s, %n, %n;", 19);
    workdir_write(&dir, "k.ptx", text);
    free(text);
    siltwin("run t.trace -o other.rec --quiet");
    CHECK(siltwin("diff t.rec other.rec"), 1, "%s: 0x2 in t.rec, 0x4", dir.output);
}

Test(probe_sim, a_hang_shows_the_last_events) {
    workdir_write(&dir, "h.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".shared .align 8 .b64 bar;\n.visible .entry k() { .reg .pred %p;\n"
                  "mbarrier.init.shared.b64 [bar], 2; bar.sync 0;\n"
                  "L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n"
                  "@!%p bra L; ret; }\n");
    workdir_write(&dir, "h.trace",
                  "siltwin 1\ndevice h200\nmodule m h.ptx\n"
                  "probe E event of mbarrier.* [sim]\nlaunch m.k grid 1 block 32\n");
    CHECK(siltwin("run h.trace -o h.rec"), 1,
          "cta 0 warp 0 lanes 0xffffffff E m:7 visit 0 mbarrier.try_wait.parity.shared.b64 %p, "
          "[bar], 0 (still waiting): done=0x0",
          dir.errors);
}

static void load_timeline(const char *name, struct record *record, struct timeline *timeline) {
    struct strbuf error = {0};
    cr_assert_eq(record_load(workdir_file(&dir, name), record, &error), STATUS_OK, "%s",
                 strbuf_text(&error));
    cr_assert_eq(record->stream_count, 1);
    cr_assert(record->streams[0].time);
    cr_assert(
        timeline_read(record->streams[0].time, record->streams[0].time_size, 1 << 15, timeline));
}

Test(probe_sim, the_order_of_asynchronous_operations) {
    static const char *const policies[] = {"eager", "lazy"};
    for (int p = 0; p < 2; p++) {
        char arguments[256];
        unsigned issued = 0, completed = 0, phases = 0, most_open = 0, open = 0;
        struct record record;
        struct timeline t;
        write_ladder("b200", " [sim]");
        snprintf(arguments, sizeof arguments,
                 "run t.trace -o t.rec --quiet --policy %s --allow-path " SILTWIN_ROOT,
                 policies[p]);
        cr_assert_eq(siltwin(arguments), 0, "%s", dir.errors);
        load_timeline("t.rec", &record, &t);
        for (size_t i = 0; i < t.count; i++) {
            issued += t.rows[i].kind == TIMELINE_ISSUED;
            completed += t.rows[i].kind == TIMELINE_COMPLETED;
            phases += t.rows[i].kind == TIMELINE_BARRIER && t.rows[i].completed;
            cr_assert_neq(t.rows[i].kind, TIMELINE_WAITS, "all came to an end");
            open = issued - completed;
            most_open = open > most_open ? open : most_open;
        }
        /* Three tiles of K: two copies, four MMAs and a commit each. */
        cr_expect_eq(issued, 3 * 7);
        cr_expect_eq(completed, issued);
        cr_expect_eq(phases, 6);
        cr_expect(p ? most_open >= 5 : most_open == 1, "%s: %u", policies[p], most_open);
        record_free(&record);
        timeline_free(&t);
    }
}

Test(probe_sim, the_record_does_not_depend_on_jobs) {
    char *digest = NULL;
    write_ladder("h200", " [sim]");
    for (int jobs = 1; jobs <= 3; jobs++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "run t.trace -o t.rec --quiet --policy lazy --jobs %d --allow-path " SILTWIN_ROOT,
                 jobs);
        cr_assert_eq(siltwin(arguments), 0);
        cr_assert_eq(siltwin("show t.rec --digest"), 0);
        if (digest)
            cr_expect_str_eq(dir.output, digest);
        else
            digest = strdup(dir.output);
    }
    cr_assert_eq(siltwin("run t.rec -o again.rec --quiet --policy lazy"), 0, "%s", dir.errors);
    cr_assert_eq(siltwin("show again.rec --digest"), 0);
    cr_expect_str_eq(dir.output, digest);
    free(digest);
}

/* ---- parts ---- */

Test(timeline, rows_are_checked) {
    struct timeline t = {0}, read;
    const struct timeline_row rows[] = {
        {.step = 1, .begin = 1, .kind = TIMELINE_ISSUED, .id = 1},
        {.step = 4, .begin = 4, .kind = TIMELINE_BARRIER, .place = TIMELINE_NONE},
        {.step = 4, .begin = 2, .kind = TIMELINE_RAN, .place = 1, .lanes = 3},
    };
    for (int i = 0; i < 3; i++)
        timeline_add(&t, &rows[i]);
    const uint8_t *bytes = (const uint8_t *)t.rows;
    cr_assert(timeline_read(bytes, sizeof rows, 2, &read));
    cr_expect_eq(read.count, 3);
    timeline_free(&read);
    cr_expect_not(timeline_read(bytes, sizeof rows - 1, 2, &read), "half a row");
    timeline_free(&read);
    cr_expect_not(timeline_read(bytes, sizeof rows, 1, &read), "no such place");
    timeline_free(&read);
    static const struct {
        size_t row;
        struct timeline_row as;
    } wrong[] = {
        {0, {.step = 5, .begin = 5, .kind = TIMELINE_ISSUED}}, /* steps go back */
        {2, {.step = 4, .begin = 5, .kind = TIMELINE_RAN}},    /* ends before it begins */
        {2, {.step = 4, .begin = 4, .kind = TIMELINE_KIND_COUNT}},
        {2, {.step = 4, .kind = TIMELINE_RAN, .place = TIMELINE_NONE}},
        {2, {.step = UINT64_MAX, .kind = TIMELINE_RAN}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct timeline_row kept = t.rows[wrong[i].row];
        t.rows[wrong[i].row] = wrong[i].as;
        cr_expect_not(timeline_read(bytes, sizeof rows, 2, &read), "row %zu", i);
        timeline_free(&read);
        t.rows[wrong[i].row] = kept;
    }
    timeline_free(&t);
}

/* Line numbers that no text has: nothing is read beyond it. */
Test(probe_text, places_outside_the_text) {
    static const char text[] = "a;\n  add.u32 %r1, // comment\n  %r2, 3;";
    char *exact = malloc(sizeof text - 1); /* no zero behind it */
    memcpy(exact, text, sizeof text - 1);
    const struct ir_module ir = {.text = exact, .text_length = sizeof text - 1};
    static const struct {
        uint32_t line, column;
        const char *shown;
    } rows[] = {{2, 3, "add.u32 %r1, %r2, 3"},
                {1, 1, "a"},
                {4, 1, ""},
                {UINT32_MAX, 7, ""},
                {3, 8, "3"},
                {3, 9, ""},
                {3, 200, ""},
                {1, UINT32_MAX, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ir_insn insn = {.line = rows[i].line, .column = rows[i].column};
        struct strbuf out_text = {0};
        probe_insn_text(&ir, &insn, &out_text);
        cr_expect_str_eq(strbuf_text(&out_text), rows[i].shown, "row %zu", i);
        strbuf_free(&out_text);
    }
    free(exact);
}
