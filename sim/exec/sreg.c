#include "bits.h"
#include "grid.h"

/* Special registers (PTX manual, special-registers; H200 observations 31, 32). Time is counted in
 * warp instructions of the CTA, so that it is the same in every run. */

static uint32_t dimension(const uint32_t v[3], unsigned component) {
    return component < 3 ? v[component] : 0;
}

/* Place of a thread in its block. */
static uint64_t thread_id(const struct warp *w, unsigned component, unsigned lane) {
    const uint32_t *block = w->cta->launch->block;
    uint32_t linear = w->index * WARP_LANES + lane;
    switch (component) {
    case 0: return linear % block[0];
    case 1: return linear / block[0] % block[1];
    case 2: return linear / block[0] / block[1];
    default: return 0;
    }
}

static uint64_t lane_value(const struct warp *w, enum ptx_sreg sreg, unsigned component,
                           unsigned lane) {
    uint32_t bit = UINT32_C(1) << lane;
    switch (sreg) {
    case SREG_TID: return thread_id(w, component, lane);
    case SREG_LANEID: return lane;
    case SREG_LANEMASK_EQ: return bit;
    case SREG_LANEMASK_LT: return bit - 1;
    case SREG_LANEMASK_LE: return bit | (bit - 1);
    case SREG_LANEMASK_GT: return ~(bit | (bit - 1));
    default: /* LANEMASK_GE */ return ~(bit - 1);
    }
}

static bool differs_by_lane(enum ptx_sreg sreg) {
    return sreg == SREG_TID || sreg == SREG_LANEID ||
           (sreg >= SREG_LANEMASK_EQ && sreg <= SREG_LANEMASK_GT);
}

/* Warp instructions that the CTA has run up to the last jump; each reading is a step, so that no
 * two are alike. */
static uint64_t clock_now(const struct warp *w) {
    w->cta->state->clock_reads++;
    return ++w->cta->state->steps;
}

/* Static and dynamic shared memory; handed out in pieces of 128 bytes. */
static uint64_t smem_bytes(const struct run *run) {
    return run->kernel->info.static_smem_bytes + (uint64_t)run->launch->dynamic_smem_bytes;
}

static uint64_t cluster_value(const struct warp *w, enum ptx_sreg sreg, unsigned component) {
    const struct exec_launch *launch = w->cta->launch;
    const uint32_t *rank3 = w->cta->state->cluster_ctaid;
    switch (sreg) {
    case SREG_CLUSTERID:
        return component < 3 ? w->cta->ctaid[component] / launch->cluster[component] : 0;
    case SREG_NCLUSTERID:
        return component < 3 ? launch->grid[component] / launch->cluster[component] : 0;
    case SREG_CLUSTER_CTAID: return dimension(rank3, component);
    case SREG_CLUSTER_NCTAID: return dimension(launch->cluster, component);
    case SREG_CLUSTER_CTARANK:
        return rank3[0] + (rank3[1] + (uint64_t)rank3[2] * launch->cluster[1]) * launch->cluster[0];
    case SREG_CLUSTER_NCTARANK:
        return (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    default: /* IS_EXPLICIT_CLUSTER */ return launch->explicit_cluster;
    }
}

/* Registers that are alike in all lanes (tests/isa/special_registers_fixed.ptx). %pm reads 0 where
 * no profiler runs. What %envreg holds is the driver's affair: 0 here. */
static uint64_t warp_value(const struct warp *w, enum ptx_sreg sreg, unsigned component) {
    const struct run *run = w->cta->state->run;
    const struct exec_launch *launch = run->launch;
    switch (sreg) {
    case SREG_NTID: return dimension(launch->block, component);
    case SREG_CTAID: return dimension(w->cta->ctaid, component);
    case SREG_NCTAID: return dimension(launch->grid, component);
    case SREG_WARPID: return w->index;
    case SREG_NWARPID: return 64;
    case SREG_SMID: return w->cta->state->smid;
    case SREG_NSMID: return launch->device->sm_count;
    case SREG_GRIDID: return launch->grid_id;
    case SREG_CLOCK:
    case SREG_CLOCK64:
    case SREG_GLOBALTIMER:
    case SREG_GLOBALTIMER_LO: return clock_now(w);
    case SREG_CLOCK_HI:
    case SREG_GLOBALTIMER_HI: return clock_now(w) >> 32;
    case SREG_DYNAMIC_SMEM_SIZE: return launch->dynamic_smem_bytes;
    case SREG_TOTAL_SMEM_SIZE: return bits_align_up(smem_bytes(run), 128);
    case SREG_AGGR_SMEM_SIZE: return smem_bytes(run) + SHARED_FIRST;
    case SREG_RESERVED_SMEM_OFFSET_END: return SHARED_RESERVED_END;
    case SREG_RESERVED_SMEM_OFFSET_CAP: return SHARED_FIRST;
    case SREG_IS_EXPLICIT_CLUSTER:
    case SREG_CLUSTERID:
    case SREG_NCLUSTERID:
    case SREG_CLUSTER_CTAID:
    case SREG_CLUSTER_NCTAID:
    case SREG_CLUSTER_CTARANK:
    case SREG_CLUSTER_NCTARANK: return cluster_value(w, sreg, component);
    case SREG_ENVREG1: return launch->grid_workspace >> 32;
    case SREG_ENVREG2: return launch->grid_workspace;
    default: return 0;
    }
}

void warp_read_sreg(struct warp *w, enum ptx_sreg sreg, unsigned component,
                    uint64_t values[WARP_LANES]) {
    unsigned bits = ptx_type_bits(ptx_sreg_type(sreg));
    uint64_t mask = bits_mask(bits);
    if (differs_by_lane(sreg)) {
        for (unsigned lane = 0; lane < WARP_LANES; lane++)
            values[lane] = lane_value(w, sreg, component, lane) & mask;
        return;
    }
    uint64_t value = warp_value(w, sreg, component) & mask;
    for (unsigned lane = 0; lane < WARP_LANES; lane++)
        values[lane] = value;
}
