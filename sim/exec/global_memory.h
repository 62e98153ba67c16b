#ifndef SILTWIN_GLOBAL_MEMORY_H
#define SILTWIN_GLOBAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Device memory: allocations at guest addresses, each backed by host memory, with unmapped bytes
 * between them so that an access past an end is found. Not thread safe for alloc and free; look-ups
 * may run side by side while nothing is allocated. */
struct global_memory;

/* One allocation. */
struct global_range {
    uint64_t address; /* guest */
    uint64_t size_bytes;
    uint8_t *host;
    bool mapped; /* the host bytes are somebody else's */
};

enum {
    GLOBAL_ALIGN_BYTES = 512, /* of a device allocation; cuMemAlloc promises 256 */
};
/* The generic window of shared memory is 4 GiB at a multiple of 4 GiB, apart from every buffer
 * (H200 observation 31); so is the window of local memory here. Kernel parameters have generic
 * addresses of their own (scalar.md section 8). */
#define SHARED_WINDOW UINT64_C(0x00007d0000000000)
#define LOCAL_WINDOW  UINT64_C(0x00007d0200000000)
enum { LOCAL_WINDOW_BYTES = 1 << 24 };
#define PARAM_WINDOW UINT64_C(0x00007d0400000000)
#define CONST_WINDOW UINT64_C(0x00007d0600000000)
#define GLOBAL_FIRST UINT64_C(0x00007e0000000000)

struct global_memory *global_memory_create(uint64_t limit_bytes, uint64_t seed);
void global_memory_destroy(struct global_memory *memory);
/* Guest address, deterministic from the order of calls; 0 when there is no room. Contents are a
 * seeded pattern, not zero. */
uint64_t global_memory_alloc(struct global_memory *memory, uint64_t size_bytes);
/* As alloc, at that address (a multiple of GLOBAL_ALIGN_BYTES); false when it is taken. */
bool global_memory_alloc_at(struct global_memory *memory, uint64_t address, uint64_t size_bytes);
/* Makes `host` bytes, which stay the caller's, visible at `address` (any; an H200 has host memory
 * at the host's own addresses). They do not count as used. False when an allocation overlaps. */
bool global_memory_map(struct global_memory *memory, uint64_t address, uint64_t size_bytes,
                       uint8_t *host);
/* False when `address` is not the start of an allocation or mapping. */
bool global_memory_free(struct global_memory *memory, uint64_t address);
/* The allocation that holds `address`, NULL for none. */
const struct global_range *global_memory_find(const struct global_memory *memory, uint64_t address);
/* Host address of [address, address + size_bytes), NULL unless one allocation holds all of it. */
uint8_t *global_memory_host(const struct global_memory *memory, uint64_t address,
                            uint64_t size_bytes);
uint64_t global_memory_used_bytes(const struct global_memory *memory);

#endif
