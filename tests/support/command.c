/* See command.h. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGS = 32, RUN_SECONDS = 120 };

static _Noreturn void give_up(const char *what, const char *args) {
    fprintf(stderr, "siltwin %s: %s\n", args, what);
    exit(99);
}

static char *read_all(FILE *file) {
    size_t length = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    while (text != NULL) {
        size_t got = fread(text + length, 1, capacity - length - 1, file);
        length += got;
        if (got == 0)
            break;
        if (length + 1 == capacity)
            text = realloc(text, capacity *= 2);
    }
    if (text != NULL)
        text[length] = '\0';
    return text;
}

int command_run(const char *const args[], char **output) {
    char *argv[MAX_ARGS] = {"siltwin"};
    FILE *log = tmpfile();
    for (int i = 0; args[i] != NULL && i + 2 < MAX_ARGS; i++)
        argv[i + 1] = strdup(args[i]);
    if (log == NULL)
        give_up("no temporary file", args[0]);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(log), 1);
        dup2(fileno(log), 2);
        alarm(RUN_SECONDS);
        execv(SILTWIN_BUILD "/siltwin", argv);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("cannot be run", args[0]);
    if (!WIFEXITED(status))
        give_up(WTERMSIG(status) == 14 ? "ran for two minutes" : "ended by a signal", args[0]);
    rewind(log);
    *output = read_all(log);
    fclose(log);
    for (int i = 1; argv[i] != NULL; i++)
        free(argv[i]);
    return WEXITSTATUS(status);
}
