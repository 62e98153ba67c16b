#ifndef SILTWIN_ISA_EXECUTE_H
#define SILTWIN_ISA_EXECUTE_H

#include <stdbool.h>
#include <stdio.h>

#include "driver.h"
#include "isa_program.h"

/* Runs a program of tests/isa through a driver and judges what it left. */

struct isa_outcome {
    CUresult result;                         /* how the launch ended */
    bool context_lost;                       /* nothing more can run in this process */
    struct isa_values after[ISA_PARAMS_MAX]; /* of out and inout buffers; empty after a failure */
    char text[2000];                         /* what the driver said, "" when it said nothing */
};

/* Loads and launches in the current context, waits and reads the buffers back. False when it could
 * not even be launched (outcome->text). Free the outcome in either case. */
bool isa_execute(const struct driver *driver, const struct isa_program *program,
                 struct isa_outcome *outcome);
void isa_outcome_free(struct isa_outcome *outcome);

/* Whether the outcome is what the program's head comment expects; if not, `text` says where. */
bool isa_judge(const struct isa_program *program, const struct isa_outcome *outcome, char *text,
               size_t text_bytes);

/* The outcome as lines of a record: "program NAME result N", and "after PARAMETER TYPE VALUES"
 * for each buffer. Elements that may be anything are written as "?". */
void isa_record_write(const struct isa_program *program, const struct isa_outcome *outcome,
                      FILE *file);

/* Puts what a record says about the program in the place of its own expectations. False when the
 * record has no such program; *trouble is set when what it has does not fit. */
bool isa_record_apply(const char *record, struct isa_program *program, const char **trouble);

#endif
