#ifndef SILTWIN_DIFF_STORE_H
#define SILTWIN_DIFF_STORE_H

#include "diff_class.h"
#include "diff_track.h"

/* What probes saw being stored to buffers: which CTA stored which bytes, and whether the stored
 * value was one about which machines may disagree. */

struct diff_stores;

/* Notes all plain stores (st) of a launch's stream; false without memory. *stores is made at need.
 */
bool diff_stores_add(struct diff_stores **stores, const struct stream *stream);
/* Notes that the value which this event stored differs, and how. */
bool diff_stores_differ(struct diff_stores **stores, const struct stream *stream,
                        const struct stream_event *event, enum diff_class class);
/* The class of a difference in `size` bytes of a buffer: DIFF_EQUAL when the stores say nothing of
 * it, DIFF_UNORDERED when two CTAs that cannot wait for each other stored them, else that of the
 * stored value. */
enum diff_class diff_stores_class(struct diff_stores *stores, const char *buffer,
                                  uint64_t offset_bytes, uint64_t size);
void diff_stores_free(struct diff_stores *stores);

#endif
