/* host/abi against the toolkit's headers, number by number and signature by signature. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cuda_abi.h"
#include "cuda_abi_facts.h"
#include "support.h"

static const struct abi_fact ours[] = {
#include "cuda_abi_facts.def"
};

enum { OUR_COUNT = sizeof ours / sizeof ours[0] };

Test(cuda_abi, sizes_offsets_and_values_are_the_toolkits) {
    size_t count = 0;
    const struct abi_fact *theirs = toolkit_facts(&count);
    if (count == 0) {
        printf("skipped: no CUDA toolkit here, host/abi is compared with nothing\n");
        return;
    }
    cr_assert_eq(count, OUR_COUNT);
    for (size_t i = 0; i < count; i++) {
        cr_assert_str_eq(ours[i].what, theirs[i].what);
        cr_expect_eq(ours[i].value, theirs[i].value, "%s: %ld here, %ld in cuda.h", ours[i].what,
                     ours[i].value, theirs[i].value);
    }
    report_rows("facts of cuda.h", count);
}

Test(cuda_abi, signatures_are_the_toolkits) {
    size_t checked = 0;
    const char *wrong = toolkit_signature_mismatch(&checked);
    cr_assert_null(wrong, "%s has another signature in cudaTypedefs.h", wrong);
    if (checked == 0)
        printf("skipped: no CUDA toolkit here, driver_api.def is compared with nothing\n");
    else
        report_rows("signatures of cudaTypedefs.h", checked);
}

/* What holds without a toolkit. */
struct row {
    const char *name, *symbol;
    int since;
};

static const struct row rows[] = {
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args) {#name, #symbol, since},
#include "driver_api.def"
#include "driver_api_gpu.def"
#undef DRIVER_FN
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

Test(cuda_abi, every_row_is_there_once) {
    for (int i = 0; i < ROW_COUNT; i++) {
        size_t length = strlen(rows[i].name);
        cr_expect_eq(strncmp(rows[i].symbol, rows[i].name, length), 0, "%s", rows[i].symbol);
        cr_expect(rows[i].since >= 2000 && rows[i].since <= CUDA_VERSION, "%s", rows[i].symbol);
        for (int j = 0; j < i; j++) {
            cr_expect_neq(strcmp(rows[i].symbol, rows[j].symbol), 0, "%s twice", rows[i].symbol);
            cr_expect(strcmp(rows[i].name, rows[j].name) != 0 || rows[i].since != rows[j].since,
                      "%s since %d twice", rows[i].name, rows[i].since);
        }
    }
}

Test(cuda_abi, tensor_map_is_128_bytes) {
    cr_assert_eq(sizeof(CUtensorMap), 128);
    cr_assert_eq(_Alignof(CUtensorMap), 64);
}
