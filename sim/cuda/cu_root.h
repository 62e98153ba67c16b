#ifndef SILTWIN_CU_ROOT_H
#define SILTWIN_CU_ROOT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cu_handle.h"
#include "cuda_abi.h"
#include "device_model.h"
#include "float_sums.h"
#include "global_memory.h"
#include "siltwin_sim.h"
#include "stats.h"
#include "strbuf.h"

/* The two things of the library that are not constant: the process root, and what is current in the
 * calling thread. The driver API implies both; everything else hangs below them. All of the root is
 * guarded by its lock, which the exported functions take (cu_entry.c). */

enum { CU_DRIVER_VERSION = 13000, CU_CONTEXT_STACK = 32, CU_LIMITS = 8 };

struct cu_module;
struct cu_allocations;
struct watch;

struct cu_context {
    CUcontext handle;
    bool primary, active; /* a primary context keeps its handle while it is not active */
    unsigned flags;
    unsigned long long id;
    CUresult sticky; /* once not CUDA_SUCCESS, every call in the context returns it */
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    size_t limits[CU_LIMITS];
    struct cu_module *modules;
    struct cu_stream *streams;
    struct cu_event *events;
    struct cu_context *next;
};

/* How the last launch that did not end well ended. */
struct cu_last_fault {
    enum siltwin_sim_end end;
    CUresult result;
    struct fault fault;
    struct strbuf report;
    uint64_t launch;
    char kernel[256], file[512], source_file[512];
};

struct cu_root {
    pthread_mutex_t lock;             /* recursive: callbacks of a program may call back */
    bool initialised, ended;          /* cuInit was called; the library is being unloaded */
    const struct device_model *model; /* NULL until it is chosen */
    struct cu_handles handles;
    struct cu_context *contexts; /* the primary one too, once it was retained */
    struct cu_context *primary;
    unsigned primary_retained, primary_flags;
    struct cu_module *libraries;
    struct global_memory *memory;
    struct cu_allocations *allocations;
    unsigned long long next_id; /* of contexts and streams */
    uint64_t launches;
    struct siltwin_sim_run run;
    struct cu_last_fault last;
    bool stats_on;
    struct float_sums *float_sums; /* NULL: nobody asked */
    struct stats_counters stats;   /* of the last launch */
    double stats_seconds;
    siltwin_sim_log *log;
    void *log_ctx;
    siltwin_sim_events *events; /* NULL: no event lines */
    void *events_ctx;
    uint32_t event_kinds;
    struct watch *watch; /* NULL: none */
    siltwin_sim_progress *progress;
    void *progress_ctx;
    uint64_t absent_said[16]; /* bit per row of cu_absent.def */
};

struct cu_thread {
    CUcontext stack[CU_CONTEXT_STACK]; /* the current context is the last */
    unsigned depth;
    char module_name[512]; /* for the next module load, "" for none */
};

struct cu_root *cu_root(void);
struct cu_thread *cu_thread(void);

enum cu_scope { CU_SCOPE_ANYTIME, CU_SCOPE_INIT, CU_SCOPE_CONTEXT };

/* Takes the lock and checks that a call of this scope may go on. The lock is held afterwards
 * whatever the result; cu_leave gives it back and returns `code`. */
CUresult cu_enter(enum cu_scope scope);
CUresult cu_leave(CUresult code);

/* The current context of this thread, NULL when there is none that lives. */
struct cu_context *cu_current(void);

/* One line to the log sink, or to stderr without one. */
void cu_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs the line and returns CUDA_ERROR_NOT_SUPPORTED. */
CUresult cu_unsupported(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Device memory of the process, made at the first use; NULL without host memory. */
struct global_memory *cu_memory(void);

#endif
