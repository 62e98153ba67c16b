/* Races between smem probes and the kernel, from the event lines of the simulator (siltwin_sim.h).
 *
 * Each warp has a vector clock: how far it has come, and how far it knows that others have come. It
 * learns by synchronising. What synchronises is put generously, so that two accesses which are not
 * ordered here are ordered by nothing:
 *   - when a barrier completes, each warp that waits at one learns all that anybody knew who came
 *     to one before; so with mbarriers, where a wait may also succeed at once;
 *   - atomics and strong loads and stores hand over all that others knew at theirs;
 *   - asynchronous copies, tensor core and cluster instructions do all three, until the warp's next
 *     instruction; a warp that leaves hands over what it knows;
 *   - a warp is one thread.
 * A unit's writes have a clock of their own: it goes on when an operation takes effect, and is
 * learnt with mbarriers. While an operation is under way its bytes race with every read. */
#include "probe_race.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

enum { WARPS = 32, UNIT = 32, CLOCKS = 33, SHARED_BYTES = 256 << 10, WORDS = SHARED_BYTES / 4 };
enum domain { BARRIERS = 1, MBARRIERS = 2, OTHERS = 4, ALL = 7, DOMAINS = 3 };

/* The last access to 4 bytes. */
struct access {
    uint32_t clock; /* 0: none */
    uint32_t line;
    uint8_t who;   /* warp or UNIT */
    uint16_t site; /* of a read */
};

struct operation {
    uint64_t id;
    uint32_t address, bytes, line;
};

struct cta {
    uint32_t index;
    uint32_t known[WARPS][CLOCKS], shared[DOMAINS][CLOCKS]; /* vector clocks */
    uint8_t waits[WARPS]; /* domains of the instruction that it is at */
    uint32_t unit_clock;
    struct access *reads, *writes; /* WORDS each */
    struct operation *operations;  /* under way */
    uint32_t operation_count, operation_capacity;
};

struct site {
    bool watched, unclear; /* an smem probe's; the kernel reads shared memory on its line too */
    bool found;
    uint32_t cta, address, written_line;
    uint32_t *ctas; /* where it races */
    uint32_t cta_count;
};

struct probe_race {
    const struct probe_layout *layout;
    struct site *sites;
    struct cta *ctas;
    uint32_t cta_count;
    bool *strong; /* by line of the text: loads and stores there are strong ones */
    uint32_t line_count;
    bool no_memory;
};

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

static struct cta *find_cta(struct probe_race *race, uint32_t index) {
    for (uint32_t i = 0; i < race->cta_count; i++)
        if (race->ctas[i].index == index)
            return &race->ctas[i];
    if (!observes(race->layout, index))
        return NULL;
    struct cta *grown = realloc(race->ctas, (race->cta_count + 1) * sizeof *grown);
    if (grown)
        race->ctas = grown;
    struct access *memory = grown ? calloc(2 * (size_t)WORDS, sizeof *memory) : NULL;
    if (!memory) {
        race->no_memory = true;
        return NULL;
    }
    struct cta *cta = &race->ctas[race->cta_count++];
    *cta = (struct cta){.index = index, .reads = memory, .writes = memory + WORDS};
    for (uint32_t w = 0; w < WARPS; w++)
        cta->known[w][w] = 1;
    return cta;
}

