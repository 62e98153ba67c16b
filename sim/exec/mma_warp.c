/* Warp-level matrix multiply, common part (manual, "Warp Level Matrix Multiply-Accumulate
 * Instructions"). Registers are gathered into plain matrices, one tensor core instruction after the
 * other works on them as it does on silicon, and the result goes back to registers:
 *
 *     registers --fragment--> a[m][k] b[n][k] c[m][n] --units/mma--> c --fragment--> registers
 *
 * What ptxas 13.0 makes of forms that the chip lacks is kept, since rounding shows it (H200, oracle
 * mma-arith and warp/hw-H200-warp-mma): fp8 is two f16 instructions and an IEEE add, wmma.m16n16k8
 * on tf32 two instructions of k4, and wmma's mixed f16 and f32 accumulators are converted before
 * or after an f32 instruction. Sparse fp8 is the same over what A keeps. Of wmma's f16 fragments,
 * which hold elements twice, the lower registers count. A B200 is taken to do the same: known of
 * f16, bf16 and fp8, unknown of tf32 m16n16k8 and of m8n8k4. */
#include "mma_warp.h"

#include <stdio.h>
#include <string.h>

#include "aligned.h"
#include "cta.h"
#include "float_lanes.h"
#include "mma_f64.h"
#include "mma_tile.h"
#include "num_half.h"

enum { ROWS = 32, K_BYTES = 64, F64_K = 16, HALF_K = 16 };

struct scratch {
    uint8_t a[ROWS * K_BYTES], b[ROWS * K_BYTES];
    uint16_t a_half[ROWS * HALF_K], b_half[ROWS * HALF_K];
    uint32_t c[ROWS][ROWS], sum[ROWS][ROWS];
    uint8_t prepared[];
};

/* One for the CTA: nothing of it outlives an instruction. */
static struct scratch *scratch_of(struct warp *w) {
    size_t size =
        sizeof(struct scratch) + 2 * mma_operand_bytes(ROWS, MMA_K_MAX) + 2 * MMA_STORAGE_ALIGN;
    return cta_thread_data(w->cta, THREAD_MMA_WARP, 0, 0, (uint32_t)size);
}

bool mma_warp_full(struct warp *w, const struct xinsn *x, uint32_t mask, enum step *step) {
    if (!warp_aligned(w, x, mask, step))
        return false;
    if (mask != LANES_ALL)
        *step = warp_fault(w, x, FAULT_UNSUPPORTED, ~mask,
                           "a matrix instruction needs all 32 lanes of the warp, but lanes 0x%08x "
                           "have exited: undefined by the manual",
                           ~mask);
    return mask == LANES_ALL;
}

void mma_warp_event(struct warp *w, const struct xinsn *x, uint32_t m, uint32_t n, uint32_t k) {
    if (!warp_observed(w, EVENT_MMA))
        return;
    struct event event = {.kind = EVENT_MMA};
    event.mma.m = m;
    event.mma.n = n;
    event.mma.k = k;
    warp_event(w, x, LANES_ALL, &event);
}

/* ---- registers and matrices ---- */

/* Registers hold neighbours along k, so a register is copied whole. The lowest registers that give
 * every element are read. */
static void gather(const struct warp *w, const struct xop *list, const struct mma_fragment *f,
                   uint32_t element_bits, uint8_t *out) {
    for (uint32_t reg = 0; reg < f->registers; reg++) {
        struct mma_fragment_step at = mma_fragment_element(f, reg * f->run);
        if (reg != 0 && at.major == 0 && at.minor == 0)
            break;
        const uint32_t *words = xop_u32(w, &list->elems[reg]);
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            struct mma_fragment_step from = mma_fragment_lane(f, lane);
            uint32_t bit = (uint32_t)(at.minor + from.minor) * element_bits;
            memcpy(out + (size_t)(at.major + from.major) * K_BYTES + bit / 8, &words[lane], 4);
        }
    }
}

