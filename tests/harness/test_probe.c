/* Probes as users see them: what is recorded, where, how much, and that a probed kernel computes
 * what the plain one computes. Runs the built siltwin. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probed_kernel.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(probe, .init = make_folder, .fini = remove_folder);

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

static int show(const char *probes) {
    cr_assert_eq(run_probes(probes, ""), 0, "%s%s", dir.output, dir.errors);
    return siltwin("show t.rec --events");
}

static unsigned lines(const char *text) {
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

Test(probe, events_carry_operands_results_and_objects) {
    CHECK(show("probe E event of st.global*"), 0,
          "launch 1 cta 0 warp 0 lane 1 E m:18 visit 0 st.global.u32 [%at], %v: a=&X+4 b=0x2",
          dir.output);
    /* Only the first CTA; a guard that is false records nothing. */
    cr_assert_eq(lines(dir.output), 64, "%s", dir.output);
    cr_assert(
        strstr(dir.output, "warp 1 lane 30 E m:19 visit 0 st.global.u32 [%at], 7: a=&X+248 b=0x7"),
        "%s", dir.output);
    cr_assert(!strstr(dir.output, "lane 30 E m:18"), "%s", dir.output);
}

/* A pointer in a register is a buffer and an offset too: machines put buffers elsewhere. */
Test(probe, pointers_in_registers_are_objects) {
    CHECK(show("probe R regs %x %at %t at m:18 warp 1 lane 2"), 0, ": %x=&X+0 %at=&X+136 %t=0x22",
          dir.output);
    CHECK(show("probe E event of add.u64 lane 1 warp 0"), 0, "d=&X+4 a=0x4 b=&X+0", dir.output);
}

Test(probe, registers_by_place_condition_and_bounds) {
    CHECK(show("probe R regs %n %s %h at LOOP warp 0 lane 3 cta 1 keep 2"), 0,
          "launch 1 cta 1 warp 0 lane 3 R m:11 visit 1 setp.eq.u32 %p, %n, 0: %n=0x2 %s=0x3 "
          "%h=0x4200 (3)\n",
          dir.output);
    cr_assert_eq(lines(dir.output), 2, "%s", dir.output);
    show("probe R regs %n at m:11 lane 3..3 warp 0 last 2");
    CHECK(0, 0, "visit 2 setp.eq.u32 %p, %n, 0: %n=0x1\n", dir.output);
    CHECK(0, 0, "visit 3 setp.eq.u32 %p, %n, 0: %n=0x0\n", dir.output);
    cr_assert_eq(lines(dir.output), 2, "%s", dir.output);
    show("probe R regs %s at m:13 when %n==2 warp 0");
    cr_assert_eq(lines(dir.output), 16, "%s", dir.output); /* tid % 4 is 2 or 3: once each */
    show("probe R regs %s at m:11 skip 3 warp 0 keep 5");
    cr_assert_eq(lines(dir.output), 8, "%s", dir.output); /* only tid % 4 == 3 comes four times */
    show("probe R regs %t at m:14 when %odd==1 warp 0 cta 0..1");
    cr_assert_eq(lines(dir.output), 2 * 8 * 4, "%s", dir.output); /* 1 or 3 turns */
}

Test(probe, functions_that_are_called_are_probed_too) {
    CHECK(show("probe F event of add.u32 at m:4 warp 0 lane 3"), 0,
          "lane 3 F m:4 visit 0 add.u32 %out, %in, %in: d=0xc (12) a=0x6 b=0x6", dir.output);
}

Test(probe, memory_is_read_by_one_warp) {
    CHECK(show("probe S smem 16..48 at m:18 by warp 1"), 0,
          "cta 0 warp 1 lane 0 S m:18 visit 0 st.global.u32 [%at], %v: smem[0x10]=0x24 "
          "smem[0x14]=0x25 smem[0x18]=0x26 smem[0x1c]=0x27\n",
          dir.output);
    CHECK(show("probe G global X[3..8] at m:20 lane 0"), 0, " X[0xc]=0x", dir.output);
}

/* Line of the first `text` in a kernel of the ladder. */
static unsigned line_of(const char *text) {
    char path[256], line[1024];
    snprintf(path, sizeof path, "%s/device/sm_100a/matmul_3_swizzle.ptx", SILTWIN_ROOT);
    FILE *file = fopen(path, "r");
    unsigned number = 0;
    cr_assert(file);
    do {
        cr_assert(fgets(line, sizeof line, file), "%s", text);
        number++;
    } while (!strstr(line, text) || strstr(line, "//"));
    fclose(file);
    return number;
}

