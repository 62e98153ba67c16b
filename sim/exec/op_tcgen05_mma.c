/* tcgen05.mma of one CTA, kinds f16, tf32, f8f6f4 and i8, also .ws (tcgen05.md sections 4 to 6).
 * The instruction is judged when it issues; operands are gathered and D is written when the tensor
 * core gets to it. Collector words are hints about keeping an operand and change no result. */
#include "tcgen05.h"

#include <string.h>

#include "instr_desc.h"
#include "int_lanes.h"
#include "mma.h"
#include "mma_tile.h"
#include "operand_gather.h"
#include "tmem.h"
#include "tmem_access.h"

/* MAX_SHIFT: columns that a zero-column mask descriptor may shift B by. */
enum { MAX_M = 128, MAX_N = 256, MAX_SHIFT = 32, ROW_BYTES = 32 };

/* Fixed by the instruction's words. */
struct mma_form {
    enum instr_desc_kind desc_kind;
    enum mma_kind kind;
    bool ws, a_in_tmem;
    uint8_t lane_mask_operand, accumulate_operand, scale_operand, zero_mask_operand; /* 0: none */
};

struct mma_payload {
    uint64_t a_desc, b_desc;
    uint32_t d_address, a_address;
    uint32_t disabled[4]; /* bit i of the 128: lane i of D stays */
    struct instr_desc desc;
    struct instr_desc_zero_mask zero_mask;
    bool accumulate;
    uint8_t scale_log2;
};
_Static_assert(sizeof(struct mma_payload) <= ASYNC_PAYLOAD_BYTES, "an MMA fits its operation");

static const struct {
    enum ptx_qual qual;
    uint8_t desc_kind, kind;
} kinds[] = {
    {QUAL_KIND_F16, INSTR_DESC_F16, MMA_TCGEN05_F16},
    {QUAL_KIND_TF32, INSTR_DESC_TF32, MMA_TCGEN05_TF32},
    {QUAL_KIND_F8F6F4, INSTR_DESC_F8F6F4, MMA_TCGEN05_F8F6F4},
    {QUAL_KIND_I8, INSTR_DESC_I8, MMA_TCGEN05_I8},
};

/* How the elements of a descriptor's type lie in shared memory, and what the arithmetic calls it.
 */
static const struct {
    bool known;
    uint8_t element, type;
} element_types[] = {
    [INSTR_DESC_TYPE_F16] = {true, CANONICAL_16BIT, MMA_TYPE_F16},
    [INSTR_DESC_TYPE_BF16] = {true, CANONICAL_16BIT, MMA_TYPE_BF16},
    [INSTR_DESC_TYPE_TF32] = {true, CANONICAL_32BIT, MMA_TYPE_TF32},
    [INSTR_DESC_TYPE_E4M3] = {true, CANONICAL_8BIT, MMA_TYPE_E4M3},
    [INSTR_DESC_TYPE_E5M2] = {true, CANONICAL_8BIT, MMA_TYPE_E5M2},
    [INSTR_DESC_TYPE_E2M3] = {true, CANONICAL_6BIT_IN_16B, MMA_TYPE_E2M3},
    [INSTR_DESC_TYPE_E3M2] = {true, CANONICAL_6BIT_IN_16B, MMA_TYPE_E3M2},
    [INSTR_DESC_TYPE_E2M1] = {true, CANONICAL_4BIT_IN_16B, MMA_TYPE_E2M1},
    [INSTR_DESC_TYPE_U8] = {true, CANONICAL_8BIT, MMA_TYPE_U8},
    [INSTR_DESC_TYPE_S8] = {true, CANONICAL_8BIT, MMA_TYPE_S8},
    [INSTR_DESC_TYPE_INVALID] = {false, 0, 0},
};

static enum mma_acc accumulator(enum instr_desc_type type) {
    return type == INSTR_DESC_TYPE_F16   ? MMA_ACC_F16
           : type == INSTR_DESC_TYPE_F32 ? MMA_ACC_F32
                                         : MMA_ACC_S32;
}

