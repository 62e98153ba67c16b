/* Integer expressions of a trace, evaluated while they are read, in 64 bits with overflow checked:
 *
 *   choice  = compare [? choice : choice]      compare = sum [(== | < | <= | > | >= | !=) sum]
 *   sum     = product {(+ | -) product}        product = unary {(* | /) unary}
 *   unary   = - unary | number | constant | function(choice, ...) | (choice)
 *
 * In the branch that a choice does not take values may be anything (dead): only its form counts. */
#include <ctype.h>
#include <string.h>

#include "trace_scan.h"

enum { MAX_DEPTH = 64 };

static bool choice(struct trace_reader *r, bool dead, int64_t *value);

const struct trace_const *scan_const(const struct trace *trace, const char *name, size_t length) {
    for (uint32_t i = trace->consts.count; i-- > 0;) {
        const struct trace_const *c = &trace->consts.items[i];
        if (strlen(c->name) == length && !memcmp(c->name, name, length))
            return c;
    }
    return NULL;
}

static bool overflow(struct trace_reader *r, bool dead) {
    return dead || scan_fail(r, "the value does not fit in 64 bits");
}

static bool number(struct trace_reader *r, bool dead, int64_t *value) {
    const char *text = r->text + r->at;
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const int64_t base = hex ? 16 : 10;
    size_t at = hex ? 2 : 0;
    const size_t first = at;
    *value = 0;
    for (; hex ? isxdigit((unsigned char)text[at]) : isdigit((unsigned char)text[at]); at++) {
        const int digit = isdigit((unsigned char)text[at])
                              ? text[at] - '0'
                              : tolower((unsigned char)text[at]) - 'a' + 10;
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, (int64_t)digit, value)) {
            *value = 0;
            if (!overflow(r, dead))
                return false;
        }
    }
    if (at == first || isalnum((unsigned char)text[at]) || text[at] == '_' ||
        (text[at] == '.' && text[at + 1] != '.')) /* 0..3 is a range */
        return scan_expected(r, "an integer");
    r->at += at;
    return true;
}

enum function { CEILDIV, FLOORDIV, MIN, MAX, ALIGN, LOG2 };
static const char *const function_names[] = {"ceildiv", "floordiv", "min", "max", "align", "log2"};

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - ((a % b != 0) && (a < 0) != (b < 0));
}

/* align(x, n): x rounded up to a multiple of n. log2(x): of a power of two. */
static bool apply(struct trace_reader *r, enum function f, int64_t a, int64_t b, bool dead,
                  int64_t *value) {
    *value = 0;
    if ((f == CEILDIV || f == FLOORDIV || f == ALIGN) && b <= 0)
        return dead || scan_fail(r, "%s needs a positive second argument, not %lld",
                                 function_names[f], (long long)b);
    switch (f) {
    case FLOORDIV: *value = floor_div(a, b); return true;
    case CEILDIV: *value = floor_div(a, b) + (a % b != 0); return true;
    case MIN: *value = a < b ? a : b; return true;
    case MAX: *value = a > b ? a : b; return true;
    case ALIGN:
        if (__builtin_mul_overflow(floor_div(a, b) + (a % b != 0), b, value))
            return overflow(r, dead);
        return true;
    case LOG2:
        if (a <= 0 || (a & (a - 1)))
            return dead || scan_fail(r, "log2 needs a power of two, not %lld", (long long)a);
        *value = __builtin_ctzll((unsigned long long)a);
        return true;
    }
    return false;
}

static bool call(struct trace_reader *r, enum function f, bool dead, int64_t *value) {
    int64_t a, b = 0;
    if (!choice(r, dead, &a))
        return false;
    if (f != LOG2 && (!scan_need(r, ",") || !choice(r, dead, &b)))
        return false;
    return scan_need(r, ")") && apply(r, f, a, b, dead, value);
}

static bool named(struct trace_reader *r, bool dead, int64_t *value) {
    const char *text = r->text + r->at;
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    for (int f = CEILDIV; f <= LOG2; f++)
        if (strlen(function_names[f]) == length && !memcmp(function_names[f], text, length)) {
            const size_t before = r->at;
            r->at += length;
            if (scan_take(r, "("))
                return call(r, (enum function)f, dead, value);
            r->at = before;
        }
    const struct trace_const *c = scan_const(r->trace, text, length);
    if (!c)
        return scan_fail(r, "there is no constant '%.*s'", length > 64 ? 64 : (int)length, text);
    r->at += length;
    *value = c->value;
    return true;
}

