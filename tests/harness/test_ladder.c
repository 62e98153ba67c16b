/* Every trace that users are pointed to, on the device models that it has kernels for and under
 * several policies: the expectations of the trace hold. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static const char *const devices[] = {"b200", "h200"};
static const char *const policies[] = {"eager", "lazy", "random:7"};

/* A trace may be about what one chip alone has: then its module names no file for the other. */
static bool has_kernels_for(const char *trace, const char *device) {
    char *output;
    const int status = command_run(
        (const char *const[]){"run", trace, "--device", device, "--emit-ptx", NULL}, &output);
    cr_assert(status == 0 || (status == 3 && strstr(output, "has no file for")), "%s", output);
    free(output);
    return status == 0;
}

static unsigned run_everywhere(const char *name) {
    char trace[1024], *output;
    unsigned runs = 0;
    snprintf(trace, sizeof trace, "%s/traces/%s", SILTWIN_ROOT, name);
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
        if (!has_kernels_for(trace, devices[d]))
            continue;
        for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++, runs++) {
            int status = command_run((const char *const[]){"run", trace, "--device", devices[d],
                                                           "--policy", policies[p], NULL},
                                     &output);
            cr_assert_eq(status, 0, "%s on %s under %s: exit %d\n%s", name, devices[d], policies[p],
                         status, output);
            cr_assert(strstr(output, "as expected"), "%s", output);
            free(output);
        }
    }
    cr_assert_gt(runs, 0u, "%s runs nowhere", name);
    return runs;
}

Test(ladder, traces_hold_on_both_devices) {
    DIR *folder = opendir(SILTWIN_ROOT "/traces");
    unsigned traces = 0, runs = 0;
    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".trace") != 0)
            continue;
        runs += run_everywhere(entry->d_name);
        traces++;
    }
    closedir(folder);
    cr_assert_geq(traces, 8);
    printf("%u traces, %u runs\n", traces, runs);
}
