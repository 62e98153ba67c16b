/* wgmma: the warpgroup MMA of sm_90a (manual, "Asynchronous Warpgroup Level Matrix
 * Multiply-Accumulate Instructions"; wgmma.md). Four warps give one instruction: the nth
 * wgmma.mma_async of each of them. When the last has come the operation is queued; it follows the
 * one before it of its warpgroup.
 *
 *   warp 0   mma  mma  mma  commit            next[0] = 3
 *   warp 1   mma  mma                         next[1] = 2      slot 2: arrived 0b0001, not yet
 * queued
 *   ...
 *
 * D is in the registers of the frame that issued it (liveness never shares their storage), and as
 * rows beside them until wait_group, or until another instruction names one of them
 * (wgmma_touch.h); A in registers is taken at issue. wgmma.fence has nothing to do: operations of a
 * warpgroup are in order here.
 *
 * Sparse A takes its metadata at issue too. What a mma_async does is wgmma_multiply.c's. */
#include <stdio.h>
#include <string.h>

#include "aligned.h"
#include "cta.h"
#include "fragment.h"
#include "int_lanes.h"
#include "operand_gather.h"
#include "wgmma_multiply.h"
#include "wgmma_touch.h"

enum {
    WARPS = WGMMA_WARPS,
    ROWS = WGMMA_ROWS,
    MAX_N = WGMMA_MAX_N,
    A_REGS = 4,
    SLOTS = 64,  /* how far one warp may be ahead of the slowest */
    GROUPS = 64, /* commit groups that may be pending */
};

/* One instruction that warps of the group have issued. */
struct wgmma_slot {
    uint64_t number; /* 1, 2, ... in the warpgroup; 0: unused */
    uint64_t op_id;  /* once all four have come */
    const struct xinsn *insn;
    uint64_t a_desc, b_desc;
    bool accumulate;
    uint8_t arrived;           /* bit per warp */
    uint8_t *registers[WARPS]; /* of the frames that issued it */
    uint32_t a[WARPS][A_REGS][WARP_LANES];
    uint32_t metadata[WARPS][WARP_LANES];
};

struct wgmma_group {
    struct wgmma_slot slots[SLOTS];
    uint64_t next[WARPS]; /* instructions that each warp has issued */
    uint64_t last_op;
    struct {
        uint64_t count;
        uint64_t upto[GROUPS]; /* instructions before the nth commit */
    } committed[WARPS];
    struct wgmma_operands operands;
    uint32_t d[ROWS][MAX_N];
    struct wgmma_slot resident; /* insn and registers of the D that is in d; insn NULL: none */
    uint8_t prepared[];
};

static struct wgmma_group *group_of(struct cta *cta, uint32_t warp) {
    size_t size = sizeof(struct wgmma_group) + wgmma_storage_bytes();
    return cta_thread_data(cta, THREAD_WGMMA, warp / WARPS * WARPS, 0, (uint32_t)size);
}

/* ---- the operation ---- */

static void a_from_registers(const struct wgmma_form *form, const struct wgmma_slot *slot,
                             uint8_t *out) {
    uint32_t bytes = mma_type_bytes(form->a_type);
    for (uint32_t thread = 0; thread < WARPS * WARP_LANES; thread++)
        for (uint32_t reg = 0; reg < A_REGS; reg++)
            for (uint32_t sub = 0; sub < 4 / bytes; sub++) {
                struct fragment_place at = fragment_wgmma_a(8 * bytes, thread, reg, sub);
                uint32_t word = slot->a[thread / WARP_LANES][reg][thread % WARP_LANES];
                word >>= sub * 8 * bytes;
                memcpy(out + at.row * WGMMA_A_ROW_BYTES + at.col * bytes, &word, bytes);
            }
}

static enum canonical_element element_of(enum mma_type type) {
    unsigned bytes = mma_type_bytes(type);
    return bytes == 4 ? CANONICAL_32BIT : bytes == 2 ? CANONICAL_16BIT : CANONICAL_8BIT;
}

