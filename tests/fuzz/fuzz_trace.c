/* Fuzz target: bytes as a trace, with a PTX module and a .npy file that it may name. */
#include <stdlib.h>

#include "fuzz_replay.h"
#include "trace_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char kernel_ptx[] = ".version 8.7\n"
                                 ".target sm_100a\n"
                                 ".address_size 64\n"
                                 ".const .align 4 .b8 scale[16];\n"
                                 ".global .align 4 .u32 count;\n"
                                 ".visible .entry none() { ret; }\n"
                                 ".visible .entry k(.param .u64 p, .param .b32 x, .param .u16 h,\n"
                                 "    .param .align 64 .b8 map[128], .param .align 4 .b8 s[16]) "
                                 "{ ret; }\n";
static const char npy_2x3[] = "\x93NUMPY\x01\x00\x47\x00{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2, 3), }           \n"
                              "abcdefghijklmnopqrstuvwx";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct file_set files;
    struct trace trace;
    struct trace_error error;
    const struct trace_options options = {0};
    file_set_init_sealed(&files);
    file_set_add(&files, "k.ptx", kernel_ptx, sizeof kernel_ptx - 1);
    file_set_add(&files, "a.npy", npy_2x3, sizeof npy_2x3 - 1);
    file_set_add(&files, "params.bin", npy_2x3, 32);
    file_set_add(&files, "more.trace", "buffer Z f32 [2]\n", 17);
    const struct file_entry *main =
        file_set_add(&files, "t.trace", size ? (const void *)data : "", size);
    if (main) {
        const bool ok = trace_parse(&trace, &files, main, &options, &error);
        if (!ok && (!error.exit_status || !error.text[0]))
            abort(); /* a refusal says why */
        trace_free(&trace);
    }
    file_set_free(&files);
    return 0;
}

#ifndef SILTWIN_LIBFUZZER
int main(int argc, char **argv) {
    return fuzz_replay(argc, argv, LLVMFuzzerTestOneInput);
}
#endif
