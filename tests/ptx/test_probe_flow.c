/* What values are computed from: along every path, and no further. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe_flow.h"
#include "ptx.h"

#define PTXAS "/usr/local/cuda/bin/ptxas"
enum { MAX_TEXT = 4096 };

/* The values of a regs probe of %r9 at the last instruction of a body; `%c` in it are clocks. */
static struct probe_value follow(struct arena *arena, const char *body, const char *cut) {
    char text[MAX_TEXT];
    struct strbuf log = {0};
    struct ir_module *ir = NULL;
    snprintf(text, sizeof text,
             ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .align 4 .b32 box;\n"
             ".visible .entry k(.param .u64 x) {\n.reg .pred %%p, %%q; .reg .b32 %%r<10>; "
             ".reg .f32 %%f<10>; .reg .b64 %%d<10>;\n%s\nret;\n}\n",
             body);
    const struct ptx_source source = {"k.ptx", text, strlen(text)};
    cr_assert_eq(ptx_parse(arena, &source, &ir, &log), STATUS_OK, "%s\n%s", body,
                 strbuf_text(&log));
    const struct ir_func *func = &ir->funcs[0];
    struct ir_operand op = {.kind = IR_REG, .index = -1};
    for (uint32_t i = 0; i < func->reg_count; i++)
        if (!strcmp(func->regs[i].name, "%r9"))
            op.index = (int32_t)i;
    cr_assert(op.index >= 0);
    struct probe_value value = {.name = "%r9", .operand = &op};
    struct probe_site site = {.insn = func->insn_count - 1, .values = &value, .value_count = 1};
    const struct probe_spec spec = {.kind = PROBE_REGS, .keys = {cut}, .key_count = cut ? 1 : 0};
    const struct probe_plan plan = {
        .ir = ir, .specs = &spec, .spec_count = 1, .sites = &site, .site_count = 1};
    struct probe_flow *flow = probe_flow_make(arena, &plan, 0);
    cr_assert(flow);
    cr_assert(probe_flow_site(flow, arena, &site));
    strbuf_free(&log);
    return value;
}

#define CLOCK  (1u << PROBE_WHY_CLOCK)
#define ATOMIC (1u << PROBE_WHY_ATOMIC)
#define OTHERS (1u << PROBE_WHY_OTHERS)
#define MEMORY (1u << PROBE_WHY_GLOBAL)

