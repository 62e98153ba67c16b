#ifndef SILTWIN_RECORD_RUN_H
#define SILTWIN_RECORD_RUN_H

#include "input.h"
#include "run.h"

/* Writes the record of a run to `path`. `head` (taken over) says how it was run. */
enum status record_run(const char *path, const struct input *input, const struct run *run,
                       json_t *head, uint64_t *digest, struct strbuf *error);

#endif