/* The accumulators of a 64 x 64 tile with K 64 lie in 64 lanes and columns; C is their bf16. */
static int run_tmem(const char *place) {
    char trace[2048];
    snprintf(trace, sizeof trace,
             "siltwin 1\nmodule mm %s/device/sm_100a/matmul_3_swizzle.ptx\n"
             "buffer A bf16 [64][64] ints(1,1) seed 1\nbuffer B bf16 [64][64] ints(3,3) seed 2\n"
             "buffer C bf16 [64][64] poison\ntensormap TA of A box [64][64] swizzle 128B\n"
             "tensormap TB of B box [64][64] swizzle 128B\n"
             "probe T tmem lanes 0..15 cols 60..63 at mm:%u\n"
             "launch mm.matmul_3_n64 grid 1 block 128 smem 17*1024+24 args TA TB &C 64 64\n"
             "expect C == matmul_nt(A, B) exact\n",
             SILTWIN_ROOT, line_of(place));
    workdir_write(&dir, "t.trace", trace);
    return siltwin("run t.trace -o t.rec --allow-path " SILTWIN_ROOT);
}

Test(probe, tensor_memory_before_an_aligned_instruction) {
    char text[128];
    CHECK(run_tmem("tcgen05.ld.sync"), 0,
          "which hides nothing: no tcgen05.ld of the kernel is under way there\n", dir.output);
    CHECK(siltwin("show t.rec --events"), 0,
          "col60=0x43400000 col61=0x43400000 col62=0x43400000 col63=0x43400000\n", dir.output);
    cr_assert_eq(lines(dir.output), 16, "%s", dir.output);
    /* Before the kernel's own wait its load is under way. */
    snprintf(text, sizeof text,
             "probe T adds tcgen05.wait::ld at line %u, which hides that the kernel has not waited "
             "there for the tcgen05.ld of line %u\n",
             line_of("tcgen05.wait::ld"), line_of("tcgen05.ld.sync"));
    CHECK(run_tmem("tcgen05.wait::ld"), 0, text, dir.output);
    CHECK(run_tmem("mbarrier.try_wait"), 2, "stands before a .sync.aligned instruction without",
          dir.errors);
}

Test(probe, the_kernel_computes_what_it_computed) {
    cr_assert_eq(run_probes("", ""), 0);
    cr_assert_eq(siltwin("run t.trace -o plain.rec --quiet"), 0);
    cr_assert_eq(run_probes("probe E event of *\nprobe R regs %t %x %p at m:12\n"
                            "probe S smem 0..128 at m:20\nprobe G global X[64..128] at m:20",
                            ""),
                 0, "%s%s", dir.output, dir.errors);
    char *probed = workdir_read(&dir, "t.rec");
    free(probed);
    cr_assert_eq(siltwin("show t.rec --buffer X[0..127] --hex"), 0);
    char *with = strdup(dir.output);
    cr_assert_eq(siltwin("show plain.rec --buffer X[0..127] --hex"), 0);
    cr_assert_str_eq(dir.output, with);
    free(with);
    /* The same run gives the same record, and a record runs again. */
    cr_assert_eq(siltwin("show t.rec --digest"), 0);
    char *digest = strdup(dir.output);
    cr_assert_eq(siltwin("run t.rec -o again.rec --quiet"), 0, "%s", dir.errors);
    cr_assert_eq(siltwin("show again.rec --digest"), 0);
    cr_assert_str_eq(dir.output, digest);
    free(digest);
}

