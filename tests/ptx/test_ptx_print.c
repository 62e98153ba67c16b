#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ptx.h"

/* The printed form of every statement of ptxas_forms.txt that the parser accepts parses to the same
 * instruction again. */

static const char head[] =
    ".version 9.0\n.target %s\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 dsm[];\n"
    ".visible .entry k(.param .align 64 .b8 tmap[128], .param .u64 gp, .param .u32 n)\n"
    ".reqntid 128\n{\n"
    ".reg .pred p, q, pd;\n.reg .b16 h<16>;\n.reg .b32 r<300>, sa, sb, ra;\n.reg .f32 f<300>;\n"
    ".reg .b64 d<32>, g, gen, st, tm, pol, desca, descb;\n.reg .f64 fd<8>;\n.reg .b128 x<4>;\n"
    ".shared .align 1024 .b8 sm[2048];\n.shared .align 8 .b64 bar;\n";

static struct ir_module *parse(struct arena *arena, const char *target, const char *statements,
                               struct strbuf *log) {
    struct strbuf text = {0};
    struct ir_module *module = NULL;
    strbuf_printf(&text, head, target);
    strbuf_printf(&text, "%s\n}\n", statements);
    struct ptx_source source = {"print.ptx", text.text, text.length};
    ptx_parse(arena, &source, &module, log);
    strbuf_free(&text);
    return module;
}

static bool same_operand(const struct ir_operand *a, const struct ir_operand *b) {
    if (a->kind != b->kind || a->negated != b->negated || a->elem_count != b->elem_count ||
        a->index != b->index || a->imm != b->imm ||
        (a->kind == IR_SREG && a->component != b->component))
        return false;
    for (unsigned i = 0; i < a->elem_count; i++)
        if (!same_operand(&a->elems[i], &b->elems[i]))
            return false;
    return true;
}

static bool same_insn(const struct ir_insn *a, const struct ir_insn *b) {
    if (a->form != b->form || a->type_count != b->type_count || a->qual_count != b->qual_count ||
        a->guard != b->guard || a->guard_negated != b->guard_negated ||
        a->operand_count != b->operand_count || memcmp(a->types, b->types, sizeof a->types) != 0 ||
        memcmp(a->quals, b->quals, sizeof a->quals) != 0)
        return false;
    for (unsigned i = 0; i < a->operand_count; i++)
        if (!same_operand(&a->operands[i], &b->operands[i]))
            return false;
    return true;
}

/* Instructions compared. */
static unsigned round_trip(const char *target, const char *statement) {
    struct arena arena = {0}, again_arena = {0};
    struct strbuf log = {0}, printed = {0}, closed = {0};
    strbuf_printf(&closed, "%s;", statement);
    unsigned compared = 0;
    struct ir_module *module = parse(&arena, target, closed.text, &log);
    if (module != NULL) {
        const struct ir_func *func = &module->funcs[0];
        for (uint32_t i = 0; i < func->insn_count; i++) {
            strbuf_printf(&printed, "$I%u: ", i);
            ptx_print_insn(module, func, &func->insns[i], &printed);
            strbuf_puts(&printed, "\n");
        }
        strbuf_printf(&printed, "$I%u:", func->insn_count);
        struct ir_module *again = parse(&again_arena, target, printed.text, &log);
        cr_assert_not_null(again, "%s\n%s\n%s", statement, printed.text, strbuf_text(&log));
        cr_assert_eq(again->funcs[0].insn_count, func->insn_count);
        for (uint32_t i = 0; i < func->insn_count; i++, compared++)
            cr_expect(same_insn(&func->insns[i], &again->funcs[0].insns[i]), "%s\n%s", statement,
                      printed.text);
    }
    strbuf_free(&log);
    strbuf_free(&printed);
    strbuf_free(&closed);
    arena_free(&arena);
    arena_free(&again_arena);
    return compared;
}

Test(ptx_print, what_is_printed_parses_to_the_same) {
    char line[2000], path[500];
    unsigned compared = 0;
    snprintf(path, sizeof path, "%s/tests/ptx/ptxas_forms.txt", SILTWIN_ROOT);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        /* declarations of its own, or no ';' to add: not for this test */
        if (line[0] == '#' || line[0] == 0 || line[3] == '{' || line[3] == '.' ||
            line[strlen(line) - 1] == ':')
            continue;
        if (line[1] == 'Y')
            compared += round_trip("sm_100a", line + 3);
        else if (line[0] == 'Y')
            compared += round_trip("sm_90a", line + 3);
    }
    fclose(file);
    printf("%u instructions printed and parsed again\n", compared);
    cr_expect_geq(compared, 600);
}

Test(ptx_print, lines_with_a_caret) {
    struct arena arena = {0};
    struct strbuf log = {0}, out = {0};
    struct ir_module *module = parse(&arena, "sm_90a", "\tret;", &log);
    cr_assert_not_null(module);
    ptx_print_line(module, 2, 9, &out);
    cr_expect_str_eq(out.text, "    .target sm_90a\n            ^\n");
    strbuf_free(&out);
    strbuf_free(&log);
    arena_free(&arena);
}