static struct tmem_mma_shape shape_of(const struct mma_form *form, const struct instr_desc *desc) {
    return (struct tmem_mma_shape){.m = desc->m, .n = desc->n, .cta_group = 1, .ws = form->ws};
}

/* Buffers of one issuing thread; big, so they are made once. */
struct mma_scratch {
    uint8_t a[MAX_M * ROW_BYTES], b[(MAX_N + MAX_SHIFT) * ROW_BYTES];
    uint32_t d[MAX_M][MAX_N]; /* rows that Tensor Memory keeps in pieces */
    uint8_t prepared[];
};

static struct mma_scratch *scratch_of(struct cta *cta, const struct async_op *op) {
    size_t size = sizeof(struct mma_scratch) + mma_operand_bytes(MAX_M, MMA_K_MAX) +
                  mma_operand_bytes(MAX_N, MMA_K_MAX) + 3 * MMA_STORAGE_ALIGN;
    return cta_thread_data(cta, THREAD_TCGEN05_MMA, op->warp, op->lane, (uint32_t)size);
}

static void *align_storage(uint8_t *p) {
    uintptr_t at = (uintptr_t)p;
    return p + (MMA_STORAGE_ALIGN - at % MMA_STORAGE_ALIGN) % MMA_STORAGE_ALIGN;
}

/* An operand out of shared memory as plain rows of elements; the rows before `first_row` are
 * gathered too, then moved over. */
static bool gather_shared(struct cta *cta, const struct async_op *op, uint64_t word,
                          const char *name, bool transposed, enum instr_desc_type type,
                          uint32_t rows, uint32_t first_row, uint32_t k, uint8_t *out) {
    struct gather_operand operand = {
        .arch = SMEM_DESC_SM100,
        .desc = word,
        .name = name,
        .transposed = transposed,
        .element = (enum canonical_element)element_types[type].element,
        .rows = first_row + rows,
        .k = k,
        .row_bytes = k * mma_type_bytes((enum mma_type)element_types[type].type),
    };
    if (!operand_gather(cta, op, &operand, out))
        return false;
    if (first_row > 0)
        memmove(out, out + first_row * operand.row_bytes, rows * operand.row_bytes);
    return true;
}

/* A out of Tensor Memory: 32 bytes of k a row, in 8 columns. */
static bool gather_tmem(struct cta *cta, const struct async_op *op, const struct mma_form *form,
                        const struct mma_payload *p, uint8_t *out) {
    struct tmem_mma_shape shape = shape_of(form, &p->desc);
    uint32_t column = tmem_address_column(p->a_address);
    uint32_t bits = instr_desc_type_bits(p->desc.a_type);
    if (!tcgen05_unit_columns(cta, op, column, TMEM_A_COLUMNS))
        return false;
    for (uint32_t row = 0; row < p->desc.m; row++) {
        struct tmem_a_place at = tmem_a_element(&shape, bits < 8 ? 8 : bits, row, 0, 0);
        uint32_t lane = at.lane + tmem_address_lane(p->a_address);
        if (lane >= TMEM_LANES)
            return cta_fault(cta, op, FAULT_ILLEGAL_INSTRUCTION,
                             "row %u of A lies in lane %u of Tensor Memory, which has 128", row,
                             lane);
        memcpy(out + row * 32, &cta->tmem->cell[lane][column + at.column], 32);
    }
    return true;
}

static void zero_columns(const struct mma_payload *p, uint8_t *b, size_t row_bytes) {
    for (uint32_t n = 0; p->zero_mask.enabled && n < p->desc.n; n++)
        if (instr_desc_zero_column(&p->zero_mask, p->desc.m, p->desc.n, n))
            memset(b + n * row_bytes, 0, row_bytes);
}

static bool lane_disabled(const struct mma_payload *p, uint32_t lane) {
    return p->disabled[lane / 32] >> (lane % 32) & 1;
}

/* Where the rows of D are; a row in one piece is used in place, one in pieces is copied together.
 */
