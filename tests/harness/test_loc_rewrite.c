#include <criterion/criterion.h>
#include <string.h>

#include "loc_rewrite.h"
#include "ptx.h"

static const char *const text = ".version 8.0\n.target sm_90\n.address_size 64 // 64 bits\n"
                                ".visible .entry k() {\n"
                                "  .reg .pred %p; .reg .b32 %r;\n"
                                "  mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0;\n"
                                "  @!%p bra DONE;\n"
                                "  @ %p\n  add.u32 %r, %r, 1;\n"
                                "DONE: ret;\n}\n";

static struct ir_module *parse(struct arena *arena, const char *ptx) {
    struct ptx_source source = {"k.ptx", ptx, strlen(ptx)};
    struct ir_module *module = NULL;
    struct strbuf log = {0};
    cr_assert_eq(ptx_parse(arena, &source, &module, &log), STATUS_OK, "%s", strbuf_text(&log));
    strbuf_free(&log);
    return module;
}

Test(loc_rewrite, every_instruction_gets_its_line) {
    struct arena arena = {0};
    struct strbuf out = {0};
    struct ir_module *module = parse(&arena, text);
    cr_assert_eq(loc_rewrite(module, text, strlen(text), "k.ptx", &out), 5);
    const char *got = strbuf_text(&out);
    cr_assert(strstr(got, "  .loc 1 6 3 mov.u32 %r, %tid.x; .loc 1 6 23 setp.eq.u32"), "%s", got);
    cr_assert(strstr(got, "  .loc 1 7 8 @!%p bra DONE;"), "%s", got);
    cr_assert(strstr(got, "  .loc 1 9 3 @ %p\n  add.u32"), "%s", got);
    cr_assert(strstr(got, "DONE: .loc 1 10 7 ret;"), "%s", got);
    cr_assert(strstr(got, "\n.file 1 \"k.ptx\"\n"), "%s", got);
    /* The same instructions on the same lines, now with their places. */
    struct ir_module *again = parse(&arena, got);
    cr_assert_eq(again->funcs[0].insn_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(again->funcs[0].insns[i].line, module->funcs[0].insns[i].line);
        cr_assert_eq(again->funcs[0].insns[i].loc_line, module->funcs[0].insns[i].line);
    }
    strbuf_free(&out);
    arena_free(&arena);
}

Test(loc_rewrite, text_with_places_of_its_own_stays) {
    struct arena arena = {0};
    struct strbuf with = {0}, out = {0};
    strbuf_printf(&with, "%s.file 1 \"k.py\"\n", text);
    cr_assert_eq(loc_rewrite(parse(&arena, with.text), with.text, with.length, "k.ptx", &out), 0);
    cr_assert_str_eq(strbuf_text(&out), strbuf_text(&with));
    strbuf_free(&with);
    strbuf_free(&out);
    arena_free(&arena);
}