/* A and B as rows. */
static bool gather(struct cta *cta, const struct async_op *op, const struct wgmma_form *form,
                   const struct wgmma_slot *slot, struct wgmma_operands *out) {
    uint32_t k = mma_type_k(form->a_type);
    struct gather_operand a = {
        .arch = SMEM_DESC_SM90,
        .desc = slot->a_desc,
        .name = "A",
        .transposed = form->transpose_a,
        .element = element_of(form->a_type),
        .rows = ROWS,
        .k = k,
        .row_bytes = WGMMA_A_ROW_BYTES,
    };
    struct gather_operand b = {
        .arch = SMEM_DESC_SM90,
        .desc = slot->b_desc,
        .name = "B",
        .transposed = form->transpose_b,
        .element = element_of(form->b_type),
        .rows = form->n,
        .k = form->is_sparse ? 2 * k : k,
        .row_bytes = WGMMA_B_ROW_BYTES,
    };
    if (form->a_in_registers)
        a_from_registers(form, slot, out->a);
    else if (!operand_gather(cta, op, &a, out->a))
        return false;
    memcpy(out->metadata, slot->metadata, sizeof out->metadata);
    return operand_gather(cta, op, &b, out->b);
}

/* Register `reg` of the D list as warp `warp` issued it. */
static uint32_t *d_register(const struct wgmma_slot *slot, uint32_t warp, uint32_t reg) {
    const struct xop *list = &slot->insn->ops[0];
    return (uint32_t *)(void *)(slot->registers[warp] + list->elems[reg].offset_bytes);
}

/* Two neighbouring columns of eight rows: lane l of the registers holds row l/4, columns 2*(l%4)
 * and one more (fragment_wgmma_d). */
SIMD_CLONES static void pair_to_rows(const uint32_t *even, const uint32_t *odd,
                                     uint32_t (*rows)[MAX_N], uint32_t column) {
    for (uint32_t row = 0; row < 8; row++)
        for (uint32_t i = 0; i < 4; i++) {
            rows[row][column + 2 * i] = even[4 * row + i];
            rows[row][column + 2 * i + 1] = odd[4 * row + i];
        }
}
SIMD_CLONES static void pair_from_rows(uint32_t *even, uint32_t *odd, uint32_t (*rows)[MAX_N],
                                       uint32_t column) {
    for (uint32_t row = 0; row < 8; row++)
        for (uint32_t i = 0; i < 4; i++) {
            even[4 * row + i] = rows[row][column + 2 * i];
            odd[4 * row + i] = rows[row][column + 2 * i + 1];
        }
}

/* Values v and v + 1 (v even) of all lanes, out of the registers and back; f16 ones share one. */
static void take_pair(const struct wgmma_slot *slot, bool packed, uint32_t warp, uint32_t v,
                      uint32_t even[WARP_LANES], uint32_t odd[WARP_LANES]) {
    const uint32_t *first = d_register(slot, warp, packed ? v / 2 : v);
    const uint32_t *second = packed ? first : d_register(slot, warp, v + 1);
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        even[lane] = packed ? first[lane] & 0xffff : first[lane];
        odd[lane] = packed ? first[lane] >> 16 : second[lane];
    }
}
static void put_pair(const struct wgmma_slot *slot, bool packed, uint32_t warp, uint32_t v,
                     const uint32_t even[WARP_LANES], const uint32_t odd[WARP_LANES]) {
    uint32_t *first = d_register(slot, warp, packed ? v / 2 : v);
    uint32_t *second = packed ? first : d_register(slot, warp, v + 1);
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        uint32_t high = odd[lane];
        first[lane] = packed ? (even[lane] & 0xffff) | high << 16 : even[lane];
        if (!packed)
            second[lane] = high;
    }
}

