/* Grids of cells as text and as SVG. See draw.h. */
#include "draw.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Light grounds that stay apart for colour-blind readers, and the nearest of a terminal's 256. */
static const char *const svg_colours[DRAW_COLOURS] = {
    "#a6cee3", "#fdd49e", "#b2df8a", "#fbb4c4", "#d9d9d9", "#cab2d6", "#ffff99", "#9fe0d5",
};
static const unsigned char terminal_colours[DRAW_COLOURS] = {153, 223, 150, 218,
                                                             252, 183, 229, 116};

const char *draw_format(struct draw_page *page, const char *format, ...) {
    struct strbuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    const char *copy = arena_strdup(&page->arena, strbuf_text(&text));
    strbuf_free(&text);
    return copy == NULL ? "" : copy;
}

struct draw_grid *draw_add_grid(struct draw_page *page, size_t rows, size_t columns) {
    if (page->grid_count == DRAW_GRIDS_MAX)
        return NULL;
    struct draw_grid grid = {
        .title = "",
        .row_axis = "",
        .column_axis = "",
        .rows = rows,
        .columns = columns,
        .row_labels = arena_array(&page->arena, rows, sizeof(char *)),
        .column_labels = arena_array(&page->arena, columns, sizeof(char *)),
        .cells = arena_array(&page->arena, rows * columns, sizeof(struct draw_cell)),
    };
    if (grid.row_labels == NULL || grid.column_labels == NULL || grid.cells == NULL)
        return NULL;
    for (size_t i = 0; i < rows * columns; i++)
        grid.cells[i].colour = DRAW_EMPTY;
    page->grids[page->grid_count] = grid;
    return &page->grids[page->grid_count++];
}

void draw_add_note(struct draw_page *page, const char *format, ...) {
    if (page->note_count == DRAW_NOTES_MAX)
        return;
    struct strbuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    const char *copy = arena_strdup(&page->arena, strbuf_text(&text));
    strbuf_free(&text);
    if (copy != NULL)
        page->notes[page->note_count++] = copy;
}

void draw_free(struct draw_page *page) {
    arena_free(&page->arena);
    *page = (struct draw_page){0};
}

static const char *or_empty(const char *text) {
    return text == NULL ? "" : text;
}

static size_t longest(const char *const *labels, size_t count) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(or_empty(labels[i]));
        most = length > most ? length : most;
    }
    return most;
}

static size_t longest_cell(const struct draw_grid *grid) {
    size_t most = 0;
    for (size_t i = 0; i < grid->rows * grid->columns; i++) {
        size_t length = strlen(or_empty(grid->cells[i].text));
        most = length > most ? length : most;
    }
    return most;
}

/* ---- text ---- */

static void text_row(const struct draw_grid *grid, size_t row, size_t first, size_t end,
                     size_t label_width, size_t cell_width, bool colour, struct strbuf *out) {
    strbuf_printf(out, "  %*s |", (int)label_width, or_empty(grid->row_labels[row]));
    for (size_t c = first; c < end; c++) {
        const struct draw_cell *cell = &grid->cells[row * grid->columns + c];
        const char *text = cell->text != NULL ? cell->text : cell->colour == DRAW_EMPTY ? "." : "";
        if (colour && cell->colour != DRAW_EMPTY)
            strbuf_printf(out, "\033[30;48;5;%dm %*s \033[0m", terminal_colours[cell->colour],
                          (int)cell_width, text);
        else
            strbuf_printf(out, " %*s ", (int)cell_width, text);
        if (grid->group_columns != 0 && (c + 1) % grid->group_columns == 0 && c + 1 < end)
            strbuf_puts(out, "|");
    }
    strbuf_puts(out, "\n");
}

static void text_rule(const struct draw_grid *grid, size_t first, size_t end, size_t label_width,
                      size_t cell_width, struct strbuf *out) {
    strbuf_printf(out, "  %*s +", (int)label_width, "");
    for (size_t c = first; c < end; c++) {
        for (size_t i = 0; i < cell_width + 2; i++)
            strbuf_puts(out, "-");
        if (grid->group_columns != 0 && (c + 1) % grid->group_columns == 0 && c + 1 < end)
            strbuf_puts(out, "+");
    }
    strbuf_puts(out, "\n");
}

