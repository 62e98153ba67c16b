/* Bounds of approximate instructions: the simulator's own results are within every documented one,
 * on all of whose operands an H200 was asked; results beyond are not. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "diff_bound.h"
#include "num_approx.h"
#include "support.h"

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t rcp(uint64_t a, uint64_t b, bool ftz) {
    (void)b;
    return num_approx_rcp((uint32_t)a, ftz);
}

static uint64_t divide(uint64_t a, uint64_t b, bool ftz) {
    return num_approx_div((uint32_t)a, (uint32_t)b, ftz);
}

static uint64_t divide_full(uint64_t a, uint64_t b, bool ftz) {
    return num_approx_div_full((uint32_t)a, (uint32_t)b, ftz);
}

static uint64_t root(uint64_t a, uint64_t b, bool ftz) {
    (void)b;
    return num_approx_sqrt((uint32_t)a, ftz);
}

static uint64_t rsqrt(uint64_t a, uint64_t b, bool ftz) {
    (void)b;
    return num_approx_rsqrt((uint32_t)a, ftz);
}

static uint64_t sine(uint64_t a, uint64_t b, bool ftz) {
    (void)b, (void)ftz;
    return num_approx_sin((uint32_t)a);
}

static uint64_t cosine(uint64_t a, uint64_t b, bool ftz) {
    (void)b, (void)ftz;
    return num_approx_cos((uint32_t)a);
}

static uint64_t lg2(uint64_t a, uint64_t b, bool ftz) {
    (void)b;
    return num_approx_lg2((uint32_t)a, ftz);
}

static uint64_t ex2(uint64_t a, uint64_t b, bool ftz) {
    (void)b;
    return num_approx_ex2((uint32_t)a, ftz);
}

static uint64_t hyperbolic(uint64_t a, uint64_t b, bool ftz) {
    (void)b, (void)ftz;
    return num_approx_tanh((uint32_t)a);
}

static const struct {
    const char *name;
    uint64_t (*function)(uint64_t a, uint64_t b, bool ftz);
    float low, high; /* arguments */
    int beyond;      /* ulps that are too many at 1.25 */
} functions[] = {
    {"rcp.approx.f32", rcp, 1e-37f, 1e37f, 2},
    {"rcp.approx.ftz.f32", rcp, 1e-37f, 1e37f, 2},
    {"div.approx.f32", divide, 1e-18f, 1e18f, 4},
    {"div.approx.ftz.f32", divide, 1e-18f, 1e18f, 4},
    {"div.full.f32", divide_full, 1e-18f, 1e18f, 4},
    {"sqrt.approx.f32", root, 1e-37f, 1e37f, 4},
    {"sqrt.approx.ftz.f32", root, 1e-37f, 1e37f, 4},
    {"rsqrt.approx.f32", rsqrt, 1e-37f, 1e37f, 4},
    {"rsqrt.approx.ftz.f32", rsqrt, 1e-37f, 1e37f, 4},
    {"sin.approx.f32", sine, -6.2f, 6.2f, 32},
    {"cos.approx.f32", cosine, -4.6f, 4.6f, 64}, /* diff_bound.def: not near 3 pi / 2 */
    {"sin.approx.f32", sine, -310.f, 310.f, 2000},
    {"lg2.approx.f32", lg2, 1e-37f, 1e37f, 64},
    {"lg2.approx.ftz.f32", lg2, 0.5f, 2.f, 64},
    {"ex2.approx.f32", ex2, -120.f, 120.f, 4},
    {"ex2.approx.ftz.f32", ex2, -120.f, 120.f, 4},
    {"tanh.approx.f32", hyperbolic, -10.f, 10.f, 16384},
};

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

/* Between low and high; where both are positive, evenly by exponent. */
static float argument(uint64_t *state, float low, float high) {
    const double part = (double)next(state) / 2147483648.0;
    if (low > 0)
        return (float)(low * pow(high / low, part));
    return (float)(low + (high - low) * part);
}

