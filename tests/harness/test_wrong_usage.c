/* What people type wrong: every command with missing, unknown and extra arguments, with files that
 * cannot be read or are something else, with numbers out of range and bytes that are no text. Each
 * ends with exit status 2 (3 where the machine lacks something), one message that says what was
 * found and what is expected, nothing on stdout but a document for --json, and no file. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file_set.h"

static char folder[64];

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static void make_folder(void) {
    strcpy(folder, "/tmp/siltwin-usage-XXXXXX");
    cr_assert(mkdtemp(folder) && !chdir(folder) && !mkdir("dir", 0777));
    write_text("k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() "
                        "{ ret; }\n");
    write_text("t.trace", "siltwin 1\ndevice h200\nmodule m k.ptx\nconst N=4\nbuffer X u32 [N] "
                          "iota\nlaunch m.k grid 1 block 1\n");
    write_text("empty", "");
    write_text("esc.trace", "siltwin 1\nbuffer \x1b[31mX u32 [4]\n");
    write_text("accent.trace", "siltwin 1\nbuffer X u32 [4] \xc3\xa9\xc3\xa9 more\n");
    write_text("broken.trace", "siltwin 1\nbuffer \xc3\x28 u32 [4]\n");
    write_text("huge.trace", "siltwin 1\nbuffer A u32 [99999999999999999999]\n");
    write_text("large.trace", "siltwin 1\nbuffer A u32 [1099511627777]\n");
    write_text("loop.trace", "siltwin 1\ninclude loop.trace\n");
    write_text("folder.trace", "siltwin 1\nmodule m dir\n");
    write_text("\xff.trace", "siltwin 1\n");
    cr_assert_eq(system(SILTWIN_BUILD "/siltwin run t.trace --quiet -o r.rec"), 0);
    cr_assert_eq(system("head -c 100 r.rec > cut.rec"), 0);
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(!chdir("/") && !system(command));
}

TestSuite(wrong_usage, .init = make_folder, .fini = remove_folder);

static char *read_text(const char *path) {
    struct strbuf error = {0};
    uint8_t *bytes;
    size_t size;
    cr_assert_eq(file_read(path, &bytes, &size, &error), STATUS_OK, "%s", strbuf_text(&error));
    return (char *)bytes;
}

static int run(const char *arguments) {
    char command[512];
    snprintf(command, sizeof command, SILTWIN_BUILD "/siltwin %s >/tmp/siltwin-usage-%d.out 2>err",
             arguments, getpid());
    const int status = system(command);
    snprintf(command, sizeof command, "mv /tmp/siltwin-usage-%d.out out", getpid());
    cr_assert_eq(system(command), 0);
    cr_assert(WIFEXITED(status), "%s", arguments);
    return WEXITSTATUS(status);
}

#define SAYS(text)       "siltwin: error: " text "\n"
#define NO_FILE          "No such file or directory"
#define JOBS(found)      SAYS("--jobs expects a number from 1 to 1024, found '" found "'")
#define RANGE            SAYS("expected a range such as [0..15] within each of the 1 dimensions of X")
#define UNKNOWN(c, o)    SAYS(c ": unknown option '" o "'; 'siltwin " c " --help' lists them")
#define NEEDS(c, o)      SAYS(c ": " o " needs a value")
#define NOT_RECORD(name) SAYS("'" name "': not a record of siltwin")
#define NOT_A_FILE(name) SAYS("'" name "' is not a regular file")
#define CUT              SAYS("'cut.rec': not a whole record: it ends early")
#define A_VALUE(found)   SAYS("expected NAME=VALUE with a whole number, found '" found "'")
#define DECODE                                                                                     \
    SAYS("decode: expected a kind and one value, as in 'siltwin decode smem-desc "                 \
         "0x4000404000010000'; see 'siltwin decode --help'")

static const struct {
    const char *arguments, *message; /* all of stderr */
} rows[] = {
    {"''", SAYS("there is no command ''; 'siltwin --help' lists what there is")},
    {"-x", SAYS("there is no command '-x'; 'siltwin --help' lists what there is")},
    /* run */
    {"run", SAYS("run expects a trace or a record")},
    {"run ''", SAYS("cannot open '': " NO_FILE)},
    {"run none", SAYS("cannot open 'none': " NO_FILE)},
    {"run empty", "empty:1:1: error: expected 'siltwin 1' as the first statement, found the end of "
                  "the statement\n\n^\n"},
    {"run dir", NOT_A_FILE("dir")},
    {"run /dev/zero", NOT_A_FILE("/dev/zero")},
    {"run esc.trace", "esc.trace:2:8: error: expected the buffer's name, found '?[31mX'\n"
                      "buffer ?[31mX u32 [4]\n       ^\n"},
    {"run broken.trace", "broken.trace:2:8: error: expected the buffer's name, found '?('\n"
                         "buffer ?( u32 [4]\n       ^\n"},
    {"run accent.trace",
     "accent.trace:2:18: error: expected a generator (uniform, ints, zeros, iota, poison, file, = "
     "values), align, offset, guard or seed, found '\xc3\xa9\xc3\xa9'\n"
     "buffer X u32 [4] \xc3\xa9\xc3\xa9 more\n                 ^\n"},
    {"run huge.trace", "huge.trace:2:15: error: the value does not fit in 64 bits\n"
                       "buffer A u32 [99999999999999999999]\n              ^\n"},
    {"run large.trace", "large.trace:2:15: error: a dimension is 1099511627777, expected 1 to "
                        "1099511627776\nbuffer A u32 [1099511627777]\n              ^\n"},
    {"run loop.trace", "loop.trace:2:1: error: includes are nested more than 16 deep\n"
                       "include loop.trace\n^\n"},
    {"run folder.trace", "folder.trace:2:1: error: 'dir' is not a regular file\nmodule m dir\n^\n"},
    {"run \xff.trace", SAYS("'?.trace': a file's name must be UTF-8, for records have it as text")},
    {"run cut.rec", CUT},
    {"run t.trace extra", A_VALUE("extra")},
    {"run t.trace =1", A_VALUE("=1")},
    {"run t.trace N=", A_VALUE("N=")},
    {"run t.trace N=4x", A_VALUE("N=4x")},
    {"run t.trace N=99999999999999999999", A_VALUE("N=99999999999999999999")},
    {"run t.trace M=4", SAYS("the trace has no constant 'M' for 'M=' to set")},
    {"run t.trace N=0", "t.trace:5:15: error: a dimension is 0, expected 1 to 1099511627776\n"
                        "buffer X u32 [N] iota\n              ^\n"},
    {"run t.trace -o", NEEDS("run", "-o")},
    {"run t.trace -o ''", SAYS("cannot write '': " NO_FILE)},
    {"run t.trace -o none/x", SAYS("cannot write 'none/x': " NO_FILE)},
    {"run t.trace -o dir", SAYS("cannot write 'dir': Is a directory")},
    {"run t.trace --jobs", NEEDS("run", "--jobs")},
    {"run t.trace --jobs ''", JOBS("")},
    {"run t.trace --jobs 0", JOBS("0")},
    {"run t.trace --jobs -1", JOBS("-1")},
    {"run t.trace --jobs 4x", JOBS("4x")},
    {"run t.trace --jobs 99999999999999999999", JOBS("99999999999999999999")},
    {"run t.trace --resident 33", SAYS("--resident expects a number from 1 to 32, found '33'")},
    {"run t.trace --policy x", SAYS("--policy expects eager, lazy or random:SEED, found 'x'")},
    {"run t.trace --policy random:", SAYS("--policy random:SEED expects a number, found ''")},
    {"run t.trace --on tpu", SAYS("--on expects sim or gpu, found 'tpu'")},
    {"run t.trace --on gpu --stats",
     SAYS("--stats counts what the simulator does; leave it out with --on gpu")},
    {"run t.trace --device b300", SAYS("there is no device 'b300'; b200, h200 and h100 are")},
    {"run t.trace --allow-path none", SAYS("--allow-path: there is no folder 'none'")},
    {"run t.trace --json=1", SAYS("run: '--json=1': this option takes no value")},
    {"run t.trace --frob", UNKNOWN("run", "--frob")},
    {"run t.trace -z", UNKNOWN("run", "-z")},
    {"run t.trace --emit-ptx --json",
     SAYS("--emit-ptx prints PTX, --json a document: take one of them")},
    /* diff */
    {"diff", SAYS("diff expects two records, or a trace")},
    {"diff none r.rec", SAYS("cannot open 'none': " NO_FILE)},
    {"diff r.rec dir", NOT_A_FILE("dir")},
    {"diff r.rec cut.rec", CUT},
    {"diff r.rec empty", NOT_RECORD("empty")},
    {"diff r.rec r.rec r.rec",
     SAYS("diff expects two records, or a trace and NAME=VALUE ...; found 'r.rec' too")},
    {"diff r.rec r.rec --device h200",
     SAYS("two records are compared as they are: --device is for diff TRACE")},
    {"diff r.rec r.rec --repeat 2",
     SAYS("two records are compared as they are: --repeat is for diff TRACE")},
    {"diff t.trace --against", NEEDS("diff", "--against")},
    {"diff t.trace --against t.trace", NOT_RECORD("t.trace")},
    {"diff t.trace --against r.rec --repeat 2",
     SAYS("--repeat is about the GPU; a record does not run again")},
    {"diff t.trace --against r.rec M=4", SAYS("the trace has no constant 'M' for 'M=' to set")},
    {"diff t.trace --against r.rec --jobs x", JOBS("x")},
    {"diff t.trace --repeat 65", SAYS("--repeat expects a number from 1 to 64, found '65'")},
    {"diff t.trace --repeat ''", SAYS("--repeat expects a number from 1 to 64, found ''")},
    {"diff t.trace --on gpu", UNKNOWN("diff", "--on")},
    /* bench, show */
    {"bench", SAYS("bench expects a trace")},
    {"bench none", SAYS("cannot open 'none': " NO_FILE)},
    {"bench t.trace extra", A_VALUE("extra")},
    {"bench t.trace --repeats 0", SAYS("--repeats expects a number from 1 to 10000, found '0'")},
    {"bench t.trace --warmups -1", SAYS("--warmups expects a number from 0 to 10000, found '-1'")},
    {"bench t.trace --frob", UNKNOWN("bench", "--frob")},
    {"show", SAYS("show expects one record")},
    {"show r.rec r.rec", SAYS("show expects one record")},
    {"show t.trace", NOT_RECORD("t.trace")},
    {"show dir", NOT_A_FILE("dir")},
    {"show r.rec --buffer", NEEDS("show", "--buffer")},
    {"show r.rec --buffer ''", SAYS("the record has no buffer ''")},
    {"show r.rec --buffer Q", SAYS("the record has no buffer 'Q'")},
    {"show r.rec --buffer 'X['", RANGE},
    {"show r.rec --buffer 'X[4]'", RANGE},
    {"show r.rec --buffer 'X[2..1]'", RANGE},
    {"show r.rec --buffer 'X[0][0]'", RANGE},
    {"show r.rec --buffer 'X[99999999999999999999]'", RANGE},
    {"show r.rec --file none", SAYS("the record holds no file or module 'none'")},
    {"show r.rec --frob", UNKNOWN("show", "--frob")},
    /* new, doctor */
    {"new", SAYS("new expects one PTX file")},
    {"new k.ptx k.ptx", SAYS("new expects one PTX file")},
    {"new none", SAYS("cannot open 'none': " NO_FILE)},
    {"new dir", NOT_A_FILE("dir")},
    {"new --frob", UNKNOWN("new", "--frob")},
    {"doctor x", SAYS("doctor takes no operands")},
    {"doctor --frob", UNKNOWN("doctor", "--frob")},
    /* decode, layout */
    {"decode", DECODE},
    {"decode token", DECODE},
    {"decode token 1 2", DECODE},
    {"decode frob 3",
     SAYS("decode: the kind is 'frob'; expected smem-desc, idesc, tensormap or token")},
    {"decode token x",
     SAYS("the token is 'x'; expected a number (decimal or 0x...) of at most 64 bits")},
    {"decode token 0x1ffffffffffffffff", SAYS("the token is '0x1ffffffffffffffff'; expected a "
                                              "number (decimal or 0x...) of at most 64 bits")},
    {"decode token --frob", UNKNOWN("decode", "--frob")},
    {"layout", SAYS("layout: expected what to draw, as in 'siltwin layout swizzle 128B'; see "
                    "'siltwin layout --help'")},
    {"layout swizzle 128B extra", SAYS("layout: unexpected 'extra'")},
    {"layout swizzle 128B --svg", NEEDS("layout", "--svg")},
    {"layout swizzle 128B --svg dir", SAYS("cannot write 'dir': Is a directory")},
    {"layout swizzle --frob", UNKNOWN("layout", "--frob")},
    {"layout swizzle --json=1", SAYS("layout: '--json=1': this option takes no value")},
};

