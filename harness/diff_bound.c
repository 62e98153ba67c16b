/* Whether results of approximate instructions are within their documented bounds. The exact value
 * is computed in double, whose own error is far below every bound here. Infinity counts as the
 * power of two behind the largest number, NaN agrees with NaN alone. */
#include "diff_bound.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "elem.h"

enum function { RCP, DIV, SQRT, RSQRT, SIN, COS, LG2, EX2, TANH };
enum kind { ULP, REL, ABS, LOG, CIRCLE, NONE };

struct diff_bound {
    const char *name;
    enum function function;
    enum kind kind;
    double bound;
    unsigned exact;
    const char *source;
};

static const struct diff_bound bounds[] = {
#define DIFF_BOUND(name, function, kind, bound, exact, source)                                     \
    {name, function, kind, bound, exact, source},
#include "diff_bound.def"
#undef DIFF_BOUND
};

/* A number format: bits in a register, fraction bits, least normal exponent, and the exponent of
 * what infinity stands for. */
struct format {
    const char *suffix;
    enum elem_type elem;
    unsigned bits, count, fraction;
    int least, infinity;
};

static const struct format formats[] = {
    {".f32", ELEM_F32, 32, 1, 23, -126, 128},    {".f16", ELEM_F16, 16, 1, 10, -14, 16},
    {".f16x2", ELEM_F16, 16, 2, 10, -14, 16},    {".bf16", ELEM_BF16, 16, 1, 7, -126, 128},
    {".bf16x2", ELEM_BF16, 16, 2, 7, -126, 128}, {".f64", ELEM_F64, 64, 1, 52, -1022, 1024},
};

const struct diff_bound *diff_bound_find(const char *instruction, bool *ftz) {
    char name[64];
    const char *flag = strstr(instruction, ".ftz");
    *ftz = flag;
    if (strlen(instruction) >= sizeof name)
        return NULL;
    strcpy(name, instruction);
    if (flag)
        strcpy(name + (flag - instruction), flag + strlen(".ftz"));
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (!strcmp(bounds[i].name, name))
            return &bounds[i];
    return NULL;
}

bool diff_bound_is_exact(const struct diff_bound *bound, unsigned target) {
    return bound->exact && bound->exact == target;
}

static const struct format *format_of(const struct diff_bound *bound) {
    const char *suffix = strrchr(bound->name, '.');
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].suffix, suffix))
            return &formats[i];
    return NULL;
}

/* Number `index` of a register. */
static double number(const struct format *f, uint64_t word, unsigned index) {
    const uint64_t bits = f->count > 1 ? word >> (f->bits * index) & 0xffff : word;
    return elem_to_double(f->elem, &bits);
}

static double bounded(const struct format *f, double x) {
    return isinf(x) ? copysign(ldexp(1, f->infinity), x) : x;
}

static double exact_value(enum function function, double a, double b) {
    switch (function) {
    case RCP: return 1 / a;
    case DIV: return a / b;
    case SQRT: return sqrt(a);
    case RSQRT: return 1 / sqrt(a);
    case SIN: return sin(a);
    case COS: return cos(a);
    case LG2: return log2(a);
    case EX2: return exp2(a);
    case TANH: return tanh(a);
    }
    return NAN;
}

static double ulp(const struct format *f, double x) {
    int exponent = f->least;
    if (fabs(x) > ldexp(1, f->least))
        exponent = ilogb(x);
    return ldexp(1, exponent - (int)f->fraction);
}

/* The error that is allowed at a value; negative: no bound holds. `argument` may be NaN: unknown.
 */
static double allowed(const struct diff_bound *bound, const struct format *f, double value,
                      double argument) {
    const double power = exp2(bound->bound);
    static const double pi = 3.14159265358979323846;
    switch (bound->kind) {
    case ULP: return bound->bound * ulp(f, value);
    case REL: return power * fabs(value);
    case ABS: return power;
    case LOG: return fabs(value) < 1 ? power : power * fabs(value);
    case CIRCLE:
        if (fabs(argument) <= 2 * pi)
            return power;
        return fabs(argument) <= 100 * pi ? exp2(bound->bound + 5.8) : -1;
    case NONE: break;
    }
    return -1;
}

static double flushed(const struct format *f, double x, bool ftz) {
    return ftz && fabs(x) < ldexp(1, f->least) ? copysign(0, x) : x;
}

static bool near(const struct format *f, double x, double y, double error, bool ftz) {
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (fabs(bounded(f, x) - bounded(f, y)) <= error)
        return true;
    return ftz && (x == 0 || y == 0) && fabs(x) <= ldexp(1, f->least) &&
           fabs(y) <= ldexp(1, f->least);
}

/* div.approx documents nothing for divisors beyond 2^126, nor below 2^-126. */
static bool in_range(const struct diff_bound *bound, double divisor) {
    return strcmp(bound->name, "div.approx.f32") != 0 ||
           (fabs(divisor) >= ldexp(1, -126) && fabs(divisor) <= ldexp(1, 126));
}

static bool near_exact(const struct diff_bound *bound, const struct format *f, bool ftz,
                       const struct diff_result *r, unsigned index) {
    const double a = flushed(f, number(f, r->operands[0], index), ftz);
    const double b = bound->function == DIV ? flushed(f, number(f, r->operands[1], index), ftz) : 1;
    const double value = exact_value(bound->function, a, b);
    const double error = allowed(bound, f, bounded(f, value), a);
    return error >= 0 && in_range(bound, b) &&
           near(f, number(f, r->word, index), value, error, ftz);
}

static bool near_each_other(const struct diff_bound *bound, const struct format *f, bool ftz,
                            double x, double y) {
    const double larger = fabs(bounded(f, x)) > fabs(bounded(f, y)) ? bounded(f, x) : bounded(f, y);
    const double error = allowed(bound, f, larger, NAN);
    return error >= 0 && strcmp(bound->name, "div.approx.f32") != 0 &&
           near(f, x, y, 2 * error, ftz);
}

static bool is_known(const struct diff_bound *bound, const struct diff_result *r) {
    return r->known[0] && (bound->function != DIV || r->known[1]);
}

bool diff_bound_holds(const struct diff_bound *bound, bool ftz, const struct diff_result *a,
                      const struct diff_result *b) {
    const struct format *f = format_of(bound);
    bool holds = f && bound->kind != NONE;
    for (unsigned i = 0; holds && i < f->count; i++) {
        if (is_known(bound, a) && is_known(bound, b))
            holds = near_exact(bound, f, ftz, a, i) && near_exact(bound, f, ftz, b, i);
        else
            holds = near_each_other(bound, f, ftz, number(f, a->word, i), number(f, b->word, i));
    }
    return holds;
}

void diff_bound_text(const struct diff_bound *bound, struct strbuf *out) {
    switch (bound->kind) {
    case ULP: strbuf_printf(out, "%g ulp", bound->bound); break;
    case REL: strbuf_printf(out, "relative 2^%g", bound->bound); break;
    case ABS: strbuf_printf(out, "absolute 2^%g", bound->bound); break;
    case LOG:
        strbuf_printf(out, "absolute 2^%g for arguments in (0.5, 2), else relative", bound->bound);
        break;
    case CIRCLE:
        strbuf_printf(out, "absolute 2^%g up to 2 pi, 2^%g up to 100 pi", bound->bound,
                      bound->bound + 5.8);
        break;
    case NONE: strbuf_puts(out, "none is documented"); break;
    }
}
