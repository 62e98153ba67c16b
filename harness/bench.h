#ifndef SILTWIN_BENCH_H
#define SILTWIN_BENCH_H

#include "cublas.h"
#include "machine.h"
#include "run_memory.h"
#include "timing.h"

/* Times the launches of a trace, each on its own, and the same matrix product by cuBLAS. */

enum { BENCH_SETS_MAX = 8 };

struct bench {
    struct machine *machine;
    const struct trace *trace;
    struct run_memory sets[BENCH_SETS_MAX]; /* the trace's objects, several times */
    unsigned set_count;
    uint64_t set_bytes, l2_bytes; /* buffers of one set; the GPU's L2, 0 where unknown */
    size_t warmups, repeats;
    bool timed_out; /* a launch runs on: nothing but the end of the process stops it */
};

/* Sets up as many sets of buffers as turn over more than twice the L2 (one on the simulator). False
 * with `problem`; to be freed either way. */
bool bench_open(struct bench *bench, struct machine *machine, const struct trace *trace,
                struct run_problem *problem);
void bench_free(struct bench *bench);

/* One launch of the trace, the sets taken in turn. */
bool bench_launch(struct bench *bench, const struct trace_launch *launch, struct timing *timing,
                  struct host_error *error);

/* The matrix product that the trace expects: C == matmul_nt(A, B), of floats. */
struct bench_matmul {
    const struct trace_buffer *a, *b, *c;
    uint32_t index[3]; /* of a, b, c among the buffers */
    uint64_t m, n, k;
};
bool bench_find_matmul(const struct trace *trace, struct bench_matmul *matmul);

/* The same by cuBLAS; false with `error` where it has none of these types. */
bool bench_cublas(struct bench *bench, const struct cublas *cublas,
                  const struct bench_matmul *matmul, struct timing *timing,
                  struct host_error *error);

#endif
