/* siltwin doctor: what this machine can do, and what is missing. */
#include <getopt.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "driver.h"
#include "machine.h"
#include "message.h"
#include "tool_path.h"

enum { OPT_JSON = 256, OPT_HELP };

static const char help[] =
    "usage: siltwin doctor [--json]\n\n"
    "Says what this machine can do (simulator, processor, GPU, driver, ptxas, "
    "cuBLAS) and what is missing.\n"
    "Exit status 0 when traces can run on the simulator, 3 when not.\n";

struct doctor {
    bool json;
    json_t *checks;
};

/* One line: what was looked for, whether it is there, and what was found or what it is for. */
static void check(struct doctor *d, const char *name, bool found, const char *text) {
    if (!d->json)
        printf("%-12s %-8s %s\n", name, found ? "found" : "missing", text);
    json_array_append_new(
        d->checks, json_pack("{s:s, s:b, s:s}", "check", name, "found", found, "text", text));
}

static void check_processor(struct doctor *d) {
    char text[160];
    const char *vectors = "no vector units that siltwin chooses at run time";
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        vectors = "AVX-512";
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        vectors = "AVX2";
    else
        vectors = "SSE2 only: the simulator runs slowly";
#elif defined(__aarch64__)
    vectors = "Advanced SIMD";
#endif
    cpu_set_t cpus;
    const int cores = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : CPU_COUNT(&cpus);
    const double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p30;
    snprintf(text, sizeof text, "%s, %d core%s, %.1f GiB of memory", vectors, cores,
             cores == 1 ? "" : "s", gib);
    check(d, "processor", true, text);
}

/* The GPU is asked before the simulator is loaded: both libraries have the same name. */
static void check_gpu(struct doctor *d) {
    struct driver driver;
    struct host_error error = {0};
    char text[700];
    int count = 0;
    if (!driver_open(&driver, NULL, &error)) {
        snprintf(text, sizeof text, "no GPU driver (%s); the simulator does not need one",
                 error.text);
        check(d, "gpu", false, text);
        return;
    }
    driver.cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        char name[128] = "";
        CUdevice device;
        int major = 0, minor = 0;
        if (driver.cuDeviceGet(&device, i) != CUDA_SUCCESS)
            continue;
        driver.cuDeviceGetName(name, sizeof name, device);
        driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
        driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
        snprintf(text, sizeof text, "%s, compute capability %d.%d, driver %d.%d", name, major,
                 minor, driver.version / 1000, driver.version % 1000 / 10);
        check(d, "gpu", true, text);
    }
    if (!count)
        check(d, "gpu", false, "a driver without a device");
    driver_close(&driver);
}

static bool check_simulator(struct doctor *d) {
    struct machine machine;
    struct host_error error = {0};
    char text[400];
    const struct machine_options options = {.device = "b200"};
    if (!machine_open(&machine, &options, &error)) {
        check(d, "simulator", false, error.text);
        return false;
    }
    snprintf(text, sizeof text, "%s: %s, driver interface %d.%d", machine.driver.path,
             machine.device.name, machine.driver.version / 1000,
             machine.driver.version % 1000 / 10);
    check(d, "simulator", true, text);
    machine_close(&machine);
    return true;
}

static void check_tools(struct doctor *d) {
    char path[TOOL_PATH_BYTES];
    bool found = tool_path_ptxas(path);
    check(d, "ptxas", found,
          found ? path : "only needed to assemble the kernels (scons check-ptx)");
    found = tool_path_cublas(path);
    check(d, "cublas", found, found ? path : "only needed to compare speed on a GPU");
}

int cmd_doctor(int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    struct doctor d = {0};
    int option;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1)
        switch (option) {
        case OPT_JSON: d.json = true; break;
        case OPT_HELP:
        case 'h': fputs(help, stdout); return EXIT_AS_EXPECTED;
        default: message_option(option, argv); return EXIT_USAGE;
        }
    if (optind < argc) {
        message_error("doctor takes no operands");
        return EXIT_USAGE;
    }
    d.checks = json_array();
    check_processor(&d);
    check_gpu(&d);
    const bool simulator = check_simulator(&d);
    check_tools(&d);
    const int status = simulator ? EXIT_AS_EXPECTED : EXIT_MACHINE;
    if (d.json) {
        json_t *json = json_pack("{s:s, s:O, s:i}", "schema", "siltwin.doctor/1", "checks",
                                 d.checks, "exit_status", status);
        message_document(json);
    }
    json_decref(d.checks);
    return status;
}
