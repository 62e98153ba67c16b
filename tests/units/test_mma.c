/* The scalar rule on cases small enough to follow by hand; the oracle rows are in
 * test_mma_oracle.c. */
#include <criterion/criterion.h>

#include "mma.h"

/* d of up to 4 given products, the other elements of K zero. */
static uint32_t dot(enum mma_kind kind, enum mma_type type, enum mma_acc acc, unsigned k,
                    const uint32_t a[4], const uint32_t b[4], uint32_t c) {
    uint32_t wide_a[MMA_K_MAX] = {a[0], a[1], a[2], a[3]};
    uint32_t wide_b[MMA_K_MAX] = {b[0], b[1], b[2], b[3]};
    const struct mma_arith *arith = mma_arith_find(kind, type, type, acc);
    cr_assert_not_null(arith);
    return mma_dot(arith,
                   &(struct mma_dot){
                       .a_type = type, .b_type = type, .a = wide_a, .b = wide_b, .k = k, .c = c});
}

Test(mma, worked_examples) {
    static const struct {
        enum mma_kind kind;
        enum mma_type type;
        enum mma_acc acc;
        unsigned k;
        uint32_t a[4], b[4], c, d;
    } rows[] = {
        /* 2^23 - 2^23 - .5 - .25 - .125: the unit is 2^-2, the last term is cut */
        {MMA_TCGEN05_F16,
         MMA_TYPE_F16,
         MMA_ACC_F32,
         16,
         {0xf000, 0xb800, 0xb400, 0xb000},
         {0x6400, 0x3c00, 0x3c00, 0x3c00},
         0x4b000000,
         0xbf400000},
        {MMA_SM80_F16,
         MMA_TYPE_F16,
         MMA_ACC_F32,
         16,
         {0xf000, 0xb800, 0xb400, 0xb000},
         {0x6400, 0x3c00, 0x3c00, 0x3c00},
         0x4b000000,
         0xbf000000},
        {MMA_WGMMA_F8,
         MMA_TYPE_E5M2,
         MMA_ACC_F32,
         32,
         {0xf0, 0xb8, 0xb4, 0xb0},
         {0x64, 0x3c, 0x3c, 0x3c},
         0x4b000000,
         0},
        {MMA_TCGEN05_F8F6F4,
         MMA_TYPE_E5M2,
         MMA_ACC_F32,
         32,
         {0xf0, 0xb8, 0xb4, 0xb0},
         {0x64, 0x3c, 0x3c, 0x3c},
         0x4b000000,
         0xbf400000},
        /* 1.5*1.5 has exponent 0, 2.25*1 has 1 */
        {MMA_WGMMA_F16,
         MMA_TYPE_F16,
         MMA_ACC_F32,
         16,
         {0x3e00, 0xbe00},
         {0x3e00, 0x3e00},
         0x33000000,
         0x33000000},
        {MMA_WGMMA_F16,
         MMA_TYPE_F16,
         MMA_ACC_F32,
         16,
         {0x4080, 0xc080},
         {0x3c00, 0x3c00},
         0x33000000,
         0},
        /* toward zero for f32, to nearest even for f16 */
        {MMA_WGMMA_F16,
         MMA_TYPE_F16,
         MMA_ACC_F32,
         16,
         {0x3c00, 0x0c00},
         {0x3c00, 0x0e00},
         0,
         0x3f800000},
        {MMA_WGMMA_F16, MMA_TYPE_F16, MMA_ACC_F16, 16, {0x3c00}, {0x1000}, 0x3c00, 0x3c00},
        {MMA_WGMMA_F16, MMA_TYPE_F16, MMA_ACC_F16, 16, {0x3c00}, {0x1000}, 0x3c01, 0x3c02},
        {MMA_WGMMA_F16,
         MMA_TYPE_F16,
         MMA_ACC_F16,
         16,
         {0x3c00, 0x0400},
         {0x1000, 0x1000},
         0x3c00,
         0x3c01},
        /* Hopper fp8 cuts c too */
        {MMA_WGMMA_F8, MMA_TYPE_E4M3, MMA_ACC_F32, 32, {0}, {0}, 0x3f800fff, 0x3f800c00},
        {MMA_TCGEN05_TF32,
         MMA_TYPE_TF32,
         MMA_ACC_F32,
         8,
         {0x7f800001},
         {0x3f800000},
         0,
         0x7f800000},
        /* overflow only of the result */
        {MMA_TCGEN05_F16,
         MMA_TYPE_BF16,
         MMA_ACC_F32,
         16,
         {0x7f00, 0xff00},
         {0x7f00, 0x7f00},
         0x3f800000,
         0},
        {MMA_TCGEN05_F16,
         MMA_TYPE_BF16,
         MMA_ACC_F32,
         16,
         {0x7f00, 0x7f00},
         {0x3f80, 0x3f80},
         0,
         0x7f800000},
        /* exponent floor -133 */
        {MMA_TCGEN05_F16, MMA_TYPE_BF16, MMA_ACC_F32, 16, {0x1a00, 0x9580}, {0x1a80, 0x1a80}, 0, 0},
        {MMA_TCGEN05_F16, MMA_TYPE_BF16, MMA_ACC_F32, 16, {0x1a00, 0x9500}, {0x1a80, 0x1a80}, 0, 1},
        /* two f16 steps and an IEEE add */
        {MMA_SYNC_F8,
         MMA_TYPE_E5M2,
         MMA_ACC_F32,
         32,
         {0x0c, 0x0c},
         {0x0c, 0x08},
         0x3f800000,
         0x3f800001},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(dot(rows[i].kind, rows[i].type, rows[i].acc, rows[i].k, rows[i].a, rows[i].b,
                         rows[i].c),
                     rows[i].d, "row %zu", i);
}

/* Every row of the table is found by exactly its own types, and is a kind's only row for them. */
Test(mma, table_has_one_row_per_form) {
    unsigned rows = 0;
    const struct mma_arith *row;
    while ((row = mma_arith_at(rows)) != NULL) {
        rows++;
        cr_expect(row->k_set != 0 && row->type_set != 0);
        for (unsigned a = 0; a < MMA_TYPE_COUNT; a++)
            for (unsigned b = 0; b < MMA_TYPE_COUNT; b++) {
                bool has = (row->type_set >> a & 1) != 0 && (row->type_set >> b & 1) != 0 &&
                           (!row->same_type || a == b);
                const struct mma_arith *found =
                    mma_arith_find(row->kind, (enum mma_type)a, (enum mma_type)b, row->acc);
                cr_expect_eq(found == row, has);
            }
    }
    cr_expect_eq(rows, 21);
    cr_expect_null(mma_arith_find(MMA_TCGEN05_F16, MMA_TYPE_F16, MMA_TYPE_BF16, MMA_ACC_F32));
    cr_expect_null(mma_arith_find(MMA_TCGEN05_F16, MMA_TYPE_BF16, MMA_TYPE_BF16, MMA_ACC_F16));
    cr_expect_null(mma_arith_find(MMA_WGMMA_F8, MMA_TYPE_E2M1, MMA_TYPE_E4M3, MMA_ACC_F32));
}

Test(mma, scale_input_d_divides_c) {
    uint32_t zero[MMA_K_MAX] = {0};
    const struct mma_arith *arith =
        mma_arith_find(MMA_TCGEN05_F16, MMA_TYPE_F16, MMA_TYPE_F16, MMA_ACC_F32);
    struct mma_dot in = {.a_type = MMA_TYPE_F16,
                         .b_type = MMA_TYPE_F16,
                         .a = zero,
                         .b = zero,
                         .k = 16,
                         .c = 0xc0490fdb};
    for (unsigned s = 0; s < 16; s++) {
        in.scale_c_log2 = (uint8_t)s;
        cr_expect_eq(mma_dot(arith, &in), in.c - (s << 23));
    }
}