/* Probes read with ld, in front of the instruction, on its line. */
static uint32_t site_at(const struct probe_race *race, uint32_t line) {
    for (uint32_t i = 0; i < race->layout->plan->site_count; i++) {
        const struct probe_site *site = &race->layout->plan->sites[i];
        if (race->sites[i].watched && !race->sites[i].unclear &&
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
    for (int i = 0; i < CLOCKS; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void learn(struct cta *cta, uint32_t warp, unsigned set) {
    for (int d = 0; d < DOMAINS; d++)
        if (set >> d & 1)
            join(cta->known[warp], cta->shared[d]);
}

/* The warp does the next thing: what it waited for is over. */
static void go_on(struct cta *cta, uint32_t warp) {
    if (cta->waits[warp] == ALL)
        learn(cta, warp, ALL);
    cta->waits[warp] = 0;
}

/* A barrier or a phase completed: whoever waits may go on by it. */
static void completed(struct cta *cta, unsigned set) {
    for (uint32_t w = 0; w < WARPS; w++)
        learn(cta, w, cta->waits[w] & set);
}

static void synchronise(struct cta *cta, uint32_t warp, unsigned set) {
    if (!set)
        return;
    for (int d = 0; d < DOMAINS; d++)
        if (set >> d & 1)
            join(cta->shared[d], cta->known[warp]);
    cta->known[warp][warp]++;
    learn(cta, warp, set & ~(unsigned)BARRIERS);
    cta->waits[warp] = (uint8_t)set;
}

/* ---- accesses ---- */

static void found(struct probe_race *race, const struct cta *cta, uint32_t site, uint32_t word,
                  uint32_t line) {
    struct site *s = &race->sites[site];
    if (!s->found) {
        s->found = true;
        s->cta = cta->index;
        s->address = 4 * word;
        s->written_line = line;
    }
    for (uint32_t i = 0; i < s->cta_count; i++)
        if (s->ctas[i] == cta->index)
            return;
    uint32_t *grown = realloc(s->ctas, (s->cta_count + 1) * sizeof *grown);
    if (!grown) {
        race->no_memory = true;
        return;
    }
    s->ctas = grown;
    s->ctas[s->cta_count++] = cta->index;
}

/* Whether a warp knows of an access. */
static bool knows(const struct cta *cta, uint32_t warp, const struct access *access) {
    return !access->clock || cta->known[warp][access->who] >= access->clock;
}

static void read_word(struct probe_race *race, struct cta *cta, const struct event *e,
                      uint32_t site, uint32_t word) {
    const struct access *write = &cta->writes[word];
    if (!knows(cta, e->warp, write))
        found(race, cta, site, word, write->line);
    for (uint32_t i = 0; i < cta->operation_count; i++) {
        const struct operation *op = &cta->operations[i];
        if (4 * word + 4 > op->address && 4 * word < op->address + op->bytes)
            found(race, cta, site, word, op->line);
    }
    cta->reads[word] = (struct access){.clock = cta->known[e->warp][e->warp],
                                       .line = e->line,
                                       .who = (uint8_t)e->warp,
                                       .site = (uint16_t)site};
}

/* `who`: the warp, or UNIT for what the warp issued. */
static void write_word(struct probe_race *race, struct cta *cta, const struct event *e,
                       uint32_t word) {
    const struct access *read = &cta->reads[word];
    if (!knows(cta, e->warp, read))
        found(race, cta, read->site, word, e->line);
    cta->writes[word] = (struct access){
        .clock = cta->known[e->warp][e->warp], .line = e->line, .who = (uint8_t)e->warp};
}

/* "shared write 4 400,404,...": each lane's bytes. */
static void access_words(struct probe_race *race, struct cta *cta, const struct event *e) {
    const char *at = e->kind + strlen("shared ");
    const bool write = strncmp(at, "read", 4) != 0;
    const uint32_t site = write ? UINT32_MAX : site_at(race, e->line);
    if (!write && (site == UINT32_MAX || !begins(e->opcode, "ld")))
        return;
    char *end;
    at += strcspn(at, " ");
    const uint32_t bytes = (uint32_t)strtoul(at, &end, 10);
    do {
        const uint64_t address = strtoull(end + 1, &end, 16);
        for (uint64_t word = address / 4; word < WORDS && 4 * word < address + bytes; word++)
            if (write)
                write_word(race, cta, e, (uint32_t)word);
            else
                read_word(race, cta, e, site, (uint32_t)word);
    } while (*end == ',');
}

/* "async.issue 3 shared 400 128" */
static void issue(struct probe_race *race, struct cta *cta, const struct event *e) {
    struct operation op = {.line = e->line};
    if (sscanf(e->kind, "async.issue %" SCNu64 " shared %" SCNx32 " %" SCNu32, &op.id, &op.address,
               &op.bytes) != 3)
        return;
    for (uint32_t word = op.address / 4; word < WORDS && 4 * word < op.address + op.bytes; word++)
        if (!knows(cta, e->warp, &cta->reads[word]))
            found(race, cta, cta->reads[word].site, word, e->line);
    if (cta->operation_count == cta->operation_capacity) {
        const uint32_t wanted = cta->operation_capacity ? 2 * cta->operation_capacity : 16;
        struct operation *grown = realloc(cta->operations, wanted * sizeof *grown);
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
static void complete(struct cta *cta, const struct event *e) {
    const uint64_t id = strtoull(e->kind + strlen("async.complete "), NULL, 10);
    cta->unit_clock++;
    for (uint32_t i = 0; i < cta->operation_count; i++) {
        const struct operation op = cta->operations[i];
        if (op.id != id)
            continue;
        for (uint32_t word = op.address / 4; word < WORDS && 4 * word < op.address + op.bytes;
             word++)
            cta->writes[word] =
                (struct access){.clock = cta->unit_clock, .line = op.line, .who = UNIT};
        cta->operations[i] = cta->operations[--cta->operation_count];
        break;
    }
    for (int d = 0; d < DOMAINS; d++)
        if (1 << d & MBARRIERS)
            cta->shared[d][UNIT] = cta->unit_clock;
    completed(cta, MBARRIERS);
}

/* ---- lines ---- */

/* launch cta warp lanes file:line opcode KIND ...; the file's name may have blanks. */
static bool read_event(const char *text, struct event *e) {
    static const char *const kinds[] = {" insn",           " shared read ", " shared write ",
                                        " shared atomic ", " async.issue ", " async.complete ",
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

static void end_cta(struct probe_race *race, struct cta *cta) {
    free(cta->reads);
    free(cta->operations);
    *cta = race->ctas[--race->cta_count];
}

static void on_line(void *ctx, const char *text) {
    struct probe_race *race = ctx;
    struct event e;
    if (race->no_memory || !read_event(text, &e))
        return;
    struct cta *cta = find_cta(race, e.cta);
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
    if (e.warp >= WARPS)
        return;
    go_on(cta, e.warp);
    if (!strncmp(e.kind, "insn", 4))
        synchronise(cta, e.warp, domains(race, &e));
    else if (!strncmp(e.kind, "shared", 6))
        access_words(race, cta, &e);
    else
        issue(race, cta, &e);
}

/* ---- a launch ---- */

/* Whether the kernel itself loads from memory on that line. */
static bool loads_at(const struct ir_module *ir, uint32_t line) {
    for (uint32_t f = 0; f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++) {
            const struct ir_insn *insn = &ir->funcs[f].insns[i];
            const char *opcode = isa_row((enum isa_form)insn->form)->opcode;
            if (insn->line == line && !strncmp(opcode, "ld", 2))
                return true;
        }
    return false;
}

/* An order, or volatile, makes a load or store a strong one. */
static bool is_strong(const struct ir_insn *insn) {
    return ir_has(insn, QUAL_VOLATILE) || ir_has(insn, QUAL_RELAXED) ||
           ir_has(insn, QUAL_ACQUIRE) || ir_has(insn, QUAL_RELEASE) || ir_has(insn, QUAL_CV);
}

static bool find_strong(struct probe_race *race, const struct ir_module *ir) {
    for (uint32_t f = 0; f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++)
            if (ir->funcs[f].insns[i].line >= race->line_count)
                race->line_count = ir->funcs[f].insns[i].line + 1;
    race->strong = calloc(race->line_count + 1, sizeof *race->strong);
    for (uint32_t f = 0; race->strong && f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++)
            if (is_strong(&ir->funcs[f].insns[i]))
                race->strong[ir->funcs[f].insns[i].line] = true;
    return race->strong;
}

struct probe_race *probe_race_begin(const struct run *run, const struct probe_layout *layout) {
    bool any = false;
    const struct probe_plan *plan = layout->plan;
    struct probe_race *race = calloc(1, sizeof *race);
    if (race)
        race->sites = calloc(plan->site_count + 1, sizeof *race->sites);
    for (uint32_t i = 0; race && race->sites && i < plan->site_count; i++) {
        const struct probe_site *site = &plan->sites[i];
        struct site *s = &race->sites[i];
        s->watched = plan->specs[site->probe].kind == PROBE_SHARED &&
                     layout->regions[site->probe].thread_bytes &&
                     (site->func == layout->func || !plan->ir->funcs[site->func].is_entry);
        s->unclear =
            s->watched && loads_at(plan->ir, plan->ir->funcs[site->func].insns[site->insn].line);
        any = any || s->watched;
    }
    if (!any || !run->machine->set_events || !find_strong(race, plan->ir)) {
        probe_race_free(race);
        return NULL;
    }
    race->layout = layout;
    run->machine->set_events(on_line, race,
                             1u << SILTWIN_SIM_INSN | 1u << SILTWIN_SIM_SHARED |
                                 1u << SILTWIN_SIM_ASYNC_ISSUE | 1u << SILTWIN_SIM_ASYNC_COMPLETE |
                                 1u << SILTWIN_SIM_BARRIER | 1u << SILTWIN_SIM_MBARRIER |
                                 1u << SILTWIN_SIM_CTA_END);
    return race;
}

void probe_race_end(struct probe_race *race, const struct run *run) {
    if (race)
        run->machine->set_events(NULL, NULL, 0);
}

bool probe_race_found(const struct probe_race *race, uint32_t site, uint32_t cta) {
    for (uint32_t i = 0; race && i < race->sites[site].cta_count; i++)
        if (race->sites[site].ctas[i] == cta)
            return true;
    return false;
}

static void report_found(const struct probe_race *race, struct run *run, uint32_t index) {
    const struct site *s = &race->sites[index];
    const struct probe_site *site = &race->layout->plan->sites[index];
    const struct trace_probe *probe = &run->trace->probes.items[site->probe];
    const struct trace_module *module = &run->trace->modules.items[race->layout->launch->module];
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "race: probe %s reads shared memory at %s:%u while the kernel may write it at "
                  "line %u: shared address 0x%x, launch %u, cta %u; nothing orders the two, its "
                  "values are not compared",
                  probe->name, module->file->name,
                  race->layout->plan->ir->funcs[site->func].insns[site->insn].line, s->written_line,
                  s->address, race->layout->launch->number, s->cta);
    run->differs = true;
    run_finding(run, &probe->place, "probe.race", strbuf_text(&text),
                json_pack("{s:i, s:i, s:i, s:i}", "launch", (int)race->layout->launch->number,
                          "cta", (int)s->cta, "address", (int)s->address, "written_line",
                          (int)s->written_line));
    strbuf_free(&text);
}

void probe_race_report(const struct probe_race *race, struct run *run) {
    if (!race)
        return;
    for (uint32_t i = 0; i < race->layout->plan->site_count; i++) {
        const struct probe_site *site = &race->layout->plan->sites[i];
        if (race->sites[i].found)
            report_found(race, run, i);
        else if (race->sites[i].unclear && !run->options->quiet && !run->options->json)
            printf("probe %s: whether it races at line %u is not known, the kernel loads on that "
                   "line too\n",
                   run->trace->probes.items[site->probe].name,
                   race->layout->plan->ir->funcs[site->func].insns[site->insn].line);
    }
    if (race->no_memory)
        message_error("no memory to watch for races with probes");
}

void probe_race_free(struct probe_race *race) {
    if (!race)
        return;
    for (uint32_t i = 0; i < race->cta_count; i++) {
        free(race->ctas[i].reads);
        free(race->ctas[i].operations);
    }
    for (uint32_t i = 0; race->sites && race->layout && i < race->layout->plan->site_count; i++)
        free(race->sites[i].ctas);
    free(race->strong);
    free(race->ctas);
    free(race->sites);
    free(race);
}
