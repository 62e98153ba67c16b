/* Blocks from calloc in a list; a request is cut from the newest block, a request that does not fit
 * opens a new one. Nothing is freed alone. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used_bytes;
    size_t size_bytes;
    unsigned char bytes[];
};

static struct arena_block *arena_grow(struct arena *arena, size_t least_bytes) {
    size_t size = least_bytes > ARENA_BLOCK_BYTES ? least_bytes : ARENA_BLOCK_BYTES;
    struct arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL)
        return NULL;
    block->size_bytes = size;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->total_bytes += size;
    return block;
}

static void *block_cut(struct arena_block *block, size_t size, size_t align) {
    uintptr_t base = (uintptr_t)block->bytes;
    uintptr_t at = (uintptr_t)bits_align_up(base + block->used_bytes, align);
    size_t offset = (size_t)(at - base);
    if (offset > block->size_bytes || block->size_bytes - offset < size)
        return NULL;
    block->used_bytes = offset + size;
    return block->bytes + offset;
}

void *arena_alloc(struct arena *arena, size_t size, size_t align) {
    if (size > SIZE_MAX / 2)
        return NULL;
    if (arena->blocks != NULL) {
        void *p = block_cut(arena->blocks, size, align);
        if (p != NULL)
            return p;
    }
    struct arena_block *block = arena_grow(arena, size + align);
    return block == NULL ? NULL : block_cut(block, size, align);
}

void *arena_array(struct arena *arena, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    return arena_alloc(arena, count * size, 16);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length) {
    char *copy = arena_alloc(arena, length + 1, 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text) {
    return arena_strndup(arena, text, strlen(text));
}

void arena_free(struct arena *arena) {
    struct arena_block *block = arena->blocks;
    while (block != NULL) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (struct arena){0};
}
