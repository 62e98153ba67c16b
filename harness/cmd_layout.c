/* `siltwin layout`: draws a swizzle, an operand's canonical layout, a Tensor Memory load shape or a
 * register fragment. This file reads the command line; layout_*.c draw. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bits.h"
#include "commands.h"
#include "layout_pages.h"
#include "message.h"
#include "word_args.h"

static const char help_text[] =
    "usage: siltwin layout WHAT [options] [--svg FILE]\n"
    "\n"
    "  siltwin layout swizzle none|32B|64B|128B|128B_ATOM_32B|128B_ATOM_64B\n"
    "                 [--start ADDRESS] [--rows N]\n"
    "        where the 16-byte chunks of a tile lie; rows as wide as the swizzle (none: 128)\n"
    "  siltwin layout canonical [--major K|MN] [--swizzle MODE] [--element "
    "8|16|32|4|4in16B|6in16B]\n"
    "                 [--rows N] [--k N] [--start A] [--lbo BYTES] [--sbo BYTES] [--base-offset "
    "N]\n"
    "  siltwin layout canonical --desc 0x4000404000010000 [--major K|MN] [--element ...]\n"
    "        an operand of wgmma or tcgen05.mma; without --lbo and --sbo atoms are packed\n"
    "  siltwin layout tmem-ld SHAPE.xN [--pack16] [--split COLUMNS] [--warp W]\n"
    "        tcgen05.ld / st: 32x32b, 16x64b, 16x128b, 16x256b or 16x32bx2, e.g. 16x256b.x2\n"
    "  siltwin layout fragment NAME [--element 8|16|32] [--n N] [--num 1|2|4]\n"
    "        wgmma-d wgmma-a mma-a mma-b mma-c ldmatrix ldmatrix.trans ldmatrix.m16n16\n"
    "        ldmatrix.m8n16 stmatrix stmatrix.trans stmatrix.m16n8\n"
    "\n"
    "  --svg FILE  an SVG picture into FILE ('-' for standard output) instead of text\n"
    "  --width N   columns of the text (default: the terminal's, else 120)\n";

enum option_id {
    OPT_NONE,
    OPT_START,
    OPT_ROWS,
    OPT_MAJOR,
    OPT_SWIZZLE,
    OPT_ELEMENT,
    OPT_K,
    OPT_LBO,
    OPT_SBO,
    OPT_BASE_OFFSET,
    OPT_DESC,
    OPT_PACK16,
    OPT_SPLIT,
    OPT_WARP,
    OPT_N,
    OPT_NUM,
    OPT_SVG,
    OPT_WIDTH,
    OPT_HELP,
    OPT_COUNT,
};

struct options {
    const char *text[OPT_COUNT]; /* the argument, "" for a flag, NULL when not given */
    const char *what;
    const char *name; /* second word, NULL without */
};

static const struct option longs[] = {
    {"start", required_argument, NULL, OPT_START},
    {"rows", required_argument, NULL, OPT_ROWS},
    {"major", required_argument, NULL, OPT_MAJOR},
    {"swizzle", required_argument, NULL, OPT_SWIZZLE},
    {"element", required_argument, NULL, OPT_ELEMENT},
    {"k", required_argument, NULL, OPT_K},
    {"lbo", required_argument, NULL, OPT_LBO},
    {"sbo", required_argument, NULL, OPT_SBO},
    {"base-offset", required_argument, NULL, OPT_BASE_OFFSET},
    {"desc", required_argument, NULL, OPT_DESC},
    {"pack16", no_argument, NULL, OPT_PACK16},
    {"split", required_argument, NULL, OPT_SPLIT},
    {"warp", required_argument, NULL, OPT_WARP},
    {"n", required_argument, NULL, OPT_N},
    {"num", required_argument, NULL, OPT_NUM},
    {"svg", required_argument, NULL, OPT_SVG},
    {"width", required_argument, NULL, OPT_WIDTH},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static bool read_options(int argc, char **argv, struct options *options) {
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1;) {
        if (c == ':') {
            message_error("layout: %s needs a value", argv[optind - 1]);
            return false;
        }
        if (c <= OPT_NONE || c >= OPT_COUNT) {
            message_error("layout: unknown option '%s'; 'siltwin layout --help' lists them",
                          argv[optind - 1]);
            return false;
        }
        options->text[c] = optarg == NULL ? "" : optarg;
    }
    if (options->text[OPT_HELP] != NULL)
        return true;
    if (optind == argc || argc - optind > 2) {
        message_error("layout: expected what to draw, as in 'siltwin layout swizzle 128B'; see "
                      "'siltwin layout --help'");
        return false;
    }
    options->what = argv[optind];
    options->name = optind + 1 < argc ? argv[optind + 1] : NULL;
    return true;
}

