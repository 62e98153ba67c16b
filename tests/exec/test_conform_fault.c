/* Misuse as an H200 answered it (traces/silicon/h200/fault.txt): which result each bad address,
 * wrong operand or wrong call ends with, all cases of the record again on the simulator.
 * build/conform_fault --against does the same. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_run.h"
#include "support.h"

static const char library[] = SILTWIN_BUILD "/sim/libcuda.so.1";

Test(conform_fault, as_recorded, .timeout = 600) {
    struct fault_record record;
    struct host_error error = {0};
    char message[400] = "";
    size_t different = 0, compared = 0;
    cr_assert(fault_record_read(SILTWIN_ROOT "/traces/silicon/h200/fault.txt", &record, &error),
              "%s", error.text);
    struct fault_run run = {.driver_path = library,
                            .seed = record.seed,
                            .count = record.count,
                            .jobs = 2,
                            .only = record.answers};
    struct fault_answer *answers = fault_run_all(&run);
    cr_assert_not_null(answers);
    for (uint32_t i = 0; i < record.count; i++) {
        compared += fault_has_answer(&record.answers[i]);
        if (!fault_has_answer(&record.answers[i]) || fault_alike(&answers[i], &record.answers[i]))
            continue;
        struct fault_case made;
        fault_case_make(record.seed, i, &made);
        if (different++ == 0)
            snprintf(message, sizeof message, "case %u %s: %s", i, made.group, made.text);
        fault_case_free(&made);
    }
    cr_assert_eq(different, 0, "%zu of %u cases differ, the first: %s", different, record.count,
                 message);
    cr_assert_gt(compared, 100);
    report_rows("silicon/h200/fault.txt (cases)", compared);
    fault_answers_free(answers, record.count);
    fault_answers_free(record.answers, record.count);
}

/* A case is made alike whenever it is asked for. */
Test(conform_fault, cases_are_made_alike) {
    for (uint32_t i = 0; i < 200; i++) {
        struct fault_case a, b, other;
        fault_case_make(7, i, &a);
        fault_case_make(7, i, &b);
        fault_case_make(8, i, &other);
        cr_assert_str_eq(a.ptx.text, b.ptx.text);
        cr_assert_str_eq(a.text, b.text);
        cr_assert_eq(memcmp(a.args, b.args, sizeof a.args), 0);
        cr_assert_str_neq(a.text, "");
        cr_assert(strcmp(a.text, other.text) != 0 || strcmp(a.ptx.text, other.ptx.text) != 0 ||
                      strcmp(a.group, "control") == 0,
                  "case %u: %s", i, a.text);
        fault_case_free(&a);
        fault_case_free(&b);
        fault_case_free(&other);
    }
}

/* A record that is cut or is of something else is said to be so; a whole one comes back. */
Test(conform_fault, records) {
    static const char head[] = "siltwin faults 1\ndevice x 9.0\ndriver 13000\ndate 2026-11-30\n";
    static const struct {
        const char *text;
        bool good;
    } texts[] = {
        {"seed 1 cases 1\n0 atom 0 - 0 700\nend\n", true},
        {"seed 1 cases 1\n0 atom 0 - 0 0 1 2 3 4 5 6 7 8\nend\n", true},
        {"seed 1 cases 9\n3 atom 0 - 0 700\nend\n", true},
        {"seed 1 cases 9\n3 atom 0 - 0 700\n3 atom 0 - 0 700\nend\n", false},
        {"seed 1 cases 1\n0 launch 0 - 1 -\nend\n", true},
        {"seed 1 cases 1\n0 mbarrier - - - died\nend\n", true},
        {"seed 1 cases 1\n0 atom 0 - 0 0 1 2 3\nend\n", false},
        {"seed 1 cases 1\n1 atom 0 - 0 700\nend\n", false},
        {"seed 1 cases 1\n0 atom 0 - 0 700\n", false},
        {"seed 1 cases 1\n0 atom\nend\n", false},
        {"seed 1 cases 99999999\nend\n", false},
        {"cases 1\n", false},
    };
    char path[] = "/tmp/siltwin_fault_XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct fault_record record;
        struct host_error error = {0};
        FILE *file = fopen(path, "w");
        fprintf(file, "%s%s", head, texts[i].text);
        fclose(file);
        cr_assert_eq(fault_record_read(path, &record, &error), texts[i].good, "text %zu", i);
        cr_assert_eq(error.text[0] == '\0', texts[i].good);
        if (i == 1)
            cr_assert_eq(record.answers[0].words[7], 8);
        fault_answers_free(record.answers, record.count);
    }
    remove(path);
}

/* Only finished cases that say the same are alike. */
Test(conform_fault, alike) {
    struct fault_answer a = {0, FAULT_NOT_RUN, 0, 700, {0}, FAULT_DONE}, b = a;
    cr_assert(fault_alike(&a, &b));
    b.sync = 716;
    cr_assert_not(fault_alike(&a, &b));
    b = a;
    b.words[3] = 1;
    cr_assert_not(fault_alike(&a, &b));
    b = a;
    b.state = FAULT_BEGUN;
    cr_assert_not(fault_alike(&a, &b));
}
