/* Conversions of sm_100a that have no silicon rows yet, through PTX: fp6, fp4, ue8m0 and .rs. What
 * a value must become is found by search over the format's words. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "num_cvt.h"
#include "num_words.h"
#include "sim_run.h"
#include "support.h"

enum { THREADS = 2048, BLOCK = 256 };

struct row {
    uint32_t a, b, r, unused;
    uint64_t result;
};

/* Runs one statement of f32 %a, %b and b32 %r that leaves a b32 in %o, for THREADS rows. */
static enum status run(const char *statement, struct row rows[THREADS], struct strbuf *report) {
    struct strbuf text = {0};
    strbuf_printf(&text,
                  ".version 9.0\n.target sm_100a\n.address_size 64\n"
                  ".visible .entry k(.param .u64 rows)\n{\n.reg .f32 %%a, %%b;\n"
                  ".reg .b32 %%r, %%o, %%t, %%s, %%n, %%p;\n.reg .b16 %%h;\n.reg .b8 %%q;\n"
                  ".reg .b64 %%at, %%i, %%d;\n"
                  "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, %%ctaid.x;\nmov.u32 %%n, %%ntid.x;\n"
                  "mad.lo.u32 %%t, %%s, %%n, %%t;\nmul.wide.u32 %%i, %%t, %zu;\n"
                  "ld.param.u64 %%at, [rows];\nadd.u64 %%at, %%at, %%i;\n"
                  "ld.global.f32 %%a, [%%at];\nld.global.f32 %%b, [%%at+4];\n"
                  "ld.global.b32 %%r, [%%at+8];\n%s\ncvt.u64.u32 %%d, %%o;\n"
                  "st.global.b64 [%%at+16], %%d;\nret;\n}\n",
                  sizeof(struct row), statement);
    struct sim_run sim = sim_run_open(100, strbuf_text(&text));
    const size_t bytes = THREADS * sizeof *rows;
    const uint64_t address = sim_run_buffer(&sim, rows, bytes);
    const struct sim_run_launch launch = {
        .grid = THREADS / BLOCK, .block = BLOCK, .params = &address, .param_count = 1};
    enum status status = sim_run_launch(&sim, &launch);
    memcpy(rows, sim_run_host(&sim, address, bytes), bytes);
    strbuf_puts(report, strbuf_text(&sim.report));
    sim_run_close(&sim);
    strbuf_free(&text);
    return status;
}

static void run_ok(const char *statement, struct row rows[THREADS]) {
    struct strbuf report = {0};
    cr_assert_eq(run(statement, rows, &report), STATUS_OK, "%s", strbuf_text(&report));
    strbuf_free(&report);
}

/* Mostly numbers about the range of the small formats. */
static void fill(struct row rows[THREADS]) {
    for (uint64_t i = 0; i < THREADS; i++) {
        uint32_t word = (uint32_t)num_test_word(i, 32, 23), other = (uint32_t)hash_mix64(i);
        uint32_t exponent = 120 + (uint32_t)(i % 14);
        rows[i] = (struct row){.a = i % 4 ? (other & 0x807fffff) | exponent << 23 : word,
                               .b = (other * 7 & 0x807f0000) | exponent << 23,
                               .r = (uint32_t)hash_mix64(other)};
    }
}

/* Nearest word of the format, ties to even, by search; NaN gives the greatest. */
static uint32_t nearest(enum num_type type, uint32_t word, bool relu) {
    const struct num_format *f = num_format(type);
    float x;
    memcpy(&x, &word, sizeof x);
    if (isnan(x))
        return (uint32_t)f->max;
    if (relu && signbit(x))
        return 0;
    uint32_t best = 0;
    double best_distance = INFINITY;
    for (uint32_t candidate = 0; candidate <= f->max; candidate++) {
        struct num_wide v = num_wide_decode(type, candidate);
        double value = bits_to_f64(num_wide_encode(&v, NUM_F64, NUM_RN, false));
        double distance = fabs(fabs((double)x) - value);
        if (distance < best_distance || (distance <= best_distance && candidate % 2 == 0)) {
            best = candidate;
            best_distance = distance;
        }
    }
    bool beyond = fabsf(x) > 1000; /* of every format here; distances are all alike far out */
    return (beyond ? (uint32_t)f->max : best) | (signbit(x) ? 1u << (f->bits - 1) : 0);
}

Test(op_cvt_packed, fp6_and_fp4_from_f32_and_back) {
    static struct row rows[THREADS];
    static const struct {
        enum num_type type;
        unsigned step;
        const char *statement, *back;
    } cases[] = {
        {NUM_E2M3, 8, "cvt.rn.satfinite%s.e2m3x2.f32 %%h, %%a, %%b; cvt.u32.u16 %%o, %%h;",
         "cvt.rn.f16x2.e2m3x2 %o, %h;"},
        {NUM_E3M2, 8, "cvt.rn.satfinite%s.e3m2x2.f32 %%h, %%a, %%b; cvt.u32.u16 %%o, %%h;",
         "cvt.rn.f16x2.e3m2x2 %o, %h;"},
        {NUM_E2M1, 4, "cvt.rn.satfinite%s.e2m1x2.f32 %%q, %%a, %%b; cvt.u32.u8 %%o, %%q;",
         "cvt.rn.f16x2.e2m1x2 %o, %q;"},
    };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int relu = 0; relu < 2; relu++) {
            char statement[256], back[300];
            snprintf(statement, sizeof statement, cases[i].statement, relu ? ".relu" : "");
            fill(rows);
            run_ok(statement, rows);
            for (size_t k = 0; k < THREADS; k++) {
                uint32_t high = nearest(cases[i].type, rows[k].a, relu);
                uint32_t want = high << cases[i].step | nearest(cases[i].type, rows[k].b, relu);
                cr_assert_eq(rows[k].result, want, "%s %08x %08x: %x, should be %x", statement,
                             rows[k].a, rows[k].b, (unsigned)rows[k].result, want);
                checked++;
            }
            snprintf(back, sizeof back, "%s %s", statement, cases[i].back);
            run_ok(back, rows);
            for (size_t k = 0; k < THREADS; k++) {
                uint32_t low = nearest(cases[i].type, rows[k].b, relu);
                struct num_wide v = num_wide_decode(cases[i].type, low);
                cr_assert_eq(rows[k].result & 0xffff, num_wide_encode(&v, NUM_F16, NUM_RN, false));
            }
        }
    report_rows("fp6 and fp4 conversions", checked);
}

