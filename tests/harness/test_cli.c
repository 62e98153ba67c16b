/* The command as its users see it: exit statuses, messages, records, JSON. Runs the built siltwin
 * on the traces of tests/harness/data and on traces written here. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workdir.h"

#define DATA SILTWIN_ROOT "/tests/harness/data/"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}

static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(cli, .init = make_folder, .fini = remove_folder);

static int siltwin(const char *arguments) {
    return workdir_siltwin(&dir, arguments);
}

/* Writes a trace that loads small.ptx as m, and runs it. */
static int run_trace(const char *statements, const char *options) {
    char path[128], arguments[512];
    snprintf(path, sizeof path, "%s/t.trace", dir.path);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fprintf(file, "siltwin 1\ndevice h200\nmodule m " DATA "small.ptx\n%s", statements);
    fclose(file);
    snprintf(arguments, sizeof arguments, "run t.trace --allow-path " DATA " %s", options);
    return siltwin(arguments);
}

#define CHECK(status, expected, text, where)                                                       \
    do {                                                                                           \
        const int found = status;                                                                  \
        cr_assert_eq(found, expected, "exit %d\n%s%s", found, dir.output, dir.errors);             \
        cr_assert(strstr(where, text), "no '%s' in:\n%s\n%s", text, dir.output, dir.errors);       \
    } while (0)

Test(cli, usage) {
    CHECK(siltwin(""), 2, "usage: siltwin COMMAND", dir.errors);
    CHECK(siltwin("--help"), 0, "siltwin run TRACE", dir.output);
    cr_assert(strstr(dir.output, "siltwin bench TRACE"));
    cr_assert_not(strstr(dir.output, "siltwin fly"));
    CHECK(siltwin("--version"), 0, "siltwin 0.", dir.output);
    CHECK(siltwin("fly x"), 2, "there is no command 'fly'", dir.errors);
    CHECK(siltwin("run"), 2, "run expects a trace or a record", dir.errors);
    CHECK(siltwin("run --help"), 0, "--policy", dir.output);
    CHECK(siltwin("run --frobnicate x"), 2, "frobnicate", dir.errors);
    CHECK(siltwin("run none.trace"), 2, "cannot open 'none.trace'", dir.errors);
    CHECK(siltwin("run " DATA "features.trace --policy soon"), 2, "--policy expects eager, lazy",
          dir.errors);
    CHECK(siltwin("run " DATA "features.trace --jobs 0"), 2, "--jobs expects a number from 1",
          dir.errors);
    CHECK(siltwin("run " DATA "features.trace --on gpu --stats"), 2, "leave it out with --on gpu",
          dir.errors);
    if (access("/dev/nvidia0", F_OK) != 0)
        CHECK(siltwin("run " DATA "features.trace --on gpu"), 3, "needs an NVIDIA driver",
              dir.errors);
    CHECK(siltwin("run " DATA "features.trace --device b300"), 2, "there is no device 'b300'",
          dir.errors);
    CHECK(siltwin("run " DATA "features.trace N"), 2, "expected NAME=VALUE", dir.errors);
    CHECK(siltwin("run " DATA "features.trace Q=3"), 2, "has no constant 'Q'", dir.errors);
    CHECK(siltwin("diff"), 2, "diff expects two records, or a trace", dir.errors);
    CHECK(siltwin("diff a.rec"), 2, "cannot open 'a.rec'", dir.errors);
    CHECK(siltwin("show"), 2, "show expects one record", dir.errors);
    CHECK(siltwin("show .out"), 2, "not a record of siltwin", dir.errors);
    CHECK(siltwin("new"), 2, "new expects one PTX file", dir.errors);
}

Test(cli, every_statement) {
    CHECK(siltwin("run " DATA "features.trace"), 0, "as expected: 8 launches, 9 expectations",
          dir.output);
    cr_assert_str_eq(dir.errors, "");
    CHECK(siltwin("run " DATA "features.trace --quiet"), 0, "", dir.output);
    cr_assert_str_eq(dir.output, "");
    CHECK(siltwin("run " DATA "features.trace --policy random:7 --jobs 2 --resident 2"), 0,
          "as expected", dir.output);
}

