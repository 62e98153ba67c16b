#ifndef SILTWIN_EVENT_LINES_H
#define SILTWIN_EVENT_LINES_H

#include "event.h"
#include "siltwin_sim.h"

/* An observer that writes one line of text per event to a sink, and hands each event on to a second
 * observer. */
struct event_lines {
    siltwin_sim_events *sink;
    void *ctx;
    uint32_t kinds;       /* that are written */
    uint64_t launch;      /* the first field of each line */
    const char *file;     /* of the module */
    struct observer next; /* kinds 0: none */
};

/* Fills in the observer for one launch on one host thread. `lines` lives as long as the launch. */
void event_lines_observe(struct event_lines *lines, struct observer *observer);

#endif
