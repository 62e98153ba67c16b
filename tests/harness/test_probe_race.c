/* Shared-memory probes that race with the kernel are findings, ordered ones are none. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(probe_race, .init = make_folder, .fini = remove_folder);

/* Lines 8 and 9 are the body's; warp 1 has %p, warp 0 reads. */
static const char kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b32 box[64];\n" /* 1..4 */
    ".shared .align 8 .b64 bar;\n.visible .entry k(.param .u64 x) {\n"                   /* 5..6 */
    ".reg .pred %%p, %%q, %%d; .reg .b32 %%t, %%w, %%a, %%n, %%b; .reg .b64 %%x; "
    "ld.param.u64 %%x, [x]; mov.u32 %%t, %%tid.x; shr.u32 %%w, %%t, 5; setp.eq.u32 %%p, %%w, 1; "
    "setp.eq.u32 %%q, %%t, 0; mov.u32 %%b, bar; and.b32 %%n, %%t, 31; shl.b32 %%n, %%n, 2; "
    "mov.u32 %%a, box; add.u32 %%a, %%a, %%n; "
    "@%%q mbarrier.init.shared.b64 [%%b], 1; bar.sync 0;\n" /* 7 */
    "%s\n"                                                  /* 8 */
    "mov.u32 %%n, %%w;\n"                                   /* 9 */
    "%s\n"                                                  /* 10 */
    "ret;\n}\n";

static const char *mark = ""; /* behind the probe: [sim] or nothing */

static int run_kernel(const char *before, const char *behind, const char *options) {
    char text[4096], arguments[128], trace[512];
    snprintf(text, sizeof text, kernel, before, behind);
    workdir_write(&dir, "k.ptx", text);
    snprintf(trace, sizeof trace,
             "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [64] iota\n"
             "probe S smem 0..128 at m:9 by warp 0 %s\nlaunch m.k grid 2 block 64 args &X\n",
             mark);
    workdir_write(&dir, "k.trace", trace);
    snprintf(arguments, sizeof arguments, "run k.trace -o k.rec %s", options);
    return workdir_siltwin(&dir, arguments);
}

#define STORE "@%p st.shared.u32 [%a], %t; "
#define WAIT  "W: mbarrier.try_wait.parity.shared.b64 %d, [%b], 0; @!%d bra W; "
#define COPY                                                                                       \
    "@%q mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128; @%q "                                  \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%x], 128, [%b]; "

static const struct {
    const char *before, *behind; /* of the place where warp 0 reads */
    bool races;
} rows[] = {
    {"", "", false},
    {STORE, "", true},
    {STORE "bar.sync 0;", "", false},
    {"", STORE, true},
    {"", "bar.sync 0; " STORE, false},
    {"bar.sync 0; " STORE, "bar.sync 0;", true},
    /* What the reader's own warp stores is ordered. */
    {"@!%p st.shared.u32 [%a], %t;", "", false},
    {"@!%p st.shared.u32 [%a], %t; bar.sync 0;", STORE, true},
    /* Other bytes. */
    {"@%p st.shared.u32 [%a+128], %t;", "", false},
    /* Handed over by an mbarrier; or not waited for. */
    {STORE
     "@%p bar.sync 1, 32; setp.eq.u32 %d, %t, 32; @%d mbarrier.arrive.shared.b64 _, [%b]; " WAIT,
     "", false},
    {STORE "setp.eq.u32 %d, %t, 32; @%d mbarrier.arrive.shared.b64 _, [%b];", WAIT, true},
    {"@%p atom.shared.add.u32 %n, [%a], 1;", "", true},
    /* A bulk copy: waited for, not waited for, begun afterwards, reused too early. */
    {COPY WAIT, "", false},
    {COPY, WAIT, true},
    {"", COPY WAIT, false},
    {"", "setp.eq.u32 %q, %t, 32; " COPY WAIT, true},
    {"", "bar.sync 0; setp.eq.u32 %q, %t, 32; " COPY WAIT, false},
    {"cp.async.ca.shared.global [%a], [%x], 4;", "cp.async.wait_all;", true},
    {"cp.async.ca.shared.global [%a], [%x], 4; cp.async.wait_all; bar.sync 0;", "", false},
};

