/* One fault case through one driver: load, call, launch, synchronise, read the words. */
#include "fault_execute.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "module.h"
#include "siltwin_sim.h"

enum { TIMEOUT_SECONDS = 4, OUT_BYTES = 256 };

static void keep_quiet(void *ctx, const char *line) {
    (void)ctx;
    (void)line;
}

static bool set_up_simulator(const struct driver *driver) {
    siltwin_sim_set_run *set_run;
    siltwin_sim_set_log *set_log;
    void *found = driver_extension(driver, "siltwinSimSetRun");
    memcpy(&set_run, &found, sizeof found);
    struct siltwin_sim_run run = {.struct_bytes = sizeof run, .pattern_seed = 1, .jobs = 1};
    if (found == NULL)
        return true; /* a GPU */
    found = driver_extension(driver, "siltwinSimSetLog");
    memcpy(&set_log, &found, sizeof found);
    return set_run(&run) == 0 && set_log(keep_quiet, NULL) == 0;
}

static bool open_context(struct fault_bench *bench, struct host_error *error) {
    struct buffer freed;
    if (!device_open(&bench->driver, 0, &bench->device, error) ||
        !buffer_alloc(&bench->driver, OUT_BYTES, &bench->out, error) ||
        !buffer_alloc(&bench->driver, FAULT_DATA_BYTES, &bench->data, error) ||
        !buffer_alloc(&bench->driver, 256, &bench->map, error) ||
        !buffer_alloc(&bench->driver, FAULT_FREED_BYTES, &freed, error))
        return false;
    bench->freed = freed.address + FAULT_FREED_BYTES / 2; /* what is loaded takes the first pages */
    buffer_free(&freed);
    return true;
}

bool fault_bench_open(struct fault_bench *bench, const char *path, struct host_error *error) {
    *bench = (struct fault_bench){.pattern = malloc(FAULT_DATA_BYTES)};
    setenv("SILTWIN_DEVICE", "h200", 1);
    for (unsigned i = 0; bench->pattern != NULL && i < FAULT_DATA_BYTES; i++)
        bench->pattern[i] = (uint8_t)(i * 37 + i / 256);
    return bench->pattern != NULL && driver_open(&bench->driver, path, error) &&
           set_up_simulator(&bench->driver) && open_context(bench, error);
}

bool fault_bench_renew(struct fault_bench *bench) {
    struct host_error error = {0};
    device_close(&bench->device);
    return open_context(bench, &error) &&
           buffer_upload(&bench->data, 0, bench->pattern, FAULT_DATA_BYTES, &error);
}

static uint64_t argument(const struct fault_bench *bench, const struct fault_arg *arg) {
    switch (arg->kind) {
    case FAULT_DATA: return bench->data.address + arg->offset;
    case FAULT_FREED: return bench->freed + arg->offset;
    case FAULT_MAP: return bench->map.address + arg->offset;
    default: return arg->offset;
    }
}

static bool prepare(struct fault_bench *bench, const struct fault_case *made,
                    struct host_error *error) {
    struct tensormap_desc map = made->map;
    CUtensorMap encoded;
    memcpy(&encoded, made->map_words, sizeof encoded);
    map.address = bench->data.address;
    if (made->has_map && !made->raw_map &&
        !result_check(error, "cuTensorMapEncodeTiled",
                      tensormap_encode(&bench->driver, &map, &encoded)))
        return false;
    return buffer_fill(&bench->out, 0, OUT_BYTES, 0xee, 1, error) &&
           buffer_upload(&bench->data, 0, bench->pattern, FAULT_DATA_BYTES, error) &&
           buffer_upload(&bench->map, 0, &encoded, sizeof encoded, error);
}

static CUresult attribute_of(const struct driver *driver, CUfunction function, uint64_t which,
                             uint32_t *word) {
    int value = 0;
    CUresult code = driver->cuFuncGetAttribute(&value, (CUfunction_attribute)which, function);
    *word = (uint32_t)value;
    return code;
}

static CUresult make_stream(const struct driver *driver, unsigned flags) {
    CUstream stream;
    CUresult code = driver->cuStreamCreate(&stream, flags);
    if (code == CUDA_SUCCESS)
        driver->cuStreamDestroy(stream);
    return code;
}

static CUresult make_event(const struct driver *driver, unsigned flags) {
    CUevent event;
    CUresult code = driver->cuEventCreate(&event, flags);
    if (code == CUDA_SUCCESS)
        driver->cuEventDestroy(event);
    return code;
}

static CUresult allocate(const struct driver *driver, size_t bytes) {
    CUdeviceptr address;
    CUresult code = driver->cuMemAlloc(&address, bytes);
    if (code == CUDA_SUCCESS)
        driver->cuMemFree(address);
    return code;
}

