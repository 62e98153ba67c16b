/* siltwin diff: two records; or a trace on the simulator and on the GPU, or against a record. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "diff.h"
#include "input.h"
#include "message.h"

enum { OPT_QUIET = 256, OPT_JSON, OPT_AGAINST, OPT_REPEAT, OPT_PASSED, OPT_PASSED_FLAG, OPT_HELP };
enum { MAX_REPEAT = 64, MAX_WORDS = 64 };

static const char help[] =
    "usage: siltwin diff A.rec B.rec [--quiet] [--json]\n"
    "       siltwin diff TRACE [NAME=VALUE...] [--repeat N] [options of run]\n"
    "       siltwin diff TRACE [NAME=VALUE...] --against REC [options of run]\n\n"
    "Compares what probes saw and then the final buffers, bit by bit: of two records, of a trace "
    "on\n"
    "the simulator and on this machine's GPU, or of a trace on the simulator and a record. Names "
    "the\n"
    "first event that differs, and the first element of each buffer.\n\n"
    "  --against RECORD       the other side, instead of the GPU\n"
    "  --repeat N             runs on the GPU N times: what varies there is no difference\n"
    "  --device, --policy, --jobs, --resident, --as-written, --allow-path as in run\n"
    "  --quiet                only differences\n"
    "  --json                 one JSON document on stdout\n\n"
    "Each difference is of a class: differs, unordered (a race), downstream (it follows from "
    "allowed\n"
    "ones), unstable (the GPU does not repeat it), bounded (an approximate result within its "
    "bound),\n"
    "legal (clocks, ids, order of atomics, contraction ...); traces/README.md says more.\n\n"
    "Exit status 0 equal, or unstable, bounded and legal differences alone; 1 different or "
    "unordered;\n"
    "3 no GPU; 4 no verdict, downstream differences among it.\n";

struct settings {
    const char *against;
    unsigned repeat;
    bool device_given;
    char *passed[MAX_WORDS]; /* words for run */
    int passed_count;
    const char *like; /* the record of the other side: the simulator takes its addresses */
    char like_made[32];
    int like_file; /* of `like` when it was made here, else -1 */
};

static bool pass(struct settings *s, const char *word) {
    if (s->passed_count < MAX_WORDS)
        s->passed[s->passed_count] = strdup(word);
    return s->passed_count < MAX_WORDS && s->passed[s->passed_count++];
}

