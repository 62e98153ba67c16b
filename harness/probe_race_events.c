/* Races between probes of memory and the kernel, from the event lines of the simulator
 * (siltwin_sim.h).
 *
 * Each warp has a vector clock: how far it has come, and how far it knows that others have come. It
 * learns by synchronising. What synchronises is put generously, so that two accesses which are not
 * ordered here are ordered by nothing:
 *   - when a barrier completes, each warp that waits at one learns all that anybody knew who came
 *     to one before; so with mbarriers, where a wait may also succeed at once;
 *   - atomics and strong loads and stores hand over all that others knew at theirs;
 *   - asynchronous copies, tensor core and cluster instructions do all three, until the warp's next
 *     instruction; a warp that leaves hands over what it knows;
 *   - a warp is one thread;
 *   - of another CTA everything is known, unless the kernel has no means by which CTAs wait for
 * each other: then nothing is. A unit's writes have a clock of their own: it goes on when an
 * operation takes effect, and is learnt with mbarriers. While an operation is under way its bytes
 * race with every read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_race_state.h"

enum domain { BARRIERS = 1, MBARRIERS = 2, OTHERS = 4, ALL = 7 };

/* A line of the simulator. */
struct event {
    uint32_t cta, warp, line;
    const char *opcode; /* ends with a blank */
    const char *kind;   /* "shared write 4 400,404" and so on */
};

/* ---- what is watched ---- */

static bool observes(const struct probe_layout *layout, uint32_t cta) {
    const uint32_t x_size = layout->launch->grid[0], y_size = layout->launch->grid[1];
    const uint32_t at[3] = {cta % x_size, cta / x_size % y_size, cta / x_size / y_size};
    for (uint32_t i = 0; i < layout->plan->site_count; i++) {
        const struct probe_region *r = &layout->regions[layout->plan->sites[i].probe];
        if (layout->plan->specs[layout->plan->sites[i].probe].kind != PROBE_SHARED ||
            !r->thread_bytes)
            continue;
        const uint32_t linear = at[0] + at[1] * r->x_pitch + at[2] * r->xy_pitch - r->first_cta;
        if (at[0] < r->box[0] && at[1] < r->box[1] && at[2] < r->box[2] && linear < r->ctas)
            return true;
    }
    return false;
}

static struct race_cta *find_cta(struct probe_race *race, uint32_t index) {
    for (uint32_t i = 0; i < race->cta_count; i++)
        if (race->ctas[i].index == index)
            return &race->ctas[i];
    const bool shared = observes(race->layout, index);
    if (!shared && !race->any_range)
        return NULL;
    struct race_cta *grown = realloc(race->ctas, (race->cta_count + 1) * sizeof *grown);
    if (grown)
        race->ctas = grown;
    struct race_access *memory =
        grown && shared ? calloc(2 * (size_t)RACE_WORDS, sizeof *memory) : NULL;
    if (!grown || (shared && !memory)) {
        race->no_memory = true;
        return NULL;
    }
    struct race_cta *cta = &race->ctas[race->cta_count++];
    *cta = (struct race_cta){
        .index = index, .reads = memory, .writes = memory ? memory + RACE_WORDS : NULL};
    for (uint32_t w = 0; w < RACE_WARPS; w++)
        cta->known[w][w] = 1;
    return cta;
}

/* Probes read with ld, in front of the instruction, on its line. */
static uint32_t site_at(const struct probe_race *race, uint32_t line, bool shared) {
    for (uint32_t i = 0; i < race->layout->plan->site_count; i++) {
        const struct probe_site *site = &race->layout->plan->sites[i];
        const bool is_shared = race->layout->plan->specs[site->probe].kind == PROBE_SHARED;
        if (race->sites[i].watched && !race->sites[i].unclear && is_shared == shared &&
            race->layout->plan->ir->funcs[site->func].insns[site->insn].line == line)
            return i;
    }
    return UINT32_MAX;
}

/* ---- what synchronises ---- */

static bool begins(const char *text, const char *word) {
    const size_t length = strlen(word);
    return !strncmp(text, word, length) && (text[length] == '.' || text[length] == ' ');
}

