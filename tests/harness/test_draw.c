#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "draw.h"

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part))
        count++;
    return count;
}

/* 2 x 4 cells, the last one empty. */
static void small_page(struct draw_page *page) {
    page->title = "Title <&>";
    struct draw_grid *grid = draw_add_grid(page, 2, 4);
    cr_assert_not_null(grid);
    grid->title = "grid";
    grid->row_axis = "rows";
    grid->column_axis = "columns";
    grid->group_columns = 2;
    for (size_t r = 0; r < 2; r++) {
        grid->row_labels[r] = draw_format(page, "%zu", r * 8);
        for (size_t c = 0; c < 4; c++) {
            grid->column_labels[c] = draw_format(page, "c%zu", c);
            if (r * 4 + c == 7)
                continue;
            draw_cell(grid, r, c)->text = draw_format(page, "x%zu", r * 4 + c);
            draw_cell(grid, r, c)->hint = "a < b";
            draw_cell(grid, r, c)->colour = (int)c;
        }
    }
    draw_add_note(page, "a note");
}

Test(draw, text) {
    struct draw_page page = {0};
    struct strbuf out = {0};
    small_page(&page);
    draw_text(&page, 80, false, &out);
    cr_assert_str_eq(strbuf_text(&out), "Title <&>\n"
                                        "\n"
                                        "grid\n"
                                        "  down: rows; across: columns\n"
                                        "    | c0  c1 | c2  c3 \n"
                                        "    +--------+--------\n"
                                        "  0 | x0  x1 | x2  x3 \n"
                                        "  8 | x4  x5 | x6   . \n"
                                        "\n"
                                        "a note\n");
    strbuf_free(&out);
    draw_free(&page);
}

/* Too narrow for four columns: two blocks, cut between groups. */
Test(draw, text_is_cut_into_blocks) {
    struct draw_page page = {0};
    struct strbuf out = {0};
    small_page(&page);
    draw_text(&page, 18, false, &out);
    cr_assert_not_null(strstr(strbuf_text(&out), "    | c0  c1 \n"
                                                 "    +--------\n"
                                                 "  0 | x0  x1 \n"
                                                 "  8 | x4  x5 \n"
                                                 "\n"
                                                 "    | c2  c3 \n"));
    strbuf_clear(&out);
    draw_text(&page, 1, false, &out);
    cr_assert_eq(count_of(strbuf_text(&out), "\n    | c"), 2);
    strbuf_free(&out);
    draw_free(&page);
}

Test(draw, colour_only_when_asked) {
    struct draw_page page = {0};
    struct strbuf out = {0};
    small_page(&page);
    draw_text(&page, 80, false, &out);
    cr_assert_null(strchr(strbuf_text(&out), '\033'));
    strbuf_clear(&out);
    draw_text(&page, 80, true, &out);
    cr_assert_eq(count_of(strbuf_text(&out), "\033[30;48;5;"), 7);
    cr_assert_eq(count_of(strbuf_text(&out), "\033[0m"), 7);
    strbuf_free(&out);
    draw_free(&page);
}

Test(draw, svg) {
    struct draw_page page = {0};
    struct strbuf out = {0};
    small_page(&page);
    draw_svg(&page, &out);
    const char *svg = strbuf_text(&out);
    cr_assert_eq(strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
    cr_assert_str_eq(svg + strlen(svg) - 7, "</svg>\n");
    cr_assert_eq(count_of(svg, "class=\"k\""), 8);
    cr_assert_eq(count_of(svg, "<title>a &lt; b</title>"), 7);
    cr_assert_eq(count_of(svg, "Title &lt;&amp;&gt;"), 1);
    cr_assert_eq(count_of(svg, "<g>"), count_of(svg, "</g>"));
    cr_assert_eq(count_of(svg, "<text "), count_of(svg, "</text>"));
    cr_assert_eq(count_of(svg, "down: rows; across: columns"), 1);
    strbuf_free(&out);
    draw_free(&page);
}

Test(draw, room_is_bounded) {
    struct draw_page page = {0};
    for (int i = 0; i < DRAW_GRIDS_MAX; i++)
        cr_assert_not_null(draw_add_grid(&page, 1, 1));
    cr_assert_null(draw_add_grid(&page, 1, 1));
    for (int i = 0; i < DRAW_NOTES_MAX + 3; i++)
        draw_add_note(&page, "%d", i);
    cr_assert_eq(page.note_count, DRAW_NOTES_MAX);
    draw_free(&page);
    cr_assert_eq(page.grid_count, 0);
}

Test(draw, json) {
    struct draw_page page = {0};
    struct strbuf out = {0};
    json_error_t error;
    small_page(&page);
    cr_assert(draw_json(&page, &out));
    json_t *root = json_loads(strbuf_text(&out), 0, &error);
    cr_assert_not_null(root, "%s", error.text);
    cr_assert_str_eq(json_string_value(json_object_get(root, "schema")), "siltwin.layout/1");
    json_t *grid = json_array_get(json_object_get(root, "grids"), 0);
    json_t *row = json_array_get(json_object_get(grid, "cells"), 1);
    cr_assert_str_eq(json_string_value(json_array_get(row, 2)), "x6");
    cr_assert(json_is_null(json_array_get(row, 3)));
    cr_assert_eq(json_array_size(json_object_get(grid, "columns")), 4);
    json_decref(root);
    strbuf_free(&out);
    draw_free(&page);
}
