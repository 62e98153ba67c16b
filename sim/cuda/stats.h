#ifndef SILTWIN_STATS_H
#define SILTWIN_STATS_H

#include "event.h"
#include "isa.h"
#include "siltwin_sim.h"

/* An observer that counts one launch. */
struct stats_counters {
    struct siltwin_sim_stats sums;
    uint16_t class_offset[ISA_COUNT]; /* of the form's class in `sums` */
};

/* Empties the counters and fills in an observer that adds to them. */
void stats_observe(struct stats_counters *counters, struct observer *observer);

#endif
