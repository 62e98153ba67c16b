/* siltwin run: a trace, or a record again. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "input.h"
#include "message.h"
#include "probe_disturb.h"
#include "record_run.h"
#include "run_launch.h"
#include "version.h"

struct settings {
    const char *device, *record_path;
    struct machine_options machine;
    struct run_options run;
    const char *policy;
    bool as_written, emit_ptx;
    const char *like;    /* a record whose addresses are wanted */
    struct record other; /* that record */
    const char *allowed[16];
    int allowed_count;
};

enum {
    OPT_ON = 256,
    OPT_DEVICE,
    OPT_STATS,
    OPT_POLICY,
    OPT_JOBS,
    OPT_RESIDENT,
    OPT_AS_WRITTEN,
    OPT_QUIET,
    OPT_JSON,
    OPT_ALLOW_PATH,
    OPT_EMIT_PTX,
    OPT_ADDRESSES,
    OPT_HELP
};

static const struct option options[] = {
    {"on", required_argument, NULL, OPT_ON},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"stats", no_argument, NULL, OPT_STATS},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"resident", required_argument, NULL, OPT_RESIDENT},
    {"as-written", no_argument, NULL, OPT_AS_WRITTEN},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"json", no_argument, NULL, OPT_JSON},
    {"allow-path", required_argument, NULL, OPT_ALLOW_PATH},
    {"emit-ptx", no_argument, NULL, OPT_EMIT_PTX},
    {"addresses", required_argument, NULL, OPT_ADDRESSES},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "usage: siltwin run TRACE|RECORD [NAME=VALUE...] [options]\n\n"
    "Runs a trace and checks what it expects; a record is run again.\n\n"
    "  --on sim|gpu           where to run: the simulator, or this machine's GPU\n"
    "  --device b200|h200|h100  the device model, instead of the trace's\n"
    "  -o RECORD              writes a record of the run\n"
    "  --stats                counters of each launch\n"
    "  --policy eager|lazy|random:SEED  when asynchronous operations complete\n"
    "  --jobs N               host threads (default: all cores)\n"
    "  --resident N           CTAs of one SM that run together (default: one at a time)\n"
    "  --as-written           loads the PTX unchanged: no .rn on unrounded add, sub, mul\n"
    "  --emit-ptx             prints the modules' text as it would be loaded, runs nothing\n"
    "  --addresses RECORD     puts the buffers where that record had them\n"
    "  --allow-path DIR       lets the trace read files below DIR\n"
    "  --quiet                only what is not as expected\n"
    "  --json                 one JSON document on stdout\n";

