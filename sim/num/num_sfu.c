/* The special function unit of Hopper, bit for bit: a quadratic polynomial per segment of the
 * operand's mantissa, in integers.
 *
 *   mantissa (23 bits) = segment (7 bits for rcp, else 6) | x (16 or 17 bits)
 *   sum    = c0 * 2^grid + rest + c1 * x + c2 * square(x)
 *   result = sum >> drop, in units of the result's last place
 *
 * square(x) is x * x without the partial products of weight 2^cut and less, which the unit's
 * squarer does not have; `rest` stands for what that loses in the mean. rsqrt and sqrt have one
 * table for even and one for odd exponents. The coefficients (num_sfu.def), the cut of the squarer
 * and the ways of the exponent were found from results of an H200: all 2^23 mantissas of rcp and
 * ex2, of rsqrt and sqrt in two octaves, of lg2 in one.
 *
 * Not modelled: sin, cos and tanh, which the unit computes likewise from tables not yet found. */
#include "num_sfu.h"

#include <math.h>

#include "bits.h"
#include "num_f32.h"

struct sfu_segment {
    uint32_t c0;
    int32_t c1;
    int32_t c2;
};

#define SFU(c0, c1, c2) {c0, c1, c2},
static const struct sfu_segment rcp_table[128] = {
#define SFU_RCP
#include "num_sfu.def"
#undef SFU_RCP
};
static const struct sfu_segment rsqrt_tables[2][64] = {{
#define SFU_RSQRT_EVEN
#include "num_sfu.def"
#undef SFU_RSQRT_EVEN
                                                       },
                                                       {
#define SFU_RSQRT_ODD
#include "num_sfu.def"
#undef SFU_RSQRT_ODD
                                                       }};
static const struct sfu_segment sqrt_tables[2][64] = {{
#define SFU_SQRT_EVEN
#include "num_sfu.def"
#undef SFU_SQRT_EVEN
                                                      },
                                                      {
#define SFU_SQRT_ODD
#include "num_sfu.def"
#undef SFU_SQRT_ODD
                                                      }};
static const struct sfu_segment ex2_table[64] = {
#define SFU_EX2
#include "num_sfu.def"
#undef SFU_EX2
};
static const struct sfu_segment sin_table[64] = {
#define SFU_SIN
#include "num_sfu.def"
#undef SFU_SIN
};
static const struct sfu_segment tanh_table[51] = {
#define SFU_TANH
#include "num_sfu.def"
#undef SFU_TANH
};
static const struct sfu_segment lg2_table[64] = {
#define SFU_LG2
#include "num_sfu.def"
#undef SFU_LG2
};
#undef SFU

/* How a function reads its table. */
struct sfu_function {
    unsigned x_bits;    /* of the mantissa below the segment number */
    unsigned cut;       /* partial products of weight 2^cut and less are not there */
    unsigned grid_bits; /* c0 counts 2^grid_bits */
    int64_t rest;
};
static const struct sfu_function rcp_function = {16, 16, 13, 2023};
static const struct sfu_function rsqrt_function = {17, 18, 14, 16383};
static const struct sfu_function sqrt_function = {17, 18, 15, 32767};
static const struct sfu_function ex2_function = {17, 18, 13, 6114};
static const struct sfu_function sin_function = {17, 18, 12, 0};
static const struct sfu_function tanh_function = {17, 18, 15, 0};
static const struct sfu_function lg2_function = {17, 18, 12, 837};

/* x * x without the partial products of low weight, in units of 2^(cut + 1). Row i of the products
 * has bit i with itself and, doubled, with the bits above it; rows from the tenth on have no low
 * weights. */
static uint32_t truncated_square(uint32_t x, unsigned cut) {
    enum { ROWS = 10 };
    uint64_t low = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t row = (uint64_t)(x >> (i + 1)) << (2 * i + 2) | UINT64_C(1) << 2 * i;
        low += row & bits_mask(cut + 1) & (0 - (uint64_t)(x >> i & 1));
    }
    return (uint32_t)(((uint64_t)x * x - low) >> (cut + 1));
}

