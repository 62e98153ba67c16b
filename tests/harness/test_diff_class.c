/* Classes of differences: two records of one run, one of them changed in one place, must differ by
 * exactly the class that the place has. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff.h"
#include "stream.h"
#include "workdir.h"

static struct workdir dir;
static struct record a, b, again[1];

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(diff_class, .init = make_folder, .fini = remove_folder);

/* Runs the kernel and reads its record three times. */
static void run_kernel(const char *device, const char *ptx, const char *probes,
                       const char *options) {
    char text[4096], arguments[256];
    struct strbuf error = {0};
    workdir_write(&dir, "k.ptx", ptx);
    snprintf(text, sizeof text,
             "siltwin 1\ndevice %s\nmodule m k.ptx\nbuffer X u32 [256] zeros\n%s\n"
             "launch m.k grid 2 block 32 args &X\n",
             device, probes);
    workdir_write(&dir, "k.trace", text);
    snprintf(arguments, sizeof arguments, "run k.trace --quiet -o k.rec %s", options);
    cr_assert_eq(workdir_siltwin(&dir, arguments), 0, "%s%s", dir.output, dir.errors);
    struct record *const records[] = {&a, &b, &again[0]};
    for (int i = 0; i < 3; i++)
        cr_assert_eq(record_load(workdir_file(&dir, "k.rec"), records[i], &error), STATUS_OK, "%s",
                     strbuf_text(&error));
}

static void free_records(void) {
    record_free(&a);
    record_free(&b);
    record_free(&again[0]);
}

/* Adds `delta` to a value of lane 0 of CTA 0 at a line of the kernel, at its first visit. */
static void change(struct record *record, uint32_t line, const char *name, uint64_t delta) {
    const struct record_stream *stored = &record->streams[0];
    struct stream s;
    const char *why;
    bool changed = false;
    cr_assert(stream_read(stored->json, stored->bytes, stored->size, &s, &why), "%s", why);
    for (size_t i = 0; i < s.event_count && !changed; i++) {
        const struct stream_place *place = &s.places[s.events[i].place];
        for (uint32_t v = 0; place->line == line && v < place->value_count && !changed; v++)
            if (!strcmp(place->values[v].name, name)) {
                uint64_t *words = (uint64_t *)(uintptr_t)s.events[i].words;
                words[place->values[v].offset_bytes / 8] += delta;
                changed = true;
            }
    }
    stream_free(&s);
    cr_assert(changed, "line %u has no value %s", line, name);
}

static void change_buffer(struct record *record, uint32_t index) {
    cr_assert(record->buffers[0].bytes);
    record->buffers[0].bytes[4 * index] ^= 1;
}

/* Compares a with b; `repeats` more runs of b's machine. */
static struct diff_counts compare(size_t repeats, int expected) {
    struct diff d = {.a = &a,
                     .b = &b,
                     .again = again,
                     .again_count = repeats,
                     .a_name = "sim",
                     .b_name = "gpu",
                     .findings = json_array()};
    diff_records(&d);
    cr_expect_eq(d.status, expected, "exit %d, expected %d", d.status, expected);
    json_decref(d.findings);
    return d.counts;
}

/* One change of b: exactly one value of the class. */
static void check_change(uint32_t line, const char *name, uint64_t delta, enum diff_class class) {
    change(&b, line, name, delta);
    const struct diff_counts counts = compare(0, diff_class_status(class));
    for (int i = 0; i < DIFF_CLASS_COUNT; i++)
        cr_expect_eq(counts.of_class[i], i == (int)class, "line %u, %s%+lld: %llu of class %s",
                     line, name, (long long)delta, (unsigned long long)counts.of_class[i],
                     diff_class_word((enum diff_class)i));
    change(&b, line, name, 0 - delta);
}

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"
#define REGS                                                                                       \
    ".shared .align 16 .b64 bar; .visible .entry k(.param .u64 x) {\n"                             \
    ".reg .pred %p, %q; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %d<10>; .reg .f32 %f<20>; "   \
    ".reg .f64 %g<10>;\n"