static CUresult call(struct fault_bench *bench, const struct fault_case *made,
                     const struct module *module, CUfunction function, uint32_t *word) {
    const struct driver *driver = &bench->driver;
    const uint64_t a = argument(bench, &made->args[0]), b = made->args[1].offset;
    CUdeviceptr address;
    CUfunction other;
    size_t bytes;
    int value;
    switch (made->call) {
    case FAULT_SET_ATTRIBUTE:
        return driver->cuFuncSetAttribute(function, (CUfunction_attribute)a, (int)b);
    case FAULT_MEM_ALLOC: return allocate(driver, a);
    case FAULT_MEM_FREE: return driver->cuMemFree(a);
    case FAULT_MEM_TO_HOST: {
        uint8_t room[256];
        return driver->cuMemcpyDtoH(room, a, b);
    }
    case FAULT_MEM_TO_DEVICE: return driver->cuMemcpyHtoD(a, bench->pattern, b);
    case FAULT_MEM_SET_32: return driver->cuMemsetD32(a, 7, b);
    case FAULT_MEM_SET_16: return driver->cuMemsetD16(a, 7, b);
    case FAULT_GET_ATTRIBUTE: return attribute_of(driver, function, a, word);
    case FAULT_DEV_ATTRIBUTE:
        return driver->cuDeviceGetAttribute(&value, (CUdevice_attribute)a, bench->device.handle);
    case FAULT_GET_FUNCTION: return driver->cuModuleGetFunction(&other, module->handle, "none");
    case FAULT_GET_GLOBAL:
        return driver->cuModuleGetGlobal(&address, &bytes, module->handle, "none");
    case FAULT_STREAM_FLAGS: return make_stream(driver, (unsigned)a);
    case FAULT_EVENT_FLAGS: return make_event(driver, (unsigned)a);
    default: return CUDA_SUCCESS;
    }
}

static CUresult launch(struct fault_bench *bench, const struct fault_case *made,
                       CUfunction function) {
    uint64_t values[1 + FAULT_ARGS] = {bench->out.address};
    void *pointers[1 + FAULT_ARGS] = {&values[0]};
    CUlaunchAttribute attributes[2];
    CUlaunchConfig config = {
        .gridDimX = made->grid[0],
        .gridDimY = made->grid[1],
        .gridDimZ = made->grid[2],
        .blockDimX = made->block[0],
        .blockDimY = made->block[1],
        .blockDimZ = made->block[2],
        .sharedMemBytes = made->dynamic_smem_bytes,
        .attrs = attributes,
    };
    for (unsigned i = 0; i < FAULT_ARGS; i++) {
        values[1 + i] = argument(bench, &made->args[i]);
        pointers[1 + i] = &values[1 + i];
    }
    if (made->explicit_cluster)
        attributes[config.numAttrs++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            .value.clusterDim = {made->cluster[0], made->cluster[1], made->cluster[2]}};
    if (made->cooperative)
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    return bench->driver.cuLaunchKernelEx(&config, function, pointers, NULL);
}

static CUresult wait(struct fault_bench *bench, struct host_error *error) {
    enum launch_wait end = launch_wait(&bench->driver, NULL, TIMEOUT_SECONDS, error);
    if (end == LAUNCH_TIMED_OUT)
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    if (end == LAUNCH_FAILED)
        return error->code;
    return bench->driver.cuCtxSynchronize();
}

enum fault_bench_state fault_execute(struct fault_bench *bench, const struct fault_case *made,
                                     struct fault_answer *answer) {
    struct host_error error = {0};
    struct module module = {0};
    CUfunction function = NULL;
    if (!prepare(bench, made, &error))
        return FAULT_BENCH_LOST;
    bool good = module_load(&bench->driver, strbuf_text(&made->ptx), &module, &error);
    answer->load = good ? CUDA_SUCCESS : (int32_t)error.code;
    good = good && (function = module_function(&module, "k", &error)) != NULL;
    if (good && made->call != FAULT_NO_CALL)
        answer->call = (int32_t)call(bench, made, &module, function, &answer->words[7]);
    if (good)
        answer->launch = (int32_t)launch(bench, made, function);
    good = good && answer->launch == CUDA_SUCCESS;
    if (good)
        answer->sync = (int32_t)wait(bench, &error);
    good = good && answer->sync == CUDA_SUCCESS;
    if (good)
        good = buffer_download(&bench->out, 0, answer->words, 7 * sizeof(uint32_t), &error);
    bool lost = answer->sync > 0;
    if (!lost)
        module_unload(&module);
    answer->state = FAULT_DONE;
    return !lost                                       ? FAULT_BENCH_GOOD
           : answer->sync == CUDA_ERROR_LAUNCH_TIMEOUT ? FAULT_BENCH_HANGS
                                                       : FAULT_BENCH_LOST;
}
