#ifndef SILTWIN_DIFF_TRACK_H
#define SILTWIN_DIFF_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

/* The events of a launch in the order in which two machines are compared: by group, then thread,
 * then program order. A group is a CTA, or for events of a probe with a key all that have the same
 * key, whatever CTA it fell to. */

struct diff_group {
    bool keyed;
    uint32_t key_count;
    uint64_t key[PROBE_MAX_KEYS]; /* of a group without a key: the CTA */
    uint32_t thread;
};

struct diff_item {
    struct diff_group group;
    uint32_t visit; /* of its place, in the group */
    size_t event;
};

struct diff_track {
    const struct stream *stream;
    struct diff_item *items;
    size_t count;
    /* An item whose thread of a group is one of two CTAs: the key does not tell them apart. */
    const struct diff_item *ambiguous;
};

/* False without memory. `track` is to be freed either way; `stream` must live as long. */
bool diff_track_make(struct diff_track *track, const struct stream *stream);
void diff_track_free(struct diff_track *track);

int diff_group_compare(const struct diff_group *x, const struct diff_group *y);
/* Behind the last item of the group that begins at `at`. */
size_t diff_track_end(const struct diff_track *track, size_t at);
/* The event of that group, place and visit; NULL when there is none. */
const struct stream_event *diff_track_find(const struct diff_track *track,
                                           const struct diff_group *group, uint32_t place,
                                           uint32_t visit);
/* The event of an item. */
const struct stream_event *diff_track_event(const struct diff_track *track, size_t item);
/* "cta 3", "%tile=5 (cta 2)". */
void diff_track_text(const struct diff_track *track, size_t item, struct strbuf *out);

#endif