struct d_rows {
    uint32_t *row[MAX_M];
    bool enabled[MAX_M];
    bool in_place;
};

static uint32_t *d_cells(struct cta *cta, const struct mma_payload *p,
                         const struct tmem_d_run *run) {
    uint32_t lane = (run->lane + tmem_address_lane(p->d_address)) % TMEM_LANES;
    return &cta->tmem->cell[lane][tmem_address_column(p->d_address) + run->column];
}

static void find_d(struct cta *cta, const struct mma_payload *p, const struct tmem_mma_shape *shape,
                   enum tmem_d_layout layout, struct mma_scratch *scratch, struct d_rows *d) {
    struct tmem_d_run runs[4];
    d->in_place = tmem_d_row(shape, layout, 0, runs) == 1;
    for (uint32_t row = 0; row < shape->m; row++) {
        uint32_t count = tmem_d_row(shape, layout, row, runs);
        uint32_t lane = (runs[0].lane + tmem_address_lane(p->d_address)) % TMEM_LANES;
        d->enabled[row] = !lane_disabled(p, lane);
        d->row[row] = d->in_place ? d_cells(cta, p, &runs[0]) : scratch->d[row];
        for (uint32_t i = 0; !d->in_place && i < count; i++)
            memcpy(&scratch->d[row][runs[i].first_n], d_cells(cta, p, &runs[i]), runs[i].count * 4);
    }
}

static void put_back_d(struct cta *cta, const struct mma_payload *p,
                       const struct tmem_mma_shape *shape, enum tmem_d_layout layout,
                       const struct mma_scratch *scratch) {
    struct tmem_d_run runs[4];
    for (uint32_t row = 0; row < shape->m; row++) {
        uint32_t count = tmem_d_row(shape, layout, row, runs);
        for (uint32_t i = 0; i < count; i++)
            memcpy(d_cells(cta, p, &runs[i]), &scratch->d[row][runs[i].first_n], runs[i].count * 4);
    }
}

/* Runs of enabled rows, each one matrix product. */
static void multiply(const struct mma_form *form, const struct mma_payload *p,
                     const struct mma_operand *a, const struct mma_operand *b, struct d_rows *d) {
    const struct instr_desc *desc = &p->desc;
    struct mma_tile tile = {
        .arith = mma_arith_find(form->kind, (enum mma_type)element_types[desc->a_type].type,
                                (enum mma_type)element_types[desc->b_type].type,
                                accumulator(desc->d_type)),
        .a = a,
        .b = b,
        .saturate = desc->saturate,
        .scale_c_log2 = p->scale_log2,
    };
    for (uint32_t row = 0; row < desc->m; row += tile.row_count ? tile.row_count : 1) {
        tile.row_begin = row;
        tile.row_count = 0;
        while (row + tile.row_count < desc->m && d->enabled[row + tile.row_count])
            tile.row_count++;
        tile.d_rows = &d->row[row];
        tile.c_rows = p->accumulate ? (const uint32_t *const *)&d->row[row] : NULL;
        if (tile.row_count > 0)
            mma_tile(&tile);
    }
}

