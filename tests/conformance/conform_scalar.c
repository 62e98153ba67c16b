/* Families scalar and exhaustive: one instruction a thread, every form of
 * tests/oracle/scalar/forms.csv but the approximate ones of f32 and f64.
 *
 * scalar: 16 forms a batch, 1024 rows of random and extreme operands each. exhaustive: a batch is
 * one form with one operand of 8 or 16 bits, all 65,536 words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "conform_families.h"
#include "launch.h"
#include "module.h"
#include "scalar_ptx.h"

enum { GROUP = 16, ROWS = CONFORM_SCALAR_CASES / GROUP, WORDS = 1 << 16 };

static bool exact(const struct scalar_form *form) {
    return strstr(form->ptx, ".full.") == NULL &&
           (strstr(form->ptx, ".approx") == NULL || strstr(form->ptx, "f16") != NULL);
}

static bool small_source(const struct scalar_form *form) {
    return exact(form) && form->operand_count == 1 && scalar_type_bits(form->operand[0]) <= 16 &&
           scalar_type_bits(form->operand[0]) > 1;
}

/* Picks the nth form (modulo their count) that `fits`. */
static const struct scalar_form *pick(const struct scalar_oracle *oracle,
                                      bool (*fits)(const struct scalar_form *), uint64_t nth) {
    uint64_t count = 0, at = 0;
    for (size_t i = 0; i < oracle->form_count; i++)
        count += fits(&oracle->forms[i]);
    nth %= count;
    for (size_t i = 0; i < oracle->form_count; i++)
        if (fits(&oracle->forms[i]) && at++ == nth)
            return &oracle->forms[i];
    return NULL;
}

static uint64_t integer_word(struct conform_random *random, unsigned bits) {
    uint64_t word = conform_next(random), all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    switch (conform_below(random, 6)) {
    case 0: word = conform_below(random, 70); break;
    case 1: word = 0 - (uint64_t)conform_below(random, 70); break;
    case 2:
        word = UINT64_C(1) << conform_below(random, bits);
        word -= conform_below(random, 3);
        break;
    case 3: word &= conform_next(random) & conform_next(random); break;
    default: break;
    }
    return word & all;
}

static uint64_t float_word(struct conform_random *random, struct conform_format format) {
    struct conform_masks masks = conform_masks_of(random, format);
    uint64_t bits = conform_next(random);
    unsigned which = (bits >> 32 & masks.rare) == 0;
    return ((uint32_t)bits & masks.keep[which]) | masks.set[which];
}

static uint64_t operand_word(struct conform_random *random, const char *type) {
    static const struct {
        const char *type;
        struct conform_format format;
    } floats[] = {{"f16", {16, 5, 10}},   {"bf16", {16, 8, 7}}, {"f16x2", {16, 5, 10}},
                  {"bf16x2", {16, 8, 7}}, {"f32", {32, 8, 23}}, {"tf32", {32, 8, 23}},
                  {"e4m3x2", {8, 4, 3}},  {"e5m2x2", {8, 5, 2}}};
    if (strcmp(type, "f64") == 0) {
        uint64_t high = float_word(random, (struct conform_format){32, 11, 20});
        uint64_t low = conform_next(random);
        return high << 32 | (conform_below(random, 3) ? low & UINT32_MAX : 0);
    }
    unsigned bits = scalar_type_bits(type);
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        if (strcmp(type, floats[i].type) == 0)
            return float_word(random, floats[i].format) & (bits == 16 ? 0xffff : UINT32_MAX);
    return integer_word(random, bits);
}

struct rows {
    struct buffer buffer;
    uint64_t (*words)[SCALAR_ROW_BYTES / 8];
    size_t count;
};

/* Runs kernel f<id> on the rows and takes the results, 8 bytes a row. */
static bool run_form(const struct driver *driver, const struct module *module,
                     const struct scalar_form *form, struct rows *rows, uint8_t *results,
                     struct host_error *error) {
    char entry[16];
    const size_t bytes = rows->count * sizeof *rows->words;
    snprintf(entry, sizeof entry, "f%u", form->id);
    CUfunction function = module_function(module, entry, error);
    const uint64_t params[2] = {rows->buffer.address, rows->count};
    static const uint32_t offsets[2] = {0, 8};
    struct launch_desc desc = {.function = function,
                               .grid = {(unsigned)(rows->count + 255) / 256, 1, 1},
                               .block = {256, 1, 1},
                               .params = params,
                               .params_bytes = sizeof params,
                               .param_offsets = offsets,
                               .param_count = 2};
    if (function == NULL || !buffer_upload(&rows->buffer, 0, rows->words, bytes, error) ||
        launch_kernel(driver, &desc, error) != CUDA_SUCCESS ||
        launch_wait(driver, NULL, 60, error) != LAUNCH_DONE ||
        !buffer_download(&rows->buffer, 0, rows->words, bytes, error))
        return false;
    for (size_t i = 0; i < rows->count; i++)
        memcpy(results + 8 * i, &rows->words[i][SCALAR_OPERANDS_MAX], 8);
    return true;
}

