#ifndef SILTWIN_SIM_H
#define SILTWIN_SIM_H

#include <stddef.h>
#include <stdint.h>

/* What the simulated driver offers beside the CUDA driver API. A caller loads libcuda.so.1, looks
 * these names up with dlsym and finds none of them in a real driver. Every struct begins with its
 * own size, set by the caller, so that either side may be newer. All functions may be called from
 * any thread; those that return int give a CUresult. Settings hold for the process. */

/* The interface described here; siltwinSimVersion returns the library's. */
enum { SILTWIN_SIM_VERSION = 1 };
typedef uint32_t siltwin_sim_version(void);

/* siltwinSimSetDevice: the model behind device 0, "b200", "h200" or "h100"; NULL goes back to the
 * environment's SILTWIN_DEVICE, or b200 without it. Before cuInit; 401 (illegal state) afterwards
 * when it names another model, 1 for an unknown name. */
typedef int siltwin_sim_set_device(const char *name);

enum siltwin_sim_policy { SILTWIN_SIM_EAGER, SILTWIN_SIM_LAZY, SILTWIN_SIM_RANDOM };

/* How launches run from now on. */
struct siltwin_sim_run {
    uint32_t struct_bytes;
    uint32_t policy;       /* enum siltwin_sim_policy: when asynchronous operations complete */
    uint64_t policy_seed;  /* of SILTWIN_SIM_RANDOM */
    uint64_t pattern_seed; /* contents of what a GPU leaves undefined */
    uint32_t jobs;         /* host threads; 0: as many as there are cores */
    uint32_t resident;     /* CTAs of an SM that run together; 0: one at a time */
    uint64_t idle_budget;  /* warp instructions without a side effect before a launch is given up as
                              without a verdict; 0: the executor's own number */
};
/* siltwinSimSetRun, siltwinSimGetRun. */
typedef int siltwin_sim_set_run(const struct siltwin_sim_run *run);
typedef int siltwin_sim_get_run(struct siltwin_sim_run *run);

/* siltwinSimSetLog: where the library says what it cannot say through a result: the name of an
 * absent function or attribute, which check of a tensor map failed, why a launch was refused. One
 * line per call, without a newline. NULL: stderr, each absent name once. */
typedef void siltwin_sim_log(void *ctx, const char *line);
typedef int siltwin_sim_set_log(siltwin_sim_log *log, void *ctx);

/* siltwinSimSetProgress: called now and then while a launch runs, from one thread at a time. NULL:
 * not. */
typedef void siltwin_sim_progress(void *ctx, uint64_t ctas_done, uint64_t ctas_total);
typedef int siltwin_sim_set_progress(siltwin_sim_progress *progress, void *ctx);

/* siltwinSimSetModuleName: the file name that messages about the next module use, in this thread's
 * next load only; NULL: "ptx". */
typedef int siltwin_sim_set_module_name(const char *file);

/* siltwinSimMemAllocAt: cuMemAlloc at `address`, a multiple of 512, so that a run can have the
 * addresses of another machine; exactly `bytes` are mapped. 2 (out of memory) when something is
 * there, or there is no room. cuMemFree frees it. */
typedef int siltwin_sim_mem_alloc_at(uint64_t address, uint64_t bytes);

/* siltwinSimWindows: the generic addresses of shared and of local address 0, in every launch. */
typedef int siltwin_sim_windows(uint64_t *shared, uint64_t *local);

/* siltwinSimSetFloatSums: 1 forgets what was summed so far and begins, 0 stops. From then on it is
 * known of every element of global memory to which launches added floating-point numbers (atom,
 * red, reducing bulk and tensor copies) how many there were, and the sum of their absolute values
 * together with what stood there before (Inf when one was no number). */
typedef int siltwin_sim_set_float_sums(int on);
enum siltwin_sim_float { SILTWIN_SIM_F16, SILTWIN_SIM_BF16, SILTWIN_SIM_F32, SILTWIN_SIM_F64 };
typedef void siltwin_sim_float_sum(void *ctx, uint64_t address, enum siltwin_sim_float type,
                                   uint32_t count, double magnitude);
/* siltwinSimFloatSums: such elements in [address, address + bytes), in order. 2 when memory was too
 * short to keep all. */
typedef int siltwin_sim_float_sums(uint64_t address, uint64_t bytes, siltwin_sim_float_sum *each,
                                   void *ctx);

/* How the last launch that did not end well ended. */
enum siltwin_sim_end {
    SILTWIN_SIM_NO_FAULT,
    SILTWIN_SIM_FAULT,       /* as a GPU would end it, with `result` */
    SILTWIN_SIM_HANG,        /* nothing could progress; result 702 */
    SILTWIN_SIM_BUDGET,      /* ran long without a side effect: no verdict */
    SILTWIN_SIM_UNSUPPORTED, /* reached something that is not modelled: no verdict */
    SILTWIN_SIM_NO_MEMORY,   /* the host has no memory left: no verdict */
};

/* Who must do something so that a wait ends. */
enum siltwin_sim_scope {
    SILTWIN_SIM_SCOPE_NONE,
    SILTWIN_SIM_SCOPE_WARP,
    SILTWIN_SIM_SCOPE_CTA,
    SILTWIN_SIM_SCOPE_CLUSTER
};

