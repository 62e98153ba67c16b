/* Part of the random cases that an H200 answered (traces/silicon/h200), run again on the simulator:
 * a hash of every 64 cases must come out the same. build/conform --against runs all of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conform_record.h"
#include "device.h"
#include "num_approx.h"
#include "siltwin_sim.h"
#include "support.h"

static const char forms[] = SILTWIN_ROOT "/tests/oracle/scalar/forms.csv";

/* Refused tensor maps are cases here, not news. */
static void keep_quiet(void *ctx, const char *line) {
    (void)ctx;
    (void)line;
}

static void replay(const char *family, uint64_t cases) {
    struct driver driver;
    struct device device;
    struct conform_record record;
    struct conform_tally tally;
    struct host_error error = {0};
    char path[4096], name[100];
    setenv("SILTWIN_DEVICE", "h200", 1);
    snprintf(path, sizeof path, SILTWIN_ROOT "/traces/silicon/h200/%s.conf", family);
    cr_assert(driver_open(&driver, SILTWIN_BUILD "/sim/libcuda.so.1", &error), "%s", error.text);
    siltwin_sim_set_log *set_log;
    void *found = driver_extension(&driver, "siltwinSimSetLog");
    memcpy(&set_log, &found, sizeof found);
    cr_assert_eq(set_log(keep_quiet, NULL), 0);
    cr_assert(device_open(&driver, 0, &device, &error), "%s", error.text);
    cr_assert(conform_record_read(path, &record, &error), "%s", error.text);
    cr_assert_eq(record.count, 1);
    struct conform_choice choice = {.cases = cases};
    cr_assert(conform_replay(&driver, forms, &record, &record.answers[0], &choice, &tally, &error),
              "%s", error.text);
    cr_assert_eq(tally.different_blocks, 0, "%s: %llu of %llu blocks differ, first batch %llu",
                 family, (unsigned long long)tally.different_blocks,
                 (unsigned long long)tally.blocks, (unsigned long long)tally.first_batch);
    cr_assert_geq(tally.cases, cases);
    snprintf(name, sizeof name, "silicon/h200/%s.conf (cases)", family);
    report_rows(name, (size_t)tally.cases);
    conform_record_free(&record);
    device_close(&device);
    driver_close(&driver);
}

#define FAMILY(name, cases)                                                                        \
    Test(conformance, name) {                                                                      \
        replay(#name, cases);                                                                      \
    }
FAMILY(tensormap, 8192)
FAMILY(im2col_map, 8192)
FAMILY(mbarrier, 4096)
FAMILY(matrix, 3328)
FAMILY(warp, 11264)
FAMILY(atom, 61440)
FAMILY(scalar, 98304)
FAMILY(exhaustive, 262144)
FAMILY(bulk, 2048)
FAMILY(tma_load, 2048)
FAMILY(tma_store, 2048)
FAMILY(interleave_load, 2048)
FAMILY(interleave_store, 2048)
FAMILY(im2col_load, 2048)
FAMILY(im2col_store, 2048)
FAMILY(wgmma, 1792)
FAMILY(wgmma_sp, 1792)
FAMILY(wgmma_b1, 1024)
FAMILY(mma_sp, 3584)
FAMILY(mma, 9216)
FAMILY(wmma, 2688)
FAMILY(approx, 22528)

/* Family approx is what it says: a case is the hash of 16,384 results (conform_approx.c). */
Test(conformance, approx_is_num) {
    struct driver driver;
    struct device device;
    struct host_error error = {0};
    const struct conform_family *family = conform_find("approx");
    struct conform_batch batch = {.driver = &driver, .seed = 1, .number = 5 * 256 + 3};
    setenv("SILTWIN_DEVICE", "h200", 1);
    cr_assert(driver_open(&driver, SILTWIN_BUILD "/sim/libcuda.so.1", &error), "%s", error.text);
    cr_assert(device_open(&driver, 0, &device, &error), "%s", error.text);
    batch.results = calloc(family->batch_cases, family->case_bytes);
    cr_assert(conform_run(family, &batch, &error), "%s", error.text);
    for (uint32_t i = 0; i < family->batch_cases; i += 93) { /* rcp.approx.f32, piece 3 */
        uint32_t hash = 0, sum = 0, words[2];
        for (uint32_t k = 0; k < 16384; k++) {
            uint32_t result = num_approx_rcp((i * 16384 + k) * 256 + 3, false);
            hash = (hash ^ result) * 0x01000193;
            sum += result;
        }
        memcpy(words, batch.results + i * family->case_bytes, sizeof words);
        cr_assert(words[0] == hash && words[1] == sum, "case %u", i);
    }
    free(batch.results);
    device_close(&device);
    driver_close(&driver);
}

/* A record that was cut, is of something else or was changed is said so, and no answers come. */
Test(conformance, bad_records) {
    static const char *const texts[] = {
        "",
        "siltwin conformance 2\nend\n",
        "siltwin conformance 1\nseed 1\n",
        "siltwin conformance 1\nfamily warp cases 512 batches 1\nend\n",
        "siltwin conformance 1\nfamily warp cases 511 batches 0\nend\n",
        "siltwin conformance 1\nfamily other cases 512 batches 0\nend\n",
        "siltwin conformance 1\nnonsense\nend\n",
    };
    char path[] = "/tmp/siltwin_conform_XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct conform_record record;
        struct host_error error = {0};
        FILE *file = fopen(path, "w");
        fputs(texts[i], file);
        fclose(file);
        cr_assert_not(conform_record_read(path, &record, &error), "text %zu", i);
        cr_assert(error.text[0] != '\0');
        conform_record_free(&record);
    }
    remove(path);
}

/* The hash of a block changes with any bit of its results. */
Test(conformance, a_changed_word_changes_its_block) {
    const struct conform_family *family = conform_find("warp");
    uint8_t *results = calloc(family->batch_cases, family->case_bytes);
    struct conform_batch batch = {.results = results, .case_bytes = family->case_bytes};
    uint64_t before[8], after[8];
    cr_assert_eq(conform_blocks(family), 8);
    conform_hash(family, &batch, before);
    results[3 * 64 * family->case_bytes + 17] ^= 4;
    conform_hash(family, &batch, after);
    for (unsigned i = 0; i < 8; i++)
        cr_assert_eq(before[i] != after[i], i == 3);
    free(results);
}
