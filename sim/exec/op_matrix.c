/* ldmatrix, stmatrix, movmatrix (manual, "Warp-level matrix load / store / transpose"; maps in
 * units/fragment, rows of tests/oracle/warp and ldsm_stsm). Each 16-byte row is named by the
 * address of one lane; other lanes' addresses are not read. No swizzle is applied. */
#include <string.h>

#include "fragment.h"
#include "int_lanes.h"

enum { ROW_BYTES = 16, MAX_MATRICES = 4, MAX_ROWS = 32 };

struct matrix_move {
    enum fragment_move move;
    unsigned matrices;
    enum ptx_space space;
    unsigned elem_bits;   /* in memory: 16, 8, 6 or 4 */
    unsigned memory_list; /* operand indices */
    unsigned address;
};

static unsigned rows_of(const struct matrix_move *how) {
    return how->matrices * fragment_move_rows(how->move);
}

static bool all_lanes(struct warp *w, const struct xinsn *x, uint32_t mask, enum step *step) {
    *step = STEP_NEXT;
    if (!warp_has_lanes(w, LANES_ALL)) {
        *step = STEP_WAIT;
        return false;
    }
    if (mask != LANES_ALL)
        *step = warp_fault(w, x, FAULT_UNSUPPORTED, ~mask,
                           "a .sync.aligned instruction must be executed by all 32 lanes together, "
                           "but lanes 0x%08x are away: undefined by the manual",
                           ~mask);
    return mask == LANES_ALL;
}

/* Host bytes of every row, and the address of each for the observer. */
static bool find_rows(struct warp *w, const struct xinsn *x, uint8_t *rows[MAX_ROWS],
                      enum event_access access) {
    const struct matrix_move *how = x->data;
    uint64_t address[WARP_LANES];
    unsigned count = rows_of(how);
    for (unsigned lane = 0; lane < count; lane++) {
        enum ptx_space space = how->space;
        address[lane] = warp_address(w, &x->ops[how->address], space, lane);
        if (space == SPACE_GENERIC)
            space = warp_generic(w, address[lane], &address[lane]);
        if (space != SPACE_SHARED && space != SPACE_SHARED_CLUSTER) {
            warp_fault(w, x, FAULT_ADDRESS_SPACE, UINT32_C(1) << lane,
                       "row address 0x%llx is not in shared memory",
                       (unsigned long long)address[lane]);
            return false;
        }
        rows[lane] = warp_memory(w, x, lane, space, address[lane], ROW_BYTES, ROW_BYTES);
        if (rows[lane] == NULL)
            return false;
    }
    if (warp_observed(w, EVENT_SHARED_ACCESS)) {
        struct event event = {.kind = EVENT_SHARED_ACCESS};
        event.access.access = access;
        event.access.size_bytes = ROW_BYTES;
        event.access.address = address;
        warp_event(w, x, count == 32 ? LANES_ALL : (UINT32_C(1) << count) - 1, &event);
    }
    return true;
}

/* Element of a row as memory holds it: b16 whole, narrow ones expanded to a byte (value in the low
 * bits; matrix-moves.md sections 3 and 4). */
static uint32_t row_element(const uint8_t *row, uint32_t element, unsigned bits) {
    if (bits == 16)
        return (uint32_t)row[2 * element] | (uint32_t)row[2 * element + 1] << 8;
    if (bits == 8)
        return row[element];
    uint32_t bit = element * bits;
    uint32_t pair = row[bit / 8] | (uint32_t)row[bit / 8 + 1] << 8;
    return pair >> (bit % 8) & ((1u << bits) - 1);
}

static enum step ldmatrix_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct matrix_move *how = x->data;
    const struct xop *list = &x->ops[how->memory_list];
    enum step step;
    uint8_t *rows[MAX_ROWS];
    if (!all_lanes(w, x, mask, &step))
        return step;
    if (!find_rows(w, x, rows, ACCESS_READ))
        return STEP_FAULT;
    uint32_t value[MAX_MATRICES][WARP_LANES];
    unsigned subs = fragment_move_elements(how->move);
    for (uint32_t reg = 0; reg < list->elem_count; reg++)
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            value[reg][lane] = 0;
            for (uint32_t sub = 0; sub < subs; sub++) {
                struct fragment_source from = fragment_move_source(how->move, lane, reg, sub);
                value[reg][lane] |=
                    row_element(rows[from.address_lane], from.element, how->elem_bits)
                    << (sub * 32 / subs);
            }
        }
    for (uint32_t reg = 0; reg < list->elem_count; reg++)
        memcpy(xop_u32(w, &list->elems[reg]), value[reg], sizeof value[reg]);
    return STEP_NEXT;
}