static int64_t sum_of(const struct sfu_function *f, const struct sfu_segment *s, uint32_t x) {
    int64_t square = truncated_square(x, f->cut);
    return ((int64_t)s->c0 << f->grid_bits) + f->rest + (int64_t)s->c1 * x + s->c2 * square;
}

static int64_t evaluate(const struct sfu_function *f, const struct sfu_segment *table,
                        uint32_t mantissa) {
    uint32_t x = mantissa & (uint32_t)bits_mask(f->x_bits);
    return sum_of(f, &table[mantissa >> f->x_bits], x);
}

enum { MANTISSA_BITS = 23, HIDDEN = 1 << 23, BIAS = 127 };

static int exponent_of(uint32_t x) {
    return (int)(x >> MANTISSA_BITS & 0xff) - BIAS;
}

/* significand * 2^(exponent - 23), significand from 2^23 to 2^24; zero below the normal range. */
static uint32_t pack(int exponent, int64_t significand) {
    int64_t word = (int64_t)(exponent + BIAS) * HIDDEN + (significand - HIDDEN);
    if (word < HIDDEN)
        return 0;
    return word >= NUM_F32_INF ? NUM_F32_INF : (uint32_t)word;
}

/* magnitude * 2^-places, cut to 24 digits. */
static uint32_t cut_to_float(uint64_t magnitude, int places) {
    if (magnitude == 0)
        return 0;
    int top = 63 - __builtin_clzll(magnitude);
    uint64_t digits = top >= MANTISSA_BITS ? magnitude >> (top - MANTISSA_BITS)
                                           : magnitude << (MANTISSA_BITS - top);
    return pack(top - places, (int64_t)digits);
}

/* 1 / m, m from 1 to 2, in units of 2^-24. */
static int64_t rcp_of(uint32_t mantissa) {
    return evaluate(&rcp_function, rcp_table, mantissa) >> 15;
}

/* 1 / root(m), m from 1 to 2 for even and from 2 to 4 for odd exponents, in units of 2^-24. */
static int64_t rsqrt_of(uint32_t mantissa, int odd) {
    if (!odd && mantissa == 0)
        return 2 * HIDDEN; /* a power of four: exact, where the table is one less */
    return evaluate(&rsqrt_function, rsqrt_tables[odd], mantissa) >> 16;
}

uint32_t num_sfu_rcp(uint32_t x) {
    uint32_t sign = x & NUM_F32_SIGN;
    x = num_f32_flush(x) & ~NUM_F32_SIGN;
    if (x > NUM_F32_INF)
        return NUM_F32_NAN;
    if (x == 0 || x == NUM_F32_INF)
        return sign | (x == 0 ? NUM_F32_INF : 0);
    return sign | pack(-1 - exponent_of(x), rcp_of(x & (HIDDEN - 1)));
}

uint32_t num_sfu_rsqrt(uint32_t x) {
    x = num_f32_flush(x);
    if ((x & ~NUM_F32_SIGN) == 0)
        return x | NUM_F32_INF;
    if (x > NUM_F32_INF)
        return NUM_F32_NAN;
    if (x == NUM_F32_INF)
        return 0;
    int exponent = exponent_of(x), odd = exponent & 1;
    return pack(-1 - (exponent - odd) / 2, rsqrt_of(x & (HIDDEN - 1), odd));
}

uint32_t num_sfu_sqrt(uint32_t x) {
    x = num_f32_flush(x);
    if ((x & ~NUM_F32_SIGN) == 0 || x == NUM_F32_INF)
        return x;
    if (x > NUM_F32_INF)
        return NUM_F32_NAN;
    int exponent = exponent_of(x), odd = exponent & 1;
    int64_t value = evaluate(&sqrt_function, sqrt_tables[odd], x & (HIDDEN - 1)) >> 17;
    return pack((exponent - odd) / 2, value);
}

