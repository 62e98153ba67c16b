#ifndef SILTWIN_PROGRESS_H
#define SILTWIN_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A line on the terminal about what runs for more than two seconds; nothing when stderr is no
 * terminal. A thread of its own prints it, so that it moves whatever the others do. */
struct progress {
    bool enabled, shown, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    double started;       /* seconds of the monotonic clock */
    uint64_t done, total; /* CTAs; total 0: no launch */
    char what[120];       /* "": nothing runs */
};

void progress_init(struct progress *progress, bool quiet);
/* What runs from now on. */
void progress_start(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* siltwin_sim_progress: `context` is a struct progress. */
void progress_ctas(void *context, uint64_t done, uint64_t total);
/* Nothing runs: takes the line away, before anything else is printed. */
void progress_clear(struct progress *progress);
void progress_end(struct progress *progress);
double progress_seconds(void);

#endif
