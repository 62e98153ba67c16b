/* Cases of misuse on a driver: which result a bad address, a misuse of an instruction or a wrong
 * call ends with, recorded or compared with a record.
 *
 *   conform_fault [--on sim|gpu] [--driver PATH] [--first N] [--cases N] [--seed S] [--jobs N]
 *                 [--seconds N] [--record FILE] [--against FILE] [--show CASE]
 *
 * --show prints a case and its answer; no case begins more than --seconds after the start. Exit
 * status 0, 1 after a difference, 2 for wrong usage, 3 without a machine. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault_execute.h"
#include "fault_run.h"
#include "siltwin_sim.h"

struct options {
    bool on_gpu, one;
    const char *driver_path, *record, *against;
    uint32_t first, cases, jobs, show, seconds;
    uint64_t seed;
};

static _Noreturn void usage(void) {
    fprintf(
        stderr,
        "usage: conform_fault [--on sim|gpu] [--driver PATH] [--first N] [--cases N] [--seed S]\n"
        "                     [--jobs N] [--seconds N] [--record FILE] "
        "[--against FILE] [--show CASE]\n");
    exit(2);
}

static uint64_t number(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end != '\0')
        usage();
    return value;
}

static void set_option(struct options *options, const char *name, const char *value) {
    if (strcmp(name, "--on") == 0 && (strcmp(value, "sim") == 0 || strcmp(value, "gpu") == 0)) {
        options->on_gpu = value[0] == 'g';
    } else if (strcmp(name, "--driver") == 0) {
        options->driver_path = value;
    } else if (strcmp(name, "--cases") == 0) {
        options->cases = (uint32_t)number(value);
    } else if (strcmp(name, "--first") == 0) {
        options->first = (uint32_t)number(value);
    } else if (strcmp(name, "--seed") == 0) {
        options->seed = number(value);
    } else if (strcmp(name, "--jobs") == 0 && number(value) > 0) {
        options->jobs = (uint32_t)number(value);
    } else if (strcmp(name, "--seconds") == 0) {
        options->seconds = (uint32_t)number(value);
    } else if (strcmp(name, "--show") == 0) {
        options->one = true;
        options->show = (uint32_t)number(value);
    } else if (strcmp(name, "--record") == 0) {
        options->record = value;
    } else if (strcmp(name, "--against") == 0) {
        options->against = value;
    } else {
        usage();
    }
}

/* Name and version of the machine, asked by a process of its own. */
static bool describe(const struct options *options, struct fault_record *record) {
    int ends[2], status = 1;
    time_t now = time(NULL);
    strftime(record->date, sizeof record->date, "%Y-%m-%d", gmtime(&now));
    if (pipe(ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        struct fault_bench bench;
        struct host_error error = {0};
        if (!fault_bench_open(&bench, options->driver_path, &error)) {
            fprintf(stderr, "%s\n", error.text);
            _exit(3);
        }
        dprintf(ends[1], "%d %s %d.%d", bench.driver.version, bench.device.name,
                bench.device.compute_major, bench.device.compute_minor);
        _exit(0);
    }
    close(ends[1]);
    char text[400] = "";
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    waitpid(pid, &status, 0);
    return length > 0 && status == 0 &&
           sscanf(text, "%d %299[^\n]", &record->driver_version, record->device) == 2;
}

static int show(const struct options *options) {
    struct fault_bench bench;
    struct fault_case made;
    struct host_error error = {0};
    struct fault_answer answer = {FAULT_NOT_RUN, FAULT_NOT_RUN, FAULT_NOT_RUN,
                                  FAULT_NOT_RUN, {0},           FAULT_BEGUN};
    if (!fault_bench_open(&bench, options->driver_path, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 3;
    }
    fault_case_make(options->seed, options->show, &made);
    printf("%s\n%s: %s\n", made.ptx.text, made.group, made.text);
    fflush(stdout);
    fault_execute(&bench, &made, &answer);
    fault_answer_print(&answer, stdout);
    siltwin_sim_last_report *report;
    void *found = driver_extension(&bench.driver, "siltwinSimLastReport");
    memcpy(&report, &found, sizeof found);
    printf("\n%s\n", found != NULL ? report() : "");
    fault_case_free(&made);
    return 0;
}

static int compare(const struct fault_record *recorded, const struct fault_answer *answers) {
    uint32_t different = 0, compared = 0, died = 0;
    for (uint32_t i = 0; i < recorded->count; i++) {
        compared += fault_has_answer(&recorded->answers[i]);
        died += recorded->answers[i].sync == FAULT_DIED;
        if (!fault_has_answer(&recorded->answers[i]) ||
            fault_alike(&answers[i], &recorded->answers[i]))
            continue;
        struct fault_case made;
        fault_case_make(recorded->seed, i, &made);
        printf("case %" PRIu32 " %s: %s\n  here    ", i, made.group, made.text);
        fault_answer_print(&answers[i], stdout);
        printf("\n  recorded");
        fault_answer_print(&recorded->answers[i], stdout);
        putchar('\n');
        fault_case_free(&made);
        different++;
    }
    printf("fault      %8" PRIu32 " cases, %" PRIu32 " differ, %" PRIu32
           " more killed the recorded driver\n",
           compared, different, died);
    return different != 0;
}

static bool write_record(const char *path, const struct fault_record *record) {
    FILE *file = fopen(path, "w");
    if (file == NULL || !fault_record_write(record, file) || fclose(file) != 0) {
        perror(path);
        return false;
    }
    return true;
}

static int run_all(const struct options *options) {
    struct fault_record record = {.seed = options->seed, .count = options->cases}, recorded = {0};
    struct host_error error = {0};
    if (options->against != NULL && !fault_record_read(options->against, &recorded, &error)) {
        fprintf(stderr, "%s\n", error.text);
        fault_answers_free(recorded.answers, recorded.count);
        return 2;
    }
    if (options->against != NULL) {
        record.seed = recorded.seed;
        record.count = recorded.count;
    }
    struct fault_run run = {.driver_path = options->driver_path,
                            .seed = record.seed,
                            .first = options->first,
                            .count = record.count,
                            .jobs = options->jobs,
                            .seconds = options->seconds,
                            .only = recorded.answers};
    if (!describe(options, &record) || (record.answers = fault_run_all(&run)) == NULL) {
        fault_answers_free(recorded.answers, recorded.count);
        return 3;
    }
    int status = options->against != NULL && compare(&recorded, record.answers);
    if (options->record != NULL && !write_record(options->record, &record))
        status = 1;
    fault_answers_free(record.answers, record.count);
    fault_answers_free(recorded.answers, recorded.count);
    return status;
}

int main(int argc, char **argv) {
    struct options options = {.seed = 1, .jobs = 2, .cases = 1024};
    static char beside[4096];
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage();
        set_option(&options, argv[i], argv[i + 1]);
    }
    const char *slash = strrchr(argv[0], '/');
    snprintf(beside, sizeof beside, "%.*ssim/libcuda.so.1", slash ? (int)(slash - argv[0] + 1) : 0,
             argv[0]);
    if (!options.on_gpu && options.driver_path == NULL)
        options.driver_path = beside;
    return options.one ? show(&options) : run_all(&options);
}
