#ifndef SILTWIN_FAULT_RUN_H
#define SILTWIN_FAULT_RUN_H

#include <stdio.h>

#include "fault_case.h"

/* Runs cases of misuse in child processes: where a fault leaves a child no new context, or a kernel
 * hangs, the next child goes on behind it. The process that calls must not have opened a driver. */
struct fault_run {
    const char *driver_path; /* NULL: the system's */
    uint64_t seed;
    uint32_t first, count;           /* cases first to count-1 */
    uint32_t jobs;                   /* children at a time */
    uint32_t seconds;                /* no case begins later; 0: no limit */
    const struct fault_answer *only; /* NULL, or only the cases that have an answer here */
};

/* Answers to cases 0 to count-1 (before `first`: none), to be freed with fault_answers_free; NULL
 * without memory. */
struct fault_answer *fault_run_all(const struct fault_run *run);
void fault_answers_free(struct fault_answer *answers, uint32_t count);

/* True when two machines say the same. A case that a machine did not finish equals nothing. */
bool fault_alike(const struct fault_answer *a, const struct fault_answer *b);
/* False for a recorded case without an answer: the driver died of compiling it, or it did not
 * run. */
bool fault_has_answer(const struct fault_answer *answer);

/* A record: lines of text. After the head,
 *
 *   siltwin faults 1
 *   device NVIDIA H200 9.0
 *   driver 13000
 *   date 2026-11-30
 *   seed 1 cases 1024
 *
 * one line for each of these cases that was run: its number, group, results of load, call, launch
 * and synchronise (- where it did not come to that; 702: it hangs; died: the driver did), words in
 * hex when all was well. */
struct fault_record {
    char device[300], date[16];
    int driver_version;
    uint64_t seed;
    uint32_t count;
    struct fault_answer *answers;
};
void fault_answer_print(const struct fault_answer *answer, FILE *file);
bool fault_record_write(const struct fault_record *record, FILE *file);
/* False with a sentence in `error`. The answers are given back with fault_answers_free. */
bool fault_record_read(const char *path, struct fault_record *record, struct host_error *error);

#endif
