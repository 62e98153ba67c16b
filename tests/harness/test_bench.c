#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const char ladder[] = SILTWIN_ROOT "/traces/matmul_4_tma_store_64x256.trace";

Test(bench, says_that_it_is_the_hosts_time) {
    char *output;
    const char *const args[] = {"bench", ladder, "--repeats", "2", NULL};
    cr_assert_eq(command_run(args, &output), 0, "%s", output);
    cr_assert_not_null(strstr(output, "the times are this host's, no GPU's"), "%s", output);
    cr_assert_not_null(strstr(output, "launch 1 mm.matmul_4_n256"), "%s", output);
    cr_assert_not_null(strstr(output, "TFLOP/s"), "%s", output);
    cr_assert_null(strstr(output, "cuBLAS"), "%s", output);
    free(output);
}

Test(bench, json) {
    char *output;
    const char *const args[] = {"bench", ladder,      "M=64", "N=256",  "--device",
                                "h200",  "--repeats", "3",    "--json", NULL};
    cr_assert_eq(command_run(args, &output), 0, "%s", output);
    json_t *json = json_loads(output, 0, NULL);
    cr_assert_not_null(json, "%s", output);
    cr_assert_str_eq(json_string_value(json_object_get(json, "schema")), "siltwin.bench/1");
    cr_assert_str_eq(json_string_value(json_object_get(json, "on")), "sim");
    json_t *result = json_array_get(json_object_get(json, "results"), 0);
    const double median = json_real_value(json_object_get(result, "median_ms"));
    const double tflops = json_real_value(json_object_get(result, "tflops"));
    cr_assert_eq(json_integer_value(json_object_get(result, "repeats")), 3);
    cr_assert(median > 0);
    const double flop = 2.0 * 64 * 256 * 192;
    cr_assert_float_eq(tflops * median, flop * 1e-9, 1e-9);
    json_decref(json);
    free(output);
}

Test(bench, wrong_usage) {
    static const char *const wrong[][4] = {{"bench", NULL},
                                           {"bench", ladder, "--repeats=0", NULL},
                                           {"bench", ladder, "--repeats=10001", NULL},
                                           {"bench", ladder, "--on=moon", NULL},
                                           {"bench", ladder, "M", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *output;
        cr_assert_eq(command_run(wrong[i], &output), 2, "%zu: %s", i, output);
        cr_assert_not_null(strstr(output, "error:"), "%zu: %s", i, output);
        free(output);
    }
}

Test(bench, a_kernel_that_fails_is_a_finding) {
    char path[] = "/tmp/siltwin_bench_XXXXXX", trace[64], *output;
    cr_assert_not_null(mkdtemp(path));
    snprintf(trace, sizeof trace, "%s/k.ptx", path);
    FILE *file = fopen(trace, "w");
    fputs(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() { trap; ret; }\n",
          file);
    fclose(file);
    snprintf(trace, sizeof trace, "%s/t.trace", path);
    file = fopen(trace, "w");
    fputs("siltwin 1\ndevice h200\nmodule m sm_90a=k.ptx\nlaunch m.k grid 1 block 32\n", file);
    fclose(file);
    const char *const args[] = {"bench", trace, NULL};
    cr_assert_eq(command_run(args, &output), 1, "%s", output);
    cr_assert_not_null(strstr(output, "siltwin: error: launch 1 m.k: "), "%s", output);
    free(output);
    remove(trace);
    snprintf(trace, sizeof trace, "%s/k.ptx", path);
    remove(trace);
    rmdir(path);
}
