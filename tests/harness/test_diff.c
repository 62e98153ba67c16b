/* Wrong kernels against the right one: with every instruction probed, diff names the wrong line;
 * without probes it names how the result is out of order. And the command's own cases: records
 * without a difference, against a record, no GPU, damaged events. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "commands.h"
#include "diff.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(diff, .init = make_folder, .fini = remove_folder);

enum { TEXT_BYTES = 1 << 18 };

static const char *in_folder(const char *name) {
    return workdir_file(&dir, name);
}

static char *read_kernel(void) {
    char *text = calloc(1, TEXT_BYTES);
    FILE *file = fopen(SILTWIN_ROOT "/device/sm_90a/matmul_4_tma_store.ptx", "rb");
    cr_assert(file);
    cr_assert_lt(fread(text, 1, TEXT_BYTES - 1, file), TEXT_BYTES - 1);
    fclose(file);
    return text;
}

/* The kernel with the first (all: every) `from` replaced; the line of the first. */
static unsigned write_kernel(const char *from, const char *to, bool all) {
    char *text = read_kernel(), *out = calloc(1, 2 * TEXT_BYTES);
    unsigned line = 0;
    char *at = text;
    for (char *hit; *from && (hit = strstr(at, from)); at = hit + strlen(from)) {
        strncat(out, at, (size_t)(hit - at));
        strcat(out, to);
        if (!line) {
            line = 1;
            for (char *p = text; p < hit; p++)
                line += *p == '\n';
        }
        if (!all) {
            at = hit + strlen(from);
            break;
        }
    }
    cr_assert(line || !*from, "the kernel has no `%s`", from);
    strcat(out, at);
    workdir_write(&dir, "k.ptx", out);
    free(text);
    free(out);
    return line;
}

static void write_trace(const char *probes) {
    char trace[2048];
    snprintf(
        trace, sizeof trace,
        "siltwin 1\ndevice h200\nconst M=64 N=64 K=128\nmodule mm k.ptx\n"
        "buffer A bf16 [M][K] uniform(-1,1) seed 1\nbuffer B bf16 [N][K] uniform(-1,1) seed 2\n"
        "buffer C bf16 [M][N] poison\n"
        "tensormap TA of A box [64][64] swizzle 128B\n"
        "tensormap TB of B box [64][64] swizzle 128B\n"
        "tensormap TC of C box [64][64] swizzle 128B\n%s\n"
        "launch mm.matmul_4_n64 grid 1 block 128 smem 24*1024+1024 args TA TB TC K\n",
        probes);
    workdir_write(&dir, "k.trace", trace);
}

static int siltwin(const char *const *words, char **out) {
    return command_run(words, out);
}

static void record(const char *name) {
    char *out;
    const int status = siltwin(
        (const char *const[]){"run", in_folder("k.trace"), "--quiet", "-o", in_folder(name), NULL},
        &out);
    cr_assert(status == 0 || status == 1, "exit %d\n%s", status, out);
    free(out);
}

static int diff(char **out) {
    return siltwin((const char *const[]){"diff", in_folder("good.rec"), in_folder("bad.rec"), NULL},
                   out);
}

