/* From probes to the instructions that they watch, and the modules' text with their code put in. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "probe_layout.h"
#include "ptx.h"
#include "trace_statement.h"

struct sites {
    struct probe_site *items;
    uint32_t count, capacity;
};

struct finder {
    struct trace_reader *r;
    struct trace_module *module;
    uint32_t module_index;
    struct sites rewritten, sim;
    bool *found; /* one a probe */
};

static bool add(struct finder *f, uint32_t probe, uint32_t func, uint32_t insn) {
    struct sites *sites = f->r->trace->probes.items[probe].spec.sim ? &f->sim : &f->rewritten;
    if (sites->count == sites->capacity) {
        const uint32_t wanted = sites->capacity ? 2 * sites->capacity : 64;
        struct probe_site *grown = arena_array(&f->r->trace->arena, wanted, sizeof *grown);
        if (!grown)
            return scan_fail(f->r, "no memory left");
        if (sites->count)
            memcpy(grown, sites->items, sites->count * sizeof *grown);
        sites->items = grown;
        sites->capacity = wanted;
    }
    sites->items[sites->count++] = (struct probe_site){.probe = probe, .func = func, .insn = insn};
    f->found[probe] = true;
    return true;
}

/* Start of a line of the module's text. */
static const char *line_text(const struct trace_module *module, uint32_t line) {
    const char *at = module->loaded, *end = module->loaded + module->loaded_bytes;
    while (--line && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return at;
}

/* The opcode of the row, or the words as written, up to a blank. */
static bool matches(const struct trace_module *module, const struct ir_insn *insn,
                    const struct trace_probe *probe) {
    char written[128];
    const char *text = line_text(module, insn->line) + insn->column - 1;
    const char *opcode = isa_row((enum isa_form)insn->form)->opcode;
    size_t length = 0;
    while (length < sizeof written - 1 && text[length] && !isspace((unsigned char)text[length]) &&
           text[length] != ';')
        length++;
    memcpy(written, text, length);
    written[length] = '\0';
    for (uint32_t i = 0; i < probe->pattern_count; i++)
        if (!fnmatch(probe->patterns[i], opcode, 0) || !fnmatch(probe->patterns[i], written, 0))
            return true;
    return !probe->pattern_count;
}

static bool ends_with(const char *text, const char *end) {
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end) && (a == b || text[a - b - 1] == '/');
}

/* Line and column of the nth place where `name` stands as a label; line 0: there is none. */
static void find_label(const struct trace_module *module, const char *name, uint32_t nth,
                       uint32_t *line, uint32_t *column) {
    const char *text = module->loaded, *start = text;
    const size_t length = strlen(name);
    *line = 0;
    for (uint32_t at = 1; *start; at++) {
        const char *end = strchrnul(start, '\n'), *comment = strstr(start, "//");
        const char *stop = comment && comment < end ? comment : end;
        for (const char *p = start; p + length < stop; p++) {
            const bool begins = p == start || !(isalnum((unsigned char)p[-1]) || p[-1] == '_' ||
                                                p[-1] == '$' || p[-1] == '%' || p[-1] == ':');
            if (!begins || memcmp(p, name, length))
                continue;
            const char *colon = p + length;
            while (colon < stop && *colon == ' ')
                colon++;
            if (colon < stop && *colon == ':' && colon[1] != ':' && --nth == 0) {
                *line = at;
                *column = (uint32_t)(p - start) + 1;
                return;
            }
        }
        start = *end ? end + 1 : end;
    }
}

static bool at_or_behind(const struct ir_insn *insn, uint32_t line, uint32_t column) {
    return insn->line > line || (insn->line == line && insn->column >= column);
}

