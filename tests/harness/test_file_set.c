/* Which files a trace may read, and what their names are. */
#include "file_set.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], trace_path[128];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

static void folder(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    cr_assert_eq(mkdir(path, 0700), 0);
}

/* outside.txt; project/.git, project/k.ptx; project/traces/t.trace, sub/a.txt */
static void make_tree(void) {
    strcpy(root, "/tmp/siltwin-files-XXXXXX");
    cr_assert(mkdtemp(root));
    folder("project");
    folder("project/.git");
    folder("project/traces");
    folder("project/traces/sub");
    put("outside.txt", "outside");
    put("project/k.ptx", "ptx");
    put("project/traces/t.trace", "trace");
    put("project/traces/sub/a.txt", "a");
    snprintf(trace_path, sizeof trace_path, "%s/project/traces/t.trace", root);
}

static void remove_tree(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(file_set, .init = make_tree, .fini = remove_tree);

static const struct file_entry *open_it(struct file_set *set, const char *path, char *error,
                                        size_t size) {
    struct strbuf text = {0};
    const struct file_entry *entry = file_set_open(set, NULL, path, &text);
    snprintf(error, size, "%s", strbuf_text(&text));
    strbuf_free(&text);
    return entry;
}

Test(file_set, own_tree_and_project_only) {
    struct file_set set;
    char error[400], outside[128];
    file_set_init(&set, trace_path);
    const struct file_entry *a = open_it(&set, "sub/a.txt", error, sizeof error);
    cr_assert(a, "%s", error);
    cr_assert_str_eq(a->name, "sub/a.txt");
    cr_assert_eq(a->size, 1);
    const struct file_entry *k = open_it(&set, "./sub/../../k.ptx", error, sizeof error);
    cr_assert(k, "%s", error);
    cr_assert_str_eq(k->name, "../k.ptx");
    cr_assert_eq(open_it(&set, "../k.ptx", error, sizeof error), k);
    cr_assert_not(open_it(&set, "../../outside.txt", error, sizeof error));
    cr_assert(strstr(error, "--allow-path"), "%s", error);
    snprintf(outside, sizeof outside, "%s/outside.txt", root);
    cr_assert_not(open_it(&set, outside, error, sizeof error));
    cr_assert_not(open_it(&set, "/etc/passwd", error, sizeof error));
    cr_assert_eq(file_set_allow(&set, root), STATUS_OK);
    cr_assert(open_it(&set, "../../outside.txt", error, sizeof error), "%s", error);
    file_set_free(&set);
}

/* A symbolic link counts as what it names. */
Test(file_set, links_do_not_lead_out) {
    struct file_set set;
    char error[400], link[128];
    snprintf(link, sizeof link, "%s/project/traces/link", root);
    cr_assert_eq(symlink("../../outside.txt", link), 0);
    file_set_init(&set, trace_path);
    cr_assert_not(open_it(&set, "link", error, sizeof error));
    cr_assert(strstr(error, "outside the trace's folder tree"), "%s", error);
    file_set_free(&set);
}

Test(file_set, odd_files) {
    struct file_set set;
    char error[400], fifo[128];
    snprintf(fifo, sizeof fifo, "%s/project/traces/fifo", root);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    file_set_init(&set, trace_path);
    cr_assert_not(open_it(&set, "sub", error, sizeof error));
    cr_assert(strstr(error, "is not a regular file"), "%s", error);
    cr_assert_not(open_it(&set, "fifo", error, sizeof error));
    cr_assert_not(open_it(&set, "none", error, sizeof error));
    cr_assert(strstr(error, "No such file"), "%s", error);
    char *long_path = malloc(100001);
    memset(long_path, 'x', 100000);
    long_path[100000] = '\0';
    cr_assert_not(open_it(&set, long_path, error, sizeof error));
    free(long_path);
    file_set_free(&set);
}

Test(file_set, outputs_stay_inside) {
    struct file_set set;
    struct strbuf text = {0};
    file_set_init(&set, trace_path);
    cr_assert(file_set_output_path(&set, NULL, "sub/new.npy", &text), "%s", strbuf_text(&text));
    cr_assert_not(file_set_output_path(&set, NULL, "../../new.npy", &text));
    cr_assert(strstr(strbuf_text(&text), "--allow-path"));
    file_set_free(&set);
}

Test(file_set, sealed_reads_no_disk) {
    struct file_set set;
    char error[400];
    file_set_init_sealed(&set);
    cr_assert(file_set_add(&set, "dir/a", "xy", 2));
    cr_assert(open_it(&set, "dir/../dir/a", error, sizeof error));
    cr_assert_not(open_it(&set, trace_path, error, sizeof error));
    cr_assert(strstr(error, "is not among the files"), "%s", error);
    file_set_free(&set);
}
