#ifndef SILTWIN_CU_LAUNCH_H
#define SILTWIN_CU_LAUNCH_H

#include "cu_module.h"

/* A launch after its arguments were understood, before its limits are checked. */
struct cu_launch {
    struct cu_function *function;
    uint32_t grid[3], block[3], cluster[3];
    bool explicit_cluster, cooperative;
    uint32_t dynamic_smem_bytes;
    CUevent events[2]; /* to be recorded: programmatic and completion events */
    void **params, **extra;
};

/* Reads the launch attributes into `launch`. */
CUresult cu_launch_attributes(struct cu_launch *launch, const CUlaunchAttribute *attributes,
                              unsigned count);
/* Checks everything that the driver refuses before a kernel runs (H200 observations 39 to 41); what
 * was wrong is logged. */
CUresult cu_launch_check(struct cu_launch *launch);
/* The parameter block of the kernel from either argument form, into `block` of param_bytes. */
CUresult cu_launch_params(const struct cu_launch *launch, uint8_t *block);
/* CTAs of that many threads that fit on one SM; 0: none does. */
int cu_occupancy(const struct cu_function *function, int block_threads, size_t dynamic_smem_bytes);

#endif
