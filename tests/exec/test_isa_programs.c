#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The programs of tests/isa through isa_runner and the simulated driver, and what the runner says
 * of programs that go wrong. */

enum { OUTPUT_BYTES = 1 << 16 };

/* Runs isa_runner in the project's root; returns its exit status and what it printed. */
static int run(const char *arguments, char output[OUTPUT_BYTES]) {
    char command[4096];
    snprintf(command, sizeof command, "cd %s && %s/tests/isa_runner %s 2>&1", SILTWIN_ROOT,
             SILTWIN_BUILD, arguments);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    output[fread(output, 1, OUTPUT_BYTES - 1, pipe)] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void all_pass(const char *arguments) {
    static char output[OUTPUT_BYTES];
    int status = run(arguments, output);
    const char *sum = strrchr(output, '\n');
    while (sum > output && sum[-1] != '\n')
        sum--;
    printf("isa_runner %s: %s", arguments, sum ? sum : "\n");
    cr_assert_eq(status, 0, "%s", output);
}

Test(isa_programs, eager) {
    all_pass("--policy eager");
}

Test(isa_programs, lazy) {
    all_pass("--policy lazy");
}

Test(isa_programs, random) {
    all_pass("--policy random:1");
    all_pass("--policy random:2");
}

/* What an H200 answered; the programs for another machine are not in its record. */
Test(isa_programs, as_the_h200_answered) {
    all_pass("--against traces/silicon/h200/isa.txt");
}

/* Writes a program and runs it; the runner must say `expected` and end with 1. */
static void must_fail(const char *text, const char *expected) {
    static char output[OUTPUT_BYTES];
    char path[] = "/tmp/isa_program_XXXXXX.ptx";
    int fd = mkstemps(path, 4);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int status = run(path, output);
    unlink(path);
    cr_expect_eq(status, 1, "%s", output);
    cr_expect_not_null(strstr(output, expected), "%s\nis not in\n%s", expected, output);
    cr_expect_not_null(strstr(output, "0 passed, 1 failed, 0 skipped"), "%s", output);
}

#define MODULE(body)                                                                               \
    ".version 9.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry test(.param .u64 p0) {\n.reg .b64 %p0;\nld.param.u64 %p0, [p0];\n" body       \
    "ret;\n}\n"

Test(isa_programs, wrong_value_names_the_element) {
    must_fail("// out: u32 1 2\n" MODULE("st.global.v2.b32 [%p0], {1, 3};\n"),
              "parameter 0, u32 element 1 is 0x3, 0x2 was expected");
    must_fail("// out: u32 1 2\n" MODULE("st.global.b32 [%p0], 1;\n"),
              "element 1 is 0xeeeeeeee, 0x2 was expected");
    must_fail("// out: f32~1 1.0\n" MODULE("st.global.f32 [%p0], 0f3F800002;\n"),
              "element 0 is 0x3f800002, 0x3f800000 was expected");
}

Test(isa_programs, wrong_end_names_both_results) {
    must_fail("// out: u32 1\n" MODULE("trap;\n"), "the launch ended with 719, 0 was expected");
    must_fail("// out: u32 1\n// fails: 719\n" MODULE("st.global.b32 [%p0], 1;\n"),
              "the launch ended with 0, 719 was expected");
}

Test(isa_programs, wrong_text_is_named_with_its_line) {
    must_fail("// out: u32 1\n" MODULE("mov.u32 %nowhere, 1;\n"), "nowhere");
    must_fail("// # about\n// out: u33 1\n" MODULE(""), ":2: a type is expected");
    must_fail("// out: u32 x\n" MODULE(""), ":1: values are expected");
    must_fail("// out: u32\n" MODULE(""), ":1: values are expected");
    must_fail("// inout: u32 1 2 -> 3\n" MODULE(""), ":1: as many values");
    must_fail("// blocks: 3\n" MODULE(""), ":1: unknown word");
    must_fail("// map: u8 dim 64 box 64 of 0\n" MODULE(""), "of a parameter before it");
    must_fail("// out: u32 1\n.version 9.0\n", "no .entry");
}

Test(isa_programs, a_failure_does_not_stop_the_others) {
    static char output[OUTPUT_BYTES];
    int status = run("/nonexistent.ptx tests/isa/ld_st_widths.ptx", output);
    cr_expect_eq(status, 1);
    cr_expect_not_null(strstr(output, "1 passed, 1 failed, 0 skipped"), "%s", output);
}

Test(isa_programs, wrong_usage) {
    static char output[OUTPUT_BYTES];
    cr_expect_eq(run("--on moon", output), 2);
    cr_expect_eq(run("--policy", output), 2);
    cr_expect_eq(run("--against /nonexistent", output), 2);
    cr_expect_not_null(strstr(output, "/nonexistent: cannot be read"), "%s", output);
}

Test(isa_programs, a_record_is_read_back) {
    static char output[OUTPUT_BYTES];
    char folder[] = "/tmp/isa_record_XXXXXX", command[4096];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof command, "--record %s tests/isa/carry_*.ptx", folder);
    cr_expect_eq(run(command, output), 0, "%s", output);
    snprintf(command, sizeof command, "--against %s/isa.txt tests/isa/carry_*.ptx", folder);
    cr_expect_eq(run(command, output), 0, "%s", output);
    cr_expect_not_null(strstr(output, "2 passed, 0 failed, 0 skipped"), "%s", output);
    snprintf(command, sizeof command,
             "sed -i 's/^\\(after [0-9] u32\\) [^ ]*/\\1 0x77/' %s/isa.txt", folder);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "--against %s/isa.txt tests/isa/carry_*.ptx", folder);
    cr_expect_eq(run(command, output), 1);
    cr_expect_not_null(strstr(output, "0x77 was expected"), "%s", output);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}