/* Refuses options that the picture has no use for. `allowed` is a bit set of option_id. */
static bool only(const struct options *options, uint32_t allowed) {
    allowed |= 1u << OPT_SVG | 1u << OPT_WIDTH;
    for (size_t i = 0; longs[i].name != NULL; i++)
        if (options->text[longs[i].val] != NULL && (allowed >> longs[i].val & 1) == 0) {
            message_error("layout %s: --%s has no meaning here", options->what, longs[i].name);
            return false;
        }
    return true;
}

/* The option as a number, `value` unchanged when it was not given. */
static bool number(const struct options *options, enum option_id id, const char *name, uint32_t min,
                   uint32_t max, uint32_t *value) {
    uint64_t wide;
    if (options->text[id] == NULL)
        return true;
    if (!word_args_number(name, options->text[id], min, max, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool multiple(const char *name, uint32_t value, uint32_t of) {
    if (value % of == 0)
        return true;
    message_error("%s is %u; expected a multiple of %u", name, value, of);
    return false;
}

static bool swizzle_word(const char *what, const char *text, enum swizzle_mode *mode) {
    const char *names[SWIZZLE_MODE_COUNT];
    size_t index;
    for (enum swizzle_mode m = 0; m < SWIZZLE_MODE_COUNT; m++)
        names[m] = swizzle_name(m);
    if (!word_args_choice(what, text, names, SWIZZLE_MODE_COUNT, &index))
        return false;
    *mode = (enum swizzle_mode)index;
    return true;
}

static int out_of_memory(void) {
    message_error("the host has no memory left");
    return EXIT_OUR_BUG;
}

static int page_swizzle(const struct options *options, struct draw_page *page) {
    struct layout_swizzle_options out = {.rows = 0};
    if (!only(options, 1u << OPT_START | 1u << OPT_ROWS))
        return EXIT_USAGE;
    if (options->name == NULL) {
        message_error("layout swizzle: which mode? none, 32B, 64B, 128B, 128B_ATOM_32B or "
                      "128B_ATOM_64B");
        return EXIT_USAGE;
    }
    if (!swizzle_word("the swizzle mode", options->name, &out.mode))
        return EXIT_USAGE;
    if (!swizzle_is_known(out.mode)) {
        message_error("%s: no source says which 128-byte lines have their 8-byte halves exchanged",
                      swizzle_name(out.mode));
        return EXIT_NO_VERDICT;
    }
    out.rows = swizzle_rule(out.mode)->pattern_bytes / layout_swizzle_row_bytes(out.mode);
    out.rows = out.rows < 8 ? 8 : out.rows;
    if (!number(options, OPT_START, "--start", 0, 0x3ffff, &out.start_bytes) ||
        !number(options, OPT_ROWS, "--rows", 1, 256, &out.rows) ||
        !multiple("--start", out.start_bytes, 16))
        return EXIT_USAGE;
    return layout_swizzle(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

static const char *const element_words[] = {"8", "16", "32", "4", "4in16B", "6in16B"};
static const char *const element_names[] = {
    "8-bit",
    "16-bit",
    "32-bit",
    "packed 4-bit",
    "4-bit (16-byte container)",
    "6-bit (16-byte container)",
};

/* Strides that pack the atoms of the operand, rows first. */
static void packed_strides(struct smem_desc *desc, enum canonical_major major,
                           enum canonical_element element, uint32_t mn, uint32_t k) {
    uint32_t span = swizzle_rule(desc->swizzle)->span_bytes;
    uint32_t lines = desc->swizzle == SWIZZLE_128B_ATOM_32B ? 4 : 8;
    bool swizzled = desc->swizzle != SWIZZLE_NONE;
    desc->sbo_bytes = lines * span;
    if (major == CANONICAL_K)
        desc->lbo_bytes = swizzled ? 16 : (mn + 7) / 8 * 128;
    else if (swizzled)
        desc->lbo_bytes = (k + lines - 1) / lines * lines * span;
    else
        desc->lbo_bytes = (canonical_line_bytes(element, mn) + 15) / 16 * 128;
}

static bool desc_of_word(const char *text, struct smem_desc *desc) {
    uint64_t word;
    if (!word_args_number("--desc", text, 0, UINT64_MAX, &word))
        return false;
    enum smem_desc_arch arch = bits_get(word, 46, 3) == 1 ? SMEM_DESC_SM100 : SMEM_DESC_SM90;
    enum smem_desc_error error = smem_desc_decode(arch, word, desc);
    if (error != SMEM_DESC_OK)
        message_error("--desc %s: %s", text, smem_desc_error_text(error));
    return error == SMEM_DESC_OK;
}

/* What the descriptor says, or the options that stand for one. */
static bool canonical_desc(const struct options *options, enum canonical_major major,
                           struct layout_canonical_options *out, enum canonical_element element) {
    if (options->text[OPT_DESC] != NULL)
        return desc_of_word(options->text[OPT_DESC], &out->desc);
    uint32_t base_offset = 0;
    out->desc.swizzle = SWIZZLE_128B;
    if (options->text[OPT_SWIZZLE] != NULL &&
        !swizzle_word("--swizzle", options->text[OPT_SWIZZLE], &out->desc.swizzle))
        return false;
    if (out->desc.swizzle > SWIZZLE_128B_ATOM_32B) {
        message_error("--swizzle %s: %s", options->text[OPT_SWIZZLE],
                      canonical_error_text(CANONICAL_SWIZZLE_MODE));
        return false;
    }
    packed_strides(&out->desc, major, element, out->mn, out->k);
    bool good = number(options, OPT_START, "--start", 0, 0x3ffff, &out->desc.start_bytes) &&
                number(options, OPT_LBO, "--lbo", 0, 0x3ffff, &out->desc.lbo_bytes) &&
                number(options, OPT_SBO, "--sbo", 0, 0x3ffff, &out->desc.sbo_bytes) &&
                number(options, OPT_BASE_OFFSET, "--base-offset", 0, 7, &base_offset) &&
                multiple("--start", out->desc.start_bytes, 16) &&
                multiple("--lbo", out->desc.lbo_bytes, 16) &&
                multiple("--sbo", out->desc.sbo_bytes, 16);
    out->desc.base_offset = (uint8_t)base_offset;
    return good;
}

static int page_canonical(const struct options *options, struct draw_page *page) {
    static const char *const majors[] = {"K", "MN"};
    const uint32_t common = 1u << OPT_MAJOR | 1u << OPT_ELEMENT | 1u << OPT_ROWS | 1u << OPT_K;
    const uint32_t fields =
        1u << OPT_SWIZZLE | 1u << OPT_START | 1u << OPT_LBO | 1u << OPT_SBO | 1u << OPT_BASE_OFFSET;
    size_t major = CANONICAL_K, element = CANONICAL_16BIT;
    struct layout_canonical_options out = {.mn = 0};
    if (options->name != NULL) {
        message_error("layout canonical: unexpected '%s'; the layout is given by options",
                      options->name);
        return EXIT_USAGE;
    }
    if (!only(options, common | (options->text[OPT_DESC] != NULL ? 1u << OPT_DESC : fields)) ||
        (options->text[OPT_MAJOR] != NULL &&
         !word_args_choice("--major", options->text[OPT_MAJOR], majors, 2, &major)) ||
        (options->text[OPT_ELEMENT] != NULL &&
         !word_args_choice("--element", options->text[OPT_ELEMENT], element_words, 6, &element)))
        return EXIT_USAGE;
    /* By default one instruction's depth and two groups of rows. */
    static const uint32_t instruction_k[] = {32, 16, 8, 64, 32, 32};
    out.mn = major == CANONICAL_K ? 16 : 64;
    out.k = instruction_k[element];
    out.element_name = element_names[element];
    if (!number(options, OPT_ROWS, "--rows", 1, 256, &out.mn) ||
        !number(options, OPT_K, "--k", 1, 1024, &out.k) ||
        !canonical_desc(options, (enum canonical_major)major, &out,
                        (enum canonical_element)element))
        return EXIT_USAGE;
    enum canonical_error error = canonical_prepare(&out.desc, (enum canonical_major)major,
                                                   (enum canonical_element)element, &out.layout);
    if (error != CANONICAL_OK) {
        message_error("layout canonical: %s", canonical_error_text(error));
        return error == CANONICAL_BASE_OFFSET_ATOM_32B ? EXIT_NO_VERDICT : EXIT_USAGE;
    }
    return layout_canonical(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

/* "16x256b.x2": a shape and its repeat. */
static bool shape_word(const char *text, struct tmem_access *access) {
    static const char *const shapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
    const char *dot = strchr(text, '.');
    uint64_t num;
    for (size_t i = 0; dot != NULL && i < TMEM_SHAPE_COUNT; i++) {
        access->shape = (enum tmem_shape)i;
        if (strlen(shapes[i]) != (size_t)(dot - text) ||
            strncmp(text, shapes[i], strlen(shapes[i])))
            continue;
        if (dot[1] != 'x' || !word_args_number("the repeat .xN", dot + 2, 1, 128, &num))
            break;
        access->num = (uint32_t)num;
        if (tmem_access_num_is_legal(access->shape, access->num))
            return true;
        message_error("%s: the repeat must be a power of two from x1 to x%d for this shape", text,
                      access->shape == TMEM_16X128B   ? 64
                      : access->shape == TMEM_16X256B ? 32
                                                      : 128);
        return false;
    }
    message_error(
        "the shape is '%s'; expected 32x32b, 16x64b, 16x128b, 16x256b or 16x32bx2 with its "
        "repeat, as in 16x256b.x2",
        text);
    return false;
}

static int page_tmem(const struct options *options, struct draw_page *page) {
    struct layout_tmem_options out = {.name = options->name};
    if (!only(options, 1u << OPT_PACK16 | 1u << OPT_SPLIT | 1u << OPT_WARP))
        return EXIT_USAGE;
    if (!shape_word(options->name == NULL ? "" : options->name, &out.access))
        return EXIT_USAGE;
    out.access.packed = options->text[OPT_PACK16] != NULL;
    if (out.access.shape == TMEM_16X32BX2)
        out.access.half_split_columns = out.access.num * (out.access.packed ? 2 : 1);
    else if (options->text[OPT_SPLIT] != NULL) {
        message_error("--split (immHalfSplitoff) is for shape 16x32bx2 only");
        return EXIT_USAGE;
    }
    if (!number(options, OPT_SPLIT, "--split", 0, 255, &out.access.half_split_columns) ||
        !number(options, OPT_WARP, "--warp", 0, 31, &out.warp))
        return EXIT_USAGE;
    return layout_tmem(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

static int page_fragment(const struct options *options, struct draw_page *page) {
    static const char *const names[LAYOUT_FRAGMENT_COUNT] = {
        "wgmma-d",        "wgmma-a",  "mma-a",          "mma-b",
        "mma-c",          "ldmatrix", "ldmatrix.trans", "ldmatrix.m16n16",
        "ldmatrix.m8n16", "stmatrix", "stmatrix.trans", "stmatrix.m16n8",
    };
    struct layout_fragment_options out = {.n = 16, .matrices = 1};
    size_t kind;
    if (options->name == NULL ||
        !word_args_choice("the fragment", options->name, names, LAYOUT_FRAGMENT_COUNT, &kind)) {
        if (options->name == NULL)
            message_error("layout fragment: which one? e.g. wgmma-d, mma-a or ldmatrix");
        return EXIT_USAGE;
    }
    out.kind = (enum layout_fragment_kind)kind;
    out.name = names[kind];
    bool result = kind == LAYOUT_WGMMA_D || kind == LAYOUT_MMA_C, operand = kind <= LAYOUT_MMA_C;
    uint32_t allowed = operand ? 1u << OPT_ELEMENT : 1u << OPT_NUM;
    out.element_bits = result ? 32 : 16;
    if (!only(options, allowed | (kind == LAYOUT_WGMMA_D ? 1u << OPT_N : 0)) ||
        !number(options, OPT_ELEMENT, "--element", result ? 16 : 8, 32, &out.element_bits) ||
        !number(options, OPT_N, "--n", 8, 256, &out.n) || !multiple("--n", out.n, 8) ||
        !number(options, OPT_NUM, "--num", 1, kind == LAYOUT_LDMATRIX_M16N16 ? 2 : 4,
                &out.matrices))
        return EXIT_USAGE;
    if (!bits_is_power_of_two(out.element_bits) || !bits_is_power_of_two(out.matrices)) {
        message_error("--element must be %s and --num 1, 2 or 4",
                      result ? "16 or 32" : "8, 16 or 32");
        return EXIT_USAGE;
    }
    return layout_fragment(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

static int write_svg(const char *path, const struct draw_page *page) {
    struct strbuf svg = {0};
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "w");
    int status = EXIT_USAGE;
    draw_svg(page, &svg);
    if (file == NULL)
        message_error("%s cannot be written: %s", path, strerror(errno));
    else if (fwrite(strbuf_text(&svg), 1, svg.length, file) != svg.length || fflush(file) != 0)
        message_error("%s cannot be written: %s", path, strerror(errno));
    else
        status = EXIT_AS_EXPECTED;
    if (file != NULL && !to_stdout)
        fclose(file);
    strbuf_free(&svg);
    return status;
}

static int write_text(const struct options *options, const struct draw_page *page) {
    struct winsize window;
    uint32_t width = 120;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
        window.ws_col > 0)
        width = window.ws_col;
    if (!number(options, OPT_WIDTH, "--width", 20, 10000, &width))
        return EXIT_USAGE;
    struct strbuf text = {0};
    draw_text(page, width, message_colour(stdout), &text);
    fputs(strbuf_text(&text), stdout);
    strbuf_free(&text);
    return EXIT_AS_EXPECTED;
}

int cmd_layout(int argc, char **argv) {
    static const char *const words[] = {"swizzle", "canonical", "tmem-ld", "fragment"};
    static int (*const pages[])(const struct options *, struct draw_page *) = {
        page_swizzle, page_canonical, page_tmem, page_fragment};
    struct options options = {.what = NULL};
    struct draw_page page = {.title = NULL};
    size_t what;
    if (!read_options(argc, argv, &options))
        return EXIT_USAGE;
    if (options.text[OPT_HELP] != NULL) {
        fputs(help_text, stdout);
        return EXIT_AS_EXPECTED;
    }
    if (!word_args_choice("layout: what to draw", options.what, words, 4, &what))
        return EXIT_USAGE;
    int status = pages[what](&options, &page);
    if (status == EXIT_AS_EXPECTED)
        status = options.text[OPT_SVG] != NULL ? write_svg(options.text[OPT_SVG], &page)
                                               : write_text(&options, &page);
    draw_free(&page);
    return status;
}