/* The kernel's output must not depend on the probe; here it is the time that it took. */
Test(probe, what_it_disturbs_is_said) {
    CHECK(run_probes("probe E event of st.global*", ""), 0, "probes in k: registers ", dir.output);
    CHECK(0, 0, "without; no machine code on this machine; ", dir.output);
    CHECK(0, 0, " PTX instructions, 26 without\n", dir.output);
    CHECK(0, 0, "without; the buffers are the same\n", dir.output);
    CHECK(run_probes("probe E event of st.global*", "--quiet"), 0, "", dir.output);
    cr_assert_str_eq(dir.output, "");
    workdir_write(&dir, "c.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".visible .entry k(.param .u64 x) { .reg .b32 %a, %b, %n; .reg .b64 %x;\n"
                  ".reg .pred %p; mov.u32 %a, %clock; mov.u32 %n, 9; ld.param.u64 %x, [x];\n"
                  "L: sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra L;\n"
                  "mov.u32 %b, %clock; sub.u32 %b, %b, %a; st.global.u32 [%x], %b; ret; }\n");
    workdir_write(&dir, "c.trace",
                  "siltwin 1\ndevice h200\nmodule m c.ptx\nbuffer X u32 [4] zeros\n"
                  "probe E event of sub.u32\nlaunch m.k grid 1 block 1 args &X\n");
    CHECK(siltwin("run c.trace"), 1, "without probes these buffers end otherwise: X", dir.errors);
}

Test(probe, too_many_hits_are_no_verdict_unless_bounded) {
    CHECK(run_probes("probe E event of setp.eq.u32 keep 2", ""), 0, "as expected", dir.output);
    /* 65 turns with the default of 64. */
    workdir_write(&dir, "loop.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".visible .entry k() { .reg .b32 %n; .reg .pred %p; mov.u32 %n, 65;\n"
                  "L: sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra L; ret; }\n");
    workdir_write(&dir, "l.trace",
                  "siltwin 1\ndevice h200\nmodule m loop.ptx\nprobe E event of sub.u32\n"
                  "launch m.k grid 1 block 2\n");
    CHECK(siltwin("run l.trace"), 4,
          "l.trace:4:1: error: no verdict: probe E overflowed in launch 1: more than 64 hits, 2 "
          "times",
          dir.errors);
}

Test(probe, size_is_said_and_bounded) {
    CHECK(run_probes("probe E event of st.global*", ""), 0, "launch 1: probes take 0.", dir.output);
    CHECK(run_probes("probe E event of * keep 1000000", ""), 2, "MiB, more than 256 MiB",
          dir.errors);
}

Test(probe, wrong_statements_are_errors_with_a_place) {
    static const struct {
        const char *probe, *text;
        int status;
    } rows[] = {
        {"probe E event of wgmma.*", "t.trace:5:1: error: no instruction fits probe E", 2},
        {"probe R regs %nothing at m:11", "k has no register %nothing at line 11", 2},
        {"probe R regs %n at m:7", "the nearest are at lines 4 and 8", 2},
        {"probe R regs %n at m:9999", "the nearest is at line ", 2},
        {"probe R regs %n at m:1", "the nearest is at line ", 2},
        {"probe R regs %n", "expected at and a place", 2},
        {"probe S smem 0..6 at m:18", "whole groups of 4 bytes", 2},
        {"probe S smem 0..16 at m:18 by warp 0..1", "one warp reads memory", 2},
        {"probe T tmem lanes 0..127 cols 0..63 at m:18", "no Tensor Memory before sm_100a", 2},
        {"probe T tmem lanes 0..127 cols 0..128 at m:18", "more than 128 columns", 2},
        {"probe X event of * [sim] [simulator]", "[sim] or the end", 2},
        {"probe R regs %n at m:11 keep 1 last 1", "one of keep and last is enough", 2},
        {"probe R regs %n at m:11 when %h==1", "%h is no integer and no predicate", 2},
        {"probe R watch %n", "expected event, regs, smem, global or tmem", 2},
        {"probe E event of *\nprobe E event of *", "the name 'E' is taken", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int status = run_probes(rows[i].probe, "");
        cr_expect_eq(status, rows[i].status, "%s: %d\n%s", rows[i].probe, status, dir.errors);
        cr_expect(strstr(dir.errors, rows[i].text), "%s:\n%s", rows[i].probe, dir.errors);
    }
}

Test(probe, a_hang_shows_the_last_events) {
    workdir_write(&dir, "h.ptx",
                  ".version 8.0\n.target sm_90a\n.address_size 64\n"
                  ".shared .align 8 .b64 bar;\n.visible .entry k() { .reg .pred %p;\n"
                  "mbarrier.init.shared.b64 [bar], 2; bar.sync 0;\n"
                  "L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n"
                  "@!%p bra L; ret; }\n");
    workdir_write(&dir, "h.trace",
                  "siltwin 1\ndevice h200\nmodule m h.ptx\n"
                  "probe E event of mbarrier.*\nlaunch m.k grid 1 block 32\n");
    CHECK(siltwin("run h.trace -o h.rec"), 1,
          "cta 0 warp 0 lanes 0xffffffff E m:7 visit 0 mbarrier.try_wait.parity.shared.b64 %p, "
          "[bar], 0 (still waiting): done=0x0",
          dir.errors);
    cr_assert_eq(siltwin("show h.rec --events"), 0);
    cr_assert_eq(lines(dir.output), 64, "%s", dir.output); /* init and the last poll of each lane */
}

/* Each function has its own: the probe counts from the first that its function sees. */
Test(probe, shared_memory_of_the_function_that_is_probed) {
    workdir_write(
        &dir, "k.ptx",
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry a() { .shared .align 8 .b64 box; .reg .b64 %v; mov.u64 %v, 17;\n"
        "st.shared.b64 [box], %v; bar.sync 0;\nA: bar.sync 0; ret; }\n"
        ".visible .entry b() { .shared .align 8 .b64 case; .reg .b64 %v; mov.u64 %v, 34;\n"
        "st.shared.b64 [case], %v; bar.sync 0;\nB: bar.sync 0; ret; }\n"
        ".visible .entry c() {\nC: bar.sync 0; ret; }\n");
    workdir_write(&dir, "t.trace",
                  "siltwin 1\ndevice h200\nmodule m k.ptx\n"
                  "launch m.a grid 1 block 32\nlaunch m.b grid 1 block 32\n"
                  "probe P smem 0..8 at A\nprobe Q smem 0..8 at B\n");
    CHECK(siltwin("run t.trace --quiet -o t.rec"), 0, "", dir.output);
    CHECK(siltwin("show t.rec --events"), 0, "smem[0x0]=0x11", dir.output);
    cr_assert_eq(lines(dir.output), 4, "two launches of two lanes with 4 bytes each\n%s",
                 dir.output);
    CHECK(siltwin("show t.rec --events"), 0, "smem[0x0]=0x22", dir.output);
    workdir_write(&dir, "t.trace",
                  "siltwin 1\ndevice h200\nmodule m k.ptx\nlaunch m.c grid 1 block 32\n"
                  "probe P smem 0..8 at C\n");
    CHECK(siltwin("run t.trace"), 2, "the function sees no shared variable", dir.errors);
}
