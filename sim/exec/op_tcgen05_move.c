/* tcgen05.ld, st, their waits, and cp (tcgen05.md sections 7 and 8; layouts in units/tmem_access).
 * A load reads at issue. A store takes its registers at issue and reaches Tensor Memory as an
 * asynchronous operation, at the latest when its wait::st asks. */
#include "tcgen05.h"

#include <string.h>

#include "canonical.h"
#include "hash.h"
#include "int_lanes.h"
#include "smem_desc.h"
#include "tmem.h"
#include "tmem_access.h"

static const struct {
    enum ptx_qual qual;
    uint8_t shape; /* enum tmem_shape */
} shapes[] = {
    {QUAL_32X32B, TMEM_32X32B},   {QUAL_16X64B, TMEM_16X64B},     {QUAL_16X128B, TMEM_16X128B},
    {QUAL_16X256B, TMEM_16X256B}, {QUAL_16X32BX2, TMEM_16X32BX2},
};
static const enum ptx_qual repeats[] = {QUAL_X1,  QUAL_X2,  QUAL_X4,  QUAL_X8,
                                        QUAL_X16, QUAL_X32, QUAL_X64, QUAL_X128};

static exec_fn *prepare(struct decode *d, struct xinsn *x, exec_fn *fn, unsigned split_operand) {
    struct tmem_access *access =
        arena_alloc(d->arena, sizeof *access, _Alignof(struct tmem_access));
    if (access == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (ir_has(x->ir, shapes[i].qual))
            access->shape = (enum tmem_shape)shapes[i].shape;
    for (unsigned i = 0; i < sizeof repeats / sizeof repeats[0]; i++)
        if (ir_has(x->ir, repeats[i]))
            access->num = 1u << i;
    access->packed = ir_has(x->ir, QUAL_PACK_16B) || ir_has(x->ir, QUAL_UNPACK_16B);
    if (access->shape == TMEM_16X32BX2)
        access->half_split_columns = (uint32_t)x->ops[split_operand].imm;
    x->data = access;
    return fn;
}

/* Base lane and column of the access; false after a fault. */
static bool place(struct warp *w, const struct xinsn *x, const struct xop *at, uint32_t mask,
                  uint32_t *lane, uint32_t *column) {
    const struct tmem_access *access = x->data;
    uint32_t address = (uint32_t)warp_address(w, at, SPACE_SHARED, (unsigned)__builtin_ctz(mask));
    bool lane_differs; /* execution follows the warp, as silicon does; nothing to stop for */
    enum tmem_error error =
        tmem_access_first_lane(access->shape, address, w->index, lane, &lane_differs);
    if (error != TMEM_OK) {
        warp_fault(w, x, FAULT_ILLEGAL_INSTRUCTION, mask, "Tensor Memory address 0x%08x: %s",
                   address, tmem_error_text(error));
        return false;
    }
    *column = tmem_address_column(address);
    return tcgen05_columns(w, x, mask, *column, tmem_access_columns(access));
}

static enum step ld_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct tmem_access *access = x->data;
    const struct xop *list = &x->ops[0];
    enum step step;
    uint32_t lane_base, column_base;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    if (!place(w, x, &x->ops[1], mask, &lane_base, &column_base))
        return STEP_FAULT;
    const struct tmem *tmem = w->cta->tmem;
    for (uint32_t reg = 0; reg < list->elem_count; reg++) {
        uint32_t *out = xop_u32(w, &list->elems[reg]);
        for (uint32_t left = mask; left != 0; left &= left - 1) {
            uint32_t t = (uint32_t)__builtin_ctz(left);
            struct tmem_cell at = tmem_access_cell(access, t, reg);
            const uint32_t *cell = &tmem->cell[lane_base + at.lane][column_base + at.column];
            out[t] = access->packed ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
        }
    }
    tcgen05_tell(w, x, mask, ACCESS_READ, lane_base, tmem_access_lanes(access->shape), column_base,
                 tmem_access_columns(access));
    return STEP_NEXT;
}
exec_select op_tcgen05_ld;
exec_fn *op_tcgen05_ld(struct decode *d, struct xinsn *x) {
    return prepare(d, x, ld_fn, 2);
}

