#ifndef SILTWIN_COMMAND_H
#define SILTWIN_COMMAND_H

/* Runs the siltwin command that was built, for at most two minutes. `args` end with NULL and begin
 * behind the command's name. What it wrote to both streams is `*output` (freed by the caller).
 * Returns its exit status; a signal ends the test program with a message. */
int command_run(const char *const args[], char **output);

#endif
