/* siltwin bench: how long the launches of a trace take. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "commands.h"
#include "input.h"
#include "message.h"
#include "run_launch.h"
#include "tool_path.h"

struct settings {
    const char *device, *cublas_path;
    struct machine_options machine;
    unsigned warmups, repeats; /* repeats 0: 50 on a GPU, 3 on the simulator */
    bool json;
};

enum { OPT_ON = 256, OPT_DEVICE, OPT_WARMUPS, OPT_REPEATS, OPT_CUBLAS, OPT_JSON, OPT_HELP };

static const struct option options[] = {
    {"on", required_argument, NULL, OPT_ON},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"warmups", required_argument, NULL, OPT_WARMUPS},
    {"repeats", required_argument, NULL, OPT_REPEATS},
    {"cublas", required_argument, NULL, OPT_CUBLAS},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "usage: siltwin bench TRACE [NAME=VALUE...] [options]\n\n"
    "Times each launch of a trace: warm-ups, then repeats between two events, with buffers that "
    "take\n"
    "turns so that none is still in the L2. Says TFLOP/s where the trace expects a matrix product, "
    "and\n"
    "on a GPU the share of cuBLAS for the same product in the same process. What a trace expects "
    "is\n"
    "not checked: siltwin run does that. The simulator models no time: there it is the host's.\n\n"
    "  --on sim|gpu           where to run\n"
    "  --device b200|h200|h100  the device model, instead of the trace's\n"
    "  --warmups N            untimed launches before (default 5; 0 on the simulator)\n"
    "  --repeats N            timed launches, 1 to 10000 (default 50; 3 on the simulator)\n"
    "  --cublas PATH          libcublas, where it is not found by its name\n"
    "  --json                 one JSON document on stdout\n";

static bool set_number(const char *option, const char *text, unsigned low, unsigned *value) {
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || *text == '-' || number < low || number > 10000) {
        message_error("%s expects a number from %u to 10000, found '%s'", option, low, text);
        return false;
    }
    *value = (unsigned)number;
    return true;
}

static bool set_option(struct settings *s, int option) {
    switch (option) {
    case OPT_ON:
        s->machine.gpu = !strcmp(optarg, "gpu");
        if (s->machine.gpu || !strcmp(optarg, "sim"))
            return true;
        message_error("--on expects sim or gpu, found '%s'", optarg);
        return false;
    case OPT_DEVICE: s->device = optarg; return true;
    case OPT_WARMUPS: return set_number("--warmups", optarg, 0, &s->warmups);
    case OPT_REPEATS: return set_number("--repeats", optarg, 1, &s->repeats);
    case OPT_CUBLAS: s->cublas_path = optarg; return true;
    case OPT_JSON: s->json = true; return true;
    default: return false; /* there is no other */
    }
}

/* A line of results, also added to the document. */
static void report(const struct settings *s, json_t *list, const char *name, const struct timing *t,
                   double flop) {
    const double tflops = flop / (t->median_ms * 1e-3) * 1e-12;
    json_t *json = json_pack("{s:s, s:f, s:f, s:f, s:f, s:i}", "name", name, "median_ms",
                             t->median_ms, "min_ms", t->min_ms, "max_ms", t->max_ms, "spread",
                             t->spread, "repeats", (int)t->repeats);
    if (flop > 0)
        json_object_set_new(json, "tflops", json_real(tflops));
    json_array_append_new(list, json);
    if (s->json)
        return;
    printf("%-40s median %.4g ms, spread %.1f %%, %.4g to %.4g ms", name, t->median_ms,
           100 * t->spread, t->min_ms, t->max_ms);
    if (flop > 0)
        printf(", %.4g TFLOP/s", tflops);
    putchar('\n');
}

static void print_head(const struct settings *s, const struct bench *bench) {
    const struct machine *machine = bench->machine;
    if (s->json)
        return;
    if (machine->gpu)
        printf("on %s, driver %d.%d: %u sets of buffers in turn, %.1f MiB each, L2 %.1f MiB; %zu "
               "warm-ups, %zu repeats\n",
               machine->device.name, machine->driver.version / 1000,
               machine->driver.version % 1000 / 10, bench->set_count,
               (double)bench->set_bytes / 1048576, (double)bench->l2_bytes / 1048576,
               bench->warmups, bench->repeats);
    else
        printf("on the simulator: the times are this host's, no GPU's; %zu warm-ups, %zu "
               "repeats\n",
               bench->warmups, bench->repeats);
}

