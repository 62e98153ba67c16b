/* wmma through PTX: products out of memory against tests/oracle/mma-arith/hw-*-wmma-*, loads and
 * stores against tests/oracle/warp/hw-H200-wmma-layouts.csv.gz, and what is refused or faults. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"
#include "strbuf.h"
#include "support.h"

enum { LANES = 32, SIDE = 16, MEMORY_BYTES = 16384 };

static void list(struct strbuf *text, char name, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(text, "%s%%%c%u", i == 0 ? "{" : ", ", name, i);
    strbuf_puts(text, "}");
}

static void head(struct strbuf *text, unsigned sm, const char *type) {
    strbuf_printf(text,
                  ".version 9.0\n.target sm_%ua\n.address_size 64\n"
                  ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 "
                  "p3) {\n  .reg .b64 %%p<4>, %%q, %%off;\n  .reg .b32 %%lane, %%cta, %%t, %%w, "
                  "%%s;\n  .reg .pred %%more;\n  .reg .%s %%a<8>, %%b<8>, %%c<8>, %%d<8>;\n"
                  "  .shared .align 1024 .b8 sm[%d];\n"
                  "  mov.u32 %%lane, %%tid.x;\n  mov.u32 %%cta, %%ctaid.x;\n",
                  sm, type, MEMORY_BYTES);
    for (unsigned i = 0; i < 4; i++)
        strbuf_printf(text, "  ld.param.u64 %%p%u, [p%u];\n", i, i);
}

/* ---- products ---- */

struct product {
    unsigned sm;
    const char *file, *shape, *types; /* behind the shape, as wmma.mma has them */
    const char *ab, *acc;
    unsigned k, digits, ab_registers, acc_registers;
    size_t rows;
};

static const struct product products[] = {
    {90, "H200-wmma-f16-acc_f32", "m16n16k16", "f32.f32", "f16", "f32", 16, 4, 8, 8, 500},
    {90, "H200-wmma-f16-acc_f16", "m16n16k16", "f16.f16", "f16", "f16", 16, 4, 8, 4, 500},
    {90, "H200-wmma-bf16-acc_f32", "m16n16k16", "f32.bf16.bf16.f32", "bf16", "f32", 16, 4, 4, 8,
     500},
    {90, "H200-wmma-tf32-acc_f32", "m16n16k8", "f32.tf32.tf32.f32", "tf32", "f32", 8, 8, 4, 8, 500},
    {100, "B200-wmma-f16-acc_f32", "m16n16k16", "f32.f32", "f16", "f32", 16, 4, 8, 8, 500},
    {100, "B200-wmma-f16-acc_f16", "m16n16k16", "f16.f16", "f16", "f16", 16, 4, 8, 4, 500},
    {100, "B200-wmma-bf16-acc_f32", "m16n16k16", "f32.bf16.bf16.f32", "bf16", "f32", 16, 4, 4, 8,
     500},
    {100, "B200-wmma-tf32-acc_f32", "m16n16k8", "f32.tf32.tf32.f32", "tf32", "f32", 8, 8, 4, 8,
     500},
};

/* Block i multiplies the i-th 16 rows of A by the i-th 16 columns of B. */
static void product_program(struct strbuf *text, const struct product *p) {
    unsigned bytes = p->digits / 2, acc_bytes = strcmp(p->acc, "f16") == 0 ? 2 : 4;
    unsigned sizes[4] = {SIDE * p->k * bytes, SIDE * p->k * bytes, SIDE * SIDE * acc_bytes,
                         SIDE * SIDE * acc_bytes};
    head(text, p->sm, "b32");
    for (unsigned i = 0; i < 4; i++)
        strbuf_printf(text, "  mul.wide.u32 %%off, %%cta, %u;\n  add.u64 %%p%u, %%p%u, %%off;\n",
                      sizes[i], i, i);
    strbuf_printf(text, "  wmma.load.a.sync.aligned.row.%s.global.%s ", p->shape, p->ab);
    list(text, 'a', p->ab_registers);
    strbuf_printf(text, ", [%%p0];\n  wmma.load.b.sync.aligned.col.%s.%s ", p->shape, p->ab);
    list(text, 'b', p->ab_registers);
    strbuf_printf(text, ", [%%p1], %u;\n  wmma.load.c.sync.aligned.row.%s.%s ", p->k, p->shape,
                  p->acc);
    list(text, 'c', p->acc_registers);
    strbuf_printf(text, ", [%%p2], 16;\n  wmma.mma.sync.aligned.row.col.%s.%s ", p->shape,
                  p->types);
    list(text, 'd', p->acc_registers);
    for (unsigned i = 0; i < 3; i++) {
        strbuf_puts(text, ", ");
        list(text, "abc"[i], i < 2 ? p->ab_registers : p->acc_registers);
    }
    strbuf_printf(text, ";\n  wmma.store.d.sync.aligned.row.%s.global.%s [%%p3], ", p->shape,
                  p->acc);
    list(text, 'd', p->acc_registers);
    strbuf_puts(text, ", 16;\n  ret;\n}\n");
}

