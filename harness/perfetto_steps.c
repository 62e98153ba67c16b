/* From a timeline to slices and flows.
 *
 *   warp      [ copy ]                      [ try_wait ............. ]
 *                |                                                  ^
 *   unit         +->[ operation ........ ]                          |
 *                                       |                           |
 *   mbarrier  [ phase 0 ................+.......................... ]
 *
 * An operation flows into the phase that it does something to; a phase into the successful wait for
 * it; what counts groups (wait_group, wait::st) gets a flow from every operation of its kind and
 * warp that had completed and that no such wait had got before. */
#include <stdlib.h>
#include <string.h>

#include "perfetto_chart.h"

/* An operation under way or completed. */
struct operation {
    uint32_t cta, warp, lane, place;
    uint64_t id;
    size_t slice;
    bool linked, completed, awaited;
};

struct barrier {
    uint32_t cta, address;
    size_t slice; /* of the running phase */
    uint64_t phase;
    size_t last[2]; /* the last completed phase of each parity, SIZE_MAX: none */
};

/* What lanes did to an mbarrier, until their instruction is known. */
struct arrival {
    uint32_t cta, warp, lane, place;
    uint64_t step;
    size_t phase_slice;
};

enum { ARRIVALS = 1024 };

struct steps {
    struct chart *chart;
    struct operation *operations;
    size_t operation_count, first_unlinked;
    struct barrier *barriers;
    size_t barrier_count, barrier_capacity;
    struct arrival arrivals[ARRIVALS];
    size_t arrival_count;
    size_t last_ran;
};

static const char *text_of(const struct steps *s, uint32_t place) {
    return place < s->chart->stream->place_count ? s->chart->stream->places[place].text : "";
}

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

/* ---- mbarriers ---- */

static struct barrier *barrier_at(struct steps *s, const struct timeline_row *row) {
    for (size_t i = s->barrier_count; i-- > 0;) /* most likely one of the running CTA */
        if (s->barriers[i].cta == row->cta && s->barriers[i].address == row->address)
            return &s->barriers[i];
    if (s->barrier_count == s->barrier_capacity) {
        const size_t wanted = s->barrier_capacity ? 2 * s->barrier_capacity : 32;
        struct barrier *grown = realloc(s->barriers, wanted * sizeof *grown);
        if (!grown) {
            s->chart->no_memory = true;
            return NULL;
        }
        s->barriers = grown;
        s->barrier_capacity = wanted;
    }
    s->barriers[s->barrier_count] = (struct barrier){
        .cta = row->cta, .address = row->address, .slice = SIZE_MAX, .last = {SIZE_MAX, SIZE_MAX}};
    return &s->barriers[s->barrier_count++];
}

static size_t begin_phase(struct steps *s, const struct timeline_row *row, uint64_t begin,
                          uint64_t phase) {
    return chart_add(s->chart, &(struct chart_slice){.cta = row->cta,
                                                     .group = CHART_BARRIER,
                                                     .number = row->address,
                                                     .begin = begin,
                                                     .end = begin + 1,
                                                     .place = TIMELINE_NONE,
                                                     .id = phase,
                                                     .open = true});
}

static void end_phase(struct steps *s, size_t slice, uint64_t end) {
    if (slice == SIZE_MAX)
        return;
    s->chart->slices[slice].end = end;
    s->chart->slices[slice].open = false;
}

static struct operation *find_operation(struct steps *s, uint32_t cta, uint64_t id) {
    for (size_t i = s->operation_count; i-- > 0;)
        if (s->operations[i].cta == cta && s->operations[i].id == id)
            return &s->operations[i];
    return NULL;
}

