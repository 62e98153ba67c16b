/* tcgen05.fence::before_thread_sync and ::after_thread_sync order what different threads issue: the
 * probe kernel without the first of them is found out by a policy that completes operations late.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workdir.h"

#define KERNEL "/device/sm_100a/probe_tcgen05_fences.ptx"
#define TRACE                                                                                      \
    "siltwin 1\ndevice b200\nmodule mm k.ptx\nbuffer COPY u32 [1][128]  poison\n"                  \
    "launch mm.copy_then_multiply grid 1 block 128 args &COPY\nexpect COPY == ints(8,8) seed 0\n"

static struct workdir dir;

static void make_folder(void) {
    workdir_make(&dir);
}
static void remove_folder(void) {
    workdir_remove(&dir);
}

TestSuite(tensor_fences, .init = make_folder, .fini = remove_folder);

static char *read_kernel(void) {
    enum { ROOM = 1 << 16 };
    FILE *file = fopen(SILTWIN_ROOT KERNEL, "r");
    char *text = calloc(1, ROOM);
    cr_assert(file && text);
    cr_assert_lt(fread(text, 1, ROOM - 1, file), (size_t)ROOM - 1);
    fclose(file);
    return text;
}

Test(tensor_fences, a_copy_and_a_product_of_two_threads) {
    static const char copy[] = "tcgen05.cp.", fence[] = "    tcgen05.fence::before_thread_sync;\n";
    char *text = read_kernel();
    workdir_write(&dir, "k.ptx", text);
    workdir_write(&dir, "t.trace", TRACE);
    cr_assert_eq(workdir_siltwin(&dir, "run t.trace --policy lazy"), 0, "%s", dir.errors);
    char *at = strstr(text, copy);
    cr_assert_not_null(at);
    at = strstr(at, fence);
    cr_assert_not_null(at);
    memset(at, ' ', sizeof fence - 2);
    workdir_write(&dir, "k.ptx", text);
    cr_assert_eq(workdir_siltwin(&dir, "run t.trace --policy eager"), 0, "%s", dir.errors);
    cr_assert_eq(workdir_siltwin(&dir, "run t.trace --policy lazy"), 1, "%s", dir.errors);
    free(text);
}
