/* "Did you mean": the edit distance between a word and the words that are known. */
#include <string.h>

#include "ptx_syntax.h"

enum { LONGEST = 48 };

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, replacements, and exchanges of neighbours. */
static unsigned distance(const char *a, unsigned a_length, const char *b, unsigned b_length) {
    unsigned rows[3][LONGEST + 1]; /* of i - 2, i - 1 and i, in turn */
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        const unsigned *before = rows[(i + 1) % 3], *last = rows[(i - 1) % 3];
        unsigned *row = rows[i % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            row[j] = smallest(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *ptx_nearest(const char *text, unsigned length, const char *(*word)(unsigned index),
                        unsigned count) {
    const char *best = NULL;
    unsigned best_distance = length / 3 + 1;
    if (length > LONGEST)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        const char *candidate = word(i);
        size_t candidate_length = strlen(candidate);
        if (candidate_length == 0 || candidate_length > LONGEST)
            continue;
        unsigned d = distance(text, length, candidate, (unsigned)candidate_length);
        if (d < best_distance || (d == best_distance && best == NULL)) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}
