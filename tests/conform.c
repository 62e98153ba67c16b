/* Random cases of every asynchronous unit and instruction family on a driver, recorded, replayed
 * or compared with the simulator word for word.
 *
 *   conform [--on sim|gpu] [--driver PATH] [--family NAME] [--cases N] [--seed S]
 *           [--record FILE] [--against FILE] [--compare PATH] [--show N] [--forms FILE]
 *           [--batch N] [--part I/N]
 *
 * --cases is per family (default 4096; with --against: all that were recorded). --compare runs the
 * same batches on a second driver, the simulator's libcuda.so.1, and shows words of --show cases
 * (default 6) that differ.
 * --batch N runs that batch alone, --part I/N of N equal parts of the batches part I, from 0 on.
 * Exit status 0, 1 after a difference, 2 for wrong usage, 3 without a machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conform_record.h"
#include "device.h"
#include "siltwin_sim.h"

enum { WORDS_SHOWN = 4 };

struct options {
    bool on_gpu, one_batch;
    const char *driver_path, *compare_path, *family, *record, *against, *forms_path;
    uint64_t cases, seed, batch, show;
    uint64_t part, parts; /* batches i with i mod parts == part */
};

struct machine {
    struct driver driver;
    struct device device;
};

/* Refused tensor maps are cases here, not news. */
static void keep_quiet(void *ctx, const char *line) {
    (void)ctx;
    (void)line;
}

/* What a simulator knows about a launch that failed. */
static const char *last_report(const struct driver *driver) {
    siltwin_sim_last_report *report;
    void *found = driver_extension(driver, "siltwinSimLastReport");
    memcpy(&report, &found, sizeof found);
    return found != NULL ? report() : "";
}

