/* Contexts: the stack of each thread, the primary context's life, what goes with a context. */
#include <pthread.h>

#include "libcuda.h"

Test(context, stack) {
    struct libcuda cu = libcuda_load("b200");
    CUcontext first = NULL, second = NULL, got = NULL;
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuCtxCreate_v2(&first, CU_CTX_SCHED_SPIN, 0), 0);
    cr_assert_eq(cu.cuCtxCreate_v4(&second, NULL, 0, 0), 0);
    cr_assert_neq(first, second);
    cr_assert_eq(cu.cuCtxGetCurrent(&got), 0);
    cr_assert_eq(got, second);
    cr_assert_eq(cu.cuCtxPopCurrent_v2(&got), 0);
    cr_assert_eq(got, second);
    unsigned flags = 0;
    cr_assert_eq(cu.cuCtxGetFlags(&flags), 0);
    cr_assert_eq(flags, CU_CTX_SCHED_SPIN);
    cr_assert_eq(cu.cuCtxPushCurrent_v2(second), 0);
    cr_assert_eq(cu.cuCtxDestroy_v2(second), 0);
    cr_assert_eq(cu.cuCtxGetCurrent(&got), 0);
    cr_assert_eq(got, first);
    /* A destroyed context, all as on an H200; and one that never was, at which it would crash. */
    cr_assert_eq(cu.cuCtxDestroy_v2(second), 709);
    cr_assert_eq(cu.cuCtxSetCurrent(second), 0);
    cr_assert_eq(cu.cuCtxPushCurrent_v2(second), 0);
    cr_assert_eq(cu.cuCtxSynchronize(), 709);
    cr_assert_eq(cu.cuCtxSetCurrent((CUcontext)&cu), 201);
    cr_assert_eq(cu.cuCtxDestroy_v2((CUcontext)&cu), 201);
}

Test(context, the_stack_is_bounded) {
    struct libcuda cu = libcuda_start("b200");
    CUcontext context = NULL;
    int pushed = 0;
    cr_assert_eq(cu.cuCtxGetCurrent(&context), 0);
    while (pushed < 1000 && cu.cuCtxPushCurrent_v2(context) == 0)
        pushed++;
    cr_assert_lt(pushed, 1000);
    cr_assert_eq(cu.cuCtxPushCurrent_v2(context), 2);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
}

Test(context, primary_lives_while_it_is_retained) {
    struct libcuda cu = libcuda_load("b200");
    CUcontext first = NULL, again = NULL;
    CUdeviceptr address = 0;
    unsigned flags = 0;
    int active = 7;
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
    cr_assert_eq(active, 0);
    cr_assert_eq(cu.cuDevicePrimaryCtxRetain(&first, 0), 0);
    cr_assert_eq(cu.cuDevicePrimaryCtxRetain(&again, 0), 0);
    cr_assert_eq(first, again);
    cr_assert_eq(cu.cuCtxSetCurrent(first), 0);
    cr_assert_eq(cu.cuMemAlloc_v2(&address, 64), 0);
    cr_assert_eq(cu.cuDevicePrimaryCtxRelease_v2(0), 0);
    cr_assert_eq(cu.cuMemsetD8_v2(address, 1, 64), 0);
    cr_assert_eq(cu.cuDevicePrimaryCtxRelease_v2(0), 0);
    cr_assert_eq(cu.cuMemsetD8_v2(address, 1, 64), 709);
    cr_assert_eq(cu.cuDevicePrimaryCtxRelease_v2(0), 201);
    cr_assert_eq(cu.cuDevicePrimaryCtxRetain(&again, 0), 0);
    cr_assert_eq(again, first);
    cr_assert_eq(cu.cuCtxSynchronize(), 0);
    cr_assert_eq(cu.cuMemsetD8_v2(address, 1, 64), 1); /* its memory went */
}

Test(context, handles_go_with_their_context) {
    struct libcuda cu = libcuda_load("b200");
    CUcontext context = NULL, other = NULL;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdeviceptr address = 0;
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuCtxCreate_v2(&other, 0, 0), 0);
    cr_assert_eq(cu.cuCtxCreate_v2(&context, 0, 0), 0);
    cr_assert_eq(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
    cr_assert_eq(cu.cuEventCreate(&event, 0), 0);
    cr_assert_eq(cu.cuMemAlloc_v2(&address, 64), 0);
    cr_assert_eq(cu.cuCtxDestroy_v2(context), 0);
    cr_assert_eq(cu.cuStreamSynchronize(stream), 400);
    cr_assert_eq(cu.cuEventRecord(event, NULL), 400);
    cr_assert_eq(cu.cuMemFree_v2(address), 1);
}

