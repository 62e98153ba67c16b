/* Tensor copies in tile and im2col mode: cp.async.bulk.tensor load, store and prefetch,
 * cp.reduce.async.bulk.tensor (manual, "Data Movement and Conversion Instructions: Tensor copy").
 * The walk and its rules are units/tma; the map is read and the coordinates are judged when the
 * instruction issues, the bytes move when the operation completes. */
#include <inttypes.h>
#include <string.h>

#include "copy_operands.h"
#include "exec.h"
#include "float_add.h"
#include "tma.h"

/* Payload of an operation. */
struct tensor_copy {
    struct copy_store store; /* of stores and reductions */
    struct tma_walk walk;
    uint32_t mbarrier; /* of loads */
};
_Static_assert(sizeof(struct tensor_copy) <= ASYNC_PAYLOAD_BYTES, "payload fits");

static struct tensor_copy *copy_of(struct async_op *op) {
    return (struct tensor_copy *)(void *)op->payload.bytes;
}

/* Global memory of a walk: rows are near each other, so the last allocation is kept. */
struct global_rows {
    const struct global_range *range;
};

static uint8_t *row_bytes(struct cta *cta, const struct async_op *op, struct global_rows *rows,
                          const struct tma_step *step) {
    const struct global_range *range = rows->range;
    if (range == NULL || step->global_address < range->address ||
        step->global_address - range->address >= range->size_bytes)
        range = global_memory_find(cta->memory, step->global_address);
    rows->range = range;
    if (range == NULL ||
        range->size_bytes - (step->global_address - range->address) < step->valid_bytes) {
        cta_fault(cta, op, FAULT_ILLEGAL_ADDRESS,
                  "the tensor copy reaches global addresses 0x%" PRIx64 " to 0x%" PRIx64
                  ", which no allocation holds",
                  step->global_address, step->global_address + step->valid_bytes);
        return NULL;
    }
    return range->host + (step->global_address - range->address);
}

static bool row_is_shared(struct cta *cta, const struct async_op *op, const struct tma_step *step) {
    return copy_shared_bytes(cta, op, step->shared_first, step->shared_end - step->shared_first) !=
           NULL;
}

/* Rows of a box are a stride apart, too far for the host's own prefetcher: most of a copy's time
 * would be waiting for them. */
enum { ROWS_AHEAD = 8, HOST_LINE_BYTES = 64 };

/* A row of 32-byte interleaved positions. */
enum { ROW_BYTES_MAX = TMAP_BOX_DIM_MAX * 32 };

static void prefetch_row_ahead(const struct tma_walk *walk, const uint8_t *row) {
    uintptr_t ahead = (uintptr_t)row + ROWS_AHEAD * walk->map.stride_bytes[1];
    for (uint32_t i = 0; i < walk->row_bytes; i += HOST_LINE_BYTES)
        __builtin_prefetch((const void *)(ahead + i)); /* harmless where nothing is mapped */
}

static bool load_effect(struct cta *cta, struct async_op *op) {
    struct tensor_copy *copy = copy_of(op);
    struct global_rows rows = {0};
    struct tma_step step;
    while (tma_next(&copy->walk, &step)) {
        const uint8_t *global = NULL;
        if (!row_is_shared(cta, op, &step))
            return false;
        if (step.valid_bytes > 0) {
            global = row_bytes(cta, op, &rows, &step);
            if (global == NULL)
                return false;
            prefetch_row_ahead(&copy->walk, global);
        }
        tma_step_load(&copy->walk, &step, cta->shared, global);
    }
    return cta_complete_tx(cta, op, copy->mbarrier, copy->walk.box_bytes);
}

/* Adds (or what the reduction says) a row to global memory. */
static void reduce_row(struct cta *cta, const struct tensor_copy *copy, const struct tma_step *step,
                       uint8_t *global, const uint8_t *from) {
    const enum tma_reduce_op how = copy->walk.request.reduce_op;
    const enum tmap_type type = (enum tmap_type)copy->walk.map.type;
    enum event_float elem;
    if (float_add_tmap(how, type, &elem))
        float_add_tell(cta, elem, step->global_address, global, from, step->valid_bytes);
    tma_reduce(how, type, global, from, step->valid_bytes);
}

static bool store_effect(struct cta *cta, struct async_op *op) {
    struct tensor_copy *copy = copy_of(op);
    struct global_rows rows = {0};
    struct tma_step step;
    uint8_t row[ROW_BYTES_MAX];
    while (tma_next(&copy->walk, &step)) {
        if (!row_is_shared(cta, op, &step))
            return false;
        if (step.valid_bytes == 0)
            continue;
        uint8_t *global = row_bytes(cta, op, &rows, &step);
        if (global == NULL)
            return false;
        const bool reduces = copy->walk.request.kind == TMA_REDUCE;
        tma_step_store(&copy->walk, &step, cta->shared, reduces ? row : global);
        if (reduces)
            reduce_row(cta, copy, &step, global, row);
    }
    copy_store_read(cta, op, copy->store.group);
    copy_store_written(cta, op, copy->store.group);
    return true;
}

