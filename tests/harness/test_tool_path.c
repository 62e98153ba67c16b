#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool_path.h"

static char folder[64];

static void put(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fclose(file);
}

static void start(void) {
    strcpy(folder, "/tmp/siltwin-tool-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void stop(void) {
    char command[128];
    snprintf(command, sizeof command, "/bin/rm -r %s", folder); /* PATH is the test's own */
    cr_assert_eq(system(command), 0);
}

Test(tool_path, first_folder_that_has_it, .init = start, .fini = stop) {
    char path[TOOL_PATH_BYTES], wanted[128], list[160];
    snprintf(list, sizeof list, "/nowhere::%s:/bin", folder);
    put("ptxas");
    setenv("PATH", list, 1);
    snprintf(wanted, sizeof wanted, "%s/ptxas", folder);
    cr_assert(tool_path_ptxas(path));
    cr_assert_str_eq(path, wanted);
}

Test(tool_path, newer_library_first, .init = start, .fini = stop) {
    char path[TOOL_PATH_BYTES], wanted[128];
    setenv("LD_LIBRARY_PATH", folder, 1);
    put("libcublas.so.12");
    put("libcublas.so.13");
    snprintf(wanted, sizeof wanted, "%s/libcublas.so.13", folder);
    cr_assert(tool_path_cublas(path));
    cr_assert_str_eq(path, wanted);
}

/* A name that does not fit is not cut to one that may exist. */
Test(tool_path, long_folders_are_passed_over, .init = start, .fini = stop) {
    char path[TOOL_PATH_BYTES], wanted[128];
    char *list = malloc(2 * TOOL_PATH_BYTES);
    memset(list, 'x', TOOL_PATH_BYTES);
    snprintf(list + TOOL_PATH_BYTES, TOOL_PATH_BYTES, ":%s", folder);
    put("ptxas");
    setenv("PATH", list, 1);
    snprintf(wanted, sizeof wanted, "%s/ptxas", folder);
    cr_assert(tool_path_ptxas(path));
    cr_assert_str_eq(path, wanted);
    free(list);
}
