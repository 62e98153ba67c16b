/* See aligned.h. */
#include "aligned.h"

bool warp_aligned(struct warp *w, const struct xinsn *x, uint32_t mask, enum step *step) {
    *step = STEP_NEXT;
    if (!warp_has_lanes(w, w->live)) {
        *step = STEP_WAIT;
        return false;
    }
    if (mask != w->live) {
        *step =
            warp_fault(w, x, FAULT_UNSUPPORTED, w->live & ~mask,
                       "a .sync.aligned instruction must be executed by all threads of the warp "
                       "together, but the guard keeps lanes 0x%08x away",
                       w->live & ~mask);
        return false;
    }
    return true;
}