/* D between registers and rows. */
static void move_d(const struct wgmma_slot *slot, uint32_t (*d)[MAX_N], bool to_rows) {
    const struct wgmma_form *form = slot->insn->data;
    bool packed = form->acc == MMA_ACC_F16;
    uint32_t even[WARP_LANES], odd[WARP_LANES];
    for (uint32_t warp = 0; warp < WARPS; warp++)
        for (uint32_t v = 0; v < form->n / 2; v += 2) {
            uint32_t(*rows)[MAX_N] = d + 16 * warp + 8 * (v / 2 % 2);
            uint32_t column = 8 * (v / 4);
            if (to_rows) {
                take_pair(slot, packed, warp, v, even, odd);
                pair_to_rows(even, odd, rows, column);
            } else {
                pair_from_rows(even, odd, rows, column);
                put_pair(slot, packed, warp, v, even, odd);
            }
        }
}

/* The program must not look at D before wait_group, so D stays as rows between instructions that
 * accumulate in the same registers. */
static void flush_d(struct wgmma_group *group) {
    if (group->resident.insn != NULL)
        move_d(&group->resident, group->d, false);
    group->resident.insn = NULL;
}

static bool same_d(const struct wgmma_slot *a, const struct wgmma_slot *b) {
    if (a->insn == NULL || a->insn->ops[0].elem_count != b->insn->ops[0].elem_count ||
        memcmp(a->registers, b->registers, sizeof a->registers) != 0)
        return false;
    const struct wgmma_form *x = a->insn->data, *y = b->insn->data;
    for (unsigned i = 0; i < a->insn->ops[0].elem_count; i++)
        if (a->insn->ops[0].elems[i].offset_bytes != b->insn->ops[0].elems[i].offset_bytes)
            return false;
    return x->n == y->n && x->acc == y->acc;
}

/* Has D of the slot as rows in group->d, its old contents only when they are read. */
static void load_d(struct wgmma_group *group, const struct wgmma_slot *slot) {
    if (!same_d(&group->resident, slot)) {
        flush_d(group);
        if (slot->accumulate)
            move_d(slot, group->d, true);
    }
    group->resident.insn = slot->insn;
    memcpy(group->resident.registers, slot->registers, sizeof slot->registers);
}

static bool effect(struct cta *cta, struct async_op *op) {
    struct wgmma_group *group = group_of(cta, op->warp);
    const struct wgmma_form *form = op->insn->data;
    uint64_t number;
    memcpy(&number, op->payload.bytes, sizeof number);
    struct wgmma_slot *slot = &group->slots[number % SLOTS];
    if (!gather(cta, op, form, slot, &group->operands))
        return false;
    load_d(group, slot);
    wgmma_multiply(form, &group->operands, group->prepared, group->d, slot->accumulate);
    return true;
}

/* ---- issue ---- */

/* All lanes of the warp must name the same value. */
static bool uniform(struct warp *w, const struct xinsn *x, const struct xop *op, uint32_t mask,
                    uint64_t *value) {
    *value = xop_lane(w, op, (unsigned)__builtin_ctz(mask));
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (xop_lane(w, op, lane) != *value) {
            warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
                       "the lanes give different matrix descriptors: undefined by the manual");
            return false;
        }
    }
    return true;
}

