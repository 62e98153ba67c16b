/* Runs the programs of tests/isa through any CUDA driver.
 *
 *   isa_runner [--on sim|gpu] [--driver PATH] [--policy eager|lazy|random:SEED]
 *              [--record DIR] [--against FILE] [FILE...]
 *
 * --on sim (the default) uses the simulated driver beside this program: programs for sm_100a run on
 * its b200 model, the others on h200. --record writes DIR/isa.txt, the answers of the
 * machine; --against takes the expectations from such a file. Without FILE: the programs of
 * tests/isa. A child process runs programs until one ends its context or crashes; then the next
 * child goes on behind it. Exit status 0, 1 after a failure, 2 for wrong usage. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "isa_execute.h"
#include "siltwin_sim.h"

enum verdict { PASSED, FAILED, SKIPPED, VERDICTS };

struct options {
    bool on_gpu;
    const char *driver_path, *record_folder;
    char *against; /* text of the record */
    uint32_t policy;
    uint64_t policy_seed;
    char **files;
    size_t file_count;
};

/* What a child says about one program; text and record follow in the pipe. */
struct report {
    uint32_t file, verdict, text_bytes, record_bytes;
};

static bool write_all(int fd, const void *bytes, size_t size) {
    for (const char *p = bytes; size != 0;) {
        ssize_t done = write(fd, p, size);
        if (done <= 0)
            return false;
        p += done;
        size -= (size_t)done;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t size) {
    for (char *p = bytes; size != 0;) {
        ssize_t done = read(fd, p, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        p += done;
        size -= (size_t)done;
    }
    return true;
}

static void send_report(int fd, size_t file, enum verdict verdict, const char *text,
                        const char *record) {
    struct report report = {(uint32_t)file, verdict, (uint32_t)strlen(text),
                            (uint32_t)strlen(record)};
    if (!write_all(fd, &report, sizeof report) || !write_all(fd, text, report.text_bytes) ||
        !write_all(fd, record, report.record_bytes))
        _exit(1);
}

static void *extension(const struct driver *driver, const char *name, void *function) {
    void *found = driver_extension(driver, name);
    memcpy(function, &found, sizeof found);
    return found;
}

/* Chooses the simulator's device and policy; both hold for the process. */
static bool set_up_simulator(const struct options *options, unsigned sm, struct driver *driver,
                             struct host_error *error) {
    setenv("SILTWIN_DEVICE", sm == 100 ? "b200" : "h200", 1);
    if (!driver_open(driver, options->driver_path, error))
        return false;
    siltwin_sim_set_run *set_run;
    if (extension(driver, "siltwinSimSetRun", &set_run) == NULL) {
        result_message(error, "%s is no simulator", options->driver_path);
        return false;
    }
    struct siltwin_sim_run run = {.struct_bytes = sizeof run,
                                  .policy = options->policy,
                                  .policy_seed = options->policy_seed,
                                  .pattern_seed = 1,
                                  .jobs = 1};
    return set_run(&run) == 0;
}

/* Runs one program. True when this process can run another. */
static bool run_program(const struct options *options, const struct driver *driver, size_t file,
                        struct isa_program *program, int fd) {
    struct isa_outcome outcome;
    const char *trouble = NULL;
    if (options->against && !isa_record_apply(options->against, program, &trouble)) {
        send_report(fd, file, SKIPPED, "not in the record", "");
        return true;
    }
    if (trouble != NULL) {
        send_report(fd, file, FAILED, trouble, "");
        return true;
    }
    char *record = NULL, text[4096] = "";
    size_t record_bytes = 0;
    bool launched = isa_execute(driver, program, &outcome);
    bool good = launched && isa_judge(program, &outcome, text, sizeof text);
    FILE *stream = open_memstream(&record, &record_bytes);
    if (launched && stream != NULL)
        isa_record_write(program, &outcome, stream);
    if (stream != NULL)
        fclose(stream);
    send_report(fd, file, good ? PASSED : FAILED, launched ? text : outcome.text,
                record ? record : "");
    free(record);
    /* What was to fail may have left more behind than was seen. */
    bool lost = outcome.context_lost || program->fails != 0 || !launched;
    isa_outcome_free(&outcome);
    return !lost;
}

static bool open_device(const struct options *options, unsigned sm, struct driver *driver,
                        struct device *device, struct host_error *error) {
    bool ok = options->on_gpu ? driver_open(driver, options->driver_path, error)
                              : set_up_simulator(options, sm, driver, error);
    return ok && device_open(driver, 0, device, error);
}

static bool runs_on(const struct isa_program *program, const struct device *device) {
    unsigned sm = (unsigned)(10 * device->compute_major + device->compute_minor);
    return program->exactly_sm ? program->sm == sm : program->sm <= sm;
}

/* Goes through the files from `first` on; ends before a program that needs another device. */
static _Noreturn void child(const struct options *options, size_t first, int fd) {
    struct driver driver;
    struct device device;
    struct host_error error = {0};
    char text[1024];
    unsigned sm = 0;
    for (size_t i = first; i < options->file_count; i++) {
        struct isa_program program;
        bool readable = isa_program_read(options->files[i], &program, text, sizeof text);
        if (!readable) {
            send_report(fd, i, FAILED, text, "");
        } else if (sm != 0 && !options->on_gpu && program.sm != sm) {
            _exit(0);
        } else {
            alarm(120);
            bool open = sm != 0 || open_device(options, program.sm, &driver, &device, &error);
            sm = program.sm;
            if (!open) {
                send_report(fd, i, FAILED, error.text, "");
                _exit(0);
            }
            if (!runs_on(&program, &device))
                send_report(fd, i, SKIPPED, "needs another device", "");
            else if (!run_program(options, &driver, i, &program, fd))
                _exit(0);
        }
        isa_program_free(&program);
    }
    _exit(0);
}

struct totals {
    unsigned count[VERDICTS];
};

static void take_verdict(struct totals *totals, const struct options *options, size_t file,
                         enum verdict verdict, const char *text) {
    static const char *const WORDS[VERDICTS] = {"passed", "FAILED", "skipped"};
    totals->count[verdict]++;
    if (verdict != PASSED)
        printf("%s %s: %s\n", WORDS[verdict], options->files[file], text);
}

/* Takes what one child says. Returns the first file that it said nothing about. */
static size_t listen_to(const struct options *options, int fd, size_t next, struct totals *totals,
                        FILE *record) {
    struct report report;
    while (read_all(fd, &report, sizeof report)) {
        char *text = calloc(1, (size_t)report.text_bytes + report.record_bytes + 1);
        if (text == NULL || !read_all(fd, text, report.text_bytes + report.record_bytes)) {
            free(text);
            break;
        }
        if (record != NULL)
            fputs(text + report.text_bytes, record);
        text[report.text_bytes] = '\0';
        take_verdict(totals, options, report.file, (enum verdict)report.verdict, text);
        next = report.file + 1;
        free(text);
    }
    return next;
}

static void run_files(const struct options *options, struct totals *totals, FILE *record) {
    for (size_t next = 0; next < options->file_count;) {
        int ends[2];
        if (pipe(ends) != 0) {
            perror("pipe");
            exit(1);
        }
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            child(options, next, ends[1]);
        }
        close(ends[1]);
        size_t before = next;
        next = listen_to(options, ends[0], next, totals, record);
        close(ends[0]);
        int status = 0;
        waitpid(pid, &status, 0);
        if (next < options->file_count && (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))) {
            take_verdict(totals, options, next++, FAILED, "the process that ran it died");
        } else if (next == before) {
            take_verdict(totals, options, next++, FAILED, "no answer");
        }
    }
}

