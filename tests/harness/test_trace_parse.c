/* The trace language: what good statements become, and that every wrong one is one error with its
 * line, its column and what was expected. */
#include "trace_parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char kernel_ptx[] = ".version 8.7\n"
                                 ".target sm_100a\n"
                                 ".address_size 64\n"
                                 ".const .align 4 .b8 scale[16];\n"
                                 ".visible .entry none() { ret; }\n"
                                 ".visible .entry k(.param .u64 p, .param .b32 x, .param .u16 h,\n"
                                 "    .param .align 64 .b8 map[128], .param .align 4 .b8 s[16],\n"
                                 "    .param .align 8 .b8 unaligned[128]) { ret; }\n";

static const char npy_2x3[] = "\x93NUMPY\x01\x00\x47\x00{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2, 3), }           \n"
                              "abcdefghijklmnopqrstuvwx";

struct fixture {
    struct file_set files;
    struct trace trace;
    struct trace_error error;
    struct trace_options options;
};

static bool parse(struct fixture *f, const char *text) {
    file_set_init_sealed(&f->files);
    file_set_add(&f->files, "k.ptx", kernel_ptx, sizeof kernel_ptx - 1);
    file_set_add(&f->files, "bad.ptx", ".version 8.7\n.target sm_100a\nnonsense\n", 39);
    file_set_add(&f->files, "a.npy", npy_2x3, sizeof npy_2x3 - 1);
    file_set_add(&f->files, "cut.npy", npy_2x3, 40);
    file_set_add(&f->files, "params.bin", npy_2x3, 20);
    file_set_add(&f->files, "more.trace", "buffer Z f32 [2]\n", 17);
    file_set_add(&f->files, "loop.trace", "include loop.trace\n", 19);
    const struct file_entry *main = file_set_add(&f->files, "main.trace", text, strlen(text));
    return trace_parse(&f->trace, &f->files, main, &f->options, &f->error);
}

static void release(struct fixture *f) {
    trace_free(&f->trace);
    file_set_free(&f->files);
}

#define HEAD   "siltwin 1\n"
#define MODULE HEAD "module m k.ptx\n"