static bool open_machine(const char *path, struct machine *machine) {
    struct host_error error = {0};
    siltwin_sim_set_run *set_run;
    siltwin_sim_set_log *set_log;
    setenv("SILTWIN_DEVICE", "h200", 0); /* unless another model is asked for */
    if (!driver_open(&machine->driver, path, &error) ||
        !device_open(&machine->driver, 0, &machine->device, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return false;
    }
    void *found = driver_extension(&machine->driver, "siltwinSimSetRun");
    memcpy(&set_run, &found, sizeof found);
    struct siltwin_sim_run run = {.struct_bytes = sizeof run, .pattern_seed = 1};
    if (found == NULL)
        return true; /* a GPU */
    found = driver_extension(&machine->driver, "siltwinSimSetLog");
    memcpy(&set_log, &found, sizeof found);
    return set_run(&run) == 0 && set_log(keep_quiet, NULL) == 0;
}

static void close_machine(struct machine *machine) {
    if (machine->device.driver)
        device_close(&machine->device);
    driver_close(&machine->driver);
}

/* Shows a case of which the two machines disagree. */
static void show(const struct conform_family *family, const struct conform_batch *a,
                 const struct conform_batch *b, uint32_t index) {
    char text[600] = "";
    if (family->describe != NULL)
        family->describe(a, index, text, sizeof text);
    printf("%s batch %" PRIu64 " case %" PRIu32 " differs: %s\n", family->name, a->number, index,
           text);
    const uint8_t *x = a->results + index * a->case_bytes, *y = b->results + index * a->case_bytes;
    unsigned shown = 0, count = 0;
    for (size_t at = 0; at + 4 <= a->case_bytes; at += 4) {
        uint32_t left, right;
        memcpy(&left, x + at, 4);
        memcpy(&right, y + at, 4);
        count += left != right;
        if (left != right && shown++ < WORDS_SHOWN)
            printf("  word %zu: %08" PRIx32 ", compared with %08" PRIx32 "\n", at / 4, left, right);
    }
    printf("  %u words of %zu differ\n", count, a->case_bytes / 4);
}

/* Cases of the batch that differ on the second machine. */
static uint64_t compare(const struct conform_family *family, const struct conform_batch *batch,
                        const struct driver *second, uint8_t *room, uint64_t *to_show) {
    struct conform_batch other = *batch;
    struct host_error error = {0};
    uint64_t different = 0;
    other.driver = second;
    other.results = room;
    if (!conform_run(family, &other, &error)) {
        printf("%s batch %" PRIu64 ", second machine: %s\n%s\n", family->name, batch->number,
               error.text, last_report(second));
        return family->batch_cases;
    }
    for (uint32_t i = 0; i < family->batch_cases; i++) {
        if (memcmp(batch->results + i * batch->case_bytes, room + i * batch->case_bytes,
                   batch->case_bytes) == 0)
            continue;
        different++;
        if (*to_show > 0) {
            --*to_show;
            show(family, batch, &other, i);
        }
    }
    return different;
}

static bool run_family(const struct options *options, const struct conform_family *family,
                       const struct machine *machine, const struct machine *second,
                       struct conform_answers *answers, uint64_t *different) {
    struct host_error error = {0};
    const size_t bytes = family->batch_cases * family->case_bytes;
    uint8_t *results = malloc(bytes), *room = malloc(bytes);
    uint64_t to_show = options->show;
    struct conform_batch batch = {.driver = &machine->driver,
                                  .forms_path = options->forms_path,
                                  .seed = options->seed,
                                  .results = results};
    uint64_t batches = (options->cases + family->batch_cases - 1) / family->batch_cases;
    *answers = (struct conform_answers){.family = family};
    answers->hashes = calloc((size_t)batches * conform_blocks(family), sizeof(uint64_t));
    bool good = results != NULL && room != NULL && answers->hashes != NULL;
    for (uint64_t i = 0; good && i < batches; i++) {
        if ((options->one_batch && i != options->batch) || i % options->parts != options->part)
            continue;
        batch.number = i;
        good = conform_run(family, &batch, &error);
        if (!good) {
            fprintf(stderr, "%s batch %" PRIu64 ": %s\n%s\n", family->name, i, error.text,
                    last_report(&machine->driver));
            break;
        }
        conform_hash(family, &batch, answers->hashes + i * conform_blocks(family));
        answers->batches = i + 1;
        if (second != NULL)
            *different += compare(family, &batch, &second->driver, room, &to_show);
    }
    free(results);
    free(room);
    return good;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run_all(const struct options *options, const struct machine *machine,
                   const struct machine *second) {
    struct conform_record record = {.driver_version = machine->driver.version,
                                    .seed = options->seed};
    time_t now = time(NULL);
    bool good = true;
    uint64_t all_different = 0;
    strftime(record.date, sizeof record.date, "%Y-%m-%d", gmtime(&now));
    snprintf(record.device, sizeof record.device, "%s %d.%d", machine->device.name,
             machine->device.compute_major, machine->device.compute_minor);
    for (const struct conform_family *family = conform_families; family->name != NULL; family++) {
        if (options->family != NULL && strcmp(options->family, family->name) != 0)
            continue;
        uint64_t different = 0;
        double start = seconds();
        struct conform_answers *answers = &record.answers[record.count++];
        good = run_family(options, family, machine, second, answers, &different);
        printf("%-10s %8" PRIu64 " cases", family->name, answers->batches * family->batch_cases);
        if (second != NULL)
            printf(", %" PRIu64 " differ", different);
        printf(", %.1f s\n", seconds() - start);
        fflush(stdout);
        all_different += different;
        if (!good)
            break;
    }
    if (options->record != NULL) {
        FILE *file = fopen(options->record, "wb");
        if (file == NULL || !conform_record_write(&record, file) || fclose(file) != 0) {
            perror(options->record);
            good = false;
        }
    }
    conform_record_free(&record);
    return !good || all_different != 0;
}

static int replay_all(const struct options *options, const struct machine *machine) {
    struct conform_record record;
    struct host_error error = {0};
    int status = 0;
    if (!conform_record_read(options->against, &record, &error)) {
        fprintf(stderr, "%s\n", error.text);
        conform_record_free(&record);
        return 2;
    }
    printf("recorded on %s, driver %d, %s, seed %" PRIu64 "\n", record.device,
           record.driver_version, record.date, record.seed);
    for (unsigned i = 0; i < record.count; i++) {
        const struct conform_answers *answers = &record.answers[i];
        struct conform_tally tally;
        struct conform_choice choice = {options->cases, options->part, options->parts};
        if (options->family != NULL && strcmp(options->family, answers->family->name) != 0)
            continue;
        if (!conform_replay(&machine->driver, options->forms_path, &record, answers, &choice,
                            &tally, &error)) {
            fprintf(stderr, "%s: %s\n%s\n", answers->family->name, error.text,
                    last_report(&machine->driver));
            status = 1;
            break;
        }
        printf("%-10s %8" PRIu64 " cases, %" PRIu64 " of %" PRIu64 " blocks differ",
               answers->family->name, tally.cases, tally.different_blocks, tally.blocks);
        if (tally.different_blocks != 0) {
            printf(", the first in batch %" PRIu64 ", cases from %" PRIu64, tally.first_batch,
                   tally.first_block * CONFORM_BLOCK);
            status = 1;
        }
        putchar('\n');
        fflush(stdout);
    }
    conform_record_free(&record);
    return status;
}

static _Noreturn void usage(void) {
    fprintf(stderr,
            "usage: conform [--on sim|gpu] [--driver PATH] [--family NAME] [--cases N] "
            "[--seed S]\n               [--record FILE | --against FILE] [--compare PATH] "
            "[--show N]\n               [--forms FILE] [--batch N] [--part I/N]\nfamilies:");
    for (const struct conform_family *family = conform_families; family->name != NULL; family++)
        fprintf(stderr, " %s", family->name);
    fputc('\n', stderr);
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
    } else if (strcmp(name, "--family") == 0 && conform_find(value) != NULL) {
        options->family = value;
    } else if (strcmp(name, "--cases") == 0) {
        options->cases = number(value);
    } else if (strcmp(name, "--seed") == 0) {
        options->seed = number(value);
    } else if (strcmp(name, "--show") == 0) {
        options->show = number(value);
    } else if (strcmp(name, "--batch") == 0) {
        options->one_batch = true;
        options->batch = number(value);
    } else if (strcmp(name, "--part") == 0) {
        if (sscanf(value, "%" SCNu64 "/%" SCNu64, &options->part, &options->parts) != 2 ||
            options->part >= options->parts)
            usage();
    } else if (strcmp(name, "--record") == 0) {
        options->record = value;
    } else if (strcmp(name, "--against") == 0) {
        options->against = value;
    } else if (strcmp(name, "--compare") == 0) {
        options->compare_path = value;
    } else if (strcmp(name, "--forms") == 0) {
        options->forms_path = value;
    } else {
        usage();
    }
}

int main(int argc, char **argv) {
    struct options options = {
        .seed = 1, .parts = 1, .show = 6, .forms_path = "tests/oracle/scalar/forms.csv"};
    struct machine machine = {0}, second = {0};
    static char beside[4096];
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage();
        set_option(&options, argv[i], argv[i + 1]);
    }
    if (options.record != NULL && (options.one_batch || options.parts > 1))
        usage(); /* a record has every batch */
    const char *slash = strrchr(argv[0], '/');
    snprintf(beside, sizeof beside, "%.*ssim/libcuda.so.1", slash ? (int)(slash - argv[0] + 1) : 0,
             argv[0]);
    if (!options.on_gpu && options.driver_path == NULL)
        options.driver_path = beside;
    if (options.cases == 0 && options.against == NULL)
        options.cases = 4096;
    int status = 3;
    if (open_machine(options.driver_path, &machine) &&
        (options.compare_path == NULL || open_machine(options.compare_path, &second)))
        status = options.against != NULL
                     ? replay_all(&options, &machine)
                     : run_all(&options, &machine, options.compare_path != NULL ? &second : NULL);
    close_machine(&second);
    close_machine(&machine);
    return status;
}