#define LOAD "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
static const struct {
    const char *from, *to, *text; /* what the report says beside the line */
    int lines_before;             /* the operand's line is so many behind the instruction's */
} wrong[] = {
    {"[%tma_bar], 16384;", "[%tma_bar], 16400;", "bytes: 0x4000 (16384) in ", 0},
    {"[%tma_bar], 16384;", "[%tma_bar], 16368;", "0x3ff0 (16368) in ", 0},
    {"[%tma_bar], 1;", "[%tma_bar], 2;", "count: 0x1 in ", 0},
    {"mov.u32 %phase, 0;", "mov.u32 %phase, 1;", "", 0},
    {"add.u64 %desc_a_k, %desc_a, 2;", "add.u64 %desc_a_k, %desc_a, 4;", "", 0},
    {"add.u64 %desc_b_k, %desc_b, 6;", "add.u64 %desc_b_k, %desc_b, 2;", "", 0},
    {"or.b64 %desc_a, %desc_a, 0x4000004000010000;", "or.b64 %desc_a, %desc_a, 0x8000004000010000;",
     "", 0},
    {"add.u32 %smem_b, %smem, 8192;", "add.u32 %smem_b, %smem, 8320;", "b: 0x2000 (8192)", 0},
    {"shl.b32 %row_a, %row_a, 6;", "shl.b32 %row_a, %row_a, 5;", "", 0},
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;", "mov.b32 %scratch, %scratch;", "comes to", 0},
    {"cvt.rn.bf16x2.f32 %b0, %d1, %d0;", "cvt.rn.bf16x2.f32 %b0, %d0, %d1;", "a: 0x", 0},
    {"cvt.rn.bf16x2.f32 %b0, %d1, %d0;", "cvt.rz.bf16x2.f32 %b0, %d1, %d0;", "d: 0x", 0},
    {"[%st_at], {%b0, %b1, %b2, %b3};", "[%st_at], {%b1, %b0, %b2, %b3};", "stmatrix", 0},
    {"xor.b32 %st_at, %panel_chunk, 32;", "xor.b32 %st_at, %panel_chunk, 64;", "b: 0x20 (32)", 0},
    {"{%col, %row_a}]", "{%st_at, %row_a}]", "c0: 0x0 (0) in ", 0},
    {LOAD "[%smem], [%map_a,", LOAD "[%smem], [%map_b,", "&param map_a+0 in ", 0},
    {LOAD "[%smem], [%map_a, {%x, %row_a}]", LOAD "[%smem], [%map_a, {%row_a, %x}]", "c0: 0x40", 0},
    {"%desc_a, %desc_b, %accumulate, 1, 1, 0, 0;", "%desc_a, %desc_b, %accumulate, 1, -1, 0, 0;",
     "sb: 0x1", 5},
    {"setp.eq.u32 %accumulate, 0, 0;", "setp.ne.u32 %accumulate, 0, 0;", "p: 0x1 in ", 0},
    {"setp.ne.u32 %more, %left, 0;", "setp.ne.u32 %more, %left, 1;", "", 0},
    {"bar.sync 0;", "", "comes to", 0},
    {"add.u32 %x, %x, 64;", "add.u32 %x, %x, 32;", "b: 0x40 (64) in ", 0},
    {"and.b32 %scratch, %lane, 15;", "and.b32 %scratch, %lane, 7;", "", 0},
    {"shr.u32 %panel_chunk, %lane, 4;", "shr.u32 %panel_chunk, %lane, 3;", "", 0},
};

Test(diff, wrong_kernels_are_found_at_their_line) {
    write_trace("probe E event of * keep 8");
    write_kernel("", "", false);
    record("good.rec");
    const size_t count = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < count; i++) {
        char *out, place[64];
        const unsigned line = write_kernel(wrong[i].from, wrong[i].to, false);
        record("bad.rec");
        const int status = diff(&out);
        snprintf(place, sizeof place, "\n  k.ptx:%u:", line - (unsigned)wrong[i].lines_before);
        cr_expect_eq(status, 1, "%s", wrong[i].to);
        cr_expect(strstr(out, "first difference: launch 1, cta 0"), "%s\n%s", wrong[i].to, out);
        cr_expect(strstr(out, place), "%s: not%s\n%s", wrong[i].to, place, out);
        cr_expect(strstr(out, wrong[i].text), "%s: no \"%s\"\n%s", wrong[i].to, wrong[i].text, out);
        free(out);
    }
    printf("%zu wrong kernels found at their line\n", count);
}

