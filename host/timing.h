#ifndef SILTWIN_TIMING_H
#define SILTWIN_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "launch.h"

/* Times of one launch repeated, in milliseconds by the driver's events. */
struct timing {
    double median_ms, min_ms, max_ms;
    double spread; /* (upper quartile - lower quartile) / median */
    size_t repeats;
};

/* Median, extremes and spread of `count` (at least 1) times; sorts them in place. */
struct timing timing_summarize(double *times_ms, size_t count);

/* Starts work on the default stream, the `index`th time; does not wait. */
typedef bool timing_start(void *context, size_t index, struct host_error *error);

/* Starts the work `warmups` times untimed, then `repeats` (1..10000) times, each between two events
 * of the default stream. */
struct timing_calls {
    timing_start *start;
    void *context;
    size_t warmups, repeats;
};
bool timing_repeat(const struct driver *driver, const struct timing_calls *calls,
                   struct timing *timing, struct host_error *error);

/* Launches `warmups` times untimed, then `repeats` (1..10000) times, each between two events. */
struct timing_desc {
    const struct launch_desc *launch;
    size_t warmups, repeats;
};
bool timing_measure(const struct driver *driver, const struct timing_desc *desc,
                    struct timing *timing, struct host_error *error);

#endif
