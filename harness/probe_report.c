/* From places of a probed text to places of the text before. See probe_report.h. */
#include "probe_report.h"

#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* The instructions of a module in order; NULL behind the last. */
static const struct ir_insn *nth_insn(const struct ir_module *ir, uint32_t *func, uint32_t *index) {
    while (*func < ir->func_count && *index >= ir->funcs[*func].insn_count) {
        ++*func;
        *index = 0;
    }
    return *func < ir->func_count ? &ir->funcs[*func].insns[(*index)++] : NULL;
}

static const struct ir_insn *insn_at(const struct ir_module *ir, uint32_t line, uint32_t column) {
    const struct ir_insn *insn;
    uint32_t func = 0, index = 0;
    while ((insn = nth_insn(ir, &func, &index)))
        if (insn->line == line && insn->column == column)
            break;
    return insn;
}

/* The text of an instruction up to its semicolon. */
static const char *text_of(const struct ir_module *ir, const struct ir_insn *insn, size_t *length) {
    const char *at = ir->text, *end = ir->text + ir->text_length;
    for (uint32_t line = 1; line < insn->line && at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    at += (size_t)(end - at) < insn->column - 1 ? (size_t)(end - at) : insn->column - 1;
    const char *stop = memchr(at, ';', (size_t)(end - at));
    *length = (size_t)((stop ? stop : end) - at);
    return at;
}

static bool same_text(const struct ir_module *a, const struct ir_insn *x, const struct ir_module *b,
                      const struct ir_insn *y) {
    size_t length_x, length_y;
    const char *text_x = text_of(a, x, &length_x), *text_y = text_of(b, y, &length_y);
    return length_x == length_y && !memcmp(text_x, text_y, length_x);
}

uint32_t probe_report_column(const struct trace_module *module, uint32_t line, uint32_t column) {
    const struct ir_insn *loaded, *insn, *alike = NULL;
    uint32_t func = 0, index = 0, count = 0;
    if (!module->plan || !(loaded = insn_at(module->ir, line, column)))
        return column;
    while ((insn = nth_insn(module->plan->ir, &func, &index))) {
        if (insn->line != line || insn->form != loaded->form)
            continue;
        if (same_text(module->ir, loaded, module->plan->ir, insn))
            return insn->column;
        alike = insn; /* the rewriter gives a register to what was sunk with `_` */
        count++;
    }
    return count == 1 ? alike->column : column;
}

/* "FILE:LINE:COLUMN:" of a probed module at the beginning of `text`; the bytes of it, else 0. */
static size_t read_place(const struct trace *trace, const char *text,
                         const struct trace_module **module, uint32_t *line, uint32_t *column) {
    for (uint32_t i = 0; i < trace->modules.count; i++) {
        const struct trace_module *m = &trace->modules.items[i];
        const size_t length = strlen(m->file->shown);
        char *end;
        if (!m->plan || strncmp(text, m->file->shown, length) || text[length] != ':')
            continue;
        *module = m;
        *line = (uint32_t)strtoul(text + length + 1, &end, 10);
        if (*end != ':')
            continue;
        *column = (uint32_t)strtoul(end + 1, &end, 10);
        if (*end == ':')
            return (size_t)(end + 1 - text);
    }
    return 0;
}

void probe_report(const struct trace *trace, const char *report, struct strbuf *out) {
    while (*report) {
        const struct trace_module *module;
        uint32_t line, column;
        const size_t place = read_place(trace, report, &module, &line, &column);
        const size_t length = strcspn(report, "\n");
        const uint32_t own = place ? probe_report_column(module, line, column) : 0;
        if (place)
            strbuf_printf(out, "%s:%u:%u:", module->file->shown, line, own);
        strbuf_append(out, report + place, length - place);
        report += length;
        if (!*report)
            break;
        strbuf_puts(out, "\n");
        report++;
        if (!place || own == column)
            continue;
        struct strbuf shown = {0};
        ptx_print_line(module->ir, line, column, &shown);
        if (!strncmp(report, strbuf_text(&shown), shown.length)) {
            ptx_print_line(module->plan->ir, line, own, out);
            report += shown.length;
        }
        strbuf_free(&shown);
    }
}
