#ifndef SILTWIN_TRACE_H
#define SILTWIN_TRACE_H

#include "arena.h"
#include "trace_memory.h"

/* A trace, read and checked: every size is a number, every name is an index, every loop is unrolled
 * into steps. trace_parse makes it; running it can fail only because of the machine. */

enum { TRACE_MAX_STEPS = 1 << 17 };

enum trace_attr { ATTR_COOPERATIVE = 1, ATTR_PROGRAMMATIC = 2 };
struct trace_launch {
    struct trace_place place;
    uint32_t module, number; /* number counts launches from 1 */
    const struct ir_func *entry;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: not given */
    uint32_t smem_bytes, attrs;
    int32_t priority;
    double timeout_s; /* 0: none */
    bool packed;
    struct trace_image *args; /* one a parameter; one packed buffer when `packed` */
    size_t arg_count;
};

enum trace_reference {
    REF_BUFFER,
    REF_GENERATOR,
    REF_MATMUL_NT,
    REF_MATMUL_NT_TC,
    REF_MATMUL_NT_FMA,
    REF_FINITE
};
enum trace_compare { COMPARE_BITS, COMPARE_EXACT, COMPARE_ULP, COMPARE_TOLERANCE };
struct trace_expect {
    struct trace_place place;
    uint32_t buffer, a, b; /* a, b: operands of a matmul; a: the other buffer */
    enum trace_reference reference;
    enum trace_compare compare;
    double ulps, absolute, relative;
    struct trace_generator generator;
};

/* "launch N fails CODE at MODULE:LINE" */
struct trace_fails {
    struct trace_place place;
    uint32_t launch;
    int code; /* CUresult */
    bool has_line;
    uint32_t module, line;
};

struct trace_copy {
    struct trace_place place;
    struct trace_address from, to;
    uint64_t size;
    const char *output_path; /* a .npy file that buffer `from` is written to, NULL: device copy */
};

struct trace_fill {
    struct trace_place place;
    uint32_t buffer;
    unsigned word_bytes;
    uint64_t word;
};

/* Where a probe stands. */
enum trace_at_kind { PLACE_NONE, PLACE_LINE, PLACE_LABEL, PLACE_SOURCE };
struct trace_at {
    enum trace_at_kind kind;
    const char *name; /* module, label, or file of a .loc */
    uint32_t number;  /* line, or the how manyth such label */
};

enum { TRACE_MAX_PATTERNS = 16 };
struct trace_probe {
    const char *name;
    struct trace_place place;
    struct probe_spec spec;
    const char *patterns[TRACE_MAX_PATTERNS]; /* of an event's instructions */
    uint32_t pattern_count;
    struct trace_at at;
    int64_t module; /* -1: all */
    bool has_cta, has_warp, has_lane;
    uint32_t cta[2], warp[2], lane[2]; /* first and last */
    bool bounded;                      /* keep or last was written: more hits are no overflow */
    uint32_t buffer;                   /* PROBE_GLOBAL */
    uint64_t global_offset_bytes;
};

enum trace_step_kind { STEP_LAUNCH, STEP_COPY, STEP_FILL, STEP_SYNC, STEP_EXPECT };
struct trace_step {
    enum trace_step_kind kind;
    uint32_t index;
};

struct trace_const {
    const char *name;
    int64_t value;
    bool overridden;
};

/* A growing array: `items` of one type, `count` of them. */
#define TRACE_LIST(type)                                                                           \
    struct {                                                                                       \
        type *items;                                                                               \
        uint32_t count, capacity;                                                                  \
    }

struct trace {
    struct arena arena;
    const struct file_entry *main;
    const char *device; /* "b200" ... */
    const char *target; /* "sm_100a" ... */
    TRACE_LIST(struct trace_const) consts;
    TRACE_LIST(struct trace_module) modules;
    TRACE_LIST(struct trace_global) globals;
    TRACE_LIST(struct trace_buffer) buffers;
    TRACE_LIST(struct trace_map) maps;
    TRACE_LIST(struct trace_launch) launches;
    TRACE_LIST(struct trace_expect) expects;
    TRACE_LIST(struct trace_fails) fails;
    TRACE_LIST(struct trace_copy) copies;
    TRACE_LIST(struct trace_fill) fills;
    TRACE_LIST(struct trace_probe) probes;
    TRACE_LIST(struct trace_step) steps;
};

void trace_free(struct trace *trace);

#endif