static bool mma_effect(struct cta *cta, struct async_op *op) {
    const struct mma_payload *p = (const void *)op->payload.bytes;
    const struct mma_form *form = op->insn->data;
    const struct instr_desc *desc = &p->desc;
    uint32_t k = instr_desc_k(desc);
    struct mma_scratch *scratch = scratch_of(cta, op);
    struct tmem_mma_shape shape = shape_of(form, desc);
    enum tmem_d_layout layout;
    if (scratch == NULL)
        return cta_fault(cta, op, FAULT_NO_MEMORY, "the host has no memory left");
    tmem_d_layout(&shape, &layout);
    if (!tcgen05_unit_columns(cta, op, tmem_address_column(p->d_address),
                              tmem_d_columns(&shape, layout)))
        return false;
    uint32_t shift = p->zero_mask.enabled ? p->zero_mask.column_shift : 0;
    bool have = form->a_in_tmem ? gather_tmem(cta, op, form, p, scratch->a)
                                : gather_shared(cta, op, p->a_desc, "A", desc->transpose_a,
                                                desc->a_type, desc->m, 0, k, scratch->a);
    if (!have || !gather_shared(cta, op, p->b_desc, "B", desc->transpose_b, desc->b_type, desc->n,
                                shift, k, scratch->b))
        return false;
    enum mma_type a_type = (enum mma_type)element_types[desc->a_type].type;
    enum mma_type b_type = (enum mma_type)element_types[desc->b_type].type;
    zero_columns(p, scratch->b, (size_t)k * mma_type_bytes(b_type));
    const struct mma_engine *engine = mma_engine_best();
    struct mma_operand a, b;
    uint8_t *a_storage = align_storage(scratch->prepared);
    uint8_t *b_storage = align_storage(a_storage + mma_operand_bytes(MAX_M, MMA_K_MAX));
    struct mma_operand_desc a_desc = {
        MMA_ROLE_A,    a_type, desc->m, k, scratch->a, (size_t)k * mma_type_bytes(a_type),
        desc->negate_a};
    struct mma_operand_desc b_desc = {
        MMA_ROLE_B,    b_type, desc->n, k, scratch->b, (size_t)k * mma_type_bytes(b_type),
        desc->negate_b};
    mma_operand_prepare(engine, &a, &a_desc, a_storage);
    mma_operand_prepare(engine, &b, &b_desc, b_storage);
    struct d_rows d;
    find_d(cta, p, &shape, layout, scratch, &d);
    multiply(form, p, &a, &b, &d);
    if (!d.in_place)
        put_back_d(cta, p, &shape, layout, scratch);
    return true;
}

/* Decodes and judges the descriptors of one lane; false after a fault. */
static bool judge(struct warp *w, const struct xinsn *x, unsigned lane, uint32_t idesc,
                  struct mma_payload *p) {
    const struct mma_form *form = x->data;
    uint32_t bit = UINT32_C(1) << lane;
    struct instr_desc_use use = {.cta_group = 1, .ws = form->ws, .a_in_tmem = form->a_in_tmem};
    enum instr_desc_error error = instr_desc_decode(form->desc_kind, idesc, &p->desc);
    if (error == INSTR_DESC_OK)
        error = instr_desc_check(&p->desc, &use);
    if (error != INSTR_DESC_OK) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, bit,
                   "instruction descriptor 0x%08x (M %u, N %u): %s", idesc, p->desc.m, p->desc.n,
                   instr_desc_error_text(error));
        return false;
    }
    struct tmem_mma_shape shape = shape_of(form, &p->desc);
    enum tmem_d_layout layout;
    tmem_d_layout(&shape, &layout);
    enum tmem_error place = tmem_d_check_lane(layout, p->d_address);
    if (place != TMEM_OK) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, bit, "Tensor Memory address 0x%08x of D: %s",
                   p->d_address, tmem_error_text(place));
        return false;
    }
    const char *unknown = NULL;
    if (form->a_in_tmem && !tmem_a_is_known(&shape))
        unknown = "where A lies in Tensor Memory for .ws with M 32 or 64 is not known";
    else if (form->a_in_tmem && p->desc.a_type == INSTR_DESC_TYPE_E2M1)
        unknown = "how e2m1 elements of A lie in Tensor Memory is not known";
    else if (p->desc.max_shift != 0)
        unknown = "what the maximum shift field of .ws does is not modelled";
    if (unknown != NULL)
        warp_fault(w, x, FAULT_UNSUPPORTED, bit, "%s", unknown);
    return unknown == NULL;
}

static void read_lane_mask(struct warp *w, const struct xop *list, unsigned lane,
                           uint32_t disabled[4]) {
    memset(disabled, 0, 4 * sizeof disabled[0]);
    for (unsigned i = 0; list->kind == XOP_VECTOR && i < 4; i++)
        disabled[i] = xop_u32(w, &list->elems[i])[lane];
}

