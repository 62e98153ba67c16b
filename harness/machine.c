/* Opens the simulated driver and looks up its own entry points, or the machine's own driver. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool machine_simulator_path(struct strbuf *path) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return false;
    strbuf_printf(path, "%.*s/sim/libcuda.so.1", (int)(slash - self), self);
    return true;
}

static void keep_line(void *context, const char *line) {
    struct strbuf *log = context;
    strbuf_printf(log, "%s\n", line);
}

/* A function of the simulator by its name, as the pointer type of `*function`. */
static bool find(const struct machine *machine, const char *name, void *function,
                 struct host_error *error) {
    void *found = driver_extension(&machine->driver, name);
    if (!found)
        result_message(error, "%s has no %s: it is not this siltwin's simulator",
                       machine->driver.path, name);
    memcpy(function, &found, sizeof found);
    return found;
}

static bool find_watch(struct machine *machine, struct host_error *error) {
    return find(machine, "siltwinSimSetWatch", &machine->set_watch, error) &&
           find(machine, "siltwinSimWatchRegister", &machine->watch_register, error) &&
           find(machine, "siltwinSimWatchOperand", &machine->watch_operand, error) &&
           find(machine, "siltwinSimWatchParam", &machine->watch_param, error) &&
           find(machine, "siltwinSimWatchGlobal", &machine->watch_global, error) &&
           find(machine, "siltwinSimWatchShared", &machine->watch_shared, error) &&
           find(machine, "siltwinSimWatchSharedFirst", &machine->watch_shared_first, error) &&
           find(machine, "siltwinSimWatchTmem", &machine->watch_tmem, error);
}

static bool set_up(struct machine *machine, const struct machine_options *options,
                   struct host_error *error) {
    siltwin_sim_version *version;
    siltwin_sim_set_log *set_log;
    siltwin_sim_set_progress *set_progress;
    siltwin_sim_set_stats *set_stats;
    siltwin_sim_set_float_sums *set_float_sums;
    if (!find(machine, "siltwinSimVersion", &version, error) ||
        !find(machine, "siltwinSimSetRun", &machine->set_run, error) ||
        !find(machine, "siltwinSimSetLog", &set_log, error) ||
        !find(machine, "siltwinSimSetProgress", &set_progress, error) ||
        !find(machine, "siltwinSimSetStats", &set_stats, error) ||
        !find(machine, "siltwinSimSetFloatSums", &set_float_sums, error) ||
        !find(machine, "siltwinSimFloatSums", &machine->float_sums, error) ||
        !find(machine, "siltwinSimSetModuleName", &machine->set_module_name, error) ||
        !find(machine, "siltwinSimLastFault", &machine->last_fault, error) ||
        !find(machine, "siltwinSimLastReport", &machine->last_report, error) ||
        !find(machine, "siltwinSimStats", &machine->stats_last, error) ||
        !find(machine, "siltwinSimSetEvents", &machine->set_events, error) ||
        !find(machine, "siltwinSimMemAllocAt", &machine->mem_alloc_at, error) ||
        !find(machine, "siltwinSimWindows", &machine->sim_windows, error) ||
        !find_watch(machine, error))
        return false;
    if (version() != SILTWIN_SIM_VERSION) {
        result_message(error, "the simulator's interface has version %u, expected %d", version(),
                       SILTWIN_SIM_VERSION);
        return false;
    }
    machine->run = options->run;
    machine->run.struct_bytes = sizeof machine->run;
    if (machine->set_run(&machine->run) || set_log(keep_line, &machine->log) ||
        set_progress(options->progress, options->progress_context) || set_stats(options->stats) ||
        set_float_sums(options->float_sums)) {
        result_message(error, "the simulator refuses its settings");
        return false;
    }
    return true;
}

/* ---- a real GPU ---- */

static int no_name(const char *name) {
    (void)name;
    return 0;
}
static int no_fault(struct siltwin_sim_fault *fault) {
    (void)fault;
    return 1;
}
static const char *no_report(void) {
    return "";
}
static int no_stats(struct siltwin_sim_stats *stats) {
    (void)stats;
    return 1;
}

/* Compute capability that code for a device model runs on. */
static int capability_of(const char *device) {
    return strcmp(device, "b200") == 0 ? 10 : 9;
}

static bool open_gpu(struct machine *machine, const struct machine_options *options,
                     struct host_error *error) {
    machine->gpu = true;
    machine->line_info = !options->as_written;
    machine->set_module_name = no_name;
    machine->last_fault = no_fault;
    machine->last_report = no_report;
    machine->stats_last = no_stats;
    if (!driver_open(&machine->driver, "libcuda.so.1", error) ||
        !device_open(&machine->driver, 0, &machine->device, error)) {
        char why[sizeof error->text];
        snprintf(why, sizeof why, "%.300s", error->text);
        result_message(error,
                       "no GPU: %s. --on gpu needs an NVIDIA driver and a GPU; without them leave "
                       "--on gpu out and the simulator runs the trace",
                       why);
        machine_close(machine);
        return false;
    }
    const int wanted = capability_of(options->device);
    if (machine->device.compute_major == wanted && machine->device.compute_minor == 0)
        return true;
    result_message(
        error,
        "the trace is for %s (compute capability %d.0), but this GPU is a %.100s (%d.%d): "
        "give the module a file for it and say --device, or run on the simulator",
        options->device, wanted, machine->device.name, machine->device.compute_major,
        machine->device.compute_minor);
    machine_close(machine);
    return false;
}

bool machine_open(struct machine *machine, const struct machine_options *options,
                  struct host_error *error) {
    struct strbuf path = {0};
    *machine = (struct machine){0};
    if (options->gpu)
        return open_gpu(machine, options, error);
    if (!machine_simulator_path(&path)) {
        result_message(error, "cannot find this executable's own folder");
        return false;
    }
    /* The model must be known when the driver is initialised, which opening it does. */
    setenv("SILTWIN_DEVICE", options->device, 1);
    const bool opened = driver_open(&machine->driver, strbuf_text(&path), error);
    strbuf_free(&path);
    if (!opened)
        return false;
    if (set_up(machine, options, error) &&
        device_open(&machine->driver, 0, &machine->device, error))
        return true;
    machine_close(machine);
    return false;
}

bool machine_alloc_at(const struct machine *machine, uint64_t wanted, uint64_t bytes,
                      struct buffer *buffer, struct host_error *error) {
    if (!machine->mem_alloc_at)
        return buffer_map(&machine->driver, machine->device.handle, wanted, bytes, buffer, error);
    if (machine->mem_alloc_at(wanted, bytes) != CUDA_SUCCESS)
        return buffer_alloc(&machine->driver, bytes, buffer, error);
    *buffer = (struct buffer){.driver = &machine->driver, .address = wanted, .bytes = bytes};
    return true;
}

bool machine_windows(struct machine *machine, struct host_error *error) {
    struct windows *windows = &machine->windows;
    if (windows->shared)
        return true;
    if (!machine->sim_windows)
        return windows_read(&machine->driver, windows, error);
    return machine->sim_windows(&windows->shared, &windows->local) == CUDA_SUCCESS;
}

void machine_idle_limit(struct machine *machine, bool unlimited) {
    struct siltwin_sim_run run = machine->run;
    if (unlimited)
        run.idle_budget = UINT64_MAX;
    if (machine->set_run)
        machine->set_run(&run);
}

void machine_log_clear(struct machine *machine) {
    strbuf_clear(&machine->log);
}

void machine_close(struct machine *machine) {
    if (machine->device.driver)
        device_close(&machine->device);
    driver_close(&machine->driver);
    strbuf_free(&machine->log);
}
