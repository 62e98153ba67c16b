/* See wgmma_multiply.h. A sparse A multiplies, row by row, the elements of B that its metadata
 * names; those that it skips have no part in the sum, so a NaN among them does nothing. */
#include "wgmma_multiply.h"

#include <string.h>

#include "mma_tile.h"

size_t wgmma_storage_bytes(void) {
    return mma_operand_bytes(WGMMA_ROWS, MMA_K_MAX) + mma_operand_bytes(WGMMA_MAX_N, MMA_K_MAX) +
           2 * MMA_STORAGE_ALIGN;
}

static uint8_t *align_storage(uint8_t *p) {
    uintptr_t at = (uintptr_t)p;
    return p + (MMA_STORAGE_ALIGN - at % MMA_STORAGE_ALIGN) % MMA_STORAGE_ALIGN;
}

static void multiply_bits(const struct wgmma_form *form, const struct wgmma_operands *operands,
                          uint32_t (*d)[WGMMA_MAX_N], bool accumulate) {
    for (uint32_t row = 0; row < WGMMA_ROWS; row++)
        for (uint32_t column = 0; column < form->n; column++) {
            uint32_t sum = accumulate ? d[row][column] : 0;
            for (uint32_t at = 0; at < WGMMA_A_ROW_BYTES; at += 8) {
                uint64_t a, b;
                memcpy(&a, operands->a + row * WGMMA_A_ROW_BYTES + at, 8);
                memcpy(&b, operands->b + column * WGMMA_B_ROW_BYTES + at, 8);
                sum += (uint32_t)__builtin_popcountll(a & b);
            }
            d[row][column] = sum;
        }
}

static void prepare(const struct wgmma_form *form, enum mma_role role, uint32_t k,
                    const uint8_t *rows, size_t row_bytes, struct mma_operand *operand,
                    uint8_t *storage) {
    bool is_a = role == MMA_ROLE_A;
    struct mma_operand_desc desc = {
        .role = role,
        .type = is_a ? form->a_type : form->b_type,
        .rows = is_a ? WGMMA_ROWS : form->n,
        .k = k,
        .elements = rows,
        .row_stride_bytes = row_bytes,
        .negate = is_a ? form->negate_a : form->negate_b,
    };
    mma_operand_prepare(mma_engine_best(), operand, &desc, storage);
}

/* ---- sparse A ---- */

static void row_of_metadata(const struct wgmma_form *form, const struct wgmma_operands *operands,
                            uint32_t row, uint8_t kept[MMA_SPARSE_KEPT_MAX]) {
    mma_sparse_row(&form->sparse, operands->metadata[row / MMA_SPARSE_ROWS], row % MMA_SPARSE_ROWS,
                   kept);
}

/* Bits of a word of B's elements that are all ones in an infinity or a NaN. */
static uint32_t exponent_mask(enum mma_type type) {
    return type == MMA_TYPE_F16 ? 0x7c007c00 : type == MMA_TYPE_BF16 ? 0x7f807f80 : 0x7f800000;
}

static bool is_finite(const struct wgmma_form *form, const struct wgmma_operands *operands) {
    uint32_t mask = exponent_mask(form->b_type), halves = mask & 0xffff;
    bool finite = true;
    for (uint32_t at = 0; at < form->n * WGMMA_B_ROW_BYTES; at += 4) {
        uint32_t word;
        memcpy(&word, operands->b + at, 4);
        word &= mask;
        finite &= (word >> 16) != mask >> 16 && (halves == 0 || (word & 0xffff) != halves);
    }
    return finite;
}

/* Puts the zeros of A in. False where metadata is not as the manual wants it: in order, and for
 * tf32 both halves of an element. */
static bool expand_a(const struct wgmma_form *form, struct wgmma_operands *operands) {
    uint8_t kept[MMA_SPARSE_KEPT_MAX];
    uint32_t count = mma_sparse_kept(&form->sparse), bytes = mma_sparse_unit_bytes(&form->sparse);
    bool halves = form->sparse.element_bits == 32;
    memset(operands->expanded, 0, sizeof operands->expanded);
    for (uint32_t row = 0; row < WGMMA_ROWS; row++) {
        row_of_metadata(form, operands, row, kept);
        for (uint32_t i = 0; i < count; i++) {
            if ((i != 0 && kept[i] <= kept[i - 1]) || (halves && kept[i] % 2 != i % 2) ||
                (halves && i % 2 == 1 && kept[i] != kept[i - 1] + 1))
                return false;
            memcpy(operands->expanded + row * WGMMA_B_ROW_BYTES + kept[i] * bytes,
                   operands->a + row * WGMMA_A_ROW_BYTES + i * bytes, bytes);
        }
    }
    return true;
}

/* A zero times a finite number is no term that shows (mma.c), so 16- and 32-bit types go through as
 * a dense product of the doubled K where every element of B is finite. */
static bool sparse_as_dense(const struct wgmma_form *form, struct wgmma_operands *operands,
                            struct mma_tile *tile, uint8_t *a_storage, uint8_t *b_storage) {
    struct mma_operand a, b;
    struct mma_arith arith = *tile->arith;
    if (mma_type_bytes(form->a_type) == 1 || !is_finite(form, operands) ||
        !expand_a(form, operands))
        return false;
    arith.fused_terms = MMA_K_MAX;
    prepare(form, MMA_ROLE_A, form->k, operands->expanded, WGMMA_B_ROW_BYTES, &a, a_storage);
    prepare(form, MMA_ROLE_B, form->k, operands->b, WGMMA_B_ROW_BYTES, &b, b_storage);
    struct mma_tile dense = *tile;
    dense.arith = &arith;
    dense.a = &a;
    dense.b = &b;
    mma_tile(&dense);
    return true;
}