struct siltwin_sim_fault {
    uint32_t struct_bytes;
    uint32_t end;   /* enum siltwin_sim_end */
    int32_t result; /* CUresult of the next synchronise */
    uint32_t line;  /* of the PTX text; 0 when no instruction is to blame */
    uint32_t column;
    uint32_t cta[3];
    uint32_t warp;
    uint32_t lanes;     /* mask */
    uint64_t launch;    /* 1, 2, ... in the process */
    const char *kernel; /* these five are valid until the next launch */
    const char *file;   /* NULL when no instruction is to blame */
    const char *reason; /* one or two sentences */
    /* Of a hang the place is that of the first warp that waits. */
    const char *source_file; /* what .loc says of the instruction, NULL: nothing */
    const char *object;      /* what the warp waits for, NULL: nothing */
    uint32_t source_line;
    uint32_t scope;             /* enum siltwin_sim_scope */
    uint32_t on_mbarrier;       /* 1: these are the state of that mbarrier */
    uint32_t parity;            /* that is waited for */
    uint64_t phase;             /* that runs */
    uint32_t pending, expected; /* arrivals */
    int32_t pending_bytes;
    uint32_t reserved;
};
/* siltwinSimLastFault. */
typedef int siltwin_sim_last_fault(struct siltwin_sim_fault *fault);
/* siltwinSimLastReport: the whole text for the user: place, PTX line and reason, or for a hang
 * every waiting warp and every barrier in the wait. "" without a fault; valid until the next
 * launch. */
typedef const char *siltwin_sim_last_report(void);

/* Counters of one launch. */
struct siltwin_sim_stats {
    uint32_t struct_bytes;
    uint32_t reserved;
    uint64_t warp_instructions, thread_instructions;
    /* Warp instructions by class; they add up to warp_instructions. */
    uint64_t integer, floating, conversion, compare, move, control, global_memory, shared_memory,
        other_memory, atomic, barrier, mbarrier, warp_collective, matrix_move, async_copy,
        tensor_copy, tensor_core, tensor_memory, other;
    uint64_t tma_instructions, tma_store_instructions /* of these */, tma_boxes, tma_load_bytes,
        tma_store_bytes;                 /* cp.async.bulk.tensor */
    uint64_t mbarrier_phases;            /* completed */
    uint64_t mma_instructions, mma_flop; /* 2 * m * n * k each */
    /* Warp requests to global memory: 32-byte sectors touched, and bytes of them asked for. */
    uint64_t load_requests, load_sectors, load_used_bytes;
    uint64_t store_requests, store_sectors, store_used_bytes;
    /* Warp requests to shared memory. A wavefront serves 32 banks of 4 bytes; lanes of 8 (16) bytes
     * go in halves (quarters) of a warp. Conflicts are the wavefronts beyond one a part. */
    uint64_t shared_requests, shared_wavefronts, shared_conflicts;
    uint64_t shared_worst_way; /* most wavefronts that one part needed */
    double host_seconds;
};
/* siltwinSimSetStats: 1 counts from now on (launches run slower), 0 stops. */
typedef int siltwin_sim_set_stats(int on);
/* siltwinSimStats: the counters of the last launch that was counted. */
typedef int siltwin_sim_stats_last(struct siltwin_sim_stats *stats);

/* siltwinSimSetEvents: one line of text, without a newline, for every side effect of the launches
 * that follow, in the order in which they happen. `kinds` has bit (1 << enum siltwin_sim_event) for
 * each kind wanted. Launches then run on one host thread, so two runs give the same lines. Fields
 * are separated by one blank, `-` where a line has none:
 *
 *     launch cta warp lanes file:line opcode KIND detail...
 *
 * `warp` is `unit` where no warp acts; `lanes` is a mask in hex. Addresses are hex, of
 * the lanes in ascending order, separated by commas. NULL or kinds 0: stops. */
enum siltwin_sim_event {
    SILTWIN_SIM_CTA_BEGIN,      /* cta.begin */
    SILTWIN_SIM_CTA_END,        /* cta.end */
    SILTWIN_SIM_INSN,           /* insn */
    SILTWIN_SIM_GLOBAL,         /* global read|write|atomic BYTES ADDRESSES */
    SILTWIN_SIM_SHARED,         /* shared read|write|atomic BYTES ADDRESSES */
    SILTWIN_SIM_MBARRIER,       /* mbarrier ADDRESS phase P pending N tx T completed C */
    SILTWIN_SIM_ASYNC_ISSUE,    /* async.issue ID, and for one that writes a range of shared
                                    memory: shared ADDRESS BYTES */
    SILTWIN_SIM_ASYNC_COMPLETE, /* async.complete ID */
    SILTWIN_SIM_TENSOR_COPY,    /* tensor read|write BOXES boxes BYTES bytes */
    SILTWIN_SIM_MMA,            /* mma M N K */
    SILTWIN_SIM_BARRIER,        /* barrier ID THREADS */
    SILTWIN_SIM_TMEM,           /* tmem read|write lanes FIRST COUNT columns FIRST COUNT */
};
typedef void siltwin_sim_events(void *ctx, const char *line);
typedef int siltwin_sim_set_events(siltwin_sim_events *sink, void *ctx, uint32_t kinds);

/* What the simulator knows of a kernel beyond its function attributes. */
struct siltwin_sim_kernel {
    uint32_t struct_bytes;
    uint32_t registers; /* our own estimate by liveness, not ptxas's number */
    uint32_t param_count, param_bytes;
    uint32_t line;           /* of the .entry */
    const char *name, *file; /* as long as the module */
};
struct CUfunc_st;
/* siltwinSimKernel. */
typedef int siltwin_sim_kernel_info(struct CUfunc_st *function, struct siltwin_sim_kernel *info);

#endif