Test(cli, records) {
    CHECK(siltwin("run " DATA "features.trace -o a.rec --quiet"), 0, "", dir.output);
    CHECK(siltwin("run a.rec -o b.rec --policy lazy --jobs 1"), 0, "as expected: 8 launches",
          dir.output);
    CHECK(siltwin("diff a.rec b.rec"), 0, "equal:", dir.output);
    CHECK(siltwin("show a.rec --digest"), 0, "0x", dir.output);
    char *digest = strdup(dir.output);
    CHECK(siltwin("show b.rec --digest"), 0, digest, dir.output);
    free(digest);
    CHECK(siltwin("show a.rec"), 0, "buffer         X u32 [8]: changed", dir.output);
    CHECK(siltwin("show a.rec --buffer X"), 0, "X[0..7]:          3          4", dir.output);
    CHECK(siltwin("show a.rec --buffer 'T[15][30..31]' --hex"), 0, "T[15][30..31]:", dir.output);
    CHECK(siltwin("show a.rec --buffer 'T[16][0]'"), 2, "expected a range", dir.errors);
    CHECK(siltwin("show a.rec --buffer Q"), 2, "has no buffer 'Q'", dir.errors);
    CHECK(siltwin("show a.rec --file m"), 0, "add.rn.f32 %x, %x, %y;", dir.output);
    CHECK(siltwin("show a.rec --file small.ptx"), 0, "add.f32 %x, %x, %y;", dir.output);
    CHECK(siltwin("run " DATA "features.trace --emit-ptx"), 0, "add.rn.f32 %x, %x, %y;",
          dir.output);
    cr_assert_not(strstr(dir.output, "launch 1"));
    CHECK(siltwin("run " DATA "features.trace --as-written -o c.rec --quiet"), 0, "", dir.output);
    CHECK(siltwin("show c.rec --file m"), 0, "add.f32 %x, %x, %y;", dir.output);
    CHECK(siltwin("diff a.rec c.rec"), 0, "equal:", dir.output);
}

Test(cli, diff_names_the_first_element) {
    CHECK(run_trace("const S=1\nbuffer A bf16 [4][8] ints(1,100) seed 1\nbuffer B u32 [2] = 5 S\n",
                    "-o a.rec"),
          0, "", dir.output);
    CHECK(siltwin("run a.rec S=2 -o b.rec"), 0, "", dir.output);
    CHECK(siltwin("diff a.rec b.rec"), 1,
          "first difference at B[1]: 0x00000001 (1) in a.rec, 0x00000002 (2) in b.rec; 1 of 2 "
          "elements "
          "differ",
          dir.output);
    CHECK(siltwin("diff a.rec b.rec --json"), 1, "\"schema\": \"siltwin.diff/1\"", dir.output);
    CHECK(run_trace("buffer A bf16 [4][9]\n", "-o c.rec"), 0, "", dir.output);
    CHECK(siltwin("diff a.rec c.rec"), 1, "another type or other dimensions", dir.output);
    cr_assert(strstr(dir.output, "c.rec has no buffer B"));
}

Test(cli, failed_expectations) {
    CHECK(run_trace("buffer A u32 [4] iota\nbuffer B u32 [4] = 0 1 7 3\nexpect A == B\n", ""), 1,
          "t.trace:6:1: error: expect A == B bits failed: A[2] is 0x00000002 (2), expected "
          "0x00000007 "
          "(7); 1 of 4 elements differ",
          dir.errors);
    CHECK(run_trace("launch m.stop grid 1 block 1\nbuffer A u32 [4] iota\nexpect A == iota\n", ""),
          1, "not done: launch 1 ended the context", dir.errors);
    CHECK(run_trace("expect launch 1 fails 715\nbuffer X u32 [4] iota\n"
                    "launch m.add_one grid 1 block 4 args &X\n",
                    ""),
          1, "expect launch 1 fails 715 (CUDA_ERROR_ILLEGAL_INSTRUCTION): it did not", dir.errors);
    CHECK(
        run_trace("buffer X u32 [4] guard 64\nlaunch m.store_past grid 1 block 1 args &X 20\n", ""),
        1, "the guard of X was written at byte 20 (it has 16)", dir.errors);
}

Test(cli, faults) {
    CHECK(run_trace("launch m.stop grid 1 block 1\n", ""), 1, "launch 1 (stop)", dir.errors);
    cr_assert(strstr(dir.errors, "small.ptx:143:"), "%s", dir.errors);
    CHECK(run_trace("launch m.stop grid 1 block 1\nexpect launch 1 fails 719 at m:143\n", ""), 0,
          "fails as expected: CUDA_ERROR_LAUNCH_FAILED", dir.output);
    CHECK(run_trace("launch m.stop grid 1 block 1\nexpect launch 1 fails LAUNCH_FAILED\n", ""), 0,
          "as expected", dir.output);
    CHECK(run_trace("launch m.stop grid 1 block 1\nexpect launch 1 fails 719 at m:142\n", ""), 1,
          "it did not", dir.errors);
    CHECK(run_trace("buffer X u32 [4]\nlaunch m.misaligned grid 1 block 1 args &X\n"
                    "expect launch 1 fails 716\n",
                    ""),
          0, "as expected", dir.output);
    CHECK(run_trace("launch m.forever grid 1 block 1\n", "--quiet"), 1, "small.ptx:", dir.errors);
    CHECK(run_trace("launch m.stop grid 1 block 2000\n", ""), 1, "INVALID", dir.errors);
    CHECK(run_trace("launch m.stop grid 1 block 2000\nexpect launch 1 fails INVALID_VALUE\n"
                    "buffer X u32 [4] iota\nexpect X == iota\n",
                    ""),
          0, "as expected", dir.output);
    CHECK(run_trace("buffer T f32 [16][32]\ntensormap TM of T box [8][33] swizzle 128B\n", ""), 1,
          "cuTensorMapEncodeTiled gives CUDA_ERROR_INVALID_VALUE (1)", dir.errors);
}

/* A launch that runs over its time has no verdict; a loop that nothing can end is a hang; a crash
 * of the command is its own bug. */
