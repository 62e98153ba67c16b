/* Probed texts: still the same kernel on the same lines, accepted by the front end and, where it is
 * installed, by ptxas. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe_rewrite.h"
#include "ptx.h"
#include "support.h"

static const char *const text = ".version 8.0\n.target sm_90a\n.address_size 64 // 64 bits\n"
                                ".shared .align 8 .b64 bar;\n"
                                ".visible .entry k(.param .u64 out) {\n"
                                "  .reg .pred %p; .reg .b32 %r, %a<2>; .reg .b64 %rd;\n"
                                "  mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0;\n"
                                "  @!%p bra WAIT;\n"
                                "  @ %p\n  add.u32 %r, %r, 1;\n"
                                "WAIT: mbarrier.try_wait.parity.shared.b64 %p, [bar+8], %r;\n"
                                "  mbarrier.arrive.expect_tx.shared.b64 %rd, [bar], 16;\n"
                                "DONE: ret;\n}\n";

static struct ir_module *parse(struct arena *arena, const char *ptx, size_t length) {
    struct ptx_source source = {"k.ptx", ptx, length};
    struct ir_module *module = NULL;
    struct strbuf log = {0};
    cr_assert_eq(ptx_parse(arena, &source, &module, &log), STATUS_OK, "%s", strbuf_text(&log));
    strbuf_free(&log);
    return module;
}

/* Every instruction of the module as a site of every probe. */
static struct probe_plan plan_all(struct arena *arena, const struct ir_module *ir,
                                  const struct probe_spec *specs, uint32_t count) {
    struct probe_plan plan = {.ir = ir, .specs = specs, .spec_count = count};
    uint32_t insns = 0, bad;
    struct strbuf error = {0};
    for (uint32_t f = 0; f < ir->func_count; f++)
        insns += ir->funcs[f].insn_count;
    plan.sites = arena_array(arena, (size_t)insns * count, sizeof *plan.sites);
    cr_assert(plan.sites);
    for (uint32_t f = 0; f < ir->func_count; f++)
        for (uint32_t i = 0; i < ir->funcs[f].insn_count; i++)
            for (uint32_t p = 0; p < count; p++)
                plan.sites[plan.site_count++] =
                    (struct probe_site){.probe = p, .func = f, .insn = i};
    cr_assert_eq(probe_plan_make(arena, &plan, &bad, &error), STATUS_OK, "%s", strbuf_text(&error));
    return plan;
}

static const struct probe_site *site_at(const struct probe_plan *plan, uint32_t insn) {
    for (uint32_t i = 0; i < plan->site_count; i++)
        if (plan->sites[i].insn == insn)
            return &plan->sites[i];
    cr_assert_fail("no site");
    return NULL;
}

Test(probe_rewrite, operands_and_results_have_their_names_and_roles) {
    struct arena arena = {0};
    const struct probe_spec spec = {.kind = PROBE_EVENT, .keep = 4};
    const struct ir_module *ir = parse(&arena, text, strlen(text));
    const struct probe_plan plan = plan_all(&arena, ir, &spec, 1);
    const struct probe_site *wait = site_at(&plan, 4), *arrive = site_at(&plan, 5);
    cr_assert(wait->poll);
    cr_assert_eq(wait->value_count, 3);
    cr_assert_str_eq(wait->values[0].name, "done");
    cr_assert(wait->values[0].output);
    cr_assert_str_eq(wait->values[2].name, "parity");
    cr_assert_eq(wait->slot_bytes, 16 + 3 * 8 + 8); /* a multiple of 16 */
    /* The token is not an operand to compare; the count of bytes is a constant. */
    cr_assert_not(arrive->poll);
    cr_assert_eq(arrive->value_count, 2);
    cr_assert_str_eq(arrive->values[1].name, "bytes");
    cr_assert(arrive->values[1].constant);
    cr_assert_eq(arrive->values[1].bits, 16);
    cr_assert_eq(probe_thread_bytes(&plan, 0, 0),
                 arrive[1].offset_bytes + 16 + 4 * arrive[1].slot_bytes);
    arena_free(&arena);
}

Test(probe_rewrite, lines_stay_and_the_instructions_are_there) {
    struct arena arena = {0};
    struct strbuf out = {0};
    const struct probe_spec specs[2] = {{.kind = PROBE_EVENT, .keep = 4},
                                        {.kind = PROBE_REGS,
                                         .keep = 2,
                                         .last = true,
                                         .regs = {"%r", "%p"},
                                         .reg_count = 2,
                                         .when_reg = "%a1",
                                         .when_compare = PROBE_LT,
                                         .when_value = -3}};
    const struct ir_module *ir = parse(&arena, text, strlen(text));
    const struct probe_plan plan = plan_all(&arena, ir, specs, 2);
    cr_assert_eq(probe_rewrite(&plan, text, strlen(text), &out), STATUS_OK);
    const struct ir_module *again = parse(&arena, out.text, out.length);
    cr_assert_geq(ir_find_symbol(again, PROBE_SYMBOL), 0);
    uint32_t at = 0;
    for (uint32_t i = 0; i < again->funcs[0].insn_count && at < ir->funcs[0].insn_count; i++)
        at += again->funcs[0].insns[i].form == ir->funcs[0].insns[at].form &&
              again->funcs[0].insns[i].line == ir->funcs[0].insns[at].line;
    cr_assert_eq(at, ir->funcs[0].insn_count);
    cr_assert(strstr(out.text, "setp.lt.and.s32 %sw1_g, %a1, -3, %sw1_g;"), "%s", out.text);
    cr_assert(strstr(out.text, "not.pred %sw0_k, %p; and.pred %sw0_g, %sw0_g, %sw0_k;"));
    strbuf_free(&out);
    arena_free(&arena);
}