static void make_rows(const struct conform_batch *batch, const struct scalar_form *form,
                      uint32_t first, struct rows *rows) {
    memset(rows->words, 0, rows->count * sizeof *rows->words);
    for (size_t i = 0; i < rows->count; i++) {
        struct conform_random random = conform_random_of(batch, "scalar", first + (uint32_t)i);
        for (size_t k = 0; k < form->operand_count; k++)
            rows->words[i][k] = operand_word(&random, form->operand[k]);
    }
}

static void make_all(const struct scalar_form *form, struct rows *rows) {
    uint64_t mask = scalar_type_bits(form->operand[0]) == 8 ? 0xff : 0xffff;
    memset(rows->words, 0, rows->count * sizeof *rows->words);
    for (size_t i = 0; i < rows->count; i++)
        rows->words[i][0] = i & mask;
}

static bool run_forms(struct conform_batch *batch, const struct scalar_form *const *forms,
                      unsigned form_count, size_t row_count, struct host_error *error) {
    struct strbuf text = {0};
    struct module module = {0};
    struct rows rows = {.count = row_count, .words = malloc(row_count * sizeof *rows.words)};
    scalar_ptx_head(&text);
    for (unsigned i = 0; i < form_count; i++) {
        bool again = false;
        for (unsigned k = 0; k < i; k++)
            again = again || forms[k] == forms[i];
        if (!again)
            scalar_ptx_kernel(forms[i], &text);
    }
    bool good = rows.words != NULL && !text.truncated &&
                conform_load(batch->driver, text.text, &module, error) &&
                buffer_alloc(batch->driver, row_count * sizeof *rows.words, &rows.buffer, error);
    if (!good && module.log != NULL)
        result_message(error, "%.500s", module.log);
    for (unsigned i = 0; good && i < form_count; i++) {
        if (form_count == 1)
            make_all(forms[i], &rows);
        else
            make_rows(batch, forms[i], (uint32_t)(i * row_count), &rows);
        good = run_form(batch->driver, &module, forms[i], &rows, batch->results + 8 * i * row_count,
                        error);
    }
    buffer_free(&rows.buffer);
    module_unload(&module);
    strbuf_free(&text);
    free(rows.words);
    return good;
}

bool conform_scalar_run(struct conform_batch *batch, struct host_error *error) {
    struct scalar_oracle oracle = {0};
    const struct scalar_form *forms[GROUP];
    scalar_forms_read(&oracle, batch->forms_path);
    for (unsigned i = 0; i < GROUP; i++)
        forms[i] = pick(&oracle, exact, batch->number * GROUP + i);
    bool good = run_forms(batch, forms, GROUP, ROWS, error);
    scalar_oracle_close(&oracle);
    return good;
}

void conform_scalar_describe(const struct conform_batch *batch, uint32_t index, char *text,
                             size_t size) {
    struct scalar_oracle oracle = {0};
    scalar_forms_read(&oracle, batch->forms_path);
    const struct scalar_form *form = pick(&oracle, exact, batch->number * GROUP + index / ROWS);
    uint64_t words[1][SCALAR_ROW_BYTES / 8];
    struct rows rows = {.words = words, .count = 1};
    make_rows(batch, form, index, &rows);
    snprintf(text, size, "%s of %llx %llx %llx %llx", form->ptx, (unsigned long long)words[0][0],
             (unsigned long long)words[0][1], (unsigned long long)words[0][2],
             (unsigned long long)words[0][3]);
    scalar_oracle_close(&oracle);
}

bool conform_exhaustive_run(struct conform_batch *batch, struct host_error *error) {
    struct scalar_oracle oracle = {0};
    scalar_forms_read(&oracle, batch->forms_path);
    const struct scalar_form *form = pick(&oracle, small_source, batch->number);
    bool good = run_forms(batch, &form, 1, WORDS, error);
    scalar_oracle_close(&oracle);
    return good;
}

void conform_exhaustive_describe(const struct conform_batch *batch, uint32_t index, char *text,
                                 size_t size) {
    struct scalar_oracle oracle = {0};
    scalar_forms_read(&oracle, batch->forms_path);
    snprintf(text, size, "%s of %x", pick(&oracle, small_source, batch->number)->ptx, index);
    scalar_oracle_close(&oracle);
}