static bool set_number(const char *option, const char *text, uint32_t high, uint32_t *value) {
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end || *text == '-' || number < 1 || number > high) {
        message_error("%s expects a number from 1 to %u, found '%s'", option, high, text);
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

static bool set_policy(struct settings *s, const char *text) {
    char *end;
    s->policy = text;
    if (!strcmp(text, "eager")) {
        s->machine.run.policy = SILTWIN_SIM_EAGER;
    } else if (!strcmp(text, "lazy")) {
        s->machine.run.policy = SILTWIN_SIM_LAZY;
    } else if (!strncmp(text, "random:", 7)) {
        s->machine.run.policy = SILTWIN_SIM_RANDOM;
        s->machine.run.policy_seed = strtoull(text + 7, &end, 0);
        if (end != text + 7 && !*end)
            return true;
        message_error("--policy random:SEED expects a number, found '%s'", text + 7);
        return false;
    } else {
        message_error("--policy expects eager, lazy or random:SEED, found '%s'", text);
        return false;
    }
    return true;
}

static bool set_place(struct settings *s, const char *text) {
    s->machine.gpu = !strcmp(text, "gpu");
    if (s->machine.gpu || !strcmp(text, "sim"))
        return true;
    message_error("--on expects sim or gpu, found '%s'", text);
    return false;
}

static bool set_option(struct settings *s, int option) {
    switch (option) {
    case 'o': s->record_path = optarg; return true;
    case OPT_ON: return set_place(s, optarg);
    case OPT_DEVICE: s->device = optarg; return true;
    case OPT_STATS: s->machine.stats = s->run.stats = true; return true;
    case OPT_POLICY: return set_policy(s, optarg);
    case OPT_JOBS: return set_number("--jobs", optarg, 1024, &s->machine.run.jobs);
    case OPT_RESIDENT: return set_number("--resident", optarg, 32, &s->machine.run.resident);
    case OPT_AS_WRITTEN: s->as_written = true; return true;
    case OPT_EMIT_PTX: s->emit_ptx = true; return true;
    case OPT_ADDRESSES: s->like = optarg; return true;
    case OPT_QUIET: s->run.quiet = true; return true;
    case OPT_JSON: s->run.json = true; return true;
    case OPT_ALLOW_PATH:
        if (s->allowed_count < (int)(sizeof s->allowed / sizeof *s->allowed)) {
            s->allowed[s->allowed_count++] = optarg;
            return true;
        }
        message_error("too many --allow-path");
        return false;
    default: return false; /* getopt has said what is wrong */
    }
}

static void print_document(const struct run *run, const struct input *input, const char *record,
                           uint64_t digest, const struct trace_error *error, int status) {
    json_t *json = json_pack("{s:s, s:s, s:i}", "schema", "siltwin.run/1", "trace",
                             input->main ? input->main->name : "", "exit_status", status);
    if (run) {
        json_object_set_new(json, "device", json_string(input->trace.device));
        json_object_set(json, "launches", run->launches);
        json_object_set(json, "expectations", run->expectations);
        json_object_set(json, "findings", run->findings);
    }
    if (error)
        json_object_set_new(json, "error",
                            json_pack("{s:s, s:s, s:i, s:i}", "text", error->text, "file",
                                      error->place.file ? error->place.file->name : "", "line",
                                      (int)error->place.line, "column", (int)error->place.column));
    if (record) {
        json_object_set_new(json, "record", json_string(record));
        json_object_set_new(json, "digest", json_sprintf("0x%016" PRIx64, digest));
    }
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
    fputc('\n', stdout);
    json_decref(json);
}

/* What the modules' compiler said, by module. */
static json_t *jit_logs(const struct run *run) {
    json_t *logs = json_object();
    for (uint32_t i = 0; run->memory.modules && i < run->trace->modules.count; i++)
        json_object_set_new(
            logs, run->trace->modules.items[i].name,
            json_string(run->memory.modules[i].log ? run->memory.modules[i].log : ""));
    return logs;
}

static json_t *head_json(const struct settings *s, const struct machine *machine,
                         const struct run *run) {
    char date[32];
    struct tm utc;
    const time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:o, s:o}", "siltwin",
                     SILTWIN_VERSION, "on", s->machine.gpu ? "gpu" : "sim", "device_name",
                     machine->device.name, "driver_version", machine->driver.version, "date", date,
                     "policy", s->policy, "jobs", (int)s->machine.run.jobs, "resident",
                     (int)s->machine.run.resident, "jit_log", jit_logs(run), "addresses",
                     run_memory_addresses(&run->memory));
}

static void print_summary(const struct run *run, int status) {
    if (run->options->quiet || run->options->json || status != EXIT_AS_EXPECTED)
        return;
    printf("as expected: %u launch%s, %u expectation%s\n", run->launches_done,
           run->launches_done == 1 ? "" : "es", run->expectations_met,
           run->expectations_met == 1 ? "" : "s");
}

static int run_on(struct settings *s, struct input *input, struct machine *machine,
                  struct progress *progress) {
    struct run run;
    struct strbuf error = {0};
    uint64_t digest = 0;
    run_trace(&run, machine, &input->trace, &s->run, progress);
    int status = run_exit_status(&run);
    if (s->record_path && !run.problem_status &&
        record_run(s->record_path, input, &run, head_json(s, machine, &run), &digest, &error) !=
            STATUS_OK) {
        message_error("%s", strbuf_text(&error));
        status = EXIT_USAGE;
    }
    strbuf_free(&error);
    if (s->run.json)
        print_document(&run, input, s->record_path, digest, NULL, status);
    if (status == EXIT_AS_EXPECTED && run.stream_count && !s->run.quiet && !s->run.json &&
        !probe_disturb_report(&run, input))
        status = EXIT_DIFFERENT;
    print_summary(&run, status);
    run_free(&run);
    return status;
}

