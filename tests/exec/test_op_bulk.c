#include <criterion/criterion.h>
#include <string.h>

#include "kernel_run.h"

/* What a program may and may not rely on between the two halves of a bulk store: under lazy the
 * source is read when .read waits for it and the writes are made when the full wait asks. */

static const char head[] = ".version 9.0\n.target sm_90a\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p_out, .param .u64 p_seen)\n"
                           "{\n"
                           "  .reg .b32 r<4>;\n"
                           "  .reg .b64 out, seen;\n"
                           "  .shared .align 16 .b32 src[4];\n"
                           "  ld.param.u64 out, [p_out]; ld.param.u64 seen, [p_seen];\n"
                           "  mov.u32 r0, 1; mov.u32 r1, 2;\n"
                           "  st.shared.v4.b32 [src], {r0, r0, r0, r0};\n"
                           "  fence.proxy.async.shared::cta;\n"
                           "  cp.async.bulk.global.shared::cta.bulk_group [out], [src], 16;\n"
                           "  cp.async.bulk.commit_group;\n";
static const char look[] = "  ld.global.b32 r2, [out]; st.global.b32 [seen], r2;\n";
static const char overwrite[] = "  st.shared.v4.b32 [src], {r1, r1, r1, r1};\n";
static const char tail[] = "  cp.async.bulk.wait_group 0;\n  ret;\n}\n";

struct result {
    uint32_t out, seen; /* 7 before the launch */
};

static struct result run_parts(const char *wait, const char *first, const char *second,
                               enum completion_policy policy) {
    struct kernel_run run;
    struct strbuf text = {0};
    const uint32_t sevens[4] = {7, 7, 7, 7};
    strbuf_printf(&text, "%s%s%s%s%s", head, wait, first, second, tail);
    kernel_open(&run, 90, strbuf_text(&text));
    uint64_t params[2] = {kernel_alloc(&run, sevens, sizeof sevens),
                          kernel_alloc(&run, sevens, sizeof sevens)};
    enum fault_kind kind =
        kernel_launch(&run, "k", (struct kernel_shape){.policy = policy}, params, sizeof params);
    cr_assert_eq(kind, FAULT_NONE, "%s", strbuf_text(&run.report));
    struct result result;
    memcpy(&result.out, kernel_bytes(&run, params[0], 4), 4);
    memcpy(&result.seen, kernel_bytes(&run, params[1], 4), 4);
    kernel_close(&run);
    strbuf_free(&text);
    return result;
}

Test(op_bulk, the_source_may_change_after_a_read_wait) {
    static const char wait[] = "  cp.async.bulk.wait_group.read 0;\n";
    static const enum completion_policy policies[] = {POLICY_EAGER, POLICY_LAZY, POLICY_RANDOM};
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(run_parts(wait, overwrite, "", policies[i]).out, 1);
}

Test(op_bulk, without_a_wait_lazy_stores_what_came_later) {
    cr_assert_eq(run_parts("", overwrite, "", POLICY_EAGER).out, 1);
    cr_assert_eq(run_parts("", overwrite, "", POLICY_LAZY).out, 2);
}

Test(op_bulk, a_read_wait_does_not_wait_for_the_writes) {
    static const char wait[] = "  cp.async.bulk.wait_group.read 0;\n";
    struct result lazy = run_parts(wait, look, "", POLICY_LAZY);
    cr_assert_eq(lazy.seen, 7);
    cr_assert_eq(lazy.out, 1);
    cr_assert_eq(run_parts(wait, look, "", POLICY_EAGER).seen, 1);
}

Test(op_bulk, the_full_wait_does) {
    static const char wait[] = "  cp.async.bulk.wait_group 0;\n";
    cr_assert_eq(run_parts(wait, look, overwrite, POLICY_LAZY).seen, 1);
    cr_assert_eq(run_parts(wait, look, overwrite, POLICY_LAZY).out, 1);
}
