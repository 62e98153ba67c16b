/* The pages of `siltwin layout` from what the user asked for: defaults, checks, refusals. The
 * drawing itself is in layout_*.c. */
#include "layout_request.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "commands.h"
#include "layout_pages.h"
#include "message.h"
#include "word_args.h"

const char *layout_option_name(enum layout_option option) {
    static const char *const names[LAYOUT_OPT_COUNT] = {
        [LAYOUT_OPT_NONE] = "",
        [LAYOUT_OPT_START] = "start",
        [LAYOUT_OPT_ROWS] = "rows",
        [LAYOUT_OPT_MAJOR] = "major",
        [LAYOUT_OPT_SWIZZLE] = "swizzle",
        [LAYOUT_OPT_ELEMENT] = "element",
        [LAYOUT_OPT_K] = "k",
        [LAYOUT_OPT_LBO] = "lbo",
        [LAYOUT_OPT_SBO] = "sbo",
        [LAYOUT_OPT_BASE_OFFSET] = "base-offset",
        [LAYOUT_OPT_DESC] = "desc",
        [LAYOUT_OPT_PACK16] = "pack16",
        [LAYOUT_OPT_SPLIT] = "split",
        [LAYOUT_OPT_WARP] = "warp",
        [LAYOUT_OPT_N] = "n",
        [LAYOUT_OPT_NUM] = "num",
        [LAYOUT_OPT_SVG] = "svg",
        [LAYOUT_OPT_WIDTH] = "width",
        [LAYOUT_OPT_JSON] = "json",
        [LAYOUT_OPT_HELP] = "help",
    };
    return names[option];
}

/* Refuses options that the picture has no use for. `allowed` is a bit set of enum layout_option. */
static bool only(const struct layout_request *request, uint32_t allowed) {
    allowed |= 1u << LAYOUT_OPT_SVG | 1u << LAYOUT_OPT_WIDTH | 1u << LAYOUT_OPT_JSON;
    for (enum layout_option option = 0; option < LAYOUT_OPT_COUNT; option++)
        if (request->text[option] != NULL && (allowed >> option & 1) == 0) {
            message_error("layout %s: --%s has no meaning here", request->what,
                          layout_option_name(option));
            return false;
        }
    return true;
}

