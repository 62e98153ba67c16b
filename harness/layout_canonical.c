/* `siltwin layout canonical`: an operand of the tensor core as its matrix descriptor places it. The
 * first grid says where each 16-byte piece of the matrix lies, the second what each 16-byte chunk
 * of shared memory holds. */
#include "layout_pages.h"

enum { LINE_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = LINE_BYTES / CHUNK_BYTES, LINES_MAX = 256 };

/* Names along the two directions of the operand. */
struct directions {
    const char *line, *major; /* "row"/"k" and "k"/"mn" */
    uint32_t lines, chunks;
    uint32_t elements_per_chunk;
};

static uint32_t elements_per_chunk(enum canonical_element element) {
    uint32_t count = 1;
    while (canonical_line_bytes(element, count + 1) <= CHUNK_BYTES)
        count++;
    return count;
}

static struct directions directions_of(const struct layout_canonical_options *options) {
    bool k_major = options->layout.major == CANONICAL_K;
    uint32_t along = k_major ? options->k : options->mn;
    return (struct directions){
        .line = k_major ? "row" : "k",
        .major = k_major ? "k" : "row",
        .lines = k_major ? options->mn : options->k,
        .chunks =
            (canonical_line_bytes(options->layout.element, along) + CHUNK_BYTES - 1) / CHUNK_BYTES,
        .elements_per_chunk = elements_per_chunk(options->layout.element),
    };
}

static bool draw_where(struct draw_page *page, const struct layout_canonical_options *options,
                       const struct directions *way) {
    struct draw_grid *grid = draw_add_grid(page, way->lines, way->chunks);
    if (grid == NULL)
        return false;
    grid->title = "Where each 16-byte piece of the matrix lies (shared address)";
    grid->row_axis = draw_format(page, "%s of the matrix", way->line);
    grid->column_axis =
        draw_format(page, "%s, %u elements in 16 bytes", way->major, way->elements_per_chunk);
    grid->group_rows = (size_t)1 << options->layout.group_shift;
    for (uint32_t c = 0; c < way->chunks; c++)
        grid->column_labels[c] = draw_format(page, "%u-%u", c * way->elements_per_chunk,
                                             (c + 1) * way->elements_per_chunk - 1);
    for (uint32_t line = 0; line < way->lines; line++) {
        grid->row_labels[line] = draw_format(page, "%u", line);
        for (uint32_t c = 0; c < way->chunks; c++) {
            struct draw_cell *cell = draw_cell(grid, line, c);
            cell->text =
                draw_format(page, "0x%x", canonical_chunk_address(&options->layout, line, c));
            cell->colour = (int)(line % DRAW_COLOURS);
        }
    }
    return true;
}

static void address_range(const struct layout_canonical_options *options,
                          const struct directions *way, uint32_t *first, uint32_t *end) {
    *first = UINT32_MAX;
    *end = 0;
    for (uint32_t line = 0; line < way->lines; line++)
        for (uint32_t c = 0; c < way->chunks; c++) {
            uint32_t address = canonical_chunk_address(&options->layout, line, c);
            *first = address < *first ? address : *first;
            *end = address + CHUNK_BYTES > *end ? address + CHUNK_BYTES : *end;
        }
}

static void place_chunk(struct draw_page *page, struct draw_cell *cell,
                        const struct directions *way, uint32_t line, uint32_t chunk,
                        uint32_t *overlaps) {
    if (cell->text != NULL) {
        ++*overlaps;
        return;
    }
    uint32_t first = chunk * way->elements_per_chunk;
    bool rows_are_lines = way->line[0] == 'r';
    cell->text =
        draw_format(page, "r%u k%u", rows_are_lines ? line : first, rows_are_lines ? first : line);
    cell->hint = draw_format(page, "%s %u, %s %u to %u", way->line, line, way->major, first,
                             first + way->elements_per_chunk - 1);
    cell->colour = (int)(line % DRAW_COLOURS);
}

static bool draw_what(struct draw_page *page, const struct layout_canonical_options *options,
                      const struct directions *way) {
    uint32_t first, end, overlaps = 0;
    address_range(options, way, &first, &end);
    first = first / LINE_BYTES * LINE_BYTES;
    uint32_t lines = (end - first + LINE_BYTES - 1) / LINE_BYTES;
    if (lines > LINES_MAX) {
        draw_add_note(page,
                      "The operand spreads over %u lines of 128 bytes; the first %d are drawn.",
                      lines, LINES_MAX);
        lines = LINES_MAX;
    }
    struct draw_grid *grid = draw_add_grid(page, lines, CHUNKS);
    if (grid == NULL)
        return false;
    grid->title = "What each 16-byte chunk of shared memory holds (row and k of its first element)";
    grid->row_axis = "shared address of the 128-byte line";
    grid->column_axis = "16-byte chunk of the line and its banks";
    grid->group_rows = 8;
    for (uint32_t c = 0; c < CHUNKS; c++)
        grid->column_labels[c] = draw_format(page, "%u b%u-%u", c, 4 * c, 4 * c + 3);
    for (uint32_t line = 0; line < lines; line++)
        grid->row_labels[line] = draw_format(page, "0x%x", first + line * LINE_BYTES);
    for (uint32_t line = 0; line < way->lines; line++)
        for (uint32_t c = 0; c < way->chunks; c++) {
            uint32_t at =
                (canonical_chunk_address(&options->layout, line, c) - first) / CHUNK_BYTES;
            if (at / CHUNKS < lines)
                place_chunk(page, draw_cell(grid, at / CHUNKS, at % CHUNKS), way, line, c,
                            &overlaps);
        }
    if (overlaps > 0)
        draw_add_note(page,
                      "%u pieces of the matrix share their bytes with another: check LBO and SBO.",
                      overlaps);
    return true;
}

bool layout_canonical(struct draw_page *page, const struct layout_canonical_options *options) {
    struct directions way = directions_of(options);
    bool k_major = options->layout.major == CANONICAL_K;
    page->title = draw_format(page, "%s operand, swizzle %s: %u rows (m or n) x %u k, %s elements",
                              k_major ? "K-major" : "MN-major", swizzle_name(options->desc.swizzle),
                              options->mn, options->k, options->element_name);
    draw_add_note(page, "start 0x%x, LBO %u bytes%s, SBO %u bytes, base offset %u",
                  options->desc.start_bytes, options->desc.lbo_bytes,
                  k_major && options->desc.swizzle != SWIZZLE_NONE ? " (not used)" : "",
                  options->desc.sbo_bytes, options->desc.base_offset);
    return draw_where(page, options, &way) && draw_what(page, options, &way);
}
