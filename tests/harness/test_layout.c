#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "layout_pages.h"

/* Every chunk of a tile is drawn once, at the place that the swizzle gives it. */
Test(layout, swizzle) {
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode <= SWIZZLE_128B_ATOM_64B; mode++) {
        if (!swizzle_is_known(mode))
            continue;
        for (uint32_t start = 0; start < 2048; start += 208) {
            struct draw_page page = {0};
            struct layout_swizzle_options options = {mode, start, 12};
            cr_assert(layout_swizzle(&page, &options));
            const struct draw_grid *grid = &page.grids[0];
            uint32_t row_bytes = layout_swizzle_row_bytes(mode), drawn = 0;
            for (size_t i = 0; i < grid->rows * grid->columns; i++) {
                uint32_t row, chunk;
                if (grid->cells[i].text == NULL)
                    continue;
                cr_assert_eq(sscanf(grid->cells[i].text, "r%u c%u", &row, &chunk), 2);
                uint32_t at =
                    (uint32_t)strtoul(grid->row_labels[i / 8], NULL, 16) + (uint32_t)(i % 8) * 16;
                cr_assert_eq(swizzle_address(mode, start + row * row_bytes + chunk * 16), at);
                cr_assert_eq(grid->cells[i].colour, row % DRAW_COLOURS);
                drawn++;
            }
            cr_assert_eq(drawn, 12 * row_bytes / 16, "%s from %u", swizzle_name(mode), start);
            draw_free(&page);
        }
    }
}

Test(layout, swizzle_bank_note) {
    struct draw_page page = {0};
    struct layout_swizzle_options none = {SWIZZLE_NONE, 0, 8}, whole = {SWIZZLE_128B, 0, 8};
    cr_assert(layout_swizzle(&page, &none));
    cr_assert_not_null(strstr(page.notes[1], "8-way conflict"));
    draw_free(&page);
    cr_assert(layout_swizzle(&page, &whole));
    cr_assert_not_null(strstr(page.notes[1], "no bank conflict"));
    draw_free(&page);
}

static void check_canonical(enum swizzle_mode mode, enum canonical_major major) {
    struct draw_page page = {0};
    struct layout_canonical_options options = {
        .desc = {.start_bytes = 0x800, .lbo_bytes = 8192, .sbo_bytes = 1024, .swizzle = mode},
        .element_name = "16-bit",
        .mn = 64,
        .k = 16,
    };
    cr_assert_eq(canonical_prepare(&options.desc, major, CANONICAL_16BIT, &options.layout),
                 CANONICAL_OK);
    cr_assert(layout_canonical(&page, &options));
    const struct draw_grid *what = &page.grids[1];
    uint32_t drawn = 0;
    for (size_t i = 0; i < what->rows * what->columns; i++) {
        uint32_t row, k;
        if (what->cells[i].text == NULL)
            continue;
        cr_assert_eq(sscanf(what->cells[i].text, "r%u k%u", &row, &k), 2);
        uint32_t at = (uint32_t)strtoul(what->row_labels[i / 8], NULL, 16) + (uint32_t)(i % 8) * 16;
        cr_assert_eq(canonical_place(&options.layout, row, k).address_bytes, at);
        const struct draw_grid *where = &page.grids[0];
        size_t cell =
            major == CANONICAL_K ? row * where->columns + k / 8 : k * where->columns + row / 8;
        cr_assert_eq(strtoul(where->cells[cell].text, NULL, 16), at);
        drawn++;
    }
    cr_assert_eq(drawn, 64 * 16 * 2 / 16);
    draw_free(&page);
}

Test(layout, canonical) {
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode <= SWIZZLE_128B; mode++) {
        check_canonical(mode, CANONICAL_K);
        check_canonical(mode, CANONICAL_MN);
    }
}

Test(layout, canonical_overlap_is_said) {
    struct draw_page page = {0};
    struct layout_canonical_options options = {
        .desc = {.sbo_bytes = 0, .swizzle = SWIZZLE_128B}, .element_name = "", .mn = 16, .k = 16};
    cr_assert_eq(canonical_prepare(&options.desc, CANONICAL_K, CANONICAL_16BIT, &options.layout),
                 CANONICAL_OK);
    cr_assert(layout_canonical(&page, &options));
    cr_assert_not_null(strstr(page.notes[page.note_count - 1], "16 pieces"));
    draw_free(&page);
}

/* Each drawn cell is the map's; packed forms fill two columns a register. */
Test(layout, tmem) {
    for (enum tmem_shape shape = 0; shape < TMEM_SHAPE_COUNT; shape++)
        for (uint32_t packed = 0; packed < 2; packed++) {
            struct draw_page page = {0};
            struct layout_tmem_options options = {
                .access = {.shape = shape, .num = 4, .packed = packed != 0}, .name = "", .warp = 5};
            if (shape == TMEM_16X32BX2)
                options.access.half_split_columns = 4 << packed;
            cr_assert(layout_tmem(&page, &options));
            const struct draw_grid *grid = &page.grids[0];
            cr_assert_str_eq(grid->row_labels[0], "32");
            for (uint32_t lane = 0; lane < grid->rows; lane++)
                for (uint32_t column = 0; column < grid->columns; column++) {
                    uint32_t thread, reg;
                    const char *text = grid->cells[lane * grid->columns + column].text;
                    cr_assert_eq(sscanf(text, "t%u r%u", &thread, &reg), 2);
                    struct tmem_cell cell = tmem_access_cell(&options.access, thread, reg);
                    uint32_t half = packed != 0 && text[strlen(text) - 1] == 'h';
                    cr_assert(cell.lane == lane && cell.column + half == column);
                }
            draw_free(&page);
        }
}

