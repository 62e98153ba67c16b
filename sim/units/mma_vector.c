/* The walk of the vector engines over a tile; see mma_vector.h. */
#include "mma_vector.h"

#include <string.h>

/* Rows of C and D that the caller's own memory cannot serve: blocks that are not whole, f16, no C.
 */
struct staging {
    _Alignas(64) uint32_t c_words[MMA_GROUP][MMA_BLOCK];
    _Alignas(64) uint32_t c[MMA_GROUP][MMA_BLOCK];
    _Alignas(64) uint32_t d[MMA_GROUP][MMA_BLOCK];
    _Alignas(64) uint32_t scalar_d[MMA_GROUP][MMA_BLOCK];
};

/* The words of C as the caller has them, of 64 columns. */
static const uint32_t *accumulators(const struct mma_work *w, struct staging *stage, uint32_t r) {
    if (w->tile->c_rows == NULL)
        return memset(stage->c_words[r], 0, sizeof stage->c_words[r]);
    const uint32_t *words = w->tile->c_rows[w->row + r] + w->column;
    if (w->columns == MMA_BLOCK)
        return words;
    return memcpy(stage->c_words[r], words, w->columns * sizeof *words);
}

static void do_group(struct mma_work *w, struct staging *stage, const struct mma_vector *vector) {
    const uint32_t *c_words[MMA_GROUP];
    uint32_t *d_words[MMA_GROUP];
    uint64_t scalar[MMA_GROUP] = {0};
    uint64_t exists = w->columns == MMA_BLOCK ? ~UINT64_C(0) : (UINT64_C(1) << w->columns) - 1;
    struct mma_lanes lanes;
    for (uint32_t r = 0; r < w->rows; r++) {
        c_words[r] = accumulators(w, stage, r);
        d_words[r] = w->tile->d_rows[w->row + r] + w->column;
        w->c[r] = w->sticky ? stage->c[r] : c_words[r];
        w->d[r] = w->sticky || w->columns != MMA_BLOCK ? stage->d[r] : d_words[r];
        if (w->sticky)
            vector->widen(c_words[r], stage->c[r]);
    }
    vector->examine(w, &lanes);
    /* before D is written: C may be the same memory */
    for (uint32_t r = 0; r < w->rows; r++) {
        scalar[r] = (lanes.outside[r] | w->info->special) & exists;
        for (uint64_t left = scalar[r]; left != 0; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctzll(left);
            stage->scalar_d[r][lane] =
                mma_tile_element(w->tile, w->row + r, w->column + lane, c_words[r][lane]);
        }
    }
    vector->sums(w, &lanes);
    for (uint32_t r = 0; r < w->rows; r++) {
        if (w->sticky)
            vector->narrow(stage->d[r], stage->d[r]);
        if (w->d[r] != d_words[r])
            memcpy(d_words[r], w->d[r], w->columns * sizeof *d_words[r]);
        for (uint64_t left = scalar[r]; left != 0; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctzll(left);
            d_words[r][lane] = stage->scalar_d[r][lane];
        }
    }
}

static void enter_block(struct mma_work *w, const struct mma_operand *b) {
    size_t block = w->column / MMA_BLOCK, plane = block * w->k_count * MMA_BLOCK;
    w->info = (const struct mma_block *)b->row_info + block;
    w->b_values = (const double *)b->values + plane;
    w->b_exponents = (const int8_t *)b->exponents + plane;
    w->b_depths = (const int8_t *)b->depths + 2 * plane;
    w->columns = b->rows - w->column < MMA_BLOCK ? b->rows - w->column : MMA_BLOCK;
}

static void enter_rows(struct mma_work *w, const struct mma_operand *a) {
    size_t row = w->tile->row_begin + w->row;
    w->rows = w->tile->row_count - w->row < MMA_GROUP ? 1 : MMA_GROUP;
    w->a_values = (const double *)a->values + row * w->k_count;
    w->a_exponents = (const uint32_t *)a->exponents + row * w->k_count;
    w->a_depths = (const struct mma_depth *)a->depths + row * w->k_count;
    w->a_info = (const struct mma_row *)a->row_info + row;
}

void mma_vector_tile(const struct mma_tile *tile, const struct mma_vector *vector) {
    const struct mma_arith *arith = tile->arith;
    struct staging stage;
    memset(&stage, 0, sizeof stage); /* columns that do not exist are computed too */
    struct mma_work w = {.tile = tile,
                         .k_count = tile->b->k,
                         .fraction_bits = arith->fraction_bits,
                         .keep =
                             arith->result == MMA_RESULT_E8M13_RZ ? ~UINT32_C(0x3ff) : UINT32_MAX,
                         .sticky = arith->result == MMA_RESULT_F16_RN};
    for (w.column = 0; w.column < tile->b->rows; w.column += MMA_BLOCK) {
        enter_block(&w, tile->b);
        for (w.row = 0; w.row < tile->row_count; w.row += w.rows) {
            enter_rows(&w, tile->a);
            do_group(&w, &stage, vector);
        }
    }
}