static bool unary(struct trace_reader *r, bool dead, int64_t *value) {
    scan_blanks(r);
    const char c = r->text[r->at];
    if (isdigit((unsigned char)c))
        return number(r, dead, value);
    if (isalpha((unsigned char)c) || c == '_')
        return named(r, dead, value);
    if (c != '-' && c != '(')
        return scan_expected(r, "an integer expression");
    if (++r->expression_depth > MAX_DEPTH)
        return scan_fail(r, "the expression is nested too deeply");
    r->at++;
    bool ok;
    if (c == '-') {
        ok = unary(r, dead, value);
        if (ok && __builtin_sub_overflow((int64_t)0, *value, value))
            ok = overflow(r, dead);
    } else {
        ok = choice(r, dead, value) && scan_need(r, ")");
    }
    r->expression_depth--;
    return ok;
}

static bool divide(struct trace_reader *r, bool dead, int64_t *value, int64_t by) {
    if (dead) {
        *value = 0;
        return true;
    }
    if (by == 0)
        return scan_fail(r, "division by zero");
    if (by == -1)
        return !__builtin_sub_overflow((int64_t)0, *value, value) || overflow(r, dead);
    if (*value % by)
        return scan_fail(
            r, "%lld / %lld leaves a remainder; ceildiv or floordiv say which way to round",
            (long long)*value, (long long)by);
    *value /= by;
    return true;
}

static bool product(struct trace_reader *r, bool dead, int64_t *value) {
    if (!unary(r, dead, value))
        return false;
    for (;;) {
        int64_t right;
        if (scan_take(r, "*")) {
            if (!unary(r, dead, &right))
                return false;
            if (__builtin_mul_overflow(*value, right, value) && !overflow(r, dead))
                return false;
        } else if (scan_take(r, "/")) {
            if (!unary(r, dead, &right) || !divide(r, dead, value, right))
                return false;
        } else {
            return true;
        }
    }
}

/* `a -b` outside brackets is two values of a list; `a - b` and `a-b` are one. */
static bool begins_next_value(const struct trace_reader *r, char sign) {
    const char before = r->at ? r->text[r->at - 1] : ' ', after = r->text[r->at + 1];
    return sign == '-' && !r->expression_depth && (before == ' ' || before == '\t') &&
           after != ' ' && after != '\t';
}

static bool sum(struct trace_reader *r, bool dead, int64_t *value) {
    if (!product(r, dead, value))
        return false;
    for (;;) {
        int64_t right;
        scan_blanks(r);
        const char sign = r->text[r->at];
        if ((sign != '+' && (sign != '-' || r->text[r->at + 1] == '>')) ||
            begins_next_value(r, sign))
            return true;
        r->at++;
        if (!product(r, dead, &right))
            return false;
        if ((sign == '+' ? __builtin_add_overflow(*value, right, value)
                         : __builtin_sub_overflow(*value, right, value)) &&
            !overflow(r, dead))
            return false;
    }
}

static bool compare(struct trace_reader *r, bool dead, int64_t *value) {
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    if (!sum(r, dead, value))
        return false;
    for (int i = 0; i < 6; i++) {
        int64_t right;
        if (!scan_take(r, signs[i]))
            continue;
        if (!sum(r, dead, &right))
            return false;
        const int64_t left = *value;
        const bool results[] = {left == right, left != right, left <= right, left >= right,
                                left<right, left> right};
        *value = results[i];
        return true;
    }
    return true;
}

static bool choice(struct trace_reader *r, bool dead, int64_t *value) {
    int64_t condition, yes, no;
    if (!compare(r, dead, &condition))
        return false;
    *value = condition;
    if (!scan_take(r, "?"))
        return true;
    if (++r->expression_depth > MAX_DEPTH)
        return scan_fail(r, "the expression is nested too deeply");
    if (!choice(r, dead || !condition, &yes) || !scan_need(r, ":") ||
        !choice(r, dead || condition, &no))
        return false;
    r->expression_depth--;
    *value = condition ? yes : no;
    return true;
}

bool scan_int(struct trace_reader *r, int64_t *value) {
    return choice(r, false, value);
}

bool scan_int_in(struct trace_reader *r, const char *what, int64_t low, int64_t high,
                 int64_t *value) {
    scan_blanks(r);
    const struct trace_place place = scan_place(r);
    if (!scan_int(r, value))
        return false;
    if (*value >= low && *value <= high)
        return true;
    return scan_fail_at(r, &place, 2, "%s is %lld, expected %lld to %lld", what, (long long)*value,
                        (long long)low, (long long)high);
}