static const struct {
    const char *text;
    unsigned line, column;
    int exit_status;
    const char *message;
} wrong[] = {
    {"", 1, 1, 2, "expected 'siltwin 1' as the first statement"},
    {"# nothing\n", 2, 1, 2, "expected 'siltwin 1'"},
    {"device b200\n", 1, 1, 2, "expected 'siltwin 1' as the first statement, found 'device'"},
    {"siltwin 2\n", 1, 10, 2, "language version 2 is not known"},
    {HEAD "launhc x\n", 2, 1, 2, "expected a statement, found 'launhc'"},
    {HEAD "?\n", 2, 1, 2, "expected a statement, found '?'"},
    {HEAD "}\n", 2, 1, 2, "expected a statement"},
    {HEAD "probe E event of mbarrier.*\n", 2, 1, 2, "no instruction fits probe E"},
    {HEAD "probe E event of mbarrier.* cta 1..x\n", 2, 36, 2, "there is no constant 'x'"},
    {HEAD "device b300\n", 2, 1, 2, "expected a device (b200, h200, h100), found 'b300'"},
    {MODULE "device h200\n", 3, 1, 2, "device must come before the first module"},
    {HEAD "sync now\n", 2, 6, 2, "expected the end of the statement, found 'now'"},
    /* constants and expressions */
    {HEAD "const M\n", 2, 8, 2, "expected '=', found the end of the statement"},
    {HEAD "const M=\n", 2, 9, 2, "expected an integer expression, found the end"},
    {HEAD "const M=1 M=2\n", 2, 11, 2, "the name 'M' is taken"},
    {HEAD "const M=7/2\n", 2, 12, 2, "7 / 2 leaves a remainder"},
    {HEAD "const M=7/0\n", 2, 12, 2, "division by zero"},
    {HEAD "const M=9223372036854775807+1\n", 2, 30, 2, "does not fit in 64 bits"},
    {HEAD "const M=9223372036854775808\n", 2, 9, 2, "does not fit in 64 bits"},
    {HEAD "const M=-(-9223372036854775807-1)\n", 2, 34, 2, "does not fit in 64 bits"},
    {HEAD "const M=4294967296*4294967296\n", 2, 30, 2, "does not fit in 64 bits"},
    {HEAD "const M=(1+2\n", 2, 13, 2, "expected ')'"},
    {HEAD "const M=1?2\n", 2, 12, 2, "expected ':'"},
    {HEAD "const M=N\n", 2, 9, 2, "there is no constant 'N'"},
    {HEAD "const M=log2(12)\n", 2, 17, 2, "log2 needs a power of two, not 12"},
    {HEAD "const M=ceildiv(4)\n", 2, 18, 2, "expected ','"},
    {HEAD "const M=align(4,0)\n", 2, 19, 2, "align needs a positive second argument"},
    {HEAD "const M=12x\n", 2, 9, 2, "expected an integer, found '12x'"},
    {HEAD "const M=1.5\n", 2, 9, 2, "expected an integer, found '1.5'"},
    /* files */
    {HEAD "include\n", 2, 8, 2, "expected a file name"},
    {HEAD "include none.trace\n", 2, 1, 2, "'none.trace' is not among the files"},
    {HEAD "include loop.trace\n", 1, 1, 2, "includes are nested more than 16 deep"},
    {HEAD "module m\n", 2, 9, 2, "expected a PTX file, or TARGET=FILE"},
    {HEAD "module m none.ptx\n", 2, 1, 2, "'none.ptx' is not among"},
    {HEAD "module m sm_90a=k.ptx\n", 2, 1, 3, "module m has no file for b200 (sm_100a)"},
    {HEAD "module m foo=k.ptx\n", 2, 19, 2,
     "expected a target such as sm_100a before '=', found 'foo'"},
    {HEAD "module m bad.ptx\n", 2, 1, 2, "module m is not loaded:\nbad.ptx:3:"},
    {HEAD "device h200\nmodule m k.ptx\n", 3, 1, 3,
     "module m is for sm_100a: it needs a GPU of compute capability 10.0; the device h200 is "
     "sm_90a"},
    {MODULE "module m k.ptx\n", 3, 8, 2, "the name 'm' is taken"},
    /* buffers */
    {HEAD "buffer\n", 2, 7, 2, "expected the buffer's name"},
    {HEAD "buffer A f31 [4]\n", 2, 10, 2,
     "expected an element type (bf16, f32, u8, ptr ...), found 'f31'"},
    {HEAD "buffer A f32\n", 2, 13, 2, "expected '['"},
    {HEAD "buffer A f32 [0]\n", 2, 15, 2, "a dimension is 0, expected 1 to"},
    {HEAD "buffer A f32 [4\n", 2, 16, 2, "expected ']'"},
    {HEAD "buffer A f32 [4][4] strides [4]\n", 2, 32, 2,
     "expected 2 strides, one a dimension, found 1"},
    {HEAD "buffer A f32 [1099511627776][1099511627776]\n", 2, 1, 2, "larger than any memory"},
    {HEAD "buffer A f32 [4] align 3\n", 2, 25, 2, "the alignment must be a power of two"},
    {HEAD "buffer A f32 [4] random\n", 2, 18, 2, "expected a generator (uniform, ints, zeros"},
    {HEAD "buffer A f32 [4] zeros iota\n", 2, 24, 2,
     "expected align, offset, guard, seed or the end"},
    {HEAD "buffer A u8 [4] uniform(0,1)\n", 2, 29, 2, "uniform fills floating-point buffers"},
    {HEAD "buffer A u8 [4] ints(-1,1)\n", 2, 27, 2, "-1 to 1 do not fit in u8"},
    {HEAD "buffer A u8 [4] ints(1,0)\n", 2, 25, 2, "low <= high"},
    {HEAD "buffer A u8 [257] iota\n", 2, 23, 2, "iota up to 256 does not fit in u8"},
    {HEAD "buffer A f32 [4] uniform(nan,1)\n", 2, 31, 2, "finite low <= high"},
    {HEAD "buffer A f32 [2] = 1\n", 2, 21, 2, "expected the next element"},
    {HEAD "buffer A s64 [1] = 0x8000000000000000\n", 2, 20, 2, "does not fit in 64 bits"},
    {HEAD "buffer A u64 [1] = 0x10000000000000000\n", 2, 20, 2, "does not fit in 64 bits"},
    {HEAD "buffer A u8 [2] = 1 256\n", 2, 21, 2, "256 does not fit in u8"},
    {HEAD "buffer A f32 [2][2] file a.npy\n", 2, 26, 2, "the file's shape is not the buffer's"},
    {HEAD "buffer A u32 [2][3] file a.npy\n", 2, 26, 2, "the file holds f4, the buffer is u32"},
    {HEAD "buffer A f32 [2][3] file cut.npy\n", 2, 26, 2, "ends inside its header"},
    {HEAD "buffer A f32 [4]\nbuffer P ptr [1] = A\n", 3, 20, 2,
     "'A' is a buffer; its address is &A"},
    {HEAD "buffer A f32 [4]\nbuffer P ptr [1] = &A[5]\n", 3, 23, 2,
     "the index is 5, expected 0 to 4"},
    {HEAD "buffer A f32 [4]\nbuffer P ptr [1] = &A[0][0]\n", 3, 26, 2,
     "buffer A has only 1 dimensions"},
    {HEAD "buffer P ptr [1] = &B\n", 2, 21, 2, "there is no buffer, tensor map or module 'B'"},
    {HEAD "buffer P ptr [1] iota\n", 2, 22, 2, "a ptr buffer takes = values, zeros or poison"},
    /* tensor maps */
    {HEAD "tensormap T\n", 2, 12, 2, "expected 'of' or 'raw'"},
    {HEAD "tensormap T of A box [1]\n", 2, 16, 2, "there is no buffer 'A'"},
    {HEAD "buffer A f32 [4][4]\ntensormap T of A\n", 3, 17, 2, "expected box"},
    {HEAD "buffer A f32 [4][4]\ntensormap T of A box [4]\n", 3, 25, 2,
     "expected 2 box sizes, found 1"},
    {HEAD "buffer A f32 [4][4]\ntensormap T of A box [4][4] swizzle 16B\n", 3, 37, 2,
     "expected a swizzle (none, 32B, 64B, 128B"},
    {HEAD "buffer A f32 [4][4] strides [1][4]\ntensormap T of A box [4][4]\n", 3, 1, 2,
     "the innermost stride of A is 4, a tensor map needs 1"},
    {HEAD "tensormap T raw FLOAT31\n", 2, 17, 2, "expected a data type (UINT8"},
    {HEAD "tensormap T raw FLOAT32 addr 0 dim{4,4} stride{} box{4,4} estride{1,1}\n", 2, 71, 2,
     "expected 1 strides, one less than dimensions, found 0"},
    {HEAD "tensormap T raw FLOAT32 dim{4} box{4} estride{1}\n", 2, 49, 2, "expected all of addr"},
    {HEAD "tensormap T raw FLOAT32 addr 0 dim{4,4,4} stride{64,256} lower{0} upper{0} channels 4 "
          "estride{1,1,1}\n",
     2, 101, 2, "expected all of addr, dim{}, stride{}, lower{}"},
    {HEAD "tensormap T raw FLOAT32 addr 0 dim{4,4,4} stride{64,256} lower{0,0} upper{0} channels 4 "
          "pixels 4 estride{1,1,1}\n",
     2, 112, 2, "expected 1 lower corners, two less than dimensions, found 2"},
    {HEAD "tensormap T raw FLOAT32 channels -1\n", 2, 36, 2, "channels must fit 32 bits"},
    {HEAD "buffer A f32 [4]\ntensormap T of A box [4] fails OOPS\n", 3, 32, 2,
     "expected an error such as 715 or ILLEGAL_INSTRUCTION, found 'OOPS'"},
    /* globals */
    {HEAD "global m.scale = 1\n", 2, 8, 2, "there is no module 'm'"},
    {MODULE "global m.nothing = f32(1)\n", 3, 8, 2,
     "module m has no .global or .const symbol 'nothing'"},
    {MODULE "global m.scale = 1\n", 3, 18, 2, "says its type: i32(1)"},
    {MODULE "global m.scale = f32{1,2,3,4,5}\n", 3, 1, 2, "m.scale has 16 bytes, the value has 20"},
    {MODULE "global m.scale = f32{1,2\n", 3, 25, 2, "expected '}'"},
    /* launches */
    {HEAD "launch m.k grid 1 block 1\n", 2, 8, 2, "there is no module 'm'"},
    {MODULE "launch m.none block 1\n", 3, 22, 2, "expected grid"},
    {MODULE "launch m.none grid 1\n", 3, 21, 2, "expected block"},
    {MODULE "launch m.what grid 1 block 1\n", 3, 8, 2, "module m has no entry 'what'"},
    {MODULE "launch m.none grid 1 block 1 args 1\n", 3, 35, 2,
     "expected the end: none takes 0 arguments, found '1'"},
    {MODULE "launch m.none grid -1 block 1\n", 3, 20, 2, "the grid is -1"},
    {MODULE "launch m.none grid 1 block 1 smem 1 foo 2\n", 3, 37, 2,
     "expected grid, block, cluster"},
    {MODULE "launch m.none grid 1 block 1 timeout 10\n", 3, 38, 2, "expected a time such as 10s"},
    {MODULE "launch m.none grid 1 block 1 attr fast\n", 3, 35, 2,
     "expected an attribute (cooperative"},
    {MODULE "launch m.k grid 1 block 1\n", 3, 26, 2, "expected args: k takes 6 arguments"},
    {MODULE "launch m.k grid 1 block 1 args 0\n", 3, 33, 2,
     "expected argument 2 of 6 (x, 4 bytes)"},
    {MODULE "launch m.k grid 1 block 1 args 0 4294967296\n", 3, 34, 2,
     "4294967296 does not fit in the 4 bytes"},
    {MODULE "launch m.k grid 1 block 1 args 0 1.5\n", 3, 34, 2, "says its type: f32(1.5)"},
    {MODULE "launch m.k grid 1 block 1 args 0 f64(1)\n", 3, 34, 2,
     "argument 2 of 6 (x, 4 bytes) has 4 bytes, this value has 8"},
    {MODULE "launch m.k grid 1 block 1 args 0 0 0 0\n", 3, 38, 2,
     "has 128 bytes, an integer cannot fill it"},
    {MODULE "buffer A f32 [64]\ntensormap T of A box [4]\nlaunch m.k grid 1 block 1 args T\n", 5,
     32, 2, "has 8 bytes, this value has 128"},
    {MODULE "buffer A f32 [64]\ntensormap T of A box [4]\nlaunch m.k grid 1 block 1 args 0 0 0 T "
            "struct(16){} T\n",
     5, 53, 2, "a tensor map lies at a multiple of 64 bytes; parameter unaligned is aligned to 8"},
    {MODULE "launch m.k grid 1 block 1 args 0 0 0 struct(128){120:i64(1) 124:i64(1)}\n", 3, 61, 2,
     "the field of 8 bytes at 124 reaches past"},
    {MODULE "launch m.k grid 1 block 1 args 0 0 0 struct(64){}\n", 3, 38, 2,
     "has 128 bytes, this value has 64"},
    {MODULE "launch m.k grid 1 block 1 args packed params.bin\n", 3, 39, 2,
     "the file has 20 bytes, the parameters of k have"},
    /* copies, fills, repeats */
    {HEAD "copy A -> B\n", 2, 6, 2, "there is no buffer, tensor map or module 'A'"},
    {HEAD "buffer A f32 [4]\nbuffer B f32 [5]\ncopy A -> B\n", 4, 1, 2,
     "the two have 16 and 20 bytes; say how many"},
    {HEAD "buffer A f32 [4]\ncopy A B\n", 3, 8, 2, "expected '->'"},
    {HEAD "buffer A f32 [4]\nfill A f64 1\n", 3, 8, 2, "expected a type of 1, 2 or 4 bytes"},
    {HEAD "buffer A u8 [5]\nfill A u16 1\n", 3, 1, 2, "buffer A has 5 bytes, no multiple of 2"},
    {HEAD "repeat i 3 {\nsync\n", 4, 1, 2, "expected '}' at the end of repeat"},
    {HEAD "repeat i 3 { buffer A f32 [4] }\n", 2, 14, 2, "'buffer' cannot stand inside repeat"},
    {HEAD "repeat i -1 { }\n", 2, 10, 2, "the number of turns is -1"},
    {HEAD "repeat i 0 { fill A u8 0 }\n", 2, 19, 2, "there is no buffer 'A'"},
    {HEAD "repeat i 3 { sync } sync\n", 2, 21, 2, "expected the end of the statement"},
    {HEAD "repeat a 2 { repeat b 131072 { } }\n", 2, 14, 2, "the repeats turn more than"},
    /* expectations */
    {HEAD "expect C == zeros\n", 2, 8, 2, "there is no buffer 'C'"},
    {HEAD "buffer C f32 [4]\nexpect C = zeros\n", 3, 10, 2, "expected '==' or 'finite'"},
    {HEAD "buffer C u32 [4]\nexpect C finite\n", 3, 16, 2,
     "finite is a question for floating-point"},
    {HEAD "buffer C f32 [4]\nexpect C == D\n", 3, 13, 2, "there is no buffer 'D'"},
    {HEAD "buffer C f32 [4]\nbuffer D f32 [5]\nexpect C == D\n", 4, 1, 2,
     "C and D differ in type or dimensions"},
    {HEAD "buffer C f32 [4][4]\nexpect C == matmul_nt(C, C)\n", 3, 28, 2,
     "expected within N ulp, exact, bits"},
    {HEAD "buffer C f32 [4][4]\nexpect C == matmul_nt(C, C) within 1 bit\n", 3, 38, 2,
     "expected 'ulp'"},
    {HEAD "buffer C u32 [4][4]\nexpect C == matmul_nt(C, C) within 1 ulp\n", 3, 36, 2,
     "an ulp is of floating-point elements"},
    {HEAD "buffer C f32 [4][4]\nbuffer A f32 [4][8]\nexpect C == matmul_nt(A, C) exact\n", 4, 1, 2,
     "matmul_nt needs A [M][K], B [N][K]"},
    {HEAD "buffer C f32 [4][4]\nexpect C == matmul_nt_tc(C, C) bits\n", 3, 1, 2,
     "matmul_nt_tc needs A and B of one type (bf16, f16, tf32, e4m3 or e5m2)"},
    {HEAD "expect launch 1 fails 715\n", 2, 1, 2, "launch 1 does not exist; the trace has 0"},
    {MODULE "launch m.none grid 1 block 1\nexpect launch 1 fails 715 at x:3\n", 4, 30, 2,
     "there is no module 'x'"},
    {MODULE "launch m.none grid 1 block 1\nexpect launch 1 works\n", 4, 17, 2, "expected 'fails'"},
};