static void text_block(const struct draw_grid *grid, size_t first, size_t end, size_t label_width,
                       size_t cell_width, bool colour, struct strbuf *out) {
    strbuf_printf(out, "  %*s |", (int)label_width, "");
    for (size_t c = first; c < end; c++) {
        strbuf_printf(out, " %*s ", (int)cell_width, or_empty(grid->column_labels[c]));
        if (grid->group_columns != 0 && (c + 1) % grid->group_columns == 0 && c + 1 < end)
            strbuf_puts(out, "|");
    }
    strbuf_puts(out, "\n");
    for (size_t row = 0; row < grid->rows; row++) {
        if (row == 0 || (grid->group_rows != 0 && row % grid->group_rows == 0))
            text_rule(grid, first, end, label_width, cell_width, out);
        text_row(grid, row, first, end, label_width, cell_width, colour, out);
    }
}

static void text_grid(const struct draw_grid *grid, size_t width, bool colour, struct strbuf *out) {
    size_t label_width = longest(grid->row_labels, grid->rows);
    size_t cell_width = longest(grid->column_labels, grid->columns);
    size_t cells = longest_cell(grid);
    cell_width = cells > cell_width ? cells : cell_width;
    size_t room = width > label_width + 4 ? width - label_width - 4 : 0;
    size_t per_block = room / (cell_width + 2);
    if (grid->group_columns != 0) /* each group ends in a bar */
        per_block = room / (grid->group_columns * (cell_width + 2) + 1) * grid->group_columns;
    if (per_block == 0)
        per_block = grid->group_columns != 0 ? grid->group_columns : 1;
    strbuf_printf(out, "\n%s\n", grid->title);
    strbuf_printf(out, "  down: %s; across: %s\n", grid->row_axis, grid->column_axis);
    for (size_t first = 0; first < grid->columns; first += per_block) {
        size_t end = first + per_block < grid->columns ? first + per_block : grid->columns;
        if (first > 0)
            strbuf_puts(out, "\n");
        text_block(grid, first, end, label_width, cell_width, colour, out);
    }
}

void draw_text(const struct draw_page *page, size_t width, bool colour, struct strbuf *out) {
    strbuf_printf(out, "%s\n", or_empty(page->title));
    for (size_t i = 0; i < page->grid_count; i++)
        text_grid(&page->grids[i], width, colour, out);
    if (page->note_count > 0)
        strbuf_puts(out, "\n");
    for (size_t i = 0; i < page->note_count; i++)
        strbuf_printf(out, "%s\n", page->notes[i]);
}

/* ---- SVG ---- */

enum { CELL_HEIGHT = 22, MARGIN = 24, CHAR_WIDTH = 7, TITLE_HEIGHT = 28, LINE_HEIGHT = 18 };

struct svg_box {
    size_t x, y;                    /* top left cell */
    size_t cell_width, label_width; /* pixels */
};

static void svg_escape(const char *text, struct strbuf *out) {
    for (; *text != '\0'; text++) {
        if (*text == '<')
            strbuf_puts(out, "&lt;");
        else if (*text == '>')
            strbuf_puts(out, "&gt;");
        else if (*text == '&')
            strbuf_puts(out, "&amp;");
        else
            strbuf_append(out, text, 1);
    }
}

/* `style` names a class of the sheet in draw_svg. */
static void svg_words(size_t x, size_t y, const char *style, const char *text, struct strbuf *out) {
    strbuf_printf(out, "<text x=\"%zu\" y=\"%zu\" class=\"%s\">", x, y, style);
    svg_escape(text, out);
    strbuf_puts(out, "</text>\n");
}

static void svg_cell(const struct draw_cell *cell, size_t x, size_t y, size_t width,
                     struct strbuf *out) {
    strbuf_puts(out, "<g>");
    if (cell->hint != NULL) {
        strbuf_puts(out, "<title>");
        svg_escape(cell->hint, out);
        strbuf_puts(out, "</title>");
    }
    strbuf_printf(
        out, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" fill=\"%s\" class=\"k\"/>", x,
        y, width, CELL_HEIGHT, cell->colour == DRAW_EMPTY ? "#ffffff" : svg_colours[cell->colour]);
    if (cell->text != NULL)
        svg_words(x + width / 2, y + 15, "c", cell->text, out);
    strbuf_puts(out, "</g>\n");
}

static void svg_group_lines(const struct draw_grid *grid, const struct svg_box *box,
                            struct strbuf *out) {
    size_t right = box->x + grid->columns * box->cell_width;
    size_t bottom = box->y + grid->rows * CELL_HEIGHT;
    for (size_t r = 0; r <= grid->rows; r++)
        if (r == 0 || r == grid->rows || (grid->group_rows != 0 && r % grid->group_rows == 0))
            strbuf_printf(out, "<path d=\"M%zu %zuH%zu\" class=\"g\"/>\n", box->x,
                          box->y + r * CELL_HEIGHT, right);
    for (size_t c = 0; c <= grid->columns; c++)
        if (c == 0 || c == grid->columns ||
            (grid->group_columns != 0 && c % grid->group_columns == 0))
            strbuf_printf(out, "<path d=\"M%zu %zuV%zu\" class=\"g\"/>\n",
                          box->x + c * box->cell_width, box->y, bottom);
}