static void put_elements(uint8_t *out, const char *digits, unsigned per_element) {
    for (; *digits != '\0'; digits += per_element, out += per_element / 2) {
        char text[9] = {0};
        memcpy(text, digits, per_element);
        uint32_t word = (uint32_t)strtoul(text, NULL, 16);
        memcpy(out, &word, per_element / 2);
    }
}

/* Row i of the file is element (i mod 16, i mod 16) of block i / 16. */
static void check_product(const struct product *p) {
    struct strbuf text = {0};
    char path[80];
    unsigned bytes = p->digits / 2, acc_bytes = strcmp(p->acc, "f16") == 0 ? 2 : 4;
    size_t blocks = (p->rows + SIDE - 1) / SIDE, at = 0;
    size_t ab_bytes = blocks * SIDE * p->k * bytes, c_bytes = blocks * SIDE * SIDE * acc_bytes;
    uint8_t *a = calloc(1, ab_bytes), *b = calloc(1, ab_bytes), *c = calloc(1, c_bytes);
    uint32_t *expected = calloc(p->rows, sizeof *expected);
    snprintf(path, sizeof path, "mma-arith/hw-%s.csv.gz", p->file);
    struct csv *csv = csv_open(path);
    for (; csv_next(csv); at++) {
        cr_assert_lt(at, p->rows);
        put_elements(a + at * p->k * bytes, csv_text(csv, 0), p->digits);
        put_elements(b + at * p->k * bytes, csv_text(csv, 1), p->digits);
        uint32_t word = (uint32_t)csv_hex(csv, 2);
        memcpy(c + (at * SIDE + at % SIDE) * acc_bytes, &word, acc_bytes);
        expected[at] = (uint32_t)csv_hex(csv, 3);
    }
    cr_assert_eq(at, p->rows);
    product_program(&text, p);
    struct sim_run run = sim_run_open(p->sm, strbuf_text(&text));
    uint64_t params[4] = {sim_run_buffer(&run, a, ab_bytes), sim_run_buffer(&run, b, ab_bytes),
                          sim_run_buffer(&run, c, c_bytes), sim_run_buffer(&run, NULL, c_bytes)};
    sim_run_ok(&run,
               &(struct sim_run_launch){
                   .grid = (uint32_t)blocks, .block = LANES, .params = params, .param_count = 4});
    const uint8_t *d = sim_run_host(&run, params[3], c_bytes);
    for (size_t i = 0; i < p->rows; i++) {
        uint32_t word = 0;
        memcpy(&word, d + (i * SIDE + i % SIDE) * acc_bytes, acc_bytes);
        cr_assert_eq(word, expected[i], "%s row %zu: %08x, silicon %08x", p->file, i, word,
                     expected[i]);
    }
    report_rows(path, p->rows);
    csv_close(csv);
    sim_run_close(&run);
    strbuf_free(&text);
    free(a);
    free(b);
    free(c);
    free(expected);
}

Test(op_wmma, every_product_of_silicon) {
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        check_product(&products[i]);
}

/* ---- loads and stores ---- */

static unsigned bits_of(const char *type) {
    return strcmp(type, "b1") == 0                                 ? 1
           : strcmp(type, "s4") == 0 || strcmp(type, "u4") == 0    ? 4
           : strcmp(type, "s8") == 0 || strcmp(type, "u8") == 0    ? 8
           : strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? 16
           : strcmp(type, "f64") == 0                              ? 64
                                                                   : 32;
}

