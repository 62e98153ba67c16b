/* atom and red on global, shared and generic addresses (manual, "Parallel Synchronization and
 * Communication Instructions: atom, red"; every form of tests/oracle/scalar/hw-H200-atomics). Lanes
 * of one instruction take their turn from lane 0 up; the memory order words have nothing to add,
 * since an operation here is one step that nobody can come between.
 *
 * Float add is the plain add, round to nearest even. On global memory f32 flushes subnormals and
 * f64 hands a NaN on without making it quiet, as the atomic unit there does; on shared memory both
 * are the add instruction of a compare-and-swap loop (scalar.md section 8) with the cell as its
 * last operand: of two NaNs the cell's payload stays (hw-H200-atomics). */
#include <string.h>

#include "float_add.h"
#include "int_lanes.h"
#include "num_f32.h"
#include "num_f64.h"
#include "num_half.h"

enum atom_op {
    ATOM_ADD,
    ATOM_MIN,
    ATOM_MAX,
    ATOM_INC,
    ATOM_DEC,
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR,
    ATOM_EXCH,
    ATOM_CAS
};

struct atom {
    enum atom_op op;
    enum ptx_type type;
    enum ptx_space space;
    unsigned elem_bytes, elem_count;
    bool returns; /* atom, not red */
};

static uint64_t add_f64_global(uint64_t a, uint64_t b) {
    if (num_f64_is_nan(b))
        return b;
    return num_f64_is_nan(a) ? a : num_f64_add(a, b, NUM_RN);
}

static uint32_t add_halves(enum ptx_type type, uint32_t a, uint32_t b) {
    uint16_t (*add)(uint16_t, uint16_t) = type == PTX_F16X2 ? num_f16_add : num_bf16_add;
    return add((uint16_t)a, (uint16_t)b) | (uint32_t)add((uint16_t)(a >> 16), (uint16_t)(b >> 16))
                                               << 16;
}

static uint64_t add_float(enum ptx_type type, uint64_t a, uint64_t b, bool global) {
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (type) {
    case PTX_F32:
        if (!global)
            return num_f32_add(x, y, NUM_RN);
        return num_f32_flush(num_f32_add(num_f32_flush(x), num_f32_flush(y), NUM_RN));
    case PTX_F64: return global ? add_f64_global(a, b) : num_f64_add(b, a, NUM_RN);
    case PTX_F16: return num_f16_add((uint16_t)x, (uint16_t)y);
    case PTX_BF16: return num_bf16_add((uint16_t)x, (uint16_t)y);
    default: return add_halves(type, x, y);
    }
}

static bool is_less(enum ptx_type type, uint64_t a, uint64_t b) {
    switch (type) {
    case PTX_S32: return (int32_t)a < (int32_t)b;
    case PTX_S64: return (int64_t)a < (int64_t)b;
    default: return a < b;
    }
}

/* The cell after the operation; the caller cuts it to the width. */
static uint64_t atom_result(const struct atom *how, uint64_t old, uint64_t b, uint64_t c,
                            bool global) {
    switch (how->op) {
    case ATOM_ADD:
        if (ptx_type_class(how->type) == PTX_CLASS_UINT ||
            ptx_type_class(how->type) == PTX_CLASS_SINT)
            return old + b;
        return add_float(how->type, old, b, global);
    case ATOM_MIN: return is_less(how->type, b, old) ? b : old;
    case ATOM_MAX: return is_less(how->type, old, b) ? b : old;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    case ATOM_XOR: return old ^ b;
    case ATOM_EXCH: return b;
    case ATOM_CAS: return old == b ? c : old;
    }
    return old;
}

/* The `i`th element of an operand that may be a vector in braces. */
static const struct xop *part_of(const struct xop *op, unsigned i) {
    return op->kind == XOP_VECTOR ? &op->elems[i] : op;
}

static void atom_cell(struct warp *w, const struct xinsn *x, unsigned lane, uint8_t *cell,
                      bool global) {
    const struct atom *how = x->data;
    unsigned value = how->returns ? 2 : 1;
    for (unsigned i = 0; i < how->elem_count; i++) {
        uint64_t old = 0;
        uint8_t *at = cell + i * how->elem_bytes;
        memcpy(&old, at, how->elem_bytes);
        uint64_t b = xop_lane(w, part_of(&x->ops[value], i), lane);
        uint64_t c = how->op == ATOM_CAS ? xop_lane(w, &x->ops[value + 1], lane) : 0;
        uint64_t now = atom_result(how, old, b, c, global);
        memcpy(at, &now, how->elem_bytes);
        if (how->returns) {
            const struct xop *d = part_of(&x->ops[0], i);
            if (d->kind == XOP_VALUE)
                xop_set_lane(w, d, lane, old);
        }
    }
}

