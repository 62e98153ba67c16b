/* wmma (manual, "Warp-level Matrix Instructions Using wmma"). The manual leaves the fragments open;
 * these are an H200's (units/mma_fragment), alike for .row and .col and for all state spaces, so
 * wmma.mma need not look at the layout words.
 *
 *     line 0   p                 a line is a row of a .row matrix, a column of a .col one
 *     line 1   p + stride        stride in elements; without one the lines are packed
 *
 * Which alignment a line needs is what ptxas 13.0 makes of it: .shared multiplicands whose
 * registers hold neighbours in memory, and all 16-bit ones, come through ldmatrix, 16 bytes at a
 * time; else what a register (a pair of them for accumulators of 32 and 64 bits) gets at once. */
#include <string.h>

#include "cta.h"
#include "mma_warp.h"

enum { MAX_LINES = 32, MATRIX_ROW_BYTES = 16 };

struct wmma_move {
    struct mma_fragment fragment;
    enum ptx_space space;
    uint32_t element_bits;
    uint32_t lines, line_elements;
    uint32_t align_bytes;
    bool lines_are_rows;
    uint8_t list, address, stride; /* operand indices */
};

static uint32_t stride_of(const struct warp *w, const struct xinsn *x) {
    const struct wmma_move *how = x->data;
    const struct xop *op = &x->ops[how->stride];
    return op->kind == XOP_NONE ? how->line_elements : xop_u32(w, op)[0];
}

/* Base address and stride must be one for the warp. */
static bool uniform(struct warp *w, const struct xinsn *x, const struct xop *op) {
    for (unsigned lane = 1; op->kind != XOP_NONE && lane < WARP_LANES; lane++)
        if (xop_lane(w, op, lane) != xop_lane(w, op, 0)) {
            warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
                       "the lanes give different addresses or strides: undefined by the manual");
            return false;
        }
    return true;
}

/* Host bytes of every line. */
static bool find_lines(struct warp *w, const struct xinsn *x, enum event_access access,
                       uint8_t *lines[MAX_LINES]) {
    const struct wmma_move *how = x->data;
    const struct xop *base = &x->ops[how->address];
    uint64_t address[WARP_LANES] = {0};
    uint32_t line_bytes = how->line_elements * how->element_bits / 8;
    enum ptx_space space = how->space;
    if (!uniform(w, x, &base->elems[0]) || !uniform(w, x, &x->ops[how->stride]))
        return false;
    uint64_t first = warp_address(w, base, space, 0), in_space = first;
    if (space == SPACE_GENERIC)
        space = warp_generic(w, first, &in_space);
    uint64_t stride_bits = (uint64_t)stride_of(w, x) * how->element_bits;
    for (uint32_t line = 0; line < how->lines; line++) {
        uint64_t offset = line * stride_bits / 8;
        address[line] = in_space + offset;
        lines[line] =
            warp_memory(w, x, line, how->space, first + offset, line_bytes, how->align_bytes);
        if (lines[line] == NULL)
            return false;
    }
    bool shared = space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER;
    enum event_kind kind = shared ? EVENT_SHARED_ACCESS : EVENT_GLOBAL_ACCESS;
    if (warp_observed(w, kind) && (shared || space == SPACE_GLOBAL)) {
        struct event event = {.kind = kind};
        event.access.access = access;
        event.access.size_bytes = line_bytes;
        event.access.address = address;
        warp_event(w, x, how->lines == 32 ? LANES_ALL : (UINT32_C(1) << how->lines) - 1, &event);
    }
    return true;
}

struct where {
    uint8_t *byte;
    unsigned bit;
};

static struct where find_element(const struct wmma_move *how, uint8_t *const lines[MAX_LINES],
                                 uint32_t lane, uint32_t element) {
    struct fragment_place at = mma_fragment_place(&how->fragment, lane, element);
    uint32_t line = how->lines_are_rows ? at.row : at.col;
    uint32_t bit = (how->lines_are_rows ? at.col : at.row) * how->element_bits;
    return (struct where){lines[line] + bit / 8, bit % 8};
}

static uint64_t read_element(const struct where *from, uint32_t bits) {
    uint64_t value = 0;
    memcpy(&value, from->byte, bits < 8 ? 1 : bits / 8);
    return bits < 8 ? value >> from->bit & ((1u << bits) - 1) : value;
}

