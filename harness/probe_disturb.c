/* What probes disturb. */
#include "probe_disturb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_size.h"
#include "commands.h"
#include "message.h"

static int attribute(const struct run *run, const struct trace_launch *launch,
                     CUfunction_attribute which) {
    struct host_error error = {0};
    int value = 0;
    CUfunction function =
        module_function(&run->memory.modules[launch->module], launch->entry->name, &error);
    if (function)
        run->machine->driver.cuFuncGetAttribute(&value, which, function);
    return value;
}

static struct code_size code_size(const struct run *run, const struct trace_launch *launch) {
    struct code_size size;
    code_size_measure(&run->machine->driver, run->trace->modules.items[launch->module].loaded,
                      launch->entry->name, &size);
    return size;
}

/* What the compiler of the machine tells: the simulator's makes no machine code. */
static void print_code(const struct run *probed, const struct trace_launch *x,
                       const struct run *plain, const struct trace_launch *y) {
    const struct code_size with = code_size(probed, x), without = code_size(plain, y);
    if (with.has_spills && without.has_spills)
        printf(" spills of %" PRIu64 " bytes stored and %" PRIu64 " loaded, %" PRIu64
               " and %" PRIu64 " without;",
               with.spill_store_bytes, with.spill_load_bytes, without.spill_store_bytes,
               without.spill_load_bytes);
    if (with.has_code && without.has_code)
        printf(" machine code of %" PRIu64 " bytes, %" PRIu64 " without;", with.code_bytes,
               without.code_bytes);
    else
        printf(" no machine code on this machine;");
}

/* Each kernel once, at its first launch. */
static void print_kernels(const struct run *probed, const struct run *plain) {
    const struct trace *trace = probed->trace;
    for (uint32_t i = 0; i < trace->launches.count; i++) {
        const struct trace_launch *x = &trace->launches.items[i];
        const struct trace_launch *y = &plain->trace->launches.items[i];
        bool first = trace->modules.items[x->module].plan != NULL;
        for (uint32_t k = 0; k < i && first; k++)
            first = trace->launches.items[k].entry != x->entry;
        if (!first)
            continue;
        printf("probes in %s: registers %d, %d without; local memory %d bytes, %d without;",
               x->entry->name, attribute(probed, x, CU_FUNC_ATTRIBUTE_NUM_REGS),
               attribute(plain, y, CU_FUNC_ATTRIBUTE_NUM_REGS),
               attribute(probed, x, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
               attribute(plain, y, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
        print_code(probed, x, plain, y);
        printf(" %u PTX instructions, %u without\n", x->entry->insn_count, y->entry->insn_count);
    }
}

/* Takes the buffers' contents and gives their memory back, so that the second run can have the
 * same addresses: a kernel may store them. `spans` is to be freed, with each of its elements. */
static uint8_t **take_buffers(struct run *run) {
    const uint32_t count = run->trace->buffers.count;
    uint8_t **spans = calloc(count + 1, sizeof *spans);
    for (uint32_t i = 0; spans && i < count; i++) {
        struct host_error error = {0};
        spans[i] = run_memory_download(&run->memory, i, &error);
        buffer_free(&run->memory.buffers[i].memory);
    }
    return spans;
}

/* Names of the buffers that do not end the same; true when there is none. */
static bool compare_buffers(const struct run *plain, uint8_t **spans, struct strbuf *different) {
    for (uint32_t i = 0; i < plain->trace->buffers.count; i++) {
        const struct trace_buffer *b = &plain->trace->buffers.items[i];
        struct host_error error = {0};
        uint8_t *y = run_memory_download(&plain->memory, i, &error);
        /* A tensor map holds the address of a buffer, and those may move all the same. */
        if (!spans[i] || !y ||
            (b->type != ELEM_PTR && b->type != ELEM_TENSORMAP &&
             memcmp(spans[i], y, b->span_bytes) != 0))
            strbuf_printf(different, " %s", b->name);
        free(y);
    }
    return !different->length;
}

static bool compare(const struct run *probed, const struct run *plain, uint8_t **spans) {
    struct strbuf different = {0};
    print_kernels(probed, plain);
    const bool same = compare_buffers(plain, spans, &different);
    printf("probes: launches took %.3g s, %.3g s without; the buffers are %s\n",
           probed->launch_seconds, plain->launch_seconds, same ? "the same" : "not the same");
    if (!same)
        message_error("without probes these buffers end otherwise:%s", strbuf_text(&different));
    strbuf_free(&different);
    return same;
}

bool probe_disturb_report(struct run *probed, const struct input *input) {
    struct trace trace;
    struct trace_error error;
    struct trace_options options = input->options;
    const struct run_options quiet = {.quiet = true, .addresses = probed->options->addresses};
    struct run plain;
    uint8_t **spans = take_buffers(probed);
    if (!spans) {
        message_error("no memory left");
        return false;
    }
    options.no_probes = true;
    /* The trace was read before; its files are at hand. */
    struct file_set *files = (struct file_set *)(uintptr_t)&input->files;
    bool same = trace_parse(&trace, files, input->main, &options, &error);
    if (same) {
        run_trace(&plain, probed->machine, &trace, &quiet, probed->progress);
        same = run_exit_status(&plain) == EXIT_AS_EXPECTED && compare(probed, &plain, spans);
        run_free(&plain);
    }
    trace_free(&trace);
    for (uint32_t i = 0; i < probed->trace->buffers.count; i++)
        free(spans[i]);
    free(spans);
    return same;
}