/* The magnitude is cut to 23 places behind the point; the fraction of a negative operand is
 * complemented bit by bit, which is one unit less than 1 - fraction. The whole part is the
 * exponent. */
uint32_t num_sfu_ex2(uint32_t x) {
    if (num_f32_is_nan(x))
        return NUM_F32_NAN;
    float value = bits_to_f32(x);
    if (value >= 128 || value < -126)
        return value > 0 ? NUM_F32_INF : 0;
    uint32_t fixed = (uint32_t)((double)fabsf(value) * HIDDEN);
    uint32_t fraction = fixed & (HIDDEN - 1);
    int whole = (int)(fixed >> MANTISSA_BITS);
    if (value < 0) {
        whole = fraction != 0 ? -whole - 1 : -whole;
        fraction = fraction != 0 ? ~fraction & (HIDDEN - 1) : 0;
    }
    return pack(whole, evaluate(&ex2_function, ex2_table, fraction) >> 15);
}

/* Exponent and table value are added as a number with 36 places behind the point, negative ones are
 * complemented bit by bit, and the result is cut to 24 digits. The logarithm of 1 is zero; other
 * powers of two come out as the table gives them (lg2 of 2^-126 is above -126). */
uint32_t num_sfu_lg2(uint32_t x) {
    x = num_f32_flush(x);
    if ((x & ~NUM_F32_SIGN) == 0)
        return NUM_F32_INF | NUM_F32_SIGN;
    if (x > NUM_F32_INF)
        return NUM_F32_NAN;
    if (x == NUM_F32_INF || x == NUM_F32_ONE)
        return x == NUM_F32_ONE ? 0 : x;
    enum { PLACES = 36 };
    /* The table's value has 38 places and is 1 too much. */
    int64_t table = evaluate(&lg2_function, lg2_table, x & (HIDDEN - 1)) >> 2;
    int64_t sum = (int64_t)(exponent_of(x) - 1) * (INT64_C(1) << PLACES) + table;
    uint32_t sign = sum < 0 ? NUM_F32_SIGN : 0;
    uint64_t magnitude = (uint64_t)(sum < 0 ? ~sum : sum);
    return sign | cut_to_float(magnitude, PLACES);
}

/* The angle in turns is cut to 2^-25; two bits are the quadrant, 23 the place in it, complemented
 * bit by bit in the falling quadrants unless it is zero. The value has 37 places behind the point.
 */
static uint32_t circle(uint32_t turns, uint32_t quadrant_ahead) {
    enum { PLACES = 37, TURN_BITS = 25 };
    turns = num_f32_flush(turns);
    uint32_t negative = turns >> 31, magnitude = turns & ~NUM_F32_SIGN;
    if (magnitude >= NUM_F32_INF)
        return NUM_F32_NAN;
    uint64_t digits = magnitude == 0 ? 0 : (magnitude & (HIDDEN - 1)) | HIDDEN;
    int shift = exponent_of(magnitude) - MANTISSA_BITS + TURN_BITS;
    if (shift >= TURN_BITS || shift < -MANTISSA_BITS)
        digits = 0; /* whole turns, or less than 2^-25 */
    uint32_t angle = (uint32_t)(shift >= 0 ? digits << (shift & 31) : digits >> (-shift & 31));
    uint32_t quadrant = ((angle >> MANTISSA_BITS) + quadrant_ahead) & 3;
    uint32_t place = angle & (HIDDEN - 1);
    uint64_t value;
    if (place == 0)
        value = quadrant & 1 ? UINT64_C(1) << PLACES : 0;
    else
        value = (uint64_t)evaluate(&sin_function, sin_table,
                                   quadrant & 1 ? ~place & (HIDDEN - 1) : place);
    negative = quadrant_ahead ? 0 : negative; /* the cosine is even */
    uint32_t sign = negative != quadrant >> 1 ? NUM_F32_SIGN : 0;
    return sign | cut_to_float(value, PLACES);
}

uint32_t num_sfu_sin(uint32_t turns) {
    return circle(turns, 0);
}