static enum step load_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct wmma_move *how = x->data;
    const struct mma_fragment *f = &how->fragment;
    uint8_t *lines[MAX_LINES];
    uint64_t value[8][WARP_LANES];
    enum step step;
    if (!mma_warp_full(w, x, mask, &step))
        return step;
    if (!find_lines(w, x, ACCESS_READ, lines))
        return STEP_FAULT;
    uint32_t per_register = f->elements / f->registers;
    memset(value, 0, sizeof value);
    for (uint32_t element = 0; element < f->elements; element++)
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            struct where from = find_element(how, lines, lane, element);
            value[element / per_register][lane] |= read_element(&from, how->element_bits)
                                                   << (element % per_register * how->element_bits);
        }
    for (uint32_t reg = 0; reg < f->registers; reg++) {
        const struct xop *op = &x->ops[how->list].elems[reg];
        for (uint32_t lane = 0; op->kind == XOP_VALUE && lane < WARP_LANES; lane++)
            xop_set_lane(w, op, lane, value[reg][lane]);
    }
    return STEP_NEXT;
}

/* Accumulators only: elements of 16, 32 and 64 bits. */
static enum step store_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct wmma_move *how = x->data;
    const struct mma_fragment *f = &how->fragment;
    uint8_t *lines[MAX_LINES];
    enum step step;
    if (!mma_warp_full(w, x, mask, &step))
        return step;
    if (!find_lines(w, x, ACCESS_WRITE, lines))
        return STEP_FAULT;
    uint32_t per_register = f->elements / f->registers;
    for (uint32_t element = 0; element < f->elements; element++)
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            uint64_t value = xop_lane(w, &x->ops[how->list].elems[element / per_register], lane) >>
                             (element % per_register * how->element_bits);
            memcpy(find_element(how, lines, lane, element).byte, &value, how->element_bits / 8);
        }
    warp_progress(w);
    return STEP_NEXT;
}

/* ---- decoding ---- */

static enum mma_fragment_role role_of(const struct ir_insn *ir) {
    const char *opcode = isa_row((enum isa_form)ir->form)->opcode;
    return strcmp(opcode, "wmma.load.a") == 0   ? MMA_FRAGMENT_A
           : strcmp(opcode, "wmma.load.b") == 0 ? MMA_FRAGMENT_B
                                                : MMA_FRAGMENT_C;
}

/* Bytes that a line's start must be aligned to. */
static uint32_t alignment(const struct wmma_move *how, enum mma_fragment_role role) {
    uint32_t bits = how->element_bits;
    bool along = how->lines_are_rows != how->fragment.major_is_column; /* neighbours in memory */
    if (role == MMA_FRAGMENT_C && bits > 16)
        return along ? bits / 4 : bits / 8;
    if (bits > 16)
        return bits / 8;
    if (bits == 8 && !along)
        return 1;
    bool shared = how->space == SPACE_SHARED || how->space == SPACE_SHARED_CLUSTER;
    return shared && role != MMA_FRAGMENT_C ? MATRIX_ROW_BYTES : 4;
}

static exec_fn *prepare(struct decode *d, struct xinsn *x, bool is_load) {
    struct wmma_move *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct wmma_move));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    enum mma_fragment_role role = role_of(x->ir);
    struct mma_fragment_shape shape = {.role = role, .repeated = x->ir->types[0] == PTX_F16};
    if (!mma_warp_shape(x->ir, &shape.m, &shape.n, &shape.k))
        return decode_unsupported(d, x, "a matrix instruction without a shape");
    shape.element_bits = ptx_type_bits((enum ptx_type)x->ir->types[0]);
    uint32_t rows = role == MMA_FRAGMENT_B ? shape.k : shape.m;
    uint32_t columns = role == MMA_FRAGMENT_A ? shape.k : shape.n;
    *how = (struct wmma_move){.fragment = mma_fragment_find(&shape),
                              .space = ir_space(x->ir, 0),
                              .element_bits = shape.element_bits,
                              .lines_are_rows = ir_has(x->ir, QUAL_ROW),
                              .list = is_load ? 0 : 1,
                              .address = is_load ? 1 : 0,
                              .stride = 2};
    how->lines = how->lines_are_rows ? rows : columns;
    how->line_elements = how->lines_are_rows ? columns : rows;
    how->align_bytes = alignment(how, role);
    x->data = how;
    return is_load ? load_fn : store_fn;
}

exec_select op_wmma_load, op_wmma_store, op_wmma_mma;
exec_fn *op_wmma_load(struct decode *d, struct xinsn *x) {
    return prepare(d, x, true);
}
exec_fn *op_wmma_store(struct decode *d, struct xinsn *x) {
    return prepare(d, x, false);
}
/* f16 multiplicands are not named: only D and C are. */
exec_fn *op_wmma_mma(struct decode *d, struct xinsn *x) {
    const uint8_t *types = x->ir->types;
    const uint8_t half[4] = {types[0], PTX_F16, PTX_F16, types[1]};
    return mma_warp_prepare(d, x, MMA_WARP_WMMA, x->ir->type_count == 2 ? half : types);
}
