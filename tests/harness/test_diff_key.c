/* Tiles that CTAs come by at run time: with a key their events are compared by tile, whoever works
 * on it. The two sides are one kernel with one or with two CTAs of an SM at a time. */
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

TestSuite(diff_key, .init = make_folder, .fini = remove_folder);

/* %s: what is done to the value of a tile; and how many tiles there are. */
static const char kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 4 .b32 box;\n" /* 1..4 */
    ".visible .entry k(.param .u64 x) {\n"                                         /* 5 */
    ".reg .pred %%p; .reg .b32 %%t, %%tile, %%v, %%o; .reg .b64 %%x, %%at;\n"      /* 6 */
    "ld.param.u64 %%x, [x]; mov.u32 %%t, %%tid.x; mov.u32 %%tile, 0;\n"            /* 7 */
    "LOOP: setp.ne.u32 %%p, %%t, 0; @%%p bra WAIT;\n"                              /* 8 */
    "atom.global.add.u32 %%tile, [%%x], 1; st.shared.u32 [box], %%tile;\n"         /* 9 */
    "WAIT: bar.sync 0; ld.shared.u32 %%tile, [box]; bar.sync 0;\n"                 /* 10 */
    "setp.ge.u32 %%p, %%tile, %d; @%%p bra DONE;\n"                                /* 11 */
    "mad.lo.u32 %%v, %%tile, 100, %%t; mad.lo.u32 %%o, %%tile, 64, %%t;\n"         /* 12 */
    "%s\n"                                                                         /* 13 */
    "mul.wide.u32 %%at, %%o, 4; add.u64 %%at, %%at, %%x;\n"                        /* 14 */
    "st.global.u32 [%%at+256], %%v;\n"                                             /* 15 */
    "bra LOOP;\n"                                                                  /* 16 */
    "DONE: ret;\n}\n";

static void record(const char *name, const char *probes, const char *work, int tiles,
                   int resident) {
    char text[4096], arguments[128];
    snprintf(text, sizeof text, kernel, tiles, work);
    workdir_write(&dir, "k.ptx", text);
    snprintf(text, sizeof text,
             "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [1024] zeros\n%s\n"
             "launch m.k grid 3 block 64 args &X\n",
             probes);
    workdir_write(&dir, "k.trace", text);
    snprintf(arguments, sizeof arguments, "run k.trace --quiet -o %s --resident %d", name,
             resident);
    cr_assert_eq(workdir_siltwin(&dir, arguments), 0, "%s%s", dir.output, dir.errors);
}

#define CHECK_DIFF(expected, text)                                                                 \
    do {                                                                                           \
        cr_assert_eq(workdir_siltwin(&dir, "diff a.rec b.rec"), expected, "%s%s", dir.output,      \
                     dir.errors);                                                                  \
        cr_assert(strstr(dir.output, text) || strstr(dir.errors, text), "no \"%s\" in\n%s%s",      \
                  text, dir.output, dir.errors);                                                   \
    } while (0)

static const char keyed[] = "probe K event of mad* st.global* key %tile";

Test(diff_key, tiles_are_compared_whoever_works_on_them) {
    record("a.rec", "probe K event of mad* st.global* cta 0..2", "", 8, 1);
    record("b.rec", "probe K event of mad* st.global* cta 0..2", "", 8, 3);
    CHECK_DIFF(1, "first difference: launch 1, cta 0, warp 0, lanes 0xffffffff");
    /* Where the atomics are seen to differ, the rest follows from them. */
    record("a.rec", "probe K event of atom* mad* st.global* cta 0..2", "", 8, 1);
    record("b.rec", "probe K event of atom* mad* st.global* cta 0..2", "", 8, 3);
    CHECK_DIFF(4, "first that follows from others: launch 1, cta 0, warp 0, lanes 0xffffffff");
    record("a.rec", keyed, "", 8, 1);
    record("b.rec", keyed, "", 8, 3);
    CHECK_DIFF(0, "equal: 1 buffer, 1536 events");
    /* They were in other hands. */
    cr_assert_eq(workdir_siltwin(&dir, "show a.rec --events"), 0);
    cr_assert(strstr(dir.output, "cta 0 warp 0 lane 0 K m:12 visit 7"), "%s", dir.output);
    cr_assert_not(strstr(dir.output, "cta 1 "));
    cr_assert_eq(workdir_siltwin(&dir, "show b.rec --events"), 0);
    cr_assert(strstr(dir.output, "cta 2 warp 0 lane 0 K m:12 visit 1"), "%s", dir.output);
}

