/* `siltwin decode`: the bit fields of a descriptor, tensor map or mbarrier token, and what they
 * mean for the layout. This file reads the command line; decode_*.c explain. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "commands.h"
#include "decode_kinds.h"
#include "message.h"
#include "word_args.h"

static const char help_text[] =
    "usage: siltwin decode KIND VALUE [options]\n"
    "\n"
    "  siltwin decode smem-desc 0x4000404000010000 [--arch sm_90|sm_100] [--major K|MN]\n"
    "                 [--element 8|16|32|4|4in16B|6in16B]   (bits; default 16)\n"
    "        shared-memory matrix descriptor of wgmma (sm_90) or tcgen05 (sm_100)\n"
    "  siltwin decode idesc 0x08200490 [--kind f16|tf32|f8f6f4|i8|mxf8f6f4|mxf4|mxf4nvf4]\n"
    "        instruction descriptor of tcgen05.mma\n"
    "  siltwin decode tensormap HEX|@FILE [--arch sm_90|sm_100]\n"
    "        256 hex digits (bytes in memory order), 16 64-bit words in one argument, or a file "
    "of\n"
    "        128 bytes\n"
    "  siltwin decode token 0x7fffe80000000000 [--word]\n"
    "        what mbarrier.arrive returned; --word: what mbarrier.inval left in memory\n"
    "\n"
    "  --json  one JSON document (siltwin.decode/1) instead of text\n"
    "\n"
    "Exit status: 0 well formed, 1 the value breaks a rule, 2 wrong usage.\n";

struct options {
    const char *arch, *major, *element, *kind;
    bool json, word, help;
    const char *what, *value;
};

enum { OPT_ARCH = 1, OPT_MAJOR, OPT_ELEMENT, OPT_KIND, OPT_JSON, OPT_WORD, OPT_HELP };

static bool read_options(int argc, char **argv, struct options *options) {
    static const struct option longs[] = {
        {"arch", required_argument, NULL, OPT_ARCH},
        {"major", required_argument, NULL, OPT_MAJOR},
        {"element", required_argument, NULL, OPT_ELEMENT},
        {"kind", required_argument, NULL, OPT_KIND},
        {"json", no_argument, NULL, OPT_JSON},
        {"word", no_argument, NULL, OPT_WORD},
        {"help", no_argument, NULL, OPT_HELP},
        {NULL, 0, NULL, 0},
    };
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1;) {
        switch (c) {
        case OPT_ARCH: options->arch = optarg; break;
        case OPT_MAJOR: options->major = optarg; break;
        case OPT_ELEMENT: options->element = optarg; break;
        case OPT_KIND: options->kind = optarg; break;
        case OPT_JSON: options->json = true; break;
        case OPT_WORD: options->word = true; break;
        case OPT_HELP: options->help = true; return true;
        default: message_option(c, argv); return false;
        }
    }
    if (argc - optind != 2) {
        message_error("decode: expected a kind and one value, as in 'siltwin decode smem-desc "
                      "0x4000404000010000'; see 'siltwin decode --help'");
        return false;
    }
    options->what = argv[optind];
    options->value = argv[optind + 1];
    return true;
}

/* Options that the kind has no use for are refused, not ignored. */
static bool only_for(const char *option, const char *given, const char *what, const char *kinds) {
    if (given == NULL || strstr(kinds, what) != NULL)
        return true;
    message_error("decode %s: %s has no meaning here; it is for %s", what, option, kinds);
    return false;
}

static bool options_fit(const struct options *options) {
    return only_for("--arch", options->arch, options->what, "smem-desc and tensormap") &&
           only_for("--major", options->major, options->what, "smem-desc") &&
           only_for("--element", options->element, options->what, "smem-desc") &&
           only_for("--kind", options->kind, options->what, "idesc") &&
           only_for("--word", options->word ? "" : NULL, options->what, "token");
}

static const char *const arch_names[] = {"sm_90", "sm_90a", "sm_100", "sm_100a"};

static bool run_smem_desc(const struct options *options, struct decode_report *report) {
    static const char *const majors[] = {"K", "MN"};
    static const char *const elements[] = {"8", "16", "32", "4", "4in16B", "6in16B"};
    static const char *const element_names[] = {
        "8-bit",
        "16-bit",
        "32-bit",
        "packed 4-bit",
        "4-bit in 16-byte containers",
        "6-bit in 16-byte containers",
    };
    uint64_t word;
    size_t arch, major = 0, element = CANONICAL_16BIT;
    if (!word_args_number("the descriptor", options->value, 0, UINT64_MAX, &word))
        return false;
    struct decode_smem_desc_options out = {.arch = SMEM_DESC_SM90, .major = -1};
    out.arch_reason = "bits 48:46 are not the tcgen05 constant 0b001; --arch says otherwise";
    if (bits_get(word, 46, 3) == 1) {
        out.arch = SMEM_DESC_SM100;
        out.arch_reason = "bits 48:46 are the tcgen05 constant 0b001";
    }
    if (options->arch != NULL) {
        if (!word_args_choice("--arch", options->arch, arch_names, 4, &arch))
            return false;
        out.arch = arch < 2 ? SMEM_DESC_SM90 : SMEM_DESC_SM100;
        out.arch_reason = "as --arch says";
    }
    if (options->major != NULL) {
        if (!word_args_choice("--major", options->major, majors, 2, &major))
            return false;
        out.major = (int)major;
    }
    if (options->element != NULL &&
        !word_args_choice("--element", options->element, elements, 6, &element))
        return false;
    out.element = (enum canonical_element)element;
    out.element_name = element_names[element];
    decode_smem_desc(report, word, &out);
    return true;
}