static unsigned domains(const struct probe_race *race, const struct event *e) {
    static const char *const all[] = {"barrier.cluster", "cp",   "tcgen05",  "wgmma",
                                      "red.async",       "call", "multimem", "clusterlaunchcontrol",
                                      "griddepcontrol",  "exit", "ret",      "st.async",
                                      "setmaxnreg",      "trap"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (begins(e->opcode, all[i]))
            return ALL;
    if (begins(e->opcode, "bar.warp"))
        return 0;
    if (begins(e->opcode, "bar") || begins(e->opcode, "barrier"))
        return BARRIERS;
    if (begins(e->opcode, "mbarrier"))
        return MBARRIERS;
    if (begins(e->opcode, "atom") || begins(e->opcode, "red"))
        return OTHERS;
    const bool access = begins(e->opcode, "ld") || begins(e->opcode, "st");
    return access && e->line < race->line_count && race->strong[e->line] ? OTHERS : 0;
}

static void join(uint32_t *to, const uint32_t *from) {
    for (int i = 0; i < RACE_CLOCKS; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void learn(struct race_cta *cta, uint32_t warp, unsigned set) {
    for (int d = 0; d < RACE_DOMAINS; d++)
        if (set >> d & 1)
            join(cta->known[warp], cta->shared[d]);
}

/* The warp does the next thing: what it waited for is over. */
static void go_on(struct race_cta *cta, uint32_t warp) {
    if (cta->waits[warp] == ALL)
        learn(cta, warp, ALL);
    cta->waits[warp] = 0;
}

/* A barrier or a phase completed: whoever waits may go on by it. */
static void completed(struct race_cta *cta, unsigned set) {
    for (uint32_t w = 0; w < RACE_WARPS; w++)
        learn(cta, w, cta->waits[w] & set);
}

static void synchronise(struct race_cta *cta, uint32_t warp, unsigned set) {
    if (!set)
        return;
    for (int d = 0; d < RACE_DOMAINS; d++)
        if (set >> d & 1)
            join(cta->shared[d], cta->known[warp]);
    cta->known[warp][warp]++;
    learn(cta, warp, set & ~(unsigned)BARRIERS);
    cta->waits[warp] = (uint8_t)set;
}

/* ---- accesses ---- */

/* In the CTA that reads. */
static void found(struct probe_race *race, uint32_t cta, uint32_t site, uint64_t address,
                  uint32_t line) {
    struct race_site *s = &race->sites[site];
    if (!s->found) {
        s->found = true;
        s->cta = cta;
        s->address = address;
        s->written_line = line;
    }
    for (uint32_t i = 0; i < s->cta_count; i++)
        if (s->ctas[i] == cta)
            return;
    uint32_t *grown = realloc(s->ctas, (s->cta_count + 1) * sizeof *grown);
    if (!grown) {
        race->no_memory = true;
        return;
    }
    s->ctas = grown;
    s->ctas[s->cta_count++] = cta;
}

/* Whether a warp knows of an access. */
static bool knows(const struct probe_race *race, const struct race_cta *cta, uint32_t warp,
                  const struct race_access *access) {
    if (access->clock && access->cta != cta->index)
        return !race->silent;
    return !access->clock || cta->known[warp][access->who] >= access->clock;
}

static struct race_access access_of(const struct race_cta *cta, const struct event *e,
                                    uint32_t site) {
    return (struct race_access){.clock = cta->known[e->warp][e->warp],
                                .line = e->line,
                                .cta = cta->index,
                                .site = site,
                                .who = e->warp};
}

/* A probe's read of the 4 bytes at `address`, whose last accesses these are. */
static void read_word(struct probe_race *race, const struct race_cta *cta, const struct event *e,
                      uint32_t site, uint64_t address, struct race_access *read,
                      const struct race_access *write) {
    if (!knows(race, cta, e->warp, write))
        found(race, cta->index, site, address, write->line);
    *read = access_of(cta, e, site);
}

static void write_word(struct probe_race *race, const struct race_cta *cta, const struct event *e,
                       uint64_t address, const struct race_access *read,
                       struct race_access *write) {
    if (!knows(race, cta, e->warp, read))
        found(race, read->cta, read->site, address, e->line);
    *write = access_of(cta, e, 0);
}

/* What is under way to the 4 bytes of shared memory at `address`. */
static void meet_operations(struct probe_race *race, const struct race_cta *cta, uint32_t site,
                            uint64_t address) {
    for (uint32_t i = 0; i < cta->operation_count; i++) {
        const struct race_operation *op = &cta->operations[i];
        if (address + 4 > op->address && address < op->address + op->bytes)
            found(race, cta->index, site, address, op->line);
    }
}

/* 4 bytes of shared or global memory; `site` UINT32_MAX: they are written. */
static void access_word(struct probe_race *race, struct race_cta *cta, const struct event *e,
                        bool shared, uint32_t site, uint64_t address) {
    const bool write = site == UINT32_MAX;
    if (shared && cta->reads && address / 4 < RACE_WORDS) {
        struct race_access *x = &cta->reads[address / 4], *y = &cta->writes[address / 4];
        if (!write)
            meet_operations(race, cta, site, address);
        if (write)
            write_word(race, cta, e, address, x, y);
        else
            read_word(race, cta, e, site, address, x, y);
    }
    for (uint32_t p = 0; !shared && p < race->layout->plan->spec_count; p++) {
        const struct race_range *range = &race->ranges[p];
        const uint64_t word = (address - range->address) / 4;
        if (address < range->address || word >= range->words)
            continue;
        if (write)
            write_word(race, cta, e, address, &range->reads[word], &range->writes[word]);
        else if (race->layout->plan->sites[site].probe == p)
            read_word(race, cta, e, site, address, &range->reads[word], &range->writes[word]);
    }
}

/* "shared write 4 400,404,...", "global read ...": each lane's bytes. */
static void access_words(struct probe_race *race, struct race_cta *cta, const struct event *e) {
    const bool shared = *e->kind == 's';
    const char *at = strchr(e->kind, ' ') + 1;
    const bool write = strncmp(at, "read", 4) != 0;
    const uint32_t site = write ? UINT32_MAX : site_at(race, e->line, shared);
    if (!write && (race->told || site == UINT32_MAX || !begins(e->opcode, "ld")))
        return;
    char *end;
    at += strcspn(at, " ");
    const uint32_t bytes = (uint32_t)strtoul(at, &end, 10);
    do {
        const uint64_t address = strtoull(end + 1, &end, 16);
        for (uint64_t word = address & ~UINT64_C(3); word < address + bytes; word += 4)
            access_word(race, cta, e, shared, site, word);
    } while (*end == ',');
}

/* "async.issue 3 shared 400 128" */
static void issue(struct probe_race *race, struct race_cta *cta, const struct event *e) {
    struct race_operation op = {.line = e->line};
    if (sscanf(e->kind, "async.issue %" SCNu64 " shared %" SCNx32 " %" SCNu32, &op.id, &op.address,
               &op.bytes) != 3)
        return;
    if (!cta->reads)
        return;
    for (uint32_t word = op.address / 4; word < RACE_WORDS && 4 * word < op.address + op.bytes;
         word++)
        if (!knows(race, cta, e->warp, &cta->reads[word]))
            found(race, cta->index, cta->reads[word].site, 4 * (uint64_t)word, e->line);
    if (cta->operation_count == cta->operation_capacity) {
        const uint32_t wanted = cta->operation_capacity ? 2 * cta->operation_capacity : 16;
        struct race_operation *grown = realloc(cta->operations, wanted * sizeof *grown);
        if (!grown) {
            race->no_memory = true;
            return;
        }
        cta->operations = grown;
        cta->operation_capacity = wanted;
    }
    cta->operations[cta->operation_count++] = op;
}

/* "async.complete 3": from now on who waits for mbarriers knows of it. */
static void complete(struct race_cta *cta, const struct event *e) {
    const uint64_t id = strtoull(e->kind + strlen("async.complete "), NULL, 10);
    cta->unit_clock++;
    for (uint32_t i = 0; i < cta->operation_count; i++) {
        const struct race_operation op = cta->operations[i];
        if (op.id != id)
            continue;
        for (uint32_t word = op.address / 4; word < RACE_WORDS && 4 * word < op.address + op.bytes;
             word++)
            cta->writes[word] = (struct race_access){
                .clock = cta->unit_clock, .line = op.line, .cta = cta->index, .who = RACE_UNIT};
        cta->operations[i] = cta->operations[--cta->operation_count];
        break;
    }
    for (int d = 0; d < RACE_DOMAINS; d++)
        if (1 << d & MBARRIERS)
            cta->shared[d][RACE_UNIT] = cta->unit_clock;
    completed(cta, MBARRIERS);
}

/* ---- lines ---- */

/* launch cta warp lanes file:line opcode KIND ...; the file's name may have blanks. */
static bool read_event(const char *text, struct event *e) {
    static const char *const kinds[] = {" insn",           " shared read ", " shared write ",
                                        " shared atomic ", " global read ", " global write ",
                                        " global atomic ", " async.issue ", " async.complete ",
                                        " cta.end",        " barrier ",     " mbarrier "};
    char *end;
    strtoull(text, &end, 10);
    e->cta = (uint32_t)strtoul(end, &end, 10);
    const bool unit = !strncmp(end, " unit", 5);
    e->warp = unit ? UINT32_MAX : (uint32_t)strtoul(end, &end, 10);
    e->kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const char *at = end; (at = strstr(at, kinds[i])); at++)
            e->kind = at + 1;
    if (!e->kind)
        return false;
    e->opcode = e->kind - 1;
    while (e->opcode > end && e->opcode[-1] != ' ')
        e->opcode--;
    const char *line = e->opcode;
    while (line > end && line[-1] != ':')
        line--;
    e->line = (uint32_t)strtoul(line, NULL, 10);
    return true;
}

static void end_cta(struct probe_race *race, struct race_cta *cta) {
    free(cta->reads);
    free(cta->operations);
    *cta = race->ctas[--race->cta_count];
}

void probe_race_read(struct probe_race *race, uint32_t cta_index, uint32_t warp, uint32_t site,
                     uint64_t address, uint32_t bytes) {
    const struct probe_plan *plan = race->layout->plan;
    const struct probe_site *s = &plan->sites[site];
    struct race_cta *cta = race->no_memory ? NULL : find_cta(race, cta_index);
    const struct event e = {
        .cta = cta_index, .warp = warp, .line = plan->ir->funcs[s->func].insns[s->insn].line};
    if (!cta || warp >= RACE_WARPS || !race->sites[site].watched)
        return;
    go_on(cta, warp);
    for (uint64_t word = address & ~UINT64_C(3); word < address + bytes; word += 4)
        access_word(race, cta, &e, plan->specs[s->probe].kind == PROBE_SHARED, site, word);
}

void probe_race_line(void *ctx, const char *text) {
    struct probe_race *race = ctx;
    struct event e;
    if (race->other)
        probe_race_line(race->other, text);
    if (race->no_memory || !read_event(text, &e))
        return;
    struct race_cta *cta = find_cta(race, e.cta);
    if (!cta)
        return;
    if (!strncmp(e.kind, "cta.end", 7)) {
        end_cta(race, cta);
        return;
    }
    if (!strncmp(e.kind, "async.complete", 14)) {
        complete(cta, &e);
        return;
    }
    if (!strncmp(e.kind, "barrier", 7) || !strncmp(e.kind, "mbarrier", 8)) {
        completed(cta, *e.kind == 'm' ? MBARRIERS : BARRIERS);
        return;
    }
    if (e.warp >= RACE_WARPS)
        return;
    go_on(cta, e.warp);
    if (!strncmp(e.kind, "insn", 4))
        synchronise(cta, e.warp, domains(race, &e));
    else if (!strncmp(e.kind, "shared", 6) || !strncmp(e.kind, "global", 6))
        access_words(race, cta, &e);
    else
        issue(race, cta, &e);
}
