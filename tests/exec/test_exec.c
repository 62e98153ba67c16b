#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "sim_kernel.h"

/* Modules, launches, the basics of an instruction's life. */

Test(exec, one_store_per_thread) {
    struct sim *sim = sim_load_body(".visible .entry k(.param .u64 out) {\n"
                                    "  .reg .b32 %r<5>; .reg .b64 %rd<4>;\n"
                                    "  ld.param.u64 %rd1, [out];\n"
                                    "  mov.u32 %r1, %tid.x;\n"
                                    "  mov.u32 %r2, %ctaid.x;\n"
                                    "  mov.u32 %r3, %ntid.x;\n"
                                    "  mad.lo.u32 %r4, %r2, %r3, %r1;\n"
                                    "  mul.wide.u32 %rd2, %r4, 4;\n"
                                    "  add.u64 %rd3, %rd1, %rd2;\n"
                                    "  st.global.u32 [%rd3], %r4;\n"
                                    "  ret;\n"
                                    "}\n");
    uint64_t out = sim_buffer(sim, 3 * 70);
    sim_arg64(sim, out);
    cr_assert_eq(sim_run(sim, 3, 70), STATUS_OK, "%s", strbuf_text(&sim->report));
    for (uint32_t i = 0; i < 3 * 70; i++)
        cr_assert_eq(sim_words(sim, out)[i], i);
    sim_free(sim);
}

Test(exec, loop_and_predicates) {
    /* out[tid] = sum of 0..tid */
    struct sim *sim = sim_load_body(".visible .entry k(.param .u64 out) {\n"
                                    "  .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"
                                    "  ld.param.u64 %rd1, [out];\n"
                                    "  mov.u32 %r1, %tid.x;\n"
                                    "  mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
                                    "LOOP:\n"
                                    "  add.u32 %r3, %r3, %r2;\n"
                                    "  add.u32 %r2, %r2, 1;\n"
                                    "  setp.le.u32 %p1, %r2, %r1;\n"
                                    "  @%p1 bra LOOP;\n"
                                    "  mul.wide.u32 %rd2, %r1, 4;\n"
                                    "  add.u64 %rd3, %rd1, %rd2;\n"
                                    "  setp.eq.u32 %p2, %r1, 5;\n"
                                    "  @%p2 add.u32 %r3, %r3, 1000;\n"
                                    "  st.global.u32 [%rd3], %r3;\n"
                                    "}\n");
    uint64_t out = sim_buffer(sim, 100);
    sim_arg64(sim, out);
    cr_assert_eq(sim_run(sim, 1, 100), STATUS_OK, "%s", strbuf_text(&sim->report));
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(sim_words(sim, out)[i], i * (i + 1) / 2 + (i == 5 ? 1000 : 0));
    sim_free(sim);
}

static void note_progress(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *last = ctx;
    cr_assert_eq(done, *last + 1);
    cr_assert_eq(total, 40);
    *last = done;
}

Test(exec, progress_is_told_for_each_cta) {
    static const char *const bodies[] = {"  ret;\n",
                                         "  atom.global.add.u32 %r3, [%rd1], 1; ret;\n"};
    for (size_t i = 0; i < 2; i++)
        for (uint32_t jobs = 1; jobs <= 3; jobs++) {
            struct sim *sim = sim_load_simple(bodies[i]);
            uint64_t done = 0;
            sim->launch.jobs = jobs;
            sim->launch.progress = note_progress;
            sim->launch.progress_ctx = &done;
            sim_run_simple(sim, 1, 40, 32);
            cr_assert_eq(done, 40);
            sim_free(sim);
        }
}

/* Offsets in the block as ptxas 13.0 gives them (EIATTR_KPARAM_INFO), for sm_90a and sm_100a: a
 * parameter is aligned in the constant bank, whose parameters begin at 0x210 and 0x380. */
