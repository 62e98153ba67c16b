/* What --stats prints of a launch, counted from the executor's events.
 *
 *   EVENT_INSN            one of the classes below, by the first words of the opcode
 *   EVENT_GLOBAL_ACCESS   requests, 32-byte sectors, bytes used in them
 *   EVENT_SHARED_ACCESS   requests, wavefronts, conflicts
 *   EVENT_MBARRIER, EVENT_TENSOR_COPY, EVENT_MMA   phases, boxes and bytes, operations
 *
 * Each host thread counts for itself; the sums are added in worker order. Not modelled: caches, and
 * the shared-memory traffic of asynchronous units. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "warp.h"

enum { SECTOR_BYTES = 32, BANK_COUNT = 32, BANK_BYTES = 4, SECTORS_MAX = 2 * WARP_LANES };

#define CLASS(name) offsetof(struct siltwin_sim_stats, name)

/* The longest opcode that begins the instruction's decides; memory instructions by state space. */
static const struct {
    const char *opcode;
    size_t offset;
} classes[] = {
    {"tcgen05.mma", CLASS(tensor_core)},
    {"tcgen05", CLASS(tensor_memory)},
    {"wgmma.mma_async", CLASS(tensor_core)},
    {"wgmma", CLASS(barrier)},
    {"mma", CLASS(tensor_core)},
    {"wmma", CLASS(tensor_core)},
    {"ldmatrix", CLASS(matrix_move)},
    {"stmatrix", CLASS(matrix_move)},
    {"movmatrix", CLASS(matrix_move)},
    {"mbarrier", CLASS(mbarrier)},
    {"cp.async.mbarrier", CLASS(mbarrier)},
    {"cp.async.bulk.tensor", CLASS(tensor_copy)},
    {"cp.reduce.async.bulk.tensor", CLASS(tensor_copy)},
    {"cp.async.bulk.prefetch.tensor", CLASS(tensor_copy)},
    {"cp", CLASS(async_copy)},
    {"st.async", CLASS(async_copy)},
    {"red.async", CLASS(async_copy)},
    {"atom", CLASS(atomic)},
    {"red", CLASS(atomic)},
    {"bar", CLASS(barrier)},
    {"barrier", CLASS(barrier)},
    {"fence", CLASS(barrier)},
    {"membar", CLASS(barrier)},
    {"shfl", CLASS(warp_collective)},
    {"vote", CLASS(warp_collective)},
    {"match", CLASS(warp_collective)},
    {"redux", CLASS(warp_collective)},
    {"elect", CLASS(warp_collective)},
    {"activemask", CLASS(warp_collective)},
    {"bra", CLASS(control)},
    {"brx", CLASS(control)},
    {"call", CLASS(control)},
    {"ret", CLASS(control)},
    {"exit", CLASS(control)},
    {"trap", CLASS(control)},
    {"brkpt", CLASS(control)},
    {"cvt", CLASS(conversion)},
    {"cvta", CLASS(move)},
    {"mov", CLASS(move)},
    {"prmt", CLASS(move)},
    {"mapa", CLASS(move)},
    {"isspacep", CLASS(compare)},
    {"setp", CLASS(compare)},
    {"set", CLASS(compare)},
    {"selp", CLASS(compare)},
    {"slct", CLASS(compare)},
};

/* Whether the words of `opcode` begin with those of `prefix`. */
static bool begins(const char *opcode, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(opcode, prefix, length) == 0 &&
           (opcode[length] == '\0' || opcode[length] == '.');
}

