/* Every row of driver_api.def through both lookups and as exported symbols. */
#include "libcuda.h"
#include "support.h"

static const struct {
    const char *name, *symbol, *variant;
    int since;
} rows[] = {
#define NAME_PLAIN(symbol) NULL
#define NAME_PTSZ(symbol)  #symbol "_ptsz"
#define NAME_PTDS(symbol)  #symbol "_ptds"
#define DRIVER_FN(need, name, symbol, since, stream, scope, params, args)                          \
    {#name, #symbol, NAME_##stream(symbol), since},
#include "driver_api.def"
#undef DRIVER_FN
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

Test(lookup, version_chooses_the_abi) {
    struct libcuda cu = libcuda_load("b200");
    for (int i = 0; i < ROW_COUNT; i++) {
        void *function = NULL, *symbol = dlsym(cu.library, rows[i].symbol);
        CUdriverProcAddressQueryResult found;
        cr_assert_eq(cu.cuGetProcAddress_v2(rows[i].name, &function, rows[i].since, 0, &found), 0);
        cr_expect_eq(function, symbol, "%s since %d", rows[i].name, rows[i].since);
        function = NULL;
        cr_assert_eq(cu.cuGetProcAddress(rows[i].name, &function, rows[i].since, 2), 0);
        cr_expect_eq(function, symbol, "%s since %d", rows[i].name, rows[i].since);
        /* one version earlier this ABI is not what is found */
        cr_assert_eq(cu.cuGetProcAddress_v2(rows[i].name, &function, rows[i].since - 10, 0, &found),
                     0);
        cr_expect_neq(function, symbol, "%s before %d", rows[i].name, rows[i].since);
    }
    report_rows("driver functions by name and version", ROW_COUNT);
}

Test(lookup, stream_variants_are_exported) {
    struct libcuda cu = libcuda_load("b200");
    int variants = 0;
    for (int i = 0; i < ROW_COUNT; i++) {
        if (!rows[i].variant)
            continue;
        variants++;
        cr_expect_eq(dlsym(cu.library, rows[i].variant), dlsym(cu.library, rows[i].symbol));
    }
    cr_assert_gt(variants, 30);
}

/* Nothing else leaves the library. */
Test(lookup, internals_are_hidden) {
    struct libcuda cu = libcuda_load("b200");
    static const char *const inside[] = {"cu_root",       "do_cuInit", "exec_run", "ptx_parse",
                                         "mbarrier_init", "cuda_root", "cu_enter", "cu_log"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        cr_expect_null(dlsym(cu.library, inside[i]), "%s is exported", inside[i]);
}