Test(trace_parse, wrong_statements) {
    size_t count = sizeof wrong / sizeof *wrong, failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct fixture f = {0};
        const bool ok = parse(&f, wrong[i].text);
        const struct trace_error *e = &f.error;
        if (ok || e->exit_status != wrong[i].exit_status || e->place.line != wrong[i].line ||
            e->place.column != wrong[i].column || !strstr(e->text, wrong[i].message)) {
            failed++;
            fprintf(stderr, "%s-- expected %u:%u (%d) %s\n-- found    %u:%u (%d) %s\n\n",
                    wrong[i].text, wrong[i].line, wrong[i].column, wrong[i].exit_status,
                    wrong[i].message, e->place.line, e->place.column, e->exit_status,
                    ok ? "no error" : e->text);
        }
        release(&f);
    }
    cr_assert_eq(failed, 0, "%zu of %zu", failed, count);
}

Test(trace_parse, expressions) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"-4/2", -2},
        {"10-3-2", 5},
        {"1<2", 1},
        {"2<2", 0},
        {"3==3 ? 5 : 6", 5},
        {"0 ? 7/2 : 8", 8},
        {"1 ? 2 : 1/0", 2},
        {"ceildiv(7,2)", 4},
        {"ceildiv(-7,2)", -3},
        {"floordiv(-7,2)", -4},
        {"min(3,-4)", -4},
        {"max(3,-4)", 3},
        {"align(17,16)", 32},
        {"log2(4096)", 12},
        {"0x10", 16},
        {"17*1024", 17408},
        {"1<2 ? 1<1 ? 10 : 11 : 12", 11},
        {"--3", 3},
        {"-9223372036854775807-1", INT64_MIN},
        {"5 - 3", 2},
        {"(5 -3)", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {0};
        char text[200];
        snprintf(text, sizeof text, HEAD "const X=%s\n", cases[i].text);
        cr_assert(parse(&f, text), "%s: %s", cases[i].text, f.error.text);
        cr_assert_eq(f.trace.consts.items[0].value, cases[i].value, "%s", cases[i].text);
        release(&f);
    }
}