static size_t class_of(const struct isa_row *row) {
    size_t best = 0, offset = CLASS(other);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        size_t length = strlen(classes[i].opcode);
        if (length > best && begins(row->opcode, classes[i].opcode)) {
            best = length;
            offset = classes[i].offset;
        }
    }
    if (best > 0)
        return offset;
    if (begins(row->opcode, "ld") || begins(row->opcode, "st") || begins(row->opcode, "ldu"))
        return CLASS(global_memory); /* of the state space: settled per instruction */
    /* Arithmetic is told apart by its chapter of the manual. */
    if (strstr(row->manual, "floating-point") || strstr(row->manual, "half-precision"))
        return CLASS(floating);
    if (strstr(row->manual, "integer") || strstr(row->manual, "extended-precision") ||
        strstr(row->manual, "logic-and-shift"))
        return CLASS(integer);
    return CLASS(other);
}

static uint64_t *counter(struct stats_counters *c, size_t offset) {
    return (uint64_t *)(void *)((char *)&c->sums + offset);
}

static void count_insn(struct stats_counters *c, const struct event *event) {
    size_t offset = event->insn ? c->class_offset[event->insn->ir->form] : CLASS(other);
    if (offset == CLASS(global_memory)) {
        enum ptx_space space = ir_space(event->insn->ir, 0);
        if (space == SPACE_SHARED || space == SPACE_SHARED_CLUSTER)
            offset = CLASS(shared_memory);
        else if (space != SPACE_GLOBAL && space != SPACE_GENERIC)
            offset = CLASS(other_memory);
    }
    c->sums.warp_instructions++;
    c->sums.thread_instructions += (uint64_t)__builtin_popcount(event->lanes);
    ++*counter(c, offset);
}

/* Sectors that the lanes touch, each with the mask of its bytes that are asked for. */
struct sectors {
    uint64_t number[SECTORS_MAX];
    uint32_t bytes[SECTORS_MAX];
    unsigned count;
};

static void touch(struct sectors *sectors, uint64_t number, uint32_t bytes) {
    for (unsigned i = sectors->count; i-- > 0;) {
        if (sectors->number[i] == number) {
            sectors->bytes[i] |= bytes;
            return;
        }
    }
    if (sectors->count < SECTORS_MAX) {
        sectors->number[sectors->count] = number;
        sectors->bytes[sectors->count++] = bytes;
    }
}

static void touch_range(struct sectors *sectors, uint64_t address, uint32_t size_bytes) {
    while (size_bytes > 0) {
        uint32_t first = (uint32_t)(address % SECTOR_BYTES);
        uint32_t here = SECTOR_BYTES - first < size_bytes ? SECTOR_BYTES - first : size_bytes;
        uint32_t mask = here == SECTOR_BYTES ? UINT32_MAX : ((UINT32_C(1) << here) - 1) << first;
        touch(sectors, address / SECTOR_BYTES, mask);
        address += here;
        size_bytes -= here;
    }
}

static void count_global(struct stats_counters *c, const struct event *event) {
    struct sectors sectors = {.count = 0};
    uint64_t used = 0;
    for (uint32_t left = event->lanes; left != 0; left &= left - 1)
        touch_range(&sectors, event->access.address[__builtin_ctz(left)], event->access.size_bytes);
    for (unsigned i = 0; i < sectors.count; i++)
        used += (uint64_t)__builtin_popcount(sectors.bytes[i]);
    bool store = event->access.access != ACCESS_READ;
    *(store ? &c->sums.store_requests : &c->sums.load_requests) += 1;
    *(store ? &c->sums.store_sectors : &c->sums.load_sectors) += sectors.count;
    *(store ? &c->sums.store_used_bytes : &c->sums.load_used_bytes) += used;
}

/* Wavefronts for lanes [first, first + count): the bank with the most different words decides. */
static unsigned wavefronts(const struct event *event, unsigned first, unsigned count) {
    uint64_t words[BANK_COUNT][WARP_LANES];
    unsigned per_bank[BANK_COUNT] = {0}, most = 0;
    for (unsigned lane = first; lane < first + count; lane++) {
        if (!(event->lanes >> lane & 1))
            continue;
        uint64_t word = event->access.address[lane] / BANK_BYTES;
        uint64_t end =
            (event->access.address[lane] + event->access.size_bytes + BANK_BYTES - 1) / BANK_BYTES;
        for (; word < end; word++) {
            unsigned bank = word % BANK_COUNT, i = 0;
            while (i < per_bank[bank] && words[bank][i] != word)
                i++;
            if (i == per_bank[bank] && i < WARP_LANES)
                words[bank][per_bank[bank]++] = word;
            if (per_bank[bank] > most)
                most = per_bank[bank];
        }
    }
    return most;
}