/* cuBLAS for the product that the trace expects, and what share of it the launch reaches. */
static void compare(const struct settings *s, struct bench *bench,
                    const struct bench_matmul *matmul, double launch_ms, json_t *list) {
    struct cublas cublas;
    struct timing timing;
    struct host_error error = {0};
    char name[60];
    const double flop = 2.0 * (double)matmul->m * (double)matmul->n * (double)matmul->k;
    char found[TOOL_PATH_BYTES];
    const char *path = s->cublas_path;
    if (!path && tool_path_cublas(found))
        path = found;
    const bool open = cublas_open(&cublas, path, &error);
    if (open && bench_cublas(bench, &cublas, matmul, &timing, &error)) {
        snprintf(name, sizeof name, "cuBLAS %d.%d.%d", cublas.version / 10000,
                 cublas.version / 100 % 100, cublas.version % 100);
        report(s, list, name, &timing, flop);
        if (!s->json)
            printf("the launch reaches %.1f %% of cuBLAS\n", 100 * timing.median_ms / launch_ms);
    } else if (!s->json) {
        printf("no comparison with cuBLAS: %s\n", error.text);
    }
    if (open)
        cublas_close(&cublas);
}

/* A kernel that hangs on a GPU ends with the process. */
static int launch_failed(const struct settings *s, const struct bench *bench, const char *name,
                         const struct host_error *error) {
    const bool unanswered = bench->timed_out || run_launch_unanswered(bench->machine, error);
    const char *report = bench->machine->last_report();
    message_error("%s%s: %s%s%s", unanswered ? "no verdict: " : "", name, error->text,
                  *report ? "\n" : "", report);
    if (bench->timed_out) {
        if (s->json)
            message_missing_document("bench", EXIT_NO_VERDICT);
        fflush(NULL);
        _exit(EXIT_NO_VERDICT);
    }
    return unanswered ? EXIT_NO_VERDICT : EXIT_DIFFERENT;
}

static int time_launches(const struct settings *s, struct bench *bench, json_t *list) {
    const struct trace *trace = bench->trace;
    struct bench_matmul matmul;
    struct host_error error = {0};
    const bool product = bench_find_matmul(trace, &matmul) && trace->launches.count == 1;
    const double flop = product ? 2.0 * (double)matmul.m * (double)matmul.n * (double)matmul.k : 0;
    print_head(s, bench);
    for (uint32_t i = 0; i < trace->launches.count; i++) {
        const struct trace_launch *launch = &trace->launches.items[i];
        struct timing timing;
        char name[200];
        snprintf(name, sizeof name, "launch %u %s.%s", launch->number,
                 trace->modules.items[launch->module].name, launch->entry->name);
        if (!bench_launch(bench, launch, &timing, &error))
            return launch_failed(s, bench, name, &error);
        report(s, list, name, &timing, flop);
        if (product && bench->machine->gpu)
            compare(s, bench, &matmul, timing.median_ms, list);
    }
    return EXIT_AS_EXPECTED;
}

static int bench_on(const struct settings *s, struct input *input, struct machine *machine) {
    struct run_problem problem = {0};
    struct bench bench = {.warmups = s->warmups, .repeats = s->repeats};
    json_t *list = json_array();
    int status;
    if (bench_open(&bench, machine, &input->trace, &problem)) {
        status = time_launches(s, &bench, list);
    } else {
        status = problem.exit_status ? problem.exit_status : EXIT_MACHINE;
        message_error("%s", strbuf_text(&problem.text));
    }
    if (s->json) {
        json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:O}", "schema", "siltwin.bench/1",
                                 "trace", input->main->name, "on", s->machine.gpu ? "gpu" : "sim",
                                 "device", machine->device.name, "driver", machine->driver.version,
                                 "sets", (int)bench.set_count, "results", list);
        message_document(json);
    }
    json_decref(list);
    bench_free(&bench);
    strbuf_free(&problem.text);
    return status;
}

static int bench_input(struct settings *s, struct input *input) {
    struct trace_error error;
    struct machine machine;
    struct host_error host = {0};
    if (s->device)
        input->options.device = s->device;
    if (!input_parse(input, &error))
        return error.exit_status;
    if (input->trace.probes.count) {
        message_error("bench times kernels as they are: this trace has probes");
        return EXIT_USAGE;
    }
    s->machine.device = input->trace.device;
    if (!machine_open(&machine, &s->machine, &host)) {
        message_error("%s", host.text);
        return EXIT_MACHINE;
    }
    const int status = bench_on(s, input, &machine);
    machine_close(&machine);
    return status;
}

int cmd_bench(int argc, char **argv) {
    struct settings settings = {.warmups = UINT32_MAX};
    struct input input = {0};
    int option, status = EXIT_USAGE;
    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == OPT_HELP || option == 'h') {
            fputs(help, stdout);
            return EXIT_AS_EXPECTED;
        }
        if (option == ':' || option == '?') {
            message_option(option, argv);
            return EXIT_USAGE;
        }
        if (!set_option(&settings, option))
            return status;
    }
    if (settings.warmups == UINT32_MAX)
        settings.warmups = settings.machine.gpu ? 5 : 0;
    if (settings.repeats == 0)
        settings.repeats = settings.machine.gpu ? 50 : 3;
    if (optind >= argc) {
        message_error("bench expects a trace");
        return status;
    }
    bool good = input_open(&input, argv[optind]);
    for (int i = optind + 1; good && i < argc; i++)
        good = input_override(&input, argv[i]);
    if (good)
        status = bench_input(&settings, &input);
    input_free(&input);
    return status;
}
