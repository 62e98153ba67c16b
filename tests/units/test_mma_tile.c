/* Every engine that this processor runs against the scalar rule, on random tiles of every form. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "mma.h"
#include "mma_tile.h"
#include "small_float.h"
#include "support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct random {
    uint64_t state;
};

static uint32_t draw(struct random *r) {
    r->state = hash_mix64(r->state);
    return (uint32_t)(r->state >> 32);
}

static uint32_t draw_below(struct random *r, uint32_t limit) {
    return draw(r) % limit;
}

static const enum small_float formats[MMA_TYPE_COUNT] = {
    SMALL_FLOAT_F16,  SMALL_FLOAT_BF16, SMALL_FLOAT_TF32, SMALL_FLOAT_E4M3,
    SMALL_FLOAT_E5M2, SMALL_FLOAT_E2M3, SMALL_FLOAT_E3M2, SMALL_FLOAT_E2M1,
};

enum style {
    STYLE_UNIT,      /* uniform in (-1,1): exponents fall off by halves */
    STYLE_BITS,      /* any bits, Inf and NaN among them */
    STYLE_WIDE,      /* any exponent, finite */
    STYLE_ZEROS,     /* unit, 40 % zeros of either sign */
    STYLE_SUBNORMAL, /* small exponent fields, zero included */
    STYLE_INTEGERS,  /* -8 .. 8 */
    STYLE_OUTLIER,   /* unit, but one element of a hundred may be anything */
    STYLE_NARROW,    /* exponents spread over 12 around the middle */
    STYLE_COUNT
};

/* A word with this exponent field (clamped), a random sign and fraction. */
static uint32_t word_with_field(struct random *r, const struct small_float_format *f, int field) {
    int top = (1 << f->exponent_bits) - (f->has_inf ? 2 : 1);
    field = field < 0 ? 0 : field > top ? top : field;
    uint32_t sign_and_fraction = draw(r);
    uint32_t word = (sign_and_fraction & ((1u << f->fraction_bits) - 1)) |
                    (uint32_t)field << f->fraction_bits |
                    (sign_and_fraction >> 31) << (f->fraction_bits + f->exponent_bits);
    if (f->top_word_nan && (~word & 0x7f) == 0)
        word ^= 1;
    return word << f->dropped_bits | (draw(r) & ((1u << f->dropped_bits) - 1));
}

static uint32_t draw_unit(struct random *r, const struct small_float_format *f) {
    return word_with_field(r, f, f->bias - 1 - __builtin_clz(draw(r) | 1));
}

static uint32_t integer_word(struct random *r, const struct small_float_format *f) {
    int value = (int)draw_below(r, 17) - 8;
    unsigned width = 1u + f->exponent_bits + f->fraction_bits;
    for (uint32_t word = 0; width <= 8 && word >> width == 0; word++) {
        int scaled = (int)(word >> (width - 1)) != 0 ? -value : value;
        uint32_t magnitude = word & ((1u << (width - 1)) - 1);
        int exponent = (int)(magnitude >> f->fraction_bits) - f->bias;
        uint32_t significand =
            (magnitude & ((1u << f->fraction_bits) - 1)) | 1u << f->fraction_bits;
        if (scaled > 0 && exponent >= 0 && exponent < 5 &&
            significand << exponent == (uint32_t)scaled << f->fraction_bits)
            return word;
    }
    if (width <= 8 || value == 0)
        return 0;
    uint32_t magnitude = (uint32_t)abs(value);
    int exponent = 31 - __builtin_clz(magnitude);
    uint32_t fraction =
        (magnitude << f->fraction_bits >> exponent) & ((1u << f->fraction_bits) - 1);
    uint32_t word = (uint32_t)(exponent + f->bias) << f->fraction_bits | fraction |
                    (value < 0 ? 1u << (width - 1) : 0);
    return word << f->dropped_bits;
}

static uint32_t draw_word(struct random *r, enum small_float format, enum style style) {
    const struct small_float_format *f = small_float_format(format);
    unsigned width = 1u + f->exponent_bits + f->fraction_bits + f->dropped_bits;
    switch (style) {
    case STYLE_UNIT: return draw_unit(r, f);
    case STYLE_BITS: return draw(r) >> (32 - width);
    case STYLE_WIDE: return word_with_field(r, f, (int)draw_below(r, 1u << f->exponent_bits));
    case STYLE_ZEROS:
        return draw_below(r, 10) < 4 ? draw_below(r, 2) << (width - 1) : draw_unit(r, f);
    case STYLE_SUBNORMAL: return word_with_field(r, f, (int)draw_below(r, 3));
    case STYLE_INTEGERS: return integer_word(r, f);
    case STYLE_OUTLIER: return draw_below(r, 100) == 0 ? draw(r) >> (32 - width) : draw_unit(r, f);
    default: return word_with_field(r, f, f->bias + (int)draw_below(r, 12) - 6);
    }
}