/* No fragment leaves a cell empty. */
Test(layout, fragments_are_full) {
    for (uint32_t kind = 0; kind < LAYOUT_FRAGMENT_COUNT; kind++) {
        bool result = kind == LAYOUT_WGMMA_D || kind == LAYOUT_MMA_C;
        for (uint32_t bits = result ? 16 : 8; bits <= 32; bits *= 2) {
            struct draw_page page = {0};
            struct layout_fragment_options options = {.kind = (enum layout_fragment_kind)kind,
                                                      .name = "",
                                                      .element_bits = bits,
                                                      .n = 24,
                                                      .matrices = 2};
            cr_assert(layout_fragment(&page, &options));
            for (size_t i = 0; i < page.grids[0].rows * page.grids[0].columns; i++)
                cr_assert_not_null(page.grids[0].cells[i].text);
            draw_free(&page);
        }
    }
}

static int layout_line(const char *line) {
    char copy[512], *argv[24];
    int argc = 0;
    cr_assert_lt(strlen(line), sizeof copy);
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return cmd_layout(argc, argv);
}

Test(layout, exit_status) {
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"layout --help", EXIT_AS_EXPECTED},
        {"layout swizzle 128B", EXIT_AS_EXPECTED},
        {"layout swizzle none --start 0x490 --rows 3 --width 60", EXIT_AS_EXPECTED},
        {"layout swizzle 128B --svg -", EXIT_AS_EXPECTED},
        {"layout swizzle 64B --json", EXIT_AS_EXPECTED},
        {"layout swizzle 64B --json --svg -", EXIT_USAGE},
        {"layout canonical", EXIT_AS_EXPECTED},
        {"layout canonical --desc 0x4000404000010000 --rows 8 --k 64", EXIT_AS_EXPECTED},
        {"layout canonical --major MN --swizzle 128B_ATOM_32B --element 32", EXIT_AS_EXPECTED},
        {"layout canonical --element 6in16B --swizzle none --lbo 256 --sbo 128", EXIT_AS_EXPECTED},
        {"layout tmem-ld 16x256b.x32 --warp 3", EXIT_AS_EXPECTED},
        {"layout tmem-ld 16x32bx2.x8 --split 64 --pack16", EXIT_AS_EXPECTED},
        {"layout fragment wgmma-d --n 256 --element 16", EXIT_AS_EXPECTED},
        {"layout fragment ldmatrix.m16n16 --num 2", EXIT_AS_EXPECTED},
        {"layout swizzle 128B_ATOM_32B_FLIP_8B", EXIT_NO_VERDICT},
        {"layout canonical --major MN --swizzle 128B_ATOM_32B --element 32 --base-offset 1",
         EXIT_NO_VERDICT},
        {"layout", EXIT_USAGE},
        {"layout swizzle", EXIT_USAGE},
        {"layout swizzle 128B more", EXIT_USAGE},
        {"layout swizzle 96B", EXIT_USAGE},
        {"layout swizzle 128B --start 8", EXIT_USAGE},
        {"layout swizzle 128B --rows 0", EXIT_USAGE},
        {"layout swizzle 128B --rows", EXIT_USAGE},
        {"layout swizzle 128B --n 8", EXIT_USAGE},
        {"layout swizzle 128B --svg /does/not/exist.svg", EXIT_USAGE},
        {"layout swizzle 128B --width 1", EXIT_USAGE},
        {"layout canonical 128B", EXIT_USAGE},
        {"layout canonical --desc 0x4000404000010000 --lbo 16", EXIT_USAGE},
        {"layout canonical --desc 0x6000404000010000", EXIT_USAGE},
        {"layout canonical --swizzle 128B_ATOM_64B", EXIT_USAGE},
        {"layout canonical --swizzle 128B_ATOM_32B", EXIT_USAGE},
        {"layout canonical --major MN --element 4", EXIT_USAGE},
        {"layout canonical --sbo 100", EXIT_USAGE},
        {"layout tmem-ld", EXIT_USAGE},
        {"layout tmem-ld 16x256b", EXIT_USAGE},
        {"layout tmem-ld 16x256b.x64", EXIT_USAGE},
        {"layout tmem-ld 16x256b.x3", EXIT_USAGE},
        {"layout tmem-ld 32x32b.x2 --split 4", EXIT_USAGE},
        {"layout fragment", EXIT_USAGE},
        {"layout fragment wmma", EXIT_USAGE},
        {"layout fragment wgmma-d --n 12", EXIT_USAGE},
        {"layout fragment mma-a --element 12", EXIT_USAGE},
        {"layout fragment mma-a --num 2", EXIT_USAGE},
        {"layout fragment ldmatrix --num 3", EXIT_USAGE},
        {"layout frob", EXIT_USAGE},
        {"layout --frob", EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_eq(layout_line(rows[i].line), rows[i].status, "%s", rows[i].line);
}

Test(layout, svg_file) {
    char path[] = "/tmp/siltwin-svg-XXXXXX", line[128], head[5] = "";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    snprintf(line, sizeof line, "layout tmem-ld 32x32b.x4 --svg %s", path);
    int status = layout_line(line);
    close(fd); /* of the file that was replaced */
    FILE *file = fopen(path, "r");
    cr_assert(file);
    size_t got = fread(head, 1, 4, file);
    fclose(file);
    remove(path);
    cr_assert_eq(status, EXIT_AS_EXPECTED);
    cr_assert(got == 4 && strcmp(head, "<svg") == 0);
}
