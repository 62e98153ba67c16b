#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ptx.h"

/* Whole modules that ptxas 13.0 was given, by the name of the case; what it refused among them is
 * in tests/reject. `head` is written before the text unless the text has its own. */

struct module_case {
    const char *name, *text;
};

static const char head[] = ".version 9.0\n.target sm_90a\n.address_size 64\n";

static const struct module_case cases[] = {
    {"min entry", ".visible .entry k() { ret; }"},
    {"entry no parens", ".entry k { ret; }"},
    {"no address_size", ".version 9.0\n.target sm_90a\n.entry k { ret; }"},
    {"version 8.0 sm_90a", ".version 8.0\n.target sm_90a\n.entry k { ret; }"},
    {"version 8.6", ".version 8.6\n.target sm_100a\n.entry k { ret; }"},
    {"version 8.8 family", ".version 8.8\n.target sm_100f\n.entry k { ret; }"},
    {"target texmode", ".version 9.0\n.target sm_100a, texmode_independent\n.entry k { }"},
    {"two targets", ".version 9.0\n.target sm_100a, sm_90\n.entry k { }"},
    {"lower target", ".version 9.0\n.target sm_80\n.entry k { }"},
    {"compute target", ".version 9.0\n.target compute_100a\n.entry k { }"},
    {"comment before version", "// c\n.version 9.0\n.target sm_100a\n.entry k(){ret;}"},
    {"one line", ".version 9.0 .target sm_100a .address_size 64 .entry k(){ret;}"},
    {"no entry", ""},
    {"empty body", ".entry k() {}"},
    {"no ret at end", ".entry k() { .reg .b32 r; mov.b32 r, 1; }"},
    {"perf directives", ".entry k() .maxntid 128,1,1 .minnctapersm 2 .maxnreg 64 { ret; }"},
    {"reqntid+cluster", ".entry k() .reqntid 128 .reqnctapercluster 2 { ret; }"},
    {"reqntid 3", ".entry k() .reqntid 8, 4, 2 { ret; }"},
    {"reqntid 2048", ".entry k() .reqntid 2048 { ret; }"},
    {"maxclusterrank", ".entry k() .maxclusterrank 8 { ret; }"},
    {"reqnctapercluster 32", ".entry k() .reqnctapercluster 32 { ret; }"},
    {"blocksareclusters",
     ".entry k() .reqntid 128 .reqnctapercluster 2 .blocksareclusters { ret; }"},
    {"explicitcluster", ".entry k() .explicitcluster .reqnctapercluster 1,2,1 { ret; }"},
    {"pragma entry", ".entry k() .pragma \"nounroll\"; { ret; }"},
    {"pragma module and statement",
     ".pragma \"nounroll\";\n.entry k() { .pragma \"a\", \"b\"; ret; }"},
    {"dyn smem extern", ".extern .shared .align 16 .b8 s[];\n.entry k() { ret; }"},
    {"extern shared in 2 names", ".extern .shared .b8 s[];\n.extern .shared .b32 t[];\n"},
    {"extern shared sized", ".extern .shared .b8 s[64];\n.entry k() { ret; }"},
    {"static smem module", ".shared .align 1024 .b8 s[4096];\n.entry k() { ret; }"},
    {"smem 232448", ".entry k() { .shared .b8 s[232448]; ret; }"},
    {"global init list", ".global .u32 g[4] = {1, 2, 3, 4};"},
    {"global init short", ".global .u32 g[4] = {1};"},
    {"global init float", ".global .f32 g[2] = {1.5, 0f3f800000};\n.global .f64 h = 1e-3;"},
    {"global init addr", ".global .u32 a;\n.global .u64 b = a;"},
    {"global init addr generic", ".global .u32 a[8];\n.global .u64 b[2] = {generic(a)+8, a};"},
    {"global init function", ".func f { ret; }\n.global .u64 t[1] = {f};"},
    {"global [] init", ".global .b8 s[] = {1, 2, 3};"},
    {"2d array", ".global .u32 g[2][3] = {{1, 2, 3}, {4, 5, 6}};"},
    {"flat list of a 2d array", ".global .u32 g[2][3] = {1, 2, 3, 4, 5, 6};"},
    {"const arr", ".const .f32 c[3] = {1.0, 2.0, 3.0};"},
    {"const tensormap", ".const .align 64 .b8 tm[128];"},
    {"vector decl", ".global .v4 .f32 g;\n.shared .v2 .b32 s[4];"},
    {"managed", ".global .attribute(.managed) .b32 g;"},
    {"weak and common", ".weak .global .b32 g;\n.common .global .b32 h;\n.weak .entry k { }"},
    {"align 2048", ".global .align 2048 .b8 g[4];"},
    {"func call",
     ".func (.param .b32 r) f (.param .b32 a) { .reg .b32 t; ld.param.b32 t, [a]; st.param.b32 "
     "[r], t; ret; }\n.entry k() { .reg .b32 x; { .param .b32 a, r; st.param.b32 [a], x; call "
     "(r), f, (a); ld.param.b32 x, [r]; } ret; }"},
    {"func reg args", ".func (.reg .u32 r) f (.reg .u32 a) { mov.u32 r, a; ret; }\n"
                      ".entry k() { .reg .u32 x; call (x), f, (x); ret; }"},
    {"noinline proto", ".func f ();\n.entry k() { call f; ret; }\n.func f () { ret; }"},
    {"extern func proto then def", ".extern .func f;\n.func f { ret; }\n.entry k { call f; }"},
    {"visible and weak func", ".visible .func f { ret; }\n.weak .func g { ret; }"},
    {"noreturn func", ".func f .noreturn { trap; }\n.entry k { call f; }"},
    {"abi_preserve", ".func f .abi_preserve 12 { ret; }"},
    {"recursion", ".func f { call f; ret; }"},
    {"vprintf", ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.entry k { "
                ".param .b64 "
                "a, b; .param .b32 r; call.uni (r), vprintf, (a, b); }"},
    {"call indirect",
     ".func f (.reg .u32 a) { ret; }\n.entry k { .reg .u32 x; .reg .u64 p; mov.u64 "
     "p, f; c: .callprototype _ (.reg .u32 _); call p, (x), c; }"},
    {"calltargets", ".func f { ret; }\n.entry k { .reg .u64 p; mov.u64 p, f; t: .calltargets f; "
                    "call p, t; }"},
    {"brx", ".entry k { .reg .u32 i; t: .branchtargets A, B; brx.idx i, t; A: ret; B: exit; }"},
    {"labels nested scope", ".entry k { .reg .pred p; A: { A: @p bra A; } bra A; }"},
    {"two labels, label at end", ".entry k { A: B: bra C; C: }"},
    {"$ label", ".entry k { bra $L__BB0_1; $L__BB0_1: ret; }"},
    {"same reg inner shadow",
     ".entry k { .reg .b32 r; { .reg .b64 r; mov.b64 r, 1; } mov.b32 r, 1; }"},
    {"reg list mix", ".entry k { .reg .b32 r<10>, x, c<2>; add.u32 r9, x, c1; }"},
    {"b128 reg", ".entry k { .reg .b128 x; .reg .b64 a; mov.b128 x, {a, a}; }"},
    {"param types", ".entry k(.param .f16 h, .param .b128 q, .param .align 8 .b8 s[24]) { ret; }"},
    {"param .ptr attr", ".entry k(.param .u64 .ptr .global .align 16 p, .param .u64 .ptr q) { }"},
    {"param name %", ".entry k(.param .u64 %p) { .reg .u64 d; ld.param.u64 d, [%p]; }"},
    {"tensormap as param no align", ".entry k(.param .b8 tm[128]) { ret; }"},
    {"param 32764", ".entry k(.param .b8 a[32764]) { ret; }"},
    {"local",
     ".entry k { .local .align 16 .b8 d[64]; .reg .u64 a; mov.u64 a, d; cvta.local.u64 a, a; }"},
    {"alias", ".func f;\n.func g { ret; }\n.alias f, g;\n.entry k { call f; }"},
    {"file and loc", ".file 1 \"a.cu\"\n.entry k { .loc 1 2 3\n ret; }\n.section .debug_abbrev\n{\n"
                     ".b8 1,17\n}"},
    {"debug target", ".version 9.0\n.target sm_90a, debug\n.section .debug_str { }"},
    {"crlf", ".entry k\r\n{\r\nret;\r\n}\r\n"},
    {"block and nested comments", "/* a */ .entry k /* /* b */ { ret; } // c"},
    {"multi-line instruction", ".entry k { .reg .b32 r;\n add\n .u32\n r\n,\nr\n, 1\n; }"},
    {"identifiers", ".entry _x { .reg .b32 $a, %b, c$d; mov.b32 $a, %b; mov.b32 c$d, $a; }"},
    {"closing zero bytes are no text", ".entry k { ret; }"},
};

Test(ptx_modules, what_ptxas_accepts_is_accepted) {
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct module_case *c = &cases[i];
        struct strbuf text = {0}, log = {0};
        struct arena arena = {0};
        struct ir_module *module = NULL;
        if (strstr(c->text, ".version") == NULL)
            strbuf_puts(&text, head);
        strbuf_puts(&text, c->text);
        strbuf_append(&text, "\0\0", 2);
        struct ptx_source source = {"module.ptx", text.text, text.length};
        cr_expect_eq(ptx_parse(&arena, &source, &module, &log), STATUS_OK, "%s\n%s", c->name,
                     strbuf_text(&log));
        strbuf_free(&text);
        strbuf_free(&log);
        arena_free(&arena);
    }
    printf("%zu modules accepted\n", sizeof cases / sizeof cases[0]);
}
