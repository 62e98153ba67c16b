#ifndef SILTWIN_WORKDIR_H
#define SILTWIN_WORKDIR_H

/* A folder of a test's own, and the siltwin command run in it. Trouble ends the test program with a
 * message. */
struct workdir {
    char path[64];
    char *output, *errors; /* of the last command: stdout and stderr; NULL before the first */
};

void workdir_make(struct workdir *dir);
/* Removes the folder with all that is in it. */
void workdir_remove(struct workdir *dir);

/* "PATH/name": valid for the next seven calls. */
const char *workdir_file(const struct workdir *dir, const char *name);
void workdir_write(const struct workdir *dir, const char *name, const char *text);
/* The text of a file, to be freed. */
char *workdir_read(const struct workdir *dir, const char *name);

/* Runs `siltwin ARGUMENTS` (words for a shell) in the folder; its exit status, -1 when a signal
 * ended it. */
int workdir_siltwin(struct workdir *dir, const char *arguments);
/* The same with "NAME=VALUE ..." in the command's environment. */
int workdir_siltwin_with(struct workdir *dir, const char *environment, const char *arguments);

#endif