uint32_t num_sfu_cos(uint32_t turns) {
    return circle(turns, 1);
}

/* Below 2^-8 the operand itself, from 8 on one. Between them each octave has segments of its own,
 * and only 17 bits of the place in a segment are read. The value's unit is 2^-39 of the octave's
 * end, of 1 at most. */
uint32_t num_sfu_tanh(uint32_t x) {
    static const struct {
        uint8_t first, segment_bits;
    } octaves[] = {{0, 0},  {1, 0},  {2, 0},  {3, 1},  {5, 1}, {7, 2},
                   {11, 2}, {15, 2}, {19, 3}, {27, 4}, {43, 3}};
    enum { LOWEST = -8, END = 3, PLACES = 39 };
    uint32_t sign = x & NUM_F32_SIGN, magnitude = x & ~NUM_F32_SIGN;
    if (magnitude > NUM_F32_INF)
        return NUM_F32_NAN;
    int exponent = exponent_of(magnitude);
    if (exponent < LOWEST)
        return x;
    if (exponent >= END)
        return sign | NUM_F32_ONE;
    unsigned bits = octaves[exponent - LOWEST].segment_bits;
    uint32_t mantissa = magnitude & (HIDDEN - 1);
    uint32_t segment = octaves[exponent - LOWEST].first + (mantissa >> (MANTISSA_BITS - bits));
    uint32_t place = mantissa & (uint32_t)bits_mask(MANTISSA_BITS - bits);
    uint32_t read = place >> (MANTISSA_BITS - bits - tanh_function.x_bits);
    int64_t value = sum_of(&tanh_function, &tanh_table[segment], read);
    int end = exponent < -1 ? exponent + 1 : 0;
    return sign | cut_to_float((uint64_t)value, PLACES - end);
}

/* The upper word of a double has 20 mantissa bits; the unit takes them as the upper ones of 23 and
 * its result is cut to as many. */
enum { UPPER_BITS = 20, UPPER_BIAS = 1023, UPPER_INF = 0x7ff00000 };

static uint32_t pack_upper(int exponent, int64_t significand) {
    int64_t word = (int64_t)(exponent + UPPER_BIAS) * (1 << UPPER_BITS) +
                   ((significand >> (MANTISSA_BITS - UPPER_BITS)) - (1 << UPPER_BITS));
    return word < 1 << UPPER_BITS ? 0 : (uint32_t)word;
}

static uint32_t upper_mantissa(uint32_t magnitude) {
    return (magnitude & ((1u << UPPER_BITS) - 1)) << (MANTISSA_BITS - UPPER_BITS);
}

uint32_t num_sfu_rcp_f64(uint32_t upper) {
    uint32_t sign = upper & NUM_F32_SIGN, magnitude = upper & ~NUM_F32_SIGN;
    if (magnitude > UPPER_INF)
        return NUM_F32_NAN;
    if (magnitude >> UPPER_BITS == 0) /* zero, or a subnormal that counts as one */
        return sign | UPPER_INF;
    if (magnitude == UPPER_INF)
        return sign;
    int exponent = (int)(magnitude >> UPPER_BITS) - UPPER_BIAS;
    return sign | pack_upper(-1 - exponent, rcp_of(upper_mantissa(magnitude)));
}

uint32_t num_sfu_rsqrt_f64(uint32_t upper) {
    uint32_t sign = upper & NUM_F32_SIGN, magnitude = upper & ~NUM_F32_SIGN;
    if (magnitude > UPPER_INF)
        return NUM_F32_NAN;
    if (magnitude >> UPPER_BITS == 0)
        return sign | UPPER_INF;
    if (sign)
        return NUM_F32_NAN;
    if (magnitude == UPPER_INF)
        return 0;
    int exponent = (int)(magnitude >> UPPER_BITS) - UPPER_BIAS, odd = exponent & 1;
    return pack_upper(-1 - (exponent - odd) / 2, rsqrt_of(upper_mantissa(magnitude), odd));
}
