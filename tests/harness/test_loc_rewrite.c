#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "file_set.h"
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

/* ---- the machine code, where ptxas is installed ---- */

static const char *find_ptxas(void) {
    static char path[256];
    FILE *out = popen("command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null", "r");
    const bool found = out && fgets(path, sizeof path, out);
    if (out)
        pclose(out);
    path[strcspn(path, "\n")] = '\0';
    return found ? path : NULL;
}

static void write_file(const char *path, const char *bytes) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(bytes, file) >= 0 && !fclose(file));
}

/* The cubin that ptxas makes of a text. */
static uint8_t *assemble(const char *ptxas, const char *folder, const char *ptx,
                         const char *options) {
    char path[128], command[512];
    uint8_t *bytes;
    size_t size;
    struct strbuf error = {0};
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    write_file(path, ptx);
    snprintf(command, sizeof command, "%s -arch=sm_90a %s %s/k.ptx -o %s/k.cubin", ptxas, options,
             folder, folder);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/k.cubin", folder);
    cr_assert_eq(file_read(path, &bytes, &size, &error), STATUS_OK);
    return bytes;
}

static const Elf64_Shdr *sections(const uint8_t *elf, unsigned *count, const char **names) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)elf;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(const void *)(elf + head->e_shoff);
    *count = head->e_shnum;
    *names = (const char *)elf + all[head->e_shstrndx].sh_offset;
    return all;
}

/* Compares the code of every kernel; how many there are. */
static unsigned same_code(const uint8_t *a, const uint8_t *b, const char *what) {
    unsigned a_count, b_count, same = 0;
    const char *a_names, *b_names;
    const Elf64_Shdr *x = sections(a, &a_count, &a_names), *y = sections(b, &b_count, &b_names);
    for (unsigned i = 0; i < a_count; i++)
        for (unsigned k = 0; k < b_count; k++) {
            const char *name = a_names + x[i].sh_name;
            if (strncmp(name, ".text.", 6) || strcmp(name, b_names + y[k].sh_name))
                continue;
            cr_expect_eq(x[i].sh_size, y[k].sh_size, "%s %s", what, name);
            cr_expect(x[i].sh_size == y[k].sh_size &&
                          !memcmp(a + x[i].sh_offset, b + y[k].sh_offset, x[i].sh_size),
                      "%s: other code in %s", what, name);
            same++;
        }
    return same;
}

/* The text that a trace loads, with and without line information, gives the same instructions. */
Test(loc_rewrite, machine_code_stays) {
    static const struct {
        const char *trace, *probe;
    } cases[] = {
        {"matmul_1_naive", ""},
        {"matmul_2_tma_mma_64x64", ""},
        {"matmul_3_swizzle_64x256", ""},
        {"matmul_4_tma_store_64x64", ""},
        {"matmul_4_tma_store_64x64", "probe E event of mbarrier.* cp.async.bulk* wgmma* st*\n"},
        {"matmul_3_swizzle_64x64",
         "probe E event of * keep 8\nprobe S smem 0..64 at WAIT_TMA last 4\n"},
    };
    const char *ptxas = find_ptxas();
    unsigned kernels = 0;
    if (!ptxas) {
        cr_skip("no ptxas: the machine code is not compared");
        return;
    }
    char folder[] = "/tmp/siltwin-loc-XXXXXX", trace[512], path[128], *ptx;
    cr_assert(mkdtemp(folder));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct strbuf with = {0};
        snprintf(path, sizeof path, "%s/t.trace", folder);
        snprintf(trace, sizeof trace, "siltwin 1\ninclude " SILTWIN_ROOT "/traces/%s.trace\n%s",
                 cases[i].trace, cases[i].probe);
        write_file(path, trace);
        const int status =
            command_run((const char *const[]){"run", path, "--emit-ptx", "--device", "h200",
                                              "--allow-path", SILTWIN_ROOT, NULL},
                        &ptx);
        cr_assert_eq(status, 0, "%s", ptx);
        cr_assert_gt(loc_rewrite(parse(&arena, ptx), ptx, strlen(ptx), "k.ptx", &with), 30);
        uint8_t *a = assemble(ptxas, folder, ptx, "");
        uint8_t *b = assemble(ptxas, folder, strbuf_text(&with), "-lineinfo");
        kernels += same_code(a, b, trace);
        free(a);
        free(b);
        free(ptx);
        strbuf_free(&with);
        arena_free(&arena);
    }
    printf("%u kernels have the same machine code with line information\n", kernels);
    cr_assert_geq(kernels, 6);
    snprintf(trace, sizeof trace, "rm -r %s", folder);
    cr_assert_eq(system(trace), 0);
}