enum { TILE_ROWS = 13, TILE_COLUMNS_MAX = 136 };

struct tile_data {
    uint32_t a[TILE_ROWS][MMA_K_MAX], b[TILE_COLUMNS_MAX][MMA_K_MAX];
    uint8_t a_bytes[TILE_ROWS][MMA_K_MAX * 4], b_bytes[TILE_COLUMNS_MAX][MMA_K_MAX * 4];
    uint32_t c[TILE_ROWS][TILE_COLUMNS_MAX], d[TILE_ROWS][TILE_COLUMNS_MAX];
    _Alignas(MMA_STORAGE_ALIGN) char a_storage[64 * (MMA_K_MAX * 28 + 128)];
    _Alignas(MMA_STORAGE_ALIGN) char b_storage[192 * (MMA_K_MAX * 28 + 128)];
};

static void pack(const uint32_t *words, uint32_t k, enum mma_type type, uint8_t *bytes) {
    for (uint32_t i = 0; i < k; i++)
        memcpy(bytes + i * mma_type_bytes(type), &words[i], mma_type_bytes(type));
}

static uint32_t draw_element(struct random *r, enum mma_type type, enum style style) {
    if (type == MMA_TYPE_S8 || type == MMA_TYPE_U8)
        return draw(r) & 0xff;
    return draw_word(r, formats[type], style);
}

/* Accumulators about as large as the products, or anything. */
static uint32_t draw_c(struct random *r, enum mma_acc acc, enum style style) {
    if (acc == MMA_ACC_S32)
        return draw_below(r, 4) == 0 ? 0x7fffff00 + draw_below(r, 512) : draw(r);
    enum small_float format = acc == MMA_ACC_F16 ? SMALL_FLOAT_F16 : SMALL_FLOAT_F32;
    return draw_word(r, format, style);
}

static void fill(struct tile_data *t, struct random *r, const struct mma_dot *types,
                 enum mma_acc acc, uint32_t columns) {
    enum style a_style = (enum style)draw_below(r, STYLE_COUNT);
    enum style b_style = draw_below(r, 3) == 0 ? (enum style)draw_below(r, STYLE_COUNT) : a_style;
    enum style c_style = draw_below(r, 3) == 0 ? (enum style)draw_below(r, STYLE_COUNT) : a_style;
    bool zero_row = draw_below(r, 3) == 0, cancel = draw_below(r, 4) == 0;
    for (uint32_t i = 0; i < TILE_ROWS; i++) {
        for (uint32_t k = 0; k < types->k; k++)
            t->a[i][k] = zero_row && i == 5 ? 0 : draw_element(r, types->a_type, a_style);
        pack(t->a[i], types->k, types->a_type, t->a_bytes[i]);
        for (uint32_t j = 0; j < columns; j++)
            t->c[i][j] = draw_c(r, acc, c_style);
    }
    for (uint32_t j = 0; j < columns; j++) {
        for (uint32_t k = 0; k < types->k; k++)
            t->b[j][k] = zero_row && j == 7 ? 0 : draw_element(r, types->b_type, b_style);
        pack(t->b[j], types->k, types->b_type, t->b_bytes[j]);
    }
    /* A sum of products that is exactly zero but for c. */
    for (uint32_t i = 0; cancel && i < TILE_ROWS; i++)
        for (uint32_t k = 0; k + 1 < types->k; k += 2) {
            unsigned sign = 8 * mma_type_bytes(types->a_type) - 1;
            t->a[i][k + 1] = t->a[i][k] ^ 1u << sign;
            pack(t->a[i], types->k, types->a_type, t->a_bytes[i]);
            for (uint32_t j = 0; j < columns; j++) {
                t->b[j][k + 1] = t->b[j][k];
                pack(t->b[j], types->k, types->b_type, t->b_bytes[j]);
            }
        }
}