/* Lines 6, 7, ...: one source each. */
static const char sources[] =
    HEAD("8.0", "sm_90a") REGS "mov.u32 %r1, %clock;\n" /* 6 */
                               "mov.u32 %r2, %clock_hi;\n"
                               "mov.u64 %d1, %clock64;\n"
                               "mov.u64 %d2, %globaltimer;\n"
                               "mov.u32 %r3, %globaltimer_lo;\n" /* 10 */
                               "mov.u32 %r4, %smid;\n"
                               "mov.u32 %r5, %nsmid;\n"
                               "mov.u32 %r6, %warpid;\n"
                               "mov.u32 %r7, %nwarpid;\n"
                               "mov.u64 %d3, %gridid;\n" /* 15 */
                               "elect.sync %r8|%p, 0xffffffff;\n"
                               "activemask.b32 %r9;\n"
                               "ld.param.u64 %d4, [x];\n"
                               "atom.global.add.u32 %r10, [%d4], 1;\n"
                               "mov.u32 %r11, %tid.x;\n" /* 20 */
                               "mbarrier.init.shared.b64 [bar], 64; bar.sync 0;\n"
                               "mbarrier.arrive.shared.b64 %d5, [bar];\n"
                               "mbarrier.pending_count.b64 %r12, %d5;\n"
                               "add.u32 %r13, %r1, 1;\n"
                               "add.u32 %r14, %r10, 1;\n" /* 25 */
                               "add.u32 %r15, %r11, 1;\n"
                               "ret;\n}\n";

