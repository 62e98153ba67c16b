#ifndef SILTWIN_COMMANDS_H
#define SILTWIN_COMMANDS_H

/* The subcommands of `siltwin`. Each is `int cmd_NAME(int argc, char **argv)` in
 * harness/cmd_NAME.c: argv[0] is the subcommand's own name, options follow; the result is the exit
 * status. To add one: write the function and give it a row in commands.def; main.c and this header
 * read the rows. */

enum exit_status {
    EXIT_AS_EXPECTED = 0,
    EXIT_DIFFERENT = 1,  /* a difference, a failed expectation or a finding */
    EXIT_USAGE = 2,      /* wrong usage or bad input */
    EXIT_MACHINE = 3,    /* the machine lacks what was asked */
    EXIT_NO_VERDICT = 4, /* something not modelled was reached, or a budget ran out */
    EXIT_OUR_BUG = 70,   /* a bug of siltwin itself */
};

#define COMMAND(name, usage, summary) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

#endif
