#ifndef SILTWIN_TRACE_SCAN_H
#define SILTWIN_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_parse.h"

/* Reading a trace's text: a cursor over one file, the words and signs at it, integer expressions
 * and the first error. Every function that can fail returns false and has then set the error;
 * callers only pass it on. */

struct trace_reader {
    struct trace *trace;
    struct file_set *files;
    const struct trace_options *options;
    struct trace_error *error;
    const struct file_entry *file; /* being read */
    const char *text;              /* zero-terminated */
    size_t at;
    unsigned line;
    size_t line_start;
    unsigned include_depth, repeat_depth, expression_depth;
    uint32_t iterations; /* of all repeats so far */
    bool dry;            /* inside repeat 0: checked, not added */
    bool saw_device;     /* a device or module statement was read */
};

/* The cursor moves over blanks and continued lines, not over the end of a line. */
void scan_blanks(struct trace_reader *r);
/* At the end of the statement: newline, comment, end of file, or `}`. */
bool scan_at_end(struct trace_reader *r);
/* Requires the end of the statement here. */
bool scan_end(struct trace_reader *r);
/* Moves to the next line's first word; false at the end of the file. */
bool scan_next_line(struct trace_reader *r);
struct trace_place scan_place(struct trace_reader *r);

/* Takes `sign` if it comes next (after blanks). */
bool scan_take(struct trace_reader *r, const char *sign);
/* Takes `word` if it comes next as a whole word. */
bool scan_take_word(struct trace_reader *r, const char *word);
/* Whether that word comes next; the cursor stays. */
bool scan_peek_word(struct trace_reader *r, const char *word);
/* Requires `sign`. */
bool scan_need(struct trace_reader *r, const char *sign);
/* A name [A-Za-z_][A-Za-z0-9_$]*, in the trace's arena; `what` names it in the error. */
bool scan_name(struct trace_reader *r, const char *what, const char **name);
/* Everything up to the next blank or end (paths, option values): at least one character. */
bool scan_word(struct trace_reader *r, const char *what, const char **word);
/* Floating-point number, also inf, nan, 0x1p-3, with a sign. */
bool scan_float(struct trace_reader *r, double *value);
/* Integer expression over constants. */
bool scan_int(struct trace_reader *r, int64_t *value);
/* The same, limited to low..high; `what` names it in the error. */
bool scan_int_in(struct trace_reader *r, const char *what, int64_t low, int64_t high,
                 int64_t *value);
/* Value of a constant; NULL when there is none of that name. */
const struct trace_const *scan_const(const struct trace *trace, const char *name, size_t length);

/* Sets the error at the cursor, or at a place: text as printf, exit status 2. Returns false. */
bool scan_fail(struct trace_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool scan_fail_at(struct trace_reader *r, const struct trace_place *place, int exit_status,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "expected WHAT, found 'what is there'". */
bool scan_expected(struct trace_reader *r, const char *what);

#endif
