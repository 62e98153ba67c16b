/* Forms of sm_100 have no silicon rows yet. Each is compared with the sequence of older
 * instructions that the manual says it equals, over edges and random words, inside one kernel. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "num_words.h"
#include "sim_run.h"
#include "support.h"

enum { THREADS = 4096, BLOCK = 256, OPERANDS = 3, ROW_WORDS = 8 };

/* Three 64-bit operands a row at words 0..2 of eight; `one` and `many` leave 64-bit results in %o
 * and %m, stored at words 3 and 4. */
static void compare(const char *one, const char *many, unsigned element_bits, unsigned mantissa) {
    struct strbuf text = {0};
    strbuf_printf(
        &text,
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 rows)\n{\n.reg .b64 %%a, %%b, %%c, %%o, %%m, %%at, %%i;\n"
        ".reg .f32 %%al, %%ah, %%bl, %%bh, %%cl, %%ch, %%ol, %%oh, %%x, %%y;\n"
        ".reg .b16 %%ha, %%hb, %%hx;\n.reg .b32 %%t, %%s, %%n;\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, %%ctaid.x;\nmov.u32 %%n, %%ntid.x;\n"
        "mad.lo.u32 %%t, %%s, %%n, %%t;\nmul.wide.u32 %%i, %%t, %d;\nld.param.u64 %%at, [rows];\n"
        "add.u64 %%at, %%at, %%i;\nld.global.b64 %%a, [%%at];\nld.global.b64 %%b, [%%at+8];\n"
        "ld.global.b64 %%c, [%%at+16];\nmov.b64 {%%al, %%ah}, %%a;\nmov.b64 {%%bl, %%bh}, %%b;\n"
        "mov.b64 {%%cl, %%ch}, %%c;\ncvt.u16.u64 %%ha, %%a;\ncvt.u16.u64 %%hb, %%b;\n"
        "mov.b64 %%o, 0;\nmov.b64 %%m, 1;\n%s\n%s\n"
        "st.global.b64 [%%at+24], %%o;\nst.global.b64 [%%at+32], %%m;\nret;\n}\n",
        ROW_WORDS * 8, one, many);
    static uint64_t rows[THREADS][ROW_WORDS];
    for (uint64_t i = 0; i < THREADS; i++)
        for (uint64_t k = 0; k < OPERANDS; k++) {
            rows[i][k] = 0;
            for (unsigned shift = 0; shift < 64; shift += element_bits)
                rows[i][k] |= num_test_word((i * OPERANDS + k) * 4 + shift, element_bits, mantissa)
                              << shift;
        }
    struct sim_run sim = sim_run_open(100, strbuf_text(&text));
    const uint64_t address = sim_run_buffer(&sim, rows, sizeof rows);
    const struct sim_run_launch launch = {
        .grid = THREADS / BLOCK, .block = BLOCK, .params = &address, .param_count = 1};
    sim_run_ok(&sim, &launch);
    memcpy(rows, sim_run_host(&sim, address, sizeof rows), sizeof rows);
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(rows[i][3], rows[i][4], "%s a %llx b %llx c %llx: %llx, %s gives %llx", one,
                     (unsigned long long)rows[i][0], (unsigned long long)rows[i][1],
                     (unsigned long long)rows[i][2], (unsigned long long)rows[i][3], many,
                     (unsigned long long)rows[i][4]);
    sim_run_close(&sim);
    strbuf_free(&text);
}

static const char *const rounds[] = {"rn", "rz", "rm", "rp"};

Test(op_float_packed, f32x2_is_two_f32) {
    char one[128], many[256];
    for (size_t r = 0; r < 4; r++)
        for (int ftz = 0; ftz < 2; ftz++) {
            static const char *const ops[] = {"add", "sub", "mul"};
            const char *mode = ftz ? ".ftz" : "";
            for (size_t i = 0; i < 3; i++) {
                snprintf(one, sizeof one, "%s.%s%s.f32x2 %%o, %%a, %%b;", ops[i], rounds[r], mode);
                snprintf(many, sizeof many,
                         "%s.%s%s.f32 %%ol, %%al, %%bl; %s.%s%s.f32 %%oh, %%ah, %%bh; "
                         "mov.b64 %%m, {%%ol, %%oh};",
                         ops[i], rounds[r], mode, ops[i], rounds[r], mode);
                compare(one, many, 32, 23);
            }
            snprintf(one, sizeof one, "fma.%s%s.f32x2 %%o, %%a, %%b, %%c;", rounds[r], mode);
            snprintf(many, sizeof many,
                     "fma.%s%s.f32 %%ol, %%al, %%bl, %%cl; fma.%s%s.f32 %%oh, %%ah, %%bh, %%ch; "
                     "mov.b64 %%m, {%%ol, %%oh};",
                     rounds[r], mode, rounds[r], mode);
            compare(one, many, 32, 23);
        }
}

Test(op_float_packed, mixed_precision_widens_exactly) {
    static const char *const types[] = {"f16", "bf16"};
    static const unsigned mantissas[] = {10, 7};
    char one[128], many[256];
    for (size_t t = 0; t < 2; t++)
        for (size_t r = 0; r < 4; r++) {
            const char *sat = r % 2 ? ".sat" : "";
            for (int subtract = 0; subtract < 2; subtract++) {
                const char *op = subtract ? "sub" : "add";
                snprintf(one, sizeof one,
                         "%s.%s%s.f32.%s %%x, %%ha, %%cl; mov.b64 %%o, {%%x, %%x};", op, rounds[r],
                         sat, types[t]);
                snprintf(many, sizeof many,
                         "cvt.f32.%s %%y, %%ha; %s.%s%s.f32 %%y, %%y, %%cl; "
                         "mov.b64 %%m, {%%y, %%y};",
                         types[t], op, rounds[r], sat);
                compare(one, many, 16, mantissas[t]);
            }
            snprintf(one, sizeof one,
                     "fma.%s%s.f32.%s %%x, %%ha, %%hb, %%cl; mov.b64 %%o, {%%x, %%x};", rounds[r],
                     sat, types[t]);
            snprintf(many, sizeof many,
                     "cvt.f32.%s %%y, %%ha; cvt.f32.%s %%x, %%hb; "
                     "fma.%s%s.f32 %%y, %%y, %%x, %%cl; mov.b64 %%m, {%%y, %%y};",
                     types[t], types[t], rounds[r], sat);
            compare(one, many, 16, mantissas[t]);
        }
}

Test(op_float_packed, three_operands_fold_from_the_left) {
    static const char *const modes[] = {"", ".ftz", ".NaN", ".ftz.NaN"};
    char one[128], many[256];
    for (size_t i = 0; i < 8; i++) {
        const char *op = i % 2 ? "max" : "min", *mode = modes[i / 2];
        snprintf(one, sizeof one, "%s%s.f32 %%x, %%al, %%bl, %%cl; mov.b64 %%o, {%%x, %%x};", op,
                 mode);
        snprintf(many, sizeof many,
                 "%s%s.f32 %%y, %%al, %%bl; %s%s.f32 %%y, %%y, %%cl; mov.b64 %%m, {%%y, %%y};", op,
                 mode, op, mode);
        compare(one, many, 32, 23);
    }
    compare("max.NaN.abs.f32 %x, %al, %bl, %cl; mov.b64 %o, {%x, %x};",
            "abs.f32 %al, %al; abs.f32 %bl, %bl; abs.f32 %cl, %cl; max.NaN.f32 %y, %al, %bl; "
            "max.NaN.f32 %y, %y, %cl; mov.b64 %m, {%y, %y};",
            32, 23);
}