/* Accumulator between registers and c[row][column]; `to_matrix` says which way. */
static void move_accumulator(const struct warp *w, const struct xop *list,
                             const struct mma_fragment *f, bool is_f16, uint32_t (*c)[ROWS],
                             bool to_matrix) {
    for (uint32_t element = 0; element < f->elements; element++) {
        const struct xop *op = &list->elems[is_f16 ? element / 2 : element];
        if (op->kind != XOP_VALUE)
            continue;
        uint32_t *reg = xop_u32(w, op);
        unsigned shift = is_f16 ? 16 * (element % 2) : 0;
        uint32_t keep = is_f16 ? 0xffffu << (16 - shift) : 0;
        struct mma_fragment_step at = mma_fragment_element(f, element);
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            struct mma_fragment_step from = mma_fragment_lane(f, lane);
            uint32_t major = at.major + from.major, minor = at.minor + from.minor;
            uint32_t *cell = f->major_is_column ? &c[minor][major] : &c[major][minor];
            if (to_matrix)
                *cell = is_f16 ? reg[lane] >> shift & 0xffff : reg[lane];
            else
                reg[lane] = (reg[lane] & keep) | *cell << shift;
        }
    }
}

/* ---- tensor core instructions ---- */

static enum mma_type element_type(enum ptx_type type) {
    switch (type) {
    case PTX_F16: return MMA_TYPE_F16;
    case PTX_BF16: return MMA_TYPE_BF16;
    case PTX_TF32: return MMA_TYPE_TF32;
    case PTX_E4M3: return MMA_TYPE_E4M3;
    case PTX_E5M2: return MMA_TYPE_E5M2;
    case PTX_S8: return MMA_TYPE_S8;
    default: return MMA_TYPE_U8;
    }
}

struct tile_operand {
    enum mma_type type;
    const void *elements;
    size_t stride_bytes;
};

/* c = a * b + c of k elements. */
static void run_tile(const struct mma_warp *form, const struct mma_arith *arith,
                     const struct tile_operand *a, const struct tile_operand *b, uint32_t k,
                     struct scratch *s, uint32_t (*c)[ROWS]) {
    const struct mma_engine *engine = mma_engine_best();
    struct mma_operand pa, pb;
    uintptr_t at = (uintptr_t)s->prepared;
    uint8_t *storage =
        s->prepared + (MMA_STORAGE_ALIGN - at % MMA_STORAGE_ALIGN) % MMA_STORAGE_ALIGN;
    uint32_t *rows[ROWS];
    mma_operand_prepare(engine, &pa,
                        &(struct mma_operand_desc){MMA_ROLE_A, a->type, form->m, k, a->elements,
                                                   a->stride_bytes, false},
                        storage);
    mma_operand_prepare(engine, &pb,
                        &(struct mma_operand_desc){MMA_ROLE_B, b->type, form->n, k, b->elements,
                                                   b->stride_bytes, false},
                        storage + mma_operand_bytes(ROWS, MMA_K_MAX));
    for (uint32_t row = 0; row < form->m; row++)
        rows[row] = c[row];
    mma_tile(&(struct mma_tile){.arith = arith,
                                .a = &pa,
                                .b = &pb,
                                .row_count = form->m,
                                .d_rows = rows,
                                .c_rows = (const uint32_t *const *)rows,
                                .saturate = form->saturate});
}

static void multiply_tile(const struct mma_warp *form, struct scratch *s) {
    enum mma_type a = element_type(form->a_type), b = element_type(form->b_type);
    for (uint32_t k = 0; k < form->k; k += form->k_step)
        run_tile(form, form->arith,
                 &(struct tile_operand){a, s->a + k * mma_type_bytes(a), K_BYTES},
                 &(struct tile_operand){b, s->b + k * mma_type_bytes(b), K_BYTES}, form->k_step, s,
                 s->c);
}

/* An fp8 value is an f16 value: e5m2 is its upper byte, e4m3 has a bias less by 8. */
static uint16_t f8_to_f16(enum ptx_type type, uint8_t x) {
    if (type == PTX_E5M2)
        return (uint16_t)(x << 8);
    if ((x & 0x7f) == 0x7f)
        return 0x7fff;
    uint16_t magnitude = (uint16_t)((x & 0x7f) << 7);
    uint16_t sign = (uint16_t)((x & 0x80) << 8);
    return num_f16_mul((uint16_t)(magnitude | sign), 0x5c00); /* 2^8: exact */
}