static bool issue_lane(struct warp *w, const struct xinsn *x, unsigned lane) {
    const struct mma_form *form = x->data;
    struct async_op *op = async_new(w->cta, w, x, lane, mma_effect);
    if (op == NULL)
        return false;
    struct mma_payload *p = (void *)op->payload.bytes;
    memset(p, 0, sizeof *p);
    op->pipe = ASYNC_TENSOR;
    p->d_address = (uint32_t)warp_address(w, &x->ops[0], SPACE_SHARED, lane);
    if (form->a_in_tmem)
        p->a_address = (uint32_t)warp_address(w, &x->ops[1], SPACE_SHARED, lane);
    else
        p->a_desc = xop_lane(w, &x->ops[1], lane);
    p->b_desc = xop_lane(w, &x->ops[2], lane);
    if (form->lane_mask_operand)
        read_lane_mask(w, &x->ops[form->lane_mask_operand], lane, p->disabled);
    p->accumulate = xop_pred(w, &x->ops[form->accumulate_operand]) >> lane & 1;
    if (form->scale_operand && x->ops[form->scale_operand].kind == XOP_VALUE)
        p->scale_log2 = (uint8_t)x->ops[form->scale_operand].imm;
    if (!judge(w, x, lane, (uint32_t)xop_lane(w, &x->ops[3], lane), p))
        return false;
    if (form->zero_mask_operand && x->ops[form->zero_mask_operand].kind == XOP_VALUE &&
        !instr_desc_zero_mask_decode(xop_lane(w, &x->ops[form->zero_mask_operand], lane), p->desc.m,
                                     &p->zero_mask)) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, UINT32_C(1) << lane,
                   "zero-column mask descriptor: reserved bits are set, or the column shift is too "
                   "large");
        return false;
    }
    if (warp_observed(w, EVENT_MMA)) {
        struct event event = {.kind = EVENT_MMA};
        event.mma.m = p->desc.m;
        event.mma.n = p->desc.n;
        event.mma.k = instr_desc_k(&p->desc);
        warp_event(w, x, UINT32_C(1) << lane, &event);
    }
    return async_issue(w->cta, op);
}

static enum step mma_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1)
        if (!issue_lane(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    warp_progress(w);
    return STEP_NEXT;
}

static exec_fn *prepare(struct decode *d, struct xinsn *x, struct mma_form with) {
    struct mma_form *form = arena_alloc(d->arena, sizeof *form, _Alignof(struct mma_form));
    if (form == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    *form = with;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (ir_has(x->ir, kinds[i].qual)) {
            form->desc_kind = (enum instr_desc_kind)kinds[i].desc_kind;
            form->kind = (enum mma_kind)kinds[i].kind;
        }
    form->a_in_tmem = x->ops[1].kind == XOP_ADDRESS;
    if (form->desc_kind == INSTR_DESC_I8 && form->scale_operand &&
        x->ops[form->scale_operand].kind == XOP_VALUE)
        return decode_unsupported(d, x, "scale-input-d with kind::i8 is not documented");
    x->data = form;
    return mma_fn;
}
/* [d], a, b, idesc{, {lane mask}}, enable-input-d{, scale-input-d} */
exec_select op_tcgen05_mma, op_tcgen05_mma_f8, op_tcgen05_mma_ws;
exec_fn *op_tcgen05_mma(struct decode *d, struct xinsn *x) {
    return prepare(
        d, x,
        (struct mma_form){.lane_mask_operand = 4, .accumulate_operand = 5, .scale_operand = 6});
}
exec_fn *op_tcgen05_mma_f8(struct decode *d, struct xinsn *x) {
    return prepare(d, x, (struct mma_form){.lane_mask_operand = 4, .accumulate_operand = 5});
}
/* [d], a, b, idesc, enable-input-d{, zero-column mask} */
exec_fn *op_tcgen05_mma_ws(struct decode *d, struct xinsn *x) {
    return prepare(d, x,
                   (struct mma_form){.ws = true, .accumulate_operand = 4, .zero_mask_operand = 5});
}
