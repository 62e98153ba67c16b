/* Family approx: the approximate functions over whole domains. A case is one thread, which runs a
 * function over OPERANDS operands and gives a hash of the results, so that a batch looks at 2^24
 * operands and 256 batches of a function at every word of 32 bits.
 *
 * Batch b is function b / 256, piece b % 256. Operand number n (0 to 2^24-1) of piece p is the word
 * n * 256 + p: each piece has every sign and exponent. Two-operand functions take a second word
 * mixed from the first and from the piece, close to it in exponent in every other piece; f64
 * functions take n * 256 + p as the upper word.
 *
 * A GPU, which needs a second for them, runs all pieces of a function at once, and they are kept.
 */
#include <stdio.h>
#include <string.h>

#include "conform_families.h"
#include "strbuf.h"

enum { CASES = CONFORM_APPROX_CASES, THREADS = 32, OPERANDS = (1 << 24) / CASES };

struct function {
    const char *ptx;
    unsigned operands, bits;
};
static const struct function functions[] = {
    {"sin.approx.f32", 1, 32},     {"cos.approx.f32", 1, 32},      {"tanh.approx.f32", 1, 32},
    {"sin.approx.ftz.f32", 1, 32}, {"cos.approx.ftz.f32", 1, 32},  {"rcp.approx.f32", 1, 32},
    {"rcp.approx.ftz.f32", 1, 32}, {"rsqrt.approx.f32", 1, 32},    {"rsqrt.approx.ftz.f32", 1, 32},
    {"sqrt.approx.f32", 1, 32},    {"sqrt.approx.ftz.f32", 1, 32}, {"lg2.approx.f32", 1, 32},
    {"lg2.approx.ftz.f32", 1, 32}, {"ex2.approx.f32", 1, 32},      {"ex2.approx.ftz.f32", 1, 32},
    {"div.approx.f32", 2, 32},     {"div.approx.ftz.f32", 2, 32},  {"div.full.f32", 2, 32},
    {"div.full.ftz.f32", 2, 32},   {"rcp.approx.ftz.f64", 1, 64},  {"rsqrt.approx.ftz.f64", 1, 64},
    {"rsqrt.approx.f64", 1, 64},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

enum { PIECES = 256, PIECE_BYTES = CASES * CONFORM_APPROX_BYTES };

static const struct function *function_of(const struct conform_batch *batch) {
    return &functions[batch->number / PIECES % FUNCTIONS];
}

/* The word that is mixed into %y for a second operand: upper bits of a product; in odd pieces with
 * the exponent of x or one beside it. */
static void put_second_operand(struct strbuf *out) {
    strbuf_puts(out, "  mul.lo.u32 %y, %x, 0x9e3779b1;\n  add.u32 %y, %y, %piece;\n"
                     "  shr.u32 %r, %y, 15;\n  xor.b32 %y, %y, %r;\n"
                     "  mul.lo.u32 %y, %y, 0x85ebca77;\n  shr.u32 %r, %y, 13;\n"
                     "  xor.b32 %y, %y, %r;\n");
    strbuf_puts(out, "  and.b32 %r, %x, 0x7f000000;\n  and.b32 %m, %y, 0x80ffffff;\n"
                     "  or.b32 %r, %r, %m;\n  selp.b32 %y, %r, %y, %near;\n");
}

/* A count ends the loop, not the operand: ptxas 13.0 takes it that a counter which is compared for
 * being unequal does not pass 7fffffff, and makes a loop without end of one that does. */
static void program(struct strbuf *out, const struct function *f) {
    bool wide = f->bits == 64;
    strbuf_printf(
        out,
        ".version 8.6\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p_piece, .param .u64 p_out)\n{\n  .reg .pred %%p, %%near;\n"
        "  .reg .b32 %%i, %%x, %%y, %%r, %%h, %%g, %%m, %%piece, %%left;\n"
        "  .reg .b64 %%out, %%dx, %%dy;\n  ld.param.u64 %%out, [p_piece];\n"
        "  ld.global.u32 %%piece, [%%out];\n  ld.param.u64 %%out, [p_out];\n"
        "  mov.u32 %%r, %%tid.x;\n  mov.u32 %%i, %%ctaid.x;\n"
        "  mad.lo.u32 %%i, %%i, %d, %%r;\n  mad.wide.u32 %%out, %%i, 8, %%out;\n"
        "  div.u32 %%r, %%i, %d;\n  add.u32 %%piece, %%piece, %%r;\n  rem.u32 %%i, %%i, %d;\n"
        "  and.b32 %%r, %%piece, 1;\n  setp.ne.u32 %%near, %%r, 0;\n"
        "  mad.lo.u32 %%x, %%i, %u, %%piece;\n"
        "  mov.u32 %%left, %u;\n  mul.lo.u32 %%piece, %%piece, 0x632be5ab;\n"
        "  mov.u32 %%h, 0;\n  mov.u32 %%g, 0;\nLOOP:\n",
        THREADS, CASES, CASES, OPERANDS * 256u, (unsigned)OPERANDS);
    if (f->operands == 2)
        put_second_operand(out);
    if (wide) {
        strbuf_puts(out, "  mul.lo.u32 %y, %x, 0x9e3779b1;\n  mov.b64 %dx, {%y, %x};\n");
        strbuf_printf(out, "  %s %%dy, %%dx;\n", f->ptx);
        strbuf_puts(out, "  mov.b64 {%y, %r}, %dy;\n  xor.b32 %g, %g, %y;\n"
                         "  mul.lo.u32 %g, %g, 0x01000193;\n");
    } else {
        strbuf_printf(out, "  %s %%r, %%x%s;\n", f->ptx, f->operands == 2 ? ", %y" : "");
        strbuf_puts(out, "  add.u32 %g, %g, %r;\n");
    }
    strbuf_puts(out, "  xor.b32 %h, %h, %r;\n  mul.lo.u32 %h, %h, 0x01000193;\n"
                     "  add.u32 %x, %x, 256;\n  sub.u32 %left, %left, 1;\n"
                     "  setp.ne.u32 %p, %left, 0;\n  @%p bra LOOP;\n"
                     "  st.global.v2.u32 [%out], {%h, %g};\n  ret;\n}\n");
}

/* Runs `count` pieces from `first` on. */
static bool run_pieces(struct conform_batch *batch, const struct function *f, uint32_t first,
                       uint32_t count, uint8_t *results, struct host_error *error) {
    struct strbuf text = {0};
    program(&text, f);
    struct conform_launch launch = {
        .ptx = strbuf_text(&text),
        .entry = "k",
        .grid = CASES / THREADS * count,
        .block = THREADS,
        .buffers = {{.from = &first, .bytes = sizeof first},
                    {.to = results, .bytes = PIECE_BYTES * count}},
        .buffer_count = 2,
    };
    bool good = conform_run_launch(batch->driver, &launch, error);
    strbuf_free(&text);
    return good;
}

bool conform_approx_run(struct conform_batch *batch, struct host_error *error) {
    static struct {
        const struct function *function;
        uint8_t results[PIECES * PIECE_BYTES];
    } whole; /* what a GPU gave; a process has one at most */
    const struct function *f = function_of(batch);
    const uint32_t piece = (uint32_t)(batch->number % PIECES);
    bool simulator = driver_extension(batch->driver, "siltwinSimSetRun") != NULL;
    if (simulator)
        return run_pieces(batch, f, piece, 1, batch->results, error);
    if (whole.function != f) {
        whole.function = NULL;
        if (!run_pieces(batch, f, 0, PIECES, whole.results, error))
            return false;
        whole.function = f;
    }
    memcpy(batch->results, whole.results + piece * PIECE_BYTES, PIECE_BYTES);
    return true;
}

void conform_approx_describe(const struct conform_batch *batch, uint32_t index, char *text,
                             size_t size) {
    unsigned piece = (unsigned)(batch->number % PIECES);
    snprintf(text, size, "%s, %d operands from %08x on, 256 apart", function_of(batch)->ptx,
             OPERANDS, index * OPERANDS * 256u + piece);
}
