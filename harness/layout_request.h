#ifndef SILTWIN_LAYOUT_REQUEST_H
#define SILTWIN_LAYOUT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw.h"

/* What the user asked `siltwin layout` for, and its pages. */
enum layout_option {
    LAYOUT_OPT_NONE,
    LAYOUT_OPT_START,
    LAYOUT_OPT_ROWS,
    LAYOUT_OPT_MAJOR,
    LAYOUT_OPT_SWIZZLE,
    LAYOUT_OPT_ELEMENT,
    LAYOUT_OPT_K,
    LAYOUT_OPT_LBO,
    LAYOUT_OPT_SBO,
    LAYOUT_OPT_BASE_OFFSET,
    LAYOUT_OPT_DESC,
    LAYOUT_OPT_PACK16,
    LAYOUT_OPT_SPLIT,
    LAYOUT_OPT_WARP,
    LAYOUT_OPT_N,
    LAYOUT_OPT_NUM,
    LAYOUT_OPT_SVG,
    LAYOUT_OPT_WIDTH,
    LAYOUT_OPT_JSON,
    LAYOUT_OPT_HELP,
    LAYOUT_OPT_COUNT,
};

struct layout_request {
    const char *text[LAYOUT_OPT_COUNT]; /* the argument, "" for a flag, NULL when not given */
    const char *what;
    const char *name; /* second word, NULL without */
};

/* The option's name without its dashes. */
const char *layout_option_name(enum layout_option option);

/* The option as a number from `min` to `max`; `value` stays as it is when it was not given. False
 * after a message. */
bool layout_request_number(const struct layout_request *request, enum layout_option option,
                           uint32_t min, uint32_t max, uint32_t *value);

/* Draws what the request names by `what`. Returns an enum exit_status, after a message when it is
 * not EXIT_AS_EXPECTED. */
int layout_request_page(const struct layout_request *request, struct draw_page *page);

#endif
