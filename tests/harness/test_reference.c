/* The reference answers: worked examples of the tensor core arithmetic, the fast evaluation against
 * the plain one, and the products in double against a loop. */
#include "reference.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "random_input.h"

/* Worked examples of the documented rule (words of A, of B, c, result). */
static const struct {
    enum elem_type type;
    uint16_t a[4], b[4];
    uint32_t c, d;
} examples[] = {
    {ELEM_F16,
     {0xf000, 0xb800, 0xb400, 0xb000},
     {0x6400, 0x3c00, 0x3c00, 0x3c00},
     0x4b000000,
     0xbf400000},
    {ELEM_F16, {0x3e00, 0xbe00}, {0x3e00, 0x3e00}, 0x33000000, 0x33000000},
    {ELEM_F16, {0x4080, 0xc080}, {0x3c00, 0x3c00}, 0x33000000, 0x00000000},
    {ELEM_F16, {0x3c00, 0x0c00}, {0x3c00, 0x0e00}, 0, 0x3f800000},
    {ELEM_F16, {0x0001}, {0x0001}, 0, 0x27800000},
    {ELEM_F16, {0x0001, 0x8001}, {0x7800, 0x7800}, 0x33c00000, 0x33800000},
    {ELEM_BF16, {0x7f00, 0x7f00}, {0x3f80, 0x3f80}, 0, 0x7f800000},
    {ELEM_BF16, {0x3f40, 0x3f40}, {0x7f00, 0x7f00}, 0x7e7fffff, 0x7f7fffff},
    {ELEM_BF16, {0x7f00, 0xff00}, {0x7f00, 0x7f00}, 0x3f800000, 0},
    {ELEM_F16, {0x7c00}, {0x0000}, 0, 0x7fffffff},
    {ELEM_F16, {0x7c00}, {0xbc00}, 0, 0xff800000},
    {ELEM_F16, {0x7c00, 0x7c00}, {0x3c00, 0xbc00}, 0, 0x7fffffff},
    {ELEM_BF16, {0x1a00, 0x9580}, {0x1a80, 0x1a80}, 0, 0},
    {ELEM_BF16, {0x1a00, 0x9500}, {0x1a80, 0x1a80}, 0, 1},
    {ELEM_BF16, {0x0000}, {0x0000}, 0x80000000, 0},
    {ELEM_BF16, {0x9a00}, {0x1500}, 0, 0}, /* a negative sum below f32's smallest gives +0 */
};

Test(reference, worked_examples) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        uint16_t a[16] = {0}, b[16] = {0};
        memcpy(a, examples[i].a, sizeof examples[i].a);
        memcpy(b, examples[i].b, sizeof examples[i].b);
        const uint32_t d = reference_tc_step(examples[i].type, a, b, examples[i].c);
        cr_assert_eq(d, examples[i].d, "example %zu: 0x%08x", i, d);
    }
}

enum { ROWS = 21, COLUMNS = 37, K = 96 };

/* `kind` 0: uniform(-1,1); 1: any finite exponent; 2: any word, NaN and Inf included. */
static void fill(enum elem_type type, int kind, uint64_t seed, uint16_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t random = random_bits(seed, i);
        words[i] = (uint16_t)random;
        if (kind == 0)
            elem_from_double(type, random_uniform(random, -1, 1), &words[i]);
        else if (kind == 1)
            words[i] = (uint16_t)(random & (type == ELEM_BF16 ? 0xbfff : 0xfbff));
    }
}

