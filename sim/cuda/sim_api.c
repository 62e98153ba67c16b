/* The entry points of siltwin_sim.h. A struct's own size, which the caller set, says how much of it
 * is read or written. */
#include <stdio.h>
#include <string.h>

#include "cu_memory.h"
#include "cu_module.h"
#include "ir.h"

#define EXPORTED __attribute__((visibility("default")))

/* Declares the function with the type that siltwin_sim.h gives it, so that the two cannot differ.
 */
EXPORTED siltwin_sim_version siltwinSimVersion;
EXPORTED siltwin_sim_set_device siltwinSimSetDevice;
EXPORTED siltwin_sim_set_run siltwinSimSetRun;
EXPORTED siltwin_sim_get_run siltwinSimGetRun;
EXPORTED siltwin_sim_set_log siltwinSimSetLog;
EXPORTED siltwin_sim_set_events siltwinSimSetEvents;
EXPORTED siltwin_sim_set_progress siltwinSimSetProgress;
EXPORTED siltwin_sim_set_module_name siltwinSimSetModuleName;
EXPORTED siltwin_sim_last_fault siltwinSimLastFault;
EXPORTED siltwin_sim_last_report siltwinSimLastReport;
EXPORTED siltwin_sim_set_stats siltwinSimSetStats;
EXPORTED siltwin_sim_stats_last siltwinSimStats;
EXPORTED siltwin_sim_kernel_info siltwinSimKernel;
EXPORTED siltwin_sim_mem_alloc_at siltwinSimMemAllocAt;
EXPORTED siltwin_sim_windows siltwinSimWindows;
EXPORTED siltwin_sim_set_float_sums siltwinSimSetFloatSums;
EXPORTED siltwin_sim_float_sums siltwinSimFloatSums;

/* Copies what both sides know of a struct that begins with its size; what the caller knows beyond
 * that reads 0. False when the caller's size cannot be. */
static bool give(void *to, const void *from, size_t our_bytes) {
    uint32_t their_bytes;
    if (!to)
        return false;
    memcpy(&their_bytes, to, sizeof their_bytes);
    if (their_bytes < sizeof their_bytes)
        return false;
    memset(to, 0, their_bytes);
    memcpy(to, from, their_bytes < our_bytes ? their_bytes : our_bytes);
    memcpy(to, &their_bytes, sizeof their_bytes);
    return true;
}

uint32_t siltwinSimVersion(void) {
    return SILTWIN_SIM_VERSION;
}

int siltwinSimSetDevice(const char *name) {
    cu_enter(CU_SCOPE_ANYTIME);
    struct cu_root *root = cu_root();
    const struct device_model *model = name ? device_model_find(name) : NULL;
    CUresult code = CUDA_SUCCESS;
    if (name && !model)
        code = CUDA_ERROR_INVALID_VALUE;
    else if (root->initialised && model != root->model)
        code = CUDA_ERROR_ILLEGAL_STATE;
    else
        root->model = model;
    return (int)cu_leave(code);
}

int siltwinSimSetRun(const struct siltwin_sim_run *run) {
    struct siltwin_sim_run wanted = {0};
    if (!run || run->struct_bytes < sizeof run->struct_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wanted, run, run->struct_bytes < sizeof wanted ? run->struct_bytes : sizeof wanted);
    if (wanted.policy > SILTWIN_SIM_RANDOM)
        return CUDA_ERROR_INVALID_VALUE;
    cu_enter(CU_SCOPE_ANYTIME);
    cu_root()->run = wanted;
    return (int)cu_leave(CUDA_SUCCESS);
}

