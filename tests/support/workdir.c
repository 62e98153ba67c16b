/* See workdir.h. */
#include "workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static _Noreturn void give_up(const char *what, const char *name) {
    fprintf(stderr, "%s: %s\n", name, what);
    exit(99);
}

void workdir_make(struct workdir *dir) {
    *dir = (struct workdir){.path = "/tmp/siltwin-test-XXXXXX"};
    if (!mkdtemp(dir->path))
        give_up("cannot be made", dir->path);
}

void workdir_remove(struct workdir *dir) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir->path);
    if (system(command))
        give_up("cannot be removed", dir->path);
    free(dir->output);
    free(dir->errors);
}

const char *workdir_file(const struct workdir *dir, const char *name) {
    static _Thread_local char paths[8][160];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir->path, name);
    return path;
}

void workdir_write(const struct workdir *dir, const char *name, const char *text) {
    FILE *file = fopen(workdir_file(dir, name), "wb");
    if (!file || fputs(text, file) < 0 || fclose(file))
        give_up("cannot be written", name);
}

char *workdir_read(const struct workdir *dir, const char *name) {
    FILE *file = fopen(workdir_file(dir, name), "rb");
    size_t length = 0, capacity = 1 << 16, got;
    char *text = malloc(capacity);
    if (!file)
        give_up("cannot be read", name);
    while (text && (got = fread(text + length, 1, capacity - length - 1, file)) > 0) {
        length += got;
        if (length + 1 == capacity)
            text = realloc(text, capacity *= 2);
    }
    fclose(file);
    if (!text)
        give_up("is too large", name);
    text[length] = '\0';
    return text;
}

int workdir_siltwin(struct workdir *dir, const char *arguments) {
    return workdir_siltwin_with(dir, "", arguments);
}

int workdir_siltwin_with(struct workdir *dir, const char *environment, const char *arguments) {
    char command[4096];
    snprintf(command, sizeof command, "cd %s && %s %s/siltwin %s >.out 2>.err", dir->path,
             environment, SILTWIN_BUILD, arguments);
    const int status = system(command);
    free(dir->output);
    free(dir->errors);
    dir->output = workdir_read(dir, ".out");
    dir->errors = workdir_read(dir, ".err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
