/* The `siltwin` command: finds the subcommand in its table and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "message.h"
#include "version.h"

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

/* A crash or a failed assertion is never the user's doing: its exit status says so. */
static void own_bug(int signal_number) {
    static const char text[] = "siltwin: a bug of siltwin itself: please report what you ran\n";
    (void)signal_number;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(EXIT_OUR_BUG);
    _exit(EXIT_OUR_BUG);
}

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 }; /* the sanitizer's report says more */
#else
enum { SANITIZED = 0 };
#endif

static void catch_own_bugs(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; !SANITIZED && i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], own_bug);
}

static bool asks_for_json(int argc, char **argv) {
    bool asks = false;
    for (int i = 1; i < argc; i++)
        asks = asks || !strcmp(argv[i], "--json");
    return asks;
}

/* Every command with --json ends with a document; what could not be written to standard output (a
 * full disk) is said too. */
static int finish(int status, const char *command, int argc, char **argv) {
    if (status != EXIT_AS_EXPECTED && asks_for_json(argc, argv))
        message_missing_document(command, status);
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    message_error("standard output cannot be written: %s", strerror(errno ? errno : EIO));
    return status == EXIT_AS_EXPECTED ? EXIT_USAGE : status;
}

/* Files that are opened must not come where standard streams are thought to be. */
static void open_standard_streams(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv) {
    catch_own_bugs();
    open_standard_streams();
    opterr = 0; /* message_option says what is wrong */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return EXIT_AS_EXPECTED;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("siltwin " SILTWIN_VERSION);
        return EXIT_AS_EXPECTED;
    }
    for (const struct command *command = commands; command->name; command++)
        if (!strcmp(argv[1], command->name))
            return finish(command->run(argc - 1, argv + 1), command->name, argc, argv);
    message_error("there is no command '%s'; 'siltwin --help' lists what there is", argv[1]);
    return EXIT_USAGE;
}
