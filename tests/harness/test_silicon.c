/* What GPUs answered: every committed record of a trace is replayed on the simulator, every trace
 * has one, and the command that makes them does what it says, tried with the simulator in the GPU's
 * place. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char *text; /* of the last command */

static void make_folder(void) {
    strcpy(folder, "/tmp/siltwin-silicon-XXXXXX");
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
    free(text);
}

TestSuite(silicon, .init = make_folder, .fini = remove_folder);

/* Exit status of a shell command run in the project's folder. */
static int shell(const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "cd %s && { %s ; } >%s/text 2>&1", SILTWIN_ROOT, command, folder);
    const int status = system(line);
    snprintf(line, sizeof line, "%s/text", folder);
    FILE *file = fopen(line, "r");
    cr_assert_not_null(file);
    free(text);
    text = calloc(1, 1 << 20);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (size_t)1 << 20);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define CHECK(command, wanted)                                                                     \
    do {                                                                                           \
        const int status_ = shell(command);                                                        \
        cr_assert_eq(status_, wanted, "%s: exit status %d, expected %d\n%s", command, status_,     \
                     wanted, text);                                                                \
    } while (0)
#define SAYS(words) cr_assert(strstr(text, words), "no \"%s\" in\n%s", words, text)

static bool has_end(const char *name, const char *end) {
    const size_t a = strlen(name), b = strlen(end);
    return a > b && strcmp(name + a - b, end) == 0;
}

/* ---- committed records ---- */

/* Replays the records of one GPU's folder; how many there were. */
static unsigned replay(const char *gpu) {
    char path[1024], command[1024];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/traces/silicon/%s", SILTWIN_ROOT, gpu);
    DIR *records = opendir(path);
    cr_assert_not_null(records, "%s", path);
    for (struct dirent *entry; (entry = readdir(records)) != NULL;) {
        if (!has_end(entry->d_name, ".rec"))
            continue;
        const int stem = (int)strlen(entry->d_name) - 4;
        snprintf(command, sizeof command,
                 "%s/siltwin diff traces/%.*s.trace --against traces/silicon/%s/%s", SILTWIN_BUILD,
                 stem, entry->d_name, gpu, entry->d_name);
        CHECK(command, 0);
        count++;
    }
    closedir(records);
    return count;
}

/* Every trace that this GPU's target can run has a record. */
static void expect_all(const char *gpu) {
    char path[1024], command[1024];
    DIR *traces = opendir(SILTWIN_ROOT "/traces");
    cr_assert_not_null(traces);
    for (struct dirent *entry; (entry = readdir(traces)) != NULL;) {
        if (!has_end(entry->d_name, ".trace"))
            continue;
        snprintf(command, sizeof command, "%s/siltwin run traces/%s --device %s --emit-ptx",
                 SILTWIN_BUILD, entry->d_name, gpu);
        const int status = shell(command);
        cr_assert(status == 0 || status == 3, "%s: exit status %d\n%s", command, status, text);
        const int stem = (int)strlen(entry->d_name) - 6;
        snprintf(path, sizeof path, "%s/traces/silicon/%s/%.*s.rec", SILTWIN_ROOT, gpu, stem,
                 entry->d_name);
        cr_assert(status == 3 || access(path, R_OK) == 0,
                  "traces/%s has no record of the %s: scons record on such a machine makes it",
                  entry->d_name, gpu);
    }
    closedir(traces);
}

