/* `siltwin layout`: draws a swizzle, an operand's canonical layout, a Tensor Memory load shape or a
 * register fragment. This file reads the command line; layout_request.c
 * makes the pages, layout_*.c draw them. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "layout_request.h"
#include "message.h"
#include "out_file.h"

static const char help_text[] =
    "usage: siltwin layout WHAT [options] [--svg FILE]\n"
    "\n"
    "  siltwin layout swizzle none|32B|64B|128B|128B_ATOM_32B|128B_ATOM_64B\n"
    "                 [--start ADDRESS] [--rows N]\n"
    "        where the 16-byte chunks of a tile lie; rows as wide as the swizzle (none: 128)\n"
    "  siltwin layout canonical [--major K|MN] [--swizzle MODE] [--rows N] [--k N]\n"
    "                 [--element 8|16|32|4|4in16B|6in16B] [--start ADDRESS]\n"
    "                 [--lbo BYTES] [--sbo BYTES] [--base-offset N]\n"
    "  siltwin layout canonical --desc 0x4000404000010000 [--major K|MN] [--element ...]\n"
    "        an operand of wgmma or tcgen05.mma; without --lbo and --sbo atoms are packed\n"
    "  siltwin layout tmem-ld SHAPE.xN [--pack16] [--split COLUMNS] [--warp W]\n"
    "        tcgen05.ld / st: 32x32b, 16x64b, 16x128b, 16x256b or 16x32bx2, e.g. 16x256b.x2\n"
    "  siltwin layout fragment NAME [--element 8|16|32] [--n N] [--num 1|2|4]\n"
    "        wgmma-d wgmma-a mma-a mma-b mma-c ldmatrix ldmatrix.trans ldmatrix.m16n16\n"
    "        ldmatrix.m8n16 stmatrix stmatrix.trans stmatrix.m16n8\n"
    "\n"
    "  --svg FILE  an SVG picture into FILE ('-' for standard output) instead of text\n"
    "  --json      one JSON document (siltwin.layout/1) instead of text\n"
    "  --width N   columns of the text (default: the terminal's, else 120)\n";

/* getopt's table from the names; a flag is an option that takes no argument. */
static void fill_table(struct option table[LAYOUT_OPT_COUNT]) {
    for (int option = 1; option < LAYOUT_OPT_COUNT; option++) {
        bool flag =
            option == LAYOUT_OPT_PACK16 || option == LAYOUT_OPT_JSON || option == LAYOUT_OPT_HELP;
        table[option - 1] = (struct option){
            .name = layout_option_name((enum layout_option)option),
            .has_arg = flag ? no_argument : required_argument,
            .val = option,
        };
    }
    table[LAYOUT_OPT_COUNT - 1] = (struct option){.name = NULL};
}

static bool read_options(int argc, char **argv, struct layout_request *request) {
    struct option table[LAYOUT_OPT_COUNT];
    fill_table(table);
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, ":", table, NULL)) != -1;) {
        if (c <= LAYOUT_OPT_NONE || c >= LAYOUT_OPT_COUNT) {
            message_option(c, argv);
            return false;
        }
        request->text[c] = optarg == NULL ? "" : optarg;
    }
    if (request->text[LAYOUT_OPT_HELP] != NULL)
        return true;
    if (argc - optind > 2) {
        message_error("layout: unexpected '%s'", argv[optind + 2]);
        return false;
    }
    if (optind == argc) {
        message_error("layout: expected what to draw, as in 'siltwin layout swizzle 128B'; see "
                      "'siltwin layout --help'");
        return false;
    }
    request->what = argv[optind];
    request->name = optind + 1 < argc ? argv[optind + 1] : NULL;
    return true;
}

static int write_file(const char *path, const struct strbuf *text) {
    struct out_file out = {.file = stdout};
    struct strbuf error = {0};
    const bool to_stdout = strcmp(path, "-") == 0;
    bool ok = to_stdout || out_file_begin(&out, path, &error);
    if (ok)
        out_file_write(&out, strbuf_text(text), text->length);
    ok = ok && (to_stdout || out_file_end(&out, true, &error));
    if (!ok)
        message_error("%s", strbuf_text(&error));
    strbuf_free(&error);
    return ok ? EXIT_AS_EXPECTED : EXIT_USAGE;
}

static bool text_width(const struct layout_request *request, uint32_t *width) {
    struct winsize window;
    *width = 120;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
        window.ws_col > 0)
        *width = window.ws_col;
    return layout_request_number(request, LAYOUT_OPT_WIDTH, 20, 10000, width);
}

static int write_page(const struct layout_request *request, const struct draw_page *page) {
    struct strbuf out = {0};
    const char *svg = request->text[LAYOUT_OPT_SVG];
    uint32_t width;
    if (svg != NULL && request->text[LAYOUT_OPT_JSON] != NULL) {
        message_error("layout: --svg and --json exclude each other");
        return EXIT_USAGE;
    }
    if (!text_width(request, &width))
        return EXIT_USAGE;
    if (svg != NULL)
        draw_svg(page, &out);
    else if (request->text[LAYOUT_OPT_JSON] == NULL)
        draw_text(page, width, message_colour(stdout), &out);
    else
        draw_json(page, &out);
    int status = EXIT_OUR_BUG;
    if (out.length == 0 || out.truncated)
        message_error("the host has no memory left");
    else
        status = write_file(svg != NULL ? svg : "-", &out);
    strbuf_free(&out);
    return status;
}

int cmd_layout(int argc, char **argv) {
    struct layout_request request = {.what = NULL};
    struct draw_page page = {.title = NULL};
    if (!read_options(argc, argv, &request))
        return EXIT_USAGE;
    if (request.text[LAYOUT_OPT_HELP] != NULL) {
        fputs(help_text, stdout);
        return EXIT_AS_EXPECTED;
    }
    int status = layout_request_page(&request, &page);
    if (status == EXIT_AS_EXPECTED)
        status = write_page(&request, &page);
    draw_free(&page);
    return status;
}
