#ifndef SILTWIN_RUN_MEMORY_H
#define SILTWIN_RUN_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "machine.h"
#include "module.h"
#include "tensormap.h"
#include "trace.h"

/* A trace's objects on a machine: loaded modules, allocated and filled buffers, encoded tensor
 * maps. */

struct run_buffer {
    struct buffer memory; /* the whole allocation, guards included */
    uint64_t span_at;     /* offset of the span in it */
    uint64_t initial_hash;
};

struct run_map {
    _Alignas(64) CUtensorMap map;
    bool encoded;
    struct buffer memory; /* a copy in device memory, for kernels that take its address */
};

struct run_memory {
    struct machine *machine;
    const struct trace *trace;
    struct module *modules;
    CUdeviceptr *globals;
    struct run_buffer *buffers;
    struct run_map *maps;
};

/* What could not be set up, and whose statement that was. */
struct run_problem {
    const struct trace_place *place; /* NULL: none */
    int exit_status;
    struct strbuf text;
};

/* Loads, allocates, encodes and fills everything. False with `problem`. `memory` is to be freed
 * either way.
 * Buffers lie where `addresses` has them (buffer name: hex, as run_memory_addresses makes it), and
 * without it (NULL) one behind the other from an address that both machines are asked for: so plain
 * registers that hold addresses, or parts of them, are the same on both. */
bool run_memory_setup(struct run_memory *memory, struct machine *machine, const struct trace *trace,
                      const json_t *addresses, struct run_problem *problem);
/* Where the allocations of the buffers begin: an object of name and hex string. */
json_t *run_memory_addresses(const struct run_memory *memory);
void run_memory_free(struct run_memory *memory);

/* Device address of an object. */
CUdeviceptr run_memory_address(const struct run_memory *memory,
                               const struct trace_address *address);
/* Copies `image` to `bytes` (image->size) with its holes filled. */
void run_memory_resolve(const struct run_memory *memory, const struct trace_image *image,
                        uint8_t *bytes);
/* The span of a buffer, malloc'd; NULL with `error`. */
uint8_t *run_memory_download(const struct run_memory *memory, uint32_t index,
                             struct host_error *error);
/* Whether the guard bytes of a buffer are as they were; *at is the offset of the first that is not,
 * relative to the span. */
bool run_memory_guard_intact(const struct run_memory *memory, uint32_t index, int64_t *at);

#endif