/* Copies all of shared memory from or to [%p0]. */
static void copy_shared(struct strbuf *text, bool in) {
    strbuf_printf(text,
                  "  mov.u32 %%w, %%lane;\nL%d:\n  mul.wide.u32 %%off, %%w, 4;\n"
                  "  add.u64 %%q, %%p0, %%off;\n  mov.u32 %%t, sm;\n  mad.lo.u32 %%t, %%w, 4, "
                  "%%t;\n  %s\n  add.u32 %%w, %%w, 32;\n  setp.lt.u32 %%more, %%w, %d;\n"
                  "  @%%more bra L%d;\n  bar.sync 0;\n",
                  in,
                  in ? "ld.global.u32 %s, [%q]; st.shared.u32 [%t], %s;"
                     : "ld.shared.u32 %s, [%t]; st.global.u32 [%q], %s;",
                  MEMORY_BYTES / 4, in);
}

static void move_program(struct strbuf *text, const struct csv *csv) {
    unsigned registers = (unsigned)csv_int(csv, 6);
    bool load = strcmp(csv_text(csv, 0), "load") == 0;
    const char *space = strcmp(csv_text(csv, 5), "generic") == 0 ? "" : csv_text(csv, 5);
    bool shared = strcmp(space, ".shared") == 0;
    unsigned bytes = bits_of(csv_text(csv, 4)) == 64 ? 8 : 4;
    head(text, 90, bytes == 8 ? "f64" : "b32");
    if (shared)
        copy_shared(text, true);
    strbuf_printf(text,
                  "  mov.u32 %%t, sm;\n  mul.wide.u32 %%off, %%lane, %u;\n"
                  "  add.u64 %%q, %%p1, %%off;\n",
                  bytes);
    for (unsigned i = 0; !load && i < registers; i++)
        strbuf_printf(text, "  ld.global.b%u %%d%u, [%%q+%u];\n", 8 * bytes, i, i * LANES * bytes);
    strbuf_printf(text, "  wmma.%s.%s.sync.aligned.%s.%s%s.%s ", csv_text(csv, 0),
                  load ? csv_text(csv, 1) : "d", csv_text(csv, 2), csv_text(csv, 3), space,
                  csv_text(csv, 4));
    if (load) {
        list(text, 'd', registers);
        strbuf_printf(text, ", [%s]", shared ? "sm" : "%p0");
    } else {
        strbuf_printf(text, "[%s], ", shared ? "%t" : "%p0");
        list(text, 'd', registers);
    }
    strbuf_printf(text, ", %lld;\n", (long long)csv_int(csv, 7));
    for (unsigned i = 0; load && i < registers; i++)
        strbuf_printf(text, "  st.global.b%u [%%q+%u], %%d%u;\n", 8 * bytes, i * LANES * bytes, i);
    if (shared && !load) {
        strbuf_puts(text, "  bar.sync 0;\n");
        copy_shared(text, false);
    }
    strbuf_puts(text, "  ret;\n}\n");
}

static uint64_t element_at(const uint8_t *bytes, size_t index, unsigned bits) {
    uint64_t word = 0;
    memcpy(&word, bytes + index * bits / 8, bits < 8 ? 1 : bits / 8);
    return bits < 8 ? word >> (index * bits % 8) & ((1u << bits) - 1) : word;
}

/* Number of a register element in memory order: registers lie [register][lane]. */
static void check_move(const struct csv *csv, const uint8_t *memory, const uint8_t *registers,
                       const uint8_t *before) {
    unsigned bits = bits_of(csv_text(csv, 4));
    bool load = strcmp(csv_text(csv, 0), "load") == 0;
    static uint8_t touched[MEMORY_BYTES];
    memset(touched, 0, sizeof touched);
    size_t count = 0;
    for (const char *text = csv_text(csv, 8); *text != '\0'; count++) {
        char *end;
        size_t place = strtoul(text, &end, 10), number = count;
        if (!load)
            number = strtoul(end + 1, &end, 10);
        cr_assert_eq(element_at(registers, number, bits), element_at(memory, place, bits),
                     "%s %s %s %s %s%s: register element %zu, memory element %zu", csv_text(csv, 0),
                     csv_text(csv, 1), csv_text(csv, 2), csv_text(csv, 3), csv_text(csv, 4),
                     csv_text(csv, 5), number, place);
        for (size_t byte = place * bits / 8; !load && byte < (place + 1) * bits / 8; byte++)
            touched[byte] = 1;
        text = *end == ' ' ? end + 1 : end;
    }
    cr_assert_gt(count, 0);
    for (size_t byte = 0; byte < MEMORY_BYTES; byte++)
        cr_assert(touched[byte] || memory[byte] == before[byte]);
}

