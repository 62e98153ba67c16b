#ifndef SILTWIN_FAULT_EXECUTE_H
#define SILTWIN_FAULT_EXECUTE_H

#include "buffer.h"
#include "device.h"
#include "fault_case.h"

/* What the cases of one process share. */
struct fault_bench {
    struct driver driver;
    struct device device;
    struct buffer out, data, map;
    CUdeviceptr freed;
    uint8_t *pattern; /* of the data */
};

/* Opens the driver at `path`; on a simulator, an H200 without its log. */
bool fault_bench_open(struct fault_bench *bench, const char *path, struct host_error *error);

/* A new context after a fault; false where the driver gives none to this process. */
bool fault_bench_renew(struct fault_bench *bench);

enum fault_bench_state { FAULT_BENCH_GOOD, FAULT_BENCH_LOST, FAULT_BENCH_HANGS };
/* Runs one case; says how the bench is after it. */
enum fault_bench_state fault_execute(struct fault_bench *bench, const struct fault_case *made,
                                     struct fault_answer *answer);

#endif
