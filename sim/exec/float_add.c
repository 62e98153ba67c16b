#include "float_add.h"

#include <string.h>

#include "bits.h"
#include "cta.h"
#include "cta_state.h"
#include "num_half.h"

bool float_add_ptx(enum ptx_type type, enum event_float *elem) {
    switch (type) {
    case PTX_F16:
    case PTX_F16X2: *elem = EVENT_F16; return true;
    case PTX_BF16:
    case PTX_BF16X2: *elem = EVENT_BF16; return true;
    case PTX_F32: *elem = EVENT_F32; return true;
    case PTX_F64: *elem = EVENT_F64; return true;
    default: return false;
    }
}

bool float_add_tmap(enum tma_reduce_op op, enum tmap_type type, enum event_float *elem) {
    switch (type) {
    case TMAP_FLOAT16: *elem = EVENT_F16; break;
    case TMAP_BFLOAT16: *elem = EVENT_BF16; break;
    case TMAP_FLOAT32:
    case TMAP_FLOAT32_FTZ: *elem = EVENT_F32; break;
    case TMAP_FLOAT64: *elem = EVENT_F64; break;
    default: return false;
    }
    return op == TMA_REDUCE_ADD;
}

uint32_t event_float_bytes(enum event_float elem) {
    return elem == EVENT_F64 ? 8 : elem == EVENT_F32 ? 4 : 2;
}

double event_float_value(enum event_float elem, const uint8_t *bytes) {
    uint64_t word = 0;
    double value;
    memcpy(&word, bytes, event_float_bytes(elem));
    switch (elem) {
    case EVENT_F16: return (double)bits_to_f32(num_f16_to_f32((uint16_t)word));
    case EVENT_BF16: return (double)bits_to_f32(num_bf16_to_f32((uint16_t)word));
    case EVENT_F32: return (double)bits_to_f32((uint32_t)word);
    default: memcpy(&value, &word, sizeof value); return value;
    }
}

bool float_add_observed(const struct cta *cta) {
    const struct observer *observer = cta->state->observer;
    return observer != NULL && (observer->kinds >> EVENT_FLOAT_ADD & 1) != 0;
}

void float_add_tell(struct cta *cta, enum event_float elem, uint64_t address, const uint8_t *before,
                    const uint8_t *operand, uint32_t bytes) {
    struct event event = {.kind = EVENT_FLOAT_ADD,
                          .cta_index = cta->index,
                          .warp = UINT32_MAX,
                          .float_add = {elem, bytes, address, before, operand}};
    if (float_add_observed(cta))
        cta->state->observer->event(cta->state->observer_ctx, &event);
}
