/* wgmma through PTX: every row of tests/oracle/mma-arith/hw-H200-all.csv.gz that an H200 answered
 * by wgmma, with A from shared memory and from registers, and the rules of the warpgroup.
 *
 * One warpgroup takes eight rows of the file: row i of A of the file is row 9*i of the tile, its
 * column is column i of B, so the answer is D(9*i, i). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"
#include "support.h"

enum { MAX_ROWS = 2200, ROW_BYTES = 32, MAX_FORMS = 32, TEXT_BYTES = 16384 };

struct form_rows {
    char form[64]; /* wgmma.m64n8k16.f32.f16.f16 */
    size_t count;
    uint8_t a[MAX_ROWS][ROW_BYTES], b[MAX_ROWS][ROW_BYTES];
    uint32_t c[MAX_ROWS], d[MAX_ROWS];
};

static const char *const head =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 as, .param .u64 bs, .param .u64 cs, .param .u64 ds)\n"
    ".reqntid 128\n{\n"
    "  .shared .align 1024 .b8 a_tile[2048];\n  .shared .align 1024 .b8 b_tile[256];\n"
    "  .reg .pred %p, %q;\n  .reg .b32 %t, %l, %w, %i, %at, %word, %row, %col, %nine, %first;\n"
    "  .reg .b32 %a<4>, %d<4>, %v;\n  .reg .b64 %ptr, %off, %da, %db;\n"
    "  mov.u32 %t, %tid.x;\n  and.b32 %l, %t, 31;\n  shr.u32 %w, %t, 5;\n"
    "  mov.u32 %first, %ctaid.x;\n  shl.b32 %first, %first, 3;\n"
    /* both tiles are zero but for the eight rows */
    "  mov.u32 %at, a_tile;\n  mad.lo.u32 %at, %t, 16, %at;\n"
    "  st.shared.v4.u32 [%at], {0, 0, 0, 0};\n"
    "  bar.sync 0;\n  setp.ge.u32 %p, %t, 64;\n  @%p bra FILLED;\n"
    /* thread t: word t % 8 of row t / 8, of A to row 9 * (t / 8), of B to row t / 8 */
    "  shr.u32 %row, %t, 3;\n  and.b32 %col, %t, 7;\n"
    "  add.u32 %i, %first, %row;\n  mad.lo.u32 %i, %i, 8, %col;\n  mul.wide.u32 %off, %i, 4;\n"
    "  ld.param.u64 %ptr, [as];\n  add.u64 %ptr, %ptr, %off;\n  ld.global.u32 %word, [%ptr];\n"
    "  mul.lo.u32 %nine, %row, 9;\n  shl.b32 %i, %nine, 4;\n"
    "  shr.u32 %at, %col, 2;\n  mad.lo.u32 %i, %at, 1024, %i;\n"
    "  and.b32 %v, %col, 3;\n  mad.lo.u32 %i, %v, 4, %i;\n"
    "  mov.u32 %at, a_tile;\n  add.u32 %at, %at, %i;\n  st.shared.u32 [%at], %word;\n"
    "  ld.param.u64 %ptr, [bs];\n  add.u64 %ptr, %ptr, %off;\n  ld.global.u32 %word, [%ptr];\n"
    "  shr.u32 %at, %col, 2;\n  shl.b32 %at, %at, 7;\n  mad.lo.u32 %at, %row, 16, %at;\n"
    "  mad.lo.u32 %at, %v, 4, %at;\n  mov.u32 %i, b_tile;\n  add.u32 %at, %at, %i;\n"
    "  st.shared.u32 [%at], %word;\n"
    "FILLED:\n  fence.proxy.async;\n  bar.sync 0;\n"
    /* descriptors without swizzle: A LBO 1024, B LBO 128, SBO 128 */
    "  mov.u32 %at, a_tile;\n  shr.u32 %at, %at, 4;\n  cvt.u64.u32 %da, %at;\n"
    "  or.b64 %da, %da, 0x0000000800400000;\n"
    "  mov.u32 %at, b_tile;\n  shr.u32 %at, %at, 4;\n  cvt.u64.u32 %db, %at;\n"
    "  or.b64 %db, %db, 0x0000000800080000;\n";

