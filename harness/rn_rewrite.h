#ifndef SILTWIN_RN_REWRITE_H
#define SILTWIN_RN_REWRITE_H

#include <stddef.h>

#include "strbuf.h"

/* Appends the PTX text to `out` with .rn put on every add, sub and mul of a floating-point type
 * (f16, bf16, f32, f64 and packed forms) that names no rounding; ptxas would be free to fuse a bare
 * pair of them. Lines stay where they are. Returns how many instructions were changed. */
size_t rn_rewrite(const char *text, size_t length, struct strbuf *out);

#endif