/* Whether instruction i of the function is the probe's place. */
static bool is_place(const struct finder *f, const struct trace_probe *probe,
                     const struct ir_func *func, uint32_t i, uint32_t label_line,
                     uint32_t label_column) {
    const struct ir_insn *insn = &func->insns[i], *before = i ? insn - 1 : NULL;
    const struct trace_at *at = &probe->at;
    switch (at->kind) {
    case PLACE_NONE: return true;
    case PLACE_LINE:
        return trace_find_module(f->r->trace, at->name) == (int64_t)f->module_index &&
               insn->line == at->number &&
               (probe->spec.kind == PROBE_EVENT || !before || before->line != at->number);
    case PLACE_LABEL:
        return label_line && at_or_behind(insn, label_line, label_column) &&
               (!before || !at_or_behind(before, label_line, label_column)) &&
               at_or_behind(insn, func->line, func->column) &&
               (func->line < label_line ||
                (func->line == label_line && func->column < label_column));
    case PLACE_SOURCE:
        return insn->loc_file >= 0 && insn->loc_line == at->number &&
               ends_with(f->module->ir->files[insn->loc_file], at->name) &&
               (probe->spec.kind == PROBE_EVENT || !before || before->loc_line != at->number ||
                before->loc_file != insn->loc_file);
    }
    return false;
}

static bool find_in_func(struct finder *f, uint32_t index, uint32_t p) {
    const struct trace_probe *probe = &f->r->trace->probes.items[p];
    const struct ir_func *func = &f->module->ir->funcs[index];
    uint32_t line = 0, column = 0;
    if (probe->at.kind == PLACE_LABEL) {
        find_label(f->module, probe->at.name, probe->at.number, &line, &column);
        /* The label is of this function when no other one begins between them. */
        for (uint32_t k = 0; line && k < f->module->ir->func_count; k++) {
            const struct ir_func *other = &f->module->ir->funcs[k];
            if (other->is_defined && other->line > func->line && other->line <= line)
                line = 0;
        }
    }
    for (uint32_t i = 0; i < func->insn_count; i++)
        if (is_place(f, probe, func, i, line, column) &&
            (probe->spec.kind != PROBE_EVENT || matches(f->module, &func->insns[i], probe)) &&
            !add(f, p, index, i))
            return false;
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct probe_site *x = a, *y = b;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->insn != y->insn)
        return x->insn < y->insn ? -1 : 1;
    return x->probe < y->probe ? -1 : x->probe > y->probe;
}

static bool find_sites(struct finder *f) {
    const struct trace *trace = f->r->trace;
    for (uint32_t p = 0; p < trace->probes.count; p++) {
        const struct trace_probe *probe = &trace->probes.items[p];
        if (probe->module >= 0 && probe->module != (int64_t)f->module_index)
            continue;
        for (uint32_t i = 0; i < f->module->ir->func_count; i++)
            if (!find_in_func(f, i, p))
                return false;
    }
    for (struct sites *sites = &f->rewritten; sites;
         sites = sites == &f->rewritten ? &f->sim : NULL)
        if (sites->count)
            qsort(sites->items, sites->count, sizeof *sites->items, by_place);
    return true;
}

/* The rewritten text becomes the one that is loaded; launches get the entries of its module. */
static bool load_rewritten(struct trace_reader *r, struct trace_module *module, uint32_t index,
                           const struct trace_place *place) {
    struct strbuf text = {0}, log = {0};
    const enum status done =
        probe_rewrite(module->plan, module->loaded, module->loaded_bytes, &text);
    char *kept = done == STATUS_OK ? arena_strndup(&r->trace->arena, text.text, text.length) : NULL;
    const struct ptx_source source = {module->file->shown, kept, text.length};
    struct ir_module *ir = NULL;
    if (done == STATUS_INVALID)
        scan_fail_at(
            r, place, EXIT_USAGE,
            "module %s cannot be probed: it has names that begin with %%sw_ or " PROBE_SYMBOL,
            module->name);
    else if (!kept)
        scan_fail(r, "no memory left");
    else if (ptx_parse(&r->trace->arena, &source, &ir, &log) != STATUS_OK)
        scan_fail_at(r, place, EXIT_NO_VERDICT, "module %s with its probes is not loaded:\n%s",
                     module->name, strbuf_text(&log));
    for (uint32_t i = 0; ir && i < r->trace->launches.count; i++) {
        struct trace_launch *launch = &r->trace->launches.items[i];
        if (launch->module == index)
            launch->entry = &ir->funcs[ir_find_func(ir, launch->entry->name)];
    }
    if (ir) {
        module->loaded = kept;
        module->loaded_bytes = text.length;
        module->ir = ir;
    }
    strbuf_free(&text);
    strbuf_free(&log);
    return ir;
}