static const struct {
    const char *from, *to, *name;
    bool all;
} moved[] = {
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;", "",
     "another swizzle mode: 128B on one side, none on the other", false},
    {"and.b32 %scratch, %panel_row, 7;", "and.b32 %scratch, %panel_row, 3;",
     "another swizzle mode: 64B against 128B", false},
    {"and.b32 %scratch, %panel_row, 7;", "and.b32 %scratch, %panel_row, 1;",
     "another swizzle mode: 32B against 128B", false},
    {"stmatrix.sync.aligned.m8n8.x4.shared", "stmatrix.sync.aligned.m8n8.x4.trans.shared",
     "transposed within tiles of 8 x 8", true},
    {"xor.b32 %panel_chunk, %panel_chunk, %scratch;",
     "xor.b32 %panel_chunk, %panel_chunk, %scratch; xor.b32 %panel_chunk, %panel_chunk, 1;",
     "chunks of 16 bytes exchanged: chunk c is chunk c ^ 1", false},
    {"shl.b32 %panel_row, %panel_row, 7;",
     "xor.b32 %panel_row, %panel_row, 8; shl.b32 %panel_row, %panel_row, 7;",
     "rows exchanged: row r is row r ^ 8", false},
    {"[%map_c, {%col, %row_a}]", "[%map_c, {%col, 8}]", "rows shifted: row r is row r - 8", false},
    {"[%map_c, {%col, %row_a}]", "[%map_c, {16, %row_a}]",
     "columns shifted: column c is column c - 16", false},
};

Test(diff, rearrangements_have_their_name_and_line) {
    write_trace("");
    write_kernel("", "", false);
    record("good.rec");
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        char *out, place[64];
        const unsigned line = write_kernel(moved[i].from, moved[i].to, moved[i].all);
        record("bad.rec");
        snprintf(place, sizeof place, "decided at k.ptx:%u: ", line);
        cr_expect_eq(diff(&out), 1);
        cr_expect(strstr(out, moved[i].name), "%s: not %s\n%s", moved[i].to, moved[i].name, out);
        cr_expect(strstr(out, place), "%s: not %s\n%s", moved[i].to, place, out);
        free(out);
    }
}

/* The tile of A under another mode of its tensor map: the probe's bytes say so, and the trace's
 * line. */
Test(diff, shared_memory_in_another_swizzle_mode) {
    char *out;
    write_kernel("", "", false);
    write_trace("probe S smem 0..8192 at mm:98 warp 1");
    record("good.rec");
    write_trace(
        "probe S smem 0..8192 at mm:98 warp 1\ntensormap TN of A box [64][64] swizzle none");
    cr_assert_eq(siltwin((const char *const[]){"diff", in_folder("k.trace"), "--against",
                                               in_folder("good.rec"), NULL},
                         &out),
                 0, "%s", out);
    cr_assert(strstr(out, "equal: 3 buffers, 64 events"), "%s", out);
    free(out);
    char trace[2048];
    FILE *file = fopen(in_folder("k.trace"), "rb");
    cr_assert(file);
    trace[fread(trace, 1, sizeof trace - 1, file)] = '\0';
    fclose(file);
    memcpy(strstr(trace, "args TA") + 5, "TN", 2);
    workdir_write(&dir, "k.trace", trace);
    cr_assert_eq(siltwin((const char *const[]){"diff", in_folder("k.trace"), "--against",
                                               in_folder("good.rec"), NULL},
                         &out),
                 1, "%s", out);
    cr_assert(strstr(out, "another swizzle mode: 128B on one side, none on the other"), "%s", out);
    cr_assert(strstr(out, "smem[0x200]: 0x"), "%s", out);
    free(out);
}

