/* mma.sync (manual, "Multiply-and-Accumulate Instruction: mma"). All shapes but one are
 * mma_warp.c's. mma.m8n8k4 on f16 is the first tensor core's: no chip from sm_90 on has it, and
 * ptxas 13.0 writes it out per element as a0*b0, fma.rn with k = 1, 2, 3, and add.rn of c, all in
 * f32, and at the end a conversion when D is f16 (H200, oracle warp/hw-H200-warp-mma).
 *
 * Not modelled: kind::f8f6f4. */
#include "mma_warp.h"
#include "num_half.h"

enum { QUADS = 4, SIDE = 8, DEPTH = 4, LISTED = 8 };

struct quad_form {
    bool a_column_major, b_column_major;
    bool c_is_f16, d_is_f16;
};

struct quad_matrices {
    uint32_t a[QUADS][SIDE][DEPTH], b[QUADS][SIDE][DEPTH]; /* as f32 words */
    uint32_t c[QUADS][SIDE][SIDE];
};

static uint32_t quad_of(uint32_t lane) {
    return lane / 4 % QUADS;
}

static uint16_t half_of(const struct warp *w, const struct xop *list, uint32_t i, uint32_t lane) {
    return (uint16_t)(xop_u32(w, &list->elems[i / 2])[lane] >> (16 * (i % 2)));
}

static void gather(const struct warp *w, const struct xinsn *x, struct quad_matrices *q) {
    const struct quad_form *form = x->data;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        uint32_t quad = quad_of(lane);
        for (uint32_t i = 0; i < DEPTH; i++) {
            struct fragment_place a =
                mma_fragment_quad(MMA_FRAGMENT_A, form->a_column_major, 16, lane, i);
            struct fragment_place b =
                mma_fragment_quad(MMA_FRAGMENT_B, form->b_column_major, 16, lane, i);
            q->a[quad][a.row][a.col] = num_f16_to_f32(half_of(w, &x->ops[1], i, lane));
            q->b[quad][b.col][b.row] = num_f16_to_f32(half_of(w, &x->ops[2], i, lane));
        }
        for (uint32_t i = 0; i < LISTED; i++) {
            struct fragment_place c =
                mma_fragment_quad(MMA_FRAGMENT_C, false, form->c_is_f16 ? 16 : 32, lane, i);
            q->c[quad][c.row][c.col] = form->c_is_f16
                                           ? num_f16_to_f32(half_of(w, &x->ops[3], i, lane))
                                           : xop_u32(w, &x->ops[3].elems[i])[lane];
        }
    }
}

/* With an f16 D the sum is c + (a0*b0 + a1*b1), then + (a2*b2 + a3*b3). */
static uint32_t element(const struct quad_form *form, const struct quad_matrices *q, uint32_t quad,
                        struct fragment_place at) {
    const uint32_t *a = q->a[quad][at.row], *b = q->b[quad][at.col];
    uint32_t c = q->c[quad][at.row][at.col];
    uint32_t sum = num_f32_fma(a[1], b[1], num_f32_mul(a[0], b[0], NUM_RN), NUM_RN);
    if (!form->d_is_f16) {
        for (uint32_t k = 2; k < DEPTH; k++)
            sum = num_f32_fma(a[k], b[k], sum, NUM_RN);
        return num_f32_add(sum, c, NUM_RN);
    }
    uint32_t upper = num_f32_fma(a[3], b[3], num_f32_mul(a[2], b[2], NUM_RN), NUM_RN);
    return num_f32_add(num_f32_add(c, sum, NUM_RN), upper, NUM_RN);
}

static enum step quad_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct quad_form *form = x->data;
    struct quad_matrices q;
    enum step step;
    if (!mma_warp_full(w, x, mask, &step))
        return step;
    gather(w, x, &q);
    for (uint32_t i = 0; i < LISTED; i++) {
        const struct xop *op = &x->ops[0].elems[form->d_is_f16 ? i / 2 : i];
        for (uint32_t lane = 0; op->kind == XOP_VALUE && lane < WARP_LANES; lane++) {
            struct fragment_place at =
                mma_fragment_quad(MMA_FRAGMENT_C, false, form->d_is_f16 ? 16 : 32, lane, i);
            uint32_t word = element(form, &q, quad_of(lane), at), *reg = &xop_u32(w, op)[lane];
            if (!form->d_is_f16)
                *reg = word;
            else if (i % 2 == 0)
                *reg = num_f16_from_f32(word);
            else
                *reg |= (uint32_t)num_f16_from_f32(word) << 16;
        }
    }
    for (uint32_t quad = 0; quad < QUADS; quad++)
        mma_warp_event(w, x, SIDE, SIDE, DEPTH);
    return STEP_NEXT;
}

/* Whether the layout word of A (nth 0) or B (nth 1) is .col. */
static bool column_major(const struct ir_insn *ir, unsigned nth) {
    for (unsigned i = 0; i < ir->qual_count; i++)
        if ((ir->quals[i] == QUAL_ROW || ir->quals[i] == QUAL_COL) && nth-- == 0)
            return ir->quals[i] == QUAL_COL;
    return false;
}

exec_select op_mma_sync;
exec_fn *op_mma_sync(struct decode *d, struct xinsn *x) {
    const struct ir_insn *ir = x->ir;
    if (!ir_has(ir, QUAL_M8N8K4) || ir->types[1] != PTX_F16)
        return mma_warp_prepare(d, x, MMA_WARP_SYNC, ir->types);
    struct quad_form *form = arena_alloc(d->arena, sizeof *form, _Alignof(struct quad_form));
    if (form == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    *form = (struct quad_form){.a_column_major = column_major(ir, 0),
                               .b_column_major = column_major(ir, 1),
                               .c_is_f16 = ir->types[3] == PTX_F16,
                               .d_is_f16 = ir->types[0] == PTX_F16};
    x->data = form;
    return quad_fn;
}

exec_select op_mma_sp;
exec_fn *op_mma_sp(struct decode *d, struct xinsn *x) {
    return mma_warp_prepare(d, x, MMA_WARP_SPARSE, x->ir->types);
}