/* The elements with k mod 4 in {0,1} for half 0, {2,3} for half 1. */
static void half_operand(enum ptx_type type, const uint8_t *from, uint32_t rows, uint32_t k,
                         uint32_t half, uint16_t *out) {
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < k / 2; i++)
            out[row * HALF_K + i] =
                f8_to_f16(type, from[row * K_BYTES + 4 * (i / 2) + 2 * half + i % 2]);
}

static void multiply_f8(const struct mma_warp *form, struct scratch *s) {
    memset(s->sum, 0, sizeof s->sum);
    for (uint32_t half = 0; half < 2; half++) {
        half_operand(form->a_type, s->a, form->m, form->k, half, s->a_half);
        half_operand(form->b_type, s->b, form->n, form->k, half, s->b_half);
        run_tile(form, form->arith, &(struct tile_operand){MMA_TYPE_F16, s->a_half, 2 * HALF_K},
                 &(struct tile_operand){MMA_TYPE_F16, s->b_half, 2 * HALF_K}, form->k / 2, s,
                 s->sum);
    }
    for (uint32_t row = 0; row < form->m; row++)
        for (uint32_t col = 0; col < form->n; col++)
            s->c[row][col] = form->d_type == PTX_F16
                                 ? num_f16_add((uint16_t)s->c[row][col], (uint16_t)s->sum[row][col])
                                 : num_f32_add(s->c[row][col], s->sum[row][col], NUM_RN);
}

static int32_t nibble(enum ptx_type type, const uint8_t *row, uint32_t k) {
    uint32_t word = row[k / 2] >> (4 * (k % 2)) & 15u;
    return type == PTX_S4 ? (int32_t)(word ^ 8u) - 8 : (int32_t)word;
}

static uint32_t accumulate(const struct mma_warp *form, uint32_t c, int64_t sum) {
    int64_t d = (int64_t)(int32_t)c + sum;
    if (form->saturate)
        d = d > INT32_MAX ? INT32_MAX : d < INT32_MIN ? INT32_MIN : d;
    return (uint32_t)d;
}

static void multiply_sub_byte(const struct mma_warp *form, struct scratch *s) {
    for (uint32_t row = 0; row < form->m; row++)
        for (uint32_t col = 0; col < form->n; col++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < form->k; k++)
                sum += nibble(form->a_type, s->a + (size_t)row * K_BYTES, k) *
                       nibble(form->b_type, s->b + (size_t)col * K_BYTES, k);
            s->c[row][col] = accumulate(form, s->c[row][col], sum);
        }
}

static void multiply_bits(const struct mma_warp *form, struct scratch *s) {
    for (uint32_t row = 0; row < form->m; row++)
        for (uint32_t col = 0; col < form->n; col++) {
            int64_t sum = 0;
            for (uint32_t i = 0; i < form->k / 8; i++) {
                unsigned a = s->a[row * K_BYTES + i], b = s->b[col * K_BYTES + i];
                sum += __builtin_popcount(form->bits_and ? a & b : a ^ b);
            }
            s->c[row][col] = accumulate(form, s->c[row][col], sum);
        }
}

static void convert(uint32_t (*c)[ROWS], uint32_t rows, uint32_t columns, bool to_f32) {
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t col = 0; col < columns; col++)
            c[row][col] =
                to_f32 ? num_f16_to_f32((uint16_t)c[row][col]) : num_f16_from_f32(c[row][col]);
}

static void multiply(const struct mma_warp *form, struct scratch *s) {
    switch (form->unit) {
    case MMA_WARP_F8: multiply_f8(form, s); break;
    case MMA_WARP_SUB_BYTE: multiply_sub_byte(form, s); break;
    case MMA_WARP_BITS: multiply_bits(form, s); break;
    default: multiply_tile(form, s); break;
    }
}

