/* Watches a launch for races with probes of memory, and reports them; how they are found is in
 * probe_race_events.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "probe_race_state.h"

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

static void find_ranges(struct probe_race *race, const struct run *run,
                        const struct probe_layout *layout) {
    const struct probe_plan *plan = layout->plan;
    race->silent = true;
    for (uint32_t f = 0; f < plan->ir->func_count; f++)
        if (f == layout->func || !plan->ir->funcs[f].is_entry)
            race->silent = race->silent && !plan->given[f].between_ctas;
    for (uint32_t p = 0; p < plan->spec_count; p++) {
        const struct probe_spec *spec = &plan->specs[p];
        const struct trace_probe *probe = &run->trace->probes.items[p];
        const struct trace_address at = {OBJECT_BUFFER, probe->buffer,
                                         (int64_t)probe->global_offset_bytes};
        struct race_range *range = &race->ranges[p];
        const uint32_t words = (spec->end_bytes - spec->begin_bytes + 3) / 4;
        if (spec->kind != PROBE_GLOBAL || !layout->regions[p].thread_bytes)
            continue;
        range->reads = calloc(2 * (size_t)words, sizeof *range->reads);
        if (!range->reads)
            continue; /* then its sites are not watched */
        range->writes = range->reads + words;
        range->address = run_memory_address(&run->memory, &at) + spec->begin_bytes;
        range->words = words;
        race->any_range = true;
    }
}

struct probe_race *probe_race_begin(const struct run *run, const struct probe_layout *layout,
                                    bool told, struct probe_race *other) {
    bool any = false;
    const struct probe_plan *plan = layout->plan;
    struct probe_race *race = calloc(1, sizeof *race);
    if (race)
        race->sites = calloc(plan->site_count + 1, sizeof *race->sites);
    if (race && race->sites)
        find_ranges(race, run, layout);
    for (uint32_t i = 0; race && race->sites && i < plan->site_count; i++) {
        const struct probe_site *site = &plan->sites[i];
        struct race_site *s = &race->sites[i];
        const enum probe_kind kind = plan->specs[site->probe].kind;
        s->watched =
            (kind == PROBE_SHARED || (kind == PROBE_GLOBAL && race->ranges[site->probe].words)) &&
            layout->regions[site->probe].thread_bytes &&
            (site->func == layout->func || !plan->ir->funcs[site->func].is_entry);
        s->unclear = s->watched && !told &&
                     loads_at(plan->ir, plan->ir->funcs[site->func].insns[site->insn].line);
        any = any || s->watched;
    }
    if (!any || !run->machine->set_events || !find_strong(race, plan->ir)) {
        probe_race_free(race);
        return NULL;
    }
    race->layout = layout;
    race->told = told;
    race->other = other;
    const bool any_range = race->any_range || (other && other->any_range);
    run->machine->set_events(probe_race_line, race,
                             1u << SILTWIN_SIM_INSN | 1u << SILTWIN_SIM_SHARED |
                                 (any_range ? 1u << SILTWIN_SIM_GLOBAL : 0) |
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
    const struct race_site *s = &race->sites[index];
    const struct probe_site *site = &race->layout->plan->sites[index];
    const struct trace_probe *probe = &run->trace->probes.items[site->probe];
    const struct trace_module *module = &run->trace->modules.items[race->layout->launch->module];
    struct strbuf text = {0};
    const bool shared = race->layout->plan->specs[site->probe].kind == PROBE_SHARED;
    const uint64_t address =
        shared ? s->address
               : s->address - race->ranges[site->probe].address + probe->global_offset_bytes;
    strbuf_printf(
        &text,
        "race: probe %s reads memory at %s:%u that the kernel may write at the same time at "
        "line %u: ",
        probe->name, module->file->name,
        race->layout->plan->ir->funcs[site->func].insns[site->insn].line, s->written_line);
    if (shared)
        strbuf_printf(&text, "shared address 0x%" PRIx64, address);
    else
        strbuf_printf(&text, "&%s+%" PRIu64, run->trace->buffers.items[probe->buffer].name,
                      address);
    strbuf_printf(&text, ", launch %u, cta %u; nothing orders the two, its values are not compared",
                  race->layout->launch->number, s->cta);
    run->differs = true;
    run_finding(run, &probe->place, "probe.race", strbuf_text(&text),
                json_pack("{s:i, s:i, s:i, s:i}", "launch", (int)race->layout->launch->number,
                          "cta", (int)s->cta, "address", (int)address, "written_line",
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
    for (uint32_t p = 0; p < PROBE_MAX_PROBES; p++)
        free(race->ranges[p].reads);
    free(race->strong);
    free(race->ctas);
    free(race->sites);
    free(race);
}
