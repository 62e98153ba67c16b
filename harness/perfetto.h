#ifndef SILTWIN_PERFETTO_H
#define SILTWIN_PERFETTO_H

#include "record.h"
#include "strbuf.h"

/* A record's events as a trace of the Chrome JSON format, which the Perfetto UI opens. Each CTA is
 * a process; its warps, its asynchronous units and its mbarriers are threads. A slice is an
 * instruction from the moment a warp comes to it until it goes on, an operation from issue to
 * completion, a phase of an mbarrier; flows lead from issue to operation to phase to the wait that
 * it ended. There is no time in a record: with [sim] probes the axis is the simulator's steps, else
 * each thread's count of events, and its name says which; one is shown as a microsecond. */

/* Appends the whole document to `out`. False with a text in `error`: there is nothing to show, or
 * the record is damaged, or memory is short. */
bool perfetto_write(const struct record *record, struct strbuf *out, struct strbuf *error);

#endif
