/* `siltwin layout swizzle`: shared memory as 128-byte lines, each 16-byte chunk labelled with the
 * tile row and chunk that it holds. */
#include "layout_pages.h"

enum { LINE_BYTES = 128, CHUNK_BYTES = 16, CHUNKS = LINE_BYTES / CHUNK_BYTES };

/* Rows among eight neighbours whose chunk 0 shares its four banks with most others. */
static uint32_t worst_bank_group(const struct layout_swizzle_options *options, uint32_t span) {
    uint32_t hits[CHUNKS] = {0}, worst = 0;
    for (uint32_t row = 0; row < 8; row++) {
        uint32_t address = swizzle_address(options->mode, options->start_bytes + row * span);
        uint32_t count = ++hits[address / CHUNK_BYTES % CHUNKS];
        worst = count > worst ? count : worst;
    }
    return worst;
}

static void fill_cell(struct draw_page *page, struct draw_cell *cell, uint32_t address,
                      const struct layout_swizzle_options *options, uint32_t span) {
    uint32_t logical = swizzle_address(options->mode, address);
    uint32_t offset = logical - options->start_bytes;
    if (logical < options->start_bytes || offset >= options->rows * span)
        return;
    uint32_t row = offset / span, chunk = offset % span / CHUNK_BYTES;
    cell->text = draw_format(page, "r%u c%u", row, chunk);
    cell->hint = draw_format(page, "address 0x%x holds tile row %u, bytes %u to %u", address, row,
                             chunk * CHUNK_BYTES, chunk * CHUNK_BYTES + CHUNK_BYTES - 1);
    cell->colour = (int)(row % DRAW_COLOURS);
}

uint32_t layout_swizzle_row_bytes(enum swizzle_mode mode) {
    return mode == SWIZZLE_NONE ? LINE_BYTES : swizzle_rule(mode)->span_bytes;
}

bool layout_swizzle(struct draw_page *page, const struct layout_swizzle_options *options) {
    const struct swizzle_rule *rule = swizzle_rule(options->mode);
    uint32_t span = layout_swizzle_row_bytes(options->mode);
    uint32_t pattern = rule->pattern_bytes < LINE_BYTES ? LINE_BYTES : rule->pattern_bytes;
    uint32_t first = options->start_bytes / pattern * pattern;
    uint32_t end = options->start_bytes + options->rows * span;
    uint32_t lines = (end - first + LINE_BYTES - 1) / LINE_BYTES;
    struct draw_grid *grid = draw_add_grid(page, lines, CHUNKS);
    if (grid == NULL)
        return false;
    page->title =
        draw_format(page, "Swizzle %s: %u rows of %u bytes from shared address 0x%x",
                    swizzle_name(options->mode), options->rows, span, options->start_bytes);
    grid->title = "What lies where (r = row of the tile, c = 16-byte chunk of that row)";
    grid->row_axis = "shared address of the 128-byte line";
    grid->column_axis = "16-byte chunk of the line and its banks";
    grid->group_rows = rule->mask != 0 ? pattern / LINE_BYTES : 8;
    for (uint32_t c = 0; c < CHUNKS; c++)
        grid->column_labels[c] = draw_format(page, "%u b%u-%u", c, 4 * c, 4 * c + 3);
    for (uint32_t line = 0; line < lines; line++) {
        uint32_t address = first + line * LINE_BYTES;
        grid->row_labels[line] = draw_format(page, "0x%x", address);
        for (uint32_t c = 0; c < CHUNKS; c++)
            fill_cell(page, draw_cell(grid, line, c), address + c * CHUNK_BYTES, options, span);
    }
    if (rule->mask != 0)
        draw_add_note(
            page,
            "address ^= (address >> %u) & 0x%x, on the absolute shared address; pieces of "
            "%u bytes stay whole; the pattern repeats every %u bytes.",
            rule->shift, rule->mask, rule->unit_bytes, rule->pattern_bytes);
    else
        draw_add_note(page,
                      "No swizzle: addresses are taken as they are; drawn are rows of %d bytes.",
                      LINE_BYTES);
    uint32_t worst = worst_bank_group(options, span);
    draw_add_note(page, "The same chunk of 8 neighbouring rows: %s.",
                  worst == 1 ? "8 different bank groups, no bank conflict"
                             : draw_format(page, "up to %u in one bank group, %u-way conflict",
                                           worst, worst));
    return true;
}
