#ifndef SILTWIN_DIFF_H
#define SILTWIN_DIFF_H

#include <jansson.h>
#include <stdbool.h>

#include "diff_class.h"
#include "record.h"
#include "trace.h"

struct diff_stores;

/* Compares what two records hold: first the events of probes, then the final buffers. What differs
 * is said on stdout (unless json) and kept as findings. `again` are more runs on the machine of b:
 * what they disagree about is unstable. The rest is made by diff_records. */
struct diff {
    const struct record *a, *b;
    const struct record *again;
    size_t again_count;
    const char *a_name, *b_name;
    bool quiet, json;
    json_t *findings;
    int status;
    uint64_t events;       /* compared */
    uint64_t not_compared; /* events of [sim] probes that only one record has */
    struct diff_counts counts;
    struct strbuf first[DIFF_CLASS_COUNT]; /* of each class that does not end in a finding */
    uint32_t spread;            /* sources that were seen to differ and reach memory: bits */
    struct diff_stores *stores; /* what probes saw being stored, NULL: nothing */
};

/* All of it: sets `status`, and frees what it made but the findings. */
void diff_records(struct diff *d);
/* The events. */
void diff_streams(struct diff *d);
/* Frees what the comparison made, but for the findings. */
void diff_free(struct diff *d);
/* What came out, on stdout. */
void diff_print_summary(const struct diff *d);

/* A finding of `rule`, an error of that class; takes `more` (may be NULL). */
void diff_found(struct diff *d, enum diff_class class, const char *rule, const char *object,
                const char *text, json_t *more);
/* Counts one value of a class that is no finding; `text` is kept of the first, NULL counts alone.
 */
void diff_noted(struct diff *d, enum diff_class class, const char *text);
/* No verdict, unless something differs. */
void diff_no_verdict(struct diff *d, const char *text);

/* How the elements of `b` are those of `a` in another order: appends a sentence and returns true
 * when a known one explains every difference. */
bool diff_arrangement(const struct trace_buffer *shape_a, const uint8_t *a,
                      const struct trace_buffer *shape_b, const uint8_t *b, struct strbuf *out);
/* The lines that decide how memory lies, for the text behind an arrangement: where the traces or
 * PTX files of the two records differ first, else what writes that memory in them. */
void diff_deciding_lines(const struct diff *d, bool shared, struct strbuf *out);

#endif
