/* Tensor maps that a kernel changes: tensormap.replace, tensormap.cp_fenceproxy; prefetch.tensormap
 * (manual, "tensormap.replace", "tensormap.cp_fenceproxy", "prefetch"). The 128 bytes are
 * units/tmap's. Fences have nothing to add: a map is read when a copy issues. */
#include <inttypes.h>
#include <string.h>

#include "tmap.h"
#include "warp.h"

/* xinsn.data of tensormap.replace. */
struct replace_insn {
    enum tmap_field field;
    enum ptx_space space;
    bool has_ordinal;
};

static enum step replace_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    const struct replace_insn *how = x->data;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t address = warp_address(w, &x->ops[0], how->space, lane);
        uint8_t *image =
            warp_memory(w, x, lane, how->space, address, TMAP_IMAGE_BYTES, TMAP_IMAGE_ALIGN_BYTES);
        if (image == NULL)
            return STEP_FAULT;
        uint32_t ordinal = how->has_ordinal ? (uint32_t)x->ops[1].imm : 0;
        struct tmap_finding finding;
        if (tmap_replace_field(image, how->field, ordinal,
                               xop_lane(w, &x->ops[how->has_ordinal ? 2 : 1], lane), &finding))
            continue;
        struct strbuf text = {0};
        tmap_describe(&text, &finding);
        warp_fault(w, x, FAULT_UNSUPPORTED, UINT32_C(1) << lane,
                   "tensormap.replace%s; what hardware does with it is not known",
                   strbuf_text(&text));
        strbuf_free(&text);
        return STEP_FAULT;
    }
    warp_progress(w);
    return STEP_NEXT;
}

exec_select op_tensormap_replace;
exec_fn *op_tensormap_replace(struct decode *d, struct xinsn *x) {
    static const struct {
        enum ptx_qual qual;
        enum tmap_field field;
        bool has_ordinal;
    } rows[] = {
        {QUAL_GLOBAL_ADDRESS, TMAP_FIELD_GLOBAL_ADDRESS, false},
        {QUAL_RANK, TMAP_FIELD_RANK, false},
        {QUAL_BOX_DIM, TMAP_FIELD_BOX_DIM, true},
        {QUAL_GLOBAL_DIM, TMAP_FIELD_GLOBAL_DIM, true},
        {QUAL_GLOBAL_STRIDE, TMAP_FIELD_GLOBAL_STRIDE, true},
        {QUAL_ELEMENT_STRIDE, TMAP_FIELD_ELEMENT_STRIDE, true},
        {QUAL_ELEMTYPE, TMAP_FIELD_ELEMTYPE, false},
        {QUAL_INTERLEAVE_LAYOUT, TMAP_FIELD_INTERLEAVE_LAYOUT, false},
        {QUAL_SWIZZLE_MODE, TMAP_FIELD_SWIZZLE_MODE, false},
        {QUAL_SWIZZLE_ATOMICITY, TMAP_FIELD_SWIZZLE_ATOMICITY, false},
        {QUAL_FILL_MODE, TMAP_FIELD_FILL_MODE, false},
    };
    struct replace_insn *how = arena_alloc(d->arena, sizeof *how, _Alignof(struct replace_insn));
    if (how == NULL)
        return decode_unsupported(d, x, "the host has no memory left");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ir_has(x->ir, rows[i].qual))
            *how = (struct replace_insn){.field = rows[i].field,
                                         .space = ir_space(x->ir, 0),
                                         .has_ordinal = rows[i].has_ordinal};
    }
    x->data = how;
    return replace_fn;
}

/* The whole warp copies one map from shared to global memory. */
static enum step cp_fenceproxy_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    if (!warp_has_lanes(w, w->live))
        return STEP_WAIT;
    unsigned lane = (unsigned)__builtin_ctz(mask);
    const uint8_t *from =
        warp_memory(w, x, lane, SPACE_SHARED, warp_address(w, &x->ops[1], SPACE_SHARED, lane),
                    TMAP_IMAGE_BYTES, TMAP_IMAGE_ALIGN_BYTES);
    if (from == NULL)
        return STEP_FAULT;
    uint8_t *to =
        warp_memory(w, x, lane, SPACE_GLOBAL, warp_address(w, &x->ops[0], SPACE_GLOBAL, lane),
                    TMAP_IMAGE_BYTES, TMAP_IMAGE_ALIGN_BYTES);
    if (to == NULL)
        return STEP_FAULT;
    memcpy(to, from, TMAP_IMAGE_BYTES);
    warp_progress(w);
    return STEP_NEXT;
}
exec_select op_tensormap_cp_fenceproxy;
exec_fn *op_tensormap_cp_fenceproxy(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return cp_fenceproxy_fn;
}

/* Nothing that a program can see, but a map lies on a multiple of 64 bytes. */
static enum step prefetch_fn(struct warp *w, const struct xinsn *x, uint32_t mask) {
    enum ptx_space space = ir_space(x->ir, 0);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t address = warp_address(w, &x->ops[0], space, lane);
        if (address % TMAP_IMAGE_ALIGN_BYTES != 0)
            return warp_fault(w, x, FAULT_MISALIGNED_ADDRESS, UINT32_C(1) << lane,
                              "tensor map address 0x%" PRIx64 " is not a multiple of %d", address,
                              TMAP_IMAGE_ALIGN_BYTES);
    }
    return STEP_NEXT;
}
exec_select op_prefetch_tensormap;
exec_fn *op_prefetch_tensormap(struct decode *d, struct xinsn *x) {
    (void)d;
    (void)x;
    return prefetch_fn;
}
