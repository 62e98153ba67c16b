/* Recognises one side of a difference as the other in another order. Memory is seen as rows of
 * bytes; a candidate says from where in `a` each unit of `b` comes:
 *
 *   swizzle      16-byte chunk c of a 128-byte line r from chunk c ^ (r & m); modes differ by m:
 *                7 none and 128B, 3 none and 64B, 1 none and 32B, 4 64B and 128B, 6 32B and 128B,
 *                2 32B and 64B; lines of 64 (32) bytes: c ^ (r / 2 & 3), c ^ (r / 4 & 1)
 *   chunks       chunk c from chunk c ^ k of its line
 *   rows         row r from row r + k, or from row r ^ k
 *   columns      element c from element c + k
 *   transposed   the whole matrix, or its tiles of 8, 16, 32, 64 elements a side
 *   K slices     the first slice of 16, 32, 64 bytes again and again
 *   lanes        pairs of elements of an 8 x 8 block of registers moved by k lanes
 *
 * A candidate counts when it explains every element of `b` that it says anything about, at least
 * three quarters of all, two thirds of those that differ among them. */
#include <stdlib.h>
#include <string.h>

#include "buffer_image.h"
#include "diff.h"

struct matrix {
    const uint8_t *a, *b; /* tight */
    uint64_t rows, columns, size;
    uint64_t differing;
};

enum move { SWIZZLE, CHUNKS, ROWS_SHIFTED, ROWS_EXCHANGED, COLUMNS, TRANSPOSED, SLICES, LANES };

struct candidate {
    enum move move;
    int64_t k;     /* mask, distance, tile */
    unsigned line; /* of SWIZZLE: rows shifted right by this */
};

/* Column of the element in `a`'s row that has the chunk exchanged by `x`; -1 past the row. */
static int64_t chunk(const struct matrix *m, uint64_t column, uint64_t x) {
    const uint64_t byte = column * m->size, moved = byte ^ (x << 4);
    return moved < m->columns * m->size ? (int64_t)(moved / m->size) : -1;
}

/* Where element (r, c) of b comes from, as an index of a; -1: the candidate does not say. */
static int64_t source(const struct matrix *m, const struct candidate *t, uint64_t r, uint64_t c) {
    int64_t row = (int64_t)r, column = (int64_t)c;
    const int64_t k = t->k;
    switch (t->move) {
    case SWIZZLE: column = chunk(m, c, (r >> t->line) & (uint64_t)k); break;
    case CHUNKS: column = chunk(m, c, (uint64_t)k); break;
    case ROWS_SHIFTED: row += k; break;
    case ROWS_EXCHANGED: row ^= k; break;
    case COLUMNS: column += k; break;
    case TRANSPOSED:
        if (k) {
            row = (int64_t)r / k * k + (int64_t)c % k;
            column = (int64_t)c / k * k + (int64_t)r % k;
        } else {
            row = (int64_t)c;
            column = (int64_t)r;
        }
        break;
    case SLICES: column = (int64_t)(c % ((uint64_t)k / m->size)); break;
    case LANES: {
        /* Lane 4 * (row % 8) + column / 2 % 4 of an accumulator fragment. */
        const int64_t lane = ((int64_t)(r % 8 * 4 + c / 2 % 4) + k) % 32;
        row = (int64_t)r / 8 * 8 + lane / 4;
        column = (int64_t)c / 8 * 8 + lane % 4 * 2 + (int64_t)c % 2;
        break;
    }
    }
    if (row < 0 || column < 0 || (uint64_t)row >= m->rows || (uint64_t)column >= m->columns)
        return -1;
    return row * (int64_t)m->columns + column;
}

static bool explains(const struct matrix *m, const struct candidate *t) {
    uint64_t said = 0, explained = 0;
    for (uint64_t r = 0; r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++) {
            const uint64_t i = r * m->columns + c;
            const int64_t from = source(m, t, r, c);
            if (from < 0)
                continue;
            said++;
            if (memcmp(m->b + i * m->size, m->a + (uint64_t)from * m->size, m->size))
                return false;
            explained += memcmp(m->b + i * m->size, m->a + i * m->size, m->size) != 0;
        }
    return explained && said >= m->rows * m->columns / 4 * 3 && explained * 3 >= m->differing * 2;
}

static bool try(const struct matrix *m, enum move move, int64_t k, unsigned line) {
    return explains(m, &(struct candidate){move, k, line});
}

