/* See support.h. zlib's gz functions read plain files too. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CSV_LINE_BYTES = 1 << 20, CSV_MAX_COLUMNS = 64 };

struct csv {
    gzFile file;
    char path[512];
    char *header_line;
    char *line;
    const char *header[CSV_MAX_COLUMNS];
    const char *field[CSV_MAX_COLUMNS];
    size_t column_count;
    size_t row_count;
};

static _Noreturn void give_up(const char *path, const char *what) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(99);
}

static size_t split(char *line, const char **fields) {
    size_t count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; p != NULL && count < CSV_MAX_COLUMNS;) {
        fields[count++] = p;
        p = strchr(p, ',');
        if (p != NULL)
            *p++ = '\0';
    }
    return count;
}

struct csv *csv_open(const char *path) {
    struct csv *csv = calloc(1, sizeof *csv);
    if (csv == NULL)
        give_up(path, "no memory");
    snprintf(csv->path, sizeof csv->path, "%s/tests/oracle/%s", SILTWIN_ROOT, path);
    csv->file = gzopen(csv->path, "rb");
    csv->header_line = malloc(CSV_LINE_BYTES);
    csv->line = malloc(CSV_LINE_BYTES);
    if (csv->file == NULL || csv->header_line == NULL || csv->line == NULL ||
        gzgets(csv->file, csv->header_line, CSV_LINE_BYTES) == NULL)
        give_up(csv->path, "cannot be read");
    csv->column_count = split(csv->header_line, csv->header);
    return csv;
}

bool csv_next(struct csv *csv) {
    if (gzgets(csv->file, csv->line, CSV_LINE_BYTES) == NULL)
        return false;
    if (split(csv->line, csv->field) != csv->column_count)
        give_up(csv->path, "a row has not as many fields as the header");
    csv->row_count++;
    return true;
}

size_t csv_column(struct csv *csv, const char *name) {
    for (size_t i = 0; i < csv->column_count; i++)
        if (strcmp(csv->header[i], name) == 0)
            return i;
    give_up(csv->path, name);
}

const char *csv_text(const struct csv *csv, size_t column) {
    return csv->field[column];
}

static const char *whole_number(const struct csv *csv, size_t column, const char *end) {
    const char *text = csv->field[column];
    if (end == text || *end != '\0')
        give_up(csv->path, text);
    return text;
}

uint64_t csv_hex(const struct csv *csv, size_t column) {
    char *end;
    uint64_t value = strtoull(csv->field[column], &end, 16);
    whole_number(csv, column, end);
    return value;
}

int64_t csv_int(const struct csv *csv, size_t column) {
    char *end;
    int64_t value = strtoll(csv->field[column], &end, 10);
    whole_number(csv, column, end);
    return value;
}

size_t csv_rows(const struct csv *csv) {
    return csv->row_count;
}

void csv_close(struct csv *csv) {
    gzclose(csv->file);
    free(csv->header_line);
    free(csv->line);
    free(csv);
}

void report_rows(const char *name, size_t count) {
    printf("checked %zu rows of %s\n", count, name);
}
