/* Sums of atomics in two orders: what the order can change is within the bound, a wrong summand is
 * not. The kernel adds element (tid * step) mod 64 of its input in turn, every thread to four sums:
 * with red, a vector of red, f16 and f64; and a bulk reduction of the same numbers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "float_sum.h"
#include "workdir.h"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

static const char kernel[] =
    ".version 8.1\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 s, .param .u64 h, .param .u64 d, .param .u32 "
    "step)"
    "{\n.shared .align 16 .f32 part[4]; .reg .b32 %t, %i; .reg .b64 %x, %s, %h, %d;\n"
    ".reg .f32 %f; .reg .f64 %g; .reg .b16 %q; .reg .b32 %p;\n"
    "mov.u32 %t, %ctaid.x; ld.param.u32 %i, [step]; mul.lo.u32 %t, %t, %i; and.b32 %t, %t, 63;\n"
    "ld.param.u64 %x, [x]; ld.param.u64 %s, [s]; ld.param.u64 %h, [h]; ld.param.u64 %d, [d];\n"
    "mad.wide.u32 %x, %t, 4, %x; ld.global.f32 %f, [%x];\n"
    "red.global.add.f32 [%s], %f;\n"
    "red.global.v2.f32.add [%s+8], {%f, %f};\n"
    "cvt.rn.f16.f32 %q, %f; red.global.add.noftz.f16 [%h], %q;\n"
    "cvt.f64.f32 %g, %f; mul.rn.f64 %g, %g, 0d3fb999999999999a; red.global.add.f64 [%d], %g;\n"
    "st.shared.v4.f32 [part], {%f, %f, %f, %f}; fence.proxy.async.shared::cta;\n"
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%s+16], [part], 16;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    "ret;\n}\n";

static void record(const char *name, const char *input, int step) {
    char text[1024], arguments[64];
    workdir_write(&dir, "k.ptx", kernel);
    snprintf(
        text, sizeof text,
        "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X f32 [64] %s\n"
        "buffer S f32 [8] = 0.25 0 0 0 0 0 0 0\nbuffer H f16 [1] zeros\nbuffer D f64 [1] zeros\n"
        "launch m.k grid 64 block 1 args &X &S &H &D %d\n",
        input, step);
    workdir_write(&dir, "k.trace", text);
    snprintf(arguments, sizeof arguments, "run k.trace --quiet -o %s", name);
    cr_assert_eq(workdir_siltwin(&dir, arguments), 0, "%s%s", dir.output, dir.errors);
}

TestSuite(float_sum, .init = make_folder, .fini = remove_folder);

Test(float_sum, another_order_is_within_the_bound) {
    record("a.rec", "uniform(-1,1) seed 3", 1);
    record("b.rec", "uniform(-1,1) seed 3", 27);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec b.rec"), 0, "%s%s", dir.output, dir.errors);
    cr_assert(strstr(dir.output, "bounded: "), "%s", dir.output);
    cr_assert(strstr(dir.output, "S[0]"), "the orders differ\n%s", dir.output);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec a.rec"), 0);
    cr_assert(!strstr(dir.output, "bounded"), "%s", dir.output);
}

/* One number of the sum is another: beyond the bound everywhere. */
Test(float_sum, a_wrong_summand_differs) {
    record("a.rec", "uniform(-1,1) seed 3", 1);
    record("b.rec", "uniform(-1,1) seed 4", 27);
    cr_assert_eq(workdir_siltwin(&dir, "diff a.rec b.rec"), 1, "%s%s", dir.output, dir.errors);
    cr_assert(strstr(dir.output, "first difference at S[0]"), "%s", dir.output);
    cr_assert(strstr(dir.output, "first difference at H[0]"), "%s", dir.output);
    cr_assert(strstr(dir.output, "first difference at D[0]"), "%s", dir.output);
}

/* The bound itself, by hand: n = 4, u = 2^-24, magnitude 8. */
Test(float_sum, bound_of_an_entry) {
    struct strbuf bytes = {0};
    struct float_sum_sink sink = {&bytes, 1000};
    float_sum_put(&sink, 1008, SILTWIN_SIM_F32, 4, 8.0);
    float_sum_put(&sink, 1016, SILTWIN_SIM_F32, 4, 8.0);
    const struct record_buffer with = {.sums = (uint8_t *)bytes.text, .sums_bytes = bytes.length};
    const struct record_buffer without = {0};
    const float base = 1, near = 1 + 31 * 0x1p-23F, far = 1 + 33 * 0x1p-23F;
    const uint8_t *p = (const uint8_t *)&base;
    cr_assert_eq(bytes.length, 2 * FLOAT_SUM_BYTES);
    /* 2 * 4 * 2^-24 * 8 = 32 * 2^-23, and hardly more */
    cr_assert(float_sum_allows(&with, &without, 8, 8, 4, p, (const uint8_t *)&near));
    cr_assert(float_sum_allows(&without, &with, 8, 16, 4, p, (const uint8_t *)&near));
    cr_assert(!float_sum_allows(&with, &without, 8, 8, 4, p, (const uint8_t *)&far));
    cr_assert(!float_sum_allows(&with, &without, 12, 12, 4, p, (const uint8_t *)&near));
    cr_assert(!float_sum_allows(&without, &without, 8, 8, 4, p, (const uint8_t *)&near));
    cr_assert(!float_sum_allows(&with, &without, 8, 8, 2, p, (const uint8_t *)&near));
    strbuf_free(&bytes);
}