/* The rows' valid bytes, one row behind the other, to the staging memory. */
static bool read_effect(struct cta *cta, struct async_op *op) {
    struct tensor_copy *copy = copy_of(op);
    uint8_t *to = copy->store.staging;
    struct tma_step step;
    while (tma_next(&copy->walk, &step)) {
        if (!row_is_shared(cta, op, &step))
            return false;
        if (step.valid_bytes > 0)
            tma_step_store(&copy->walk, &step, cta->shared, to);
        to += step.valid_bytes;
    }
    copy_store_read(cta, op, copy->store.group);
    return true;
}

static bool write_effect(struct cta *cta, struct async_op *op) {
    struct tensor_copy *copy = copy_of(op);
    const struct tma_request *request = &copy->walk.request;
    const uint8_t *from = op->owned;
    struct global_rows rows = {0};
    struct tma_step step;
    for (; tma_next(&copy->walk, &step); from += step.valid_bytes) {
        uint8_t *global = step.valid_bytes == 0 ? NULL : row_bytes(cta, op, &rows, &step);
        if (step.valid_bytes == 0)
            continue;
        if (global == NULL)
            return false;
        if (request->kind == TMA_REDUCE)
            reduce_row(cta, copy, &step, global, from);
        else
            memcpy(global, from, step.valid_bytes);
    }
    copy_store_written(cta, op, copy->store.group);
    return true;
}

/* Whether the address of a bad map, no multiple of 16, is all that is wrong with it. */
static bool only_misaligned(const uint8_t *image, enum tmap_arch arch) {
    uint8_t aligned[TMAP_IMAGE_BYTES];
    struct tmap map;
    struct tmap_finding finding;
    memcpy(aligned, image, sizeof aligned);
    aligned[0] &= 0xf0;
    return tmap_decode(aligned, arch, &map, &finding);
}

/* Reads and judges the tensor map that the operand names. False with a fault recorded: on an H200
 * 716 where only the address is wrong, no multiple of 16, 715 for every other rule. */
static bool read_map(struct warp *w, const struct xinsn *x, const struct xop *operand,
                     unsigned lane, struct tmap *map) {
    uint64_t address = xop_lane(w, &operand->elems[0], lane);
    const uint8_t *image =
        warp_memory(w, x, lane, SPACE_GENERIC, address, TMAP_IMAGE_BYTES, TMAP_IMAGE_ALIGN_BYTES);
    struct tmap_finding finding;
    if (image == NULL)
        return false;
    enum tmap_arch arch = w->cta->launch->device->sm >= 100 ? TMAP_SM_100 : TMAP_SM_90;
    if (tmap_decode(image, arch, map, &finding))
        return true;
    struct strbuf text = {0};
    tmap_describe(&text, &finding);
    enum fault_kind kind =
        only_misaligned(image, arch) ? FAULT_MISALIGNED_ADDRESS : FAULT_ILLEGAL_INSTRUCTION;
    warp_fault(w, x, kind, UINT32_C(1) << lane, "the tensor map at 0x%" PRIx64 " is not valid: %s",
               address, strbuf_text(&text));
    strbuf_free(&text);
    return false;
}

/* Starts the walk of a lane: map and coordinates from `operand`. False with a fault recorded. */
static bool begin_walk(struct warp *w, const struct xinsn *x, const struct xop *operand,
                       unsigned lane, struct tma_request *request, struct tma_walk *walk) {
    struct tmap map;
    if (!read_map(w, x, operand, lane, &map))
        return false;
    request->mode =
        ir_has(x->ir, QUAL_IM2COL) || ir_has(x->ir, QUAL_IM2COL_NO_OFFS) ? TMAP_IM2COL : TMAP_TILED;
    request->rank = operand->elem_count - 1u;
    for (uint32_t d = 0; d < request->rank; d++)
        request->coords[d] = (int32_t)xop_lane(w, &operand->elems[1 + d], lane);
    enum tma_outcome outcome = tma_begin(walk, &map, request);
    if (outcome == TMA_OK)
        return true;
    enum fault_kind kind = !tma_is_fault(outcome)                  ? FAULT_UNSUPPORTED
                           : outcome == TMA_FAULT_SHARED_ALIGNMENT ? FAULT_MISALIGNED_ADDRESS
                                                                   : FAULT_ILLEGAL_INSTRUCTION;
    warp_fault(w, x, kind, UINT32_C(1) << lane,
               "%s (start coordinates %d %d %d %d %d, shared address 0x%x, rank of the map %u)",
               tma_outcome_text(outcome), request->coords[0], request->coords[1],
               request->coords[2], request->coords[3], request->coords[4], request->shared_address,
               map.rank);
    return false;
}