Test(diff_key, the_tile_that_differs_is_named) {
    record("a.rec", keyed, "", 8, 1);
    record("b.rec", keyed, "setp.eq.u32 %p, %tile, 5; @%p add.u32 %v, %v, 1;", 8, 3);
    CHECK_DIFF(1, "first difference: launch 1, %tile=0x5 (cta 0), warp 0, lanes 0xffffffff, visit 0"
                  "\n  k.ptx:15:1: st.global.u32 [%at+256], %v\n    b: 0x1f4 (500) in a.rec, "
                  "0x1f5 (501) in b.rec");
    CHECK_DIFF(1, "first difference at X[384]");
}

Test(diff_key, a_tile_that_nobody_takes) {
    record("a.rec", keyed, "", 8, 1);
    record("b.rec", keyed, "", 7, 3);
    CHECK_DIFF(1, "%tile=0x7 (cta 0), warp 0, lanes 0xffffffff, visit 0\n"
                  "  k.ptx:12:1: mad.lo.u32 %v, %tile, 100, %t\n    not reached in b.rec");
}

/* Where two CTAs have the same key nothing can be aligned. */
Test(diff_key, keys_must_tell_ctas_apart) {
    static const char bad[] = "probe K regs %x at m:15 key %t";
    record("a.rec", bad, "", 8, 3);
    record("b.rec", bad, "", 8, 3);
    CHECK_DIFF(4, "no verdict: the key does not tell CTAs apart: %t=0x0 (cta ");
}

/* Keys of several registers, of probes of memory, and beside probes without one. */
Test(diff_key, every_kind_of_probe_has_keys) {
    static const char probes[] = "probe R regs %v %o at m:14 key %tile %t\n"
                                 "probe S smem 0..4 at m:14 by warp 0 lane 0 key %tile\n"
                                 "probe G global X[0..4] at m:14 lane 1 key %tile\n"
                                 "probe E event of ld.param* cta 0..2";
    record("a.rec", probes, "", 8, 1);
    record("b.rec", probes, "", 8, 3);
    /* X[0] counts on while the tiles are worked on: by tile it depends on who comes when. */
    cr_assert_eq(workdir_siltwin(&dir, "show b.rec --events"), 0);
    cr_assert(strstr(dir.output, "S m:14 visit 0 mul.wide.u32 %at, %o, 4: smem[0x0]=0x0 %tile=0x0"),
              "%s", dir.output);
    CHECK_DIFF(1, "X[0x0]: ");
}

Test(diff_key, wrong_keys_are_errors) {
    static const struct {
        const char *probe, *text;
    } rows[] = {{"probe K event of mad* key", "a register (%name)"},
                {"probe K event of mad* key %none", "k has no register %none at line 12"},
                {"probe K event of mad* key %t %t %t %t %t", "more than 4 registers make a key"}};
    record("a.rec", keyed, "", 8, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [1024] zeros\n%s\n"
                 "launch m.k grid 3 block 64 args &X\n",
                 rows[i].probe);
        workdir_write(&dir, "w.trace", text);
        cr_expect_eq(workdir_siltwin(&dir, "run w.trace"), 2);
        cr_expect(strstr(dir.errors, rows[i].text), "%s:\n%s", rows[i].probe, dir.errors);
    }
}
