/* Fuzz target: bytes as a .npy file. What is accepted is read to its last byte. */
#include <stdlib.h>

#include "fuzz_replay.h"
#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct npy npy;
    struct strbuf error = {0};
    if (npy_parse(data, size, &npy, &error) == STATUS_OK) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < npy.elems * npy.item_bytes; i++)
            sum += npy.data[i];
        for (int type = 0; type < ELEM_COUNT; type++)
            sum += npy_holds(&npy, (enum elem_type)type);
        if (sum == UINT64_MAX)
            abort(); /* never: keeps the reads */
    } else if (!error.length) {
        abort(); /* a refusal says why */
    }
    strbuf_free(&error);
    return 0;
}

#ifndef SILTWIN_LIBFUZZER
int main(int argc, char **argv) {
    return fuzz_replay(argc, argv, LLVMFuzzerTestOneInput);
}
#endif