/* What the sites record, NULL with the error said. */
static struct probe_plan *make_plan(struct finder *f, const struct sites *sites,
                                    const struct probe_spec *specs) {
    struct trace *trace = f->r->trace;
    struct strbuf why = {0};
    uint32_t bad = 0;
    struct probe_plan *plan = arena_alloc(&trace->arena, sizeof *plan, _Alignof(struct probe_plan));
    if (!plan) {
        scan_fail(f->r, "no memory left");
        return NULL;
    }
    *plan = (struct probe_plan){.ir = f->module->ir,
                                .specs = specs,
                                .spec_count = trace->probes.count,
                                .sites = sites->items,
                                .site_count = sites->count};
    const enum status status = probe_plan_make(&trace->arena, plan, &bad, &why);
    if (status != STATUS_OK)
        scan_fail_at(f->r, &trace->probes.items[sites->items[bad].probe].place, EXIT_USAGE, "%s",
                     why.length ? strbuf_text(&why) : "no memory left");
    strbuf_free(&why);
    return status == STATUS_OK ? plan : NULL;
}

static bool is_own_name(const char *name) {
    if (strncmp(name, "%sw", 3) != 0)
        return false;
    return name[3 + strspn(name + 3, "0123456789")] == '_';
}

/* Whether the instruction names a register of a probe's code. */
static bool names_own(const struct ir_func *func, const struct ir_operand *op) {
    if (op->kind == IR_REG && is_own_name(func->regs[op->index].name))
        return true;
    for (unsigned i = 0; i < op->elem_count; i++)
        if (names_own(func, &op->elems[i]))
            return true;
    return false;
}

static bool is_of_probe(const struct ir_func *func, const struct ir_insn *insn) {
    if (insn->guard >= 0 && is_own_name(func->regs[insn->guard].name))
        return true;
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (names_own(func, &insn->operands[i]))
            return true;
    return false;
}

/* Where instructions stand in the text that is loaded: a probe's code may stand before them on
 * their line. Taken from the last one up: the only instruction of a probe that names no register of
 * its own, tcgen05.wait::ld, stands before the probed one. */
static void find_columns(const struct ir_func *before, const struct ir_func *after,
                         uint32_t *columns) {
    uint32_t k = after->insn_count;
    for (uint32_t i = before->insn_count; i-- > 0;) {
        const struct ir_insn *insn = &before->insns[i];
        while (k > 0 &&
               (after->insns[k - 1].line != insn->line || after->insns[k - 1].form != insn->form ||
                is_of_probe(after, &after->insns[k - 1])))
            k--;
        columns[i] = k > 0 ? after->insns[--k].column : 0;
    }
}

static bool watch_module(struct finder *f, const struct probe_plan *plan) {
    struct arena *arena = &f->r->trace->arena;
    uint32_t *columns = arena_array(arena, plan->site_count, sizeof *columns), *all = NULL;
    for (uint32_t i = 0; columns && i < plan->site_count; i++) {
        const uint32_t func = plan->sites[i].func;
        const struct ir_func *before = &plan->ir->funcs[func];
        if (i == 0 || plan->sites[i - 1].func != func) {
            all = arena_array(arena, before->insn_count, sizeof *all);
            if (!all)
                return scan_fail(f->r, "no memory left");
            find_columns(before, &f->module->ir->funcs[func], all);
        }
        columns[i] = all[plan->sites[i].insn];
    }
    f->module->sim_plan = plan;
    f->module->sim_columns = columns;
    return columns || scan_fail(f->r, "no memory left");
}

