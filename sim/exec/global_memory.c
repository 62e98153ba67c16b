#include "global_memory.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "hash.h"

/* Device memory: a sorted array of allocations. Guest addresses only grow until the space is used
 * up, so that an old pointer does not fall into a new buffer; then the first gap is taken. */

enum { GUARD_BYTES = 4096, HOST_ALIGN_BYTES = 4096 };
#define GLOBAL_LAST UINT64_C(0x00007fffffff0000)

struct global_memory {
    struct global_range *ranges; /* by address */
    uint32_t count, capacity;
    uint64_t used_bytes, limit_bytes, next_address, seed;
};

struct global_memory *global_memory_create(uint64_t limit_bytes, uint64_t seed) {
    struct global_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->limit_bytes = limit_bytes;
    memory->seed = seed;
    memory->next_address = GLOBAL_FIRST;
    return memory;
}

static void release(struct global_range *range) {
    if (!range->mapped)
        free(range->host);
}

void global_memory_destroy(struct global_memory *memory) {
    if (memory == NULL)
        return;
    for (uint32_t i = 0; i < memory->count; i++)
        release(&memory->ranges[i]);
    free(memory->ranges);
    free(memory);
}

/* Index of the first range that ends above `address`. */
static uint32_t lower_bound(const struct global_memory *memory, uint64_t address) {
    uint32_t low = 0, high = memory->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct global_range *range = &memory->ranges[middle];
        if (range->address + range->size_bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t room(uint64_t size_bytes) {
    return bits_align_up(size_bytes + GUARD_BYTES, GLOBAL_ALIGN_BYTES);
}

/* The lowest gap that holds the allocation and its guard, 0 for none. */
static uint64_t first_gap(const struct global_memory *memory, uint64_t size_bytes) {
    uint64_t at = GLOBAL_FIRST;
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct global_range *range = &memory->ranges[i];
        if (range->address >= at && range->address - at >= room(size_bytes))
            return at;
        if (range->address + room(range->size_bytes) > at)
            at = range->address + room(range->size_bytes);
    }
    return GLOBAL_LAST - at >= room(size_bytes) ? at : 0;
}

static bool grow(struct global_memory *memory) {
    if (memory->count < memory->capacity)
        return true;
    uint32_t capacity = memory->capacity * 2 + 16;
    struct global_range *ranges = realloc(memory->ranges, capacity * sizeof *ranges);
    if (ranges == NULL)
        return false;
    memory->ranges = ranges;
    memory->capacity = capacity;
    return true;
}

static void fill(uint8_t *bytes, uint64_t size_bytes, uint64_t seed) {
    for (uint64_t i = 0; i < size_bytes; i += 8) {
        uint64_t word = hash_mix64(seed + i);
        memcpy(bytes + i, &word, 8);
    }
}

static void insert(struct global_memory *memory, uint32_t at, struct global_range range) {
    memmove(&memory->ranges[at + 1], &memory->ranges[at],
            (memory->count - at) * sizeof *memory->ranges);
    memory->ranges[at] = range;
    memory->count++;
}

bool global_memory_map(struct global_memory *memory, uint64_t address, uint64_t size_bytes,
                       uint8_t *host) {
    if (size_bytes == 0 || address + size_bytes < address || !grow(memory))
        return false;
    uint32_t at = lower_bound(memory, address);
    if (at < memory->count && memory->ranges[at].address < address + size_bytes)
        return false;
    insert(memory, at, (struct global_range){address, size_bytes, host, true});
    return true;
}

bool global_memory_alloc_at(struct global_memory *memory, uint64_t address, uint64_t size_bytes) {
    if (size_bytes == 0 || address % GLOBAL_ALIGN_BYTES != 0 ||
        size_bytes > memory->limit_bytes - memory->used_bytes || !grow(memory))
        return false;
    uint32_t at = lower_bound(memory, address);
    if (at < memory->count && memory->ranges[at].address < address + room(size_bytes))
        return false;
    uint64_t host_bytes = bits_align_up(size_bytes, HOST_ALIGN_BYTES);
    uint8_t *host = aligned_alloc(HOST_ALIGN_BYTES, host_bytes);
    if (host == NULL)
        return false;
    fill(host, host_bytes, hash_mix64(memory->seed ^ address));
    insert(memory, at, (struct global_range){address, size_bytes, host, false});
    memory->used_bytes += size_bytes;
    return true;
}

uint64_t global_memory_alloc(struct global_memory *memory, uint64_t size_bytes) {
    if (size_bytes == 0 || size_bytes > memory->limit_bytes - memory->used_bytes)
        return 0;
    uint64_t address = memory->next_address;
    if (GLOBAL_LAST - address < room(size_bytes))
        address = first_gap(memory, size_bytes);
    /* An address that was taken with alloc_at is stepped over. */
    if (address != 0 && !global_memory_alloc_at(memory, address, size_bytes)) {
        address = first_gap(memory, size_bytes);
        if (address == 0 || !global_memory_alloc_at(memory, address, size_bytes))
            return 0;
    }
    if (address >= memory->next_address)
        memory->next_address = address + room(size_bytes);
    return address;
}

bool global_memory_free(struct global_memory *memory, uint64_t address) {
    uint32_t at = lower_bound(memory, address);
    if (at == memory->count || memory->ranges[at].address != address)
        return false;
    if (!memory->ranges[at].mapped)
        memory->used_bytes -= memory->ranges[at].size_bytes;
    release(&memory->ranges[at]);
    memory->count--;
    memmove(&memory->ranges[at], &memory->ranges[at + 1],
            (memory->count - at) * sizeof *memory->ranges);
    return true;
}

const struct global_range *global_memory_find(const struct global_memory *memory,
                                              uint64_t address) {
    uint32_t at = lower_bound(memory, address);
    if (at == memory->count || memory->ranges[at].address > address)
        return NULL;
    return &memory->ranges[at];
}

uint8_t *global_memory_host(const struct global_memory *memory, uint64_t address,
                            uint64_t size_bytes) {
    const struct global_range *range = global_memory_find(memory, address);
    if (range == NULL || range->address + range->size_bytes - address < size_bytes)
        return NULL;
    return range->host + (address - range->address);
}

uint64_t global_memory_used_bytes(const struct global_memory *memory) {
    return memory->used_bytes;
}
