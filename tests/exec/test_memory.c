#include <criterion/criterion.h>
#include <string.h>

#include "sim_kernel.h"

/* Memory as kernels see it: spaces, windows, addresses of variables, and how bad accesses end. */

/* Body of a kernel whose %rd1 is a buffer of 64 words; `kind` FAULT_NONE: it must end well. */
struct fault_case {
    const char *name, *body;
    enum fault_kind kind;
};

static void check(const struct fault_case *c) {
    struct sim *sim = sim_load_simple(c->body);
    sim_arg64(sim, sim_buffer(sim, 64));
    sim->launch.dynamic_smem_bytes = 64;
    enum status status = sim_run(sim, 1, 1);
    cr_expect_eq(sim->fault.kind, c->kind, "%s: %s", c->name, strbuf_text(&sim->report));
    cr_expect_eq(status, c->kind == FAULT_NONE ? STATUS_OK : STATUS_INVALID, "%s", c->name);
    if (c->kind != FAULT_NONE) {
        cr_expect_neq(sim->fault.line, 0, "%s", c->name);
        cr_expect_not_null(strstr(strbuf_text(&sim->report), "test.ptx:"), "%s", c->name);
    }
    sim_free(sim);
}

Test(memory, faults_of_an_h200) {
    /* The numbers are rows of the H200 observations. */
    static const struct fault_case cases[] = {
        {"34 st.global 0", "mov.u64 %rd2, 0; st.global.u32 [%rd2], %r1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 st.global unmapped", "mov.u64 %rd2, 0x123456789000; st.global.u32 [%rd2], %r1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 ld.global unmapped", "mov.u64 %rd2, 0x123456789000; ld.global.u32 %r3, [%rd2]; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 past a buffer", "add.u64 %rd2, %rd1, 0x10000000000; st.global.u32 [%rd2], 1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 st.shared 0x40000", "mov.u32 %r3, 0x40000; st.shared.u32 [%r3], 1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 st.shared 4 KiB past", "mov.u32 %r3, 0x1440; st.shared.u32 [%r3], 1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"34 st.local far", "mov.u32 %r3, 0x1000000; st.local.u32 [%r3], 1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"35 ld.global + 1", "ld.global.u32 %r3, [%rd1+1]; ret;", FAULT_MISALIGNED_ADDRESS},
        {"35 ld.shared + 2", "mov.u32 %r3, 0x402; ld.shared.u32 %r4, [%r3]; ret;",
         FAULT_MISALIGNED_ADDRESS},
        {"35 mbarrier.init + 4", "mov.u32 %r3, 0x404; mbarrier.init.shared.b64 [%r3], 1; ret;",
         FAULT_MISALIGNED_ADDRESS},
        {"36 trap", "trap;", FAULT_LAUNCH_FAILED},
        {"36 brkpt", "brkpt;", FAULT_LAUNCH_FAILED},
        {"37 arrive on no object",
         "mov.u32 %r3, 0x400; mbarrier.arrive.shared.b64 %rd2, [%r3]; ret;", FAULT_LAUNCH_FAILED},
        {"38 shared 0",
         "mov.u32 %r3, 0; ld.shared.u32 %r4, [%r3]; st.shared.u32 [%r3+16], %r4; ret;", FAULT_NONE},
        {"19 arrive above pending",
         "mov.u32 %r3, 0x400; mbarrier.init.shared.b64 [%r3], 2;"
         "mbarrier.arrive.shared.b64 _, [%r3], 3; ret;",
         FAULT_LAUNCH_FAILED},
        {"20 arrive after a drop to zero",
         "mov.u32 %r3, 0x400; mbarrier.init.shared.b64 [%r3], 1;"
         "mbarrier.arrive_drop.shared.b64 _, [%r3];"
         "mbarrier.arrive.shared.b64 _, [%r3]; ret;",
         FAULT_LAUNCH_FAILED},
        {"23 arrive after over-delivery",
         "mov.u32 %r3, 0x400; mbarrier.init.shared.b64 [%r3], 1;"
         "mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 64;"
         "mbarrier.complete_tx.shared.b64 [%r3], 128;"
         "mbarrier.arrive.shared.b64 _, [%r3]; ret;",
         FAULT_LAUNCH_FAILED},
        {"24 tx range",
         "mov.u32 %r3, 0x400; mbarrier.init.shared.b64 [%r3], 1;"
         "mbarrier.expect_tx.shared.b64 [%r3], 1048575;"
         "mbarrier.expect_tx.shared.b64 [%r3], 16; ret;",
         FAULT_LAUNCH_FAILED},
        {"vector at half its size", "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+8]; ret;",
         FAULT_MISALIGNED_ADDRESS},
        /* What comes first where two things are wrong (traces/silicon/h200/fault.txt). */
        {"misaligned and unmapped", "mov.u64 %rd2, 15; ld.global.u32 %r3, [%rd2]; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"misaligned beyond shared memory", "mov.u32 %r3, 0x20403; st.shared.u32 [%r3], 1; ret;",
         FAULT_ILLEGAL_ADDRESS},
        {"shared address of another CTA", "mov.u32 %r3, 0x1000400; ld.shared.u32 %r4, [%r3]; ret;",
         FAULT_ILLEGAL_INSTRUCTION},
        {"shared address of CTA 255", "mov.u32 %r3, 0xffff5001; ld.shared.u32 %r4, [%r3]; ret;",
         FAULT_ILLEGAL_INSTRUCTION},
        {"shared memory as global",
         "mov.u64 %rd2, 0x401; cvta.shared.u64 %rd2, %rd2; st.global.u32 [%rd2], 1; ret;",
         FAULT_ADDRESS_SPACE},
        {"local memory as global",
         "mov.u64 %rd2, 0; cvta.local.u64 %rd2, %rd2; ld.global.u32 %r3, [%rd2]; ret;",
         FAULT_ADDRESS_SPACE},
        {"an mbarrier lives on in its bytes",
         "mov.u32 %r3, 0x400; mbarrier.init.shared.b64 [%r3], 2; mbarrier.inval.shared.b64 [%r3];"
         "mbarrier.arrive.shared.b64 _, [%r3]; mbarrier.inval.shared.b64 [%r3];"
         "mbarrier.arrive.shared.b64 _, [%r3]; ret;",
         FAULT_NONE},
        {"word across the end", "ld.global.u64 %rd2, [%rd1+256]; ret;", FAULT_ILLEGAL_ADDRESS},
        {"last word", "ld.global.u64 %rd2, [%rd1+248]; ret;", FAULT_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
}

Test(memory, shared_variables_are_where_an_h200_puts_them) {
    /* H200 observation 31: 400, 480, 4c0, dynamic 4d0. */
    struct sim *sim =
        sim_load_body(".extern .shared .align 16 .b8 dyn[];\n"
                      ".shared .align 4 .b8 unused[64];\n"
                      ".visible .entry k(.param .u64 out) {\n"
                      "  .reg .b32 %r<6>; .reg .b64 %rd<2>;\n"
                      "  .shared .align 4 .b8 a[100]; .shared .align 128 .b8 b[64];\n"
                      "  .shared .align 8 .b8 c[8];\n"
                      "  ld.param.u64 %rd1, [out];\n"
                      "  mov.u32 %r1, a; mov.u32 %r2, b; mov.u32 %r3, c; mov.u32 %r4, dyn;\n"
                      "  st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};\n"
                      "  mov.u32 %r1, %total_smem_size; mov.u32 %r2, %dynamic_smem_size;\n"
                      "  st.global.v2.u32 [%rd1+16], {%r1, %r2};\n"
                      "}\n");
    sim->launch.dynamic_smem_bytes = 100;
    const uint32_t *words = sim_run_simple(sim, 8, 1, 1);
    static const uint32_t wanted[] = {0x400, 0x480, 0x4c0, 0x4d0, 384, 100};
    cr_assert_arr_eq(words, wanted, sizeof wanted);
    cr_assert_eq(exec_kernel_info(sim->launch.kernel)->static_smem_bytes, 0xc8);
    sim_free(sim);
}

Test(memory, generic_addresses) {
    /* One word each of shared, local, const, global, a parameter, through generic loads. */
    struct sim *sim =
        sim_load_body(".const .align 4 .b32 cv = 33;\n"
                      ".global .align 4 .b32 gv = 44;\n"
                      ".visible .entry k(.param .u64 out, .param .u32 pv) {\n"
                      "  .reg .b32 %r<8>; .reg .b64 %rd<9>;\n"
                      "  .shared .align 4 .b32 sv; .local .align 4 .b32 lv;\n"
                      "  ld.param.u64 %rd1, [out];\n"
                      "  st.shared.u32 [sv], 11; st.local.u32 [lv], 22;\n"
                      "  mov.u64 %rd2, sv; cvta.shared.u64 %rd2, %rd2; ld.u32 %r1, [%rd2];\n"
                      "  mov.u64 %rd3, lv; cvta.local.u64 %rd3, %rd3; ld.u32 %r2, [%rd3];\n"
                      "  mov.u64 %rd4, cv; cvta.const.u64 %rd4, %rd4; ld.u32 %r3, [%rd4];\n"
                      "  mov.u64 %rd5, gv; cvta.global.u64 %rd5, %rd5; ld.u32 %r4, [%rd5];\n"
                      "  mov.u64 %rd6, pv; cvta.param.u64 %rd6, %rd6; ld.u32 %r5, [%rd6];\n"
                      "  ld.const.u32 %r6, [cv]; ld.global.u32 %r7, [gv];\n"
                      "  st.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};\n"
                      "  st.u32 [%rd1+16], %r5; st.v2.u32 [%rd1+24], {%r6, %r7};\n"
                      "}\n");
    uint64_t out = sim_buffer(sim, 8);
    sim_arg64(sim, out);
    sim_arg32(sim, 55);
    cr_assert_eq(sim_run(sim, 1, 32), STATUS_OK, "%s", strbuf_text(&sim->report));
    static const uint32_t wanted[] = {11, 22, 33, 44, 55, 0, 33, 44};
    cr_assert_arr_eq(sim_words(sim, out), wanted, sizeof wanted);
    sim_free(sim);
}

Test(memory, initialised_variables_and_lookup) {
    struct sim *sim = sim_load_body(
        ".global .align 4 .u32 tab[4] = {1, 2, 3};\n"
        ".global .align 8 .b64 at[2] = {tab, generic(tab)+8};\n"
        ".const .align 8 .f64 cd = 1.5;\n"
        ".visible .entry k(.param .u64 out) {\n"
        "  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
        "  ld.param.u64 %rd1, [out]; ld.global.u64 %rd2, [at+8]; ld.u32 %r1, [%rd2];\n"
        "  ld.global.u64 %rd2, [at]; ld.u32 %r2, [%rd2+4];\n"
        "  st.global.v2.u32 [%rd1], {%r1, %r2};\n"
        "}\n");
    const uint32_t *words = sim_run_simple(sim, 2, 1, 1);
    cr_assert_eq(words[0], 3);
    cr_assert_eq(words[1], 2);
    uint64_t address, size;
    cr_assert(exec_module_global(sim->module, "cd", &address, &size));
    cr_assert_eq(size, 8);
    double value;
    memcpy(&value, global_memory_host(sim->memory, address, 8), 8);
    cr_assert_eq(value, 1.5);
    cr_assert(exec_module_global(sim->module, "tab", &address, &size));
    cr_assert_eq(size, 16);
    cr_assert_eq(sim_words(sim, address)[3], 0);
    cr_assert_not(exec_module_global(sim->module, "none", &address, &size));
    sim_free(sim);
}

/* Offsets of every kind: broadcast, contiguous, strided, reversed, partial masks. */
Test(memory, access_shapes) {
    for (int shape = 0; shape < 5; shape++) {
        struct sim *sim = sim_load_body(
            ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 step, .param .u32 "
            "lanes)"
            "{\n"
            "  .reg .b32 %r<8>; .reg .b64 %rd<9>; .reg .pred %p; .reg .b16 %h;\n"
            "  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];\n"
            "  ld.param.u32 %r1, [step]; ld.param.u32 %r2, [lanes]; mov.u32 %r3, %tid.x;\n"
            "  mul.lo.s32 %r4, %r3, %r1; add.s32 %r4, %r4, 128;\n"
            "  mul.wide.s32 %rd3, %r4, 4; add.s64 %rd3, %rd2, %rd3;\n"
            "  mul.wide.u32 %rd4, %r3, 16; add.s64 %rd4, %rd1, %rd4;\n"
            "  setp.ge.u32 %p, %r3, %r2;\n"
            "  @%p ret;\n"
            "  ld.global.u32 %r5, [%rd3]; ld.global.u16 %h, [%rd3]; cvt.u32.u16 %r6, %h;\n"
            "  st.global.v2.u32 [%rd4], {%r5, %r6};\n"
            "  ld.global.v2.u32 {%r5, %r6}, [%rd2+64];\n"
            "  st.global.u32 [%rd4+8], %r6;\n"
            "  st.global.b16 [%rd4+12], %h;\n"
            "}\n");
        static const int32_t steps[] = {0, 1, 3, -1, 2};
        uint32_t lanes = shape == 4 ? 13 : 32;
        uint64_t out = sim_buffer(sim, 128), in = sim_buffer(sim, 512);
        for (uint32_t i = 0; i < 512; i++)
            sim_words(sim, in)[i] = i * 0x10001 + 7;
        sim_arg64(sim, out);
        sim_arg64(sim, in);
        sim_arg32(sim, (uint32_t)steps[shape]);
        sim_arg32(sim, lanes);
        cr_assert_eq(sim_run(sim, 1, 32), STATUS_OK, "%s", strbuf_text(&sim->report));
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t at = 128 + lane * (uint32_t)steps[shape], value = at * 0x10001 + 7;
            const uint32_t *got = sim_words(sim, out) + 4 * lane;
            bool runs = lane < lanes;
            cr_expect_eq(got[0], runs ? value : 0);
            cr_expect_eq(got[1], runs ? value & 0xffff : 0);
            cr_expect_eq(got[2], runs ? 17 * 0x10001 + 7 : 0);
            cr_expect_eq(got[3], runs ? value & 0xffff : 0);
        }
        sim_free(sim);
    }
}

Test(memory, undefined_contents_follow_the_seed) {
    uint32_t first[3] = {0};
    for (int run = 0; run < 3; run++) {
        struct sim *sim = sim_load_simple("  .shared .align 4 .b32 s;\n"
                                          "  ld.shared.u32 %r3, [s];\n"
                                          "  st.global.u32 [%rd1], %r3;\n"
                                          "  st.global.u32 [%rd1+4], %r4;\n");
        sim->launch.pattern_seed = run == 2 ? 8 : 7;
        const uint32_t *words = sim_run_simple(sim, 2, 1, 1);
        cr_assert_neq(words[0], 0);
        cr_assert_neq(words[1], 0);
        cr_assert((words[0] == first[0]) == (run == 1));
        cr_assert((words[1] == first[1]) == (run == 1));
        memcpy(first, words, 8);
        sim_free(sim);
    }
}

Test(memory, device_memory) {
    struct global_memory *memory = global_memory_create(1 << 20, 1);
    uint64_t a = global_memory_alloc(memory, 100), b = global_memory_alloc(memory, 5000);
    cr_assert_eq(a % GLOBAL_ALIGN_BYTES, 0);
    cr_assert_eq(b % GLOBAL_ALIGN_BYTES, 0);
    cr_assert_geq(b, a + 100 + 4096);
    cr_assert_not_null(global_memory_host(memory, a, 100));
    cr_assert_null(global_memory_host(memory, a, 101));
    cr_assert_null(global_memory_host(memory, a + 100, 1));
    cr_assert_null(global_memory_find(memory, a - 1));
    cr_assert_eq(global_memory_find(memory, b + 4999)->address, b);
    cr_assert_eq(global_memory_used_bytes(memory), 5100);
    cr_assert_eq(global_memory_alloc(memory, 1 << 20), 0);
    cr_assert_not(global_memory_free(memory, a + 1));
    cr_assert(global_memory_free(memory, a));
    cr_assert_not(global_memory_free(memory, a));
    cr_assert_null(global_memory_find(memory, a));
    /* An old pointer does not fall into a new buffer. */
    uint64_t c = global_memory_alloc(memory, 100);
    cr_assert_gt(c, b);
    cr_assert(global_memory_alloc_at(memory, a, 512));
    cr_assert_not(global_memory_alloc_at(memory, b + 512, 512));
    cr_assert_eq(global_memory_find(memory, a + 511)->address, a);
    global_memory_destroy(memory);
}