Test(diff_bound, what_is_simulated_is_within_the_documentation) {
    enum { ARGUMENTS = 20000 };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool ftz;
        const struct diff_bound *bound = diff_bound_find(functions[i].name, &ftz);
        cr_assert(bound, "%s", functions[i].name);
        cr_expect(diff_bound_is_exact(bound, 90));
        cr_expect_not(diff_bound_is_exact(bound, 100));
        uint64_t state = i;
        for (int k = 0; k < ARGUMENTS; k++) {
            const uint32_t x = bits_of(argument(&state, functions[i].low, functions[i].high));
            const uint32_t y = bits_of(argument(&state, functions[i].low, functions[i].high));
            const struct diff_result r = {.word = functions[i].function(x, y, ftz),
                                          .operands = {x, y},
                                          .known = {true, true}};
            cr_assert(diff_bound_holds(bound, ftz, &r, &r), "%s(%08x, %08x) = %08x",
                      functions[i].name, x, y, (uint32_t)r.word);
            checked++;
        }
    }
    report_rows("approximate results within their bounds", checked);
}

Test(diff_bound, what_is_beyond_is_not) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool ftz;
        const struct diff_bound *bound = diff_bound_find(functions[i].name, &ftz);
        const uint64_t x = bits_of(1.25f), y = bits_of(0.75f);
        const struct diff_result good = {
            .word = functions[i].function(x, y, ftz), .operands = {x, y}, .known = {true, true}};
        struct diff_result bad = good;
        bad.word += (uint64_t)functions[i].beyond;
        cr_expect_not(diff_bound_holds(bound, ftz, &good, &bad), "%s", functions[i].name);
        bad.word = good.word ^ 0x80000000;
        cr_expect_not(diff_bound_holds(bound, ftz, &bad, &good), "%s", functions[i].name);
    }
}

static bool holds(const char *name, uint64_t a, uint64_t b) {
    bool ftz;
    const struct diff_bound *bound = diff_bound_find(name, &ftz);
    const struct diff_result x = {.word = a}, y = {.word = b};
    cr_assert(bound, "%s", name);
    return diff_bound_holds(bound, ftz, &x, &y);
}

Test(diff_bound, operands_that_are_not_known) {
    cr_expect(holds("ex2.approx.f32", 0x3f800000, 0x3f800004));
    cr_expect_not(holds("ex2.approx.f32", 0x3f800000, 0x3f800005));
    cr_expect(holds("tanh.approx.f16", 0x3800, 0x3802));
    cr_expect_not(holds("tanh.approx.f16", 0x3800, 0x3804));
    /* Each half on its own. */
    cr_expect(holds("tanh.approx.f16x2", 0x38003800, 0x38023800));
    cr_expect_not(holds("tanh.approx.f16x2", 0x38003800, 0x38043800));
    cr_expect(holds("ex2.approx.ftz.bf16", 0x3f80, 0x3f81));
    cr_expect_not(holds("ex2.approx.ftz.bf16", 0x3f80, 0x3f84));
    /* NaN has no one word; a subnormal may be flushed where .ftz is written. */
    cr_expect(holds("ex2.approx.f32", 0x7fffffff, 0x7fc00000));
    cr_expect_not(holds("ex2.approx.f32", 0x7fffffff, 0x3f800000));
    cr_expect(holds("ex2.approx.ftz.f32", 0x00700000, 0));
    cr_expect_not(holds("ex2.approx.f32", 0x00700000, 0));
    /* The bound of a sine depends on its argument; of these none is documented. */
    cr_expect_not(holds("sin.approx.f32", 0x3f000000, 0x3f000001));
    cr_expect_not(holds("div.approx.f32", 0x3f000000, 0x3f000001));
    cr_expect_not(holds("rcp.approx.ftz.f64", 0x3ff0000000000000, 0x3ff0000100000000));
}

Test(diff_bound, other_instructions_have_none) {
    bool ftz;
    cr_expect_null(diff_bound_find("add.f32", &ftz));
    cr_expect_null(diff_bound_find("ex2.approx.f64", &ftz));
    struct strbuf text = {0};
    diff_bound_text(diff_bound_find("rsqrt.approx.ftz.f32", &ftz), &text);
    cr_expect(ftz);
    cr_expect_str_eq(strbuf_text(&text), "relative 2^-22.9");
    strbuf_free(&text);
}
