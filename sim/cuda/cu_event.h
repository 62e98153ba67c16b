#ifndef SILTWIN_CU_EVENT_H
#define SILTWIN_CU_EVENT_H

#include "cu_root.h"

struct cu_event {
    CUevent handle;
    struct cu_context *context;
    unsigned flags;
    bool recorded;
    double seconds; /* of the host's monotonic clock, when recorded */
    struct cu_event *next;
};

void cu_event_free(struct cu_event *event);
/* Records an event of a launch attribute; false when there is no such event. */
bool cu_event_record(CUevent handle);

#endif