static bool swizzled(const struct matrix *m, struct strbuf *out) {
    static const struct {
        int64_t mask;
        unsigned line;
        const char *text;
    } rows[] = {
        {7, 0, "128B on one side, none on the other"},
        {3, 0, "64B against none, in lines of 128 bytes"},
        {1, 0, "32B against none, in lines of 128 bytes"},
        {4, 0, "64B against 128B"},
        {6, 0, "32B against 128B"},
        {2, 0, "32B against 64B"},
        {3, 1, "64B on one side, none on the other"},
        {1, 2, "32B on one side, none on the other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (try(m, SWIZZLE, rows[i].mask, rows[i].line)) {
            strbuf_printf(out, "another swizzle mode: %s", rows[i].text);
            return true;
        }
    for (int64_t k = 1; k < 8; k++)
        if (try(m, CHUNKS, k, 0)) {
            strbuf_printf(out, "chunks of 16 bytes exchanged: chunk c is chunk c ^ %d", (int)k);
            return true;
        }
    return false;
}

static bool shifted(const struct matrix *m, struct strbuf *out) {
    const int64_t rows = (int64_t)m->rows, columns = (int64_t)m->columns;
    for (int64_t k = 1; k < 64; k++)
        for (int64_t sign = -1; sign <= 1; sign += 2) {
            if (k * 4 <= rows && try(m, ROWS_SHIFTED, sign * k, 0)) {
                strbuf_printf(out, "rows shifted: row r is row r %c %d", sign < 0 ? '-' : '+',
                              (int)k);
                return true;
            }
            if (k * 4 <= columns && try(m, COLUMNS, sign * k, 0)) {
                strbuf_printf(out, "columns shifted: column c is column c %c %d",
                              sign < 0 ? '-' : '+', (int)k);
                return true;
            }
        }
    for (int64_t k = 1; k < rows; k *= 2)
        if (try(m, ROWS_EXCHANGED, k, 0)) {
            strbuf_printf(out, "rows exchanged: row r is row r ^ %d", (int)k);
            return true;
        }
    return false;
}

static bool other(const struct matrix *m, struct strbuf *out) {
    if (m->rows == m->columns && try(m, TRANSPOSED, 0, 0)) {
        strbuf_puts(out, "transposed");
        return true;
    }
    for (int64_t k = 8; k <= 64; k *= 2)
        if (m->rows % (uint64_t)k == 0 && m->columns % (uint64_t)k == 0 &&
            try(m, TRANSPOSED, k, 0)) {
            strbuf_printf(out, "transposed within tiles of %d x %d", (int)k, (int)k);
            return true;
        }
    for (int64_t k = 16; k <= 64; k *= 2)
        if ((uint64_t)k < m->columns * m->size && try(m, SLICES, k, 0)) {
            strbuf_printf(out, "K slices repeated: the first %d bytes of a row come again", (int)k);
            return true;
        }
    for (int64_t k = 1; k < 32; k++)
        if (m->rows % 8 == 0 && m->columns % 8 == 0 && try(m, LANES, k, 0)) {
            strbuf_printf(out, "lanes moved: what lane l holds is lane (l + %d) %% 32's", (int)k);
            return true;
        }
    return false;
}

/* Either side may be the one that is out of order. */
static bool recognise(struct matrix *m, struct strbuf *out) {
    if (swizzled(m, out) || shifted(m, out) || other(m, out))
        return true;
    const uint8_t *a = m->a;
    m->a = m->b;
    m->b = a;
    return other(m, out);
}

static uint8_t *tight(const struct trace_buffer *shape, const uint8_t *span) {
    const size_t size = elem_info(shape->type)->size_bytes;
    uint8_t *copy = malloc(shape->elems * size);
    for (uint64_t i = 0; copy && i < shape->elems; i++)
        memcpy(copy + i * size, span + buffer_image_offset(shape, i), size);
    return copy;
}

bool diff_arrangement(const struct trace_buffer *shape_a, const uint8_t *a,
                      const struct trace_buffer *shape_b, const uint8_t *b, struct strbuf *out) {
    struct matrix m = {.size = elem_info(shape_a->type)->size_bytes};
    if (shape_a->rank < 2)
        return false;
    m.columns = shape_a->dims[shape_a->rank - 1];
    m.rows = shape_a->elems / m.columns;
    uint8_t *x = tight(shape_a, a), *y = tight(shape_b, b);
    m.a = x;
    m.b = y;
    for (uint64_t i = 0; x && y && i < shape_a->elems; i++)
        m.differing += memcmp(x + i * m.size, y + i * m.size, m.size) != 0;
    const bool found = x && y && m.differing && recognise(&m, out);
    free(x);
    free(y);
    return found;
}