Test(wrong_usage, every_command) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int status = run(rows[i].arguments);
        char *out = read_text("out"), *err = read_text("err");
        cr_expect_eq(status, 2, "%s: exit %d", rows[i].arguments, status);
        cr_expect_str_eq(err, rows[i].message, "siltwin %s says\n%s", rows[i].arguments, err);
        cr_expect(!*out || strstr(rows[i].arguments, "--json"), "%s: %s", rows[i].arguments, out);
        free(out);
        free(err);
    }
    printf("%zu wrong command lines answered\n", sizeof rows / sizeof *rows);
}

/* With --json the first message is in the document, whatever the command. */
Test(wrong_usage, documents) {
    static const struct {
        const char *arguments, *schema, *text;
    } documents[] = {
        {"run none --json", "siltwin.run/1", "cannot open 'none': " NO_FILE},
        {"run t.trace --json --jobs 0", "siltwin.run/1",
         "--jobs expects a number from 1 to 1024, found '0'"},
        {"run t.trace --json --frob", "siltwin.run/1",
         "run: unknown option '--frob'; 'siltwin run --help' lists them"},
        {"run broken.trace --json", "siltwin.run/1", "expected the buffer's name, found '?('"},
        {"diff r.rec cut.rec --json", "siltwin.diff/1",
         "'cut.rec': not a whole record: it ends early"},
        {"show none --json", "siltwin.show/1", "cannot open 'none': " NO_FILE},
        {"bench none --json", "siltwin.bench/1", "cannot open 'none': " NO_FILE},
        {"decode token x --json", "siltwin.decode/1",
         "the token is 'x'; expected a number (decimal or 0x...) of at most 64 bits"},
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        cr_expect_eq(run(documents[i].arguments), 2);
        char *out = read_text("out");
        json_t *json = json_loads(out, 0, NULL);
        cr_assert(json, "%s: %s", documents[i].arguments, out);
        const json_t *error = json_object_get(json, "error");
        cr_expect_str_eq(json_string_value(json_object_get(json, "schema")), documents[i].schema);
        cr_expect_eq(json_integer_value(json_object_get(json, "exit_status")), 2);
        cr_expect_str_eq(json_string_value(json_object_get(error, "text")), documents[i].text);
        json_decref(json);
        free(out);
    }
}

/* What cannot be written to standard output is no success, and no file comes in its place. */
Test(wrong_usage, standard_output) {
    static const char *const commands[] = {"run t.trace >/dev/full",
                                           "show r.rec >/dev/full",
                                           "show r.rec --json >/dev/full",
                                           "new k.ptx >/dev/full",
                                           "decode token 0x7fffe80000000000 >/dev/full",
                                           "run t.trace >&-",
                                           "run t.trace -o closed.rec >&-"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char command[256];
        snprintf(command, sizeof command, SILTWIN_BUILD "/siltwin %s 2>err", commands[i]);
        const int status = system(command);
        char *err = read_text("err");
        cr_expect_eq(WEXITSTATUS(status), 2, "%s", commands[i]);
        cr_expect(strstr(err, "standard output cannot be written: "), "%s: %s", commands[i], err);
        free(err);
    }
    cr_assert_eq(system(SILTWIN_BUILD "/siltwin diff closed.rec r.rec --quiet"), 0);
    cr_assert_eq(system(SILTWIN_BUILD "/siltwin run t.trace >out 2>&- <&-"), 0);
}
