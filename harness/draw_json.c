/* A page of grids as JSON. See draw.h. */
#include <jansson.h>
#include <stdlib.h>

#include "draw.h"

static json_t *text_or_null(const char *text) {
    return text == NULL ? json_null() : json_string(text);
}

static json_t *list(const char *const *texts, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, text_or_null(texts[i]));
    return array;
}

static json_t *grid_json(const struct draw_grid *grid) {
    json_t *object = json_object(), *cells = json_array();
    for (size_t r = 0; r < grid->rows; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < grid->columns; c++)
            json_array_append_new(row, text_or_null(grid->cells[r * grid->columns + c].text));
        json_array_append_new(cells, row);
    }
    json_object_set_new(object, "title", text_or_null(grid->title));
    json_object_set_new(object, "row_axis", text_or_null(grid->row_axis));
    json_object_set_new(object, "column_axis", text_or_null(grid->column_axis));
    json_object_set_new(object, "rows", list(grid->row_labels, grid->rows));
    json_object_set_new(object, "columns", list(grid->column_labels, grid->columns));
    json_object_set_new(object, "cells", cells);
    return object;
}

bool draw_json(const struct draw_page *page, struct strbuf *out) {
    json_t *root = json_object(), *grids = json_array();
    for (size_t i = 0; i < page->grid_count; i++)
        json_array_append_new(grids, grid_json(&page->grids[i]));
    json_object_set_new(root, "schema", json_string("siltwin.layout/1"));
    json_object_set_new(root, "title", text_or_null(page->title));
    json_object_set_new(root, "grids", grids);
    json_object_set_new(root, "notes", list(page->notes, page->note_count));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    if (text == NULL)
        return false;
    strbuf_printf(out, "%s\n", text);
    free(text);
    return !out->truncated;
}
