#ifndef SILTWIN_WATCH_OBSERVER_H
#define SILTWIN_WATCH_OBSERVER_H

#include <stdbool.h>

#include "exec.h"
#include "siltwin_watch.h"

/* The watch that is set, and an observer that hands its hits to the callback. */
struct watch {
    struct arena arena; /* of all below */
    struct siltwin_watch_point *points;
    uint32_t count;
    uint32_t *by_place;     /* indices of the points, by line and column */
    const char **registers; /* of all points */
    uint32_t register_count;
    siltwin_watch_hit_fn *hit;
    void *ctx;
};

/* NULL: no memory. */
struct watch *watch_create(const struct siltwin_sim_watch *from);
void watch_free(struct watch *watch);

/* The watch of one launch. */
struct watch_launch {
    const struct watch *watch;
    const struct exec_kernel *kernel; /* in which the registers have storage of their own */
    struct arena arena;
    uint64_t launch, step;
    struct observer next; /* told of everything too; kinds 0: none */
    void *next_worker;
    uint32_t **points; /* by function of the image and instruction: point, plus one */
};

/* Sets up the watch of a launch of `kernel`, whose text is called `file`; launch->kernel is what is
 * to run. False: no memory. watch_launch_end frees it in any case. */
bool watch_launch_begin(struct watch_launch *launch, const struct watch *watch,
                        const struct exec_module *module, const struct exec_kernel *kernel,
                        const char *file);
/* The observer; launch->next is told what it asks for. */
void watch_observe(struct watch_launch *launch, struct observer *observer);
void watch_launch_end(struct watch_launch *launch);

#endif
