#ifndef SILTWIN_LAYOUT_PAGES_H
#define SILTWIN_LAYOUT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "canonical.h"
#include "draw.h"
#include "fragment.h"
#include "smem_desc.h"
#include "swizzle.h"
#include "tmem_access.h"

/* The pictures of `siltwin layout`. Each fills a zeroed page from values that are checked already;
 * false when the host has no memory left. */

/* A tile of `rows` rows that begins at shared address start. A row is as wide as the mode's span,
 * 128 bytes without a swizzle. */
uint32_t layout_swizzle_row_bytes(enum swizzle_mode mode);
struct layout_swizzle_options {
    enum swizzle_mode mode; /* one that swizzle_is_known */
    uint32_t start_bytes;   /* a multiple of 16 */
    uint32_t rows;
};
bool layout_swizzle(struct draw_page *page, const struct layout_swizzle_options *options);

/* An operand of mn rows and k elements through a matrix descriptor. */
struct layout_canonical_options {
    struct canonical layout;
    struct smem_desc desc;
    const char *element_name;
    uint32_t mn, k;
};
bool layout_canonical(struct draw_page *page, const struct layout_canonical_options *options);

/* tcgen05.ld or st by warp `warp` of the CTA. */
struct layout_tmem_options {
    struct tmem_access access;
    const char *name; /* "16x256b.x2" */
    uint32_t warp;
};
bool layout_tmem(struct draw_page *page, const struct layout_tmem_options *options);

enum layout_fragment_kind {
    LAYOUT_WGMMA_D,
    LAYOUT_WGMMA_A,
    LAYOUT_MMA_A,
    LAYOUT_MMA_B,
    LAYOUT_MMA_C,
    LAYOUT_LDMATRIX,
    LAYOUT_LDMATRIX_TRANS,
    LAYOUT_LDMATRIX_M16N16,
    LAYOUT_LDMATRIX_M8N16,
    LAYOUT_STMATRIX,
    LAYOUT_STMATRIX_TRANS,
    LAYOUT_STMATRIX_M16N8,
    LAYOUT_FRAGMENT_COUNT,
};
struct layout_fragment_options {
    enum layout_fragment_kind kind;
    const char *name;
    uint32_t element_bits; /* 8, 16, 32; of D and C 16 or 32 */
    uint32_t n;            /* columns of a wgmma D, a multiple of 8 to 256 */
    uint32_t matrices;     /* of ldmatrix and stmatrix */
};
bool layout_fragment(struct draw_page *page, const struct layout_fragment_options *options);

#endif