struct worker {
    struct libcuda *cu;
    CUcontext context;
    CUresult unset, destroyed;
    int failures;
};

static void *work(void *ctx) {
    struct worker *worker = ctx;
    struct libcuda *cu = worker->cu;
    worker->unset = cu->cuCtxSynchronize();
    worker->failures += cu->cuCtxSetCurrent(worker->context) != 0;
    for (int i = 0; i < 2000; i++) {
        CUdeviceptr address = 0;
        unsigned word = 0, expected = (unsigned)i;
        worker->failures += cu->cuMemAlloc_v2(&address, 256) != 0;
        worker->failures += cu->cuMemsetD32_v2(address, expected, 64) != 0;
        worker->failures += cu->cuMemcpyDtoH_v2(&word, address + 252, 4) != 0 || word != expected;
        worker->failures += cu->cuMemFree_v2(address) != 0;
    }
    return NULL;
}

/* The current context is a thread's own; calls from many threads do not disturb each other. */
Test(context, threads) {
    enum { THREADS = 4 };
    struct libcuda cu = libcuda_start("b200");
    CUcontext context = NULL;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    cr_assert_eq(cu.cuCtxGetCurrent(&context), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.cu = &cu, .context = context};
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(workers[i].failures, 0);
        cr_assert_eq(workers[i].unset, 201);
    }
}

Test(context, streams_and_callbacks) {
    struct libcuda cu = libcuda_start("b200");
    CUstream stream = NULL;
    CUcontext current = NULL, of_stream = NULL;
    unsigned flags = 9;
    int priority = 9, called = 0;
    unsigned long long id = 0, other_id = 0;
    cr_assert_eq(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100), 0);
    cr_assert_eq(cu.cuStreamGetPriority(stream, &priority), 0);
    cr_assert_eq(priority, -5);
    cr_assert_eq(cu.cuStreamGetFlags(stream, &flags), 0);
    cr_assert_eq(flags, CU_STREAM_NON_BLOCKING);
    cr_assert_eq(cu.cuCtxGetCurrent(&current), 0);
    cr_assert_eq(cu.cuStreamGetCtx(stream, &of_stream), 0);
    cr_assert_eq(of_stream, current);
    cr_assert_eq(cu.cuStreamGetId(stream, &id), 0);
    cr_assert_eq(cu.cuStreamGetId(NULL, &other_id), 0);
    cr_assert_neq(id, other_id);
    cr_assert_eq(cu.cuLaunchHostFunc(stream, NULL, &called), 1);
    cr_assert_eq(cu.cuStreamDestroy_v2(stream), 0);
    cr_assert_eq(cu.cuStreamQuery(stream), 400);
    cr_assert_eq(cu.cuStreamGetFlags(stream, &flags), 400);
}

static void count_call(void *user_data) {
    ++*(int *)user_data;
}

Test(context, host_functions_run_in_order) {
    struct libcuda cu = libcuda_start("b200");
    int called = 0;
    cr_assert_eq(cu.cuLaunchHostFunc(NULL, count_call, &called), 0);
    cr_assert_eq(called, 1);
    cr_assert_eq(cu.cuLaunchHostFunc((CUstream)&called, count_call, &called), 400);
    cr_assert_eq(called, 1);
}

Test(context, events_measure_the_hosts_time) {
    struct libcuda cu = libcuda_start("b200");
    CUevent start = NULL, end = NULL;
    float forward = -1, backward = 1;
    cr_assert_eq(cu.cuEventCreate(&start, 0), 0);
    cr_assert_eq(cu.cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC), 0);
    cr_assert_eq(cu.cuEventRecord(start, NULL), 0);
    cr_assert_eq(cu.cuEventRecordWithFlags(end, NULL, 0), 0);
    cr_assert_eq(cu.cuEventElapsedTime(&forward, start, end), 0);
    cr_assert_eq(cu.cuEventElapsedTime_v2(&backward, end, start), 0);
    cr_assert_geq(forward, 0);
    cr_assert_eq(forward, -backward);
    cr_assert_eq(cu.cuStreamWaitEvent(NULL, end, 0), 0);
    cr_assert_eq(cu.cuStreamWaitEvent(NULL, NULL, 0), 400);
    cr_assert_eq(cu.cuEventDestroy_v2(end), 0);
    cr_assert_eq(cu.cuEventDestroy_v2(end), 400);
}