Test(probe_flow, along_every_path) {
    static const struct {
        const char *body;
        uint32_t from;
        enum probe_why why;
        const char *cut;
    } rows[] = {
        {"mov.u32 %r9, %clock;", CLOCK, PROBE_WHY_CLOCK, NULL},
        {"mov.u32 %r1, %clock; mov.u32 %r9, %r1;", CLOCK, PROBE_WHY_CLOCK, NULL},
        {"mov.u32 %r1, %clock; add.u32 %r9, %r1, 1;", CLOCK, 0, NULL},
        {"mov.u32 %r1, %tid.x; add.u32 %r9, %r1, 1;", 0, 0, NULL},
        {"mov.u32 %r9, %clock; mov.u32 %r9, 0;", 0, 0, NULL},
        /* A guarded write may not happen. */
        {"mov.u32 %r9, %clock; @%p mov.u32 %r9, 0;", CLOCK, 0, NULL},
        {"@%p mov.u32 %r9, %clock; @!%p mov.u32 %r9, %clock_hi;", CLOCK, PROBE_WHY_CLOCK, NULL},
        {"mov.u32 %r1, %clock; setp.eq.u32 %q, %r1, 0; selp.u32 %r9, 1, 2, %q;", CLOCK, 0, NULL},
        {"mov.u32 %r1, %clock; setp.eq.u32 %q, %r1, 0; mov.u32 %r9, 1; @%q mov.u32 %r9, 2;", CLOCK,
         0, NULL},
        /* Both arms. */
        {"@%p bra B; mov.u32 %r9, %clock; bra C; B: mov.u32 %r9, 5; C:", CLOCK, 0, NULL},
        {"@%p bra B; mov.u32 %r9, 4; bra C; B: mov.u32 %r9, 5; C:", 0, 0, NULL},
        /* Around a loop. */
        {"mov.u32 %r9, 0; L: add.u32 %r9, %r9, %r1; mov.u32 %r1, %clock; @%p bra L;", CLOCK, 0,
         NULL},
        {"mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; mov.u32 %r1, %clock; @%p bra L;", 0, 0, NULL},
        /* Through an index of a branch nothing flows; through an address it does. */
        {"mov.u32 %r1, %clock; ld.shared.u32 %r9, [%r1];", CLOCK | OTHERS, 0, NULL},
        {"ld.shared.u32 %r9, [box];", OTHERS, 0, NULL},
        {"ld.global.u32 %r9, [%d1];", MEMORY, 0, NULL},
        {"ld.u32 %r9, [%d1];", MEMORY | OTHERS, 0, NULL},
        {"ld.param.u64 %d1, [x]; cvt.u32.u64 %r9, %d1;", 0, 0, NULL},
        {"mov.u32 %r1, %clock; st.shared.u32 [box], %r1; ld.shared.u32 %r9, [box];", OTHERS, 0,
         NULL},
        {"atom.global.add.u32 %r9, [%d1], 1;", ATOMIC | MEMORY, PROBE_WHY_ATOMIC, NULL},
        {"atom.global.add.u32 %r1, [%d1], 1; shl.b32 %r9, %r1, 2;", ATOMIC | MEMORY, 0, NULL},
        /* A key is known to agree, and so is what is computed from it. */
        {"atom.global.add.u32 %r1, [%d1], 1; shl.b32 %r9, %r1, 2;", 0, 0, "%r1"},
        {"atom.global.add.u32 %r1, [%d1], 1; mov.b32 %r2, %r1; shl.b32 %r9, %r2, 2;", 0, 0, "%r2"},
        {"mov.u32 %r1, %clock; shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", CLOCK | OTHERS, 0, NULL},
        {"createpolicy.fractional.L2::evict_first.b64 %d1, 1.0; cvt.u32.u64 %r9, %d1;",
         1u << PROBE_WHY_OPAQUE, 0, NULL},
        {"ex2.approx.f32 %f1, %f2; mov.b32 %r9, %f1;", 1u << PROBE_WHY_APPROX, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const struct probe_value value = follow(&arena, rows[i].body, rows[i].cut);
        cr_expect_eq(value.from, rows[i].from, "%s: %x, not %x", rows[i].body, value.from,
                     rows[i].from);
        cr_expect_eq(value.why, rows[i].why, "%s: %s", rows[i].body,
                     probe_why_word((enum probe_why)value.why));
        arena_free(&arena);
    }
}

/* What ptxas 13.0 made of such texts for sm_90a: FFMA and DFMA, or FMUL and FADD. */
static const struct {
    const char *body;
    bool fused;
} sums[] = {
    {"mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", true},
    {"mul.f32 %f1, %f2, %f3; sub.f32 %f4, %f5, %f1;", true},
    {"mul.ftz.f32 %f1, %f2, %f3; add.ftz.f32 %f4, %f1, %f5;", true},
    {"mul.ftz.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; add.ftz.f32 %f4, %f1, %f5;", false},
    {"mul.rz.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", false},
    {"mul.rn.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; add.rn.f32 %f4, %f1, %f5;", false},
    {"mul.sat.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; add.sat.f32 %f4, %f1, %f5;", true},
    {"mul.f32 %f1, %f2, %f3; mov.f32 %f7, %f1; sub.f32 %f4, %f5, %f7;", true},
    {"mul.f32 %f1, %f2, %f3; mov.b32 %r1, %f1; mov.b32 %f7, %r1; add.f32 %f4, %f5, %f7;", true},
    {"mul.f32 %f1, %f2, %f3; neg.f32 %f7, %f1; add.f32 %f4, %f5, %f7;", true},
    {"mul.f32 %f1, %f2, %f3; abs.f32 %f7, %f1; add.f32 %f4, %f5, %f7;", false},
    /* Other uses of the product. */
    {"mul.f32 %f1, %f2, %f3; st.global.f32 [%d1], %f1; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; add.f32 %f6, %f1, %f2; add.f32 %f4, %f1, %f5;", true},
    {"mul.f32 %f1, %f2, %f3; add.rn.f32 %f6, %f1, %f2; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; fma.rn.f32 %f6, %f2, %f2, %f1; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f1;", false},
    /* Guards and blocks. */
    {"@%p mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f5;", false},
    {"mul.f32 %f1, %f2, %f3; mov.f32 %f4, %f5; @%p add.f32 %f4, %f1, %f5;", true},
    {"mul.f32 %f1, %f2, %f3; bar.sync 0; L: add.f32 %f4, %f1, %f5;", true},
    {"mul.f32 %f1, %f2, %f3; @%p bra L; add.f32 %f4, %f1, %f5; L:", false},
    {"mul.f32 %f1, %f2, %f3; L: add.f32 %f4, %f1, %f4; @%p bra L;", false},
    {"L: mul.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f4; @%p bra L;", true},
    {"L: add.f32 %f4, %f1, %f4; mul.f32 %f1, %f2, %f3; @%p bra L;", false},
};

Test(probe_flow, sums_that_ptxas_fuses) {
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        char body[512];
        struct arena arena = {0};
        snprintf(body, sizeof body, "%s mov.b32 %%r9, %%f4;", sums[i].body);
        const struct probe_value value = follow(&arena, body, NULL);
        cr_expect_eq(value.from >> PROBE_WHY_CONTRACTION & 1, sums[i].fused, "%s", body);
        arena_free(&arena);
    }
}

