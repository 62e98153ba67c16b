/* What README.md shows is what the command says: its first run, and the report of a hang. The
 * blocks are taken from README.md, the commands run on copies of the files that it names. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "file_set.h"

static char folder[64];

static void make_folder(void) {
    strcpy(folder, "/tmp/siltwin-readme-XXXXXX");
    cr_assert(mkdtemp(folder) && !chdir(folder));
    cr_assert_eq(system("mkdir -p .git traces device/sm_100a && cp " SILTWIN_ROOT
                        "/traces/*.trace traces "
                        "&& cp " SILTWIN_ROOT "/device/sm_100a/*.ptx device/sm_100a"),
                 0);
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(!chdir("/") && !system(command));
}

TestSuite(readme, .init = make_folder, .fini = remove_folder);

static char *read_text(const char *path) {
    struct strbuf error = {0};
    uint8_t *bytes;
    size_t size;
    cr_assert_eq(file_read(path, &bytes, &size, &error), STATUS_OK, "%s", strbuf_text(&error));
    return (char *)bytes;
}

/* The indented block that begins with the line of README.md that holds `first`, without its
 * indentation. */
static char *block(const char *first) {
    char *readme = read_text(SILTWIN_ROOT "/README.md"), *at = strstr(readme, first);
    struct strbuf out = {0};
    cr_assert(at, "README.md has no line with '%s'", first);
    while (at > readme && at[-1] != '\n')
        at--;
    while (!strncmp(at, "    ", 4)) {
        const size_t length = strcspn(at, "\n") + 1;
        strbuf_append(&out, at + 4, length - 4);
        at += length;
    }
    free(readme);
    return out.text;
}

/* Times are not the same twice. */
static void hide_times(char *text) {
    for (char *at = text; (at = strstr(at, "done in ")); at++) {
        const size_t length = strcspn(at, "\n");
        memset(at + 8, '.', 1);
        memmove(at + 9, at + length, strlen(at + length) + 1);
    }
}

Test(readme, first_run) {
    char *expected = block("launch 1 mm.matmul_4_n256: "), *output;
    const int status = command_run(
        (const char *const[]){"run", "traces/matmul_4_tma_store_64x256.trace", NULL}, &output);
    cr_assert_eq(status, 0, "%s", output);
    hide_times(expected);
    hide_times(output);
    cr_assert_str_eq(output, expected);
    free(output);
    free(expected);
}

Test(readme, hang) {
    static const char from[] = "[%tma_bar], 40960;", to[] = "[%tma_bar], 40976;";
    static const char path[] = "device/sm_100a/matmul_4_tma_store.ptx";
    char *ptx = read_text(path), *output, *expected = block("error: hang in kernel");
    char *at = strstr(ptx, from);
    cr_assert(at);
    memcpy(at, to, strlen(to));
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(ptx, file) >= 0 && !fclose(file));
    const int status = command_run(
        (const char *const[]){"run", "traces/matmul_4_tma_store_64x256.trace", "--quiet", NULL},
        &output);
    cr_assert_eq(status, 1, "%s", output);
    cr_assert(strstr(output, expected), "README.md shows\n%sthe command says\n%s", expected,
              output);
    free(output);
    free(expected);
    free(ptx);
}