/* A minus behind a blank and before a number begins the next value of a list. */
Test(trace_parse, lists_of_values) {
    struct fixture f = {0};
    cr_assert(parse(&f, HEAD "const N=3\nbuffer A s32 [5] = 1 -2 3 - 4 N-1 -N\n"
                             "buffer B f32 [4] = 1.5 -2 -inf N\n"
                             "buffer C b64 [2] = 0x8000000000000001 0x7fffffffffffffff\n"
                             "buffer D u64 [1] = 0xffffffffffffffff\n"),
              "%u:%u %s", f.error.place.line, f.error.place.column, f.error.text);
    static const int32_t a[] = {1, -2, -1, 2, -3};
    static const float b[] = {1.5f, -2, -1.0f / 0.0f, 3};
    static const uint64_t c[] = {UINT64_C(1) << 63 | 1, INT64_MAX}, d = UINT64_MAX;
    cr_assert(!memcmp(f.trace.buffers.items[0].init.image.bytes, a, sizeof a));
    cr_assert(!memcmp(f.trace.buffers.items[1].init.image.bytes, b, sizeof b));
    cr_assert(!memcmp(f.trace.buffers.items[2].init.image.bytes, c, sizeof c));
    cr_assert(!memcmp(f.trace.buffers.items[3].init.image.bytes, &d, sizeof d));
    release(&f);
}

