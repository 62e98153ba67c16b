/* siltwin run: a trace, or a record again. */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "input.h"
#include "message.h"
#include "out_file.h"
#include "probe_disturb.h"
#include "record_run.h"
#include "run_document.h"
#include "run_launch.h"

struct settings {
    const char *device, *record_path;
    struct machine_options machine;
    struct run_options run;
    const char *policy;
    bool as_written, emit_ptx, no_simulator;
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
    OPT_NO_SIMULATOR,
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
    {"no-simulator", no_argument, NULL, OPT_NO_SIMULATOR},
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
    "  --no-simulator         does not run on the simulator what hangs or faults on a GPU\n"
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
    case OPT_NO_SIMULATOR: s->no_simulator = true; return true;
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
    default: return false; /* there is no other */
    }
}

static void print_summary(const struct run *run, int status) {
    if (run->options->quiet || run->options->json || status != EXIT_AS_EXPECTED)
        return;
    printf("as expected: %u launch%s, %u expectation%s\n", run->launches_done,
           run->launches_done == 1 ? "" : "es", run->expectations_met,
           run->expectations_met == 1 ? "" : "s");
}

/* Whether probes are in the text of a module: [sim] probes disturb nothing. */
static bool is_rewritten(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->modules.count; i++)
        if (trace->modules.items[i].plan)
            return true;
    return false;
}

static int exit_status_of(const struct run *run) {
    const int status = run_exit_status(run);
    return run->unexplained && status == EXIT_DIFFERENT ? RUN_LAUNCH_FAULTED : status;
}

/* What the process that talks to a GPU ends with, as users know it. */
static int public_status(int status) {
    return status == RUN_LAUNCH_FAULTED ? EXIT_DIFFERENT : status;
}

struct kept {
    struct settings *s;
    struct input *input;
};

/* The record and the document of what ran; the exit status. */
static int keep(struct settings *s, const struct input *input, const struct run *run) {
    struct strbuf error = {0};
    uint64_t digest = 0;
    int status = exit_status_of(run);
    const bool wanted = s->record_path && !run->problem_status;
    if (wanted &&
        record_run(s->record_path, input, run, run_document_head(run, &s->machine, s->policy),
                   &digest, &error) != STATUS_OK) {
        message_error("%s", strbuf_text(&error));
        status = EXIT_USAGE;
    }
    strbuf_free(&error);
    if (s->run.json)
        run_document_print(&(struct run_document){input, run, wanted ? s->record_path : NULL,
                                                  digest, NULL, public_status(status)});
    return status;
}

static void keep_unfinished(const struct run *run, void *context) {
    const struct kept *kept = context;
    keep(kept->s, kept->input, run);
}

static int run_on(struct settings *s, struct input *input, struct machine *machine,
                  struct progress *progress) {
    struct run run;
    struct kept kept = {s, input};
    s->run.timed_out = keep_unfinished;
    s->run.timed_out_context = &kept;
    run_trace(&run, machine, &input->trace, &s->run, progress);
    int status = keep(s, input, &run);
    if (status == EXIT_AS_EXPECTED && is_rewritten(&input->trace) && !s->run.quiet &&
        !s->run.json && !probe_disturb_report(&run, input))
        status = EXIT_DIFFERENT;
    print_summary(&run, status);
    run_free(&run);
    return status;
}

/* Nothing has run. */
static int not_run(const struct settings *s, const struct input *input,
                   const struct trace_error *error, int status) {
    if (s->run.json)
        run_document_print(
            &(struct run_document){.input = input, .error = error, .exit_status = status});
    return status;
}

static int run_input(struct settings *s, struct input *input) {
    struct trace_error error = {0};
    struct machine machine;
    struct progress progress;
    struct host_error host = {0};
    if (s->device)
        input->options.device = s->device;
    if (s->as_written)
        input->options.as_written = true;
    if (!input_parse(input, &error))
        return not_run(s, input, &error, error.exit_status);
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
        return not_run(s, input, &error, EXIT_MACHINE);
    }
    const int status = run_on(s, input, &machine, &progress);
    machine_close(&machine);
    progress_end(&progress);
    return status;
}

/* What the simulator says about a trace whose kernel hangs or faults on the GPU. */
static void say_what_the_simulator_knows(struct settings *s, struct input *input) {
    enum { LIMIT_S = 60 };
    if (s->no_simulator)
        return;
    message_note("this is the same trace on the simulator:");
    s->machine.gpu = false;
    s->record_path = NULL;
    s->run.quiet = true;
    s->run.json = false;
    s->run.limit_s = LIMIT_S;
    if (run_input(s, input) == EXIT_AS_EXPECTED)
        message_note("on the simulator the trace ends as expected");
}

/* A crash of the driver's compiler is no bug of ours, and leaves no core file. */
static void crash_as_the_driver(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* A GPU is talked to by a child process: a kernel that hangs ends with its process, and a compiler
 * that dies on a text takes only the child with it (an H200's did). Of a kernel that hangs or
 * faults the simulator may know more. */
static int run_child(struct settings *s, struct input *input) {
    enum { LIMIT_S = 30 };
    s->run.limit_s = LIMIT_S;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive the command */
        crash_as_the_driver();
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
        message_error("no verdict: the process that talks to the GPU's driver was ended by signal "
                      "%d (%s); run the trace on the simulator to see whether its PTX is sound",
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
        return EXIT_NO_VERDICT;
    }
    message_document_is_printed();
    if (WEXITSTATUS(status) == RUN_LAUNCH_TIMED_OUT || WEXITSTATUS(status) == RUN_LAUNCH_FAULTED)
        say_what_the_simulator_knows(s, input);
    if (WEXITSTATUS(status) == RUN_LAUNCH_TIMED_OUT)
        return EXIT_NO_VERDICT;
    return public_status(WEXITSTATUS(status));
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
    struct strbuf error = {0};
    const bool ok = !s->record_path || out_file_possible(s->record_path, &error);
    if (!ok)
        message_error("%s", strbuf_text(&error));
    strbuf_free(&error);
    return ok;
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
    setvbuf(stdout, NULL, _IOLBF, 0); /* in order with the messages, and not lost at a time limit */
    while ((option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
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
    if (settings.machine.gpu && settings.machine.stats) {
        message_error("--stats counts what the simulator does; leave it out with --on gpu");
        return EXIT_USAGE;
    }
    if (settings.emit_ptx && settings.run.json) {
        message_error("--emit-ptx prints PTX, --json a document: take one of them");
        return EXIT_USAGE;
    }
    settings.machine.as_written = settings.as_written;
    settings.machine.float_sums = settings.record_path != NULL;
    if (open_operands(&settings, &input, argc - optind, argv + optind) &&
        take_addresses(&settings, &input))
        status = settings.machine.gpu ? run_child(&settings, &input) : run_input(&settings, &input);
    input_free(&input);
    record_free(&settings.other);
    return status;
}
