/* Sizes and places in the buffer of a launch's probes. Without `cta`, a probe observes the CTAs of
 * the first cluster: those whose coordinates are below the cluster's size. */
#include "probe_layout.h"

#include <string.h>

static uint64_t up(uint64_t bytes) {
    return (bytes + 255) & ~UINT64_C(255);
}

static uint32_t smaller(uint64_t a, uint64_t b) {
    return (uint32_t)(a < b ? a : b);
}

static void cluster_of(const struct trace_launch *launch, uint32_t *size) {
    for (int i = 0; i < 3; i++) {
        size[i] = launch->cluster[i] ? launch->cluster[i]
                                     : launch->entry->directives.reqnctapercluster[i];
        size[i] = smaller(size[i] ? size[i] : 1, launch->grid[i]);
    }
}

/* The CTAs that a probe observes, and the linear range that holds them. */
static void choose_ctas(const struct probe_layout *layout, const struct trace_probe *probe,
                        struct probe_region *region, uint64_t *low, uint64_t *high) {
    const uint32_t *grid = layout->launch->grid;
    const uint64_t all = (uint64_t)grid[0] * grid[1] * grid[2];
    if (probe->has_cta) {
        region->box[0] = region->box[1] = region->box[2] = UINT32_MAX;
        region->x_pitch = grid[0];
        region->xy_pitch = grid[0] * grid[1];
        region->first_cta = probe->cta[0];
        region->ctas = probe->cta[0] >= all ? 0
                                            : smaller((uint64_t)probe->cta[1] - probe->cta[0] + 1,
                                                      all - probe->cta[0]);
        *low = region->first_cta;
        *high = *low + region->ctas;
        return;
    }
    cluster_of(layout->launch, region->box);
    region->x_pitch = region->box[0];
    region->xy_pitch = region->box[0] * region->box[1];
    region->ctas = region->xy_pitch * region->box[2];
    *low = 0;
    *high = region->ctas
                ? region->box[0] + (uint64_t)grid[0] * (region->box[1] - 1 +
                                                        (uint64_t)grid[1] * (region->box[2] - 1))
                : 0;
}

static uint64_t region_bytes(const struct probe_region *region) {
    return (uint64_t)region->ctas * region->warps * region->lanes * region->thread_bytes;
}

void probe_layout_make(struct probe_layout *layout, const struct trace *trace,
                       const struct trace_launch *launch, const struct probe_plan *plan) {
    uint64_t from = UINT64_MAX, to = 0, largest = 0;
    *layout = (struct probe_layout){.trace = trace, .launch = launch, .plan = plan};
    if (!plan)
        return;
    layout->func = (uint32_t)ir_find_func(plan->ir, launch->entry->name);
    layout->threads = launch->block[0] * launch->block[1] * launch->block[2];
    const uint32_t warps = (layout->threads + 31) / 32;
    for (uint32_t p = 0; p < trace->probes.count; p++) {
        const struct trace_probe *probe = &trace->probes.items[p];
        struct probe_region *region = &layout->regions[p];
        uint64_t low, high;
        region->thread_bytes = probe_thread_bytes(plan, p, layout->func);
        if (!region->thread_bytes)
            continue;
        choose_ctas(layout, probe, region, &low, &high);
        region->first_warp = probe->warp[0];
        region->warps = !probe->has_warp ? warps
                        : probe->warp[0] >= warps
                            ? 0
                            : smaller(probe->warp[1], warps - 1) - probe->warp[0] + 1;
        region->first_lane = probe->lane[0];
        region->lanes = probe->lane[1] - probe->lane[0] + 1;
        if (low < high) {
            from = low < from ? low : from;
            to = high > to ? high : to;
        }
        const uint64_t bytes = region_bytes(region);
        layout->largest = bytes > largest ? p : layout->largest;
        largest = bytes > largest ? bytes : largest;
    }
    if (from >= to)
        return;
    layout->first_cta = (uint32_t)from;
    layout->ctas = (uint32_t)(to - from);
    layout->sequence_at = up(PROBE_HEAD_AT + (uint64_t)PROBE_HEAD_BYTES * trace->probes.count);
    uint64_t at = up(layout->sequence_at + (to - from) * layout->threads * 4);
    for (uint32_t p = 0; p < trace->probes.count; p++) {
        layout->regions[p].offset_bytes = at;
        at = up(at + region_bytes(&layout->regions[p]));
    }
    layout->bytes = at;
}

static void put(uint8_t *bytes, uint32_t offset, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        bytes[offset + i] = (uint8_t)(value >> (8 * i));
}

void probe_layout_head(const struct probe_layout *layout, const uint64_t *addresses,
                       uint8_t *bytes) {
    put(bytes, 0, layout->sequence_at, 8);
    put(bytes, 8, layout->first_cta, 4);
    put(bytes, 12, layout->ctas, 4);
    put(bytes, 16, layout->threads, 4);
    for (uint32_t p = 0; p < layout->trace->probes.count; p++) {
        const struct probe_region *region = &layout->regions[p];
        uint8_t *head = bytes + PROBE_HEAD_AT + PROBE_HEAD_BYTES * p;
        const uint32_t words[] = {region->thread_bytes, 0,
                                  region->box[0],       region->box[1],
                                  region->box[2],       region->x_pitch,
                                  region->xy_pitch,     region->first_cta,
                                  region->ctas,         region->first_warp,
                                  region->warps,        region->first_lane,
                                  region->lanes};
        put(head, 0, region->offset_bytes, 8);
        for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
            put(head, 8 + 4 * i, words[i], 4);
        put(head, 64, addresses[p], 8);
    }
}

void probe_layout_thread(const struct probe_layout *layout, const struct probe_region *region,
                         uint64_t index, uint32_t *cta, uint32_t *thread) {
    const uint32_t *grid = layout->launch->grid;
    const uint32_t lane = (uint32_t)(index % region->lanes) + region->first_lane;
    index /= region->lanes;
    *thread = ((uint32_t)(index % region->warps) + region->first_warp) * 32 + lane;
    const uint32_t k = (uint32_t)(index / region->warps) + region->first_cta;
    if (region->box[0] == UINT32_MAX)
        *cta = k;
    else
        *cta = k % region->x_pitch + grid[0] * (k % region->xy_pitch / region->x_pitch +
                                                grid[1] * (k / region->xy_pitch));
}

bool probe_layout_find(const struct probe_layout *layout, const struct probe_region *region,
                       uint32_t cta, uint32_t thread, uint64_t *index) {
    const uint32_t *grid = layout->launch->grid;
    const uint32_t at[3] = {cta % grid[0], cta / grid[0] % grid[1], cta / grid[0] / grid[1]};
    for (int i = 0; i < 3; i++)
        if (at[i] >= region->box[i])
            return false;
    const uint64_t k =
        at[0] + (uint64_t)at[1] * region->x_pitch + (uint64_t)at[2] * region->xy_pitch;
    const uint32_t warp = thread / 32, lane = thread % 32;
    if (k < region->first_cta || k - region->first_cta >= region->ctas ||
        warp < region->first_warp || warp - region->first_warp >= region->warps ||
        lane < region->first_lane || lane - region->first_lane >= region->lanes)
        return false;
    *index = ((k - region->first_cta) * region->warps + warp - region->first_warp) * region->lanes +
             lane - region->first_lane;
    return true;
}
