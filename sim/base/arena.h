#ifndef SILTWIN_ARENA_H
#define SILTWIN_ARENA_H

#include <stddef.h>

/* Memory that is given back all at once: everything that belongs to one module, one launch or one
 * trace. A zeroed struct is an empty arena. */
struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t total_bytes;         /* handed out by the system so far */
};

/* `size` zeroed bytes at a multiple of `align` (a power of two, at most 4096); NULL when the host
 * has no memory left. Size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size, size_t align);

/* Room for `count` objects of `size` bytes at 16-byte alignment, NULL also when the product
 * overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* A copy of `length` bytes with a zero byte behind them. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_strdup(struct arena *arena, const char *text);

/* Gives everything back; the arena is empty again and can be used on. */
void arena_free(struct arena *arena);

#endif
