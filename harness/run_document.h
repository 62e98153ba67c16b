#ifndef SILTWIN_RUN_DOCUMENT_H
#define SILTWIN_RUN_DOCUMENT_H

#include "input.h"
#include "run.h"

/* What `siltwin run` leaves for other programs: its JSON document and the head of its record. */

struct run_document {
    const struct input *input;
    const struct run *run;           /* NULL: nothing has run */
    const char *record;              /* where the record was written, NULL: nowhere */
    uint64_t digest;                 /* of that record */
    const struct trace_error *error; /* why nothing has run, or NULL */
    int exit_status;
};

/* {"schema":"siltwin.run/1", ...} on stdout. */
void run_document_print(const struct run_document *document);
/* The record's HEAD: on what machine and how it was run. `policy` as the command line names it. */
json_t *run_document_head(const struct run *run, const struct machine_options *options,
                          const char *policy);

#endif
