#ifndef SILTWIN_SUPPORT_H
#define SILTWIN_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reader of the oracle tables: CSV with one header row, plain or gzip'd, no quoting. Any trouble
 * (no file, a short row, an unknown column) ends the test program with a message. */
struct csv;

/* `path` is relative to tests/oracle. */
struct csv *csv_open(const char *path);
/* Advances to the next row; false at the end of the file. */
bool csv_next(struct csv *csv);
/* Index of a column by its header name. */
size_t csv_column(struct csv *csv, const char *name);
/* Text of a field of the current row, valid until csv_next. */
const char *csv_text(const struct csv *csv, size_t column);
uint64_t csv_hex(const struct csv *csv, size_t column);
int64_t csv_int(const struct csv *csv, size_t column);
/* Rows read so far. */
size_t csv_rows(const struct csv *csv);
void csv_close(struct csv *csv);

/* Prints "checked COUNT rows of NAME" on stdout, which the test run shows. */
void report_rows(const char *name, size_t count);

#endif