static void check_rows(void) {
    static const char *const policies[] = {"--policy eager", "--policy lazy", "--policy random:3"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
            const int status = run_kernel(rows[i].before, rows[i].behind, policies[k]);
            cr_expect_eq(status, rows[i].races, "%s / %s, %s: exit %d\n%s", rows[i].before,
                         rows[i].behind, policies[k], status, dir.errors);
            cr_expect_eq(strstr(dir.errors, "race: probe S reads") != NULL, rows[i].races,
                         "%s / %s, %s:\n%s", rows[i].before, rows[i].behind, policies[k],
                         dir.errors);
        }
}

Test(probe_race, what_nothing_orders_is_a_finding) {
    check_rows();
}

/* The same when the kernel is not rewritten. */
Test(probe_race, on_the_simulator_only) {
    mark = "[sim]";
    check_rows();
    /* Its reads are told apart from the kernel's own, on any line. */
    cr_assert_eq(run_kernel(STORE "bar.sync 0; ld.shared.u32 %w, [%a];", "", ""), 0, "%s",
                 dir.errors);
    cr_expect_not(strstr(dir.output, "is not known"), "%s", dir.output);
    /* Both sorts in one launch: each has its finding. */
    mark = "[sim]\nprobe T smem 0..128 at m:9 by warp 0";
    cr_assert_eq(run_kernel(STORE, "", ""), 1);
    cr_expect(strstr(dir.errors, "race: probe S reads") &&
                  strstr(dir.errors, "race: probe T reads"),
              "%s", dir.errors);
}

Test(probe_race, a_race_says_where_and_is_not_compared) {
    cr_assert_eq(run_kernel(STORE, "", ""), 1);
    cr_expect(
        strstr(dir.errors,
               "k.trace:5:1: error: race: probe S reads memory at k.ptx:9 that the kernel may "
               "write at the same time at line 8: shared address 0x400, launch 1, cta 0;"),
        "%s", dir.errors);
    rename(workdir_file(&dir, "k.rec"), workdir_file(&dir, "a.rec"));
    cr_assert_eq(run_kernel(STORE, "", "--json --policy lazy"), 1);
    cr_expect(strstr(dir.output, "\"probe.race\""), "%s", dir.output);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec k.rec"), 1, "%s", dir.output);
    cr_expect(strstr(dir.output, "first race: launch 1, cta 0, warp 0, lanes 0xffffffff, visit 0\n"
                                 "  k.ptx:9:1: mov.u32 %n, %w\n"
                                 "    these bytes are written while they are read: not compared"),
              "%s", dir.output);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec k.rec --json"), 1);
    cr_expect(strstr(dir.output, "\"class\": \"unordered\""), "%s", dir.output);
}

Test(probe_race, what_cannot_be_told_is_said) {
    cr_assert_eq(run_kernel(STORE "bar.sync 0;", "ld.shared.u32 %t, [%a];", ""), 0, "%s",
                 dir.errors);
    workdir_write(&dir, "k.trace",
                  "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [64] iota\n"
                  "probe S smem 0..128 at m:10 by warp 0\nlaunch m.k grid 2 block 64 args &X\n");
    cr_assert_eq(workdir_siltwin(&dir, "run k.trace"), 0, "%s", dir.errors);
    cr_expect(strstr(dir.output, "probe S: whether it races at line 10 is not known, the kernel "
                                 "loads on that line too"),
              "%s", dir.output);
}

