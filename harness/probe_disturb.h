#ifndef SILTWIN_PROBE_DISTURB_H
#define SILTWIN_PROBE_DISTURB_H

#include "input.h"
#include "run.h"

/* Says what probes disturbed: runs the trace once more on the same machine, without its probes, and
 * prints registers, local memory and instructions of each kernel, the time of the launches, and
 * whether the buffers end the same. `probed` has run as expected and is not freed. False: the
 * buffers are not the same, or the plain run failed, which is said on stderr. */
bool probe_disturb_report(struct run *probed, const struct input *input);

#endif
