/* The `siltwin` command: finds the subcommand in its table and runs it. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "message.h"

static const struct command {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND(name, usage, summary) {#name, usage, summary, cmd_##name},
#include "commands.def"
#undef COMMAND
    {NULL, NULL, NULL, NULL},
};

static void print_help(FILE *out) {
    fputs("usage: siltwin COMMAND ...\n\n"
          "Runs PTX kernels on a simulator of Hopper and Blackwell GPUs and compares what came "
          "out.\n\n",
          out);
    for (const struct command *command = commands; command->name; command++)
        fprintf(out, "  siltwin %s %s\n        %s\n", command->name, command->usage,
                command->summary);
    fputs("\nExit status: 0 as expected, 1 a difference or a failed expectation, 2 wrong usage or\n"
          "input, 3 the machine lacks what was asked, 4 no verdict, 70 a bug of siltwin.\n",
          out);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return EXIT_AS_EXPECTED;
    }
    for (const struct command *command = commands; command->name; command++)
        if (!strcmp(argv[1], command->name))
            return command->run(argc - 1, argv + 1);
    message_error("there is no command '%s'; 'siltwin --help' lists what there is", argv[1]);
    return EXIT_USAGE;
}
