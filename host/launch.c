/* Kernel launches, with the parameters as one block: the form in which a trace writes them. */
#include "launch.h"

#include <time.h>

enum {
    SMEM_WITHOUT_OPT_IN_BYTES = 48 * 1024,
    PORTABLE_CLUSTER_CTAS = 8,
};

static CUresult allow(const struct driver *driver, const struct launch_desc *launch,
                      CUfunction_attribute attribute, int value, struct host_error *error) {
    CUresult code = driver->cuFuncSetAttribute(launch->function, attribute, value);
    result_check(error, "cuFuncSetAttribute", code);
    return code;
}

static CUresult opt_in(const struct driver *driver, const struct launch_desc *launch,
                       struct host_error *error) {
    CUresult code = CUDA_SUCCESS;
    if (launch->dynamic_smem_bytes > SMEM_WITHOUT_OPT_IN_BYTES)
        code = allow(driver, launch, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     (int)launch->dynamic_smem_bytes, error);
    unsigned long long ctas =
        (unsigned long long)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    if (code == CUDA_SUCCESS && ctas > PORTABLE_CLUSTER_CTAS)
        code = allow(driver, launch, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, error);
    return code;
}

CUresult launch_kernel(const struct driver *driver, const struct launch_desc *launch,
                       struct host_error *error) {
    CUresult code = opt_in(driver, launch, error);
    if (code != CUDA_SUCCESS)
        return code;

    CUlaunchAttribute attributes[4];
    unsigned count = 0;
    if (launch->cluster[0] || launch->cluster[1] || launch->cluster[2])
        attributes[count++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value.clusterDim = {launch->cluster[0], launch->cluster[1], launch->cluster[2]}};
    if (launch->cooperative)
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};

    if (launch->programmatic)
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                .value.programmaticStreamSerializationAllowed = 1};
    if (launch->priority)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                                  .value.priority = launch->priority};

    CUlaunchConfig config = {
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = launch->block[0],
        .blockDimY = launch->block[1],
        .blockDimZ = launch->block[2],
        .sharedMemBytes = launch->dynamic_smem_bytes,
        .hStream = launch->stream,
        .attrs = attributes,
        .numAttrs = count,
    };
    if (launch->param_count > LAUNCH_MAX_PARAMS) {
        result_message(error, "more than %d parameters", LAUNCH_MAX_PARAMS);
        return CUDA_ERROR_INVALID_VALUE;
    }
    void *pointers[LAUNCH_MAX_PARAMS];
    for (uint32_t i = 0; i < launch->param_count; i++)
        pointers[i] =
            (void *)(uintptr_t)((const unsigned char *)launch->params + launch->param_offsets[i]);
    bool listed = launch->param_count > 0;
    size_t bytes = launch->params_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)launch->params,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    code = driver->cuLaunchKernelEx(&config, launch->function, listed ? pointers : NULL,
                                    !listed && bytes ? extra : NULL);
    result_check(error, "cuLaunchKernelEx", code);
    return code;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum launch_wait launch_wait(const struct driver *driver, CUstream stream, double timeout_seconds,
                             struct host_error *error) {
    if (timeout_seconds <= 0)
        return RESULT_CHECK(error, driver, cuStreamSynchronize, (stream)) ? LAUNCH_DONE
                                                                          : LAUNCH_FAILED;
    double end = seconds_now() + timeout_seconds;
    for (;;) {
        CUresult code = driver->cuStreamQuery(stream);
        if (code == CUDA_SUCCESS)
            return LAUNCH_DONE;
        if (code != CUDA_ERROR_NOT_READY) {
            result_check(error, "cuStreamQuery", code);
            return LAUNCH_FAILED;
        }
        if (seconds_now() >= end) {
            result_message(error, "no end after %g seconds", timeout_seconds);
            return LAUNCH_TIMED_OUT;
        }
        nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
    }
}