Test(cli, time_and_signals) {
    CHECK(run_trace("buffer X u32 [1]\n"
                    "repeat i 3 { launch m.long_loop grid 1 block 1 args &X timeout 200ms }\n",
                    ""),
          4, "t.trace:5:14: error: no verdict: launch 1 (long_loop) was not done after 0.2 s",
          dir.errors);
    CHECK(run_trace("launch m.forever_quiet grid 1 block 1\n", ""), 1, "launch 1 (forever_quiet)",
          dir.errors);
}

#ifndef __SANITIZE_ADDRESS__
Test(cli, own_bugs) {
    char command[512];
    run_trace("buffer X u32 [1]\nlaunch m.long_loop grid 1 block 1 args &X timeout 50ms\n", "");
    snprintf(command, sizeof command,
             "cd %s && sed -i s/50ms/100s/ t.trace && timeout --preserve-status -s SEGV 1 "
             "%s/siltwin run "
             "t.trace --allow-path " DATA " 2>err",
             dir.path, SILTWIN_BUILD);
    const int status = system(command);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 70);
}
#endif

Test(cli, files) {
    char path[128];
    snprintf(path, sizeof path, "%s/params.bin", dir.path);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite("\0\0\0\0\0\0\0\0", 8, 1, file) == 1);
    fclose(file);
    CHECK(run_trace(
              "launch m.add_one grid 1 block 1 args packed params.bin\nexpect launch 1 fails 700\n",
              ""),
          0, "as expected", dir.output);
    CHECK(run_trace("buffer A f16 [2][3] iota\ncopy A -> file a.npy\n", ""), 0, "as expected",
          dir.output);
    CHECK(
        run_trace("buffer A f16 [2][3] file a.npy\nexpect A == iota\nexpect A == file a.npy\n", ""),
        0, "as expected: 0 launches, 2 expectations", dir.output);
    CHECK(run_trace("copy A -> file /a.npy\n", ""), 2, "there is no buffer", dir.errors);
    CHECK(run_trace("buffer A f16 [2][3] iota\ncopy A -> file /a.npy\n", ""), 2, "--allow-path",
          dir.errors);
    CHECK(siltwin("run " DATA "../../../harness/main.c"), 2, "expected 'siltwin 1'", dir.errors);
}

Test(cli, launch_attributes) {
    CHECK(run_trace(
              "buffer X u32 [8] zeros\nlaunch m.add_one grid 1 block 8 args &X attr cooperative\n"
              "launch m.add_one grid 1 block 8 attr priority=-1 args &X\n"
              "launch m.add_one grid 1 block 8 args &X attr programmatic_stream_serialization\n"
              "buffer W u32 [8] = 3 3 3 3 3 3 3 3\nexpect X == W\n",
              ""),
          0, "as expected: 3 launches, 1 expectation", dir.output);
}

Test(cli, machine) {
    CHECK(run_trace("module n sm_100a=" DATA "small.ptx\n", ""), 3, "module n has no file for h200",
          dir.errors);
    CHECK(run_trace("probe E event of tcgen05.*\n", ""), 2, "no instruction fits probe E",
          dir.errors);
    CHECK(siltwin("doctor"), 0, "simulator    found", dir.output);
    CHECK(siltwin("doctor --json"), 0, "siltwin.doctor/1", dir.output);
}

Test(cli, new_trace) {
    CHECK(siltwin("new " DATA "small.ptx"), 0,
          "launch    k.gather  grid ?  block ?  args &gather_P0 &gather_P1", dir.output);
    cr_assert(strstr(dir.output, "tensormap map_words_T0 of ? box [?]"));
    cr_assert(strstr(dir.output, "global    k.scale = ?   # 16 bytes"));
    CHECK(siltwin("new " DATA "features.trace"), 2, "features.trace:", dir.errors);
}

Test(cli, json) {
    json_error_t error;
    CHECK(run_trace("buffer A u32 [4] iota\nexpect A == zeros\n", "--json"), 1, "", dir.output);
    json_t *json = json_loads(dir.output, 0, &error);
    cr_assert(json, "%s", error.text);
    cr_assert_str_eq(json_string_value(json_object_get(json, "schema")), "siltwin.run/1");
    cr_assert_eq(json_integer_value(json_object_get(json, "exit_status")), 1);
    const json_t *finding = json_array_get(json_object_get(json, "findings"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(finding, "rule")), "expect.differs");
    cr_assert_eq(json_integer_value(json_object_get(finding, "differing")), 3);
    json_decref(json);
    CHECK(run_trace("nonsense\n", "--json"), 2, "", dir.output);
    json = json_loads(dir.output, 0, &error);
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(json, "error"), "line")), 4);
    json_decref(json);
    CHECK(siltwin("run " DATA "features.trace --stats --json"), 0, "", dir.output);
    json = json_loads(dir.output, 0, &error);
    const json_t *launch = json_array_get(json_object_get(json, "launches"), 0);
    cr_assert_eq(
        json_integer_value(json_object_get(json_object_get(launch, "stats"), "load_requests")), 1);
    json_decref(json);
}
