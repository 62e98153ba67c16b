/* Stores that probes saw, sorted by buffer and offset when they are asked for. */
#include "diff_store.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 32 }; /* of one thread's store */

struct store {
    const char *object; /* a string of the stream's JSON */
    int64_t offset_bytes;
    uint32_t size, launch, cta;
    bool silent; /* its kernel has no means by which CTAs wait for each other */
    enum diff_class class;
};

struct diff_stores {
    struct store *items;
    size_t count, capacity;
    bool sorted;
};

static bool add(struct diff_stores **stores, const struct store *store) {
    struct diff_stores *s = *stores;
    if (!s)
        s = *stores = calloc(1, sizeof *s);
    if (!s)
        return false;
    if (s->count == s->capacity) {
        const size_t wanted = s->capacity ? 2 * s->capacity : 256;
        struct store *grown = realloc(s->items, wanted * sizeof *grown);
        if (!grown)
            return false;
        s->items = grown;
        s->capacity = wanted;
    }
    s->items[s->count++] = *store;
    s->sorted = false;
    return true;
}

/* Bytes that an instruction "st....v4.b32 ..." stores, 0 when it is no plain store. */
static uint32_t stored_bytes(const struct stream_place *place) {
    const char *text = place->text;
    const size_t length = strcspn(text, " \t");
    if (strcmp(place->kind, "event") != 0 || strncmp(text, "st.", 3) != 0 ||
        !strncmp(text, "st.async", 8) || !strncmp(text, "st.bulk", 7))
        return 0;
    const char *type = text + length;
    while (type > text && type[-1] != '.')
        type--;
    const unsigned bits =
        ptx_type_bits((enum ptx_type)ptx_type_find(type, (unsigned)(text + length - type)));
    const char *vector = memmem(text, length, ".v", 2);
    return bits / 8 *
           (vector && isdigit((unsigned char)vector[2]) ? (uint32_t)(vector[2] - '0') : 1);
}

/* False when the event stored nothing to a known object. */
static bool read_store(const struct stream *s, const struct stream_event *event,
                       struct store *store) {
    const struct stream_place *place = &s->places[event->place];
    *store = (struct store){.size = stored_bytes(place),
                            .launch = s->launch,
                            .cta = event->cta,
                            .silent = s->silent,
                            .class = DIFF_EQUAL};
    for (uint32_t i = 0; store->size && i < place->value_count; i++)
        if (place->values[i].role == STREAM_ADDRESS)
            store->object = stream_pointer(s, event, i, &store->offset_bytes);
    return store->object;
}

bool diff_stores_add(struct diff_stores **stores, const struct stream *stream) {
    struct store store;
    for (size_t i = 0; i < stream->event_count; i++)
        if (read_store(stream, &stream->events[i], &store) && !add(stores, &store))
            return false;
    return true;
}

bool diff_stores_differ(struct diff_stores **stores, const struct stream *stream,
                        const struct stream_event *event, enum diff_class class) {
    struct store store;
    if (!read_store(stream, event, &store))
        return true;
    store.class = class;
    return add(stores, &store);
}

static int by_place(const void *a, const void *b) {
    const struct store *x = a, *y = b;
    const int order = strcmp(x->object, y->object);
    if (order)
        return order;
    return x->offset_bytes < y->offset_bytes ? -1 : x->offset_bytes > y->offset_bytes;
}

enum diff_class diff_stores_class(struct diff_stores *s, const char *buffer, uint64_t offset_bytes,
                                  uint64_t size) {
    enum diff_class class = DIFF_EQUAL;
    const struct store *first = NULL;
    if (!s)
        return class;
    if (!s->sorted)
        qsort(s->items, s->count, sizeof *s->items, by_place);
    s->sorted = true;
    const int64_t begin = (int64_t)offset_bytes, end = begin + (int64_t)size;
    const struct store key = {.object = buffer, .offset_bytes = begin - MOST_BYTES};
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_place(&s->items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && !strcmp(s->items[low].object, buffer); low++) {
        const struct store *store = &s->items[low];
        if (store->offset_bytes >= end)
            break;
        if (store->offset_bytes + store->size <= begin)
            continue;
        if (first && first->launch == store->launch && first->cta != store->cta && first->silent &&
            store->silent)
            return DIFF_UNORDERED;
        first = first ? first : store;
        class = store->class < class ? store->class : class;
    }
    return class;
}

void diff_stores_free(struct diff_stores *s) {
    if (s)
        free(s->items);
    free(s);
}