Test(probe_rewrite, refuses_what_it_cannot_do) {
    struct arena arena = {0};
    struct strbuf out = {0}, error = {0};
    const char *own = ".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".visible .entry k() { .reg .b32 %sw_x; mov.u32 %sw_x, 1; ret; }\n";
    const struct probe_spec spec = {.kind = PROBE_EVENT, .keep = 1};
    const struct ir_module *ir = parse(&arena, own, strlen(own));
    struct probe_plan plan = plan_all(&arena, ir, &spec, 1);
    cr_assert_eq(probe_rewrite(&plan, own, strlen(own), &out), STATUS_INVALID);
    const struct probe_spec unknown = {
        .kind = PROBE_REGS, .keep = 1, .regs = {"%nothing"}, .reg_count = 1};
    uint32_t bad;
    plan.specs = &unknown;
    cr_assert_eq(probe_plan_make(&arena, &plan, &bad, &error), STATUS_INVALID);
    cr_assert(strstr(strbuf_text(&error), "k has no register %nothing"), "%s", error.text);
    strbuf_free(&out);
    strbuf_free(&error);
    arena_free(&arena);
}

static char *read_all(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    char *bytes = malloc(1 << 20);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static bool has_ptxas(void) {
    return system("PATH=$PATH:/usr/local/cuda/bin ptxas --version >/dev/null 2>&1") == 0;
}

static void assemble(const char *name, const struct strbuf *ptx, const char *target) {
    char path[] = "/tmp/siltwin-probe-XXXXXX", command[256];
    const int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, ptx->text, ptx->length) == (ssize_t)ptx->length);
    close(fd);
    snprintf(command, sizeof command,
             "PATH=$PATH:/usr/local/cuda/bin ptxas -O1 -arch=%s %s -o /dev/null", target, path);
    const int status = system(command);
    cr_expect_eq(status, 0, "%s", name);
    cr_assert(status == 0 && unlink(path) == 0);
}

Test(probe_rewrite, every_kernel_assembles_with_every_instruction_probed) {
    struct probe_spec specs[4] = {
        {.kind = PROBE_EVENT, .keep = 8},
        {.kind = PROBE_SHARED, .keep = 1, .end_bytes = 1024, .unit_bytes = 16, .lanes = 32},
        {.kind = PROBE_GLOBAL, .keep = 1, .end_bytes = 20, .unit_bytes = 4, .lanes = 1},
        {.kind = PROBE_TMEM, .keep = 1, .tmem_column = 3, .tmem_columns = 47, .tmem_lanes = 64}};
    glob_t found;
    const bool ptxas = has_ptxas();
    cr_assert_eq(glob(SILTWIN_ROOT "/device/sm_*/*.ptx", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct arena arena = {0};
        struct strbuf out = {0};
        size_t length;
        char *ptx = read_all(found.gl_pathv[i], &length);
        const struct ir_module *ir = parse(&arena, ptx, length);
        struct probe_plan plan = plan_all(&arena, ir, specs, 1);
        /* Memory beside every thirtieth instruction, where the function sees shared memory. */
        uint32_t sites = plan.site_count, bad;
        struct strbuf error = {0};
        plan.spec_count = 4;
        plan.sites = memcpy(arena_array(&arena, 3 * sites, sizeof *plan.sites), plan.sites,
                            sites * sizeof *plan.sites);
        for (uint32_t k = 0; k < sites; k += 30) {
            plan.sites[plan.site_count] = plan.sites[k];
            plan.sites[plan.site_count++].probe =
                probe_first_shared(ir, plan.sites[k].func) && k % 60 ? 1 : 2;
        }
        /* Tensor Memory before all that is .sync.aligned. */
        for (uint32_t k = 0; k < sites && ir->target == 100; k++) {
            const struct ir_insn *insn = &ir->funcs[plan.sites[k].func].insns[plan.sites[k].insn];
            if (!ir_has(insn, QUAL_ALIGNED) || insn->guard >= 0)
                continue;
            plan.sites[plan.site_count] = plan.sites[k];
            plan.sites[plan.site_count++].probe = 3;
        }
        cr_assert_eq(probe_plan_make(&arena, &plan, &bad, &error), STATUS_OK, "%s",
                     strbuf_text(&error));
        cr_assert_eq(probe_rewrite(&plan, ptx, length, &out), STATUS_OK);
        parse(&arena, out.text, out.length);
        char target[8];
        snprintf(target, sizeof target, "sm_%s", ir->target == 100 ? "100a" : "90a");
        if (ptxas)
            assemble(found.gl_pathv[i], &out, target);
        free(ptx);
        strbuf_free(&out);
        arena_free(&arena);
    }
    report_rows(ptxas ? "probed kernels, assembled" : "probed kernels (no ptxas here)",
                found.gl_pathc);
    globfree(&found);
}
