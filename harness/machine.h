#ifndef SILTWIN_MACHINE_H
#define SILTWIN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "driver.h"
#include "siltwin_sim.h"
#include "strbuf.h"

/* The machine that a trace runs on: a driver, its device, and what the simulated driver offers
 * beside the API. */

struct machine_options {
    const char *device;         /* "b200" ... */
    struct siltwin_sim_run run; /* struct_bytes is set here */
    bool stats;
    siltwin_sim_progress *progress; /* NULL: none */
    void *progress_context;
};

struct machine {
    struct driver driver;
    struct device device;
    struct strbuf log; /* what the simulator said since the last machine_log_clear */
    /* Functions of the simulator. */
    siltwin_sim_set_module_name *set_module_name;
    siltwin_sim_last_fault *last_fault;
    siltwin_sim_last_report *last_report;
    siltwin_sim_stats_last *stats_last;
};

/* Where the simulated driver lies: sim/libcuda.so.1 beside the executable. False when the
 * executable's own path cannot be found. */
bool machine_simulator_path(struct strbuf *path);

/* Opens the simulator with these settings. False with a text in `error`: the machine lacks what was
 * asked. `machine` must stay where it is until it is closed. */
bool machine_open(struct machine *machine, const struct machine_options *options,
                  struct host_error *error);
void machine_log_clear(struct machine *machine);
void machine_close(struct machine *machine);

#endif
