/* What goes wrong ends in a clear message, the documented exit status, and leaves nothing behind:
 * on the simulator, and on a "GPU" whose driver is the simulator's with one fault
 * (tests/faulty_driver). Checked each time: the whole of stderr, what is on stdout, the time, that
 * the folder holds no other files than before, and that no process is left. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "file_set.h"

static char folder[64];
static char *out, *err; /* of the last command */
static double seconds;  /* that it took */

static void make_folder(void) {
    struct stat info;
    strcpy(folder, "/tmp/siltwin-error-XXXXXX");
    cr_assert(mkdtemp(folder) && !chdir(folder));
    cr_assert_not(stat(SILTWIN_ROOT "/tests/harness/data/small.ptx", &info));
    cr_assert_eq(system("cp " SILTWIN_ROOT "/tests/harness/data/small.ptx m.ptx"), 0);
    /* Children of a child that ends come to this process, which sees whether one is left. */
    cr_assert_not(prctl(PR_SET_CHILD_SUBREAPER, 1));
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(!chdir("/") && !system(command));
    free(out);
    free(err);
}

TestSuite(error_paths, .init = make_folder, .fini = remove_folder);

static char *read_text(const char *path, size_t *size) {
    struct strbuf error = {0};
    uint8_t *bytes;
    size_t length;
    cr_assert_eq(file_read(path, &bytes, &length, &error), STATUS_OK, "%s", strbuf_text(&error));
    if (size)
        *size = length;
    return (char *)bytes;
}

static void write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, 1, size, file) == size && !fclose(file));
}

/* Small traces on small.ptx. */
static void write_trace(const char *statements) {
    char text[2048];
    snprintf(text, sizeof text, "siltwin 1\ndevice h200\nmodule m m.ptx\nbuffer X u32 [4] iota\n%s",
             statements);
    write_bytes("t.trace", text, strlen(text));
}