static void atom_cell_128(struct warp *w, const struct xinsn *x, unsigned lane, uint8_t *cell) {
    const struct atom *how = x->data;
    uint64_t old[2], b[2], now[2];
    memcpy(old, cell, sizeof old);
    for (unsigned i = 0; i < 2; i++)
        b[i] = xop_u64(w, &x->ops[2])[i * WARP_LANES + lane];
    bool store = how->op == ATOM_EXCH || (old[0] == b[0] && old[1] == b[1]);
    const struct xop *from = &x->ops[how->op == ATOM_EXCH ? 2 : 3];
    for (unsigned i = 0; i < 2; i++) {
        now[i] = store ? xop_u64(w, from)[i * WARP_LANES + lane] : old[i];
        if (x->ops[0].kind == XOP_VALUE)
            xop_u64(w, &x->ops[0])[i * WARP_LANES + lane] = old[i];
    }
    memcpy(cell, now, sizeof now);
}

static void tell(struct warp *w, const struct xinsn *x, enum event_kind kind, uint32_t lanes,
                 unsigned size_bytes, const uint64_t address[WARP_LANES]) {
    if (lanes == 0 || !warp_observed(w, kind))
        return;
    struct event event = {.kind = kind};
    event.access.access = ACCESS_ATOMIC;
    event.access.size_bytes = size_bytes;
    event.access.address = address;
    warp_event(w, x, lanes, &event);
}

static void tell_float_add(struct warp *w, const struct xinsn *x, unsigned lane, uint64_t address,
                           const uint8_t *cell) {
    const struct atom *how = x->data;
    enum event_float elem;
    uint8_t operand[32];
    if (how->op != ATOM_ADD || !float_add_ptx(how->type, &elem))
        return;
    for (unsigned i = 0; i < how->elem_count; i++) {
        uint64_t b = xop_lane(w, part_of(&x->ops[how->returns ? 2 : 1], i), lane);
        memcpy(operand + i * how->elem_bytes, &b, how->elem_bytes);
    }
    float_add_tell(w->cta, elem, address, cell, operand, how->elem_bytes * how->elem_count);
}

static enum step atom_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct atom *how = x->data;
    unsigned size = how->elem_bytes * how->elem_count;
    uint64_t address[WARP_LANES];
    uint32_t in_global = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const struct xop *place = &x->ops[how->returns ? 1 : 0];
        enum ptx_space space = how->space;
        address[lane] = warp_address(w, place, space, lane);
        if (space == SPACE_GENERIC)
            space = warp_generic(w, address[lane], &address[lane]);
        uint8_t *cell = warp_memory(w, x, lane, space, address[lane], size, size);
        if (cell == NULL)
            return STEP_FAULT;
        in_global |= (uint32_t)(space == SPACE_GLOBAL) << lane;
        if (space == SPACE_GLOBAL && float_add_observed(w->cta))
            tell_float_add(w, x, lane, address[lane], cell);
        if (how->elem_bytes == 16)
            atom_cell_128(w, x, lane, cell);
        else
            atom_cell(w, x, lane, cell, space == SPACE_GLOBAL);
    }
    warp_progress(w);
    tell(w, x, EVENT_GLOBAL_ACCESS, mask & in_global, size, address);
    tell(w, x, EVENT_SHARED_ACCESS, mask & ~in_global, size, address);
    return STEP_NEXT;
}

static const struct {
    enum ptx_qual qual;
    enum atom_op op;
} atom_ops[] = {
    {QUAL_ADD, ATOM_ADD},   {QUAL_MIN, ATOM_MIN}, {QUAL_MAX, ATOM_MAX}, {QUAL_INC, ATOM_INC},
    {QUAL_DEC, ATOM_DEC},   {QUAL_AND, ATOM_AND}, {QUAL_OR, ATOM_OR},   {QUAL_XOR, ATOM_XOR},
    {QUAL_EXCH, ATOM_EXCH}, {QUAL_CAS, ATOM_CAS},
};

static exec_fn *prepare(struct decode *d, struct xinsn *x, bool returns) {
    struct atom *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct atom));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    for (size_t i = 0; i < sizeof atom_ops / sizeof atom_ops[0]; i++)
        if (ir_has(x->ir, atom_ops[i].qual))
            how->op = atom_ops[i].op;
    how->type = (enum ptx_type)x->ir->types[0];
    how->space = ir_space(x->ir, 0);
    how->elem_bytes = ptx_type_bits(how->type) / 8;
    how->elem_count = ir_vector_count(x->ir);
    how->returns = returns;
    if (how->elem_count > 1 && how->op != ATOM_ADD)
        return decode_unsupported(d, x, "vector atomics other than .add are not modelled");
    x->data = how;
    return atom_fn;
}
exec_select op_atom, op_red;
exec_fn *op_atom(struct decode *d, struct xinsn *x) {
    return prepare(d, x, true);
}
exec_fn *op_red(struct decode *d, struct xinsn *x) {
    return prepare(d, x, false);
}