static struct svg_box svg_measure(const struct draw_grid *grid, size_t top) {
    size_t cells = longest_cell(grid), labels = longest(grid->column_labels, grid->columns);
    size_t label_width = longest(grid->row_labels, grid->rows) * CHAR_WIDTH + 12;
    return (struct svg_box){
        .x = MARGIN + label_width,
        .y = top + TITLE_HEIGHT + 2 * LINE_HEIGHT + 8,
        .cell_width = (cells > labels ? cells : labels) * CHAR_WIDTH + 10,
        .label_width = label_width,
    };
}

/* Draws the grid and returns the y below it. */
static size_t svg_grid(const struct draw_grid *grid, size_t top, struct strbuf *out) {
    struct svg_box box = svg_measure(grid, top);
    svg_words(MARGIN, top + 18, "h", grid->title, out);
    strbuf_printf(out, "<text x=\"%d\" y=\"%zu\" class=\"a\">down: ", MARGIN,
                  top + TITLE_HEIGHT + 8);
    svg_escape(grid->row_axis, out);
    strbuf_puts(out, "; across: ");
    svg_escape(grid->column_axis, out);
    strbuf_puts(out, "</text>\n");
    for (size_t c = 0; c < grid->columns; c++)
        svg_words(box.x + c * box.cell_width + box.cell_width / 2, box.y - 6, "l",
                  or_empty(grid->column_labels[c]), out);
    for (size_t r = 0; r < grid->rows; r++) {
        size_t y = box.y + r * CELL_HEIGHT;
        svg_words(box.x - 8, y + 15, "r", or_empty(grid->row_labels[r]), out);
        for (size_t c = 0; c < grid->columns; c++)
            svg_cell(&grid->cells[r * grid->columns + c], box.x + c * box.cell_width, y,
                     box.cell_width, out);
    }
    svg_group_lines(grid, &box, out);
    return box.y + grid->rows * CELL_HEIGHT + MARGIN;
}

/* Width that the page needs: the widest grid or line of text. */
static size_t svg_width(const struct draw_page *page) {
    size_t width = strlen(or_empty(page->title)) * 11;
    for (size_t i = 0; i < page->grid_count; i++) {
        const struct draw_grid *grid = &page->grids[i];
        struct svg_box box = svg_measure(grid, 0);
        size_t cells = box.label_width + grid->columns * box.cell_width;
        size_t words = (strlen(grid->row_axis) + strlen(grid->column_axis) + 16) * CHAR_WIDTH;
        size_t title = strlen(grid->title) * (CHAR_WIDTH + 2);
        width = cells > width ? cells : width;
        width = words > width ? words : width;
        width = title > width ? title : width;
    }
    for (size_t i = 0; i < page->note_count; i++) {
        size_t words = strlen(page->notes[i]) * CHAR_WIDTH;
        width = words > width ? words : width;
    }
    return width + 2 * MARGIN;
}

void draw_svg(const struct draw_page *page, struct strbuf *out) {
    struct strbuf body = {0};
    size_t y = MARGIN + TITLE_HEIGHT;
    svg_words(MARGIN, y - 10, "t", or_empty(page->title), &body);
    for (size_t i = 0; i < page->grid_count; i++)
        y = svg_grid(&page->grids[i], y, &body);
    for (size_t i = 0; i < page->note_count; i++, y += LINE_HEIGHT)
        svg_words(MARGIN, y + 8, "n", page->notes[i], &body);
    y += MARGIN;
    size_t width = svg_width(page);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
                  "viewBox=\"0 0 %zu %zu\">\n<style>\n"
                  "text{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:11px;"
                  "fill:#222}\n"
                  ".t{font-size:17px;font-weight:bold}.h{font-size:13px;font-weight:bold}\n"
                  ".a{fill:#555}.c,.l{text-anchor:middle}.r{text-anchor:end}.l,.r{fill:#555}\n"
                  ".k{stroke:#999;stroke-width:.5}.g{stroke:#222;stroke-width:1.6;fill:none}\n"
                  "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                  width, y, width, y);
    strbuf_append(out, strbuf_text(&body), body.length);
    strbuf_puts(out, "</svg>\n");
    strbuf_free(&body);
}
