#ifndef SILTWIN_FAULT_H
#define SILTWIN_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* How a launch ended when it did not end well. The first fault of a launch wins. sim/cuda maps the
 * kind to a CUresult in one table. */
enum fault_kind {
    FAULT_NONE,
    FAULT_ILLEGAL_ADDRESS,     /* 700 */
    FAULT_MISALIGNED_ADDRESS,  /* 716 */
    FAULT_ILLEGAL_INSTRUCTION, /* 715: bad coordinate, descriptor, instruction descriptor */
    FAULT_ADDRESS_SPACE,       /* 717 */
    FAULT_INVALID_PC,          /* 718 */
    FAULT_LAUNCH_FAILED,       /* 719: trap, brkpt, mbarrier misuse */
    FAULT_ASSERT,              /* 710 */
    FAULT_TENSOR_MEMORY_LEAK,  /* 721 */
    FAULT_HANG,                /* nothing can progress: 702 */
    FAULT_BUDGET,              /* ran long without a side effect: no verdict */
    FAULT_UNSUPPORTED,         /* reached something that is not modelled: no verdict */
    FAULT_NO_MEMORY,           /* the host has no memory left */
};

enum { FAULT_REASON_BYTES = 768, FAULT_OBJECT_BYTES = 160 };

/* Who must do something so that what is waited for happens. */
enum fault_scope { SCOPE_NONE, SCOPE_WARP, SCOPE_CTA, SCOPE_CLUSTER };

struct fault {
    enum fault_kind kind;
    char reason[FAULT_REASON_BYTES]; /* what was found and what the rule is, in one or two sentences
                                      */
    const char *file;                /* of the PTX module; NULL when no instruction is to blame */
    uint32_t line, column;
    uint32_t cta[3];
    uint32_t warp;
    uint32_t lanes;          /* mask of the lanes at fault */
    const char *source_file; /* what .loc says of the instruction, NULL: nothing */
    uint32_t source_line;
    /* Of FAULT_HANG and FAULT_BUDGET, whose place is that of the first warp that waits (or runs):
     */
    enum fault_scope scope;
    char object[FAULT_OBJECT_BYTES]; /* what it waits for, "" for nothing */
    bool on_mbarrier;                /* then these are its state: */
    uint64_t phase;
    uint32_t parity /* waited for */, pending, expected;
    int32_t pending_bytes;
};

#endif
