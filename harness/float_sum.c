#include "float_sum.h"

#include <math.h>
#include <string.h>

#include "bits.h"
#include "num_half.h"

static const struct {
    uint32_t bytes;
    int unit; /* u is 2 to this */
    double flushed;
} types[] = {
    [SILTWIN_SIM_F16] = {2, -11, 0},
    [SILTWIN_SIM_BF16] = {2, -8, 0},
    [SILTWIN_SIM_F32] = {4, -24, 0x1p-126},
    [SILTWIN_SIM_F64] = {8, -53, 0},
};

void float_sum_put(void *ctx, uint64_t address, enum siltwin_sim_float type, uint32_t count,
                   double magnitude) {
    const struct float_sum_sink *sink = ctx;
    const uint64_t offset_bytes = address - sink->span_address;
    const uint32_t kind = type;
    strbuf_append(sink->bytes, (const char *)&offset_bytes, sizeof offset_bytes);
    strbuf_append(sink->bytes, (const char *)&count, sizeof count);
    strbuf_append(sink->bytes, (const char *)&kind, sizeof kind);
    strbuf_append(sink->bytes, (const char *)&magnitude, sizeof magnitude);
}

/* The entry of that element; NULL when it is no sum. */
static const uint8_t *find(const struct record_buffer *b, uint64_t offset_bytes) {
    uint64_t low = 0, high = b->sums_bytes / FLOAT_SUM_BYTES;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const uint8_t *entry = b->sums + middle * FLOAT_SUM_BYTES;
        uint64_t at;
        memcpy(&at, entry, sizeof at);
        if (at == offset_bytes)
            return entry;
        if (at < offset_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static double value_of(uint32_t type, const uint8_t *bytes) {
    uint64_t word = 0;
    double value;
    memcpy(&word, bytes, types[type].bytes);
    switch (type) {
    case SILTWIN_SIM_F16: return (double)bits_to_f32(num_f16_to_f32((uint16_t)word));
    case SILTWIN_SIM_BF16: return (double)bits_to_f32(num_bf16_to_f32((uint16_t)word));
    case SILTWIN_SIM_F32: return (double)bits_to_f32((uint32_t)word);
    default: memcpy(&value, &word, sizeof value); return value;
    }
}

bool float_sum_allows(const struct record_buffer *x, const struct record_buffer *y,
                      uint64_t offset_x, uint64_t offset_y, uint32_t size_bytes, const uint8_t *a,
                      const uint8_t *b) {
    const uint8_t *entry = find(x, offset_x);
    uint32_t count, type;
    double magnitude;
    if (!entry)
        entry = find(y, offset_y);
    if (!entry)
        return false;
    memcpy(&count, entry + 8, sizeof count);
    memcpy(&type, entry + 12, sizeof type);
    memcpy(&magnitude, entry + 16, sizeof magnitude);
    if (type >= sizeof types / sizeof *types || types[type].bytes != size_bytes)
        return false;
    const double nu = ldexp((double)count, types[type].unit);
    const double p = value_of(type, a), q = value_of(type, b);
    if (!(nu < 1) || !isfinite(magnitude) || !isfinite(p) || !isfinite(q))
        return false;
    const double flushed = 6 * (double)count * types[type].flushed;
    return fabs(p - q) <= 2 * nu / (1 - nu) * magnitude + flushed;
}
