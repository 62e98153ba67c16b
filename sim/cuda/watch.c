/* Watch points: which of a launch's events are hits, and when. What a callback reads is in
 * watch_read.c. */
#include "watch.h"

#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "watch_hit.h"

static bool copy_points(struct watch *watch, const struct siltwin_sim_watch *from) {
    uint32_t names = 0;
    for (uint32_t i = 0; i < from->point_count; i++)
        names += from->points[i].register_count;
    watch->points = arena_array(&watch->arena, from->point_count, sizeof *watch->points);
    watch->registers = arena_array(&watch->arena, names, sizeof *watch->registers);
    if (!watch->points || !watch->registers)
        return false;
    for (uint32_t i = 0; i < from->point_count; i++) {
        struct siltwin_watch_point *point = &watch->points[i];
        *point = from->points[i];
        point->file = arena_strdup(&watch->arena, point->file ? point->file : "");
        point->registers = watch->registers + watch->register_count;
        if (!point->file)
            return false;
        for (uint32_t k = 0; k < point->register_count; k++) {
            const char *name = arena_strdup(&watch->arena, from->points[i].registers[k]);
            if (!name)
                return false;
            watch->registers[watch->register_count++] = name;
        }
    }
    watch->count = from->point_count;
    return true;
}

static int compare_places(const struct siltwin_watch_point *x, uint32_t line, uint32_t column) {
    if (x->line != line)
        return x->line < line ? -1 : 1;
    return x->column < column ? -1 : x->column > column;
}

static int by_place(const void *a, const void *b, void *ctx) {
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct siltwin_watch_point *points = ctx;
    const int order = compare_places(&points[i], points[k].line, points[k].column);
    return order ? order : i < k ? -1 : i > k;
}

static bool sort_points(struct watch *watch) {
    watch->by_place = arena_array(&watch->arena, watch->count, sizeof *watch->by_place);
    for (uint32_t i = 0; watch->by_place && i < watch->count; i++)
        watch->by_place[i] = i;
    if (watch->by_place)
        qsort_r(watch->by_place, watch->count, sizeof *watch->by_place, by_place, watch->points);
    return watch->by_place;
}

struct watch *watch_create(const struct siltwin_sim_watch *from) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->hit = from->hit;
    watch->ctx = from->ctx;
    if (copy_points(watch, from) && sort_points(watch))
        return watch;
    watch_free(watch);
    return NULL;
}

void watch_free(struct watch *watch) {
    if (watch)
        arena_free(&watch->arena);
    free(watch);
}

/* ---- a launch ---- */

/* Index of the first point at the instruction, plus one; 0: none. */
static uint32_t point_at(const struct watch *watch, const struct ir_insn *insn, const char *file) {
    uint32_t low = 0, high = watch->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const struct siltwin_watch_point *point = &watch->points[watch->by_place[middle]];
        if (compare_places(point, insn->line, insn->column) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < watch->count; low++) {
        const struct siltwin_watch_point *point = &watch->points[watch->by_place[low]];
        if (compare_places(point, insn->line, insn->column) != 0)
            return 0;
        if (!strcmp(point->file, file))
            return watch->by_place[low] + 1;
    }
    return 0;
}

static bool find_points(struct watch_launch *launch, const char *file) {
    const struct exec_kernel *kernel = launch->kernel;
    launch->points = arena_array(&launch->arena, kernel->func_count, sizeof *launch->points);
    for (uint32_t f = 0; launch->points && f < kernel->func_count; f++) {
        const struct ir_func *func = kernel->funcs[f].ir;
        uint32_t *points = arena_array(&launch->arena, func->insn_count + 1, sizeof *points);
        if (!points)
            return false;
        for (uint32_t i = 0; i < func->insn_count; i++)
            points[i] = point_at(launch->watch, &func->insns[i], file);
        launch->points[f] = points;
    }
    return launch->points;
}

bool watch_launch_begin(struct watch_launch *launch, const struct watch *watch,
                        const struct exec_module *module, const struct exec_kernel *kernel,
                        const char *file) {
    *launch = (struct watch_launch){.watch = watch, .kernel = kernel};
    if (watch->register_count)
        launch->kernel = exec_kernel_keeping(module, kernel, watch->registers,
                                             watch->register_count, &launch->arena);
    return launch->kernel && find_points(launch, file);
}