/* "device ..." and what else makes a record readable years later. */
static void describe_machine(const struct options *options, FILE *record) {
    struct driver driver;
    struct device device;
    struct host_error error = {0};
    char day[32];
    time_t now = time(NULL);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    if (open_device(options, 90, &driver, &device, &error))
        fprintf(record,
                "# Answers to the programs of tests/isa\ndevice %s %d.%d\ndriver %d\ndate %s\n",
                device.name, device.compute_major, device.compute_minor, driver.version, day);
}

static FILE *open_record(const struct options *options) {
    char path[4096];
    snprintf(path, sizeof path, "%s/isa.txt", options->record_folder);
    FILE *record = fopen(path, "w");
    if (record == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    fflush(NULL);
    pid_t pid = fork(); /* the driver must not be open in the process that forks */
    if (pid == 0) {
        describe_machine(options, record);
        fflush(record);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    fseek(record, 0, SEEK_END);
    return record;
}

static char *read_record(const char *path) {
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (getdelim(&text, &room, '\0', file) < 0) {
            free(text);
            text = NULL;
        }
        fclose(file);
    }
    return text;
}

static _Noreturn void usage(void) {
    fprintf(stderr, "usage: isa_runner [--on sim|gpu] [--driver PATH] "
                    "[--policy eager|lazy|random:SEED]\n"
                    "                  [--record DIR] [--against FILE] [FILE...]\n");
    exit(2);
}

static void set_option(struct options *options, const char *name, const char *value) {
    bool random = strncmp(value, "random:", 7) == 0;
    if (strcmp(name, "--on") == 0 && (strcmp(value, "sim") == 0 || strcmp(value, "gpu") == 0)) {
        options->on_gpu = value[0] == 'g';
    } else if (strcmp(name, "--driver") == 0) {
        options->driver_path = value;
    } else if (strcmp(name, "--record") == 0) {
        options->record_folder = value;
    } else if (strcmp(name, "--against") == 0) {
        options->against = read_record(value);
        if (options->against == NULL) {
            fprintf(stderr, "%s: cannot be read\n", value);
            exit(2);
        }
    } else if (strcmp(name, "--policy") == 0 &&
               (random || strcmp(value, "eager") == 0 || strcmp(value, "lazy") == 0)) {
        options->policy = random            ? SILTWIN_SIM_RANDOM
                          : value[0] == 'e' ? SILTWIN_SIM_EAGER
                                            : SILTWIN_SIM_LAZY;
        options->policy_seed = random ? strtoull(value + 7, NULL, 10) : 0;
    } else {
        usage();
    }
}

static void parse_options(struct options *options, int argc, char **argv, glob_t *found) {
    static char beside[4096];
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (i + 1 == argc)
            usage();
        set_option(options, argv[i], argv[i + 1]);
    }
    options->files = argv + i;
    options->file_count = (size_t)(argc - i);
    if (options->file_count == 0 && glob("tests/isa/*.ptx", 0, NULL, found) == 0) {
        options->files = found->gl_pathv;
        options->file_count = found->gl_pathc;
    }
    if (options->file_count == 0)
        usage();
    const char *slash = strrchr(argv[0], '/');
    if (!options->on_gpu && options->driver_path == NULL) {
        snprintf(beside, sizeof beside, "%.*s../sim/libcuda.so.1",
                 slash ? (int)(slash - argv[0] + 1) : 0, argv[0]);
        options->driver_path = beside;
    }
}

int main(int argc, char **argv) {
    struct options options = {0};
    struct totals totals = {0};
    glob_t found = {0};
    parse_options(&options, argc, argv, &found);
    FILE *record = options.record_folder ? open_record(&options) : NULL;
    run_files(&options, &totals, record);
    if (record != NULL)
        fclose(record);
    printf("%u passed, %u failed, %u skipped\n", totals.count[PASSED], totals.count[FAILED],
           totals.count[SKIPPED]);
    free(options.against);
    globfree(&found);
    return totals.count[FAILED] != 0;
}
