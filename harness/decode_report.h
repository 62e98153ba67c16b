#ifndef SILTWIN_DECODE_REPORT_H
#define SILTWIN_DECODE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"

/* What `siltwin decode` says about a value: its fields, what they mean together, and what is wrong
 * with it. Printed as text or as JSON ("siltwin.decode/1"). */
enum { DECODE_FIELDS_MAX = 48, DECODE_LINES_MAX = 40 };

struct decode_field {
    unsigned high_bit, low_bit; /* both 0 where the field has no place of its own to show */
    const char *name;
    uint64_t raw;
    const char *meaning;
};

struct decode_report {
    struct arena arena;
    const char *kind;  /* "smem-desc" */
    const char *title; /* what it is, in words */
    const char *value; /* as hex text */
    struct decode_field fields[DECODE_FIELDS_MAX];
    size_t field_count;
    const char *lines[DECODE_LINES_MAX]; /* what the fields mean together */
    size_t line_count;
    const char *problems[DECODE_LINES_MAX];
    size_t problem_count;
};

/* Adds bits high:low with the name `name`; the text says what the raw value means. */
void decode_field(struct decode_report *report, unsigned high_bit, unsigned low_bit,
                  const char *name, uint64_t raw, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void decode_line(struct decode_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void decode_problem(struct decode_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *decode_format(struct decode_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void decode_print_text(const struct decode_report *report, FILE *out);
/* False when the host has no memory left. */
bool decode_print_json(const struct decode_report *report, FILE *out);
void decode_free(struct decode_report *report);

#endif
