#ifndef SILTWIN_WATCH_HIT_H
#define SILTWIN_WATCH_HIT_H

#include "image.h"
#include "watch.h"

/* What stands behind the hit that a callback gets. */
struct watch_hit {
    struct siltwin_watch_hit hit; /* first */
    const struct event *event;
    const struct watch_launch *launch;
};

/* The function of the image that the instruction belongs to. */
const struct xfunc *watch_func_of(const struct watch_launch *launch, const struct xinsn *insn);

#endif