Test(silicon, committed_records_replay) {
    DIR *gpus = opendir(SILTWIN_ROOT "/traces/silicon");
    struct stat about;
    char path[1024];
    unsigned records = 0;
    cr_assert_not_null(gpus);
    for (struct dirent *entry; (entry = readdir(gpus)) != NULL;) {
        snprintf(path, sizeof path, "%s/traces/silicon/%s", SILTWIN_ROOT, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
            continue;
        const unsigned found = replay(entry->d_name);
        if (found != 0)
            expect_all(entry->d_name);
        records += found;
    }
    closedir(gpus);
    printf("%u records of traces replayed\n", records);
}

/* ---- the command that records ---- */

#define DRY       "python3 tests/record_silicon.py --build " SILTWIN_BUILD " --driver "
#define SIMULATOR SILTWIN_BUILD "/sim/libcuda.so.1"

Test(silicon, dry_run_records_and_replays) {
    char command[1024];
    snprintf(command, sizeof command,
             DRY SIMULATOR
             " --out %s/out --parts traces,conform --cases 256 --only mbarrier --only "
             "matmul_4_tma_store_64x64 --only probe_events_matmul_4",
             folder);
    CHECK(command, 0);
    SAYS("recorded  matmul_4_tma_store_64x64");
    SAYS("recorded  probe_events_matmul_4");
    SAYS("recorded  family mbarrier");
    SAYS("3 recorded, 0 different, 0 failed, 0 skipped");
    snprintf(command, sizeof command,
             "%s/siltwin show %s/out/matmul_4_tma_store_64x64.rec && test -s %s/out/mbarrier.conf",
             SILTWIN_BUILD, folder, folder);
    CHECK(command, 0);
}

/* A B200 has tensor probes of its own, and no wgmma. */
Test(silicon, dry_run_of_a_b200) {
    char command[1024];
    snprintf(command, sizeof command,
             "SILTWIN_DEVICE=b200 " DRY SIMULATOR
             " --out %s/out --parts traces,conform --cases 256 --only wgmma --only atom --only "
             "'probe_wgmma*' --only probe_tcgen05_cp",
             folder);
    CHECK(command, 0);
    SAYS("device model b200");
    SAYS("recorded  probe_tcgen05_cp");
    SAYS("skipped   probe_wgmma_types");
    SAYS("recorded  family atom");
    SAYS("skipped   family wgmma");
}

static void write_file(const char *name, const char *content) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* A wrong expectation, a trace for the other chip, a kernel that takes too long, and a good one. */
Test(silicon, dry_run_goes_on_behind_a_failure) {
    static const char nothing[] =
        ".version 8.6\n.target %s\n.address_size 64\n"
        ".visible .entry k() { ret; }\n"
        ".visible .entry loop() { .reg .b64 %%n; .reg .pred %%p; mov.b64 %%n, 1;\n"
        "L: add.u64 %%n, %%n, 2; setp.ne.u64 %%p, %%n, 0; @%%p bra L; ret; }\n";
    char ptx[1024], command[1024];
    snprintf(ptx, sizeof ptx, nothing, "sm_90a");
    write_file("hopper.ptx", ptx);
    snprintf(ptx, sizeof ptx, nothing, "sm_100a");
    write_file("blackwell.ptx", ptx);
    write_file("a_wrong.trace",
               "siltwin 1\ndevice h200\nmodule m hopper.ptx\nbuffer X u32 [4] zeros\n"
               "launch m.k grid 1 block 1 args\nexpect X == iota\n");
    write_file("b_other.trace", "siltwin 1\ndevice b200\nmodule m sm_100a=blackwell.ptx\n"
                                "launch m.k grid 1 block 1 args\n");
    write_file("c_slow.trace", "siltwin 1\ndevice h200\nmodule m hopper.ptx\n"
                               "launch m.loop grid 1 block 1 args\n");
    write_file("d_good.trace",
               "siltwin 1\ndevice h200\nmodule m hopper.ptx\nbuffer X u32 [4] iota\n"
               "launch m.k grid 1 block 1 args\nexpect X == iota\n");
    snprintf(command, sizeof command,
             DRY SIMULATOR
             " --out %s/out --traces %s --parts traces --limit 60 --only 'a_*' --only "
             "'b_*' --only 'd_*'",
             folder, folder);
    CHECK(command, 1);
    SAYS("different a_wrong");
    SAYS("skipped   b_other");
    SAYS("recorded  d_good");
    snprintf(command, sizeof command,
             DRY SIMULATOR " --out %s/out --traces %s --parts traces --limit 8", folder, folder);
    CHECK(command, 1);
    SAYS("failed    c_slow");
    SAYS("1 recorded, 1 different, 1 failed, 1 skipped");
    snprintf(command, sizeof command,
             DRY SIMULATOR " --out %s/out --traces %s --parts traces --limit 8 --only 'c*'", folder,
             folder);
    CHECK(command, 4);
}

Test(silicon, wrong_use_and_a_missing_gpu_are_said) {
    char command[1024];
    CHECK("python3 tests/record_silicon.py --driver " SIMULATOR, 2);
    SAYS("--driver needs --out");
    CHECK("python3 tests/record_silicon.py --parts everything", 2);
    write_file("libcuda.so.1", "");
    snprintf(command, sizeof command, DRY "%s/libcuda.so.1 --out %s/out", folder, folder);
    CHECK(command, 3);
    SAYS("no GPU to record");
}

/* Probe kernels that both chips have are one text under two targets. */
Test(silicon, kernels_of_both_chips_are_the_same) {
    CHECK("for f in device/sm_90a/probe_*.ptx; do g=device/sm_100a/${f##*/}; test ! -e $g || "
          "sed 's/^.target sm_90a$/.target sm_100a/' $f | cmp - $g || exit 1; done; "
          "ls device/sm_90a/probe_tma.ptx device/sm_100a/probe_tma.ptx",
          0);
}