/* Machine code of a text, by the ptxas of this machine: whether a multiplication stands on its own
 * (opcode FMUL, the low nine bits of 16 bytes). */
static bool has_product(const char *text) {
    enum { FMUL = 0x20, BYTES = 1 << 20 };
    char folder[] = "/tmp/siltwin-ptxas-XXXXXX", path[64], command[256];
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
    snprintf(command, sizeof command,
             "cd %s && " PTXAS " -arch=sm_90a -o k.cubin k.ptx && cat k.cubin; rm -r %s", folder,
             folder);
    FILE *pipe = popen(command, "r");
    static uint8_t image[BYTES];
    const size_t bytes = fread(image, 1, sizeof image, pipe);
    cr_assert_eq(pclose(pipe), 0);
    uint64_t table, at, size;
    uint16_t count;
    bool found = false;
    cr_assert_gt(bytes, 64, "%s", text);
    memcpy(&table, image + 0x28, 8);
    memcpy(&count, image + 0x3c, 2);
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *header = image + table + 64 * i;
        uint64_t flags;
        memcpy(&flags, header + 8, 8);
        memcpy(&at, header + 0x18, 8);
        memcpy(&size, header + 0x20, 8);
        for (uint64_t k = 0; (flags & 4) && k < size; k += 16) /* SHF_EXECINSTR */
            found = found || ((image[at + k] | image[at + k + 1] << 8) & 0x1ff) == FMUL;
    }
    return found;
}

/* The same rows, asked again where ptxas is installed. */
Test(probe_flow, ptxas_agrees_about_sums) {
    if (access(PTXAS, X_OK)) {
        printf("skipped: no ptxas\n");
        return;
    }
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        char text[MAX_TEXT];
        snprintf(
            text, sizeof text,
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x) "
            "{\n.reg .pred %%p; .reg .b32 %%r<10>; .reg .f32 %%f<10>; .reg .b64 %%d<3>;\n"
            "ld.param.u64 %%d1, [x]; ld.global.f32 %%f2, [%%d1]; ld.global.f32 %%f3, [%%d1+4];\n"
            "ld.global.f32 %%f5, [%%d1+8]; ld.global.f32 %%f1, [%%d1+12]; mov.f32 %%f4, %%f5;\n"
            "ld.global.u32 %%r2, [%%d1+16]; setp.eq.u32 %%p, %%r2, 0; mov.f32 %%f6, %%f5;\n"
            "%s\nst.global.f32 [%%d1+32], %%f4; st.global.f32 [%%d1+36], %%f6; ret;\n}\n",
            sums[i].body);
        cr_expect_eq(has_product(text), !sums[i].fused, "%s", sums[i].body);
    }
}

