/* `siltwin layout tmem-ld`: which thread and register of a warp each Tensor Memory cell goes to. */
#include "layout_pages.h"

static void place_cell(struct draw_page *page, struct draw_grid *grid,
                       const struct layout_tmem_options *options, uint32_t thread, uint32_t reg) {
    struct tmem_cell at = tmem_access_cell(&options->access, thread, reg);
    bool by_quad = options->access.shape != TMEM_32X32B && options->access.shape != TMEM_16X32BX2;
    for (uint32_t half = 0; half < (options->access.packed ? 2u : 1u); half++) {
        struct draw_cell *cell = draw_cell(grid, at.lane, at.column + half);
        const char *suffix = !options->access.packed ? "" : half == 0 ? "l" : "h";
        cell->text = draw_format(page, "t%u r%u%s", thread, reg, suffix);
        cell->hint = draw_format(page, "lane %u, column +%u: thread %u, register %u%s", at.lane,
                                 at.column + half, thread, reg,
                                 !options->access.packed ? ""
                                 : half == 0             ? ", bits 15:0"
                                                         : ", bits 31:16");
        cell->colour = (int)((by_quad ? thread / 4 : thread) % DRAW_COLOURS);
    }
}

bool layout_tmem(struct draw_page *page, const struct layout_tmem_options *options) {
    const struct tmem_access *access = &options->access;
    uint32_t lanes = tmem_access_lanes(access->shape), columns = tmem_access_columns(access);
    uint32_t registers = tmem_access_registers(access->shape, access->num);
    struct draw_grid *grid = draw_add_grid(page, lanes, columns);
    if (grid == NULL)
        return false;
    page->title = draw_format(page, "tcgen05.ld / st .%s%s: %u register%s a thread", options->name,
                              access->packed ? " with 16-bit packing" : "", registers,
                              registers == 1 ? "" : "s");
    grid->title = draw_format(page, "Tensor Memory cells (t = thread of the warp, r = register%s)",
                              access->packed ? ", l and h: low and high half" : "");
    grid->row_axis = draw_format(page, "lane, warp %u", options->warp);
    grid->column_axis = "column from the instruction's address";
    grid->group_rows = 8;
    grid->group_columns = 8;
    for (uint32_t column = 0; column < columns; column++)
        grid->column_labels[column] = draw_format(page, "+%u", column);
    for (uint32_t lane = 0; lane < lanes; lane++)
        grid->row_labels[lane] =
            draw_format(page, "%u", tmem_warp_first_lane(options->warp) + lane);
    for (uint32_t thread = 0; thread < TMEM_WARP_LANES; thread++)
        for (uint32_t reg = 0; reg < registers; reg++)
            place_cell(page, grid, options, thread, reg);
    draw_add_note(page, "Warp w of the CTA reaches lanes 32*(w%%4) to 32*(w%%4)+31.%s",
                  lanes == 16 ? " Add 16 to the lane of the address for the upper 16 lanes." : "");
    if (access->packed)
        draw_add_note(page, "Only bits 15:0 of each cell take part.");
    return true;
}