/* Runs one engine over the tile, in place (C is D), and compares with `expected`. */
static void check_engine(const struct mma_engine *engine, const struct mma_arith *arith,
                         struct tile_data *t, const struct mma_dot *types, uint32_t columns,
                         uint32_t (*expected)[TILE_COLUMNS_MAX], uint64_t seed) {
    struct mma_operand a, b;
    cr_assert_leq(mma_operand_bytes(TILE_ROWS, types->k), sizeof t->a_storage);
    cr_assert_leq(mma_operand_bytes(columns, types->k), sizeof t->b_storage);
    mma_operand_prepare(engine, &a,
                        &(struct mma_operand_desc){.role = MMA_ROLE_A,
                                                   .type = types->a_type,
                                                   .rows = TILE_ROWS,
                                                   .k = types->k,
                                                   .elements = t->a_bytes,
                                                   .row_stride_bytes = sizeof t->a_bytes[0]},
                        t->a_storage);
    mma_operand_prepare(engine, &b,
                        &(struct mma_operand_desc){.role = MMA_ROLE_B,
                                                   .type = types->b_type,
                                                   .rows = columns,
                                                   .k = types->k,
                                                   .elements = t->b_bytes,
                                                   .row_stride_bytes = sizeof t->b_bytes[0]},
                        t->b_storage);
    memcpy(t->d, t->c, sizeof t->d);
    uint32_t *rows[TILE_ROWS];
    for (uint32_t i = 0; i < TILE_ROWS; i++)
        rows[i] = t->d[i];
    mma_tile(&(struct mma_tile){.arith = arith,
                                .a = &a,
                                .b = &b,
                                .row_count = TILE_ROWS,
                                .d_rows = rows,
                                .c_rows = (const uint32_t *const *)rows,
                                .saturate = types->saturate});
    for (uint32_t i = 0; i < TILE_ROWS; i++)
        for (uint32_t j = 0; j < columns; j++)
            cr_assert_eq(t->d[i][j], expected[i][j],
                         "%s kind %u types %u %u k %u seed %llu [%u][%u]: c %08x gives %08x, the "
                         "rule %08x",
                         mma_engine_name(engine), arith->kind, types->a_type, types->b_type,
                         types->k, (unsigned long long)seed, i, j, t->c[i][j], t->d[i][j],
                         expected[i][j]);
}

static void check_tile(const struct mma_arith *arith, struct tile_data *t, struct mma_dot types,
                       uint64_t seed) {
    static const uint32_t widths[] = {8, 64, 72, 136, 16, 5};
    uint32_t expected[TILE_ROWS][TILE_COLUMNS_MAX];
    struct random r = {seed};
    uint32_t columns = widths[draw_below(&r, 6)];
    types.saturate = draw_below(&r, 2) != 0;
    fill(t, &r, &types, arith->acc, columns);
    for (uint32_t i = 0; i < TILE_ROWS; i++)
        for (uint32_t j = 0; j < columns; j++) {
            types.a = t->a[i];
            types.b = t->b[j];
            types.c = t->c[i][j];
            expected[i][j] = mma_dot(arith, &types);
        }
    const struct mma_engine *engine;
    for (unsigned e = 0; (engine = mma_engine_at(e)) != NULL; e++)
        if (mma_engine_usable(engine))
            check_engine(engine, arith, t, &types, columns, expected, seed);
}

/* Tiles of every form that the table has; more of the forms that the engines compute fast. */
Test(mma_tile, engines_agree_with_the_scalar_rule, .timeout = 600) {
    struct tile_data *t = malloc(sizeof *t);
    cr_assert_not_null(t);
    const struct mma_engine *engine;
    for (unsigned e = 0; (engine = mma_engine_at(e)) != NULL; e++)
        printf("engine %s: %s\n", mma_engine_name(engine),
               mma_engine_usable(engine) ? "checked" : "not on this processor");
    const struct mma_arith *arith;
    size_t tiles = 0;
    for (unsigned row = 0; (arith = mma_arith_at(row)) != NULL; row++)
        for (unsigned a = 0; a < MMA_TYPE_COUNT; a++)
            for (unsigned b = 0; b < MMA_TYPE_COUNT; b++)
                for (unsigned k = 4; k <= MMA_K_MAX; k *= 2) {
                    if (mma_arith_find(arith->kind, (enum mma_type)a, (enum mma_type)b,
                                       arith->acc) != arith ||
                        (arith->k_set & k) == 0)
                        continue;
                    struct mma_dot types = {
                        .a_type = (enum mma_type)a, .b_type = (enum mma_type)b, .k = k};
                    unsigned count = arith->kind <= MMA_WGMMA_I8 && a == b ? 300 : 40;
                    for (unsigned i = 0; i < count; i++)
                        check_tile(arith, t, types, hash_mix64(tiles++));
                }
    printf("%zu tiles of %d rows and 5 to 136 columns agree\n", tiles, TILE_ROWS);
    free(t);
}

/* What a caller may ask for beyond D = A*B + D in place; one type per container size. */
struct options {
    enum mma_kind kind;
    enum mma_type type;
};

