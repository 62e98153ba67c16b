/* A driver that behaves badly, for tests of what the command says then: the simulator's driver with
 * one fault, which SILTWIN_FAULT names.
 *
 *   init=CODE          cuInit gives that result
 *   devices=N          so many devices are said to be there
 *   capability=M.N     compute capability of the device
 *   load=CODE          cuModuleLoadDataEx gives that result, with a log
 *   load=crash         it ends the process by a signal
 *   lacks=NAME         the driver has no such function
 *   memory=CODE        cuMemAlloc gives that result
 *   sync=hang          waiting for a launch never comes back
 *   sync=slow          it comes back after a second
 *
 * Without SILTWIN_FAULT it is the simulator's driver, whose own faults and hangs are told only by
 * their results: the command looks up none of the simulator's extra functions in a GPU's driver. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

typedef CUresult get_proc(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* "=VALUE" behind `key` in SILTWIN_FAULT, NULL when that is about something else. */
static const char *fault(const char *key) {
    const char *text = getenv("SILTWIN_FAULT");
    const size_t length = strlen(key);
    return text && !strncmp(text, key, length) && text[length] == '=' ? text + length + 1 : NULL;
}

static void *simulator(void) {
    return dlopen(SILTWIN_BUILD "/sim/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* The simulator's function of that name and version. */
static void *forward(const char *name, int version) {
    get_proc *find;
    void *function = NULL, *symbol = dlsym(simulator(), "cuGetProcAddress_v2");
    memcpy(&find, &symbol, sizeof find);
    find(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    return function;
}

static CUresult fail_init(unsigned flags) {
    (void)flags;
    return (CUresult)atoi(fault("init"));
}

static CUresult count_devices(int *count) {
    *count = atoi(fault("devices"));
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult (*real)(int *, CUdevice_attribute, CUdevice);
    void *function = forward("cuDeviceGetAttribute", 2000);
    memcpy(&real, &function, sizeof real);
    const CUresult code = real(value, attribute, device);
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        *value = atoi(fault("capability"));
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        *value = atoi(strchr(fault("capability"), '.') + 1);
    return code;
}

static CUresult fail_load(CUmodule *module, const void *image, unsigned count,
                          CUjit_option *options, void **values) {
    (void)image;
    if (!strcmp(fault("load"), "crash"))
        raise(SIGSEGV);
    *module = NULL;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            strcpy(values[i], "ptxas application ptx input, line 9; fatal   : the log of the JIT");
    return (CUresult)atoi(fault("load"));
}

static CUresult fail_memory(CUdeviceptr *address, size_t bytes) {
    (void)bytes;
    *address = 0;
    return (CUresult)atoi(fault("memory"));
}

static CUresult wait_badly(CUstream stream) {
    CUresult (*real)(CUstream);
    void *function = forward("cuStreamSynchronize", 2000);
    memcpy(&real, &function, sizeof real);
    const CUresult code = real(stream);
    if (!strcmp(fault("sync"), "slow"))
        sleep(1);
    else
        for (;;)
            pause();
    return code;
}

static const struct {
    const char *key, *name;
    void (*function)(void);
} faults[] = {
    {"init", "cuInit", (void (*)(void))fail_init},
    {"devices", "cuDeviceGetCount", (void (*)(void))count_devices},
    {"capability", "cuDeviceGetAttribute", (void (*)(void))get_attribute},
    {"load", "cuModuleLoadDataEx", (void (*)(void))fail_load},
    {"memory", "cuMemAlloc", (void (*)(void))fail_memory},
    {"sync", "cuStreamSynchronize", (void (*)(void))wait_badly},
};

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *found) {
    (void)flags;
    (void)found;
    *function = forward(name, version);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (fault(faults[i].key) && !strcmp(faults[i].name, name))
            memcpy(function, &faults[i].function, sizeof *function);
    /* The simulator has this one only to say that it is not modelled. */
    if ((fault("lacks") && !strcmp(fault("lacks"), name)) ||
        !strcmp(name, "cuMemGetAllocationGranularity"))
        *function = NULL;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