static void count_shared(struct stats_counters *c, const struct event *event) {
    uint32_t size = event->access.size_bytes;
    unsigned part = size <= 4 ? WARP_LANES : size <= 8 ? WARP_LANES / 2 : WARP_LANES / 4;
    c->sums.shared_requests++;
    for (unsigned first = 0; first < WARP_LANES; first += part) {
        unsigned waves = wavefronts(event, first, part);
        c->sums.shared_wavefronts += waves;
        c->sums.shared_conflicts += waves > 1 ? waves - 1 : 0;
        if (waves > c->sums.shared_worst_way)
            c->sums.shared_worst_way = waves;
    }
}

static void count_event(void *ctx, const struct event *event) {
    struct stats_counters *c = ctx;
    switch (event->kind) {
    case EVENT_INSN: count_insn(c, event); break;
    case EVENT_GLOBAL_ACCESS: count_global(c, event); break;
    case EVENT_SHARED_ACCESS: count_shared(c, event); break;
    case EVENT_MBARRIER: c->sums.mbarrier_phases += event->mbarrier.completed; break;
    case EVENT_TENSOR_COPY:
        c->sums.tma_instructions++;
        c->sums.tma_store_instructions += event->tensor.access != ACCESS_READ;
        c->sums.tma_boxes += event->tensor.boxes;
        *(event->tensor.access == ACCESS_READ ? &c->sums.tma_load_bytes
                                              : &c->sums.tma_store_bytes) += event->tensor.bytes;
        break;
    case EVENT_MMA:
        c->sums.mma_instructions++;
        c->sums.mma_flop += 2 * (uint64_t)event->mma.m * event->mma.n * event->mma.k;
        break;
    default: break;
    }
}

/* A worker's own counters. A host without memory for them loses that worker's share of the counts;
 * the launch itself is not disturbed. */
static void *worker_begin(void *ctx, uint32_t worker_index) {
    const struct stats_counters *all = ctx;
    struct stats_counters *own = calloc(1, sizeof *own);
    (void)worker_index;
    if (own)
        memcpy(own->class_offset, all->class_offset, sizeof own->class_offset);
    return own;
}

static void worker_event(void *worker_ctx, const struct event *event) {
    if (worker_ctx)
        count_event(worker_ctx, event);
}

static void worker_end(void *ctx, void *worker_ctx) {
    struct stats_counters *all = ctx, *own = worker_ctx;
    if (!own)
        return;
    uint64_t worst = all->sums.shared_worst_way > own->sums.shared_worst_way
                         ? all->sums.shared_worst_way
                         : own->sums.shared_worst_way;
    for (size_t at = CLASS(warp_instructions); at < CLASS(host_seconds); at += sizeof(uint64_t))
        *counter(all, at) += *counter(own, at);
    all->sums.shared_worst_way = worst;
    free(own);
}

void stats_observe(struct stats_counters *counters, struct observer *observer) {
    memset(counters, 0, sizeof *counters);
    for (unsigned form = 0; form < ISA_COUNT; form++)
        counters->class_offset[form] = (uint16_t)class_of(isa_row((enum isa_form)form));
    *observer = (struct observer){
        .ctx = counters,
        .kinds = 1u << EVENT_INSN | 1u << EVENT_GLOBAL_ACCESS | 1u << EVENT_SHARED_ACCESS |
                 1u << EVENT_MBARRIER | 1u << EVENT_TENSOR_COPY | 1u << EVENT_MMA,
        .worker_begin = worker_begin,
        .event = worker_event,
        .worker_end = worker_end,
    };
}
