/* The number functions against what an H200 answered (tests/oracle/scalar), without PTX: every row
 * of the families f32, f64, half, cvt and cvt8 but the approximate divisions. The PTX route has its
 * own test. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "num_compare.h"
#include "num_cvt.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_ftz.h"
#include "num_half.h"
#include "num_minmax.h"
#include "scalar_forms.h"
#include "support.h"

/* "add.rn.ftz.f32 {d},{a},{b};" in words. */
struct words {
    char text[64];
    const char *word[12];
    size_t count;
};

static struct words split(const char *ptx) {
    struct words w = {0};
    size_t length = strcspn(ptx, " ");
    cr_assert_lt(length, sizeof w.text);
    memcpy(w.text, ptx, length);
    return w;
}

static void cut(struct words *w) {
    for (char *p = strtok(w->text, "."); p != NULL; p = strtok(NULL, "."))
        w->word[w->count++] = p;
}

static bool has(const struct words *w, const char *word) {
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->word[i], word) == 0)
            return true;
    return false;
}

static enum num_round round_of(const struct words *w) {
    if (has(w, "rz") || has(w, "rzi"))
        return NUM_RZ;
    if (has(w, "rm") || has(w, "rmi"))
        return NUM_RM;
    return has(w, "rp") || has(w, "rpi") ? NUM_RP : NUM_RN;
}

static struct num_minmax minmax_of(const struct words *w) {
    return (struct num_minmax){
        .max = has(w, "max"), .nan = has(w, "NaN"), .xorsign = has(w, "xorsign")};
}

