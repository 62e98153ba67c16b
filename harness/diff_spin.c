/* Finds loops of polls. See diff_spin.h. */
#include "diff_spin.h"

#include <string.h>

#include "ptx.h"

static const char *opcode_of(const struct ir_insn *insn) {
    return isa_row((enum isa_form)insn->form)->opcode;
}

static bool is_poll(const struct ir_insn *insn) {
    return !strncmp(opcode_of(insn), "mbarrier.test_wait", 18) ||
           !strncmp(opcode_of(insn), "mbarrier.try_wait", 17);
}

/* What a waiting loop may run beside the poll: nothing that another thread or unit could notice. */
static bool is_idle(const struct ir_insn *insn) {
    static const char *const opcodes[] = {"bra", "nanosleep", "mov", "setp", "selp", "add", "sub",
                                          "and", "or",        "xor", "not",  "shl",  "shr"};
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (!strcmp(opcode_of(insn), opcodes[i]))
            return true;
    return false;
}

/* First instruction of the loop that instruction `last` closes when that is a loop of polls, -1
 * otherwise. */
static int64_t loop_of_polls(const struct ir_func *func, uint32_t last) {
    const struct ir_insn *branch = &func->insns[last];
    bool polls = false;
    if (strcmp(opcode_of(branch), "bra") || branch->operand_count != 1 ||
        branch->operands[0].kind != IR_LABEL || branch->operands[0].index < 0 ||
        (uint32_t)branch->operands[0].index >= last)
        return -1;
    for (uint32_t i = (uint32_t)branch->operands[0].index; i < last; i++) {
        polls = polls || is_poll(&func->insns[i]);
        if (!is_poll(&func->insns[i]) && !is_idle(&func->insns[i]))
            return -1;
    }
    return polls ? branch->operands[0].index : -1;
}

/* The places of this instruction. */
static void mark(const char *file, const struct ir_func *func, const struct ir_insn *insn,
                 struct stream *stream) {
    const char *opcode = opcode_of(insn);
    for (uint32_t i = 0; i < stream->place_count; i++) {
        struct stream_place *place = &stream->places[i];
        if (place->line == insn->line && !strcmp(place->kind, "event") &&
            !strcmp(place->file, file) && !strcmp(place->entry, func->name) &&
            !strncmp(place->text, opcode, strlen(opcode)))
            place->spin = true;
    }
}

static void mark_file(const struct record_file *file, struct stream *stream) {
    struct arena arena = {0};
    struct strbuf log = {0};
    struct ir_module *ir = NULL;
    const struct ptx_source source = {file->name, (const char *)file->bytes, file->size};
    const bool parsed = ptx_parse(&arena, &source, &ir, &log) == STATUS_OK;
    for (uint32_t f = 0; parsed && f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++) {
            const int64_t first = loop_of_polls(&ir->funcs[f], i);
            for (int64_t k = first; first >= 0 && k <= (int64_t)i; k++)
                if (!is_poll(&ir->funcs[f].insns[k]))
                    mark(file->name, &ir->funcs[f], &ir->funcs[f].insns[k], stream);
        }
    strbuf_free(&log);
    arena_free(&arena);
}

void diff_spin_mark(const struct record *record, struct stream *stream) {
    for (size_t i = 0; i < record->file_count; i++) {
        bool named = false;
        for (uint32_t k = 0; k < stream->place_count && !named; k++)
            named = !strcmp(stream->places[k].file, record->files[i].name);
        if (named && record->files[i].bytes)
            mark_file(&record->files[i], stream);
    }
}