Test(diff, what_the_command_answers) {
    char *out;
    write_trace("probe E event of mbarrier.* cp.async.bulk*");
    write_kernel("", "", false);
    record("good.rec");
    record("bad.rec");
    cr_assert_eq(diff(&out), 0, "%s", out);
    cr_assert(strstr(out, "equal: 3 buffers, "), "%s", out);
    free(out);
    /* One side without events: nothing is said about them. */
    write_trace("");
    record("bad.rec");
    cr_assert_eq(diff(&out), 4, "%s", out);
    cr_assert(strstr(out, "only one of the records has the events"), "%s", out);
    free(out);
    const char *trace = in_folder("k.trace");
    cr_assert_eq(siltwin((const char *const[]){"diff", trace, "--repeat", "0", NULL}, &out), 2);
    free(out);
    cr_assert_eq(
        siltwin((const char *const[]){"diff", trace, "--against", "/nowhere.rec", NULL}, &out), 2);
    free(out);
    cr_assert_eq(siltwin((const char *const[]){"diff", trace, "nonsense", "more", NULL}, &out), 2);
    free(out);
    if (access("/dev/nvidia0", F_OK)) {
        cr_assert_eq(siltwin((const char *const[]){"diff", trace, NULL}, &out), 3, "%s", out);
        cr_assert(strstr(out, "no GPU"), "%s", out);
        free(out);
    }
}

/* What the machine of one side does not repeat is no difference: of events and of buffers. */
Test(diff, unstable_values_are_no_difference) {
    struct record a = {0}, b = {0}, again[2] = {0};
    struct strbuf error = {0};
    write_trace("probe E event of cvt.rn.bf16x2.f32 keep 8");
    write_kernel("", "", false);
    record("good.rec");
    write_kernel("add.u64 %desc_a_k, %desc_a, 2;", "add.u64 %desc_a_k, %desc_a, 4;", false);
    record("bad.rec");
    cr_assert_eq(record_load(in_folder("good.rec"), &a, &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("bad.rec"), &b, &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("bad.rec"), &again[0], &error), STATUS_OK);
    cr_assert_eq(record_load(in_folder("good.rec"), &again[1], &error), STATUS_OK);
    for (size_t count = 1; count <= 2; count++) {
        struct diff d = {.a = &a,
                         .b = &b,
                         .again = again,
                         .again_count = count,
                         .a_name = "sim",
                         .b_name = "gpu",
                         .json = true,
                         .findings = json_array()};
        diff_streams(&d);
        /* One repetition agrees with b: it differs from a. The second does not. */
        cr_expect_eq(d.status, count == 1 ? EXIT_DIFFERENT : EXIT_AS_EXPECTED);
        cr_expect_eq(json_array_size(d.findings), 2 - count);
        cr_expect(count == 1 ? d.counts.of_class[DIFF_UNSTABLE] == 0
                             : d.counts.of_class[DIFF_UNSTABLE] > 0);
        if (count == 2) {
            diff_records(&d); /* with the buffers */
            cr_expect_eq(d.status, EXIT_AS_EXPECTED);
        }
        diff_free(&d);
        json_decref(d.findings);
    }
    record_free(&a);
    record_free(&b);
    record_free(&again[0]);
    record_free(&again[1]);
}

/* Clocks differ between runs that take another number of steps: that is allowed. */
Test(diff, clocks_may_differ) {
    static const char text[] =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        ".reg .pred %%p; .reg .b32 %%c, %%n; mov.u32 %%n, %u; L: sub.u32 %%n, %%n, 1; "
        "setp.ne.u32 %%p, %%n, 0; @%%p bra L;\nmov.u32 %%c, %%clock;\nret; }\n";
    char ptx[512], *out;
    workdir_write(&dir, "c.trace",
                  "siltwin 1\ndevice h200\nmodule m c.ptx\nprobe R regs %c at m:7\n"
                  "probe E event of mov.u32 at m:6\nlaunch m.k grid 1 block 32\n");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(ptx, sizeof ptx, text, 1 + 5000 * i);
        workdir_write(&dir, "c.ptx", ptx);
        cr_assert_eq(siltwin((const char *const[]){"run", in_folder("c.trace"), "--quiet", "-o",
                                                   in_folder(i ? "bad.rec" : "good.rec"), NULL},
                             &out),
                     0, "%s", out);
        free(out);
    }
    cr_assert_eq(diff(&out), 0, "%s", out);
    cr_assert(
        strstr(out, "64 events\nlegal: 64 values about which machines may disagree (clock 64)"),
        "%s", out);
    free(out);
}