/* Row by row of A: each meets the elements of B that its metadata names. */
static void multiply_sparse(const struct warp *w, const struct xinsn *x, struct scratch *s) {
    const struct mma_warp *form = x->data;
    struct mma_warp of_row = *form;
    uint8_t b[ROWS * K_BYTES], kept[MMA_SPARSE_KEPT_MAX];
    uint32_t metadata[MMA_SPARSE_LANES], c[ROWS][ROWS];
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        metadata[lane] = (uint32_t)xop_lane(w, &x->ops[4], lane);
    of_row.m = 1;
    of_row.k = of_row.k_step = form->k / 2;
    memcpy(b, s->b, sizeof b);
    memcpy(c, s->c, sizeof c);
    for (uint32_t row = 0; row < form->m; row++) {
        mma_sparse_row(&form->sparse, metadata, row, kept);
        for (uint32_t column = 0; column < form->n; column++)
            mma_sparse_pick(&form->sparse, b + (size_t)column * K_BYTES, kept,
                            s->b + (size_t)column * K_BYTES);
        memmove(s->a, s->a + (size_t)row * K_BYTES, K_BYTES);
        memcpy(s->c[0], c[row], sizeof c[row]);
        multiply(&of_row, s);
        memcpy(c[row], s->c[0], sizeof c[row]);
    }
    memcpy(s->c, c, sizeof c);
}

static enum step mma_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct mma_warp *form = x->data;
    enum step step;
    if (!mma_warp_full(w, x, mask, &step))
        return step;
    if (form->bad_selector)
        return warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, mask,
                          "sparsity selector %u, but the metadata of this shape is in half of the "
                          "lanes: 0 or 1",
                          form->sparse.selector);
    struct scratch *s = scratch_of(w);
    if (s == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    gather(w, &x->ops[1], &form->a, ptx_type_bits(form->a_type), s->a);
    gather(w, &x->ops[2], &form->b, ptx_type_bits(form->b_type), s->b);
    move_accumulator(w, &x->ops[3], &form->c, form->c_type == PTX_F16, s->c, true);
    if (form->c_type == PTX_F16 && form->d_type == PTX_F32)
        convert(s->c, form->m, form->n, true);
    if (form->is_sparse)
        multiply_sparse(w, x, s);
    else
        multiply(form, s);
    if (form->c_type == PTX_F32 && form->d_type == PTX_F16)
        convert(s->c, form->m, form->n, false);
    move_accumulator(w, &x->ops[0], &form->d, form->d_type == PTX_F16, s->c, false);
    mma_warp_event(w, x, form->m, form->n, form->k);
    return STEP_NEXT;
}

/* ---- double precision ---- */

static enum step f64_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct mma_warp *form = x->data;
    enum step step;
    uint64_t a[16][F64_K], b[8][F64_K], d[4][WARP_LANES];
    if (!mma_warp_full(w, x, mask, &step))
        return step;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        for (uint32_t i = 0; i < form->a.registers; i++) {
            struct fragment_place at = mma_fragment_place(&form->a, lane, i);
            a[at.row][at.col] = xop_u64(w, &x->ops[1].elems[i])[lane];
        }
        for (uint32_t i = 0; i < form->b.registers; i++) {
            struct fragment_place at = mma_fragment_place(&form->b, lane, i);
            b[at.col][at.row] = xop_u64(w, &x->ops[2].elems[i])[lane];
        }
    }
    for (uint32_t i = 0; i < form->c.registers; i++)
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            struct fragment_place at = mma_fragment_place(&form->c, lane, i);
            d[i][lane] = mma_f64_dot(a[at.row], b[at.col], form->k,
                                     xop_u64(w, &x->ops[3].elems[i])[lane], form->round);
        }
    for (uint32_t i = 0; i < form->c.registers; i++)
        if (x->ops[0].elems[i].kind == XOP_VALUE)
            memcpy(xop_u64(w, &x->ops[0].elems[i]), d[i], sizeof d[i]);
    mma_warp_event(w, x, form->m, form->n, form->k);
    return STEP_NEXT;
}