static unsigned count_files(void) {
    unsigned count = 0;
    DIR *dir = opendir(".");
    cr_assert(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* The command's process: the driver of a GPU is the faulty one, with that fault ("" for none). */
static void start(const char *fault, const char *arguments) {
    char copy[512], *words[32] = {"siltwin"}, *save = NULL;
    int count = 1;
    snprintf(copy, sizeof copy, "%s", arguments);
    for (char *word = strtok_r(copy, " ", &save); word && count < 31;
         word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    if (fault) {
        setenv("LD_LIBRARY_PATH", SILTWIN_BUILD "/tests/faulty_driver", 1);
        setenv("SILTWIN_DEVICE", "h200", 1);
        if (*fault)
            setenv("SILTWIN_FAULT", fault, 1);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    if (!freopen("out", "w", stdout) || !freopen("err", "w", stderr))
        _exit(127);
    alarm(300);
    execv(SILTWIN_BUILD "/siltwin", words);
    _exit(127);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* No process that the command started is there any more, and no file but `more` new ones. */
static void check_nothing_left(const char *arguments, unsigned files_before, unsigned more) {
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "siltwin %s leaves a process", arguments);
    cr_assert_eq(errno, ECHILD);
    cr_assert_eq(count_files(), files_before + more, "siltwin %s leaves files\n%s", arguments, err);
}

/* Runs it; the exit status. `more` files are new then. */
static int siltwin_makes(unsigned more, const char *fault, const char *arguments) {
    write_bytes("out", "", 0);
    write_bytes("err", "", 0);
    const unsigned before = count_files();
    const double begin = now();
    const pid_t child = fork();
    if (child == 0)
        start(fault, arguments);
    int status;
    cr_assert(child > 0 && waitpid(child, &status, 0) == child);
    seconds = now() - begin;
    free(out);
    free(err);
    out = read_text("out", NULL);
    err = read_text("err", NULL);
    cr_assert(WIFEXITED(status), "siltwin %s: signal %d", arguments, WTERMSIG(status));
    check_nothing_left(arguments, before, more);
    return WEXITSTATUS(status);
}

static int siltwin(const char *fault, const char *arguments) {
    return siltwin_makes(0, fault, arguments);
}

#define CHECK(status, expected, text)                                                              \
    do {                                                                                           \
        const int found = status;                                                                  \
        cr_assert_eq(found, expected, "exit %d\n%s%s", found, out, err);                           \
        cr_assert_str_eq(err, text);                                                               \
    } while (0)

#define CHECK_STATUS(status, expected)                                                             \
    do {                                                                                           \
        const int found = status;                                                                  \
        cr_assert_eq(found, expected, "exit %d\n%s%s", found, out, err);                           \
    } while (0)

#define NO_GPU(why)                                                                                \
    "siltwin: error: no GPU: " why ". --on gpu needs an NVIDIA driver and a GPU; without them "    \
    "leave --on gpu out and the simulator runs the trace\n"

/* ---- a machine without what was asked ---- */

Test(error_paths, no_driver_and_no_gpu) {
    write_trace("launch m.add_one grid 1 block 4 args &X\n");
    CHECK(siltwin("init=100", "run t.trace --on gpu"), 3,
          NO_GPU("cuInit failed: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"));
    cr_assert_str_eq(out, "");
    CHECK(siltwin("init=999", "run t.trace --on gpu"), 3,
          NO_GPU("cuInit failed: CUDA_ERROR_UNKNOWN (999): unknown error"));
    CHECK(siltwin("init=803", "diff t.trace"), 3,
          NO_GPU("cuInit failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has unsupported "
                 "display driver / cuda driver combination"));
    CHECK(siltwin("devices=0", "run t.trace --on gpu"), 3,
          NO_GPU("there is no device 0: libcuda.so.1 has 0"));
    CHECK(siltwin("lacks=cuLaunchKernelEx", "run t.trace --on gpu"), 3,
          NO_GPU("libcuda.so.1 lacks cuLaunchKernelEx (since CUDA 11.6)"));
    CHECK(siltwin("init=100", "bench t.trace --on gpu"), 3,
          NO_GPU("cuInit failed: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"));
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver)
        return; /* this machine has one */
    CHECK(siltwin(NULL, "run t.trace --on gpu"), 3,
          NO_GPU("cannot load the driver: libcuda.so.1: cannot open shared object file: No such "
                 "file or directory"));
}

Test(error_paths, wrong_chip) {
    write_trace("launch m.add_one grid 1 block 4 args &X\n");
    CHECK(siltwin("capability=8.0", "run t.trace --on gpu"), 3,
          "siltwin: error: the trace is for h200 (compute capability 9.0), but this GPU is a "
          "siltwin H200 (8.0): give the module a file for it and say --device, or run on the "
          "simulator\n");
    CHECK(siltwin("", "run t.trace --on gpu --device b200"), 3,
          "siltwin: error: the trace is for b200 (compute capability 10.0), but this GPU is a "
          "siltwin H200 (9.0): give the module a file for it and say --device, or run on the "
          "simulator\n");
    cr_assert_eq(system("sed -i 's/^.target sm_90$/.target sm_100a/' m.ptx"), 0);
    CHECK(siltwin("", "run t.trace --on gpu"), 3,
          "t.trace:3:1: error: module m is for sm_100a: it needs a GPU of compute capability 10.0; "
          "the device h200 is sm_90a\n"
          "module m m.ptx\n^\n");
    CHECK(siltwin(NULL, "run t.trace"), 3,
          "t.trace:3:1: error: module m is for sm_100a: it needs a GPU of compute capability 10.0; "
          "the device h200 is sm_90a\n"
          "module m m.ptx\n^\n");
}

#define LOAD_FAILS(result)                                                                         \
    "t.trace:3:1: error: module m (m.ptx) is not loaded: cuModuleLoadDataEx failed: " result       \
    "\nmodule m m.ptx\n^\nptxas application ptx input, line 9; fatal   : the log of the JIT\n"

Test(error_paths, driver_refuses_the_text) {
    write_trace("launch m.add_one grid 1 block 4 args &X\n");
    CHECK(siltwin("load=218", "run t.trace --on gpu"), 2,
          LOAD_FAILS("CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed"));
    CHECK(siltwin("load=222", "run t.trace --on gpu"), 3,
          LOAD_FAILS("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the provided PTX was compiled with "
                     "an unsupported toolchain.; a newer driver is needed for the .version of this "
                     "PTX"));
    CHECK(siltwin("load=209", "run t.trace --on gpu"), 3,
          LOAD_FAILS("CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available for "
                     "execution on the device"));
    CHECK(siltwin("load=crash", "run t.trace --on gpu"), 4,
          "siltwin: error: no verdict: the process that talks to the GPU's driver was ended by "
          "signal 11 (Segmentation fault); run the trace on the simulator to see whether its PTX "
          "is sound\n");
    CHECK(siltwin("memory=2", "run t.trace --on gpu"), 3,
          "t.trace:4:1: error: buffer X needs 272 bytes: cuMemAlloc failed: "
          "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory\nbuffer X u32 [4] iota\n^\n");
}

/* ---- kernels that do not end ---- */

#define TIMED_OUT                                                                                  \
    "t.trace:6:1: error: no verdict: launch 2 (forever) was not done after 0.3 s; 'timeout 1.2s' " \
    "in the trace's launch gives it longer\n"                                                      \
    "launch m.forever grid 1 block 32 timeout 300ms\n^\n"
#define HANGS                                                                                      \
    "t.trace:6:1: error: launch 2 (forever): cuStreamSynchronize failed: "                         \
    "CUDA_ERROR_LAUNCH_TIMEOUT (702): the launch timed out and was terminated\n"                   \
    "launch m.forever grid 1 block 32 timeout 300ms\n^\n"                                          \
    "error: hang in kernel forever: nothing can progress any more\n"                               \
    "  mbarrier bar+0 (0x400) of cta (0,0,0): phase 0, pending arrivals 1 of 1, pending bytes 0\n" \
    "    nobody arrived in this phase\n"                                                           \
    "m.ptx:156:5: cta (0,0,0) warp 0 lanes 0xffffffff waits for mbarrier bar+0 (0x400), parity "   \
    "0\n"                                                                                          \
    "        mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;\n        ^\n"
#define HANG_TRACE                                                                                 \
    "launch m.add_one grid 1 block 4 args &X\n"                                                    \
    "launch m.forever grid 1 block 32 timeout 300ms\n"
#define NOTE "siltwin: note: this is the same trace on the simulator:\n"

Test(error_paths, hang_on_the_simulator) {
    write_trace(HANG_TRACE);
    CHECK(siltwin(NULL, "run t.trace"), 1, HANGS);
    cr_assert(strstr(out, "launch 1 m.add_one: grid 1 1 1, block 4 1 1: done in "));
    cr_assert_not(strstr(out, "launch 2"));
}

Test(error_paths, hang_on_a_gpu) {
    write_trace(HANG_TRACE);
    write_trace("launch m.forever grid 1 block 32 timeout 300ms\n");
    CHECK(
        siltwin_makes(1, "sync=hang", "run t.trace --on gpu -o gpu.rec"), 4,
        "t.trace:5:1: error: no verdict: launch 1 (forever) was not done after 0.3 s; 'timeout "
        "1.2s' in the trace's launch gives it longer\n"
        "launch m.forever grid 1 block 32 timeout 300ms\n^\n" NOTE
        "t.trace:5:1: error: launch 1 (forever): cuStreamSynchronize failed: "
        "CUDA_ERROR_LAUNCH_TIMEOUT (702): the launch timed out and was terminated\n"
        "launch m.forever grid 1 block 32 timeout 300ms\n^\n"
        "error: hang in kernel forever: nothing can progress any more\n"
        "  mbarrier bar+0 (0x400) of cta (0,0,0): phase 0, pending arrivals 1 of 1, pending bytes "
        "0\n    nobody arrived in this phase\n"
        "m.ptx:156:5: cta (0,0,0) warp 0 lanes 0xffffffff waits for mbarrier bar+0 (0x400), "
        "parity 0\n"
        "        mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;\n        ^\n");
    cr_assert(seconds >= 0.3 && seconds < 25, "%g s", seconds);
    cr_assert_str_eq(out, "");
    /* The record says that its buffers are lost. */
    CHECK(siltwin(NULL, "show gpu.rec"), 0, "");
    cr_assert(strstr(out, "X u32 [4]: lost"), "%s", out);
}

/* A driver that never comes back, though the kernel is sound. */
Test(error_paths, hang_that_the_simulator_does_not_see) {
    write_trace("launch m.add_one grid 1 block 4 args &X timeout 200ms\n");
    CHECK(siltwin("sync=hang", "run t.trace --on gpu"), 4,
          "t.trace:5:1: error: no verdict: launch 1 (add_one) was not done after 0.2 s; 'timeout "
          "0.8s' in the trace's launch gives it longer\n"
          "launch m.add_one grid 1 block 4 args &X timeout 200ms\n^\n" NOTE
          "siltwin: note: on the simulator the trace ends as expected\n");
    CHECK_STATUS(siltwin("sync=slow", "run t.trace --on gpu --quiet"), 4); /* over its time */
    write_trace("launch m.add_one grid 1 block 4 args &X timeout 20s\n");
    CHECK(siltwin("sync=slow", "run t.trace --on gpu"), 0, "");
    cr_assert_gt(seconds, 1);
}

/* The document and the lines of launches that were done come though the process is ended. */
Test(error_paths, a_time_limit_keeps_what_is_known) {
    write_trace("launch m.add_one grid 1 block 4 args &X\n"
                "launch m.long_loop grid 1 block 32 args &X timeout 300ms\n"
                "probe E event of st.global.u32 keep 2\n");
    const char *const machines[] = {"", " --on gpu"};
    for (int i = 0; i < 2; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "run t.trace --json -o %d.rec%s", i, machines[i]);
        cr_assert_eq(siltwin_makes(1, "", arguments), 4, "%s", err);
        cr_assert(strstr(err, "t.trace:6:1: error: no verdict: launch 2 (long_loop) was not done "
                              "after 0.3 s"),
                  "%s", err);
        cr_assert(strstr(err, "the last events that probes saw:\n  cta 0 warp 0 lanes 0xffffffff E "
                              "m:170 visit 1 st.global.u32 [%a], %i: a=&X+0 b=0x1"),
                  "%s", err);
        json_error_t problem;
        json_t *json = json_loads(out, 0, &problem);
        cr_assert(json, "%s\n%s", problem.text, out);
        cr_assert_eq(json_integer_value(json_object_get(json, "exit_status")), 4);
        cr_assert_eq(json_array_size(json_object_get(json, "launches")), 2);
        const json_t *finding = json_array_get(json_object_get(json, "findings"), 0);
        cr_assert_str_eq(json_string_value(json_object_get(finding, "rule")), "launch.timeout");
        json_decref(json);
    }
    CHECK(siltwin(NULL, "show 1.rec --events"), 0, "");
    cr_assert(strstr(out, "launch 2 cta 0 warp 0 lane 31 E m:170 visit 1 st.global.u32"), "%s",
              out);
    CHECK_STATUS(siltwin(NULL, "run t.trace"), 4);
    cr_assert(strstr(out, "launch 1 m.add_one: grid 1 1 1, block 4 1 1: done in "), "%s", out);
}

/* A kernel that computes for long without a side effect has no verdict on the simulator, unless the
 * trace gives it a time. */
Test(error_paths, a_long_computation) {
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b64 %a; .reg .b32 %i; .reg .pred %p; ld.param.b64 %a, [p]; mov.b32 %i, 0;\n"
        "AGAIN: add.u32 %i, %i, 1;\n"
        "setp.ne.u32 %p, %i, 100000000;\n"
        "@%p bra AGAIN;\n"
        "st.global.b32 [%a], %i; ret; }\n";
    static const char trace[] = "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u32 [1]\n"
                                "buffer W u32 [1] = 100000000\n"
                                "launch m.k grid 1 block 1 args &X%s\nexpect X == W\n";
    char text[512];
    write_bytes("k.ptx", ptx, sizeof ptx - 1);
    snprintf(text, sizeof text, trace, "");
    write_bytes("t.trace", text, strlen(text));
    CHECK_STATUS(siltwin(NULL, "run t.trace"), 4);
    cr_assert(strstr(err, "t.trace:6:1: error: no verdict: launch 1 (k): "), "%s", err);
    cr_assert(strstr(err,
                     "\nerror: instruction budget used up in kernel k: the kernel ran on and on "
                     "without a side effect; no verdict\nk.ptx:"),
              "%s", err);
    cr_assert(strstr(err, "\n'timeout 10m' in the trace's launch lets it run on for that long\n"),
              "%s", err);
    snprintf(text, sizeof text, trace, " timeout 10m");
    write_bytes("t.trace", text, strlen(text));
    CHECK(siltwin(NULL, "run t.trace"), 0, "");
}

/* ---- kernels that fault ---- */

#define FAULTS                                                                                     \
    "t.trace:5:1: error: launch 1 (misaligned): cuStreamSynchronize failed: "                      \
    "CUDA_ERROR_MISALIGNED_ADDRESS (716): misaligned address\n"                                    \
    "launch m.misaligned grid 1 block 1 args &X\n^\n"
#define WHERE                                                                                      \
    "m.ptx:137:5: error: misaligned address: address 0x%llx of lane 0 is not a multiple of 4\n"    \
    "        st.global.u32 [%%a+1], %%v;\n        ^\n"                                             \
    "  kernel misaligned, cta (0,0,0), warp 0, lanes 0x00000001\n"
#define NOT_DONE "t.trace:6:1: error: not done: launch 1 ended the context\nexpect X == iota\n^\n"

Test(error_paths, fault) {
    char where[512], text[2048];
    unsigned long long address;
    write_trace("launch m.misaligned grid 1 block 1 args &X\nexpect X == iota\n");
    cr_assert_eq(siltwin(NULL, "run t.trace"), 1);
    cr_assert(strstr(err, "address 0x"));
    address = strtoull(strstr(err, "address 0x") + 8, NULL, 16);
    cr_assert_eq(address % 256, 1);
    snprintf(where, sizeof where, WHERE, address);
    snprintf(text, sizeof text, FAULTS "%s" NOT_DONE, where);
    cr_assert_str_eq(err, text);
    cr_assert_str_eq(out, "");
    /* A GPU says no place: the simulator does. */
    snprintf(text, sizeof text, FAULTS NOT_DONE NOTE FAULTS "%s" NOT_DONE, where);
    CHECK(siltwin("", "run t.trace --on gpu"), 1, text);
    CHECK(siltwin("", "run t.trace --on gpu --json"), 1, text);
    json_t *json = json_loads(out, 0, NULL);
    cr_assert(json, "%s", out);
    const json_t *finding = json_array_get(json_object_get(json, "findings"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(finding, "rule")), "launch.fault");
    cr_assert_eq(json_integer_value(json_object_get(json, "exit_status")), 1);
    json_decref(json);
    CHECK(siltwin("", "run t.trace --on gpu --no-simulator"), 1, FAULTS NOT_DONE);
    write_trace("launch m.misaligned grid 1 block 1 args &X\nexpect launch 1 fails 716\n");
    CHECK(siltwin("", "run t.trace --on gpu"), 0, "");
}

/* A driver says only that a launch is wrong, the simulator why. */
Test(error_paths, refused_launch) {
    static const char why[] =
        "launch of add_one refused: block.x is 2000, 1 to 1024 are possible\n";
    write_trace("launch m.add_one grid 1 block 2000 args &X\n");
    cr_assert_eq(siltwin(NULL, "run t.trace"), 1, "%s", err);
    cr_assert(strstr(err, why), "%s", err);
    cr_assert_eq(siltwin("", "run t.trace --on gpu"), 1, "%s", err);
    cr_assert(strstr(err, "t.trace:5:1: error: launch 1 (add_one): cuLaunchKernelEx failed: "
                          "CUDA_ERROR_INVALID_VALUE (1): invalid argument\n"),
              "%s", err);
    cr_assert(strstr(strstr(err, NOTE), why), "%s", err);
}

/* Both machines hang alike: that is no equality. */
Test(error_paths, diff_of_a_hang) {
    write_trace("launch m.forever grid 1 block 32 timeout 300ms\nprobe E event of mbarrier.*\n");
    CHECK_STATUS(siltwin("sync=hang", "diff t.trace"), 4);
    cr_assert_not(strstr(err, NOTE), "%s", err); /* the simulator's turn comes anyway */
    cr_assert(strstr(err, "t.trace:5:1: error: no verdict: launch 1 (forever) was not done after"));
    cr_assert(strstr(err, "error: hang in kernel forever: nothing can progress any more\n"));
    cr_assert(strstr(err, "siltwin: error: no verdict: neither record has contents of X: their "
                          "launches failed\n"),
              "%s", err);
    cr_assert_str_eq(out, "");
}

/* ---- probes ---- */

/* Places are those of the user's text, though probes put code before and behind an instruction. */
Test(error_paths, places_of_a_probed_kernel) {
    write_trace("launch m.forever grid 1 block 32\nprobe E event of mbarrier.*\n");
    cr_assert_eq(siltwin(NULL, "run t.trace --json"), 1);
    cr_assert(strstr(err, "\nm.ptx:156:5: cta (0,0,0) warp 0 lanes 0xffffffff waits for mbarrier "
                          "bar+0 (0x400), parity 0\n"
                          "        mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;\n"
                          "        ^\n"),
              "%s", err);
    write_trace("launch m.misaligned grid 1 block 1 args &X\nprobe E event of st.*\n");
    cr_assert_eq(siltwin(NULL, "run t.trace --json"), 1);
    cr_assert(strstr(err, "\nm.ptx:137:5: error: misaligned address: "), "%s", err);
    cr_assert(strstr(err, "\n        st.global.u32 [%a+1], %v;\n        ^\n"), "%s", err);
    cr_assert(strstr(out, "\"ptx\": \"m.ptx:137:5\""), "%s", out);
}

Test(error_paths, probe_overflow) {
    write_trace("launch m.add_one grid 1 block 4 args &X\n"
                "repeat i 3 { launch m.add_one grid 1 block 4 args &X }\n"
                "probe E event of st.global.u32 at m:20\n");
    CHECK(siltwin(NULL, "run t.trace --quiet"), 0, "");
    cr_assert_eq(system("sed -i 's/setp.ne.u32 %p, %i, 0;/setp.ne.u32 %p, %i, 100;/' m.ptx"), 0);
    write_trace("launch m.long_loop grid 1 block 4 args &X\nprobe E event of st.global.u32 in m\n");
    const char *const machines[] = {"run t.trace --quiet -o x.rec", "run t.trace --on gpu --quiet"};
    for (int i = 0; i < 2; i++)
        CHECK(
            siltwin_makes(i == 0, "", machines[i]), 4,
            "t.trace:6:1: error: no verdict: probe E overflowed in launch 1: more than 64 hits, 4 "
            "times; ask for fewer, or write keep N or last N\n"
            "probe E event of st.global.u32 in m\n^\n");
    /* What it kept is no verdict in a comparison either. */
    cr_assert_eq(siltwin(NULL, "diff x.rec x.rec"), 4, "%s%s", out, err);
    cr_assert(strstr(err, "overflow"), "%s", err);
}

/* ---- records ---- */

/* A small one: all its bytes are tried. */
static char *make_record(size_t *size) {
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry k(.param .u64 p) { .reg .b64 %a;\n"
                              "ld.param.b64 %a, [p]; st.global.b64 [%a], %a; ret; }\n";
    static const char trace[] = "siltwin 1\ndevice h200\nmodule m k.ptx\nbuffer X u64 [1]\n"
                                "launch m.k grid 1 block 1 args &X\nprobe E event of st.*\n";
    write_bytes("k.ptx", ptx, sizeof ptx - 1);
    write_bytes("t.trace", trace, sizeof trace - 1);
    CHECK(siltwin_makes(1, NULL, "run t.trace --quiet -o x.rec"), 0, "");
    return read_text("x.rec", size);
}

/* Refused by the exit status of wrong input, with its name, and nothing else is said. */
static void check_refused(const char *arguments, size_t at) {
    const int status = siltwin(NULL, arguments);
    cr_assert_eq(status, 2, "byte %zu: exit %d\n%s%s", at, status, out, err);
    cr_assert_str_eq(out, "");
    cr_assert(strstr(err, "siltwin: error: 'bad.rec': not a whole record: ") ||
                  strstr(err, "siltwin: error: 'bad.rec': not a record of siltwin") ||
                  strstr(err, "siltwin: error: 'bad.rec': a record of version "),
              "byte %zu: %s", at, err);
    cr_assert_eq(strchr(err, '\n') + 1, err + strlen(err), "%s", err);
}

Test(error_paths, flipped_bits_of_a_record) {
    size_t size;
    char *bytes = make_record(&size);
    write_bytes("bad.rec", bytes, size);
    CHECK(siltwin(NULL, "diff bad.rec x.rec"), 0, "");
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= (char)(1 << at % 8);
        write_bytes("bad.rec", bytes, size);
        check_refused(at % 2 ? "show bad.rec" : "diff x.rec bad.rec", at);
        bytes[at] ^= (char)(1 << at % 8);
    }
    printf("%zu bytes of a record, each with a bit flipped, refused\n", size);
    free(bytes);
}

Test(error_paths, truncated_and_foreign_records) {
    size_t size;
    char *bytes = make_record(&size);
    for (size_t length = 0; length < size; length++) {
        write_bytes("bad.rec", bytes, length);
        check_refused(length % 2 ? "show bad.rec" : "diff bad.rec x.rec", length);
    }
    write_bytes("bad.rec", bytes, 600);
    CHECK(siltwin(NULL, "run bad.rec"), 2,
          "siltwin: error: 'bad.rec': not a whole record: it ends early\n");
    CHECK(siltwin(NULL, "diff t.trace --against bad.rec"), 2,
          "siltwin: error: 'bad.rec': not a whole record: it ends early\n");
    CHECK(siltwin(NULL, "show m.ptx"), 2, "siltwin: error: 'm.ptx': not a record of siltwin\n");
    CHECK(siltwin(NULL, "diff x.rec m.ptx"), 2,
          "siltwin: error: 'm.ptx': not a record of siltwin\n");
    bytes[8] = 3; /* of a later siltwin */
    write_bytes("bad.rec", bytes, size);
    CHECK(siltwin(NULL, "show bad.rec"), 2,
          "siltwin: error: 'bad.rec': a record of version 3, this siltwin reads 1 to 2\n");
    free(bytes);
}

/* ---- files that are written ---- */

static void check_contents(const char *path, const char *text) {
    char *found = read_text(path, NULL);
    cr_assert_str_eq(found, text);
    free(found);
}

Test(error_paths, a_file_that_was_there_survives) {
    write_bytes("old.rec", "old", 3);
    write_trace("nonsense\n");
    CHECK(siltwin(NULL, "run t.trace -o old.rec"), 2,
          "t.trace:5:1: error: expected a statement, found 'nonsense'\nnonsense\n^\n");
    check_contents("old.rec", "old");
    write_trace("launch m.add_one grid 1 block 4 args &X\n");
    CHECK_STATUS(siltwin("init=100", "run t.trace --on gpu -o old.rec"), 3);
    check_contents("old.rec", "old");
    CHECK_STATUS(siltwin("load=crash", "run t.trace --on gpu -o old.rec"), 4);
    check_contents("old.rec", "old");
    /* The disk is full: a limit of the file size does the same. */
    struct rlimit limit = {2000, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_not(setrlimit(RLIMIT_FSIZE, &limit));
    CHECK(siltwin(NULL, "run t.trace --quiet -o old.rec"), 2,
          "siltwin: error: cannot write 'old.rec': File too large\n");
    check_contents("old.rec", "old");
    CHECK(siltwin(NULL, "layout swizzle 128B --svg old.rec"), 2,
          "siltwin: error: cannot write 'old.rec': File too large\n");
    check_contents("old.rec", "old");
}

Test(error_paths, where_nothing_can_be_written) {
    write_trace("launch m.long_loop grid 1 block 1 args &X timeout 20s\n");
    cr_assert_not(mkdir("sub", 0777));
    /* Said at once, not after the run. */
    CHECK(siltwin(NULL, "run t.trace -o none/x.rec"), 2,
          "siltwin: error: cannot write 'none/x.rec': No such file or directory\n");
    CHECK(siltwin(NULL, "run t.trace -o sub"), 2,
          "siltwin: error: cannot write 'sub': Is a directory\n");
    cr_assert_lt(seconds, 15);
    write_trace("copy X -> file sub/x.npy\n");
    CHECK(siltwin(NULL, "run t.trace -o /dev/null --quiet"), 0, "");
    struct stat info;
    cr_assert(!stat("/dev/null", &info) && S_ISCHR(info.st_mode));
    CHECK(siltwin(NULL, "run t.trace -o /dev/full --quiet"), 2,
          "siltwin: error: cannot write '/dev/full': No space left on device\n");
}

/* The file behind a link is replaced, and what reads a pipe gets the whole record. */
Test(error_paths, links_and_pipes) {
    struct stat info;
    write_trace("launch m.add_one grid 1 block 4 args &X\n");
    write_bytes("real.rec", "old", 3);
    cr_assert(!symlink("real.rec", "link.rec") && !mkfifo("pipe", 0666));
    CHECK(siltwin(NULL, "run t.trace --quiet -o link.rec"), 0, "");
    cr_assert(!lstat("link.rec", &info) && S_ISLNK(info.st_mode));
    CHECK(siltwin(NULL, "show real.rec --digest"), 0, "");
    const pid_t reader = fork();
    if (reader == 0) {
        if (!freopen("piped.rec", "w", stdout))
            _exit(1);
        execlp("cat", "cat", "pipe", NULL);
        _exit(1);
    }
    int status = system(SILTWIN_BUILD "/siltwin run t.trace --quiet -o pipe");
    cr_assert_eq(status, 0);
    cr_assert(waitpid(reader, &status, 0) == reader && !status);
    CHECK(siltwin(NULL, "diff piped.rec real.rec --quiet"), 0, "");
}

/* ---- a command that is ended from outside ---- */

Test(error_paths, ended_from_outside) {
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    write_trace("launch m.add_one grid 1 block 4 args &X timeout 20s\n");
    write_bytes("old.rec", "old", 3);
    write_bytes("out", "", 0);
    write_bytes("err", "", 0);
    const unsigned before = count_files();
    for (int i = 0; i < 6; i++) {
        const pid_t child = fork();
        if (child == 0) {
            start("sync=hang", i < 3 ? "run t.trace --on gpu -o old.rec" : "diff t.trace");
        }
        int status;
        usleep(400 * 1000);
        cr_assert_not(kill(child, signals[i % 3]));
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[i % 3]);
        /* The process for the GPU goes with it. */
        const double end = now() + 5;
        while (waitpid(-1, NULL, WNOHANG) != -1 && now() < end)
            usleep(1000);
        check_nothing_left("run", before, 0);
        check_contents("old.rec", "old");
    }
}

/* ---- bench ---- */

Test(error_paths, bench) {
    write_trace("launch m.misaligned grid 1 block 1 args &X\n");
    cr_assert_eq(siltwin(NULL, "bench t.trace"), 1, "%s", err);
    cr_assert(strstr(err, "siltwin: error: launch 1 m.misaligned: "), "%s", err);
    cr_assert(strstr(err, "\nm.ptx:137:5: error: misaligned address: "), "%s", err);
    write_trace("launch m.forever grid 1 block 32 timeout 300ms\n");
    cr_assert_eq(siltwin(NULL, "bench t.trace"), 1, "%s", err);
    cr_assert(strstr(err, "\nerror: hang in kernel forever: "), "%s", err);
}