/* Global memory: warps of a CTA as above; CTAs only where none can wait for another. */
static void check_global(bool sim) {
    static const struct {
        const char *before, *behind;
        bool races;
        int ctas;
    } cases[] = {
        {"", "", false, 1},
        {"@%p st.global.u32 [%x+4], %t;", "", true, 1},
        {"@%p st.global.u32 [%x+4], %t; bar.sync 0;", "", false, 1},
        {"@%p st.global.u32 [%x+64], %t;", "", false, 1},
        {"", "@%p st.global.u32 [%x], %t;", true, 1},
        {"", "bar.sync 0; @%p st.global.u32 [%x], %t;", false, 1},
        /* The other CTA. */
        {"mov.u32 %w, %ctaid.x; setp.eq.u32 %p, %w, 1; @%p st.global.u32 [%x], %t; bar.sync 0;", "",
         true, 2},
        {"mov.u32 %w, %ctaid.x; setp.eq.u32 %p, %w, 1; @%p st.global.u32 [%x], %t; bar.sync 0; "
         "ld.acquire.gpu.global.u32 %n, [%x+128];",
         "", false, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_kernel(cases[i].before, cases[i].behind, "");
        char trace[512];
        snprintf(trace, sizeof trace,
                 "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [64] iota\n"
                 "probe G global X[0..8] at m:9 by warp 0%s\nlaunch m.k grid %d block 64 args &X\n",
                 sim ? " [sim]" : "", cases[i].ctas);
        workdir_write(&dir, "k.trace", trace);
        const int status = workdir_siltwin(&dir, "run k.trace --quiet");
        cr_expect_eq(status, cases[i].races, "%s / %s: exit %d\n%s", cases[i].before,
                     cases[i].behind, status, dir.errors);
        cr_expect_eq(strstr(dir.errors, "race: probe G reads memory at k.ptx:9") != NULL,
                     cases[i].races, "%s / %s:\n%s", cases[i].before, cases[i].behind, dir.errors);
    }
}

Test(probe_race, global_memory) {
    check_global(false);
    check_global(true);
}

static unsigned kernel_line(const char *text) {
    char line[1024];
    unsigned number = 0;
    FILE *file = fopen(SILTWIN_ROOT "/device/sm_90a/matmul_4_tma_store.ptx", "r");
    cr_assert(file);
    do {
        cr_assert(fgets(line, sizeof line, file), "%s", text);
        number++;
    } while (!strstr(line, text));
    fclose(file);
    return number;
}

/* A tile of A in a kernel of the ladder: steady from the wait for it to the barrier behind the
 * products, and again when the last tile is done. */
Test(probe_race, a_tile_of_the_ladder) {
    static const struct {
        const char *place;
        bool races;
    } places[] = {{"mbarrier.try_wait.parity", true},
                  {"wgmma.fence.sync", false},
                  {"wgmma.wait_group.sync", false},
                  {"xor.b32 %phase, %phase, 1;", true},
                  {"stmatrix.sync", false}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char trace[1024];
        snprintf(trace, sizeof trace,
                 "siltwin 1\ndevice h200\nmodule mm %s/device/sm_90a/matmul_4_tma_store.ptx\n"
                 "buffer A bf16 [64][128] uniform(-1,1) seed 1\n"
                 "buffer B bf16 [64][128] uniform(-1,1) seed 2\nbuffer C bf16 [64][64] poison\n"
                 "tensormap TA of A box [64][64] swizzle 128B\n"
                 "tensormap TB of B box [64][64] swizzle 128B\n"
                 "tensormap TC of C box [64][64] swizzle 128B\n"
                 "probe S smem 0..8192 at mm:%u warp 1\n"
                 "launch mm.matmul_4_n64 grid 1 block 128 smem 24*1024+1024 args TA TB TC 128\n",
                 SILTWIN_ROOT, kernel_line(places[i].place));
        workdir_write(&dir, "m.trace", trace);
        const int status = workdir_siltwin(&dir, "run m.trace --quiet --allow-path " SILTWIN_ROOT);
        cr_expect_eq(status, places[i].races, "%s: exit %d\n%s", places[i].place, status,
                     dir.errors);
    }
}
