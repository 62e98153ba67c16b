/* See bench.h. Every repeat lies between two events; buffers come from another set than the repeat
 * before, so that no repeat finds its operands in the L2. */
#include "bench.h"

#include <string.h>

#include "run_launch.h"

static const double LIMIT_S = 30; /* for the first launch on a GPU that has no time of its own */

static unsigned sets_wanted(struct bench *bench) {
    int l2 = 0;
    const struct driver *driver = &bench->machine->driver;
    for (uint32_t i = 0; i < bench->trace->buffers.count; i++)
        bench->set_bytes += bench->trace->buffers.items[i].span_bytes;
    if (!bench->machine->gpu ||
        driver->cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                                     bench->machine->device.handle) != CUDA_SUCCESS)
        return 1;
    bench->l2_bytes = (uint64_t)l2;
    const uint64_t bytes = bench->set_bytes ? bench->set_bytes : 1;
    const uint64_t wanted = (2 * bench->l2_bytes + bytes - 1) / bytes;
    return wanted < 2 ? 2 : wanted > BENCH_SETS_MAX ? BENCH_SETS_MAX : (unsigned)wanted;
}

bool bench_open(struct bench *bench, struct machine *machine, const struct trace *trace,
                struct run_problem *problem) {
    bench->machine = machine;
    bench->trace = trace;
    const unsigned wanted = sets_wanted(bench);
    while (bench->set_count < wanted)
        if (!run_memory_setup(&bench->sets[bench->set_count++], machine, trace, NULL, problem))
            return false;
    return true;
}

void bench_free(struct bench *bench) {
    for (unsigned i = 0; i < bench->set_count; i++)
        if (bench->sets[i].trace)
            run_memory_free(&bench->sets[i]);
}

struct turn {
    const struct driver *driver;
    struct run_launch_args args[BENCH_SETS_MAX];
    const struct cublas *cublas;
    struct cublas_matmul matmuls[BENCH_SETS_MAX];
    unsigned count;
};

static bool start_launch(void *context, size_t index, struct host_error *error) {
    const struct turn *turn = context;
    return launch_kernel(turn->driver, &turn->args[index % turn->count].desc, error) ==
           CUDA_SUCCESS;
}

static bool start_cublas(void *context, size_t index, struct host_error *error) {
    const struct turn *turn = context;
    return cublas_start(turn->cublas, &turn->matmuls[index % turn->count], error);
}

/* Once under a time limit, then timed. */
static bool measure(struct bench *bench, struct turn *turn, timing_start *start, double limit_s,
                    struct timing *timing, struct host_error *error) {
    if (!start(turn, 0, error))
        return false;
    const enum launch_wait end =
        launch_wait(turn->driver, NULL, bench->machine->gpu ? limit_s : 0, error);
    if (end == LAUNCH_TIMED_OUT) {
        bench->timed_out = true;
        result_message(error,
                       "not done after %g s; 'siltwin run' says more about a kernel that hangs",
                       limit_s);
    }
    return end == LAUNCH_DONE &&
           timing_repeat(turn->driver,
                         &(struct timing_calls){start, turn, bench->warmups, bench->repeats},
                         timing, error);
}

bool bench_launch(struct bench *bench, const struct trace_launch *launch, struct timing *timing,
                  struct host_error *error) {
    struct turn turn = {.driver = &bench->machine->driver};
    bool good = true;
    while (good && turn.count < bench->set_count) {
        good = run_launch_args(&bench->sets[turn.count], launch, &turn.args[turn.count], error) ==
               CUDA_SUCCESS;
        turn.count++;
    }
    good = good && measure(bench, &turn, start_launch,
                           launch->timeout_s > 0 ? launch->timeout_s : LIMIT_S, timing, error);
    for (unsigned i = 0; i < turn.count; i++)
        run_launch_args_free(&turn.args[i]);
    return good;
}

bool bench_find_matmul(const struct trace *trace, struct bench_matmul *matmul) {
    for (uint32_t i = 0; i < trace->expects.count; i++) {
        const struct trace_expect *expect = &trace->expects.items[i];
        if (expect->reference != REF_MATMUL_NT && expect->reference != REF_MATMUL_NT_TC &&
            expect->reference != REF_MATMUL_NT_FMA)
            continue;
        *matmul = (struct bench_matmul){
            .a = &trace->buffers.items[expect->a],
            .b = &trace->buffers.items[expect->b],
            .c = &trace->buffers.items[expect->buffer],
            .index = {expect->a, expect->b, expect->buffer},
        };
        matmul->m = matmul->c->dims[0];
        matmul->n = matmul->c->dims[1];
        matmul->k = matmul->a->dims[1];
        return true;
    }
    return false;
}

static bool cublas_type_of(enum elem_type type, enum cublas_type *found) {
    *found = type == ELEM_BF16 ? CUBLAS_R_16BF : type == ELEM_F16 ? CUBLAS_R_16F : CUBLAS_R_32F;
    return type == ELEM_BF16 || type == ELEM_F16 || type == ELEM_F32;
}

static CUdeviceptr address_of(const struct run_memory *set, uint32_t buffer) {
    return set->buffers[buffer].memory.address + set->buffers[buffer].span_at;
}

bool bench_cublas(struct bench *bench, const struct cublas *cublas,
                  const struct bench_matmul *matmul, struct timing *timing,
                  struct host_error *error) {
    struct turn turn = {.driver = &bench->machine->driver, .cublas = cublas};
    struct cublas_matmul product = {
        .m = (uint32_t)matmul->m,
        .n = (uint32_t)matmul->n,
        .k = (uint32_t)matmul->k,
        .lda = (uint32_t)matmul->a->strides[0],
        .ldb = (uint32_t)matmul->b->strides[0],
        .ldc = (uint32_t)matmul->c->strides[0],
    };
    if (matmul->a->type != matmul->b->type || !cublas_type_of(matmul->a->type, &product.ab_type) ||
        !cublas_type_of(matmul->c->type, &product.c_type)) {
        result_message(error, "cublasGemmEx is not asked for %s and %s",
                       elem_info(matmul->a->type)->name, elem_info(matmul->c->type)->name);
        return false;
    }
    for (; turn.count < bench->set_count; turn.count++) {
        const struct run_memory *set = &bench->sets[turn.count];
        product.a = address_of(set, matmul->index[0]);
        product.b = address_of(set, matmul->index[1]);
        product.c = address_of(set, matmul->index[2]);
        turn.matmuls[turn.count] = product;
    }
    return measure(bench, &turn, start_cublas, LIMIT_S, timing, error);
}
