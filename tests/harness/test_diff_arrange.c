/* Every rearrangement is recognised by its name, on random elements; noise and equal data are not.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

enum { ROWS = 64, COLUMNS = 64 };
typedef uint16_t matrix[ROWS][COLUMNS];

static const struct trace_buffer shape = {.name = "C",
                                          .type = ELEM_BF16,
                                          .rank = 2,
                                          .dims = {ROWS, COLUMNS},
                                          .strides = {COLUMNS, 1},
                                          .elems = ROWS * COLUMNS,
                                          .span_bytes = 2 * ROWS * COLUMNS};

static void fill(matrix m) {
    uint32_t state = 12345;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            state = state * 1664525 + 1013904223;
            m[r][c] = (uint16_t)(state >> 16);
        }
}

typedef void source_fn(int k, int r, int c, int *row, int *column);

static void swizzle(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c ^ ((r & k) * 8);
}
static void swizzle_64(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c ^ ((r >> 1 & k) * 8);
}
static void swizzle_32(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c ^ ((r >> 2 & k) * 8);
}
static void chunks(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c ^ (8 * k);
}
static void rows_shifted(int k, int r, int c, int *row, int *column) {
    *row = r + k;
    *column = c;
}
static void columns_shifted(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c + k;
}
static void rows_exchanged(int k, int r, int c, int *row, int *column) {
    *row = r ^ k;
    *column = c;
}
static void transposed(int k, int r, int c, int *row, int *column) {
    *row = r / k * k + c % k;
    *column = c / k * k + r % k;
}
static void slices(int k, int r, int c, int *row, int *column) {
    *row = r;
    *column = c % k;
}
static void lanes(int k, int r, int c, int *row, int *column) {
    const int lane = (r % 8 * 4 + c / 2 % 4 + k) % 32;
    *row = r / 8 * 8 + lane / 4;
    *column = c / 8 * 8 + lane % 4 * 2 + c % 2;
}

static const struct {
    source_fn *from;
    int k;
    const char *name;
} table[] = {
    {swizzle, 7, "another swizzle mode: 128B on one side, none on the other"},
    {swizzle, 3, "another swizzle mode: 64B against none, in lines of 128 bytes"},
    {swizzle, 1, "another swizzle mode: 32B against none, in lines of 128 bytes"},
    {swizzle, 4, "another swizzle mode: 64B against 128B"},
    {swizzle, 6, "another swizzle mode: 32B against 128B"},
    {swizzle, 2, "another swizzle mode: 32B against 64B"},
    {swizzle_64, 3, "another swizzle mode: 64B on one side, none on the other"},
    {swizzle_32, 1, "another swizzle mode: 32B on one side, none on the other"},
    {chunks, 1, "chunks of 16 bytes exchanged: chunk c is chunk c ^ 1"},
    {chunks, 5, "chunks of 16 bytes exchanged: chunk c is chunk c ^ 5"},
    {rows_shifted, 1, "rows shifted: row r is row r + 1"},
    {rows_shifted, -8, "rows shifted: row r is row r - 8"},
    {columns_shifted, 2, "columns shifted: column c is column c + 2"},
    {columns_shifted, -16, "columns shifted: column c is column c - 16"},
    {rows_exchanged, 8, "rows exchanged: row r is row r ^ 8"},
    {transposed, 64, "transposed"},
    {transposed, 8, "transposed within tiles of 8 x 8"},
    {transposed, 16, "transposed within tiles of 16 x 16"},
    {slices, 16, "K slices repeated: the first 32 bytes of a row come again"},
    {lanes, 4, "lanes moved: what lane l holds is lane (l + 4) % 32's"},
    {lanes, 1, "lanes moved: what lane l holds is lane (l + 1) % 32's"},
};

Test(diff_arrange, names) {
    static matrix a, b;
    fill(a);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct strbuf text = {0};
        /* What comes from outside is something else. */
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) {
                int row, column;
                table[i].from(table[i].k, r, c, &row, &column);
                const bool inside = row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;
                b[r][c] = inside ? a[row][column] : (uint16_t)(r * 131 + c);
            }
        const bool found =
            diff_arrangement(&shape, (const uint8_t *)a, &shape, (const uint8_t *)b, &text);
        cr_expect(found, "%s", table[i].name);
        cr_expect_str_eq(strbuf_text(&text), table[i].name);
        strbuf_free(&text);
    }
}

Test(diff_arrange, what_is_none) {
    static matrix a, b;
    struct strbuf text = {0};
    fill(a);
    memcpy(b, a, sizeof a);
    const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
    cr_expect_not(diff_arrangement(&shape, x, &shape, y, &text)); /* equal */
    b[3][5] ^= 1;
    cr_expect_not(diff_arrangement(&shape, x, &shape, y, &text)); /* one wrong element */
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            b[r][c] = (uint16_t)(a[r][c ^ (r % 8 * 8)] + (r == 9 && c == 9));
    cr_expect_not(diff_arrangement(&shape, x, &shape, y, &text)); /* swizzled, but for one */
    const struct trace_buffer flat = {
        .type = ELEM_BF16, .rank = 1, .dims = {4096}, .strides = {1}, .elems = 4096};
    cr_expect_not(diff_arrangement(&flat, x, &flat, y, &text)); /* rows are not known */
    cr_expect_eq(text.length, 0);
    strbuf_free(&text);
}