/* `siltwin run TRACE ... -o RECORD` in a process of its own; its exit status. */
static int run(const struct settings *s, const char *trace, bool gpu, const char *record) {
    const char *words[MAX_WORDS + 13] = {"run", trace};
    int count = 2;
    for (int i = 0; i < s->passed_count; i++)
        words[count++] = s->passed[i];
    words[count++] = "--quiet";
    words[count++] = "--on";
    words[count++] = gpu ? "gpu" : "sim";
    words[count++] = "-o";
    words[count++] = record;
    if (gpu)
        words[count++] = "--no-simulator"; /* its turn comes */
    if (s->like) {
        words[count++] = "--addresses";
        words[count++] = s->like;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive the command */
        optind = 0;                       /* getopt begins anew */
        const int status = cmd_run(count, (char **)(uintptr_t)words);
        fflush(NULL);
        _exit(status);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        message_error("the process for a run cannot be started");
        return EXIT_MACHINE;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    message_error("no verdict: a run was ended by signal %d (%s)", WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    return EXIT_NO_VERDICT;
}

/* Runs and reads the record, which lies in memory (`*file`, to be closed). A run that did not end
 * as expected has a record all the same: then EXIT_AS_EXPECTED, and what differs is for the
 * comparison to say. */
static int make(const struct settings *s, const char *trace, bool gpu, struct record *record,
                int *file) {
    char path[32];
    struct stat info;
    struct strbuf error = {0};
    *file = memfd_create("record", 0);
    if (*file < 0) {
        message_error("no memory for a record: %s", strerror(errno));
        return EXIT_MACHINE;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", *file);
    const int status = run(s, trace, gpu, path);
    if (status != EXIT_AS_EXPECTED && (fstat(*file, &info) || !info.st_size))
        return status;
    const bool ok = record_load(path, record, &error) == STATUS_OK;
    if (!ok)
        message_error("%s", strbuf_text(&error));
    strbuf_free(&error);
    return ok ? EXIT_AS_EXPECTED : EXIT_USAGE;
}

static int load(const char *path, struct record *record) {
    struct strbuf error = {0};
    const bool ok = record_load(path, record, &error) == STATUS_OK;
    if (!ok)
        message_error("%s", strbuf_text(&error));
    strbuf_free(&error);
    return ok ? EXIT_AS_EXPECTED : EXIT_USAGE;
}

/* The device and the constants of a record hold for the run that is compared with it. */
static bool run_like(struct settings *s, const struct record *record) {
    const char *device = json_string_value(json_object_get(record->trace, "device")), *name;
    bool ok = true;
    json_t *value;
    struct strbuf word = {0};
    if (device && !s->device_given)
        ok = pass(s, "--device") && pass(s, device);
    json_object_foreach(json_object_get(record->trace, "overrides"), name, value) {
        strbuf_clear(&word);
        strbuf_printf(&word, "%s=%" JSON_INTEGER_FORMAT, name, json_integer_value(value));
        bool given = false;
        for (int i = 0; i < s->passed_count && !given; i++)
            given = !strncmp(s->passed[i], word.text, strlen(name) + 1);
        ok = ok && (given || pass(s, strbuf_text(&word)));
    }
    strbuf_free(&word);
    return ok;
}

/* The other side of a trace: a record, or the GPU, `repeat` times. */
static int other_side(struct settings *s, const char *trace, struct record *b, struct record *again,
                      size_t *again_count) {
    if (s->against) {
        const int status = load(s->against, b);
        s->like = s->against;
        return status == EXIT_AS_EXPECTED && !run_like(s, b) ? EXIT_USAGE : status;
    }
    int file, status = make(s, trace, true, b, &s->like_file);
    snprintf(s->like_made, sizeof s->like_made, "/proc/self/fd/%d", s->like_file);
    s->like = s->like_made;
    while (status == EXIT_AS_EXPECTED && *again_count + 1 < s->repeat) {
        status = make(s, trace, true, &again[*again_count], &file);
        *again_count += status == EXIT_AS_EXPECTED;
        close(file);
    }
    return status;
}

static int diff_trace(struct settings *s, struct diff d, const char *trace) {
    struct record a = {0}, b = {0}, again[MAX_REPEAT] = {0};
    s->like_file = -1;
    int file = -1, status = other_side(s, trace, &b, again, &d.again_count);
    if (status == EXIT_AS_EXPECTED)
        status = make(s, trace, false, &a, &file);
    close(file);
    close(s->like_file);
    if (status == EXIT_AS_EXPECTED) {
        d.a = &a;
        d.b = &b;
        d.again = again;
        d.a_name = "sim";
        d.b_name = s->against ? s->against : "gpu";
        diff_records(&d);
        status = d.status;
    }
    record_free(&a);
    record_free(&b);
    for (size_t i = 0; i < d.again_count; i++)
        record_free(&again[i]);
    return status;
}

static int diff_two(struct diff d, char **names) {
    struct record a = {0}, b = {0};
    int status = load(names[0], &a);
    if (status == EXIT_AS_EXPECTED)
        status = load(names[1], &b);
    if (status == EXIT_AS_EXPECTED) {
        d.a = &a;
        d.b = &b;
        d.a_name = names[0];
        d.b_name = names[1];
        diff_records(&d);
        status = d.status;
    }
    record_free(&a);
    record_free(&b);
    return status;
}

static bool set_option(struct settings *s, struct diff *d, int option, const char *name) {
    char *end;
    struct strbuf word = {0};
    switch (option) {
    case OPT_QUIET: d->quiet = true; return true;
    case OPT_JSON: d->json = true; return true;
    case OPT_AGAINST: s->against = optarg; return true;
    case OPT_REPEAT:
        s->repeat = (unsigned)strtoul(optarg, &end, 10);
        if (!*end && s->repeat >= 1 && s->repeat <= MAX_REPEAT)
            return true;
        message_error("--repeat expects a number from 1 to %d, found '%s'", MAX_REPEAT, optarg);
        return false;
    case OPT_PASSED:
    case OPT_PASSED_FLAG:
        strbuf_printf(&word, "--%s", name);
        s->device_given = s->device_given || !strcmp(name, "device");
        const bool ok =
            pass(s, strbuf_text(&word)) && (option == OPT_PASSED_FLAG || pass(s, optarg));
        strbuf_free(&word);
        return ok;
    default: return false; /* there is no other */
    }
}

static int compare(struct settings *s, struct diff *d, int count, char **operands) {
    if (s->against && s->repeat > 1) {
        message_error("--repeat is about the GPU; a record does not run again");
        return EXIT_USAGE;
    }
    if (count == 2 && !s->against && !strchr(operands[1], '=')) {
        if (!s->passed_count && s->repeat == 1)
            return diff_two(*d, operands);
        message_error("two records are compared as they are: %s is for diff TRACE",
                      s->passed_count ? s->passed[0] : "--repeat");
        return EXIT_USAGE;
    }
    if (count < 1) {
        message_error("diff expects two records, or a trace");
        return EXIT_USAGE;
    }
    for (int i = 1; i < count; i++)
        if (!strchr(operands[i], '=') || !pass(s, operands[i])) {
            message_error("diff expects two records, or a trace and NAME=VALUE ...; found '%s' too",
                          operands[i]);
            return EXIT_USAGE;
        }
    return diff_trace(s, *d, operands[0]);
}

int cmd_diff(int argc, char **argv) {
    static const struct option options[] = {{"quiet", no_argument, NULL, OPT_QUIET},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"against", required_argument, NULL, OPT_AGAINST},
                                            {"repeat", required_argument, NULL, OPT_REPEAT},
                                            {"device", required_argument, NULL, OPT_PASSED},
                                            {"policy", required_argument, NULL, OPT_PASSED},
                                            {"jobs", required_argument, NULL, OPT_PASSED},
                                            {"resident", required_argument, NULL, OPT_PASSED},
                                            {"allow-path", required_argument, NULL, OPT_PASSED},
                                            {"as-written", no_argument, NULL, OPT_PASSED_FLAG},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    struct settings s = {.repeat = 1};
    struct diff d = {0};
    int option, at = 0;
    while ((option = getopt_long(argc, argv, ":h", options, &at)) != -1) {
        if (option == OPT_HELP || option == 'h') {
            fputs(help, stdout);
            return EXIT_AS_EXPECTED;
        }
        if (option == ':' || option == '?') {
            message_option(option, argv);
            return EXIT_USAGE;
        }
        if (!set_option(&s, &d, option, options[at].name))
            return EXIT_USAGE;
    }
    d.findings = json_array();
    const int status = compare(&s, &d, argc - optind, argv + optind);
    json_decref(d.findings);
    for (int i = 0; i < s.passed_count; i++)
        free(s.passed[i]);
    return status;
}