Test(op_wmma, every_load_and_store_of_an_h200) {
    static uint8_t memory[MEMORY_BYTES], registers[8 * LANES * 8];
    struct csv *csv = csv_open("warp/hw-H200-wmma-layouts.csv.gz");
    for (size_t i = 0; i < MEMORY_BYTES; i++)
        memory[i] = (uint8_t)((i * 2654435761u) >> 13);
    for (size_t i = 0; i < sizeof registers; i++)
        registers[i] = (uint8_t)((i * 2246822519u) >> 11);
    while (csv_next(csv)) {
        struct strbuf text = {0};
        move_program(&text, csv);
        struct sim_run run = sim_run_open(90, strbuf_text(&text));
        uint64_t params[4] = {sim_run_buffer(&run, memory, sizeof memory),
                              sim_run_buffer(&run, registers, sizeof registers), 0, 0};
        sim_run_ok(&run, &(struct sim_run_launch){
                             .grid = 1, .block = LANES, .params = params, .param_count = 4});
        check_move(csv, sim_run_host(&run, params[0], sizeof memory),
                   sim_run_host(&run, params[1], sizeof registers), memory);
        sim_run_close(&run);
        strbuf_free(&text);
    }
    cr_assert_eq(csv_rows(csv), 342);
    report_rows("warp/hw-H200-wmma-layouts.csv.gz (PTX)", csv_rows(csv));
    csv_close(csv);
}

/* ---- what faults ---- */

static enum fault_kind fault_of(const char *statements) {
    struct strbuf text = {0};
    head(&text, 90, "b32");
    strbuf_printf(&text, "%s\n  ret;\n}\n", statements);
    struct sim_run run = sim_run_open(90, strbuf_text(&text));
    uint64_t params[4] = {sim_run_buffer(&run, NULL, MEMORY_BYTES), 0, 0, 0};
    enum status status = sim_run_launch(
        &run,
        &(struct sim_run_launch){.grid = 1, .block = LANES, .params = params, .param_count = 4});
    enum fault_kind kind = status == STATUS_OK ? FAULT_NONE : run.fault.kind;
    sim_run_close(&run);
    strbuf_free(&text);
    return kind;
}

#define LOAD_A(rest) "  wmma.load.a.sync.aligned." rest " {%a0, %a1, %a2, %a3}, "
Test(op_wmma, alignment_is_that_of_the_machine_code) {
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.bf16") "[%p0+4], 18;"), FAULT_NONE);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.bf16") "[%p0+2], 16;"), FAULT_MISALIGNED_ADDRESS);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.bf16") "[%p0], 17;"), FAULT_MISALIGNED_ADDRESS);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.shared.bf16") "[sm+16], 24;"), FAULT_NONE);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.shared.bf16") "[sm+8], 24;"),
                 FAULT_MISALIGNED_ADDRESS);
    cr_expect_eq(fault_of("  wmma.load.a.sync.aligned.col.m16n16k16.s8 {%a0, %a1}, [%p0+1], 19;"),
                 FAULT_NONE);
    cr_expect_eq(fault_of("  wmma.load.a.sync.aligned.row.m16n16k16.s8 {%a0, %a1}, [%p0+1], 16;"),
                 FAULT_MISALIGNED_ADDRESS);
}

Test(op_wmma, undefined_uses_are_faults) {
    cr_expect_eq(fault_of("  setp.eq.u32 %more, %lane, 3;\n  @%more exit;\n" LOAD_A(
                     "row.m16n16k16.bf16") "[%p0], 16;"),
                 FAULT_UNSUPPORTED);
    cr_expect_eq(fault_of("  setp.ne.u32 %more, %lane, 3;\n  @%more" LOAD_A(
                     "row.m16n16k16.bf16") "[%p0], 16;"),
                 FAULT_UNSUPPORTED);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.bf16") "[%p0], %lane;"), FAULT_UNSUPPORTED);
    cr_expect_eq(fault_of(LOAD_A("row.m16n16k16.bf16") "[%p0+16000], 16;"), FAULT_ILLEGAL_ADDRESS);
}