/* One register of all lanes on its way. */
struct st_payload {
    uint32_t mask, reg, lane_base, column_base;
    uint32_t value[WARP_LANES];
};
_Static_assert(sizeof(struct st_payload) <= ASYNC_PAYLOAD_BYTES, "a store fits its operation");

/* A cell that .unpack::16b writes. What its upper half holds then is not known: no source says it.
 * It gets a pattern, so that a program that reads it does not find what it may hope for. */
static uint32_t half_cell(uint32_t lane, uint32_t column, uint32_t half) {
    return (uint32_t)hash_mix64((uint64_t)lane << 32 | column) << 16 | (half & 0xffff);
}

static bool st_effect(struct cta *cta, struct async_op *op) {
    const struct st_payload *p = (const void *)op->payload.bytes;
    const struct tmem_access *access = op->insn->data;
    if (!tcgen05_unit_columns(cta, op, p->column_base, tmem_access_columns(access)))
        return false;
    for (uint32_t left = p->mask; left != 0; left &= left - 1) {
        uint32_t t = (uint32_t)__builtin_ctz(left);
        struct tmem_cell at = tmem_access_cell(access, t, p->reg);
        const uint32_t lane = p->lane_base + at.lane, column = p->column_base + at.column;
        uint32_t *cell = &cta->tmem->cell[lane][column];
        cell[0] = access->packed ? half_cell(lane, column, p->value[t]) : p->value[t];
        if (access->packed)
            cell[1] = half_cell(lane, column + 1, p->value[t] >> 16);
    }
    return true;
}

/* Newest store of a warp; lane 0 stands for the warp. Stores of one warp stay in order. */
static uint64_t *last_store(struct warp *w) {
    return cta_thread_data(w->cta, THREAD_TCGEN05_ST, w->index, 0, sizeof(uint64_t));
}

static enum step st_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct tmem_access *access = x->data;
    const struct xop *list = &x->ops[x->ops[1].kind == XOP_VECTOR ? 1 : 2];
    enum step step;
    uint32_t lane_base, column_base;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    if (!place(w, x, &x->ops[0], mask, &lane_base, &column_base))
        return STEP_FAULT;
    uint64_t *last = last_store(w);
    if (last == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    for (uint32_t reg = 0; reg < list->elem_count; reg++) {
        struct async_op *op = async_new(w->cta, w, x, 0, st_effect);
        if (op == NULL)
            return STEP_FAULT;
        struct st_payload *p = (void *)op->payload.bytes;
        p->mask = mask;
        p->reg = reg;
        p->lane_base = lane_base;
        p->column_base = column_base;
        memcpy(p->value, xop_u32(w, &list->elems[reg]), sizeof p->value);
        op->pipe = ASYNC_TMEM_ST;
        op->after = *last;
        op->owner = async_owner(ASYNC_OWNER_TMEM_ST, w->index, 0);
        *last = op->id;
        if (!async_issue(w->cta, op))
            return STEP_FAULT;
    }
    tcgen05_tell(w, x, mask, ACCESS_WRITE, lane_base, tmem_access_lanes(access->shape), column_base,
                 tmem_access_columns(access));
    warp_progress(w);
    return STEP_NEXT;
}
exec_select op_tcgen05_st;
exec_fn *op_tcgen05_st(struct decode *d, struct xinsn *x) {
    return prepare(d, x, st_fn, 1);
}

/* Loads are done when they issue, so only the lanes must have come together. */
static enum step wait_ld_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    warp_aligned(w, x, mask, &step);
    return step;
}
ONE_SELECT(tcgen05_wait_ld, wait_ld_fn)

static enum step wait_st_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    const uint64_t *last = last_store(w);
    if (last == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    if (*last == 0 || async_done(w->cta, *last))
        return STEP_NEXT;
    w->wait.kind = WAIT_TMEM;
    w->wait.detail = async_owner(ASYNC_OWNER_TMEM_ST, w->index, 0);
    return STEP_WAIT;
}
ONE_SELECT(tcgen05_wait_st, wait_st_fn)

