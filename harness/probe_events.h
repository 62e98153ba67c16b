#ifndef SILTWIN_PROBE_EVENTS_H
#define SILTWIN_PROBE_EVENTS_H

#include "probe_layout.h"
#include "probe_race.h"
#include "run.h"

/* What the probes of one launch wrote, as the events of a stream (stream.h). */

/* A plan's buffer. */
struct probe_part {
    struct probe_layout layout;
    uint8_t *bytes;          /* NULL: nothing is probed */
    struct probe_race *race; /* of probes that read memory; NULL: nothing is watched */
};

/* The events as they are gathered; zeroed but for the first four, `objects` an empty array. */
struct probe_events {
    const struct probe_part *part;
    struct run *run;
    bool sim;        /* of [sim] probes */
    json_t *objects; /* that addresses point into */
    uint8_t *bytes;  /* EVNT, to be freed */
    size_t size, capacity;
    uint64_t threads_lost; /* with more hits than are kept */
    const struct trace_probe *lost_by;
    bool no_memory;
};

/* Fills the events in. False: no memory. */
bool probe_events_gather(struct probe_events *events);
/* The instruction as the text has it, blanks and comments made one blank, long register lists
 * cut; what lies outside the text is left out. */
void probe_insn_text(const struct ir_module *ir, const struct ir_insn *insn, struct strbuf *out);
/* STRM: what the probed instructions are. */
json_t *probe_describe(const struct probe_events *events);

#endif
