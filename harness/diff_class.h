#ifndef SILTWIN_DIFF_CLASS_H
#define SILTWIN_DIFF_CLASS_H

#include <jansson.h>
#include <stdint.h>

#include "probe_flow.h"

/* The classes of differences (diff_class.def), and how many values were of each. */

enum diff_class {
#define DIFF_CLASS(name, word, text, status) DIFF_##name,
#include "diff_class.def"
#undef DIFF_CLASS
    DIFF_CLASS_COUNT,
    DIFF_EQUAL = DIFF_CLASS_COUNT
};

/* Bit of a set of sources, beside 1 << enum probe_why: the machine does not repeat itself. */
enum { DIFF_UNSTABLE_BIT = 1u << 31 };

struct diff_counts {
    uint64_t of_class[DIFF_CLASS_COUNT];
    uint64_t legal_by[PROBE_WHY_COUNT]; /* of DIFF_LEGAL, why */
};

const char *diff_class_word(enum diff_class class);
const char *diff_class_text(enum diff_class class);
/* Exit status that a difference of that class asks for. */
int diff_class_status(enum diff_class class);

/* {"differs": n, "legal": n, ...}, and {"clock": n, ...} of those that are not 0. */
json_t *diff_counts_json(const struct diff_counts *counts);
json_t *diff_counts_legal_json(const struct diff_counts *counts);

#endif
