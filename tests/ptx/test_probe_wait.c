/* Which tcgen05.ld are under way at a place: those with a path to it that has no wait. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "probe_wait.h"
#include "ptx.h"

#define LD(r) "tcgen05.ld.sync.aligned.32x32b.x1.b32 {" r "}, [%a];\n"
#define WAIT  "tcgen05.wait::ld.sync.aligned;\n"

/* Lines are those of the body, from 1. */
static const struct {
    const char *body;
    uint32_t count, lines[3];
} rows[] = {
    {"", 0, {0}},
    {LD("%r0"), 1, {1}},
    {LD("%r0") LD("%r1"), 2, {1, 2}},
    {LD("%r0") WAIT, 0, {0}},
    {LD("%r0") WAIT LD("%r1"), 1, {3}},
    {LD("%r0") "tcgen05.wait::st.sync.aligned;\n", 1, {1}},
    /* One arm waits. */
    {LD("%r0") "@%p bra B;\n" WAIT "B:\n", 1, {1}},
    {LD("%r0") "@%p bra B;\n" WAIT "bra C;\nB:\n" WAIT "C:\n", 0, {0}},
    /* Around a loop. */
    {"L:\n" WAIT "mov.b32 %r1, %r0;\n" LD("%r0") "@%p bra L;\n", 1, {4}},
    {"L: @%q bra E;\n" LD("%r0") "bra L;\nE:\n", 1, {2}},
    /* Behind what never comes here. */
    {LD("%r0") "ret;\nB:\n", 0, {0}},
};

Test(probe_wait, loads_without_a_wait_on_some_path) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        struct arena arena = {0};
        struct strbuf log = {0};
        struct ir_module *ir = NULL;
        uint32_t loads[3];
        snprintf(text, sizeof text,
                 ".version 8.6 .target sm_100a .address_size 64 .visible .entry k() { .reg .pred "
                 "%%p, %%q; .reg .b32 %%a, %%r<4>;\n%sbar.sync 0;\nret;\n}\n",
                 rows[i].body);
        const struct ptx_source source = {"k.ptx", text, strlen(text)};
        cr_assert_eq(ptx_parse(&arena, &source, &ir, &log), STATUS_OK, "%s", strbuf_text(&log));
        const struct ir_func *func = &ir->funcs[0];
        const uint32_t count = probe_wait_hidden(&arena, func, func->insn_count - 2, loads, 3);
        cr_expect_eq(count, rows[i].count, "%s: %u", rows[i].body, count);
        for (uint32_t k = 0; k < count && k < rows[i].count; k++)
            cr_expect_eq(func->insns[loads[k]].line, rows[i].lines[k] + 1, "%s", rows[i].body);
        strbuf_free(&log);
        arena_free(&arena);
    }
}
