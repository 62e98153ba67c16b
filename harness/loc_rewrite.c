/* Line information for PTX that has none: instructions are found by the positions that the parser
 * kept, a guard in front of the mnemonic belongs to the instruction. */
#include "loc_rewrite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_place.h"

struct place {
    size_t offset; /* of the instruction, guard included */
    uint32_t line, column;
};

static int by_offset(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Offsets of the beginnings of lines; `*count` of them. */
static size_t *line_starts(const char *text, size_t length, size_t *count) {
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    size_t *starts = malloc(lines * sizeof *starts);
    *count = 0;
    for (size_t i = 0; starts && i < length; i++)
        if (i == 0 || text[i - 1] == '\n')
            starts[(*count)++] = i;
    return starts;
}

static size_t find_places(const struct ir_module *ir, const char *text, size_t length,
                          struct place *places) {
    size_t lines, count = 0;
    size_t *starts = line_starts(text, length, &lines);
    for (uint32_t f = 0; starts && f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++) {
            const struct ir_insn *insn = &ir->funcs[f].insns[i];
            if (insn->line == 0 || insn->line > lines)
                continue;
            const size_t at = starts[insn->line - 1] + insn->column - 1;
            if (at < length)
                places[count++] = (struct place){ptx_guard_at(text, at), insn->line, insn->column};
        }
    free(starts);
    qsort(places, count, sizeof *places, by_offset);
    return count;
}

size_t loc_rewrite(const struct ir_module *ir, const char *text, size_t length, const char *file,
                   struct strbuf *out) {
    size_t total = 0;
    for (uint32_t f = 0; f < ir->func_count; f++)
        total += ir->funcs[f].insn_count;
    struct place *places = malloc((total ? total : 1) * sizeof *places);
    const size_t count = places && ir->file_count == 0 ? find_places(ir, text, length, places) : 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        strbuf_append(out, text + at, places[i].offset - at);
        strbuf_printf(out, ".loc 1 %u %u ", places[i].line, places[i].column);
        at = places[i].offset;
    }
    strbuf_append(out, text + at, length - at);
    if (count > 0)
        strbuf_printf(out, "\n.file 1 \"%s\"\n", file);
    free(places);
    return count;
}
