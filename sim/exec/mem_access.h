#ifndef SILTWIN_MEM_ACCESS_H
#define SILTWIN_MEM_ACCESS_H

#include "schedule.h"

/* What a decoded ld or st knows of its memory. */
struct mem_access {
    const struct xop *address;
    const struct xop *value; /* register, or vector of them */
    enum ptx_space space;
    bool in_frame; /* .param variable of a call, not of the kernel */
    bool is_signed;
    bool polls;         /* a strong read: others may have to run before it changes */
    uint8_t elem_bytes; /* 1, 2, 4, 8, 16 */
    uint8_t elem_count;
    uint8_t total_bytes; /* of a lane: also the alignment */
};

/* Element `i` of the value. */
static inline const struct xop *mem_elem(const struct mem_access *m, unsigned i) {
    return m->value->kind == XOP_VECTOR ? &m->value->elems[i] : m->value;
}

/* Prepares it. NULL without memory. */
const struct mem_access *mem_prepare(struct decode *d, const struct xinsn *x, unsigned address,
                                     unsigned value);

/* Host bytes of each lane of the mask. False with the fault recorded. Tells observers of it. */
bool mem_resolve(struct warp *w, const struct xinsn *x, const struct mem_access *m, uint32_t mask,
                 enum event_access kind, uint8_t *host[WARP_LANES]);

#endif
