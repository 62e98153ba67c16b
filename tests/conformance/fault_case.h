#ifndef SILTWIN_FAULT_CASE_H
#define SILTWIN_FAULT_CASE_H

#include "conform.h"
#include "strbuf.h"
#include "tensormap.h"

/* Cases of misuse: a program and a launch each, most of which end with an error. What is compared
 * is the result of loading, of the launch and of the synchronise, and the first words of the output
 * where all went well. Case i depends on (seed, i) alone. */

enum { FAULT_ARGS = 3, FAULT_WORDS = 8, FAULT_DATA_BYTES = 65536, FAULT_FREED_BYTES = 8 << 20 };

/* What an argument of the kernel is: a value, or an offset from a piece of memory. */
enum fault_arg_kind {
    FAULT_VALUE,
    FAULT_DATA,  /* 64 KiB; byte i is (i * 37 + i / 256) mod 256 */
    FAULT_FREED, /* was given back */
    FAULT_MAP,   /* a tensor map of the case's, in global memory */
};

struct fault_arg {
    enum fault_arg_kind kind;
    uint64_t offset;
};

/* Calls beside the launch. */
enum fault_call {
    FAULT_NO_CALL,
    FAULT_SET_ATTRIBUTE, /* cuFuncSetAttribute(attribute args[0], value args[1]) */
    FAULT_MEM_ALLOC,     /* cuMemAlloc(args[0]) */
    FAULT_MEM_FREE,      /* cuMemFree(args[0]) */
    FAULT_MEM_TO_HOST,   /* cuMemcpyDtoH(args[0], args[1] bytes) */
    FAULT_MEM_TO_DEVICE, /* cuMemcpyHtoD(args[0], args[1] bytes) */
    FAULT_MEM_SET_32,    /* cuMemsetD32(args[0], 7, args[1] words) */
    FAULT_MEM_SET_16,    /* cuMemsetD16(args[0], 7, args[1] halves) */
    FAULT_GET_ATTRIBUTE, /* cuFuncGetAttribute(args[0]); the value is a word of the answer */
    FAULT_DEV_ATTRIBUTE, /* cuDeviceGetAttribute(args[0]) */
    FAULT_GET_FUNCTION,  /* cuModuleGetFunction of a wrong name */
    FAULT_GET_GLOBAL,    /* cuModuleGetGlobal of a wrong name */
    FAULT_STREAM_FLAGS,  /* cuStreamCreate(flags args[0]) */
    FAULT_EVENT_FLAGS,   /* cuEventCreate(flags args[0]) */
};

struct fault_case {
    const char *group;
    char text[200]; /* one line about it */
    struct strbuf ptx;
    struct fault_arg args[FAULT_ARGS];
    unsigned grid[3], block[3], cluster[3], dynamic_smem_bytes;
    bool cooperative, explicit_cluster;
    enum fault_call call;
    bool has_map, raw_map;
    struct tensormap_desc map;
    uint64_t map_words[16]; /* raw_map: the descriptor as it is */
};

struct fault_answer {
    int32_t load, call, launch, sync; /* CUresult; FAULT_DIED, FAULT_NOT_RUN */
    uint32_t words[FAULT_WORDS];
    uint32_t state; /* enum fault_state, for the processes that run the cases */
};
enum { FAULT_NOT_RUN = -1, FAULT_DIED = -2 };
enum fault_state { FAULT_TO_DO, FAULT_BEGUN, FAULT_DONE };

/* Makes case `index`; free it with fault_case_free. */
void fault_case_make(uint64_t seed, uint32_t index, struct fault_case *made);
void fault_case_free(struct fault_case *made);

/* Groups (fault_memory.c, fault_async.c, fault_sync.c, fault_other.c, fault_api.c): each fills a
 * case whose launch is one CTA of 32 threads. */
typedef void fault_group(struct conform_random *random, struct fault_case *made);
fault_group fault_ld_st, fault_atom, fault_matrix;
fault_group fault_cp_async, fault_bulk, fault_tensor, fault_wgmma;
fault_group fault_mbarrier, fault_barrier, fault_control;
fault_group fault_hint, fault_shared_op, fault_wmma, fault_cluster;
fault_group fault_launch, fault_driver;

/* The head of every program up to the first instruction: parameters out, a, b, c are in %out, %a,
 * %b, %c, the thread in %t; %bad holds in the lanes of `lanes`. `declare` goes before the entry,
 * `directives` behind its parameters, `inside` into its body. */
struct fault_head {
    const char *declare, *directives, *inside;
    uint32_t lanes;
};
void fault_put_head(struct fault_case *made, const struct fault_head *head);
/* Stores %r20 and %r21 as words 1 and 2 by the lanes of %bad, and 1 as word 0; then the end. */
void fault_put_value(struct fault_case *made);
/* Writes 1 to the first word of the output, and ends. */
void fault_put_tail(struct fault_case *made);

/* Lanes that do what the case is about: one, some, all. */
uint32_t fault_pick_lanes(struct conform_random *random);
/* 0 in half of the cases, else 1 to 15. */
uint32_t fault_pick_misaligned(struct conform_random *random);
/* Global memory that no kernel may touch, or may: sets args[0], %a, and says what in made->text.
 * The address is `misaligned` bytes off a multiple of 16. True when it is good memory. */
bool fault_pick_global(struct conform_random *random, struct fault_case *made, uint32_t misaligned);
/* Makes a bad address of a load a multiple of 16 unless it is near null or in the upper half: which
 * of two wrongs a load tells elsewhere follows no rule that was found. */
void fault_align_bad(struct fault_case *made);

/* The shared variable `room` at address 0x400, whose word i is i * 0x01010101. */
struct fault_room {
    uint32_t bytes;  /* of the variable, a multiple of 4 */
    uint32_t offset; /* from it, of the access */
    bool good;       /* all of the access is inside the variable */
};
/* Declares a room of 16 to 600 bytes and picks an offset for an access of `bytes`, in it, at the
 * end of the pieces of 128 bytes that a GPU hands out, or far off. */
struct fault_room fault_pick_room(struct conform_random *random, struct fault_case *made,
                                  uint32_t bytes, uint32_t misaligned);
/* Fills the room, and puts its address plus the offset into %r0. */
void fault_put_room(struct fault_case *made, const struct fault_room *room);

/* Appends to made->text. */
void fault_say(struct fault_case *made, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
