#ifndef SILTWIN_DIFF_H
#define SILTWIN_DIFF_H

#include <jansson.h>
#include <stdbool.h>

#include "record.h"
#include "trace.h"

/* Compares what two records hold: first the events of probes, then the final buffers. What differs
 * is said on stdout (unless json) and kept as findings. `again` are more runs on the machine of b:
 * where they disagree with b, nothing can be said. */
struct diff {
    const struct record *a, *b;
    const struct record *again;
    size_t again_count;
    const char *a_name, *b_name;
    bool quiet, json;
    json_t *findings;
    int status;
    uint64_t events, legal, unstable; /* events compared; values that may differ, that vary */
};

/* All of it: sets `status`. */
void diff_records(struct diff *d);
/* The events. */
void diff_streams(struct diff *d);

/* A finding of `rule`; takes `more` (may be NULL). Status becomes EXIT_DIFFERENT. */
void diff_found(struct diff *d, const char *rule, const char *object, const char *text,
                json_t *more);
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