static enum step stmatrix_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct matrix_move *how = x->data;
    const struct xop *list = &x->ops[how->memory_list];
    enum step step;
    uint8_t *rows[MAX_ROWS];
    if (!all_lanes(w, x, mask, &step))
        return step;
    if (!find_rows(w, x, rows, ACCESS_WRITE))
        return STEP_FAULT;
    unsigned subs = fragment_move_elements(how->move), bytes = 4 / subs;
    for (uint32_t reg = 0; reg < list->elem_count; reg++)
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            uint32_t word = xop_u32(w, &list->elems[reg])[lane];
            for (uint32_t sub = 0; sub < subs; sub++) {
                struct fragment_source to = fragment_move_source(how->move, lane, reg, sub);
                uint32_t element = word >> (sub * 8 * bytes);
                memcpy(rows[to.address_lane] + to.element * bytes, &element, bytes);
            }
        }
    warp_progress(w);
    return STEP_NEXT;
}

static enum step movmatrix_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum step step;
    if (!all_lanes(w, x, mask, &step))
        return step;
    uint32_t from[WARP_LANES], *d = xop_u32(w, &x->ops[0]);
    memcpy(from, xop_u32(w, &x->ops[1]), sizeof from);
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        uint32_t word = 0;
        for (uint32_t sub = 0; sub < 2; sub++) {
            uint32_t source_sub, source = fragment_movmatrix_source(lane, sub, &source_sub);
            word |= (from[source] >> (16 * source_sub) & 0xffff) << (16 * sub);
        }
        d[lane] = word;
    }
    return STEP_NEXT;
}
ONE_SELECT(movmatrix, movmatrix_fn)

static exec_fn *prepare(struct decode *d, struct xinsn *x, exec_fn *fn, enum fragment_move move,
                        unsigned list) {
    struct matrix_move *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct matrix_move));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    how->move = move;
    how->matrices = ir_has(x->ir, QUAL_X4) ? 4 : ir_has(x->ir, QUAL_X2) ? 2 : 1;
    how->space = ir_space(x->ir, 0);
    how->elem_bits = ir_has(x->ir, QUAL_B6X16_P32)   ? 6
                     : ir_has(x->ir, QUAL_B4X16_P64) ? 4
                     : x->ir->type_count > 0         ? ptx_type_bits((enum ptx_type)x->ir->types[0])
                                                     : 8;
    how->memory_list = list;
    how->address = 1 - list;
    x->data = how;
    return fn;
}
exec_select op_ldmatrix, op_ldmatrix_m16n16, op_ldmatrix_m8n16, op_stmatrix, op_stmatrix_m16n8;
exec_fn *op_ldmatrix(struct decode *d, struct xinsn *x) {
    bool trans = ir_has(x->ir, QUAL_TRANS);
    return prepare(d, x, ldmatrix_fn, trans ? FRAGMENT_M8N8_TRANS_B16 : FRAGMENT_M8N8_B16, 0);
}
exec_fn *op_ldmatrix_m16n16(struct decode *d, struct xinsn *x) {
    return prepare(d, x, ldmatrix_fn, FRAGMENT_LDMATRIX_M16N16_TRANS_B8, 0);
}
exec_fn *op_ldmatrix_m8n16(struct decode *d, struct xinsn *x) {
    return prepare(d, x, ldmatrix_fn, FRAGMENT_LDMATRIX_M8N16, 0);
}
exec_fn *op_stmatrix(struct decode *d, struct xinsn *x) {
    bool trans = ir_has(x->ir, QUAL_TRANS);
    return prepare(d, x, stmatrix_fn, trans ? FRAGMENT_M8N8_TRANS_B16 : FRAGMENT_M8N8_B16, 1);
}
exec_fn *op_stmatrix_m16n8(struct decode *d, struct xinsn *x) {
    return prepare(d, x, stmatrix_fn, FRAGMENT_STMATRIX_M16N8_TRANS_B8, 1);
}