/* From f16x2: f32 values that are f16 ones give the same. */
Test(op_cvt_packed, fp4_from_f16x2) {
    static struct row rows[THREADS];
    fill(rows);
    for (size_t k = 0; k < THREADS; k++) {
        rows[k].a = (rows[k].b * 5 & 0x807fe000) | (uint32_t)(120 + k % 14) << 23;
        rows[k].b &= 0xffffe000;
    }
    run_ok("cvt.rn.f16x2.f32 %p, %a, %b; cvt.rn.satfinite.e2m1x2.f16x2 %q, %p; cvt.u32.u8 %o, %q;",
           rows);
    for (size_t k = 0; k < THREADS; k++)
        cr_assert_eq(rows[k].result, nearest(NUM_E2M1, rows[k].a, false) << 4 |
                                         nearest(NUM_E2M1, rows[k].b, false));
}

/* A power of two at or above (.rp), at or below (.rz) the magnitude. */
Test(op_cvt_packed, ue8m0) {
    static struct row rows[THREADS];
    for (int up = 0; up < 2; up++) {
        fill(rows);
        run_ok(up ? "cvt.rp.satfinite.ue8m0x2.f32 %h, %a, %b; cvt.u32.u16 %o, %h;"
                  : "cvt.rz.satfinite.ue8m0x2.f32 %h, %a, %b; cvt.u32.u16 %o, %h;",
               rows);
        for (size_t k = 0; k < THREADS; k++) {
            float x = fabsf(bits_to_f32(rows[k].b));
            int exponent = (int)(rows[k].result & 0xff) - 127;
            cr_assert(up ? ldexpf(1, exponent) >= x && ldexpf(1, exponent - 1) < x
                         : ldexpf(1, exponent) <= x && ldexpf(1, exponent + 1) > x,
                      "%08x", rows[k].b);
        }
        fill(rows);
        run_ok(up ? "cvt.rz.bf16x2.f32 %p, %a, %b; cvt.rp.ue8m0x2.bf16x2 %h, %p; "
                    "cvt.rn.bf16x2.ue8m0x2 %o, %h;"
                  : "cvt.rz.bf16x2.f32 %p, %a, %b; cvt.rz.ue8m0x2.bf16x2 %h, %p; "
                    "cvt.rn.bf16x2.ue8m0x2 %o, %h;",
               rows);
        for (size_t k = 0; k < THREADS; k++) {
            float x = fabsf(bits_to_f32(rows[k].b & 0xffff0000));
            float got = bits_to_f32((uint32_t)rows[k].result << 16);
            cr_assert(up ? got >= x && got / 2 < x : got <= x && got * 2 > x);
        }
    }
}

/* The result is one of the two neighbours; as many random bits as are dropped push it up exactly
 * when they and the dropped bits reach one unit. */
Test(op_cvt_packed, rs_adds_the_random_bits) {
    static struct row rows[THREADS];
    static const struct {
        const char *statement;
        unsigned dropped;
    } cases[] = {{"cvt.rs.bf16x2.f32 %o, %a, %b, %r;", 16},
                 {"cvt.rs.f16x2.f32 %o, %a, %b, %r;", 13}};
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t k = 0; k < THREADS; k++) {
            uint32_t word = (uint32_t)hash_mix64(k), other = (uint32_t)hash_mix64(word);
            rows[k] = (struct row){.a = (word & 0x807fffff) | 0x3f800000,
                                   .b = (other & 0x807fffff) | 0x40000000,
                                   .r = (uint32_t)hash_mix64(other)};
        }
        run_ok(cases[i].statement, rows);
        uint32_t mask = (1u << cases[i].dropped) - 1;
        for (size_t k = 0; k < THREADS; k++) {
            uint32_t random = rows[k].r & mask;
            bool up = (rows[k].b & mask) + random > mask;
            uint32_t kept = (rows[k].b >> cases[i].dropped) + (up ? 1 : 0);
            uint32_t low = (uint32_t)rows[k].result & 0xffff;
            uint32_t expected = cases[i].dropped == 16 ? kept : (kept & 0x3ffff) - (112u << 10);
            cr_assert_eq(low & 0x7fff, expected & 0x7fff, "%08x + %x", rows[k].b, random);
            cr_assert_eq(low >> 15, rows[k].b >> 31);
        }
    }
}

Test(op_cvt_packed, rs_to_an_f16_subnormal_is_refused) {
    static struct row rows[THREADS];
    for (size_t k = 0; k < THREADS; k++)
        rows[k] = (struct row){.a = 0x3f800000, .b = 0x38700000};
    struct strbuf report = {0};
    cr_assert_eq(run("cvt.rs.f16x2.f32 %o, %a, %b, %r;", rows, &report), STATUS_INVALID);
    cr_assert_not_null(strstr(strbuf_text(&report), "f16 subnormal"), "%s", strbuf_text(&report));
    strbuf_free(&report);
}
