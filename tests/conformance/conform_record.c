/* See conform_record.h. */
#include "conform_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void conform_hash(const struct conform_family *family, const struct conform_batch *batch,
                  uint64_t *hashes) {
    const size_t bytes = CONFORM_BLOCK * batch->case_bytes;
    for (size_t block = 0; block < conform_blocks(family); block++)
        hashes[block] = hash_bytes(0, batch->results + block * bytes, bytes);
}

bool conform_record_write(const struct conform_record *record, FILE *file) {
    fprintf(file, "siltwin conformance 1\ndevice %s\ndriver %d\ndate %s\nseed %" PRIu64 "\n",
            record->device, record->driver_version, record->date, record->seed);
    for (unsigned i = 0; i < record->count; i++) {
        const struct conform_answers *answers = &record->answers[i];
        const uint64_t count = answers->batches * conform_blocks(answers->family);
        fprintf(file, "family %s cases %" PRIu32 " batches %" PRIu64 "\n", answers->family->name,
                answers->family->batch_cases, answers->batches);
        for (uint64_t k = 0; k < count; k++) {
            uint8_t bytes[8];
            for (unsigned b = 0; b < 8; b++)
                bytes[b] = (uint8_t)(answers->hashes[k] >> 8 * b);
            fwrite(bytes, 1, sizeof bytes, file);
        }
    }
    fputs("end\n", file);
    return !ferror(file);
}

static bool read_hashes(FILE *file, struct conform_answers *answers) {
    const uint64_t count = answers->batches * conform_blocks(answers->family);
    if (answers->batches > UINT32_MAX)
        return false;
    answers->hashes = malloc((size_t)(count ? count : 1) * sizeof *answers->hashes);
    for (uint64_t k = 0; answers->hashes != NULL && k < count; k++) {
        uint8_t bytes[8];
        if (fread(bytes, 1, sizeof bytes, file) != sizeof bytes)
            return false;
        answers->hashes[k] = 0;
        for (unsigned b = 0; b < 8; b++)
            answers->hashes[k] |= (uint64_t)bytes[b] << 8 * b;
    }
    return answers->hashes != NULL;
}

/* One line behind the first. False: the file is wrong. */
static bool take_line(FILE *file, const char *line, struct conform_record *record) {
    char name[32];
    uint32_t cases;
    uint64_t batches;
    if (sscanf(line, "device %299[^\n]", record->device) == 1 ||
        sscanf(line, "driver %d", &record->driver_version) == 1 ||
        sscanf(line, "date %15s", record->date) == 1 ||
        sscanf(line, "seed %" SCNu64, &record->seed) == 1)
        return true;
    if (sscanf(line, "family %31s cases %" SCNu32 " batches %" SCNu64, name, &cases, &batches) !=
            3 ||
        record->count == CONFORM_FAMILIES_MAX)
        return false;
    const struct conform_family *family = conform_find(name);
    if (family == NULL || family->batch_cases != cases)
        return false;
    struct conform_answers *answers = &record->answers[record->count++];
    *answers = (struct conform_answers){.family = family, .batches = batches};
    return read_hashes(file, answers);
}

bool conform_record_read(const char *path, struct conform_record *record,
                         struct host_error *error) {
    char line[400];
    bool good, end = false;
    memset(record, 0, sizeof *record);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        result_message(error, "%s cannot be read", path);
        return false;
    }
    good = fgets(line, sizeof line, file) != NULL && strcmp(line, "siltwin conformance 1\n") == 0;
    while (good && !end && fgets(line, sizeof line, file) != NULL) {
        end = strcmp(line, "end\n") == 0;
        good = end || take_line(file, line, record);
    }
    fclose(file);
    if (!good || !end)
        result_message(error, "%s is no record of conformance, or cut short", path);
    return good && end;
}

void conform_record_free(struct conform_record *record) {
    for (unsigned i = 0; i < record->count; i++)
        free(record->answers[i].hashes);
    memset(record, 0, sizeof *record);
}

bool conform_run(const struct conform_family *family, struct conform_batch *batch,
                 struct host_error *error) {
    batch->case_bytes = family->case_bytes;
    memset(batch->results, 0, family->batch_cases * family->case_bytes);
    return family->run(batch, error);
}

bool conform_replay(const struct driver *driver, const char *forms_path,
                    const struct conform_record *record, const struct conform_answers *answers,
                    const struct conform_choice *choice, struct conform_tally *tally,
                    struct host_error *error) {
    const struct conform_family *family = answers->family;
    uint64_t want = (choice->cases + family->batch_cases - 1) / family->batch_cases;
    struct conform_batch batch = {.driver = driver, .forms_path = forms_path, .seed = record->seed};
    uint64_t *hashes = malloc(conform_blocks(family) * sizeof *hashes);
    bool good = hashes != NULL;
    *tally = (struct conform_tally){0};
    batch.results = malloc(family->batch_cases * family->case_bytes);
    if (choice->cases == 0 || want > answers->batches)
        want = answers->batches;
    for (uint64_t i = 0; good && batch.results != NULL && i < want; i++) {
        if (choice->parts != 0 && i % choice->parts != choice->part)
            continue;
        batch.number = i * answers->batches / want;
        good = conform_run(family, &batch, error);
        if (!good)
            break;
        conform_hash(family, &batch, hashes);
        tally->cases += family->batch_cases;
        for (size_t block = 0; block < conform_blocks(family); block++) {
            tally->blocks++;
            if (hashes[block] == answers->hashes[batch.number * conform_blocks(family) + block])
                continue;
            if (tally->different_blocks++ == 0) {
                tally->first_batch = batch.number;
                tally->first_block = block;
            }
        }
    }
    good = good && batch.results != NULL;
    free(batch.results);
    free(hashes);
    return good;
}