int siltwinSimGetRun(struct siltwin_sim_run *run) {
    cu_enter(CU_SCOPE_ANYTIME);
    bool good = give(run, &cu_root()->run, sizeof cu_root()->run);
    return (int)cu_leave(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

int siltwinSimSetLog(siltwin_sim_log *log, void *ctx) {
    cu_enter(CU_SCOPE_ANYTIME);
    cu_root()->log = log;
    cu_root()->log_ctx = ctx;
    return (int)cu_leave(CUDA_SUCCESS);
}

int siltwinSimSetProgress(siltwin_sim_progress *progress, void *ctx) {
    cu_enter(CU_SCOPE_ANYTIME);
    cu_root()->progress = progress;
    cu_root()->progress_ctx = ctx;
    return (int)cu_leave(CUDA_SUCCESS);
}

int siltwinSimSetEvents(siltwin_sim_events *sink, void *ctx, uint32_t kinds) {
    cu_enter(CU_SCOPE_ANYTIME);
    struct cu_root *root = cu_root();
    root->events = kinds ? sink : NULL;
    root->events_ctx = ctx;
    root->event_kinds = kinds & ((UINT32_C(2) << SILTWIN_SIM_TMEM) - 1);
    return (int)cu_leave(CUDA_SUCCESS);
}

int siltwinSimSetModuleName(const char *file) {
    struct cu_thread *thread = cu_thread();
    snprintf(thread->module_name, sizeof thread->module_name, "%s", file ? file : "");
    return CUDA_SUCCESS;
}

int siltwinSimMemAllocAt(uint64_t address, uint64_t bytes) {
    CUresult code = cu_enter(CU_SCOPE_CONTEXT);
    if (code == CUDA_SUCCESS)
        code = cu_allocation_new_at(address, bytes);
    return (int)cu_leave(code);
}

int siltwinSimWindows(uint64_t *shared, uint64_t *local) {
    if (!shared || !local)
        return CUDA_ERROR_INVALID_VALUE;
    *shared = SHARED_WINDOW;
    *local = LOCAL_WINDOW;
    return CUDA_SUCCESS;
}

int siltwinSimSetFloatSums(int on) {
    cu_enter(CU_SCOPE_ANYTIME);
    struct cu_root *root = cu_root();
    float_sums_destroy(root->float_sums);
    root->float_sums = on ? float_sums_create() : NULL;
    return (int)cu_leave(on && !root->float_sums ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

_Static_assert((int)EVENT_F16 == (int)SILTWIN_SIM_F16 && (int)EVENT_F64 == (int)SILTWIN_SIM_F64,
               "the same numbers");

struct float_sum_sink {
    siltwin_sim_float_sum *each;
    void *ctx;
};

static void give_float_sum(void *ctx, const struct float_sum *sum) {
    const struct float_sum_sink *sink = ctx;
    sink->each(sink->ctx, sum->address, (enum siltwin_sim_float)sum->type, sum->count,
               sum->magnitude);
}

int siltwinSimFloatSums(uint64_t address, uint64_t bytes, siltwin_sim_float_sum *each, void *ctx) {
    if (!each || address + bytes < address)
        return CUDA_ERROR_INVALID_VALUE;
    cu_enter(CU_SCOPE_ANYTIME);
    const struct float_sums *sums = cu_root()->float_sums;
    struct float_sum_sink sink = {each, ctx};
    if (sums)
        float_sums_visit(sums, address, bytes, give_float_sum, &sink);
    const bool complete = !sums || float_sums_complete(sums);
    return (int)cu_leave(complete ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

_Static_assert((int)SCOPE_CLUSTER == (int)SILTWIN_SIM_SCOPE_CLUSTER, "the same scopes");

int siltwinSimLastFault(struct siltwin_sim_fault *fault) {
    cu_enter(CU_SCOPE_ANYTIME);
    const struct cu_last_fault *last = &cu_root()->last;
    struct siltwin_sim_fault ours = {
        .end = last->end,
        .result = (int32_t)last->result,
        .line = last->fault.line,
        .column = last->fault.column,
        .cta = {last->fault.cta[0], last->fault.cta[1], last->fault.cta[2]},
        .warp = last->fault.warp,
        .lanes = last->fault.lanes,
        .launch = last->launch,
        .kernel = last->kernel,
        .file = last->fault.file,
        .reason = last->fault.reason,
        .source_file = last->fault.source_file,
        .object = *last->fault.object ? last->fault.object : NULL,
        .source_line = last->fault.source_line,
        .scope = last->fault.scope,
        .on_mbarrier = last->fault.on_mbarrier,
        .parity = last->fault.parity,
        .phase = last->fault.phase,
        .pending = last->fault.pending,
        .expected = last->fault.expected,
        .pending_bytes = last->fault.pending_bytes,
    };
    bool good = give(fault, &ours, sizeof ours);
    return (int)cu_leave(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

const char *siltwinSimLastReport(void) {
    cu_enter(CU_SCOPE_ANYTIME);
    const char *text = strbuf_text(&cu_root()->last.report);
    cu_leave(CUDA_SUCCESS);
    return text;
}

int siltwinSimSetStats(int on) {
    cu_enter(CU_SCOPE_ANYTIME);
    cu_root()->stats_on = on != 0;
    return (int)cu_leave(CUDA_SUCCESS);
}

int siltwinSimStats(struct siltwin_sim_stats *stats) {
    cu_enter(CU_SCOPE_ANYTIME);
    struct siltwin_sim_stats ours = cu_root()->stats.sums;
    ours.host_seconds = cu_root()->stats_seconds;
    bool good = give(stats, &ours, sizeof ours);
    return (int)cu_leave(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

int siltwinSimKernel(struct CUfunc_st *handle, struct siltwin_sim_kernel *kernel) {
    cu_enter(CU_SCOPE_ANYTIME);
    const struct cu_function *function = cu_function_find(handle);
    if (!function)
        return (int)cu_leave(CUDA_ERROR_INVALID_HANDLE);
    const struct exec_kernel_info *info = exec_kernel_info(function->kernel);
    const struct ir_module *module = exec_module_ir(function->module->exec);
    int32_t index = ir_find_func(module, info->name);
    struct siltwin_sim_kernel ours = {
        .registers = info->registers,
        .param_count = info->param_count,
        .param_bytes = info->param_bytes,
        .line = index >= 0 ? module->funcs[index].line : 0,
        .name = info->name,
        .file = function->module->file,
    };
    bool good = give(kernel, &ours, sizeof ours);
    return (int)cu_leave(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