static bool run_idesc(const struct options *options, struct decode_report *report) {
    const char *kinds[INSTR_DESC_KIND_COUNT];
    size_t kind = INSTR_DESC_KIND_COUNT;
    uint64_t word;
    for (size_t i = 0; i < INSTR_DESC_KIND_COUNT; i++)
        kinds[i] = instr_desc_kind_name((enum instr_desc_kind)i);
    if (!word_args_number("the instruction descriptor", options->value, 0, UINT32_MAX, &word))
        return false;
    if (options->kind != NULL &&
        !word_args_choice("--kind", options->kind, kinds, INSTR_DESC_KIND_COUNT, &kind))
        return false;
    decode_idesc(report, (uint32_t)word, (enum instr_desc_kind)kind);
    return true;
}

static int hex_digit(int c) {
    return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* 256 hex digits, byte 0 first. */
static bool image_of_bytes(const char *text, uint8_t image[TMAP_IMAGE_BYTES]) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (strlen(text) != 2 * TMAP_IMAGE_BYTES)
        return false;
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        image[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* 16 hexadecimal 64-bit words between blanks or commas, as a debugger prints them. */
static bool image_of_words(const char *text, uint8_t image[TMAP_IMAGE_BYTES]) {
    size_t words = 0;
    for (;;) {
        text += strspn(text, " ,\t\n");
        if (*text == '\0')
            return words == TMAP_IMAGE_BYTES / 8;
        char *end;
        unsigned long long word = strtoull(text, &end, 16);
        if (end == text || words == TMAP_IMAGE_BYTES / 8 || strchr(" ,\t\n", *end) == NULL)
            return false;
        for (size_t b = 0; b < 8; b++)
            image[8 * words + b] = (uint8_t)(word >> 8 * b);
        words++;
        text = end;
    }
}

static bool image_of_file(const char *path, uint8_t image[TMAP_IMAGE_BYTES]) {
    uint8_t bytes[TMAP_IMAGE_BYTES + 1];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        message_error("%s cannot be opened", path);
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (size != TMAP_IMAGE_BYTES) {
        message_error("%s has %s128 bytes; a tensor map has exactly 128", path,
                      size > TMAP_IMAGE_BYTES ? "more than " : "fewer than ");
        return false;
    }
    memcpy(image, bytes, TMAP_IMAGE_BYTES);
    return true;
}

static bool run_tensormap(const struct options *options, struct decode_report *report) {
    uint8_t image[TMAP_IMAGE_BYTES];
    size_t arch = 2;
    if (options->arch != NULL && !word_args_choice("--arch", options->arch, arch_names, 4, &arch))
        return false;
    if (options->value[0] == '@') {
        if (!image_of_file(options->value + 1, image))
            return false;
    } else if (!image_of_bytes(options->value, image) && !image_of_words(options->value, image)) {
        message_error("the tensor map is neither 256 hex digits (128 bytes in memory order) nor 16 "
                      "hexadecimal 64-bit words nor @FILE");
        return false;
    }
    decode_tensormap(report, image, arch < 2 ? TMAP_SM_90 : TMAP_SM_100);
    return true;
}

static bool run_token(const struct options *options, struct decode_report *report) {
    uint64_t token;
    if (!word_args_number("the token", options->value, 0, UINT64_MAX, &token))
        return false;
    if (options->word)
        decode_mbarrier_word(report, token);
    else
        decode_token(report, token);
    return true;
}

int cmd_decode(int argc, char **argv) {
    static const char *const kinds[] = {"smem-desc", "idesc", "tensormap", "token"};
    static bool (*const runs[])(const struct options *, struct decode_report *) = {
        run_smem_desc, run_idesc, run_tensormap, run_token};
    struct options options = {0};
    struct decode_report report = {0};
    size_t kind;
    if (!read_options(argc, argv, &options))
        return EXIT_USAGE;
    if (options.help) {
        fputs(help_text, stdout);
        return EXIT_AS_EXPECTED;
    }
    if (!word_args_choice("decode: the kind", options.what, kinds, 4, &kind))
        return EXIT_USAGE;
    options.what = kinds[kind];
    if (!options_fit(&options) || !runs[kind](&options, &report)) {
        decode_free(&report);
        return EXIT_USAGE;
    }
    int status = report.problem_count == 0 ? EXIT_AS_EXPECTED : EXIT_DIFFERENT;
    if (!options.json)
        decode_print_text(&report, stdout);
    else if (!decode_print_json(&report, stdout))
        status = EXIT_OUR_BUG;
    if (options.json)
        message_document_is_printed();
    decode_free(&report);
    return status;
}