/* ---- decoding ---- */

bool mma_warp_shape(const struct ir_insn *ir, uint32_t *m, uint32_t *n, uint32_t *k) {
    for (unsigned i = 0; i < ir->qual_count; i++)
        if (sscanf(ptx_qual_text((enum ptx_qual)ir->quals[i]), "m%un%uk%u", m, n, k) == 3)
            return true;
    return false;
}

static enum mma_warp_unit unit_of(enum ptx_type type) {
    switch (type) {
    case PTX_E4M3:
    case PTX_E5M2: return MMA_WARP_F8;
    case PTX_S4:
    case PTX_U4: return MMA_WARP_SUB_BYTE;
    case PTX_B1: return MMA_WARP_BITS;
    case PTX_F64: return MMA_WARP_F64;
    default: return MMA_WARP_TILE;
    }
}

static const struct mma_arith *arith_of(const struct mma_warp *form) {
    enum mma_acc acc = form->d_type == PTX_F16 && form->c_type == PTX_F16 ? MMA_ACC_F16
                       : form->d_type == PTX_S32                          ? MMA_ACC_S32
                                                                          : MMA_ACC_F32;
    if (form->unit == MMA_WARP_F8)
        return mma_arith_find(MMA_SYNC_F16, MMA_TYPE_F16, MMA_TYPE_F16, acc);
    enum mma_kind kind = form->a_type == PTX_TF32  ? MMA_SYNC_TF32
                         : form->d_type == PTX_S32 ? MMA_SYNC_I8
                                                   : MMA_SYNC_F16;
    return mma_arith_find(kind, element_type(form->a_type), element_type(form->b_type), acc);
}

exec_fn *mma_warp_prepare(struct decode *d, struct xinsn *x, enum mma_warp_opcode opcode,
                          const uint8_t types[4]) {
    bool wmma = opcode == MMA_WARP_WMMA;
    struct mma_warp *form = arena_alloc(d->arena, sizeof *form, _Alignof(struct mma_warp));
    if (form == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    *form = (struct mma_warp){.unit = unit_of((enum ptx_type)types[1]),
                              .d_type = (enum ptx_type)types[0],
                              .a_type = (enum ptx_type)types[1],
                              .b_type = (enum ptx_type)types[2],
                              .c_type = (enum ptx_type)types[3],
                              .saturate = ir_has(x->ir, QUAL_SATFINITE),
                              .bits_and = ir_has(x->ir, QUAL_AND),
                              .round = float_mods(x->ir)->round};
    if (!mma_warp_shape(x->ir, &form->m, &form->n, &form->k))
        return decode_unsupported(d, x, "a matrix instruction without a shape");
    form->k_step = wmma && form->a_type == PTX_TF32 ? 4 : form->k;
    if (form->unit == MMA_WARP_TILE || form->unit == MMA_WARP_F8)
        form->arith = arith_of(form);
    form->is_sparse = opcode == MMA_WARP_SPARSE;
    struct mma_fragment_shape shape = {MMA_FRAGMENT_A, wmma && form->a_type == PTX_F16,
                                       form->m,        form->n,
                                       form->k,        ptx_type_bits(form->a_type)};
    if (form->is_sparse) {
        form->sparse = (struct mma_sparse){shape.element_bits, form->k, (uint32_t)x->ops[5].imm};
        form->bad_selector = form->sparse.selector >= mma_sparse_selectors(&form->sparse);
        shape.k /= 2;
    }
    form->a = mma_fragment_find(&shape);
    shape.k = form->k;
    shape.role = MMA_FRAGMENT_B;
    form->b = mma_fragment_find(&shape);
    shape.role = MMA_FRAGMENT_C;
    shape.element_bits = ptx_type_bits(form->c_type);
    form->c = mma_fragment_find(&shape);
    shape.element_bits = ptx_type_bits(form->d_type);
    form->d = mma_fragment_find(&shape);
    x->data = form;
    return form->unit == MMA_WARP_F64 ? f64_fn : mma_fn;
}
