/* Launches of a trace. */
#include "run_launch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "launch.h"
#include "message.h"
#include "probe_report.h"
#include "probe_run.h"
#include "stats_print.h"

/* The parameters as the entry lays them out. */
static uint8_t *pack(const struct run_memory *memory, const struct trace_launch *launch,
                     size_t *size) {
    const struct ir_module *ir = memory->trace->modules.items[launch->module].ir;
    *size = launch->entry->param_bytes;
    uint8_t *block = calloc(1, *size ? *size : 1);
    for (size_t i = 0; block && i < launch->arg_count; i++) {
        const uint64_t at =
            launch->packed ? 0 : ir->symbols[launch->entry->params[i].index].offset_bytes;
        run_memory_resolve(memory, &launch->args[i], block + at);
    }
    return block;
}

/* Where each parameter begins in that block. */
static uint32_t *param_offsets(const struct run_memory *memory, const struct trace_launch *launch) {
    const struct ir_module *ir = memory->trace->modules.items[launch->module].ir;
    const uint32_t count = launch->entry->param_count;
    uint32_t *offsets = malloc((count ? count : 1) * sizeof *offsets);
    for (uint32_t i = 0; offsets && i < count; i++)
        offsets[i] = (uint32_t)ir->symbols[launch->entry->params[i].index].offset_bytes;
    return offsets;
}

CUresult run_launch_args(const struct run_memory *memory, const struct trace_launch *launch,
                         struct run_launch_args *args, struct host_error *error) {
    size_t param_bytes;
    *args = (struct run_launch_args){0};
    CUfunction function =
        module_function(&memory->modules[launch->module], launch->entry->name, error);
    if (!function)
        return error->code;
    args->params = pack(memory, launch, &param_bytes);
    args->offsets = param_offsets(memory, launch);
    if (!args->params || !args->offsets) {
        result_message(error, "no memory left");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    args->desc = (struct launch_desc){
        .function = function,
        .dynamic_smem_bytes = launch->smem_bytes,
        .cooperative = launch->attrs & ATTR_COOPERATIVE,
        .programmatic = launch->attrs & ATTR_PROGRAMMATIC,
        .priority = launch->priority,
        .params = args->params,
        .params_bytes = param_bytes,
        .param_offsets = args->offsets,
        .param_count = launch->entry->param_count,
    };
    memcpy(args->desc.grid, launch->grid, sizeof args->desc.grid);
    memcpy(args->desc.block, launch->block, sizeof args->desc.block);
    memcpy(args->desc.cluster, launch->cluster, sizeof args->desc.cluster);
    return CUDA_SUCCESS;
}

void run_launch_args_free(struct run_launch_args *args) {
    free(args->params);
    free(args->offsets);
    *args = (struct run_launch_args){0};
}

/* Ends the process when a launch runs over its time: a simulated one cannot be stopped, and a
 * kernel on a GPU only with its process. */
struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done_signal;
    bool started, done;
    double limit_s;
    const struct trace_launch *launch;
    struct run *run;
    struct probe_run *probes;
};

static json_t *describe(const struct run *run, const struct trace_launch *launch, CUresult code);

/* The main thread waits in the driver meanwhile and touches none of this. */
static void out_of_time(struct watchdog *dog) {
    struct run *run = dog->run;
    const bool gpu = run->machine->gpu;
    struct strbuf text = {0};
    strbuf_printf(
        &text,
        "no verdict: launch %u (%s) was not done after %g s; 'timeout %gs' in the trace's "
        "launch gives it longer",
        dog->launch->number, dog->launch->entry->name, dog->limit_s, 4 * dog->limit_s);
    run->no_verdict = true;
    run->lost_at = dog->launch->number;
    run_finding(run, &dog->launch->place, "launch.timeout", strbuf_text(&text), NULL);
    json_array_append_new(run->launches, describe(run, dog->launch, CUDA_ERROR_LAUNCH_TIMEOUT));
    probe_run_rescue(dog->probes, run);
    if (run->options->timed_out)
        run->options->timed_out(run, run->options->timed_out_context);
    fflush(stdout);
    _exit(gpu ? RUN_LAUNCH_TIMED_OUT : EXIT_NO_VERDICT);
}

