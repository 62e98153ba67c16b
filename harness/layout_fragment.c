/* `siltwin layout fragment`: which thread holds which element of a matrix in which register. */
#include "layout_pages.h"

/* One element of a picture: who holds it. */
struct holder {
    uint32_t thread, reg, sub, subs; /* sub-element of a register of `subs` elements */
};

static void place(struct draw_page *page, struct draw_grid *grid, uint32_t row, uint32_t col,
                  struct holder holder) {
    struct draw_cell *cell = draw_cell(grid, row, col);
    if (holder.subs == 1)
        cell->text = draw_format(page, "t%u r%u", holder.thread, holder.reg);
    else if (holder.subs == 2)
        cell->text = draw_format(page, "t%u r%u%c", holder.thread, holder.reg, "lh"[holder.sub]);
    else
        cell->text = draw_format(page, "t%u r%u.%u", holder.thread, holder.reg, holder.sub);
    cell->hint = draw_format(
        page, "row %u, column %u: thread %u, register %u, bits %u:%u", row, col, holder.thread,
        holder.reg, (holder.sub + 1) * (32 / holder.subs) - 1, holder.sub * (32 / holder.subs));
    cell->colour = (int)(holder.thread / 4 % DRAW_COLOURS);
}

static struct draw_grid *new_grid(struct draw_page *page, uint32_t rows, uint32_t columns,
                                  const char *row_axis, const char *column_axis, uint32_t subs) {
    struct draw_grid *grid = draw_add_grid(page, rows, columns);
    if (grid == NULL)
        return NULL;
    grid->title = subs == 1   ? "t = thread, r = register"
                  : subs == 2 ? "t = thread, r = register, l and h its low and high half"
                              : "t = thread, r = register, .0 to .3 its bytes from the lowest";
    grid->row_axis = row_axis;
    grid->column_axis = column_axis;
    grid->group_rows = 8;
    grid->group_columns = 8;
    for (uint32_t c = 0; c < columns; c++)
        grid->column_labels[c] = draw_format(page, "%u", c);
    for (uint32_t r = 0; r < rows; r++)
        grid->row_labels[r] = draw_format(page, "%u", r);
    return grid;
}

static bool draw_wgmma_d(struct draw_page *page, const struct layout_fragment_options *options) {
    uint32_t subs = 32 / options->element_bits;
    struct draw_grid *grid =
        new_grid(page, 64, options->n, "m (rows of D)", "n (columns of D)", subs);
    if (grid == NULL)
        return false;
    for (uint32_t thread = 0; thread < 128; thread++)
        for (uint32_t v = 0; v < options->n / 2; v++) {
            struct fragment_place at = fragment_wgmma_d(thread, v);
            place(page, grid, at.row, at.col, (struct holder){thread, v / subs, v % subs, subs});
        }
    grid->group_rows = 16;
    draw_add_note(page,
                  "Thread t of the warpgroup is lane t%%32 of warp t/32; warp w has rows 16w to "
                  "16w+15.");
    return true;
}

static bool draw_mma_c(struct draw_page *page, const struct layout_fragment_options *options) {
    uint32_t subs = 32 / options->element_bits;
    struct draw_grid *grid = new_grid(page, 16, 8, "m", "n", subs);
    if (grid == NULL)
        return false;
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < 4; i++) {
            struct fragment_place at = fragment_mma_c(lane, i);
            place(page, grid, at.row, at.col, (struct holder){lane, i / subs, i % subs, subs});
        }
    return true;
}

static bool draw_operand(struct draw_page *page, const struct layout_fragment_options *options) {
    uint32_t bits = options->element_bits, subs = 32 / bits, k = 256 / bits;
    bool b = options->kind == LAYOUT_MMA_B, wgmma = options->kind == LAYOUT_WGMMA_A;
    struct draw_grid *grid = new_grid(page,
                                      b       ? k
                                      : wgmma ? 64
                                              : 16,
                                      b ? 8 : k, b ? "k" : "m", b ? "n" : "k", subs);
    if (grid == NULL)
        return false;
    for (uint32_t thread = 0; thread < (wgmma ? 128u : 32u); thread++)
        for (uint32_t i = 0; i < (b ? 2 : 4) * subs; i++) {
            uint32_t reg = i / subs, sub = i % subs;
            struct fragment_place at = b       ? fragment_mma_b(bits, thread, reg, sub)
                                       : wgmma ? fragment_wgmma_a(bits, thread, reg, sub)
                                               : fragment_mma_a(bits, thread, reg, sub);
            place(page, grid, at.row, at.col, (struct holder){thread, reg, sub, subs});
        }
    grid->group_rows = wgmma ? 16 : 8;
    grid->group_columns = b ? 8 : 4 * subs;
    if (!wgmma)
        draw_add_note(page, "The instruction with half this K takes the first half of K and of the "
                            "registers.");
    return true;
}

static enum fragment_move move_of(enum layout_fragment_kind kind) {
    switch (kind) {
    case LAYOUT_LDMATRIX_TRANS:
    case LAYOUT_STMATRIX_TRANS: return FRAGMENT_M8N8_TRANS_B16;
    case LAYOUT_LDMATRIX_M16N16: return FRAGMENT_LDMATRIX_M16N16_TRANS_B8;
    case LAYOUT_LDMATRIX_M8N16: return FRAGMENT_LDMATRIX_M8N16;
    case LAYOUT_STMATRIX_M16N8: return FRAGMENT_STMATRIX_M16N8_TRANS_B8;
    default: return FRAGMENT_M8N8_B16;
    }
}

static bool draw_move(struct draw_page *page, const struct layout_fragment_options *options) {
    enum fragment_move move = move_of(options->kind);
    uint32_t subs = fragment_move_elements(move), rows = fragment_move_rows(move);
    uint32_t registers = options->matrices * fragment_move_registers(move);
    struct draw_grid *grid =
        new_grid(page, options->matrices * rows, 4 * subs,
                 "lane whose address operand names the 16-byte row",
                 subs == 2 ? "16-bit element of the row" : "element of the row, one a byte", subs);
    if (grid == NULL)
        return false;
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t i = 0; i < registers * subs; i++) {
            struct fragment_source at = fragment_move_source(move, lane, i / subs, i % subs);
            place(page, grid, at.address_lane, at.element,
                  (struct holder){lane, i / subs, i % subs, subs});
        }
    grid->group_rows = rows;
    draw_add_note(page,
                  "Matrix j has rows %u*j to %u*j+%u; no swizzle is applied: lanes pass "
                  "swizzled addresses.",
                  rows, rows, rows - 1);
    return true;
}

bool layout_fragment(struct draw_page *page, const struct layout_fragment_options *options) {
    page->title = draw_format(page, "Register fragment %s", options->name);
    switch (options->kind) {
    case LAYOUT_WGMMA_D: return draw_wgmma_d(page, options);
    case LAYOUT_MMA_C: return draw_mma_c(page, options);
    case LAYOUT_WGMMA_A:
    case LAYOUT_MMA_A:
    case LAYOUT_MMA_B: return draw_operand(page, options);
    default: return draw_move(page, options);
    }
}