void watch_launch_end(struct watch_launch *launch) {
    arena_free(&launch->arena);
}

/* ---- events ---- */

const struct xfunc *watch_func_of(const struct watch_launch *launch, const struct xinsn *insn) {
    for (uint32_t f = 0; f < launch->kernel->func_count; f++) {
        const struct xfunc *func = &launch->kernel->funcs[f];
        if (insn >= func->insns && insn <= func->insns + func->ir->insn_count)
            return func;
    }
    return NULL;
}

/* Index of the event's point, plus one. */
static uint32_t point_of(const struct watch_launch *launch, const struct event *event) {
    const struct xfunc *func = event->insn ? watch_func_of(launch, event->insn) : NULL;
    return func ? launch->points[func - launch->kernel->funcs][event->insn - func->insns] : 0;
}

static void tell(struct watch_launch *launch, const struct event *event,
                 enum siltwin_watch_moment moment, uint32_t point) {
    struct watch_hit hit = {
        .hit = {.struct_bytes = sizeof hit.hit,
                .moment = moment,
                .launch = launch->launch,
                .step = launch->step,
                .point = point - 1,
                .cta = (uint32_t)event->cta_index,
                .warp = event->warp,
                .lanes = event->lanes},
        .event = event,
        .launch = launch,
    };
    if (moment == SILTWIN_WATCH_REACH)
        hit.hit.running = event->step.running;
    if (moment == SILTWIN_WATCH_ISSUE || moment == SILTWIN_WATCH_COMPLETE)
        hit.hit.id = event->async.id;
    if (moment == SILTWIN_WATCH_MBARRIER) {
        hit.hit.address = event->mbarrier.address;
        hit.hit.completed = event->mbarrier.completed;
        hit.hit.pending = event->mbarrier.pending;
        hit.hit.tx_bytes = event->mbarrier.tx_count;
        hit.hit.phase = event->mbarrier.phase;
        hit.hit.id = event->mbarrier.async_id;
    }
    launch->watch->hit(launch->watch->ctx, &hit.hit);
}

/* Counts the event's step and tells it when it is a hit. */
static void watch_event(struct watch_launch *launch, const struct event *event) {
    const uint32_t point = point_of(launch, event);
    switch (event->kind) {
    case EVENT_REACH:
        launch->step++;
        if (point)
            tell(launch, event, SILTWIN_WATCH_REACH, point);
        return;
    case EVENT_DONE:
        if (point)
            tell(launch, event, SILTWIN_WATCH_DONE, point);
        return;
    case EVENT_ASYNC_ISSUE:
        if (point)
            tell(launch, event, SILTWIN_WATCH_ISSUE, point);
        return;
    case EVENT_ASYNC_COMPLETE:
        launch->step++;
        if (point)
            tell(launch, event, SILTWIN_WATCH_COMPLETE, point);
        return;
    case EVENT_MBARRIER:
        launch->step += event->mbarrier.completed > 0;
        if (point || event->mbarrier.completed)
            tell(launch, event, SILTWIN_WATCH_MBARRIER, point);
        return;
    default: return;
    }
}

enum {
    WATCHED = 1 << EVENT_REACH | 1 << EVENT_DONE | 1 << EVENT_ASYNC_ISSUE |
              1 << EVENT_ASYNC_COMPLETE | 1 << EVENT_MBARRIER
};

static void *worker_begin(void *ctx, uint32_t worker_index) {
    struct watch_launch *launch = ctx;
    if (launch->next.kinds)
        launch->next_worker = launch->next.worker_begin(launch->next.ctx, worker_index);
    return launch;
}

static void worker_event(void *worker_ctx, const struct event *event) {
    struct watch_launch *launch = worker_ctx;
    if (WATCHED >> event->kind & 1)
        watch_event(launch, event);
    if (launch->next.kinds >> event->kind & 1)
        launch->next.event(launch->next_worker, event);
}

static void worker_end(void *ctx, void *worker_ctx) {
    struct watch_launch *launch = worker_ctx;
    (void)ctx;
    if (launch->next.kinds)
        launch->next.worker_end(launch->next.ctx, launch->next_worker);
}

void watch_observe(struct watch_launch *launch, struct observer *observer) {
    *observer = (struct observer){
        .ctx = launch,
        .kinds = WATCHED | launch->next.kinds,
        .worker_begin = worker_begin,
        .event = worker_event,
        .worker_end = worker_end,
    };
}
