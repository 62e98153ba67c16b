#ifndef SILTWIN_MACHINE_H
#define SILTWIN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "device.h"
#include "driver.h"
#include "siltwin_sim.h"
#include "siltwin_watch.h"
#include "strbuf.h"
#include "windows.h"

/* The machine that a trace runs on: a driver, its device, and what the simulated driver offers
 * beside the API. */

struct machine_options {
    const char *device;         /* "b200" ...: the simulator's model, or what a GPU must be */
    bool gpu;                   /* the machine's own driver instead of the simulator */
    bool as_written;            /* a GPU gets the text without line information */
    struct siltwin_sim_run run; /* struct_bytes is set here */
    bool stats;
    bool float_sums;                /* the simulator keeps which elements are sums of atomics */
    siltwin_sim_progress *progress; /* NULL: none */
    void *progress_context;
};

struct machine {
    struct driver driver;
    struct device device;
    bool gpu, line_info;
    struct strbuf log;            /* what the simulator said since the last machine_log_clear */
    struct siltwin_sim_run run;   /* how the simulator's launches run */
    siltwin_sim_set_run *set_run; /* NULL on a GPU */
    /* Functions of the simulator; on a GPU ones that know nothing. */
    siltwin_sim_set_module_name *set_module_name;
    siltwin_sim_last_fault *last_fault;
    siltwin_sim_last_report *last_report;
    siltwin_sim_stats_last *stats_last;
    siltwin_sim_set_events *set_events;     /* NULL on a GPU */
    siltwin_sim_mem_alloc_at *mem_alloc_at; /* NULL on a GPU */
    siltwin_sim_float_sums *float_sums;     /* NULL on a GPU, and where nobody asked */
    siltwin_sim_windows *sim_windows;       /* NULL on a GPU */
    /* NULL on a GPU, these too. */
    siltwin_sim_set_watch *set_watch;
    siltwin_sim_watch_register *watch_register;
    siltwin_sim_watch_operand *watch_operand;
    siltwin_sim_watch_param *watch_param;
    siltwin_sim_watch_global *watch_global;
    siltwin_sim_watch_shared *watch_shared;
    siltwin_sim_watch_shared_first *watch_shared_first;
    siltwin_sim_watch_tmem *watch_tmem;
    struct windows windows; /* of machine_windows */
};

/* Where the simulated driver lies: sim/libcuda.so.1 beside the executable. False when the
 * executable's own path cannot be found. */
bool machine_simulator_path(struct strbuf *path);

/* Opens the simulator with these settings, or the GPU. False with a text in `error`: the machine
 * lacks what was asked. `machine` must stay where it is until it is closed. */
bool machine_open(struct machine *machine, const struct machine_options *options,
                  struct host_error *error);
/* Device memory at `wanted` (a multiple of BUFFER_RESERVE_BYTES) where the machine can, else
 * anywhere. */
bool machine_alloc_at(const struct machine *machine, uint64_t wanted, uint64_t bytes,
                      struct buffer *buffer, struct host_error *error);
/* Fills machine->windows, once; a GPU runs a small kernel for it. */
bool machine_windows(struct machine *machine, struct host_error *error);
/* How long the simulator lets a launch go on without a side effect: its own number of warp
 * instructions, or (`unlimited`) for ever, because something else ends it. */
void machine_idle_limit(struct machine *machine, bool unlimited);
void machine_log_clear(struct machine *machine);
void machine_close(struct machine *machine);

#endif