static void add_barrier(struct steps *s, const struct timeline_row *row) {
    struct barrier *b = barrier_at(s, row);
    const char *text = text_of(s, row->place);
    const bool init = row->id == 0 && begins(text, "mbarrier.in");
    const uint64_t now = row->phase - row->completed;
    if (!b)
        return;
    /* Lanes that initialise it together begin one phase. */
    const bool begun = b->slice != SIZE_MAX && s->chart->slices[b->slice].begin >= row->step;
    if (b->slice == SIZE_MAX || (init && !begun)) {
        end_phase(s, b->slice, row->step);
        b->slice = begin_phase(s, row, row->step, now);
    }
    if (init)
        b->last[0] = b->last[1] = SIZE_MAX;
    struct operation *op = row->id ? find_operation(s, row->cta, row->id) : NULL;
    if (op)
        chart_connect(s->chart, op->slice, row->step, b->slice, row->step);
    else if (!row->id && !init && row->place != TIMELINE_NONE && s->arrival_count < ARRIVALS)
        s->arrivals[s->arrival_count++] =
            (struct arrival){row->cta,   row->warp, (uint32_t)__builtin_ctz(row->lanes | 1u << 31),
                             row->place, row->step, b->slice};
    if (!row->completed)
        return;
    end_phase(s, b->slice, row->step + 1);
    b->last[now & 1] = b->slice;
    b->slice = begin_phase(s, row, row->step + 1, row->phase);
}

/* ---- operations ---- */

static void add_operation(struct steps *s, const struct timeline_row *row) {
    const uint32_t lane = (uint32_t)__builtin_ctz(row->lanes | 1u << 31);
    const size_t slice =
        chart_add(s->chart, &(struct chart_slice){.cta = row->cta,
                                                  .group = CHART_UNIT,
                                                  .number = chart_unit(text_of(s, row->place)),
                                                  .begin = row->step,
                                                  .end = row->step + 1,
                                                  .place = row->place,
                                                  .lanes = row->lanes,
                                                  .warp = row->warp,
                                                  .id = row->id,
                                                  .open = true});
    s->operations[s->operation_count++] = (struct operation){
        row->cta, row->warp, lane, row->place, row->id, slice, false, false, false};
}

static void end_operation(struct steps *s, const struct timeline_row *row) {
    struct operation *op = find_operation(s, row->cta, row->id);
    if (!op || op->slice == SIZE_MAX || op->completed)
        return;
    op->completed = true;
    s->chart->slices[op->slice].end = row->step + 1;
    s->chart->slices[op->slice].open = false;
}

/* ---- warps ---- */

/* From the instruction to what it issued, and to the phases at which it arrived. */
static void link_instruction(struct steps *s, size_t slice, const struct timeline_row *row) {
    const struct stream_place *places = s->chart->stream->places;
    const uint32_t line = places[row->place].line, column = places[row->place].column;
    for (size_t i = s->operation_count; i-- > 0;) {
        struct operation *op = &s->operations[i];
        if (op->slice == SIZE_MAX || s->chart->slices[op->slice].begin < row->begin)
            break;
        if (op->linked || op->cta != row->cta || op->warp != row->warp ||
            places[op->place].line != line || places[op->place].column != column)
            continue;
        op->linked = true;
        const uint64_t at = s->chart->slices[op->slice].begin;
        chart_connect(s->chart, slice, at, op->slice, at);
    }
    size_t kept = 0, last_phase = SIZE_MAX;
    for (size_t i = 0; i < s->arrival_count; i++) {
        const struct arrival *a = &s->arrivals[i];
        if (a->cta != row->cta || a->warp != row->warp || places[a->place].line != line ||
            places[a->place].column != column) {
            s->arrivals[kept++] = *a;
            continue;
        }
        if (a->phase_slice != last_phase) /* one for all lanes */
            chart_connect(s->chart, slice, a->step, a->phase_slice, a->step);
        last_phase = a->phase_slice;
    }
    s->arrival_count = kept;
}

/* The phase whose end let the wait go on. */
static void link_phase(struct steps *s, size_t slice, const struct timeline_row *row) {
    const struct barrier *b = barrier_at(s, row);
    if (!b)
        return;
    size_t phase = SIZE_MAX;
    if (row->id)
        phase = b->last[(row->id - 1) & 1];
    else /* by a token: the last one */
        for (int i = 0; i < 2; i++)
            if (b->last[i] != SIZE_MAX && (phase == SIZE_MAX || b->last[i] > phase))
                phase = b->last[i];
    if (phase != SIZE_MAX)
        chart_connect(s->chart, phase, s->chart->slices[phase].end - 1, slice, row->step);
}

