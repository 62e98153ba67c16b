#ifndef SILTWIN_SCALAR_RUN_H
#define SILTWIN_SCALAR_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scalar_forms.h"

/* Oracle forms through PTX text, parser and executor, on the h200 model. */
struct scalar_run {
    bool (*wanted)(const struct scalar_form *form);
    /* Called for every row of every wanted form with what the executor stored. */
    void (*judge)(void *ctx, const struct scalar_form *form, const struct scalar_row *row,
                  uint64_t got);
    void *ctx;
};

/* Runs all wanted forms of the oracle as one module; returns the count of rows judged. */
size_t scalar_run(const struct scalar_oracle *oracle, const struct scalar_run *run);

/* A judge that wants the oracle's very bits: prints the first differences of each form. */
struct scalar_exact {
    size_t wrong;
    const struct scalar_form *form; /* of the last difference */
    size_t wrong_here;
};
void scalar_judge_exact(void *ctx, const struct scalar_form *form, const struct scalar_row *row,
                        uint64_t got);

#endif