static void *watch(void *context) {
    struct watchdog *dog = context;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    const double seconds = dog->limit_s + (double)end.tv_nsec * 1e-9;
    end.tv_sec += (time_t)seconds;
    end.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9);
    pthread_mutex_lock(&dog->lock);
    int rc = 0;
    while (!dog->done && !rc)
        rc = pthread_cond_timedwait(&dog->done_signal, &dog->lock, &end);
    if (!dog->done)
        out_of_time(dog);
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

static void watchdog_start(struct watchdog *dog, const struct trace_launch *launch, struct run *run,
                           struct probe_run *probes) {
    *dog = (struct watchdog){
        .launch = launch,
        .limit_s = launch->timeout_s > 0 ? launch->timeout_s : run->options->limit_s,
        .run = run,
        .probes = probes,
    };
    if (dog->limit_s <= 0)
        return;
    pthread_mutex_init(&dog->lock, NULL);
    pthread_cond_init(&dog->done_signal, NULL);
    dog->started = !pthread_create(&dog->thread, NULL, watch, dog);
}

static void watchdog_stop(struct watchdog *dog) {
    if (!dog->started)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->done = true;
    pthread_cond_signal(&dog->done_signal);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
}

/* Launches and waits. The result is what the launch, or waiting for it, gave. */
static CUresult launch_and_wait(struct run *run, const struct trace_launch *launch,
                                struct probe_run *probes, struct host_error *error) {
    const struct driver *driver = &run->machine->driver;
    struct run_launch_args args;
    CUresult code = run_launch_args(&run->memory, launch, &args, error);
    if (code != CUDA_SUCCESS) {
        run_launch_args_free(&args);
        return code;
    }
    struct watchdog dog;
    machine_idle_limit(run->machine, launch->timeout_s > 0); /* then the time is the limit */
    watchdog_start(&dog, launch, run, probes);
    code = launch_kernel(driver, &args.desc, error);
    if (code == CUDA_SUCCESS && launch_wait(driver, NULL, 0, error) != LAUNCH_DONE)
        code = error->code;
    watchdog_stop(&dog);
    run_launch_args_free(&args);
    return code;
}

static const char *const end_names[] = {"done",   "fault",       "hang",
                                        "budget", "unsupported", "no_memory"};