/* The offsets of an im2col load or prefetch: operand `index`. True where the instruction has them.
 */
static bool take_offsets(const struct warp *w, const struct xinsn *x, unsigned index, unsigned lane,
                         struct tma_request *request) {
    if (!ir_has(x->ir, QUAL_IM2COL))
        return false;
    const struct xop *offsets = &x->ops[index];
    for (uint32_t i = 0; i < offsets->elem_count; i++)
        request->offsets[i] = (uint16_t)xop_lane(w, &offsets->elems[i], lane);
    return true;
}

/* [d], [map, {coordinates}], [mbar]{, {offsets}}{, mask}{, policy} */
static bool issue_load(struct warp *w, const struct xinsn *x, unsigned lane) {
    enum ptx_space space = ir_space(x->ir, 0);
    struct tma_request request = {.kind = TMA_LOAD};
    struct tensor_copy copy = {0};
    unsigned mask = take_offsets(w, x, 3, lane, &request) ? 4 : 3;
    if (!copy_shared_address(w, x, &x->ops[0], space, lane, 1, &request.shared_address) ||
        !begin_walk(w, x, &x->ops[1], lane, &request, &copy.walk) ||
        !copy_unit_mbarrier(w, x, &x->ops[2], space, lane, &copy.mbarrier))
        return false;
    if (request.shared_address > COPY_UNIT_ADDRESS_MAX || copy.mbarrier > COPY_UNIT_ADDRESS_MAX)
        return true;
    if (ir_has(x->ir, QUAL_MULTICAST_CLUSTER) && (uint16_t)xop_lane(w, &x->ops[mask], lane) != 1) {
        warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
                   "multicast to CTA mask 0x%x: only 1, the own CTA, is modelled",
                   (unsigned)(uint16_t)xop_lane(w, &x->ops[mask], lane));
        return false;
    }
    struct async_op *op = async_new(w->cta, w, x, lane, load_effect);
    if (op == NULL)
        return false;
    *copy_of(op) = copy;
    op->signal_address = copy.mbarrier;
    /* Rows that follow each other without a gap, whatever the swizzle makes of their chunks. */
    if (copy.walk.row_count * copy.walk.pitch_bytes == copy.walk.box_bytes) {
        op->writes_address = request.shared_address;
        op->writes_bytes = copy.walk.box_bytes;
    }
    copy_tell(w, x, lane, ACCESS_READ, copy.walk.box_bytes);
    return async_issue(w->cta, op);
}

/* [map, {coordinates}], [s]{, policy} */
static bool issue_store(struct warp *w, const struct xinsn *x, unsigned lane) {
    struct tma_request request = {.kind = TMA_STORE};
    struct tensor_copy copy = {0};
    if (copy_reduce_op(x->ir, &request.reduce_op))
        request.kind = TMA_REDUCE;
    if (!copy_shared_address(w, x, &x->ops[1], SPACE_SHARED, lane, 1, &request.shared_address) ||
        !begin_walk(w, x, &x->ops[0], lane, &request, &copy.walk))
        return false;
    if (request.shared_address > COPY_UNIT_ADDRESS_MAX)
        return true;
    static const struct copy_store_effects effects = {store_effect, read_effect, write_effect};
    copy_tell(w, x, lane, ACCESS_WRITE, copy.walk.box_bytes);
    return copy_issue_store(w, x, lane, &effects, &copy.store, sizeof copy, copy.walk.box_bytes);
}

static enum step load_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        if (!issue_load(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

static enum step store_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        if (!issue_store(w, x, (unsigned)__builtin_ctz(left)))
            return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

static enum step prefetch_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        struct tma_request request = {.kind = TMA_PREFETCH};
        struct tma_walk walk;
        unsigned lane = (unsigned)__builtin_ctz(left);
        take_offsets(w, x, 1, lane, &request);
        if (!begin_walk(w, x, &x->ops[0], lane, &request, &walk))
            return STEP_FAULT;
    }
    return STEP_NEXT;
}

#define SELECT_TENSOR(name, fn)                                                                    \
    exec_select op_tensor_##name;                                                                  \
    exec_fn *op_tensor_##name(struct decode *d, struct xinsn *x) {                                 \
        (void)d;                                                                                   \
        (void)x;                                                                                   \
        return fn;                                                                                 \
    }
SELECT_TENSOR(load, load_fn)
SELECT_TENSOR(store, store_fn)
SELECT_TENSOR(reduce, store_fn)
SELECT_TENSOR(prefetch, prefetch_fn)
