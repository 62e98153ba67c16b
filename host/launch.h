#ifndef SILTWIN_LAUNCH_H
#define SILTWIN_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/* One kernel launch. Sizes are x, y, z. */
struct launch_desc {
    CUfunction function;
    unsigned grid[3], block[3];
    unsigned cluster[3]; /* CTAs; all 0: no cluster attribute */
    unsigned dynamic_smem_bytes;
    bool cooperative;
    bool programmatic;  /* may begin before the launch ahead of it in the stream has ended */
    int priority;       /* 0: the stream's */
    CUstream stream;    /* NULL: the default stream */
    const void *params; /* the parameters laid out as the PTX declares them */
    size_t params_bytes;
    /* Where each parameter begins in `params`. The driver then lays them out itself, as the
     * compiled kernel has them: behind a tensor map's alignment that is not how PTX counts (an
     * H200's ptxas begins an .align 64 parameter at byte 48). Without offsets the block is passed
     * as it is. */
    const uint32_t *param_offsets;
    uint32_t param_count; /* at most LAUNCH_MAX_PARAMS */
};

enum { LAUNCH_MAX_PARAMS = 4096 };

/* Launches; the call does not wait. More than 48 KiB of dynamic shared memory and clusters of more
 * than 8 CTAs are first allowed by the function attributes that such a launch needs. */
CUresult launch_kernel(const struct driver *driver, const struct launch_desc *launch,
                       struct host_error *error);

/* How waiting for a stream ended. */
enum launch_wait {
    LAUNCH_DONE,
    LAUNCH_FAILED,    /* `error` has the result */
    LAUNCH_TIMED_OUT, /* still running; the context is of no use any more */
};

/* Waits at most `timeout_seconds` (0: without end) until all work in the stream is done. */
enum launch_wait launch_wait(const struct driver *driver, CUstream stream, double timeout_seconds,
                             struct host_error *error);

#endif