Test(trace_parse, overrides) {
    struct fixture f = {0};
    char m[] = "M", q[] = "Q";
    const struct trace_override set[] = {{m, 7}, {q, 1}};
    f.options.overrides = set;
    f.options.override_count = 1;
    cr_assert(parse(&f, HEAD "const M=4 N=M*2\n"), "%s", f.error.text);
    cr_assert_eq(f.trace.consts.items[1].value, 14);
    release(&f);
    struct fixture g = {.options = {.overrides = set, .override_count = 2}};
    cr_assert_not(parse(&g, HEAD "const M=4\n"));
    cr_assert(strstr(g.error.text, "the trace has no constant 'Q'"));
    release(&g);
}

Test(trace_parse, buffers_and_maps) {
    struct fixture f = {0};
    cr_assert(parse(&f, HEAD "const M=8 K=16 \\\n  LD=20\n"
                             "buffer A bf16 [M][K] strides [LD][1] align 512 offset 32 guard 64 "
                             "ints(-4,4) seed 3\n"
                             "buffer P ptr [2] = &A[0] &A[2][4]+16\n"
                             "tensormap T of A box [4][8] swizzle 128B l2 256B oob nan\n"
                             "buffer Q tensormap [2] = T T\n"
                             "tensormap R raw BFLOAT16 addr A+64 dim{K,M} stride{2*LD} box{8,4} "
                             "estride{1,2} interleave 16B fails INVALID_VALUE\n"
                             "tensormap I raw FLOAT16 addr A dim{8,4,4,2} stride{16,64,256} "
                             "lower{-1,-2} upper{0,1} channels 8 pixels 12 estride{1,1,2,1}\n"
                             "buffer F f32 [2][3] file a.npy\n"
                             "include more.trace\n"),
              "%u:%u %s", f.error.place.line, f.error.place.column, f.error.text);
    const struct trace_buffer *a = &f.trace.buffers.items[0];
    cr_assert_eq(a->span_bytes, (7 * 20 + 16) * 2);
    cr_assert_eq(a->align, 512);
    cr_assert_eq(a->offset, 32);
    cr_assert_eq(a->guard, 64);
    cr_assert_eq(a->init.seed, 3);
    const struct trace_image *p = &f.trace.buffers.items[1].init.image;
    cr_assert_eq(p->hole_count, 2);
    cr_assert_eq(p->holes[1].at_bytes, 8);
    cr_assert_eq(p->holes[1].address.offset_bytes, (2 * 20 + 4) * 2 + 16);
    const struct trace_map *t = &f.trace.maps.items[0], *r = &f.trace.maps.items[1];
    cr_assert_eq(t->type, 9);
    cr_assert_eq(t->rank, 2);
    cr_assert_eq(t->dims[0], 16);
    cr_assert_eq(t->dims[1], 8);
    cr_assert_eq(t->stride_bytes[0], 40);
    cr_assert_eq(t->box[0], 8);
    cr_assert_eq(t->box[1], 4);
    cr_assert_eq(t->swizzle, 3);
    cr_assert_eq(t->l2, 3);
    cr_assert_eq(t->oob, 1);
    cr_assert_eq(r->address.offset_bytes, 64);
    cr_assert_eq(r->estrides[1], 2);
    cr_assert_eq(r->interleave, 1);
    cr_assert_eq(r->fails, 1);
    cr_assert_not(r->im2col);
    const struct trace_map *i = &f.trace.maps.items[2];
    cr_assert(i->im2col);
    cr_assert_eq(i->rank, 4);
    cr_assert_eq((int)i->lower[1], -2);
    cr_assert_eq((int)i->upper[0], 0);
    cr_assert_eq(i->channels, 8);
    cr_assert_eq(i->pixels, 12);
    cr_assert_eq(i->estrides[2], 2);
    cr_assert(f.trace.buffers.items[2].init.image.holes[1].by_value);
    cr_assert_eq(f.trace.buffers.count, 5);
    release(&f);
}

