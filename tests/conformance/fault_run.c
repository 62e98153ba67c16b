/* See fault_run.h. Answers lie in memory that all processes share. */
#include "fault_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault_execute.h"

enum { CASE_SECONDS = 20, NO_MACHINE = 3, REFUSED_MOST = 3 };

static const struct fault_answer nothing = {FAULT_NOT_RUN, FAULT_NOT_RUN, FAULT_NOT_RUN,
                                            FAULT_NOT_RUN, {0},           FAULT_TO_DO};

static struct fault_answer *share(uint32_t count) {
    void *memory = mmap(NULL, (count ? count : 1) * sizeof(struct fault_answer),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void fault_answers_free(struct fault_answer *answers, uint32_t count) {
    if (answers != NULL)
        munmap(answers, (count ? count : 1) * sizeof *answers);
}

/* Runs cases first, first + jobs ... until one leaves nothing to go on with. */
static _Noreturn void child(const struct fault_run *run, struct fault_answer *answers,
                            uint32_t first) {
    const time_t end = time(NULL) + run->seconds;
    struct fault_bench bench;
    struct host_error error = {0};
    if (!fault_bench_open(&bench, run->driver_path, &error)) {
        fprintf(stderr, "%s\n", error.text);
        _exit(NO_MACHINE);
    }
    for (uint32_t i = first; i < run->count && (run->seconds == 0 || time(NULL) < end);
         i += run->jobs) {
        struct fault_case made;
        if (answers[i].state == FAULT_DONE)
            continue;
        fault_case_make(run->seed, i, &made);
        alarm(CASE_SECONDS);
        answers[i].state = FAULT_BEGUN;
        enum fault_bench_state state = fault_execute(&bench, &made, &answers[i]);
        fault_case_free(&made);
        if (state == FAULT_BENCH_HANGS || (state == FAULT_BENCH_LOST && !fault_bench_renew(&bench)))
            _exit(0);
    }
    _exit(0);
}

/* One of the jobs: child after child. */
static _Noreturn void manage(const struct fault_run *run, struct fault_answer *answers,
                             uint32_t job) {
    const time_t end = time(NULL) + run->seconds;
    unsigned refused = 0; /* a busy GPU may have no context for a moment */
    for (uint32_t next = run->first + job;
         next < run->count && (run->seconds == 0 || time(NULL) < end);) {
        pid_t pid = fork();
        int status = 0;
        if (pid == 0)
            child(run, answers, next);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            _exit(1);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MACHINE && ++refused == REFUSED_MOST)
            _exit(1);
        while (next < run->count && answers[next].state == FAULT_DONE)
            next += run->jobs;
        if (next < run->count && answers[next].state == FAULT_BEGUN) {
            answers[next].sync = FAULT_DIED;
            next += run->jobs;
        }
    }
    _exit(0);
}

struct fault_answer *fault_run_all(const struct fault_run *run) {
    struct fault_answer *answers = share(run->count);
    for (uint32_t i = 0; answers != NULL && i < run->count; i++) {
        answers[i] = nothing;
        if (run->only != NULL && !fault_has_answer(&run->only[i]))
            answers[i].state = FAULT_DONE; /* is not asked for */
    }
    fflush(NULL);
    for (uint32_t job = 0; answers != NULL && job < run->jobs; job++)
        if (fork() == 0)
            manage(run, answers, job);
    while (wait(NULL) > 0)
        ;
    return answers;
}

bool fault_alike(const struct fault_answer *a, const struct fault_answer *b) {
    return a->state == FAULT_DONE && b->state == FAULT_DONE && a->load == b->load &&
           a->call == b->call && a->launch == b->launch && a->sync == b->sync &&
           memcmp(a->words, b->words, sizeof a->words) == 0;
}

bool fault_has_answer(const struct fault_answer *answer) {
    return answer->state == FAULT_DONE;
}

static void print_result(int32_t result, FILE *file) {
    if (result == FAULT_NOT_RUN)
        fputs(" -", file);
    else if (result == FAULT_DIED)
        fputs(" died", file);
    else
        fprintf(file, " %" PRId32, result);
}

void fault_answer_print(const struct fault_answer *answer, FILE *file) {
    print_result(answer->load, file);
    print_result(answer->call, file);
    print_result(answer->launch, file);
    print_result(answer->sync, file);
    for (unsigned i = 0; i < FAULT_WORDS && answer->sync == 0; i++)
        fprintf(file, " %" PRIx32, answer->words[i]);
}

bool fault_record_write(const struct fault_record *record, FILE *file) {
    fprintf(file,
            "siltwin faults 1\ndevice %s\ndriver %d\ndate %s\nseed %" PRIu64 " cases %" PRIu32 "\n",
            record->device, record->driver_version, record->date, record->seed, record->count);
    for (uint32_t i = 0; i < record->count; i++) {
        struct fault_case made;
        if (record->answers[i].state == FAULT_TO_DO)
            continue;
        fault_case_make(record->seed, i, &made);
        fprintf(file, "%" PRIu32 " %s", i, made.group);
        fault_answer_print(&record->answers[i], file);
        fputc('\n', file);
        fault_case_free(&made);
    }
    fputs("end\n", file);
    return !ferror(file);
}

static bool read_result(char **at, int32_t *result) {
    char *word = strsep(at, " ");
    if (word == NULL)
        return false;
    *result = strcmp(word, "-") == 0      ? FAULT_NOT_RUN
              : strcmp(word, "died") == 0 ? FAULT_DIED
                                          : (int32_t)strtol(word, NULL, 10);
    return *word != '\0';
}

/* "17 atom 0 - 0 700" */
static bool read_answer(char *line, struct fault_record *record) {
    line[strcspn(line, "\n")] = '\0';
    char *at = line, *number = strsep(&at, " "), *group = strsep(&at, " "), *end;
    unsigned long index = strtoul(number, &end, 10);
    struct fault_answer answer = {.state = FAULT_DONE};
    if (group == NULL || *end != '\0' || index >= record->count ||
        record->answers[index].state != FAULT_TO_DO || !read_result(&at, &answer.load) ||
        !read_result(&at, &answer.call) || !read_result(&at, &answer.launch) ||
        !read_result(&at, &answer.sync))
        return false;
    for (unsigned i = 0; i < FAULT_WORDS && answer.sync == 0; i++) {
        char *word = strsep(&at, " ");
        if (word == NULL)
            return false;
        answer.words[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    if (answer.sync == FAULT_DIED)
        answer.state = FAULT_BEGUN;
    record->answers[index] = answer;
    return true;
}

static bool read_head(FILE *file, struct fault_record *record) {
    char line[400];
    return fgets(line, sizeof line, file) != NULL && strcmp(line, "siltwin faults 1\n") == 0 &&
           fscanf(file,
                  "device %299[^\n]\ndriver %d\ndate %15s\nseed %" SCNu64 " cases %" SCNu32 "\n",
                  record->device, &record->driver_version, record->date, &record->seed,
                  &record->count) == 5 &&
           record->count <= UINT32_C(1) << 20;
}

bool fault_record_read(const char *path, struct fault_record *record, struct host_error *error) {
    char line[400];
    memset(record, 0, sizeof *record);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        result_message(error, "%s cannot be read", path);
        return false;
    }
    bool good = read_head(file, record) && (record->answers = share(record->count)) != NULL;
    bool end = false;
    for (uint32_t i = 0; good && i < record->count; i++)
        record->answers[i] = nothing;
    while (good && !end && fgets(line, sizeof line, file) != NULL) {
        end = strcmp(line, "end\n") == 0;
        good = end || read_answer(line, record);
    }
    good = good && end;
    fclose(file);
    if (!good)
        result_message(error, "%s is no record of faults, or cut short", path);
    return good;
}