static enum num_class_test test_of(const struct words *w) {
    static const char *const names[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    for (size_t i = 0; i < 6; i++)
        if (has(w, names[i]))
            return (enum num_class_test)i;
    abort();
}

static uint32_t f32_plain(const struct words *w, const uint32_t x[3]) {
    enum num_round mode = round_of(w);
    bool ftz = has(w, "ftz");
    const char *op = w->word[0];
    if (strcmp(op, "add") == 0)
        return ftz ? num_f32_add_ftz(x[0], x[1], mode) : num_f32_add(x[0], x[1], mode);
    if (strcmp(op, "sub") == 0)
        return ftz ? num_f32_sub_ftz(x[0], x[1], mode) : num_f32_sub(x[0], x[1], mode);
    if (strcmp(op, "mul") == 0)
        return ftz ? num_f32_mul_ftz(x[0], x[1], mode) : num_f32_mul(x[0], x[1], mode);
    if (strcmp(op, "fma") == 0)
        return ftz ? num_f32_fma_ftz(x[0], x[1], x[2], mode) : num_f32_fma(x[0], x[1], x[2], mode);
    if (strcmp(op, "copysign") == 0)
        return num_f32_copysign(x[0], x[1]);
    if (strcmp(op, "testp") == 0)
        return num_f32_testp(x[0], test_of(w));
    uint32_t a = ftz ? num_f32_flush(x[0]) : x[0], b = ftz ? num_f32_flush(x[1]) : x[1];
    uint32_t result;
    if (strcmp(op, "div") == 0)
        result = num_f32_div(a, b, mode);
    else if (strcmp(op, "rcp") == 0)
        result = num_f32_rcp(a, mode);
    else if (strcmp(op, "sqrt") == 0)
        result = num_f32_sqrt(a, mode);
    else if (strcmp(op, "neg") == 0)
        result = num_f32_neg(a);
    else if (strcmp(op, "abs") == 0)
        result = num_f32_abs(a);
    else
        result = num_f32_minmax(a, b, minmax_of(w));
    return ftz ? num_f32_flush(result) : result;
}

static uint64_t f32_op(const struct words *w, const uint64_t in[4]) {
    const uint32_t x[3] = {(uint32_t)in[0], (uint32_t)in[1], (uint32_t)in[2]};
    uint32_t result = f32_plain(w, x);
    return has(w, "sat") ? num_f32_saturate(result) : result;
}

static uint64_t f64_op(const struct words *w, const uint64_t x[4]) {
    enum num_round mode = round_of(w);
    const char *op = w->word[0];
    if (strcmp(op, "add") == 0)
        return num_f64_add(x[0], x[1], mode);
    if (strcmp(op, "sub") == 0)
        return num_f64_sub(x[0], x[1], mode);
    if (strcmp(op, "mul") == 0)
        return num_f64_mul(x[0], x[1], mode);
    if (strcmp(op, "fma") == 0)
        return num_f64_fma(x[0], x[1], x[2], mode);
    if (strcmp(op, "div") == 0)
        return num_f64_div(x[0], x[1], mode);
    if (strcmp(op, "rcp") == 0)
        return num_f64_rcp(x[0], mode);
    if (strcmp(op, "sqrt") == 0)
        return num_f64_sqrt(x[0], mode);
    if (strcmp(op, "neg") == 0)
        return num_f64_neg(x[0]);
    if (strcmp(op, "abs") == 0)
        return num_f64_abs(x[0]);
    if (strcmp(op, "copysign") == 0)
        return num_f64_copysign(x[0], x[1]);
    if (strcmp(op, "testp") == 0)
        return num_f64_testp(x[0], test_of(w));
    return num_f64_minmax(x[0], x[1], has(w, "max"));
}

static uint16_t bf16_plain(const struct words *w, const uint16_t x[3]) {
    const char *op = w->word[0];
    if (strcmp(op, "add") == 0)
        return num_bf16_add(x[0], x[1]);
    if (strcmp(op, "sub") == 0)
        return num_bf16_sub(x[0], x[1]);
    if (strcmp(op, "mul") == 0)
        return num_bf16_mul(x[0], x[1]);
    if (strcmp(op, "fma") == 0)
        return num_bf16_fma(x[0], x[1], x[2]);
    if (strcmp(op, "neg") == 0)
        return num_bf16_neg(x[0]);
    if (strcmp(op, "abs") == 0)
        return num_bf16_abs(x[0]);
    return num_bf16_minmax(x[0], x[1], minmax_of(w));
}

static uint16_t f16_plain(const struct words *w, const uint16_t x[3]) {
    bool ftz = has(w, "ftz");
    const char *op = w->word[0];
    if (strcmp(op, "add") == 0)
        return ftz ? num_f16_add_ftz(x[0], x[1]) : num_f16_add(x[0], x[1]);
    if (strcmp(op, "sub") == 0)
        return ftz ? num_f16_sub_ftz(x[0], x[1]) : num_f16_sub(x[0], x[1]);
    if (strcmp(op, "mul") == 0)
        return ftz ? num_f16_mul_ftz(x[0], x[1]) : num_f16_mul(x[0], x[1]);
    if (strcmp(op, "fma") == 0)
        return ftz ? num_f16_fma_ftz(x[0], x[1], x[2]) : num_f16_fma(x[0], x[1], x[2]);
    if (strcmp(op, "neg") == 0)
        return num_f16_neg(x[0]);
    if (strcmp(op, "abs") == 0)
        return num_f16_abs(x[0]);
    uint16_t a = ftz ? num_f16_flush(x[0]) : x[0], b = ftz ? num_f16_flush(x[1]) : x[1];
    return num_f16_minmax(a, b, minmax_of(w));
}

static uint16_t half_op(const struct words *w, const uint64_t in[4], unsigned shift, bool bf16) {
    const uint16_t x[3] = {(uint16_t)(in[0] >> shift), (uint16_t)(in[1] >> shift),
                           (uint16_t)(in[2] >> shift)};
    uint16_t result = bf16 ? bf16_plain(w, x) : f16_plain(w, x);
    if (has(w, "relu"))
        result = num_half_relu(result);
    return has(w, "sat") ? num_f16_saturate(result) : result;
}

static bool type_of(const char *word, enum num_type *type, bool *pair) {
    char name[12] = {0};
    strncpy(name, word, sizeof name - 1);
    size_t length = strlen(name);
    *pair = length > 2 && strcmp(name + length - 2, "x2") == 0;
    if (*pair)
        name[length - 2] = '\0';
    for (int i = 0; i < NUM_TYPE_COUNT; i++)
        if (strcmp(num_format((enum num_type)i)->name, name) == 0) {
            *type = (enum num_type)i;
            return true;
        }
    return false;
}

static uint64_t cvt_op(const struct words *w, const uint64_t in[4]) {
    struct num_cvt how = {.round = round_of(w),
                          .ftz = has(w, "ftz"),
                          .sat = has(w, "sat"),
                          .relu = has(w, "relu"),
                          .satfinite = has(w, "satfinite"),
                          .integral =
                              has(w, "rni") || has(w, "rzi") || has(w, "rmi") || has(w, "rpi")};
    bool to_pair, from_pair;
    cr_assert(type_of(w->word[w->count - 2], &how.to, &to_pair));
    cr_assert(type_of(w->word[w->count - 1], &how.from, &from_pair));
    if (has(w, "rna"))
        return num_cvt_rna_tf32((uint32_t)in[0], how.satfinite);
    if (!to_pair)
        return num_cvt(&how, in[0]);
    unsigned from_bits = num_format(how.from)->bits, to_bits = num_format(how.to)->bits;
    uint64_t high = from_pair ? in[0] >> from_bits : in[0];
    uint64_t low = from_pair ? in[0] : in[1];
    return num_cvt(&how, high) << to_bits | num_cvt(&how, low);
}

static bool evaluate(const struct scalar_form *form, const struct words *w, const uint64_t in[4],
                     uint64_t *out) {
    if (has(w, "approx") || has(w, "full") || has(w, "pack"))
        return false;
    if (strcmp(form->family, "f32") == 0)
        *out = f32_op(w, in);
    else if (strcmp(form->family, "f64") == 0)
        *out = f64_op(w, in);
    else if (strncmp(form->family, "cvt", 3) == 0)
        *out = cvt_op(w, in);
    else if (strcmp(form->family, "half") == 0) {
        bool bf16 = strncmp(form->result, "bf16", 4) == 0;
        *out = half_op(w, in, 0, bf16);
        if (strstr(form->result, "x2") != NULL)
            *out |= (uint64_t)half_op(w, in, 16, bf16) << 16;
    } else
        return false;
    return true;
}

static uint64_t register_mask(const char *type) {
    unsigned bits = scalar_type_bits(type);
    return bits_mask(bits == 8 ? 16 : bits);
}

Test(num_oracle, every_row_of_the_h200) {
    struct scalar_oracle oracle = scalar_oracle_open();
    size_t checked = 0, wrong = 0;
    for (size_t i = 0; i < oracle.form_count; i++) {
        const struct scalar_form *form = &oracle.forms[i];
        struct words w = split(form->ptx);
        cut(&w);
        size_t wrong_here = 0;
        for (size_t r = 0; r < form->row_count; r++) {
            const struct scalar_row *row = &form->rows[r];
            uint64_t got;
            if (!evaluate(form, &w, row->in, &got))
                break;
            checked++;
            got &= register_mask(form->result);
            if (got != row->out && wrong_here++ < 3)
                cr_log_error("%s a %llx b %llx c %llx: %llx, the H200 says %llx", form->ptx,
                             (unsigned long long)row->in[0], (unsigned long long)row->in[1],
                             (unsigned long long)row->in[2], (unsigned long long)got,
                             (unsigned long long)row->out);
        }
        wrong += wrong_here;
    }
    report_rows("scalar/hw-H200-scalar.csv.gz (functions only)", checked);
    scalar_oracle_close(&oracle);
    cr_assert_eq(wrong, 0, "%zu rows differ", wrong);
    cr_assert_gt(checked, 100000);
}
