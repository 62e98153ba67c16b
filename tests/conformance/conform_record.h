#ifndef SILTWIN_CONFORM_RECORD_H
#define SILTWIN_CONFORM_RECORD_H

#include <stdio.h>

#include "conform.h"

/* Record of a conformance run. Lines of text,
 *
 *   siltwin conformance 1
 *   device NVIDIA H200 9.0
 *   driver 13000
 *   date 2026-11-29
 *   seed 1
 *   family wgmma cases 256 bytes-each-block 8 batches 224
 *
 * and after each "family" line the hashes, 8 bytes each, least significant first: one for 64
 * cases, chained over their results. "end" is the last line. */

struct conform_answers {
    const struct conform_family *family;
    uint64_t batches;
    uint64_t *hashes; /* batches * (batch_cases / CONFORM_BLOCK) */
};

enum { CONFORM_FAMILIES_MAX = 32 };

struct conform_record {
    char device[300], date[16];
    int driver_version;
    uint64_t seed;
    struct conform_answers answers[CONFORM_FAMILIES_MAX];
    unsigned count;
};

static inline size_t conform_blocks(const struct conform_family *family) {
    return family->batch_cases / CONFORM_BLOCK;
}

/* The hashes of a batch that has run. */
void conform_hash(const struct conform_family *family, const struct conform_batch *batch,
                  uint64_t *hashes);

bool conform_record_write(const struct conform_record *record, FILE *file);
/* False with a sentence in `error`. Free the record in either case. */
bool conform_record_read(const char *path, struct conform_record *record, struct host_error *error);
void conform_record_free(struct conform_record *record);

/* Runs a batch: results (batch_cases * case_bytes bytes) are cleared, filled and described by
 * `batch`. */
bool conform_run(const struct conform_family *family, struct conform_batch *batch,
                 struct host_error *error);

/* Runs about `cases` of the recorded cases again (0: all), spread over the batches; with `parts`
 * not 0, of these batches number i where i mod parts is `part`. */
struct conform_choice {
    uint64_t cases, part, parts;
};
struct conform_tally {
    uint64_t cases, blocks, different_blocks;
    uint64_t first_batch, first_block; /* that differs */
};
bool conform_replay(const struct driver *driver, const char *forms_path,
                    const struct conform_record *record, const struct conform_answers *answers,
                    const struct conform_choice *choice, struct conform_tally *tally,
                    struct host_error *error);

#endif