/* Integers are exact, so the doubled K goes through in two halves, and what D held joins at the
 * end.
 */
static bool sparse_integers(const struct wgmma_form *form, struct wgmma_operands *operands,
                            const struct mma_tile *whole, uint8_t *a_storage, uint8_t *b_storage) {
    struct mma_operand a, b;
    uint32_t *sums[WGMMA_ROWS];
    uint32_t k = form->k / 2;
    if (form->acc != MMA_ACC_S32 || !expand_a(form, operands))
        return false;
    for (uint32_t row = 0; row < WGMMA_ROWS; row++)
        sums[row] = operands->sums[row];
    struct mma_tile tile = {
        .arith = whole->arith, .a = &a, .b = &b, .row_count = WGMMA_ROWS, .d_rows = sums};
    for (uint32_t half = 0; half < 2; half++) {
        prepare(form, MMA_ROLE_A, k, operands->expanded + half * k, WGMMA_B_ROW_BYTES, &a,
                a_storage);
        prepare(form, MMA_ROLE_B, k, operands->b + half * k, WGMMA_B_ROW_BYTES, &b, b_storage);
        mma_tile(&tile);
        tile.c_rows = (const uint32_t *const *)sums;
    }
    for (uint32_t row = 0; row < WGMMA_ROWS; row++)
        for (uint32_t column = 0; column < form->n; column++) {
            int64_t c = whole->c_rows == NULL ? 0 : (int32_t)whole->c_rows[row][column];
            int64_t d = c + (int32_t)sums[row][column];
            if (form->saturate)
                d = d > INT32_MAX ? INT32_MAX : d < INT32_MIN ? INT32_MIN : d;
            whole->d_rows[row][column] = (uint32_t)d;
        }
    return true;
}

/* What is left: fp8, whose doubled K is too long for one sum of mma_tile, and all that the faster
 * ways cannot do. */
static void sparse_by_row(const struct wgmma_form *form, struct wgmma_operands *operands,
                          const struct mma_tile *whole, uint8_t *a_storage, uint8_t *b_storage) {
    struct mma_operand a, b;
    struct mma_tile tile = *whole;
    uint8_t kept[MMA_SPARSE_KEPT_MAX], before[MMA_SPARSE_KEPT_MAX];
    uint32_t k = form->k / 2, count = mma_sparse_kept(&form->sparse);
    prepare(form, MMA_ROLE_A, k, operands->a, WGMMA_A_ROW_BYTES, &a, a_storage);
    tile.a = &a;
    tile.b = &b;
    tile.row_count = 1;
    for (uint32_t row = 0; row < WGMMA_ROWS; row++) {
        row_of_metadata(form, operands, row, kept);
        if (row == 0 || memcmp(kept, before, count) != 0) {
            for (uint32_t column = 0; column < form->n; column++)
                mma_sparse_pick(&form->sparse, operands->b + column * WGMMA_B_ROW_BYTES, kept,
                                operands->picked + column * WGMMA_A_ROW_BYTES);
            prepare(form, MMA_ROLE_B, k, operands->picked, WGMMA_A_ROW_BYTES, &b, b_storage);
            memcpy(before, kept, count);
        }
        tile.row_begin = row;
        tile.d_rows = whole->d_rows + row;
        if (whole->c_rows != NULL)
            tile.c_rows = whole->c_rows + row;
        mma_tile(&tile);
    }
}

void wgmma_multiply(const struct wgmma_form *form, struct wgmma_operands *operands,
                    uint8_t *storage, uint32_t (*d)[WGMMA_MAX_N], bool accumulate) {
    struct mma_operand a, b;
    uint32_t *rows[WGMMA_ROWS];
    if (form->is_bits) {
        multiply_bits(form, operands, d, accumulate);
        return;
    }
    uint8_t *a_storage = align_storage(storage);
    uint8_t *b_storage = align_storage(a_storage + mma_operand_bytes(WGMMA_ROWS, MMA_K_MAX));
    for (uint32_t row = 0; row < WGMMA_ROWS; row++)
        rows[row] = d[row];
    struct mma_tile tile = {
        .arith = mma_arith_find(form->kind, form->a_type, form->b_type, form->acc),
        .a = &a,
        .b = &b,
        .row_count = WGMMA_ROWS,
        .d_rows = rows,
        .c_rows = accumulate ? (const uint32_t *const *)rows : NULL,
        .saturate = form->saturate,
    };
    if (form->is_sparse) {
        if (!sparse_integers(form, operands, &tile, a_storage, b_storage) &&
            !sparse_as_dense(form, operands, &tile, a_storage, b_storage))
            sparse_by_row(form, operands, &tile, a_storage, b_storage);
        return;
    }
    prepare(form, MMA_ROLE_A, form->k, operands->a, WGMMA_A_ROW_BYTES, &a, a_storage);
    prepare(form, MMA_ROLE_B, form->k, operands->b, WGMMA_B_ROW_BYTES, &b, b_storage);
    mma_tile(&tile);
}