Test(diff_class, what_machines_may_disagree_about) {
    static const struct {
        uint32_t line;
        const char *value;
        enum diff_class class;
        enum probe_why why;
    } rows[] = {{6, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {7, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {8, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {9, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {10, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {11, "d", DIFF_LEGAL, PROBE_WHY_ID},
                {12, "d", DIFF_LEGAL, PROBE_WHY_ID},
                {13, "d", DIFF_LEGAL, PROBE_WHY_ID},
                {14, "d", DIFF_LEGAL, PROBE_WHY_ID},
                {15, "d", DIFF_LEGAL, PROBE_WHY_ID},
                {16, "d.0", DIFF_LEGAL, PROBE_WHY_ELECTED},
                {16, "d.1", DIFF_LEGAL, PROBE_WHY_ELECTED},
                {17, "d", DIFF_LEGAL, PROBE_WHY_ACTIVE},
                {19, "d", DIFF_LEGAL, PROBE_WHY_ATOMIC},
                {20, "d", DIFF_DIFFERS, PROBE_WHY_NONE},
                {23, "count", DIFF_LEGAL, PROBE_WHY_TOKEN},
                {24, "%d5", DIFF_LEGAL, PROBE_WHY_TOKEN},
                {24, "a", DIFF_LEGAL, PROBE_WHY_CLOCK},
                {24, "d", DIFF_LEGAL, PROBE_WHY_CLOCK},
                /* The atomic itself agreed: what is computed from it must agree too. */
                {25, "a", DIFF_LEGAL, PROBE_WHY_ATOMIC},
                {25, "d", DIFF_DIFFERS, PROBE_WHY_NONE},
                {26, "a", DIFF_DIFFERS, PROBE_WHY_NONE},
                {26, "d", DIFF_DIFFERS, PROBE_WHY_NONE}};
    run_kernel("h200", sources, "probe E event of *\nprobe R regs %d5 at m:24", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_change(rows[i].line, rows[i].value, 1, rows[i].class);
        change(&b, rows[i].line, rows[i].value, 1);
        const struct diff_counts counts = compare(0, diff_class_status(rows[i].class));
        cr_expect_eq(counts.legal_by[rows[i].why], rows[i].class == DIFF_LEGAL, "line %u %s",
                     rows[i].line, rows[i].value);
        change(&b, rows[i].line, rows[i].value, UINT64_MAX);
    }
    /* It did not: the sum may differ with it. */
    change(&b, 19, "d", 1);
    change(&b, 25, "d", 1);
    cr_expect_eq(compare(0, EXIT_AS_EXPECTED).legal_by[PROBE_WHY_ATOMIC], 2);
    free_records();
}

static const char sums[] =
    HEAD("8.0", "sm_90a") REGS "mov.f32 %f1, 0f3F8CCCCD; mov.f64 %g1, 0d3FF3C0CA428C59FB;\n" /* 6 */
                               "mov.b32 %r1, 0x3C013E03;\n"
                               "mul.f32 %f2, %f1, %f1;\n" /* 8 */
                               "add.f32 %f3, %f2, %f1;\n"
                               "mul.f64 %g2, %g1, %g1;\n" /* 10 */
                               "sub.f64 %g3, %g1, %g2;\n"
                               "mul.f16x2 %r2, %r1, %r1;\n" /* 12 */
                               "add.f16x2 %r3, %r2, %r1;\n"
                               "mul.rn.f32 %f4, %f1, %f1;\n" /* 14 */
                               "add.f32 %f5, %f4, %f1;\n"
                               "mul.f32 %f6, %f1, %f1;\n" /* 16 */
                               "add.rn.f32 %f7, %f6, %f1;\n"
                               "mul.ftz.f32 %f8, %f1, %f1;\n" /* 18 */
                               "add.f32 %f9, %f8, %f1;\n"
                               "add.rn.f32 %f10, %f3, %f1;\n" /* 20 */
                               "neg.f32 %f11, %f10;\n"
                               "bar.sync 0;\n" /* 22 */
                               "ret;\n}\n";

/* The products are not recorded: a probe's use of them would keep them apart (the second trace). */
Test(diff_class, contraction_where_ptxas_fuses) {
    static const struct {
        const char *value;
        enum diff_class class;
    } rows[] = {{"%f3", DIFF_LEGAL},   {"%g3", DIFF_LEGAL},   {"%r3", DIFF_LEGAL},
                {"%f5", DIFF_DIFFERS}, {"%f7", DIFF_DIFFERS}, {"%f9", DIFF_DIFFERS},
                {"%f10", DIFF_LEGAL},  {"%f11", DIFF_LEGAL}};
    static const char probes[] = "probe R regs %f3 %g3 %r3 %f5 %f7 %f9 %f10 %f11 at m:22";
    run_kernel("h200", sums, probes, "--as-written");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_change(22, rows[i].value, 1, rows[i].class);
    change(&b, 22, "%f3", 1);
    cr_expect_eq(compare(0, EXIT_AS_EXPECTED).legal_by[PROBE_WHY_CONTRACTION], 1);
    free_records();
    run_kernel("h200", sums, "probe R regs %f3 %f2 at m:22\nprobe E event of sub*", "--as-written");
    check_change(22, "%f3", 1, DIFF_DIFFERS);
    check_change(11, "d", 1, DIFF_DIFFERS);
    free_records();
    /* A probe that rewrites nothing needs no product. */
    run_kernel("h200", sums, "probe R regs %f3 at m:22\nprobe Q regs %f2 at m:22 [sim]",
               "--as-written");
    check_change(22, "%f3", 1, DIFF_LEGAL);
    free_records();
    /* With .rn, as modules are loaded else, nothing is fused. */
    run_kernel("h200", sums, probes, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_change(22, rows[i].value, 1, DIFF_DIFFERS);
    free_records();
}

/* What an H200 computed of 13 such pairs, eight of them fused (driver 13.0, 2026-11-30): the record
 * runs again here, and all that differs is contraction. */
Test(diff_class, contraction_on_an_h200) {
    static const char record[] = SILTWIN_ROOT "/tests/harness/data/contraction_h200.rec";
    char arguments[256];
    snprintf(arguments, sizeof arguments, "run %s -o sim.rec --quiet", record);
    cr_assert_eq(workdir_siltwin(&dir, arguments), 0, "%s", dir.errors);
    snprintf(arguments, sizeof arguments, "diff sim.rec %s", record);
    cr_assert_eq(workdir_siltwin(&dir, arguments), 0, "%s%s", dir.output, dir.errors);
    cr_expect(
        strstr(dir.output, "legal: 86 values about which machines may disagree (contraction 86)"),
        "%s", dir.output);
}

/* Packed f32 is fused even with .rn. */
Test(diff_class, packed_f32_is_fused_always) {
    run_kernel("b200",
               HEAD("8.6", "sm_100a") REGS "mov.b64 %d1, 0x3F8CCCCD3F8CCCCD;\n"
                                           "mul.rn.f32x2 %d2, %d1, %d1;\n" /* 7 */
                                           "add.rn.f32x2 %d3, %d2, %d1;\n"
                                           "bar.sync 0;\n"
                                           "ret;\n}\n",
               "probe R regs %d1 %d3 at m:9", "");
    check_change(9, "%d1", 1, DIFF_DIFFERS);
    check_change(9, "%d3", 1, DIFF_LEGAL);
    free_records();
}

#define APPROX(version, target)                                                                    \
    HEAD(version, target)                                                                          \
    REGS "mov.f32 %f1, 0f3F8CCCCD; ld.param.u64 %d1, [x];\n" /* 6 */                               \
         "ex2.approx.ftz.f32 %f2, %f1;\n"                                                          \
         "mul.rn.f32 %f3, %f2, %f1;\n" /* 8 */                                                     \
         "bar.sync 0;\n"                                                                           \
         "lg2.approx.f32 %f4, %f1;\n"                                                              \
         "st.global.f32 [%d1+4], %f2;\n" /* 11 */                                                  \
         "ret;\n}\n"

Test(diff_class, documented_bounds_belong_to_their_instruction) {
    static const char probes[] = "probe E event of ex2* mul* lg2* st*\nprobe R regs %f2 %f3 at m:9";
    run_kernel("b200", APPROX("8.6", "sm_100a"), probes, "");
    check_change(7, "d", 1, DIFF_BOUNDED);
    check_change(7, "d", 3, DIFF_DIFFERS);
    check_change(7, "a", 1, DIFF_DIFFERS);
    check_change(8, "d", 1, DIFF_DIFFERS);
    check_change(9, "%f2", 2, DIFF_BOUNDED); /* each may be 2 ulp from the exact value */
    check_change(9, "%f2", 5, DIFF_DIFFERS);
    check_change(9, "%f3", 1, DIFF_DIFFERS);
    check_change(10, "d", 1, DIFF_BOUNDED);
    check_change(10, "d", 40, DIFF_DIFFERS); /* 2^-22 is 2^4 and a bit of its ulps */
    /* The product of a result within its bound follows from it. */
    change(&b, 7, "d", 1);
    change(&b, 8, "a", 1);
    change(&b, 8, "d", 1);
    change(&b, 9, "%f3", 1);
    const struct diff_counts counts = compare(0, EXIT_NO_VERDICT);
    cr_expect_eq(counts.of_class[DIFF_BOUNDED], 2);
    cr_expect_eq(counts.of_class[DIFF_DOWNSTREAM], 1); /* of a thread the first */
    cr_expect_eq(counts.of_class[DIFF_DIFFERS], 0);
    free_records();
    /* An H200 is simulated bit for bit. */
    run_kernel("h200", APPROX("8.0", "sm_90a"), probes, "");
    check_change(7, "d", 1, DIFF_DIFFERS);
    free_records();
}

/* ---- buffers ---- */

static const char stores[] =
    HEAD("8.0", "sm_90a") REGS "mov.u32 %r1, %clock; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x;\n"
                               "ld.param.u64 %d1, [x]; mul.wide.u32 %d2, %r3, 8; "
                               "mul.wide.u32 %d3, %r2, 256; add.u64 %d2, %d2, %d3; "
                               "add.u64 %d2, %d2, %d1;\n"
                               "st.global.u32 [%d2], %r1;\n"   /* 8 */
                               "st.global.u32 [%d2+4], %r3;\n" /* 9 */
                               "ret;\n}\n";

Test(diff_class, stores_that_probes_saw_decide_about_buffers) {
    run_kernel("h200", stores, "probe E event of st*", "");
    /* The clock that lane 0 stored, and its element. */
    change(&b, 8, "b", 1);
    change_buffer(&b, 0);
    struct diff_counts counts = compare(0, EXIT_AS_EXPECTED);
    cr_expect_eq(counts.of_class[DIFF_LEGAL], 2);
    /* The element beside it has a thread's number. */
    change_buffer(&b, 1);
    counts = compare(0, EXIT_NO_VERDICT);
    cr_expect_eq(counts.of_class[DIFF_DOWNSTREAM], 1);
    free_records();
    /* Nothing was seen to differ. */
    run_kernel("h200", stores, "probe E event of st*", "");
    change_buffer(&b, 1);
    counts = compare(0, EXIT_DIFFERENT);
    cr_expect_eq(counts.of_class[DIFF_DIFFERS], 1);
    free_records();
    /* That a clock is stored somewhere is known, but not where. */
    run_kernel("h200", stores, "probe R regs %r1 at m:8", "");
    change(&b, 8, "%r1", 1);
    change_buffer(&b, 0);
    counts = compare(0, EXIT_NO_VERDICT);
    cr_expect_eq(counts.of_class[DIFF_LEGAL], 1);
    cr_expect_eq(counts.of_class[DIFF_DOWNSTREAM], 1);
    free_records();
    /* Without a probe there is no excuse. */
    run_kernel("h200", stores, "", "");
    change_buffer(&b, 0);
    cr_expect_eq(compare(0, EXIT_DIFFERENT).of_class[DIFF_DIFFERS], 1);
    free_records();
}

/* Both CTAs store X[0]: which of them comes last is nobody's promise. */
static const char races[] =
    HEAD("8.0", "sm_90a") REGS "mov.u32 %r2, %ctaid.x; ld.param.u64 %d1, [x];\n"
                               "%s\n" /* 7 */
                               "st.global.u32 [%d1], %r2;\n"
                               "ret;\n}\n";

Test(diff_class, elements_that_ctas_race_for) {
    char ptx[2048];
    for (int talks = 0; talks <= 1; talks++) {
        const char *at = strstr(races, "%s");
        snprintf(ptx, sizeof ptx, "%.*s%s%s", (int)(at - races), races,
                 talks ? "ld.acquire.gpu.global.u32 %r4, [%d1+8];" : "", at + 2);
        run_kernel("h200", ptx, "probe E event of st* cta 0..1", "");
        change_buffer(&b, 0);
        const enum diff_class class = talks ? DIFF_DIFFERS : DIFF_UNORDERED;
        cr_expect_eq(compare(0, EXIT_DIFFERENT).of_class[class], 1);
        free_records();
    }
}

/* ---- --repeat ---- */

Test(diff_class, what_a_machine_does_not_repeat) {
    run_kernel("h200", stores, "probe E event of st*", "");
    change(&b, 9, "b", 1);
    change_buffer(&b, 1);
    cr_expect_eq(compare(0, EXIT_DIFFERENT).of_class[DIFF_UNSTABLE], 0);
    struct diff_counts counts = compare(1, EXIT_AS_EXPECTED);
    cr_expect_eq(counts.of_class[DIFF_UNSTABLE], 2);
    cr_expect_eq(counts.of_class[DIFF_DIFFERS], 0);
    /* The repetition agrees with the first run: a difference. */
    change(&again[0], 9, "b", 1);
    change_buffer(&again[0], 1);
    counts = compare(1, EXIT_DIFFERENT);
    cr_expect_eq(counts.of_class[DIFF_UNSTABLE], 0);
    cr_expect_eq(counts.of_class[DIFF_DIFFERS], 2);
    free_records();
}

/* ---- what the command prints ---- */

Test(diff_class, classes_are_in_text_and_json) {
    char ptx[2048];
    for (int i = 0; i < 2; i++) {
        snprintf(ptx, sizeof ptx, "%s%s%s", HEAD("8.0", "sm_90a") REGS "mov.u32 %r1, ",
                 i ? "5000" : "1",
                 ";\nL: sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra L;\n"
                 "mov.u32 %r2, %clock;\nret;\n}\n");
        run_kernel("h200", ptx, "probe E event of mov.u32 at m:8", "");
        rename(workdir_file(&dir, "k.rec"), workdir_file(&dir, i ? "b.rec" : "a.rec"));
        free_records();
    }
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec b.rec"), 0, "%s", dir.output);
    cr_expect(strstr(dir.output, "legal: 32 values about which machines may disagree (clock 32)"),
              "%s", dir.output);
    cr_expect(
        strstr(dir.output, "  first: launch 1, cta 0, warp 0, lane 0, visit 0, k.ptx:8:1: d: "),
        "%s", dir.output);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec b.rec --json"), 0, "%s", dir.output);
    json_t *json = json_loads(dir.output, 0, NULL);
    cr_assert(json, "%s", dir.output);
    json_t *classes = json_object_get(json, "classes");
    cr_expect_eq(json_integer_value(json_object_get(classes, "legal")), 32);
    cr_expect_eq(json_integer_value(json_object_get(classes, "differs")), 0);
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(json, "legal_by"), "clock")),
                 32);
    cr_expect(json_string_value(json_object_get(json_object_get(json, "first"), "legal")));
    json_decref(json);
}