static const struct options option_forms[] = {
    {MMA_TCGEN05_F16, MMA_TYPE_F16},     {MMA_TCGEN05_F16, MMA_TYPE_BF16},
    {MMA_TCGEN05_TF32, MMA_TYPE_TF32},   {MMA_TCGEN05_F8F6F4, MMA_TYPE_E4M3},
    {MMA_TCGEN05_F8F6F4, MMA_TYPE_E3M2}, {MMA_TCGEN05_F8F6F4, MMA_TYPE_E2M1},
};

static const uint32_t sign_bits[MMA_TYPE_COUNT] = {0x8000, 0x8000, 0x80000000, 0x80,
                                                   0x80,   0x20,   0x20,       0x8};

/* Modes that a host program may have left to its threads. */
static void spoil_mode(uint64_t seed) {
#if defined(__x86_64__)
    static const unsigned modes[] = {0x1f80, 0x9fc0, 0x3f80, 0x5f80,
                                     0xffc0}; /* FTZ, DAZ, rounding */
    _mm_setcsr(modes[seed % 5]);
#else
    (void)seed;
#endif
}

static void check_options(const struct mma_engine *engine, struct tile_data *t,
                          const struct options *form, uint64_t seed) {
    enum { COLUMNS = 72, FIRST = 3, ROWS = 6 };
    struct random r = {seed};
    const struct mma_arith *arith = mma_arith_find(form->kind, form->type, form->type, MMA_ACC_F32);
    struct mma_dot types = {
        .a_type = form->type, .b_type = form->type, .k = mma_type_k(form->type)};
    fill(t, &r, &types, MMA_ACC_F32, COLUMNS);
    bool with_c = draw_below(&r, 2) != 0, negate = draw_below(&r, 2) != 0;
    types.scale_c_log2 = (uint8_t)(draw_below(&r, 3) == 0 ? draw_below(&r, 16) : 0);
    spoil_mode(seed);
    struct mma_operand a, b;
    struct mma_operand_desc desc = {.role = MMA_ROLE_A,
                                    .type = form->type,
                                    .rows = TILE_ROWS,
                                    .k = types.k,
                                    .elements = t->a_bytes,
                                    .row_stride_bytes = sizeof t->a_bytes[0],
                                    .negate = negate};
    mma_operand_prepare(engine, &a, &desc, t->a_storage);
    desc.role = MMA_ROLE_B;
    desc.rows = COLUMNS;
    desc.elements = t->b_bytes;
    desc.negate = false;
    mma_operand_prepare(engine, &b, &desc, t->b_storage);
    memset(t->a_bytes, 0xee, sizeof t->a_bytes); /* prepared operands keep no pointer to these */
    memset(t->b_bytes, 0xee, sizeof t->b_bytes);
    memset(t->d, 0x5a, sizeof t->d);
    uint32_t *d_rows[ROWS];
    const uint32_t *c_rows[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        d_rows[i] = t->d[FIRST + i];
        c_rows[i] = t->c[FIRST + i];
    }
    mma_tile(&(struct mma_tile){.arith = arith,
                                .a = &a,
                                .b = &b,
                                .row_begin = FIRST,
                                .row_count = ROWS,
                                .d_rows = d_rows,
                                .c_rows = with_c ? c_rows : NULL,
                                .scale_c_log2 = types.scale_c_log2});
    spoil_mode(0);
    for (uint32_t i = 0; i < TILE_ROWS; i++) {
        for (uint32_t k = 0; k < types.k && negate; k++)
            t->a[i][k] ^= sign_bits[form->type];
        for (uint32_t j = 0; j < TILE_COLUMNS_MAX; j++) {
            uint32_t expected = 0x5a5a5a5a;
            types.a = t->a[i];
            types.b = t->b[j];
            types.c = with_c ? t->c[i][j] : 0;
            if (i >= FIRST && i < FIRST + ROWS && j < COLUMNS)
                expected = mma_dot(arith, &types);
            cr_assert_eq(t->d[i][j], expected, "%s type %u seed %llu [%u][%u]: %08x, not %08x",
                         mma_engine_name(engine), form->type, (unsigned long long)seed, i, j,
                         t->d[i][j], expected);
        }
    }
}

Test(mma_tile, rows_zero_c_negate_scale_apart_d_and_any_mode) {
    struct tile_data *t = malloc(sizeof *t);
    cr_assert_not_null(t);
    const struct mma_engine *engine;
    for (unsigned e = 0; (engine = mma_engine_at(e)) != NULL; e++)
        for (size_t f = 0; f < sizeof option_forms / sizeof option_forms[0]; f++)
            for (uint64_t seed = 0; mma_engine_usable(engine) && seed < 40; seed++)
                check_options(engine, t, &option_forms[f], seed);
    free(t);
}

Test(mma_tile, best_engine_is_usable) {
    cr_expect(mma_engine_usable(mma_engine_best()));
}
