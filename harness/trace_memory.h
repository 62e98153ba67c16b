#ifndef SILTWIN_TRACE_MEMORY_H
#define SILTWIN_TRACE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elem.h"
#include "file_set.h"
#include "ir.h"
#include "probe_rewrite.h"

/* What a trace declares: modules, memory and tensor maps. */

enum { TRACE_MAX_RANK = 8 };

struct trace_place {
    const struct file_entry *file;
    unsigned line, column; /* from 1 */
};

/* A device address, known once memory is allocated. */
enum trace_object { OBJECT_NONE, OBJECT_BUFFER, OBJECT_GLOBAL, OBJECT_MAP };
struct trace_address {
    enum trace_object object;
    uint32_t index; /* of the buffer, global symbol or tensor map */
    int64_t offset_bytes;
};

/* Bytes with holes: a hole is filled before use with an address (8 bytes) or, `by_value`, with the
 * 128 bytes of a tensor map. */
struct trace_hole {
    size_t at_bytes;
    bool by_value;
    struct trace_address address;
};
struct trace_image {
    uint8_t *bytes;
    size_t size;
    struct trace_hole *holes;
    size_t hole_count;
};

enum trace_init {
    INIT_POISON,
    INIT_ZEROS,
    INIT_IOTA,
    INIT_UNIFORM,
    INIT_INTS,
    INIT_FILE,
    INIT_IMAGE
};

struct trace_generator {
    enum trace_init kind;
    double low, high;
    int64_t int_low, int_high;
    uint64_t seed;
    const uint8_t *elems; /* INIT_FILE: logical elements, tight */
    const struct file_entry *file;
    struct trace_image image; /* INIT_IMAGE: logical elements, tight */
};

struct trace_buffer {
    const char *name;
    struct trace_place place;
    enum elem_type type;
    unsigned rank;
    uint64_t dims[TRACE_MAX_RANK];    /* outermost first */
    uint64_t strides[TRACE_MAX_RANK]; /* elements */
    uint64_t elems, span_bytes;       /* logical elements; bytes from the first to past the last */
    uint64_t align, offset, guard;    /* bytes */
    struct trace_generator init;
};

struct trace_module {
    const char *name;
    struct trace_place place;
    const struct file_entry *file;
    const char *loaded; /* the text that is loaded: the file's, or with .rn put in */
    size_t loaded_bytes;
    const struct ir_module *ir;    /* of the loaded text */
    const struct probe_plan *plan; /* NULL: not rewritten; its ir is that of the text before */
    /* [sim] probes: NULL: none; its ir is that of the text before too. By site the column of its
     * instruction in the text that is loaded. */
    const struct probe_plan *sim_plan;
    const uint32_t *sim_columns;
};

struct trace_global {
    const char *symbol;
    uint32_t module;
    uint64_t size;
    struct trace_place place;
    struct trace_image value; /* empty when only its address is used */
};

/* Arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, in their own order: innermost
 * dimension first. */
struct trace_map {
    const char *name;
    struct trace_place place;
    uint32_t type, rank, interleave, swizzle, l2, oob; /* the API's values */
    struct trace_address address;
    uint64_t dims[8], stride_bytes[8];
    uint32_t box[8], estrides[8];
    bool im2col;                 /* then there is no box, but: */
    uint32_t lower[8], upper[8]; /* corners, as two's complement; W first */
    uint32_t channels, pixels;
    int fails; /* CUresult that encoding must end with, 0: must succeed */
};

#endif