/* What this warp brings. False with a fault when it does not fit what the others brought. */
static bool bring(struct warp *w, const struct xinsn *x, uint32_t mask, struct wgmma_slot *slot) {
    const struct wgmma_form *form = x->data;
    uint64_t a_desc = 0, b_desc;
    uint32_t member = w->index % WARPS;
    uint32_t accumulate = xop_pred(w, &x->ops[form->is_sparse ? 5 : 3]) & mask;
    if ((!form->a_in_registers && !uniform(w, x, &x->ops[1], mask, &a_desc)) ||
        !uniform(w, x, &x->ops[2], mask, &b_desc))
        return false;
    bool same =
        slot->arrived == 0 || (slot->insn == x && slot->a_desc == a_desc &&
                               slot->b_desc == b_desc && slot->accumulate == (accumulate != 0));
    if (!same || (accumulate != 0 && accumulate != mask)) {
        warp_fault(w, x, FAULT_UNSUPPORTED, mask,
                   "the warps of a warpgroup must execute the same wgmma.mma_async with the same "
                   "descriptors and scale-d: undefined by the manual otherwise");
        return false;
    }
    slot->insn = x;
    slot->a_desc = a_desc;
    slot->b_desc = b_desc;
    slot->accumulate = accumulate != 0;
    slot->registers[member] = w->base[0];
    for (unsigned reg = 0; form->a_in_registers && reg < A_REGS; reg++)
        memcpy(slot->a[member][reg], xop_u32(w, &x->ops[1].elems[reg]), sizeof slot->a[0][0]);
    for (unsigned lane = 0; form->is_sparse && lane < WARP_LANES; lane++)
        slot->metadata[member][lane] = (uint32_t)xop_lane(w, &x->ops[3], lane);
    slot->arrived |= (uint8_t)(1u << member);
    return true;
}

static enum step mma_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct wgmma_form *form = x->data;
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    struct wgmma_group *group = group_of(w->cta, w->index);
    if (group == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    if (w->index / WARPS * WARPS + WARPS > w->cta->warp_count)
        return warp_fault(w, x, FAULT_UNSUPPORTED, mask,
                          "the CTA has no four warps for this warpgroup");
    uint64_t number = group->next[w->index % WARPS] + 1;
    struct wgmma_slot *slot = &group->slots[number % SLOTS];
    if (slot->number != number) {
        if (slot->number != 0 && (slot->op_id == 0 || !async_done(w->cta, slot->op_id))) {
            w->wait.kind = WAIT_ASYNC;
            w->wait.detail = slot->op_id;
            return STEP_WAIT;
        }
        memset(slot, 0, offsetof(struct wgmma_slot, a));
        slot->number = number;
    }
    if (!bring(w, x, mask, slot))
        return STEP_FAULT;
    group->next[w->index % WARPS] = number;
    w->wgmma_in_flight = true;
    warp_progress(w);
    if (slot->arrived != (1u << WARPS) - 1)
        return STEP_NEXT;
    if (warp_observed(w, EVENT_MMA)) {
        struct event event = {.kind = EVENT_MMA};
        event.mma.m = ROWS;
        event.mma.n = form->n;
        event.mma.k = form->k;
        warp_event(w, x, mask, &event);
    }
    struct async_op *op = async_new(w->cta, w, x, 0, effect);
    if (op == NULL)
        return STEP_FAULT;
    memcpy(op->payload.bytes, &number, sizeof number);
    op->after = group->last_op;
    slot->op_id = group->last_op = op->id;
    return async_issue(w->cta, op) ? STEP_NEXT : STEP_FAULT;
}

static enum step fence_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    warp_aligned(w, x, mask, &step);
    return step;
}
ONE_SELECT(wgmma_fence, fence_fn)

static enum step commit_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    struct wgmma_group *group = group_of(w->cta, w->index);
    if (group == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    uint32_t member = w->index % WARPS;
    uint64_t nth = group->committed[member].count++;
    group->committed[member].upto[nth % GROUPS] = group->next[member];
    return STEP_NEXT;
}
ONE_SELECT(wgmma_commit, commit_fn)

/* Waits until at most N of the newest groups are pending. */
static enum step wait_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!warp_aligned(w, x, mask, &step))
        return step;
    struct wgmma_group *group = group_of(w->cta, w->index);
    if (group == NULL)
        return warp_fault(w, x, FAULT_NO_MEMORY, mask, "the host has no memory left");
    uint32_t member = w->index % WARPS;
    uint64_t count = group->committed[member].count, pending = (uint64_t)x->ops[0].imm;
    uint64_t number =
        count > pending ? group->committed[member].upto[(count - pending - 1) % GROUPS] : 0;
    const struct wgmma_slot *slot = &group->slots[number % SLOTS];
    if (number == 0 || slot->number != number ||
        (slot->op_id != 0 && async_done(w->cta, slot->op_id))) {
        flush_d(group);
        return STEP_NEXT;
    }
    w->wait.kind = WAIT_ASYNC;
    w->wait.detail = slot->op_id;
    return STEP_WAIT;
}
bool wgmma_settled(struct warp *w) {
    struct wgmma_group *group = group_of(w->cta, w->index);
    uint64_t number = group->next[w->index % WARPS];
    const struct wgmma_slot *slot = &group->slots[number % SLOTS];
    if (slot->number == number && (slot->op_id == 0 || !async_done(w->cta, slot->op_id))) {
        w->wait.kind = WAIT_ASYNC;
        w->wait.detail = slot->op_id;
        return false;
    }
    flush_d(group);
    w->wgmma_in_flight = false;
    return true;
}

