#include <criterion/criterion.h>
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