Test(exec, places_of_parameters) {
    static const struct {
        const char *params;
        uint32_t sm90[3], sm100[3];
    } rows[] = {
        {".param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 o",
         {0x30, 0xb0, 0x130},
         {0, 0x80, 0x100}},
        {".param .u64 o, .param .align 64 .b8 a[128], .param .u32 n",
         {0, 0x30, 0xb0},
         {0, 0x40, 0xc0}},
        {".param .u64 o, .param .align 16 .b8 s[32], .param .u32 n",
         {0, 0x10, 0x30},
         {0, 0x10, 0x30}},
        {".param .u64 o, .param .align 128 .b8 s[128], .param .u32 n",
         {0, 0x70, 0xf0},
         {0, 0x80, 0x100}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint16_t sm = 90; sm <= 100; sm += 10) {
            char text[512];
            snprintf(text, sizeof text,
                     ".version 8.7\n.target sm_%ua\n.address_size 64\n.visible .entry k(%s) { ret; "
                     "}\n",
                     (unsigned)sm, rows[i].params);
            struct sim *sim = sim_load(text, sm);
            const struct exec_kernel_info *info = exec_kernel_info(sim->launch.kernel);
            for (int k = 0; k < 3; k++)
                cr_expect_eq(info->params[k].offset_bytes,
                             sm == 90 ? rows[i].sm90[k] : rows[i].sm100[k], "%s: %d", text, k);
            sim_free(sim);
        }
}

Test(exec, what_a_module_says_of_its_kernels) {
    struct sim *sim = sim_load_body(
        ".visible .entry a(.param .u32 x, .param .align 64 .b8 map[128], .param .u8 y) {\n"
        "  .local .align 8 .b8 l[24]; .shared .align 4 .b8 s[100]; .reg .b32 %r; .reg .b64 %rd;\n"
        "  mov.u32 %r, s; mov.u64 %rd, l; st.local.u32 [%rd], %r; ret;\n"
        "}\n"
        ".visible .entry b() .reqntid 64 { ret; }\n");
    const struct exec_kernel_info *info = exec_kernel_info(exec_module_kernel(sim->module, "a"));
    cr_assert_eq(info->param_count, 3);
    cr_assert_eq(info->params[1].offset_bytes, 0x30); /* ptxas 13.0 for sm_90a: c[0x0][0x240] */
    cr_assert_eq(info->params[1].size_bytes, 128);
    cr_assert_eq(info->params[1].align_bytes, 64);
    cr_assert_eq(info->params[2].offset_bytes, 0xb0);
    cr_assert_eq(info->param_bytes, 0xb1);
    cr_assert_eq(info->static_smem_bytes, 100);
    cr_assert_geq(info->local_bytes, 24);
    cr_assert_geq(info->registers, 8);
    info = exec_kernel_info(exec_module_kernel_at(sim->module, 1));
    cr_assert_str_eq(info->name, "b");
    cr_assert_eq(info->directives->reqntid[0], 64);
    cr_assert_null(exec_module_kernel_at(sim->module, 2));
    cr_assert_null(exec_module_kernel(sim->module, "c"));
    sim_free(sim);
}

Test(exec, faults_name_the_place) {
    struct sim *sim = sim_load_simple("  setp.eq.u32 %p1, %r1, 37;\n"
                                      "  @%p1 st.global.u32 [%rd1+2], %r1;\n");
    sim_arg64(sim, sim_buffer(sim, 4));
    cr_assert_eq(sim_run(sim, 3, 64), STATUS_INVALID);
    cr_assert_eq(sim->fault.kind, FAULT_MISALIGNED_ADDRESS);
    cr_assert_eq(sim->fault.warp, 1);
    cr_assert_eq(sim->fault.lanes, 1u << 5);
    const char *report = strbuf_text(&sim->report);
    cr_assert_not_null(strstr(report, "test.ptx:11:8: error: misaligned address"), "%s", report);
    cr_assert_not_null(strstr(report, "@%p1 st.global.u32 [%rd1+2], %r1;"), "%s", report);
    cr_assert_not_null(strstr(report, "kernel k, cta (0,0,0), warp 1"), "%s", report);
    sim_free(sim);
}

Test(exec, faults_name_the_source_line) {
    struct sim *sim = sim_load_body(".visible .entry k(.param .u64 out) {\n"
                                    "  .reg .b64 %rd1;\n"
                                    "  .loc 1 40 3\n"
                                    "  ld.param.u64 %rd1, [out];\n"
                                    "  .loc 1 42 5\n"
                                    "  st.global.u32 [%rd1], 1;\n"
                                    "  ret;\n"
                                    "}\n"
                                    ".file 1 \"kernel.py\"\n");
    sim_arg64(sim, 0);
    cr_assert_eq(sim_run(sim, 1, 1), STATUS_INVALID);
    cr_assert_not_null(strstr(strbuf_text(&sim->report), "    from kernel.py:42"), "%s",
                       strbuf_text(&sim->report));
    sim_free(sim);
}

static enum status load_status(const char *body, struct strbuf *log) {
    struct strbuf text = {0};
    strbuf_printf(&text, ".version 9.0\n.target sm_90a\n.address_size 64\n%s", body);
    struct exec_device device = {90, 4, 232448, 1000000};
    struct global_memory *memory = global_memory_create(1 << 20, 1);
    struct ptx_source source = {"test.ptx", strbuf_text(&text), text.length};
    struct exec_module *module = NULL;
    enum status status = exec_module_load(memory, &device, &source, &module, log);
    exec_module_unload(module);
    cr_assert_eq(global_memory_used_bytes(memory), 0);
    global_memory_destroy(memory);
    strbuf_free(&text);
    return status;
}

Test(exec, what_is_only_declared_is_an_error) {
    static const struct {
        const char *body, *message;
    } cases[] = {
        {".extern .func f();\n.visible .entry k() { call f; ret; }\n",
         "test.ptx:5:28: error: function 'f' is called but not defined"},
        {".extern .global .u32 x;\n.visible .entry k() { ret; }\n",
         "test.ptx:4:22: error: unresolved extern variable 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct strbuf log = {0};
        cr_assert_eq(load_status(cases[i].body, &log), STATUS_SYNTAX);
        cr_assert_not_null(strstr(strbuf_text(&log), cases[i].message), "%s", strbuf_text(&log));
        strbuf_free(&log);
    }
    struct strbuf log = {0};
    cr_assert_eq(load_status(".extern .global .u32 x;\n.global .u32 x = 5;\n"
                             ".extern .func f();\n.func f() { ret; }\n"
                             ".visible .entry k() { call f; ret; }\n",
                             &log),
                 STATUS_OK, "%s", strbuf_text(&log));
    strbuf_free(&log);
}