static int run_input(struct settings *s, struct input *input) {
    struct trace_error error;
    struct machine machine;
    struct progress progress;
    struct host_error host = {0};
    if (s->device)
        input->options.device = s->device;
    if (s->as_written)
        input->options.as_written = true;
    if (!input_parse(input, &error)) {
        if (s->run.json)
            print_document(NULL, input, NULL, 0, &error, error.exit_status);
        return error.exit_status;
    }
    if (s->emit_ptx) {
        for (uint32_t i = 0; i < input->trace.modules.count; i++)
            fwrite(input->trace.modules.items[i].loaded, 1,
                   input->trace.modules.items[i].loaded_bytes, stdout);
        return EXIT_AS_EXPECTED;
    }
    progress_init(&progress, s->run.quiet);
    s->machine.device = input->trace.device;
    s->machine.progress = progress_ctas;
    s->machine.progress_context = &progress;
    if (!machine_open(&machine, &s->machine, &host)) {
        progress_end(&progress);
        message_error("%s", host.text);
        snprintf(error.text, sizeof error.text, "%s", host.text);
        if (s->run.json)
            print_document(NULL, input, NULL, 0, &error, EXIT_MACHINE);
        return EXIT_MACHINE;
    }
    const int status = run_on(s, input, &machine, &progress);
    machine_close(&machine);
    progress_end(&progress);
    return status;
}

/* A GPU is talked to by a child process: a kernel that hangs ends with its process, and a compiler
 * that dies on a text takes only the child with it (an H200's did). Of a hanging kernel the
 * simulator may know more. */
static int run_child(struct settings *s, struct input *input) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int status = run_input(s, input);
        fflush(NULL);
        _exit(status);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        message_error("the process for the GPU cannot be started");
        return EXIT_MACHINE;
    }
    if (WIFSIGNALED(status)) {
        message_error("no verdict: the GPU's driver ended its process by signal %d (%s)",
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
        return EXIT_NO_VERDICT;
    }
    if (WEXITSTATUS(status) != RUN_LAUNCH_TIMED_OUT)
        return WEXITSTATUS(status);
    message_error("the kernel did not end on the GPU; this is the same trace on the simulator:");
    s->machine.gpu = false;
    s->record_path = NULL;
    s->run.quiet = true;
    if (run_input(s, input) == EXIT_AS_EXPECTED)
        message_error("on the simulator the trace ends as expected");
    return EXIT_NO_VERDICT;
}

/* The trace and the overrides behind the options; false: said. */
static bool open_operands(struct settings *s, struct input *input, int count, char **operands) {
    if (count < 1) {
        message_error("run expects a trace or a record");
        return false;
    }
    if (!input_open(input, operands[0]))
        return false;
    for (int i = 0; i < s->allowed_count; i++)
        if (file_set_allow(&input->files, s->allowed[i]) != STATUS_OK) {
            message_error("--allow-path: there is no folder '%s'", s->allowed[i]);
            return false;
        }
    for (int i = 1; i < count; i++)
        if (!input_override(input, operands[i]))
            return false;
    return true;
}

/* The addresses of the record that is run again, or of the one that --addresses names. */
static bool take_addresses(struct settings *s, const struct input *input) {
    struct strbuf error = {0};
    const json_t *head = input->record.head;
    const bool ok = !s->like || record_load(s->like, &s->other, &error) == STATUS_OK;
    if (!ok)
        message_error("--addresses: %s", strbuf_text(&error));
    strbuf_free(&error);
    if (ok && s->like)
        head = s->other.head;
    s->run.addresses = json_object_get(head, "addresses");
    return ok;
}

int cmd_run(int argc, char **argv) {
    struct settings settings = {.policy = "eager"};
    struct input input = {0};
    int option, status = EXIT_USAGE;
    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        if (option == OPT_HELP || option == 'h') {
            fputs(help, stdout);
            return EXIT_AS_EXPECTED;
        }
        if (!set_option(&settings, option))
            return status;
    }
    if (settings.machine.gpu && settings.machine.stats) {
        message_error("--stats counts what the simulator does; leave it out with --on gpu");
        return EXIT_USAGE;
    }
    settings.machine.as_written = settings.as_written;
    if (open_operands(&settings, &input, argc - optind, argv + optind) &&
        take_addresses(&settings, &input))
        status = settings.machine.gpu ? run_child(&settings, &input) : run_input(&settings, &input);
    else if (settings.run.json)
        print_document(NULL, &input, NULL, 0, NULL, status);
    input_free(&input);
    record_free(&settings.other);
    return status;
}