Test(reference, fast_evaluation_is_the_plain_one) {
    static uint16_t a[ROWS * K], b[COLUMNS * K];
    static uint32_t out[ROWS * COLUMNS];
    size_t checked = 0;
    for (int type = 0; type < 2; type++)
        for (int kind = 0; kind < 3; kind++) {
            const enum elem_type elem = type ? ELEM_F16 : ELEM_BF16;
            fill(elem, kind, 10 + (uint64_t)kind, a, ROWS * K);
            fill(elem, kind, 20 + (uint64_t)kind, b, COLUMNS * K);
            const struct reference_matrix ma = {(uint8_t *)a, elem, ROWS, K, K, 1};
            const struct reference_matrix mb = {(uint8_t *)b, elem, COLUMNS, K, K, 1};
            cr_assert_eq(reference_matmul_tc(&ma, &mb, false, out), REFERENCE_OK);
            for (size_t i = 0; i < ROWS * COLUMNS; i++, checked++) {
                uint32_t c = 0;
                for (size_t k = 0; k < K; k += 16)
                    c = reference_tc_step(elem, a + i / COLUMNS * K + k, b + i % COLUMNS * K + k,
                                          c);
                cr_assert_eq(out[i], c, "kind %d element %zu: 0x%08x, plain 0x%08x", kind, i,
                             out[i], c);
            }
        }
    cr_assert_eq(checked, 6 * ROWS * COLUMNS);
}

Test(reference, product_in_double) {
    static float a[5 * 7], b[11 * 7];
    double out[5 * 11];
    for (size_t i = 0; i < 35; i++)
        a[i] = (float)random_uniform(random_bits(1, i), -3, 3);
    for (size_t i = 0; i < 77; i++)
        b[i] = (float)random_uniform(random_bits(2, i), -3, 3);
    /* B is read through strides: it lies transposed. */
    const struct reference_matrix ma = {(uint8_t *)a, ELEM_F32, 5, 7, 7, 1};
    const struct reference_matrix mb = {(uint8_t *)b, ELEM_F32, 11, 7, 1, 11};
    cr_assert_eq(reference_matmul_f64(&ma, &mb, out), REFERENCE_OK);
    for (size_t m = 0; m < 5; m++)
        for (size_t n = 0; n < 11; n++) {
            double sum = 0;
            for (size_t k = 0; k < 7; k++)
                sum += (double)a[m * 7 + k] * (double)b[k * 11 + n];
            cr_assert_eq(out[m * 11 + n], sum);
        }
}

Test(reference, exact_knows_its_limit) {
    float a[4] = {3, -0.5f, 1024, 0}, b[4] = {2, 8, -1, 5};
    double out;
    struct reference_matrix ma = {(uint8_t *)a, ELEM_F32, 1, 4, 4, 1};
    const struct reference_matrix mb = {(uint8_t *)b, ELEM_F32, 1, 4, 4, 1};
    cr_assert_eq(reference_matmul_exact(&ma, &mb, &out), REFERENCE_OK);
    cr_assert_eq(out, 6 - 4 - 1024);
    a[3] = 1e-20f;
    cr_assert_eq(reference_matmul_exact(&ma, &mb, &out), REFERENCE_INEXACT);
    a[3] = 1.0f / 0.0f;
    cr_assert_eq(reference_matmul_exact(&ma, &mb, &out), REFERENCE_INEXACT);
}

Test(reference, fma_chains_in_order) {
    /* 1 + 2^-24 + 2^-24: each addition alone rounds away, a sum of the small ones first would not.
     */
    const float a[3] = {1, 0x1p-24f, 0x1p-24f}, b[3] = {1, 1, 1},
                reversed[3] = {0x1p-24f, 0x1p-24f, 1};
    struct reference_matrix ma = {(const uint8_t *)a, ELEM_F32, 1, 3, 3, 1};
    struct reference_matrix mb = {(const uint8_t *)b, ELEM_F32, 1, 3, 3, 1};
    uint32_t word;
    cr_assert_eq(reference_matmul_fma(&ma, &mb, &word), REFERENCE_OK);
    cr_assert_eq(word, 0x3f800000);
    ma.bytes = (const uint8_t *)reversed;
    cr_assert_eq(reference_matmul_fma(&ma, &mb, &word), REFERENCE_OK);
    cr_assert_eq(word, 0x3f800001);
}
