/* Rows of a timeline; the format is in timeline.h. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct timeline_row) == 64, "rows are stored as they are");

void timeline_add(struct timeline *t, const struct timeline_row *row) {
    if (t->count == t->capacity) {
        const size_t wanted = t->capacity ? 2 * t->capacity : 256;
        struct timeline_row *grown =
            wanted > TIMELINE_MAX_ROWS ? NULL : realloc(t->rows, wanted * sizeof *grown);
        if (!grown) {
            t->cut = true;
            return;
        }
        t->rows = grown;
        t->capacity = wanted;
    }
    t->rows[t->count++] = *row;
}

void timeline_free(struct timeline *t) {
    free(t->rows);
    *t = (struct timeline){0};
}

bool timeline_read(const uint8_t *bytes, size_t size, uint32_t place_count, struct timeline *t) {
    const size_t count = size / sizeof(struct timeline_row);
    uint64_t step = 0;
    *t = (struct timeline){0};
    if (size % sizeof(struct timeline_row) || count > TIMELINE_MAX_ROWS)
        return false;
    t->rows = malloc(size + 1);
    if (!t->rows)
        return false;
    if (size)
        memcpy(t->rows, bytes, size);
    t->count = t->capacity = count;
    for (size_t i = 0; i < count; i++) {
        const struct timeline_row *row = &t->rows[i];
        const bool needs_place = row->kind != TIMELINE_BARRIER;
        if (row->kind >= TIMELINE_KIND_COUNT || row->step < step || row->begin > row->step ||
            row->step > INT64_MAX / 2 ||
            (row->place >= place_count && (needs_place || row->place != TIMELINE_NONE)))
            return false;
        step = row->step;
    }
    return true;
}