/* For element `i` of D: %p is whether it is on the diagonal, %off the place of its answer. */
static size_t diagonal(char *out, size_t size, unsigned i) {
    return (size_t)snprintf(out, size,
                            "  shr.u32 %%row, %%l, 2;\n  mad.lo.u32 %%row, %%w, 16, %%row;\n"
                            "  add.u32 %%row, %%row, %u;\n  and.b32 %%col, %%l, 3;\n"
                            "  mad.lo.u32 %%col, %%col, 2, %u;\n  mul.lo.u32 %%nine, %%col, 9;\n"
                            "  setp.eq.u32 %%p, %%row, %%nine;\n"
                            "  add.u32 %%v, %%first, %%col;\n  mul.wide.u32 %%off, %%v, 4;\n",
                            8 * (i / 2 % 2), i % 2);
}

static void program(char *text, size_t size, const char *form, bool a_in_registers) {
    bool half = strstr(form, ".f16.f16.f16") || strstr(form, "k32.f16.");
    bool integer = strstr(form, ".s32.") != NULL;
    bool trans = strstr(form, "f16.f16") != NULL || strstr(form, "bf16") != NULL;
    size_t at = (size_t)snprintf(text, size, "%s", head);
    for (unsigned q = 0; q < 4; q++) /* the same place for every element size */
        at += (size_t)snprintf(text + at, size - at,
                               "  shr.u32 %%row, %%l, 2;\n  mad.lo.u32 %%row, %%w, 16, %%row;\n"
                               "  add.u32 %%row, %%row, %u;\n  and.b32 %%col, %%l, 3;\n"
                               "  shl.b32 %%col, %%col, 2;\n  mad.lo.u32 %%v, %%row, 16, %%col;\n"
                               "  mov.u32 %%at, a_tile;\n  add.u32 %%at, %%at, %%v;\n"
                               "  ld.shared.u32 %%a%u, [%%at+%u];\n",
                               8 * (q % 2), q, 1024 * (q / 2));
    for (unsigned i = 0; i < 4; i++)
        at += (size_t)snprintf(text + at, size - at, "  mov.u32 %%d%u, 0;\n", i);
    for (unsigned i = 0; i < 4; i++) {
        at += diagonal(text + at, size - at, i);
        at += (size_t)snprintf(
            text + at, size - at,
            "  mov.u32 %%word, 0;\n  ld.param.u64 %%ptr, [cs];\n"
            "  add.u64 %%ptr, %%ptr, %%off;\n  @%%p ld.global.u32 %%word, [%%ptr];\n");
        if (half)
            at +=
                (size_t)snprintf(text + at, size - at,
                                 "  shl.b32 %%word, %%word, %u;\n  or.b32 %%d%u, %%d%u, %%word;\n",
                                 16 * (i % 2), i / 2, i / 2);
        else
            at += (size_t)snprintf(text + at, size - at, "  mov.u32 %%d%u, %%word;\n", i);
    }
    const char *shape = form + strlen("wgmma.");
    at += (size_t)snprintf(text + at, size - at,
                           "  wgmma.fence.sync.aligned;\n"
                           "  wgmma.mma_async.sync.aligned.%s %s, %s, %%db, 1%s%s;\n"
                           "  wgmma.commit_group.sync.aligned;\n"
                           "  wgmma.wait_group.sync.aligned 0;\n",
                           shape, half ? "{%d0, %d1}" : "{%d0, %d1, %d2, %d3}",
                           a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%da", integer ? "" : ", 1, 1",
                           !trans           ? ""
                           : a_in_registers ? ", 0"
                                            : ", 0, 0");
    for (unsigned i = 0; i < 4; i++) {
        at += diagonal(text + at, size - at, i);
        at += (size_t)snprintf(text + at, size - at,
                               "  ld.param.u64 %%ptr, [ds];\n  add.u64 %%ptr, %%ptr, %%off;\n");
        if (half)
            at +=
                (size_t)snprintf(text + at, size - at,
                                 "  shr.u32 %%word, %%d%u, %u;\n  and.b32 %%word, %%word, 65535;\n",
                                 i / 2, 16 * (i % 2));
        else
            at += (size_t)snprintf(text + at, size - at, "  mov.u32 %%word, %%d%u;\n", i);
        at += (size_t)snprintf(text + at, size - at, "  @%%p st.global.u32 [%%ptr], %%word;\n");
    }
    snprintf(text + at, size - at, "  ret;\n}\n");
}

