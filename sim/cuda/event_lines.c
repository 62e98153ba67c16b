/* Side effects of a launch as text, one line each: the format is described in siltwin_sim.h. */
#include "event_lines.h"

#include <inttypes.h>
#include <stdlib.h>

#include "strbuf.h"
#include "warp.h"

_Static_assert((int)EVENT_TMEM_ACCESS == (int)SILTWIN_SIM_TMEM, "the same kinds");
_Static_assert((int)EVENT_MMA == (int)SILTWIN_SIM_MMA, "in the same order");

static const char *const access_names[] = {
    [ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_ATOMIC] = "atomic"};

static void write_access(struct strbuf *line, const char *space, const struct event *event) {
    strbuf_printf(line, "%s %s %u ", space, access_names[event->access.access],
                  event->access.size_bytes);
    const char *separator = "";
    for (uint32_t left = event->lanes; left != 0; left &= left - 1) {
        strbuf_printf(line, "%s%" PRIx64, separator, event->access.address[__builtin_ctz(left)]);
        separator = ",";
    }
}

static void write_detail(struct strbuf *line, const struct event *event) {
    switch (event->kind) {
    case EVENT_CTA_BEGIN: strbuf_puts(line, "cta.begin"); break;
    case EVENT_CTA_END: strbuf_puts(line, "cta.end"); break;
    case EVENT_INSN: strbuf_puts(line, "insn"); break;
    case EVENT_GLOBAL_ACCESS: write_access(line, "global", event); break;
    case EVENT_SHARED_ACCESS: write_access(line, "shared", event); break;
    case EVENT_MBARRIER:
        strbuf_printf(line, "mbarrier %x phase %" PRIu64 " pending %u tx %d completed %u",
                      event->mbarrier.address, event->mbarrier.phase, event->mbarrier.pending,
                      event->mbarrier.tx_count, event->mbarrier.completed);
        break;
    case EVENT_ASYNC_ISSUE:
        strbuf_printf(line, "async.issue %" PRIu64, event->async.id);
        if (event->async.writes_bytes)
            strbuf_printf(line, " shared %x %u", event->async.writes_address,
                          event->async.writes_bytes);
        break;
    case EVENT_ASYNC_COMPLETE:
        strbuf_printf(line, "async.complete %" PRIu64, event->async.id);
        break;
    case EVENT_TENSOR_COPY:
        strbuf_printf(line, "tensor %s %u boxes %" PRIu64 " bytes",
                      access_names[event->tensor.access], event->tensor.boxes, event->tensor.bytes);
        break;
    case EVENT_MMA:
        strbuf_printf(line, "mma %u %u %u", event->mma.m, event->mma.n, event->mma.k);
        break;
    case EVENT_BARRIER:
        strbuf_printf(line, "barrier %u %u", event->barrier.id, event->barrier.threads);
        break;
    case EVENT_TMEM_ACCESS:
        strbuf_printf(line, "tmem %s lanes %u %u columns %u %u", access_names[event->tmem.access],
                      event->tmem.first_lane, event->tmem.lane_count, event->tmem.first_column,
                      event->tmem.column_count);
        break;
    case EVENT_FLOAT_ADD:
    case EVENT_REACH: /* no line: EVENT_INSN has one */
    case EVENT_DONE:
    case EVENT_KIND_COUNT: break;
    }
}

static void write_line(const struct event_lines *lines, const struct event *event) {
    struct strbuf line = {0};
    strbuf_printf(&line, "%" PRIu64 " %" PRIu64 " ", lines->launch, event->cta_index);
    if (event->warp == UINT32_MAX)
        strbuf_puts(&line, "unit ");
    else
        strbuf_printf(&line, "%u ", event->warp);
    strbuf_printf(&line, "%08x ", event->lanes);
    if (event->insn)
        strbuf_printf(&line, "%s:%u %s ", lines->file, event->insn->ir->line,
                      isa_row((enum isa_form)event->insn->ir->form)->opcode);
    else
        strbuf_puts(&line, "- - ");
    write_detail(&line, event);
    lines->sink(lines->ctx, strbuf_text(&line));
    strbuf_free(&line);
}

/* What a worker needs: the lines, and the second observer's own worker. */
struct worker {
    const struct event_lines *lines;
    void *next;
};

static void *worker_begin(void *ctx, uint32_t worker_index) {
    const struct event_lines *lines = ctx;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker) {
        worker->lines = lines;
        if (lines->next.kinds)
            worker->next = lines->next.worker_begin(lines->next.ctx, worker_index);
    }
    return worker;
}

static void worker_event(void *worker_ctx, const struct event *event) {
    const struct worker *worker = worker_ctx;
    if (!worker)
        return;
    if (worker->lines->kinds >> event->kind & 1)
        write_line(worker->lines, event);
    if (worker->lines->next.kinds >> event->kind & 1)
        worker->lines->next.event(worker->next, event);
}

static void worker_end(void *ctx, void *worker_ctx) {
    const struct event_lines *lines = ctx;
    struct worker *worker = worker_ctx;
    if (worker && lines->next.kinds)
        lines->next.worker_end(lines->next.ctx, worker->next);
    free(worker);
}

void event_lines_observe(struct event_lines *lines, struct observer *observer) {
    *observer = (struct observer){
        .ctx = lines,
        .kinds = lines->kinds | lines->next.kinds,
        .worker_begin = worker_begin,
        .event = worker_event,
        .worker_end = worker_end,
    };
}
