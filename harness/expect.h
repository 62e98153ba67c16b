#ifndef SILTWIN_EXPECT_H
#define SILTWIN_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"
#include "strbuf.h"
#include "trace.h"

/* Elements of a buffer that are not what was expected. */
struct difference {
    uint64_t count, first;                              /* how many; index of the first */
    uint64_t low[TRACE_MAX_RANK], high[TRACE_MAX_RANK]; /* they lie within these coordinates */
};

/* Adds element `index`. */
void difference_add(struct difference *difference, const struct trace_buffer *buffer,
                    uint64_t index);
/* "C[3][17]" */
void difference_place(const struct trace_buffer *buffer, uint64_t index, struct strbuf *out);
/* "12 of 4096 elements differ, all within C[0..63][16..31]" */
void difference_extent(const struct difference *difference, const struct trace_buffer *buffer,
                       struct strbuf *out);

/* The memory that an expectation is about: spans of the buffers that it names. */
struct expect_spans {
    const uint8_t *buffer, *a, *b; /* a, b: of a matmul, or a: of the other buffer */
};

/* Checks an expectation. STATUS_OK: `difference->count` is 0 when it holds, else `text` says which
 * element is wrong, both values in hex and decimal, and how many are. STATUS_UNSUPPORTED: the
 * question has no answer (an exact product beyond 53 bits), said in `text`. STATUS_NO_MEMORY. */
enum status expect_check(const struct trace *trace, const struct trace_expect *expect,
                         const struct expect_spans *spans, struct difference *difference,
                         struct strbuf *text);

/* The expectation as the trace writes it: "C == matmul_nt(A, B) within 1 ulp". */
void expect_print(const struct trace *trace, const struct trace_expect *expect, struct strbuf *out);

#endif