static void check_form(const struct form_rows *form, bool a_in_registers) {
    static char text[TEXT_BYTES];
    program(text, sizeof text, form->form, a_in_registers);
    struct sim_run run = sim_run_open(90, text);
    size_t padded = (form->count + 7) / 8 * 8;
    uint64_t params[4] = {sim_run_buffer(&run, form->a, padded * ROW_BYTES),
                          sim_run_buffer(&run, form->b, padded * ROW_BYTES),
                          sim_run_buffer(&run, form->c, padded * 4),
                          sim_run_buffer(&run, NULL, padded * 4)};
    sim_run_ok(&run,
               &(struct sim_run_launch){.grid = (uint32_t)padded / 8,
                                        .block = 128,
                                        .params = params,
                                        .param_count = 4,
                                        .policy = a_in_registers ? POLICY_LAZY : POLICY_EAGER});
    const uint32_t *d = sim_run_host(&run, params[3], padded * 4);
    for (size_t row = 0; row < form->count; row++)
        cr_assert_eq(d[row], form->d[row], "%s, A in %s, row %zu: %08x, silicon %08x", form->form,
                     a_in_registers ? "registers" : "shared memory", row, d[row], form->d[row]);
    sim_run_close(&run);
}

/* "af57c225...": elements of `digits` hex digits, the first one lowest in memory. */
static void read_bytes(const char *text, unsigned digits, uint8_t bytes[ROW_BYTES]) {
    memset(bytes, 0, ROW_BYTES);
    for (unsigned i = 0; *text != '\0'; text += digits, i++) {
        char element[9] = {0};
        strncpy(element, text, digits);
        uint32_t word = (uint32_t)strtoul(element, NULL, 16);
        cr_assert_leq((i + 1) * digits / 2, ROW_BYTES);
        memcpy(bytes + i * digits / 2, &word, digits / 2);
    }
}

static unsigned digits_of(const char *form) {
    return strstr(form, "tf32") ? 8 : strstr(form, "f16.f16") || strstr(form, "bf16") ? 4 : 2;
}

Test(op_wgmma, every_row_of_an_h200) {
    static struct form_rows forms[MAX_FORMS];
    size_t form_count = 0, checked = 0, others = 0;
    struct csv *csv = csv_open("mma-arith/hw-H200-all.csv.gz");
    while (csv_next(csv)) {
        const char *name = csv_text(csv, 0);
        if (strncmp(name, "wgmma.", 6) != 0) {
            others++; /* mma.sync: test_op_mma_sync */
            continue;
        }
        size_t i = 0;
        while (i < form_count && strcmp(forms[i].form, name) != 0)
            i++;
        cr_assert_lt(i, MAX_FORMS);
        if (i == form_count)
            snprintf(forms[form_count++].form, sizeof forms[i].form, "%s", name);
        struct form_rows *form = &forms[i];
        size_t row = form->count++;
        cr_assert_lt(row, MAX_ROWS);
        read_bytes(csv_text(csv, 3), digits_of(name), form->a[row]);
        read_bytes(csv_text(csv, 4), digits_of(name), form->b[row]);
        form->c[row] = (uint32_t)csv_hex(csv, 5);
        form->d[row] = (uint32_t)csv_hex(csv, 6);
    }
    for (size_t i = 0; i < form_count; i++) {
        check_form(&forms[i], false);
        check_form(&forms[i], true);
        checked += forms[i].count;
    }
    cr_assert_eq(checked + others, csv_rows(csv));
    cr_assert_eq(checked, 20128);
    report_rows("mma-arith/hw-H200-all.csv.gz (wgmma, through PTX)", checked);
    csv_close(csv);
}

/* A warp of the group that never comes is a hang, not an answer. */
Test(op_wgmma, a_missing_warp_hangs) {
    struct sim_run run = sim_run_open(
        90, ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() .reqntid 128 {\n"
            "  .shared .align 1024 .b8 tile[2048];\n  .reg .f32 %d<4>;\n  .reg .b64 %da;\n"
            "  .reg .b32 %t;\n  .reg .pred %p;\n"
            "  mov.u32 %t, tile;\n  shr.u32 %t, %t, 4;\n  cvt.u64.u32 %da, %t;\n"
            "  or.b64 %da, %da, 0x0000000800400000;\n"
            "  mov.u32 %t, %tid.x;\n  setp.ge.u32 %p, %t, 96;\n  @%p bra DONE;\n"
            "  wgmma.fence.sync.aligned;\n"
            "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %da, %da, "
            "0, 1, 1, 0, 0;\n"
            "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
            "DONE:\n  ret;\n}\n");
    enum status status =
        sim_run_launch(&run, &(struct sim_run_launch){.grid = 1, .block = 128, .params = NULL});
    cr_assert_eq(status, STATUS_INVALID);
    cr_assert_eq(run.fault.kind, FAULT_HANG, "%s", run.fault.reason);
    sim_run_close(&run);
}
