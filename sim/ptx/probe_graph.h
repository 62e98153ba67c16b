#ifndef SILTWIN_PROBE_GRAPH_H
#define SILTWIN_PROBE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "ir.h"

/* Which results reach which instruction of a function, through its registers. */

enum { PROBE_GRAPH_NONE = UINT32_MAX };

struct probe_edge {
    uint32_t def;  /* an instruction whose result the other one may read */
    uint32_t next; /* PROBE_GRAPH_NONE: the last */
};

struct probe_graph {
    struct arena *arena;
    const struct ir_func *func;
    uint32_t *defs, *def_first; /* of register r: defs[def_first[r] .. def_first[r + 1] - 1] */
    uint32_t *begin;            /* by instruction: the first one of its block */
    struct probe_edge *edges;
    uint32_t *reads;                  /* by instruction: its first edge */
    uint32_t *readers, *reader_first; /* by instruction: who reads it, once for each operand */
    uint32_t *found, found_count;     /* of the last search */
    /* The rest is the graph's own. */
    uint16_t **outputs;           /* by form: bit i: operand i is written */
    uint32_t *preds, *pred_first; /* by instruction: branches that go there */
    uint32_t *seen, mark;         /* by instruction: beginnings that this search has come to */
    uint32_t *stack, stack_count;
    uint32_t edge_count, edge_capacity;
    bool no_memory;
};

/* False without memory. */
bool probe_graph_make(struct probe_graph *graph, struct arena *arena, const struct ir_func *func);
/* found: the definitions of a register that a thread may have passed last when it comes to `at`. */
void probe_graph_search(struct probe_graph *graph, int32_t reg, uint32_t at);
/* Of a chain of plain register moves the first one's source: register `reg`, as `at` reads it, is
 * the result of that one instruction; PROBE_GRAPH_NONE when there are several. */
uint32_t probe_graph_only(struct probe_graph *graph, int32_t reg, uint32_t at);

#endif
