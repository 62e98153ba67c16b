#ifndef SILTWIN_DRAW_H
#define SILTWIN_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "strbuf.h"

/* Pictures of layouts: tables of small coloured cells with labelled axes, as text for a terminal
 * and as SVG. A page has a title, one or more grids and lines of explanation. All strings live in
 * the page's arena. */
enum {
    DRAW_COLOURS = 8,
    DRAW_EMPTY = -1, /* a cell that holds nothing */
    DRAW_GRIDS_MAX = 4,
    DRAW_NOTES_MAX = 12,
};

struct draw_cell {
    const char *text; /* a few characters, NULL for nothing */
    const char *hint; /* shown by a viewer when the pointer rests there; may be NULL */
    int colour;       /* 0..DRAW_COLOURS-1 or DRAW_EMPTY */
};

struct draw_grid {
    const char *title;
    const char *row_axis, *column_axis; /* what rows and columns count */
    size_t rows, columns;
    const char **row_labels, **column_labels;
    struct draw_cell *cells; /* [row][column] */
    size_t group_rows;       /* a thicker line after so many rows, 0 for none */
    size_t group_columns;    /* the same for columns */
};

struct draw_page {
    struct arena arena;
    const char *title;
    struct draw_grid grids[DRAW_GRIDS_MAX];
    size_t grid_count;
    const char *notes[DRAW_NOTES_MAX];
    size_t note_count;
};

/* printf into the page's arena; "" when the host has no memory left. */
const char *draw_format(struct draw_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a grid of empty cells without labels; NULL when there is no memory or no room. */
struct draw_grid *draw_add_grid(struct draw_page *page, size_t rows, size_t columns);
void draw_add_note(struct draw_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct draw_cell *draw_cell(struct draw_grid *grid, size_t row, size_t column) {
    return &grid->cells[row * grid->columns + column];
}

/* The page as text at most `width` characters wide: a grid that is wider is cut into blocks of
 * columns, one below the other. `colour` adds terminal background colours. */
void draw_text(const struct draw_page *page, size_t width, bool colour, struct strbuf *out);

/* The page as one SVG document on a white ground. */
void draw_svg(const struct draw_page *page, struct strbuf *out);

/* The page as JSON ("siltwin.layout/1"): labels and cell texts, null for an empty cell. False when
 * the host has no memory left. */
bool draw_json(const struct draw_page *page, struct strbuf *out);

void draw_free(struct draw_page *page);

#endif
