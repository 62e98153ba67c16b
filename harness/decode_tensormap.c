/* `siltwin decode tensormap`: the 128 bytes of a tensor map as the arguments it was made from, and
 * the box as a tensor copy moves it. tmap_image.c says which places a real driver
 * was seen to use. */
#include <inttypes.h>

#include "decode_kinds.h"
#include "tma.h"

static const char *const interleave_names[] = {"NONE", "16B", "32B"};
static const char *const l2_names[] = {"none", "64 B", "128 B", "256 B"};

static const char *join_elems(struct decode_report *report, const uint32_t *values,
                              uint32_t count) {
    const char *text = "";
    for (uint32_t i = 0; i < count; i++)
        text = decode_format(report, "%s%s%u", text, i == 0 ? "" : " x ", values[i]);
    return text;
}

/* The dimension that is W. */
static uint32_t first_spatial(const struct tmap *map) {
    return map->interleave == TMAP_INTERLEAVE_NONE ? 1 : 0;
}

static void add_im2col(struct decode_report *report, const struct tmap *map) {
    static const char *const names[TMAP_SPATIAL_MAX] = {"W", "H", "D"};
    for (uint32_t i = 0; i + 2 < map->rank; i++)
        decode_field(report, 0, 0, decode_format(report, "bounding box along %s", names[i]), 0,
                     "%d to %" PRId64, map->lower_corner[i],
                     (int64_t)map->dim_elems[first_spatial(map) + i] - 1 + map->upper_corner[i]);
    decode_field(report, 0, 0, "im2col copy", 0, "%u channels of %u pixels", map->channels,
                 map->pixels);
}

static void add_dimensions(struct decode_report *report, const struct tmap *map) {
    for (uint32_t d = 0; d < map->rank; d++) {
        decode_field(
            report, 0, 0, decode_format(report, "dimension %u", d), map->dim_elems[d],
            "%" PRIu64 " elements%s", map->dim_elems[d],
            d == 0 ? ", adjacent in memory"
                   : decode_format(report, ", %" PRIu64 " bytes apart", map->stride_bytes[d]));
    }
    if (map->mode == TMAP_IM2COL)
        add_im2col(report, map);
    else
        decode_field(report, 0, 0, "box", 0, "%s elements, innermost first",
                     join_elems(report, map->box_elems, map->rank));
    decode_field(report, 0, 0, "element strides", 0, "%s",
                 join_elems(report, map->element_stride, map->rank));
}

static void add_fields(struct decode_report *report, const struct tmap *map) {
    decode_field(report, 0, 0, "global address", map->global_address, "0x%" PRIx64,
                 map->global_address);
    decode_field(report, 0, 0, "element type", map->type, "%s, %u bits", tmap_type_name(map->type),
                 tmap_element_bits(map->type));
    decode_field(report, 0, 0, "rank", map->rank, "%u dimensions", map->rank);
    add_dimensions(report, map);
    decode_field(report, 0, 0, "interleave", map->interleave, "%s",
                 interleave_names[map->interleave]);
    decode_field(report, 0, 0, "swizzle", map->swizzle, "%s",
                 swizzle_name((enum swizzle_mode)map->swizzle));
    decode_field(report, 0, 0, "L2 promotion", map->l2_promotion, "%s",
                 l2_names[map->l2_promotion]);
    decode_field(report, 0, 0, "out of bounds", map->fill, "%s",
                 map->fill == TMAP_FILL_ZERO ? "filled with zeros"
                                             : "filled with NaN (7ff7 repeated)");
}

static void describe_swizzle(struct decode_report *report, const struct tma_walk *walk) {
    enum swizzle_mode mode = (enum swizzle_mode)walk->map.swizzle;
    if (mode == SWIZZLE_NONE) {
        decode_line(report,
                    "The rows follow each other unswizzled. As a K-major operand without swizzle a "
                    "box must be 16 bytes wide: one column of core matrices.");
        return;
    }
    const struct swizzle_rule *rule = swizzle_rule(mode);
    decode_line(report,
                "Swizzle %s: lines of %u B in a pattern of %u B; align the destination to %u for a "
                "matrix descriptor with base offset 0.",
                swizzle_name(mode), rule->span_bytes, rule->pattern_bytes,
                mode == SWIZZLE_128B_ATOM_32B ? 1024 : rule->pattern_bytes);
    if (mode <= SWIZZLE_128B)
        decode_line(
            report,
            "Matrix descriptor of a K-major operand that lies so: swizzle %s, SBO %u (8 rows "
            "of %u B), LBO any.",
            swizzle_name(mode), 8 * rule->span_bytes, rule->span_bytes);
    if (walk->pitch_bytes > walk->row_bytes)
        decode_line(report,
                    "The box is narrower than the span: rows are %u B apart and the rest of each "
                    "span is not written.",
                    walk->pitch_bytes);
}

static void describe_box(struct decode_report *report, const struct tmap *map) {
    struct tma_walk walk;
    struct tma_request request = {
        .kind = TMA_LOAD, .mode = (enum tmap_mode)map->mode, .rank = map->rank};
    for (uint32_t i = 0; map->mode == TMAP_IM2COL && i + 2 < map->rank; i++)
        request.coords[first_spatial(map) + i] =
            map->lower_corner[i]; /* a start in the bounding box */
    enum tma_outcome outcome = tma_begin(&walk, map, &request);
    if (outcome != TMA_OK) {
        decode_line(report, "Its copies: %s.", tma_outcome_text(outcome));
        return;
    }
    decode_line(report,
                "One copy moves %u rows of %u B, %u B apart in shared memory; the mbarrier counts "
                "%u bytes, elements out of bounds included.",
                walk.row_count, walk.row_bytes, walk.pitch_bytes, walk.box_bytes);
    decode_line(report,
                "The destination must be a multiple of 128; coordinates are given innermost "
                "first, in elements.");
    describe_swizzle(report, &walk);
}

void decode_tensormap(struct decode_report *report, const uint8_t image[TMAP_IMAGE_BYTES],
                      enum tmap_arch arch) {
    struct tmap map;
    struct tmap_finding finding;
    struct strbuf text = {0};
    report->kind = "tensormap";
    report->title = decode_format(report, "tensor map, 128 bytes, for sm_%s",
                                  arch == TMAP_SM_90 ? "90" : "100");
    for (size_t i = 0; i < TMAP_IMAGE_BYTES; i++)
        strbuf_printf(&text, "%02x", image[i]);
    report->value = decode_format(report, "%s", strbuf_text(&text));
    strbuf_clear(&text);
    if (tmap_decode(image, arch, &map, &finding)) {
        add_fields(report, &map);
        describe_box(report, &map);
    } else {
        tmap_describe(&text, &finding);
        decode_problem(report, "%s", strbuf_text(&text));
    }
    strbuf_free(&text);
}