Test(trace_parse, launches) {
    struct fixture f = {0};
    cr_assert(parse(&f,
                    MODULE "buffer C f32 [8][4]\n"
                           "tensormap T of C box [4][4]\n"
                           "global m.scale = f32{0.5,1}\n"
                           "launch m.k grid 2 3 block 32 cluster 1 smem 17*1024 attr cooperative "
                           "timeout 500ms args &C[1][2]+4 f32(1.5) 0xffff T "
                           "struct(16){0:&C 8:i32(7)} struct(128){}\n"
                           "repeat i 3 { launch m.none grid i+1 block 1 \n sync }\n"
                           "repeat i 0 { launch m.none grid 1 block 1 }\n"
                           "expect launch 2 fails ILLEGAL_INSTRUCTION at m:5\n"),
              "%u:%u %s", f.error.place.line, f.error.place.column, f.error.text);
    cr_assert_eq(f.trace.launches.count, 4);
    cr_assert_eq(f.trace.steps.count, 7);
    const struct trace_launch *launch = &f.trace.launches.items[0];
    cr_assert_eq(launch->grid[1], 3);
    cr_assert_eq(launch->grid[2], 1);
    cr_assert_eq(launch->cluster[0], 1);
    cr_assert_eq(launch->smem_bytes, 17408);
    cr_assert_eq(launch->timeout_s, 0.5);
    cr_assert_eq(launch->attrs, ATTR_COOPERATIVE);
    cr_assert_eq(launch->arg_count, 6);
    cr_assert_eq(launch->args[0].holes[0].address.offset_bytes, (4 + 2) * 4 + 4);
    cr_assert_eq(*(const uint32_t *)(const void *)launch->args[1].bytes, 0x3fc00000);
    cr_assert_eq(launch->args[2].size, 2);
    cr_assert(launch->args[3].holes[0].by_value);
    cr_assert_eq(launch->args[4].bytes[8], 7);
    cr_assert_eq(f.trace.launches.items[3].grid[0], 3);
    cr_assert_eq(f.trace.fails.items[0].code, 715);
    cr_assert_eq(f.trace.fails.items[0].line, 5);
    cr_assert_eq(f.trace.globals.items[0].value.size, 8);
    release(&f);
}