Test(probe_flow, approximate_results_have_their_name) {
    static const struct {
        const char *body, *name;
    } rows[] = {
        {"ex2.approx.ftz.f32 %f1, %f2; mov.b32 %r9, %f1;", "ex2.approx.ftz.f32"},
        {"div.full.f32 %f1, %f2, %f3; mov.b32 %r9, %f1;", "div.full.f32"},
        {"tanh.approx.f16x2 %r9, %r1;", "tanh.approx.f16x2"},
        {"ex2.approx.f32 %f1, %f2; add.rn.f32 %f1, %f1, %f3; mov.b32 %r9, %f1;", NULL},
        {"@%p bra B; ex2.approx.f16x2 %r9, %r1; bra C; B: ex2.approx.f16x2 %r9, %r2; C:", NULL},
        {"div.rn.f32 %f1, %f2, %f3; mov.b32 %r9, %f1;", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const struct probe_value value = follow(&arena, rows[i].body, NULL);
        if (rows[i].name)
            cr_expect(value.approx && !strcmp(value.approx, rows[i].name), "%s: %s", rows[i].body,
                      value.approx ? value.approx : "none");
        else
            cr_expect_null(value.approx, "%s", rows[i].body);
        arena_free(&arena);
    }
}

/* What a function hands on decides whether another thread's difference may be the reason. */
Test(probe_flow, what_is_given_away) {
    static const struct {
        const char *body;
        struct probe_given given;
    } rows[] = {
        {"mov.u32 %r9, %clock; st.global.u32 [%d1], %r9;", {CLOCK, 0, 0, false}},
        {"mov.u32 %r9, %clock; st.shared.u32 [box], %r9;", {0, CLOCK, 0, false}},
        {"mov.u32 %r9, %clock; st.u32 [%d1], %r9;", {CLOCK, CLOCK, 0, false}},
        {"mov.u32 %r9, %clock; setp.eq.u32 %p, %r9, 0; @%p bra L; L:", {0, 0, CLOCK, false}},
        {"mov.u32 %r9, %clock; bar.sync %r9;", {0, CLOCK, 0, false}},
        {"mov.u32 %r9, %clock;", {0, 0, 0, false}},
        {"ld.acquire.gpu.global.u32 %r9, [%d1];", {0, 0, 0, true}},
        {"ld.global.u32 %r9, [%d1];", {0, 0, 0, false}},
        {"mov.u32 %r9, 0; red.global.add.u32 [%d1], %r9;", {0, 0, 0, true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct strbuf log = {0};
        struct ir_module *ir = NULL;
        char text[MAX_TEXT];
        snprintf(text, sizeof text,
                 ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .align 4 .b32 box;\n"
                 ".visible .entry k() {\n.reg .pred %%p; .reg .b32 %%r<10>; .reg .b64 %%d<3>;\n"
                 "%s\nret;\n}\n",
                 rows[i].body);
        const struct ptx_source source = {"k.ptx", text, strlen(text)};
        cr_assert_eq(ptx_parse(&arena, &source, &ir, &log), STATUS_OK, "%s", strbuf_text(&log));
        const struct probe_plan plan = {.ir = ir};
        struct probe_flow *flow = probe_flow_make(&arena, &plan, 0);
        cr_assert(flow);
        const struct probe_given given = probe_flow_given(flow);
        cr_expect_eq(given.global, rows[i].given.global, "%s", rows[i].body);
        cr_expect_eq(given.others, rows[i].given.others, "%s", rows[i].body);
        cr_expect_eq(given.branches, rows[i].given.branches, "%s", rows[i].body);
        cr_expect_eq(given.between_ctas, rows[i].given.between_ctas, "%s", rows[i].body);
        strbuf_free(&log);
        arena_free(&arena);
    }
}