/* Which operations a wait counts; NULL: it counts none. */
static const char *counted_by(const char *wait) {
    static const char *const pairs[][2] = {{"cp.async.bulk.wait_group", "cp."},
                                           {"cp.async.wait_", "cp.async."},
                                           {"tcgen05.wait::st", "tcgen05.st"},
                                           {"tcgen05.wait::ld", "tcgen05.ld"},
                                           {"wgmma.wait_group", "wgmma.mma_async"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (begins(wait, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

static bool is_counted(const char *text, const char *wanted) {
    const bool bulk = begins(text, "cp.async.bulk") || begins(text, "cp.reduce.async.bulk");
    if (!strcmp(wanted, "cp."))
        return bulk && !strstr(text, "mbarrier::complete_tx");
    return begins(text, wanted) && !bulk;
}

static void link_counted(struct steps *s, size_t slice, const struct timeline_row *row,
                         const char *wanted) {
    const bool warpgroup = begins(wanted, "wgmma");
    for (size_t i = 0; i < s->operation_count; i++) {
        struct operation *op = &s->operations[i];
        const bool same = op->cta == row->cta &&
                          (warpgroup ? op->warp / 4 == row->warp / 4 : op->warp == row->warp);
        if (!same || !op->completed || op->awaited || !is_counted(text_of(s, op->place), wanted))
            continue;
        op->awaited = !warpgroup || row->warp % 4 == 3; /* its four warps wait */
        chart_connect(s->chart, op->slice, s->chart->slices[op->slice].end - 1, slice, row->step);
    }
}

/* Rows of several probes at one instruction are one slice. */
static bool is_same_instruction(const struct steps *s, const struct timeline_row *row) {
    if (s->last_ran == SIZE_MAX)
        return false;
    const struct chart_slice *last = &s->chart->slices[s->last_ran];
    const struct stream_place *x = &s->chart->stream->places[last->place];
    const struct stream_place *y = &s->chart->stream->places[row->place];
    return last->cta == row->cta && last->number == row->warp && last->begin == row->begin &&
           last->end == row->step + 1 && last->place != row->place && x->line == y->line &&
           x->column == y->column;
}

static void add_instruction(struct steps *s, const struct timeline_row *row) {
    const bool event = !strcmp(s->chart->stream->places[row->place].kind, "event");
    if (is_same_instruction(s, row)) {
        struct chart_slice *last = &s->chart->slices[s->last_ran];
        last->lanes |= row->lanes;
        if (event) {
            last->place = row->place;
            last->visit = row->visit;
        }
    } else {
        s->last_ran =
            chart_add(s->chart, &(struct chart_slice){.cta = row->cta,
                                                      .group = CHART_WARP,
                                                      .number = row->warp,
                                                      .begin = row->begin,
                                                      .end = row->step + 1,
                                                      .place = row->place,
                                                      .visit = row->visit,
                                                      .lanes = row->lanes,
                                                      .warp = row->warp,
                                                      .open = row->kind == TIMELINE_WAITS});
    }
    if (s->last_ran == SIZE_MAX || !event || row->kind == TIMELINE_WAITS)
        return;
    const char *text = text_of(s, row->place), *counted = counted_by(text);
    link_instruction(s, s->last_ran, row);
    if (begins(text, "mbarrier.test_wait") || begins(text, "mbarrier.try_wait"))
        link_phase(s, s->last_ran, row);
    else if (counted)
        link_counted(s, s->last_ran, row, counted);
}

void chart_steps(struct chart *chart, const struct timeline *timeline) {
    struct steps *s = calloc(1, sizeof *s);
    if (s)
        s->operations = malloc((timeline->count + 1) * sizeof *s->operations);
    if (!s || !s->operations) {
        chart->no_memory = true;
        free(s);
        return;
    }
    s->chart = chart;
    s->last_ran = SIZE_MAX;
    uint64_t end = 0;
    for (size_t i = 0; i < timeline->count && !chart->no_memory; i++) {
        const struct timeline_row *row = &timeline->rows[i];
        end = row->step + 1;
        switch ((enum timeline_kind)row->kind) {
        case TIMELINE_RAN:
        case TIMELINE_WAITS: add_instruction(s, row); break;
        case TIMELINE_ISSUED: add_operation(s, row); break;
        case TIMELINE_COMPLETED: end_operation(s, row); break;
        case TIMELINE_BARRIER: add_barrier(s, row); break;
        case TIMELINE_KIND_COUNT: break;
        }
    }
    for (size_t i = 0; i < chart->slice_count; i++)
        if (chart->slices[i].open && chart->slices[i].end < end)
            chart->slices[i].end = end;
    free(s->operations);
    free(s->barriers);
    free(s);
}
