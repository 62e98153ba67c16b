/* The approximate functions against the H200, through PTX text, parser and executor: bit for bit
 * but tanh.approx.f32, which is within a bound and exact for specials (NaN, infinities, zeros). The
 * bound is the manual's distance from the true value, as ours is the true value rounded once (half
 * a unit more). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "num_cvt.h"
#include "num_f64.h"
#include "scalar_run.h"
#include "support.h"

/* A result is right when one of the bounds that are not zero holds. */
struct bound {
    const char *form; /* the mnemonic */
    double ulp;       /* units in the last place of the H200's result */
    double absolute;
    double relative;
    const char *source;
};

static const struct bound bounds[] = {
    {"rcp.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"rcp.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"div.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"div.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"div.full.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"div.full.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"sqrt.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"sqrt.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"rsqrt.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"rsqrt.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"lg2.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"lg2.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"ex2.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"ex2.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"sin.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"sin.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"cos.approx.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"cos.approx.ftz.f32", 0, 0, 0, "exact: num_sfu.c"},
    {"tanh.approx.f32", 0.5, 0, 0x1p-11, "manual: relative 2^-11"},
    {"rcp.approx.ftz.f64", 0, 0, 0, "exact: num_sfu.c"},
    {"rsqrt.approx.ftz.f64", 0, 0, 0, "exact: num_sfu.c"},
    {"rsqrt.approx.f64", 0, 0, 0, "measured: correctly rounded"},
    {"ex2.approx.f16", 0, 0, 0, "measured: cut, all operands"},
    {"ex2.approx.f16x2", 0, 0, 0, "the same"},
    {"tanh.approx.f16", 0, 0, 0, "measured: all operands"},
    {"tanh.approx.f16x2", 0, 0, 0, "measured: all operands"},
    {"ex2.approx.ftz.bf16", 0, 0, 0, "the same"},
    {"ex2.approx.ftz.bf16x2", 0, 0, 0, "the same"},
    {"tanh.approx.bf16", 0, 0, 0, "measured: all operands"},
    {"tanh.approx.bf16x2", 0, 0, 0, "measured: all operands"},
};
enum { BOUND_COUNT = sizeof bounds / sizeof *bounds };

struct seen {
    size_t rows, same, outside;
    double ulp, absolute, relative; /* greatest */
};

static size_t bound_of(const struct scalar_form *form) {
    size_t length = strcspn(form->ptx, " ");
    for (size_t i = 0; i < BOUND_COUNT; i++)
        if (strlen(bounds[i].form) == length && strncmp(bounds[i].form, form->ptx, length) == 0)
            return i;
    return BOUND_COUNT;
}

static bool has_bound(const struct scalar_form *form) {
    bool approximate = strstr(form->ptx, ".approx") != NULL || strstr(form->ptx, ".full") != NULL;
    if (approximate)
        cr_assert_lt(bound_of(form), (size_t)BOUND_COUNT, "no bound for %s", form->ptx);
    return approximate;
}

static enum num_type element_type(const char *name) {
    if (strncmp(name, "f64", 3) == 0)
        return NUM_F64;
    if (strncmp(name, "f32", 3) == 0)
        return NUM_F32;
    return name[0] == 'b' ? NUM_BF16 : NUM_F16;
}

static double value_of(enum num_type type, uint64_t word) {
    struct num_wide x = num_wide_decode(type, word);
    return bits_to_f64(num_wide_encode(&x, NUM_F64, NUM_RN, false));
}

/* Distance of two finite words of one sign in units of the last place. */
static double ulps(enum num_type type, uint64_t a, uint64_t b) {
    uint64_t sign = UINT64_C(1) << (num_format(type)->bits - 1);
    int64_t x = (int64_t)(a & ~sign), y = (int64_t)(b & ~sign);
    x = a & sign ? -x : x;
    y = b & sign ? -y : y;
    return (double)(x > y ? x - y : y - x);
}

static double greater(double a, double b) {
    return a > b ? a : b;
}

static bool judge_one(struct seen *seen, const struct bound *bound, enum num_type type,
                      uint64_t want, uint64_t got) {
    seen->rows++;
    seen->same += want == got;
    if (want == got)
        return true;
    double w = value_of(type, want), g = value_of(type, got);
    if (isnan(w) || isnan(g) || isinf(w) || isinf(g))
        return false;
    double units = ulps(type, want, got), distance = fabs(w - g);
    double relative = w == 0 ? INFINITY : distance / fabs(w);
    seen->ulp = greater(seen->ulp, units);
    seen->absolute = greater(seen->absolute, distance);
    if (w != 0)
        seen->relative = greater(seen->relative, relative);
    /* Half a unit of our own rounding comes on top of an absolute or relative bound. */
    double half_unit = bound->ulp == 0.5 ? distance / units / 2 : 0;
    return (bound->ulp > 0.5 && units <= bound->ulp) ||
           (bound->absolute > 0 && distance <= bound->absolute + half_unit) ||
           (bound->relative > 0 && distance <= bound->relative * fabs(w) + half_unit);
}

static void judge(void *ctx, const struct scalar_form *form, const struct scalar_row *row,
                  uint64_t got) {
    size_t index = bound_of(form);
    struct seen *seen = (struct seen *)ctx + index;
    enum num_type type = element_type(form->result);
    unsigned bits = num_format(type)->bits;
    bool packed = strstr(form->result, "x2") != NULL;
    for (unsigned shift = 0; shift < (packed ? 32u : 1u); shift += 16) {
        uint64_t want = bits_get(row->out, shift, bits), result = bits_get(got, shift, bits);
        if (!judge_one(seen, &bounds[index], type, want, result) && seen->outside++ < 3)
            fprintf(stderr, "%s a %llx b %llx: %llx, the H200 says %llx\n", form->ptx,
                    (unsigned long long)row->in[0], (unsigned long long)row->in[1],
                    (unsigned long long)result, (unsigned long long)want);
    }
}

Test(op_approx, every_function_within_its_bound) {
    struct scalar_oracle oracle = scalar_oracle_open();
    struct seen seen[BOUND_COUNT] = {0};
    struct scalar_run run = {has_bound, judge, seen};
    size_t rows = scalar_run(&oracle, &run), outside = 0;
    for (size_t i = 0; i < BOUND_COUNT; i++) {
        printf("%-22s %4zu results, %4zu the same, at most %g ulp, %.3g absolute, %.3g relative "
               "(%s)\n",
               bounds[i].form, seen[i].rows, seen[i].same, seen[i].ulp, seen[i].absolute,
               seen[i].relative, bounds[i].source);
        outside += seen[i].outside;
        cr_assert_gt(seen[i].rows, 0, "no row of %s", bounds[i].form);
    }
    report_rows("scalar/hw-H200-scalar.csv.gz: approximate functions", rows);
    scalar_oracle_close(&oracle);
    cr_assert_eq(outside, 0);
}
