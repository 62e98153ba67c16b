#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "grid.h"
#include "schedule.h"

/* Call frames of a warp: registers by the pattern of the launch, the addresses of local variables,
 * and room on the local stack of its lanes. */

/* The lanes' local memory grows to `bytes` each; what is there moves along. */
static bool grow_local(struct warp *w, uint32_t bytes) {
    struct warp_sched *s = w->sched;
    if (bytes <= s->local_bytes)
        return true;
    uint32_t stride = (uint32_t)bits_align_up(bytes, 64);
    uint8_t *local = malloc((size_t)stride * WARP_LANES);
    if (local == NULL)
        return false;
    run_fill_pattern(w->cta->state->run, w->index + 1, local, (size_t)stride * WARP_LANES);
    for (uint32_t lane = 0; s->local_bytes > 0 && lane < WARP_LANES; lane++)
        memcpy(local + (size_t)lane * stride, s->local + (size_t)lane * s->local_bytes,
               s->local_bytes);
    free(s->local);
    s->local = local;
    s->local_bytes = stride;
    return true;
}

static void set_locals(struct frame *frame) {
    for (uint32_t i = 0; i < frame->func->local_count; i++) {
        const struct xlocal *local = &frame->func->locals[i];
        uint8_t *slot = frame->regs + local->slot_offset_bytes;
        uint32_t narrow = frame->local_base + local->address;
        uint64_t wide = narrow;
        for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
            if (local->narrow)
                memcpy(slot + lane * 4, &narrow, 4);
            else
                memcpy(slot + lane * 8, &wide, 8);
        }
    }
}

struct frame *frame_push(struct warp *w, const struct xinsn *x, const struct xfunc *func,
                         struct frame *parent, const struct xinsn *return_pc, uint32_t lanes) {
    uint32_t depth = parent == NULL ? 0 : parent->depth + 1;
    if (depth > CALL_DEPTH_MAX) {
        warp_fault(w, x, FAULT_ILLEGAL_ADDRESS, lanes,
                   "calls nest deeper than %d: the stack is used up", CALL_DEPTH_MAX);
        return NULL;
    }
    size_t head = bits_align_up(sizeof(struct frame), FRAME_ALIGN_BYTES);
    uint32_t base = parent == NULL ? 0 : parent->local_base + parent->func->local_bytes;
    uint8_t *memory = aligned_alloc(FRAME_ALIGN_BYTES, head + func->frame_bytes);
    if (memory == NULL || !grow_local(w, base + func->local_bytes)) {
        free(memory);
        warp_fault(w, x, FAULT_NO_MEMORY, lanes, "no host memory for the frame of %s",
                   func->ir->name);
        return NULL;
    }
    struct frame *frame = (struct frame *)(void *)memory;
    *frame = (struct frame){.parent = parent,
                            .func = func,
                            .return_pc = return_pc,
                            .depth = depth,
                            .lanes = lanes,
                            .local_base = base,
                            .regs = memory + head};
    memcpy(frame->regs, run_frame_pattern(w->cta->state->run, func), func->frame_bytes);
    set_locals(frame);
    return frame;
}

void frame_leave(struct frame *frame, uint32_t lanes) {
    frame->lanes &= ~lanes;
    if (frame->lanes == 0)
        free(frame);
}

void frame_leave_all(struct frame *frame, uint32_t lanes) {
    while (frame != NULL) {
        struct frame *parent = frame->parent;
        frame_leave(frame, lanes);
        frame = parent;
    }
}