exec_select op_wgmma_wait;
exec_fn *op_wgmma_wait(struct decode *d, struct xinsn *x) {
    if (x->ops[0].imm >= GROUPS)
        return decode_unsupported(d, x, "more than %d pending wgmma groups", GROUPS - 1);
    return wait_fn;
}

/* ---- decoding ---- */

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

static enum mma_kind kind_of(enum mma_type type) {
    switch (type) {
    case MMA_TYPE_F16:
    case MMA_TYPE_BF16: return MMA_WGMMA_F16;
    case MMA_TYPE_TF32: return MMA_WGMMA_TF32;
    case MMA_TYPE_S8:
    case MMA_TYPE_U8: return MMA_WGMMA_I8;
    default: return MMA_WGMMA_F8;
    }
}

static bool read_shape(const struct ir_insn *ir, struct wgmma_form *form) {
    for (unsigned i = 0; i < ir->qual_count; i++)
        if (sscanf(ptx_qual_text((enum ptx_qual)ir->quals[i]), "m64n%uk%u", &form->n, &form->k) ==
            2)
            return true;
    return false;
}

exec_select op_wgmma_mma;
exec_fn *op_wgmma_mma(struct decode *d, struct xinsn *x) {
    struct wgmma_form *form = arena_alloc(d->arena, sizeof *form, _Alignof(struct wgmma_form));
    if (form == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    const struct ir_insn *ir = x->ir;
    form->a_type = element_type((enum ptx_type)ir->types[1]);
    form->b_type = element_type((enum ptx_type)ir->types[2]);
    form->acc = ir->types[0] == PTX_F16   ? MMA_ACC_F16
                : ir->types[0] == PTX_F32 ? MMA_ACC_F32
                                          : MMA_ACC_S32;
    form->kind = kind_of(form->a_type);
    form->a_in_registers = x->ops[1].kind == XOP_VECTOR;
    form->is_bits = ir->types[1] == PTX_B1;
    form->is_sparse = strcmp(isa_row((enum isa_form)ir->form)->opcode, "wgmma.mma_async.sp") == 0;
    form->saturate = ir_has(ir, QUAL_SATFINITE);
    uint32_t registers = 0;
    if (read_shape(ir, form))
        registers = form->n / (form->acc == MMA_ACC_F16 ? 4 : 2);
    if (x->ops[0].elem_count != registers)
        return decode_unsupported(d, x, "D of this shape is %u registers, found %u", registers,
                                  x->ops[0].elem_count);
    unsigned next = form->is_sparse ? 6 : 4;
    if (form->is_sparse)
        form->sparse = (struct mma_sparse){.element_bits = 8 * mma_type_bytes(form->a_type),
                                           .k = form->k,
                                           .selector = (uint32_t)x->ops[4].imm};
    if (form->kind != MMA_WGMMA_I8) {
        form->negate_a = x->ops[next++].imm != 1;
        form->negate_b = x->ops[next++].imm != 1;
    }
    if (form->kind == MMA_WGMMA_F16) {
        form->transpose_a = !form->a_in_registers && x->ops[next++].imm == 1;
        form->transpose_b = x->ops[next].imm == 1;
    }
    x->data = form;
    return mma_fn;
}