/* tcgen05.cp: rows of shared memory, named by a K-major descriptor, go to lanes. */
struct cp_payload {
    uint64_t desc;
    uint32_t address;
};
static const struct {
    enum ptx_qual shape, multicast;
    uint8_t cp; /* enum tmem_cp_shape */
} copies[] = {
    {QUAL_128X256B, PTX_QUAL_NONE, TMEM_CP_128X256B},
    {QUAL_128X128B, PTX_QUAL_NONE, TMEM_CP_128X128B},
    {QUAL_4X256B, PTX_QUAL_NONE, TMEM_CP_4X256B},
    {QUAL_64X128B, QUAL_WARPX2_02_13, TMEM_CP_64X128B_02_13},
    {QUAL_64X128B, QUAL_WARPX2_01_23, TMEM_CP_64X128B_01_23},
    {QUAL_32X128B, QUAL_WARPX4, TMEM_CP_32X128B_WARPX4},
};

static bool cp_effect(struct cta *cta, struct async_op *op) {
    const struct cp_payload *p = (const void *)op->payload.bytes;
    enum tmem_cp_shape shape = *(const enum tmem_cp_shape *)op->insn->data;
    uint32_t words = tmem_cp_words(shape), column = tmem_address_column(p->address);
    struct smem_desc desc;
    struct canonical layout;
    enum smem_desc_error bad = smem_desc_decode(SMEM_DESC_SM100, p->desc, &desc);
    if (bad != SMEM_DESC_OK)
        return cta_fault(cta, op, FAULT_ILLEGAL_INSTRUCTION, "matrix descriptor 0x%016llx: %s",
                         (unsigned long long)p->desc, smem_desc_error_text(bad));
    enum canonical_error wrong = canonical_prepare(&desc, CANONICAL_K, CANONICAL_8BIT, &layout);
    if (wrong != CANONICAL_OK)
        return cta_fault(cta, op, FAULT_ILLEGAL_INSTRUCTION, "matrix descriptor 0x%016llx: %s",
                         (unsigned long long)p->desc, canonical_error_text(wrong));
    if (!tcgen05_unit_columns(cta, op, column, words))
        return false;
    for (uint32_t row = 0; row < tmem_cp_rows(shape); row++) {
        uint32_t lanes[4], count = tmem_cp_lanes(shape, row, lanes);
        for (uint32_t chunk = 0; chunk < words / 4; chunk++) {
            uint32_t at = canonical_chunk_address(&layout, row, chunk);
            const uint8_t *from = cta_shared(cta, at, 16);
            if (from == NULL)
                return cta_fault(cta, op, FAULT_ILLEGAL_ADDRESS,
                                 "row %u of the copy lies at shared address 0x%x, past the CTA's "
                                 "shared memory",
                                 row, at);
            for (uint32_t i = 0; i < count; i++) {
                uint32_t lane = (lanes[i] + tmem_address_lane(p->address)) % TMEM_LANES;
                memcpy(&cta->tmem->cell[lane][column + 4 * chunk], from, 16);
            }
        }
    }
    return true;
}
static enum step cp_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        struct async_op *op = async_new(w->cta, w, x, lane, cp_effect);
        if (op == NULL)
            return STEP_FAULT;
        struct cp_payload *p = (void *)op->payload.bytes;
        p->address = (uint32_t)warp_address(w, &x->ops[0], SPACE_SHARED, lane);
        p->desc = xop_lane(w, &x->ops[1], lane);
        op->pipe = ASYNC_TENSOR;
        if (!async_issue(w->cta, op))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}
exec_select op_tcgen05_cp;
exec_fn *op_tcgen05_cp(struct decode *d, struct xinsn *x) {
    enum tmem_cp_shape *shape = arena_alloc(d->arena, sizeof *shape, _Alignof(enum tmem_cp_shape));
    if (shape == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (ir_has(x->ir, copies[i].shape) &&
            (copies[i].multicast == PTX_QUAL_NONE || ir_has(x->ir, copies[i].multicast)))
            *shape = (enum tmem_cp_shape)copies[i].cp;
    x->data = shape;
    return cp_fn;
}