static bool probe_module(struct finder *f, const struct probe_spec *specs) {
    const struct probe_plan *sim = NULL;
    if (f->sim.count && !(sim = make_plan(f, &f->sim, specs)))
        return false;
    if (f->rewritten.count) {
        f->module->plan = make_plan(f, &f->rewritten, specs);
        const uint32_t first = f->rewritten.items[0].probe;
        if (!f->module->plan || !load_rewritten(f->r, f->module, f->module_index,
                                                &f->r->trace->probes.items[first].place))
            return false;
    }
    return !sim || watch_module(f, sim);
}

/* The instruction lines nearest to a line that has none. */
static bool no_place(struct trace_reader *r, const struct trace_probe *probe) {
    uint32_t below = 0, above = 0;
    const int64_t module = trace_find_module(r->trace, probe->at.name ? probe->at.name : "");
    if (probe->at.kind != PLACE_LINE || probe->spec.kind == PROBE_EVENT || module < 0)
        return scan_fail_at(r, &probe->place, EXIT_USAGE, "no instruction fits probe %s",
                            probe->name);
    const struct ir_module *ir = r->trace->modules.items[module].ir;
    for (uint32_t f = 0; f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++) {
            const uint32_t line = ir->funcs[f].insns[i].line;
            if (line < probe->at.number && line > below)
                below = line;
            if (line > probe->at.number && (!above || line < above))
                above = line;
        }
    char near[64];
    if (below && above)
        snprintf(near, sizeof near, "; the nearest are at lines %u and %u", below, above);
    else
        snprintf(near, sizeof near, "; the nearest is at line %u", below ? below : above);
    return scan_fail_at(r, &probe->place, EXIT_USAGE, "no instruction begins at %s:%u%s",
                        probe->at.name, probe->at.number, below || above ? near : "");
}

static bool check_sizes(struct trace_reader *r) {
    for (uint32_t i = 0; i < r->trace->launches.count; i++) {
        const struct trace_launch *launch = &r->trace->launches.items[i];
        const struct trace_module *module = &r->trace->modules.items[launch->module];
        struct probe_layout layout;
        for (int sim = 0; sim < 2; sim++) {
            probe_layout_make(&layout, r->trace, launch, sim ? module->sim_plan : module->plan);
            if (layout.bytes > PROBE_LAYOUT_MAX_BYTES)
                return scan_fail_at(r, &r->trace->probes.items[layout.largest].place, EXIT_USAGE,
                                    "the probes of launch %u need %.0f MiB, more than %u MiB: "
                                    "watch fewer CTAs, warps or lanes, or keep fewer hits",
                                    launch->number, (double)layout.bytes / 1048576,
                                    PROBE_LAYOUT_MAX_BYTES >> 20);
        }
    }
    return true;
}

bool trace_apply_probes(struct trace_reader *r) {
    struct trace *trace = r->trace;
    const uint32_t count = trace->probes.count;
    if (!count || r->options->no_probes)
        return true;
    struct probe_spec *specs = arena_array(&trace->arena, count, sizeof *specs);
    bool *found = arena_array(&trace->arena, count, sizeof *found);
    if (!specs || !found)
        return scan_fail(r, "no memory left");
    for (uint32_t p = 0; p < count; p++)
        specs[p] = trace->probes.items[p].spec;
    for (uint32_t i = 0; i < trace->modules.count; i++) {
        struct finder f = {
            .r = r, .module = &trace->modules.items[i], .module_index = i, .found = found};
        if (!find_sites(&f) || !probe_module(&f, specs))
            return false;
    }
    for (uint32_t p = 0; p < count; p++)
        if (!found[p])
            return no_place(r, &trace->probes.items[p]);
    return check_sizes(r);
}