static uint64_t cta_count(const struct trace_launch *launch) {
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

static json_t *describe(const struct run *run, const struct trace_launch *launch, CUresult code) {
    const char *name = result_name(code);
    return json_pack("{s:i, s:s, s:s, s:[i,i,i], s:[i,i,i], s:i, s:i, s:s}", "launch",
                     (int)launch->number, "module", run->trace->modules.items[launch->module].name,
                     "entry", launch->entry->name, "grid", (int)launch->grid[0],
                     (int)launch->grid[1], (int)launch->grid[2], "block", (int)launch->block[0],
                     (int)launch->block[1], (int)launch->block[2], "smem", (int)launch->smem_bytes,
                     "result", (int)code, "result_name", name ? name : "unknown");
}

static void print_done(struct run *run, const struct trace_launch *launch, double seconds) {
    if (run->options->quiet || run->options->json)
        return;
    printf("launch %u %s.%s: grid %u %u %u, block %u %u %u: done in %.3g s\n", launch->number,
           run->trace->modules.items[launch->module].name, launch->entry->name, launch->grid[0],
           launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
           seconds);
}

static void take_stats(struct run *run, const struct trace_launch *launch, json_t *json) {
    struct siltwin_sim_stats stats = {.struct_bytes = sizeof stats};
    if (!run->options->stats || run->machine->stats_last(&stats))
        return;
    json_object_set_new(json, "stats", stats_json(&stats));
    if (run->options->json)
        return;
    struct strbuf text = {0};
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    stats_print(&stats, cta_count(launch), cta_count(launch) * ((threads + 31) / 32), &text);
    fputs(strbuf_text(&text), stdout);
    strbuf_free(&text);
}

/* Whether the trace expects this end; marks that expectation as met. */
static bool expected(struct run *run, const struct trace_launch *launch, CUresult code,
                     const struct siltwin_sim_fault *fault) {
    bool any = false;
    for (uint32_t i = 0; i < run->trace->fails.count; i++) {
        const struct trace_fails *fails = &run->trace->fails.items[i];
        if (fails->launch != launch->number || fails->code != (int)code)
            continue;
        if (fails->has_line &&
            (!fault || !fault->file || fault->line != fails->line ||
             strcmp(fault->file, run->trace->modules.items[fails->module].file->shown)))
            continue;
        run->fails_met[i] = true;
        any = true;
    }
    return any;
}

static const char *const scopes[] = {[SILTWIN_SIM_SCOPE_NONE] = "",
                                     [SILTWIN_SIM_SCOPE_WARP] = "warp",
                                     [SILTWIN_SIM_SCOPE_CTA] = "cta",
                                     [SILTWIN_SIM_SCOPE_CLUSTER] = "cluster"};

static json_t *fault_json(const struct run *run, const struct siltwin_sim_fault *fault,
                          const struct trace_launch *launch) {
    const struct trace_module *module = &run->trace->modules.items[launch->module];
    json_t *json = json_pack("{s:i, s:i}", "launch", (int)launch->number, "result", fault->result);
    json_object_set_new(json, "end",
                        json_string(fault->end < sizeof end_names / sizeof *end_names
                                        ? end_names[fault->end]
                                        : "unknown"));
    json_object_set_new(json, "reason", json_string(fault->reason ? fault->reason : ""));
    if (!fault->file)
        return json;
    json_object_set_new(json, "ptx",
                        json_sprintf("%s:%u:%u", fault->file, fault->line,
                                     probe_report_column(module, fault->line, fault->column)));
    json_object_set_new(
        json, "cta",
        json_pack("[i,i,i]", (int)fault->cta[0], (int)fault->cta[1], (int)fault->cta[2]));
    json_object_set_new(json, "warp", json_integer(fault->warp));
    json_object_set_new(json, "lanes", json_sprintf("0x%08x", fault->lanes));
    if (fault->source_file)
        json_object_set_new(json, "src",
                            json_sprintf("%s:%u", fault->source_file, fault->source_line));
    if (fault->object)
        json_object_set_new(json, "object", json_string(fault->object));
    if (fault->scope && fault->scope < sizeof scopes / sizeof *scopes)
        json_object_set_new(json, "scope", json_string(scopes[fault->scope]));
    if (fault->on_mbarrier)
        json_object_set_new(json, "numbers",
                            json_pack("{s:I, s:i, s:i, s:i, s:i}", "phase",
                                      (json_int_t)fault->phase, "parity", (int)fault->parity,
                                      "pending_arrivals", (int)fault->pending, "expected_arrivals",
                                      (int)fault->expected, "pending_bytes",
                                      (int)fault->pending_bytes));
    return json;
}

static bool no_verdict(uint32_t end) {
    return end == SILTWIN_SIM_BUDGET || end == SILTWIN_SIM_UNSUPPORTED ||
           end == SILTWIN_SIM_NO_MEMORY;
}

bool run_launch_unanswered(const struct machine *machine, const struct host_error *error) {
    struct siltwin_sim_fault fault = {.struct_bytes = sizeof fault};
    if (machine->last_fault(&fault) || fault.end == SILTWIN_SIM_NO_FAULT)
        return error->code == CUDA_ERROR_NOT_SUPPORTED;
    return no_verdict(fault.end);
}

static const char *rule_of(uint32_t end) {
    switch (end) {
    case SILTWIN_SIM_HANG: return "launch.hang";
    case SILTWIN_SIM_BUDGET: return "launch.budget";
    case SILTWIN_SIM_UNSUPPORTED: return "launch.unsupported";
    case SILTWIN_SIM_NO_MEMORY: return "launch.no_memory";
    case SILTWIN_SIM_FAULT: return "launch.fault";
    default: return "launch.refused";
    }
}

/* A launch that the trace did not want to fail, or not like this. */
static void report(struct run *run, const struct trace_launch *launch,
                   const struct host_error *error, const struct siltwin_sim_fault *fault) {
    struct strbuf text = {0};
    const uint32_t end = fault          ? fault->end
                         : run->lost_at ? SILTWIN_SIM_FAULT /* a GPU says no more */
                                        : SILTWIN_SIM_NO_FAULT;
    const bool unanswered = run_launch_unanswered(run->machine, error);
    strbuf_printf(&text, "%slaunch %u (%s): %s", unanswered ? "no verdict: " : "", launch->number,
                  launch->entry->name, error->text);
    if (fault) {
        strbuf_puts(&text, "\n");
        probe_report(run->trace, run->machine->last_report(), &text);
    } else if (run->machine->log.length) {
        strbuf_printf(&text, "\n%s", strbuf_text(&run->machine->log));
    }
    while (text.length && text.text[text.length - 1] == '\n')
        text.text[--text.length] = '\0';
    if (end == SILTWIN_SIM_BUDGET)
        strbuf_puts(&text, "\n'timeout 10m' in the trace's launch lets it run on for that long");
    if (unanswered)
        run->no_verdict = true;
    else
        run->differs = true;
    run->unexplained = run->machine->gpu;
    run_finding(run, &launch->place, rule_of(end), strbuf_text(&text),
                fault ? fault_json(run, fault, launch) : NULL);
    strbuf_free(&text);
}

static void launch_failed(struct run *run, const struct trace_launch *launch, CUresult code,
                          const struct host_error *error, json_t *json) {
    struct siltwin_sim_fault fault = {.struct_bytes = sizeof fault};
    struct host_error again = {0};
    const bool has_fault = !run->machine->last_fault(&fault) && fault.end != SILTWIN_SIM_NO_FAULT;
    if (has_fault)
        json_object_set_new(json, "fault", fault_json(run, &fault, launch));
    if (!device_synchronize(&run->machine->device, &again))
        run->lost_at = launch->number;
    if (expected(run, launch, code, has_fault ? &fault : NULL)) {
        if (!run->options->quiet && !run->options->json)
            printf("launch %u %s: fails as expected: %s\n", launch->number, launch->entry->name,
                   result_name(code) ? result_name(code) : "unknown result");
    } else {
        report(run, launch, error, has_fault ? &fault : NULL);
    }
}

void run_launch(struct run *run, const struct trace_launch *launch) {
    struct host_error error = {0};
    machine_log_clear(run->machine);
    progress_start(run->progress, "launch %u of %u %s", launch->number, run->trace->launches.count,
                   launch->entry->name);
    const double started = progress_seconds();
    struct probe_run probes;
    CUresult code = CUDA_ERROR_UNKNOWN;
    if (probe_run_begin(&probes, run, launch, &error))
        code = launch_and_wait(run, launch, &probes, &error);
    run->launch_seconds += progress_seconds() - started;
    progress_clear(run->progress);
    json_t *json = describe(run, launch, code);
    run->launches_done++;
    if (code == CUDA_SUCCESS)
        print_done(run, launch, progress_seconds() - started);
    else
        launch_failed(run, launch, code, &error, json);
    probe_run_end(&probes, run, code != CUDA_SUCCESS);
    if (!run->lost_at)
        take_stats(run, launch, json);
    json_array_append_new(run->launches, json);
}