bool layout_request_number(const struct layout_request *request, enum layout_option option,
                           uint32_t min, uint32_t max, uint32_t *value) {
    char name[32];
    uint64_t wide;
    if (request->text[option] == NULL)
        return true;
    snprintf(name, sizeof name, "--%s", layout_option_name(option));
    if (!word_args_number(name, request->text[option], min, max, &wide))
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

static int page_swizzle(const struct layout_request *request, struct draw_page *page) {
    struct layout_swizzle_options out = {.rows = 0};
    if (!only(request, 1u << LAYOUT_OPT_START | 1u << LAYOUT_OPT_ROWS))
        return EXIT_USAGE;
    if (request->name == NULL) {
        message_error("layout swizzle: which mode? none, 32B, 64B, 128B, 128B_ATOM_32B or "
                      "128B_ATOM_64B");
        return EXIT_USAGE;
    }
    if (!swizzle_word("the swizzle mode", request->name, &out.mode))
        return EXIT_USAGE;
    if (!swizzle_is_known(out.mode)) {
        message_error("%s: no source says which 128-byte lines have their 8-byte halves exchanged",
                      swizzle_name(out.mode));
        return EXIT_NO_VERDICT;
    }
    out.rows = swizzle_rule(out.mode)->pattern_bytes / layout_swizzle_row_bytes(out.mode);
    out.rows = out.rows < 8 ? 8 : out.rows;
    if (!layout_request_number(request, LAYOUT_OPT_START, 0, 0x3ffff, &out.start_bytes) ||
        !layout_request_number(request, LAYOUT_OPT_ROWS, 1, 256, &out.rows) ||
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
static bool canonical_desc(const struct layout_request *request, enum canonical_major major,
                           struct layout_canonical_options *out, enum canonical_element element) {
    if (request->text[LAYOUT_OPT_DESC] != NULL)
        return desc_of_word(request->text[LAYOUT_OPT_DESC], &out->desc);
    uint32_t base_offset = 0;
    out->desc.swizzle = SWIZZLE_128B;
    if (request->text[LAYOUT_OPT_SWIZZLE] != NULL &&
        !swizzle_word("--swizzle", request->text[LAYOUT_OPT_SWIZZLE], &out->desc.swizzle))
        return false;
    if (out->desc.swizzle > SWIZZLE_128B_ATOM_32B) {
        message_error("--swizzle %s: %s", request->text[LAYOUT_OPT_SWIZZLE],
                      canonical_error_text(CANONICAL_SWIZZLE_MODE));
        return false;
    }
    packed_strides(&out->desc, major, element, out->mn, out->k);
    bool good =
        layout_request_number(request, LAYOUT_OPT_START, 0, 0x3ffff, &out->desc.start_bytes) &&
        layout_request_number(request, LAYOUT_OPT_LBO, 0, 0x3ffff, &out->desc.lbo_bytes) &&
        layout_request_number(request, LAYOUT_OPT_SBO, 0, 0x3ffff, &out->desc.sbo_bytes) &&
        layout_request_number(request, LAYOUT_OPT_BASE_OFFSET, 0, 7, &base_offset) &&
        multiple("--start", out->desc.start_bytes, 16) &&
        multiple("--lbo", out->desc.lbo_bytes, 16) && multiple("--sbo", out->desc.sbo_bytes, 16);
    out->desc.base_offset = (uint8_t)base_offset;
    return good;
}

static int page_canonical(const struct layout_request *request, struct draw_page *page) {
    static const char *const majors[] = {"K", "MN"};
    const uint32_t common = 1u << LAYOUT_OPT_MAJOR | 1u << LAYOUT_OPT_ELEMENT |
                            1u << LAYOUT_OPT_ROWS | 1u << LAYOUT_OPT_K;
    const uint32_t fields = 1u << LAYOUT_OPT_SWIZZLE | 1u << LAYOUT_OPT_START |
                            1u << LAYOUT_OPT_LBO | 1u << LAYOUT_OPT_SBO |
                            1u << LAYOUT_OPT_BASE_OFFSET;
    size_t major = CANONICAL_K, element = CANONICAL_16BIT;
    struct layout_canonical_options out = {.mn = 0};
    if (request->name != NULL) {
        message_error("layout canonical: unexpected '%s'; the layout is given by options",
                      request->name);
        return EXIT_USAGE;
    }
    if (!only(request,
              common | (request->text[LAYOUT_OPT_DESC] != NULL ? 1u << LAYOUT_OPT_DESC : fields)) ||
        (request->text[LAYOUT_OPT_MAJOR] != NULL &&
         !word_args_choice("--major", request->text[LAYOUT_OPT_MAJOR], majors, 2, &major)) ||
        (request->text[LAYOUT_OPT_ELEMENT] != NULL &&
         !word_args_choice("--element", request->text[LAYOUT_OPT_ELEMENT], element_words, 6,
                           &element)))
        return EXIT_USAGE;
    /* By default one instruction's depth and two groups of rows. */
    static const uint32_t instruction_k[] = {32, 16, 8, 64, 32, 32};
    out.mn = major == CANONICAL_K ? 16 : 64;
    out.k = instruction_k[element];
    out.element_name = element_names[element];
    if (!layout_request_number(request, LAYOUT_OPT_ROWS, 1, 256, &out.mn) ||
        !layout_request_number(request, LAYOUT_OPT_K, 1, 1024, &out.k) ||
        !canonical_desc(request, (enum canonical_major)major, &out,
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

static int page_tmem(const struct layout_request *request, struct draw_page *page) {
    struct layout_tmem_options out = {.name = request->name};
    if (!only(request, 1u << LAYOUT_OPT_PACK16 | 1u << LAYOUT_OPT_SPLIT | 1u << LAYOUT_OPT_WARP))
        return EXIT_USAGE;
    if (!shape_word(request->name == NULL ? "" : request->name, &out.access))
        return EXIT_USAGE;
    out.access.packed = request->text[LAYOUT_OPT_PACK16] != NULL;
    if (out.access.shape == TMEM_16X32BX2)
        out.access.half_split_columns = out.access.num * (out.access.packed ? 2 : 1);
    else if (request->text[LAYOUT_OPT_SPLIT] != NULL) {
        message_error("--split (immHalfSplitoff) is for shape 16x32bx2 only");
        return EXIT_USAGE;
    }
    if (!layout_request_number(request, LAYOUT_OPT_SPLIT, 0, 255, &out.access.half_split_columns) ||
        !layout_request_number(request, LAYOUT_OPT_WARP, 0, 31, &out.warp))
        return EXIT_USAGE;
    return layout_tmem(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

static int page_fragment(const struct layout_request *request, struct draw_page *page) {
    static const char *const names[LAYOUT_FRAGMENT_COUNT] = {
        "wgmma-d",        "wgmma-a",  "mma-a",          "mma-b",
        "mma-c",          "ldmatrix", "ldmatrix.trans", "ldmatrix.m16n16",
        "ldmatrix.m8n16", "stmatrix", "stmatrix.trans", "stmatrix.m16n8",
    };
    struct layout_fragment_options out = {.n = 16, .matrices = 1};
    size_t kind;
    if (request->name == NULL ||
        !word_args_choice("the fragment", request->name, names, LAYOUT_FRAGMENT_COUNT, &kind)) {
        if (request->name == NULL)
            message_error("layout fragment: which one? e.g. wgmma-d, mma-a or ldmatrix");
        return EXIT_USAGE;
    }
    out.kind = (enum layout_fragment_kind)kind;
    out.name = names[kind];
    bool result = kind == LAYOUT_WGMMA_D || kind == LAYOUT_MMA_C, operand = kind <= LAYOUT_MMA_C;
    uint32_t allowed = operand ? 1u << LAYOUT_OPT_ELEMENT : 1u << LAYOUT_OPT_NUM;
    out.element_bits = result ? 32 : 16;
    if (!only(request, allowed | (kind == LAYOUT_WGMMA_D ? 1u << LAYOUT_OPT_N : 0)) ||
        !layout_request_number(request, LAYOUT_OPT_ELEMENT, result ? 16 : 8, 32,
                               &out.element_bits) ||
        !layout_request_number(request, LAYOUT_OPT_N, 8, 256, &out.n) ||
        !multiple("--n", out.n, 8) ||
        !layout_request_number(request, LAYOUT_OPT_NUM, 1, kind == LAYOUT_LDMATRIX_M16N16 ? 2 : 4,
                               &out.matrices))
        return EXIT_USAGE;
    if (!bits_is_power_of_two(out.element_bits) || !bits_is_power_of_two(out.matrices)) {
        message_error("--element must be %s and --num 1, 2 or 4",
                      result ? "16 or 32" : "8, 16 or 32");
        return EXIT_USAGE;
    }
    return layout_fragment(page, &out) ? EXIT_AS_EXPECTED : out_of_memory();
}

int layout_request_page(const struct layout_request *request, struct draw_page *page) {
    static const char *const words[] = {"swizzle", "canonical", "tmem-ld", "fragment"};
    static int (*const pages[])(const struct layout_request *, struct draw_page *) = {
        page_swizzle, page_canonical, page_tmem, page_fragment};
    size_t what;
    if (!word_args_choice("layout: what to draw", request->what, words, 4, &what))
        return EXIT_USAGE;
    return pages[what](request, page);
}
