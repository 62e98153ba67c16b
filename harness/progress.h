#ifndef SILTWIN_PROGRESS_H
#define SILTWIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A line on the terminal about what runs for more than two seconds; nothing when stderr is no
 * terminal. */
struct progress {
    bool enabled, shown;
    double started, printed; /* seconds of the monotonic clock */
    char what[120];
};

void progress_init(struct progress *progress, bool quiet);
/* What runs from now on. */
void progress_start(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* siltwin_sim_progress: `context` is a struct progress. */
void progress_ctas(void *context, uint64_t done, uint64_t total);
/* Takes the line away, before anything else is printed. */
void progress_clear(struct progress *progress);
double progress_seconds(void);

#endif
